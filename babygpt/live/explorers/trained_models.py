"""Explorers of trained models: attention, a text being filled in, a long text.

Each copies its model: the picture does not change while the model trains on.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.encodings import Encoding, Rotary
from babygpt.errors import BadInput
from babygpt.live.explorer import Choice, Control, Explorer, Line, Scale, Slider, format_number
from babygpt.live.watches import HOLE, encode_masked
from babygpt.metrics.inspection import attention_weights
from babygpt.metrics.losses import loss_by_position, position_matched_losses
from babygpt.models.language_model import LanguageModel
from babygpt.models.stretching import METHODS, stretched
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
}  # name -> its setting
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
            "note": f"colour: how sure it was    ({how})",
        }

    n_characters = len(tokenizer.characters)
    controls: list[Control] = [
        Slider("step", min(step, holes), 0, holes, "step"),
        Choice("sampler", tuple(SAMPLERS), "sampler"),
        Slider("threshold", 95, 0, 100, "its setting (%)", step=5),
        Scale("temperature", 0.8, 0.1, 3.0, "temperature"),
        Slider("top_k", min(2, n_characters), 1, n_characters, "top-k"),
        Slider("number", 0, 0, 9, "draw"),
        Line("text", text, "text"),
    ]
    together = ("sampler", "step")
    explorer = Explorer("diffusion", measure, draw.filling, controls, widths=(1.9, 1), together=together)
    limit_slider(explorer, "step", lambda text: max(1, text.count(HOLE) + text.count(MASK)))
    return explorer


# ------------------------------------------------------------ a long text

MOST, BLOCK = 8, 32  # the largest factor; tokens whose losses make one point
WINDOWS = 6  # texts of 8 windows, read for each move: of a small model, in a tenth of a second
LABELS = {
    "none": "as it is",
    "interpolation": "position interpolation",
    "ntk": "NTK-aware",
    "yarn": "YaRN",
    "drop": "no code at all (DroPE)",
}


def wavelengths(encoding: Encoding, n_pairs: int) -> np.ndarray:
    """Return how many tokens each pair of channels takes for a turn: (n_pairs,), infinite without RoPE."""
    if not isinstance(encoding, Rotary):
        return np.full(n_pairs, math.inf)
    return (2 * math.pi / encoding.frequencies()).numpy()


def block_means(losses: np.ndarray) -> np.ndarray:
    """Return means of BLOCK losses each, without the rest at the end: (T,) -> (T // BLOCK,)."""
    return losses[: len(losses) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)


def stretching(model: Transformer, ids: Tensor) -> Explorer:
    """Explore how a trained v4 reads up to eight times its window, its pairs slowed by a factor.

    Nothing is trained. Each curve is a mean over the same WINDOWS texts, and is computed once.

    model  with RoPE in all layers, trained or not
    ids    (N,)  text that it has not seen, longer than 8 windows
    Raises BadInput for another encoding, or a text too short.
    """
    if type(model.encoding) is not Rotary:
        raise BadInput(f"{type(model.encoding).__name__} cannot be stretched: a v4 has RoPE in every layer")
    model = copy.deepcopy(model)
    window = model.config.block_size
    length = MOST * window
    before = wavelengths(model.encoding, model.config.head_dim // 2)
    _, inside, _ = position_matched_losses(model, ids, length, WINDOWS, every=4)

    @cache
    def losses_of(method: str, factor: int) -> np.ndarray:  # (length,)
        return loss_by_position(stretched(model, method, factor), ids, length, WINDOWS)

    top = 1.4 * max(block_means(losses_of(method, MOST)).max() for method in METHODS)

    def measure(method: str, factor: int) -> dict[str, Any]:
        reach = factor * window
        first = window if factor > 1 else 0
        after = wavelengths(stretched(model, method, factor).encoding, len(before))
        turns, now = window / before, reach / after  # of each pair; less than one leaves angles unseen
        losses = {"as it is": losses_of("none", 1), "stretched": losses_of(method, factor)}
        return {
            "before": before,
            "after": after,
            "new": (turns < 1) & (now > turns * (1 + 1e-9)),
            "curves": {name: block_means(values) for name, values in losses.items()},
            "position": BLOCK * (np.arange(length // BLOCK) + 0.5),
            "means": {name: float(values[first:reach].mean()) for name, values in losses.items()},
            "span": (first, reach),  # tokens of the means: all that the factor adds
            "marks": (float(inside.mean()), window, reach),
            "top": top,  # leaves room for the curves of all methods
        }

    controls: list[Control] = [
        Choice("method", [(label, name) for name, label in LABELS.items()]),
        Slider("factor", 4, 1, MOST, "factor"),
    ]
    together = ("method", "factor")
    return Explorer("stretching", measure, draw.stretching, controls, (1, 1.5), 3.8, together)
