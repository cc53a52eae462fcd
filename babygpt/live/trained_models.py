"""Explorers of trained models: attention, and a text being filled in.

Each copies its model: the picture does not change while the model trains on.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.errors import BadInput
from babygpt.live.explorer import Choice, Control, Explorer, Line, Scale, Slider, format_number
from babygpt.live.watches import HOLE, encode_masked
from babygpt.metrics.inspection import attention_weights
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.plots import explorers as draw
from babygpt.sampling.diffusion import Filled, by_confidence, by_entropy, fill_in
from babygpt.sampling.remasking import SecondThoughts, drafts

LONGEST_SENTENCE = 256  # letters: the number of attention weights is its square

# ------------------------------------------------------------ attention


def attention(model: Transformer, tokenizer: CharTokenizer, text: str) -> Explorer:
    """Explore what each head looks at, on a sentence that the learner types.

    The model runs again only for another sentence. A letter beyond the end of the sentence is its last one.

    model      with attention, trained or not
    tokenizer  its characters
    text       in the field at first
    Raises BadInput if the text is empty, too long, or holds a character that the tokenizer does not know.
    """
    model = copy.deepcopy(model)

    @lru_cache(maxsize=8)
    def weights_of(text: str) -> np.ndarray:
        return attention_weights(model, tokenizer.encode(text))

    def measure(text: str, layer: int, head: int, letter: int) -> dict[str, Any]:
        if not text:
            raise BadInput("type a sentence; there is nothing to look at")
        if len(text) > LONGEST_SENTENCE:
            raise BadInput(f"{len(text)} letters are too many for the picture: at most {LONGEST_SENTENCE}")
        chosen = layer - 1, head - 1, min(letter, len(text)) - 1
        return {"weights": weights_of(text), "text": text, "chosen": chosen}

    def number(name: str, n: int) -> Control:  # a slider needs two stops
        return Slider(name, 1, 1, n) if n > 1 else Choice(name, (1,))

    last = min(len(text), LONGEST_SENTENCE)
    controls: list[Control] = [
        Line("text", text, "sentence"),
        Slider("letter", max(1, last), 1, max(2, last), "letter that looks"),
        number("layer", model.config.n_layer),
        number("head", model.config.n_head),
    ]
    together = ("layer", "head", "letter")
    explorer = Explorer("attention", measure, draw.attention, controls, (2.3, 1), 4.0, together)

    limit_slider(explorer, "letter", lambda text: max(2, min(len(text), LONGEST_SENTENCE)))
    return explorer


def limit_slider(explorer: Explorer, name: str, most: Callable[[str], int]) -> None:
    """Let a slider end where the text that is typed ends: at `most` of it."""
    slider = explorer.controls[name]
    explorer.controls["text"].observe(lambda change: setattr(slider, "max", most(change["new"])), "value")


# ------------------------------------------------------------ a text being filled in

AGAIN = "▓"  # a character that had appeared and is masked again
SAMPLERS = {
    "surest first": "threshold {:.0%}",
    "entropy bound": "bound {:.2f} nats",
    "changes its mind": "strength {:.0%}",
}  # name -> what the slider "sampler setting" means
DOUBT = 5.0  # of the sampler that changes its mind


def diffusion(model: LanguageModel, tokenizer: CharTokenizer, text: str, step: int = 5) -> Explorer:
    """Explore how a trained model fills in a text, step by step; type your own, with a _ for each hole.

    The model fills in anew when text or settings change; a step is only looked up. The sampler that changes
    its mind has as many steps as there are holes.

    model      trained by masked diffusion
    tokenizer  its characters
    text       with a _ for each character to be found, at most block_size characters
    step       shown at first
    Raises BadInput for a text without holes, one that is too long, or an unknown character.
    Source: note 000 (threshold, temperature and top-k), and those of `by_entropy` and `SecondThoughts`.
    """
    model = copy.deepcopy(model)
    mask = len(tokenizer.characters)
    holes = int(encode_masked(tokenizer, text).eq(mask).sum())

    @lru_cache(maxsize=32)
    def drafts_of(
        text: str, sampler: str, threshold: int, temperature: float, top_k: int, number: int
    ) -> tuple[Filled, ...]:  # the text at first and after each step
        idx = encode_masked(tokenizer, text)
        own = torch.Generator().manual_seed(number)  # never the one that a training draws from
        if sampler == "changes its mind":
            thoughts = SecondThoughts(int(idx.eq(mask).sum()), threshold / 100, DOUBT)
            return tuple(drafts(model, idx, thoughts, temperature, top_k, own))
        order = (by_confidence if sampler == "surest first" else by_entropy)(threshold / 100)
        filled = fill_in(model, idx, order, temperature, top_k, own)
        steps = range(int(filled.steps) + 1)
        return tuple(replace(filled, when=filled.when * (filled.when <= step)) for step in steps)

    def measure(step: int, **settings: Any) -> dict[str, Any]:
        shown = drafts_of(**settings)  # at first and after each step
        total = len(shown) - 1
        step, last = min(step, total), shown[-1]
        now, hidden = shown[step], (shown[step].when == 0) & (last.when > 0)
        before = torch.stack([draft.when > 0 for draft in shown[: step + 1]]).any(dim=0)
        sure = torch.where(hidden, last.confidence, now.confidence).masked_fill(last.when == 0, torch.nan)
        text, again = tokenizer.decode(torch.where(hidden, last.tokens, now.tokens)[0]), (hidden & before)[0]
        marks = zip(text, hidden[0], again, strict=True)
        marked = [AGAIN if back else MASK if hides else char for char, hides, back in marks]
        sampler, setting = settings["sampler"], settings["threshold"] / 100
        drawn = f"temperature {format_number(settings['temperature'])}, top-k {settings['top_k']}"
        how = f"{SAMPLERS[sampler].format(setting)}, {drawn}, draw {settings['number']}"
        return {
            "characters": marked,
            "when": torch.where(hidden, last.when, now.when)[0].cpu().numpy(),  # those to come, too
            "confidence": sure[0].cpu().numpy(),
            "again": again.cpu().numpy(),  # hidden, and had appeared before
            "step": step,
            "total": total,
            "threshold": setting if sampler == "surest first" else None,
            "longest": max(holes, total),
            "note": f"white: given · colour: how sure it was    ({how})",
        }

    n_characters = len(tokenizer.characters)
    controls: list[Control] = [
        Slider("step", min(step, holes), 0, holes, "step"),
        Choice("sampler", tuple(SAMPLERS), "sampler"),
        Slider("threshold", 95, 0, 100, "sampler setting (%)", step=5),
        Scale("temperature", 0.8, 0.1, 3.0, "temperature"),
        Slider("top_k", min(2, n_characters), 1, n_characters, "top-k"),
        Slider("number", 0, 0, 9, "draw"),
        Line("text", text, "text"),
    ]
    together = ("sampler", "step")
    explorer = Explorer("diffusion", measure, draw.filling, controls, widths=(1.9, 1), together=together)
    limit_slider(explorer, "step", lambda text: max(1, text.count(HOLE) + text.count(MASK)))
    return explorer
