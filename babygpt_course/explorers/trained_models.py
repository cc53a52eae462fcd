"""Explorers of trained models: attention, and a text being filled in.

Each copies its model: the picture does not change while the model trains on.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.errors import BadInput
from babygpt.metrics.inspection import attention_weights
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.sampling.diffusion import Filled, by_confidence, by_entropy, fill_in
from babygpt.sampling.remasking import SecondThoughts, drafts
from babygpt_course.explorers.watches import FULLER, HOLE, MOST_MARKS, encode_masked
from babygpt_live.explorer import Choice, Control, Explorer, Line, Scale, Slider, format_number
from babygpt_live.panel import (
    DTYPES,
    Axis,
    Curve,
    Heads,
    Level,
    Panel,
    Words,
    format_percent,
    name_ticks,
    pack,
    unpack,
)
from babygpt_live.style import COLOURS, visible

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

    def number(name: str, n: int) -> Control:  # a slider needs two stops
        return Slider(name, 1, 1, n) if n > 1 else Choice(name, (1,))

    controls: list[Control] = [
        Line("text", text, "sentence"),
        Slider("letter", min(max(1, len(text)), LONGEST_SENTENCE), 1, LONGEST_SENTENCE, "letter that looks"),
        number("layer", model.config.n_layer),
        number("head", model.config.n_head),
    ]
    return Explorer(
        "attention",
        partial(measure_attention, copy.deepcopy(model), tokenizer),
        attention_panels,
        controls,
        in_page=("letter", "layer", "head"),
        limits=lambda values: {"letter": len(values["text"])},
    )


def measure_attention(model: Transformer, tokenizer: CharTokenizer, text: str) -> np.ndarray:
    """Return the attention weights of all heads on a sentence: (n_layer, n_head, T, T)."""
    if not text:
        raise BadInput("type a sentence; there is nothing to look at")
    if len(text) > LONGEST_SENTENCE:
        raise BadInput(f"{len(text)} letters are too many for the picture: at most {LONGEST_SENTENCE}")
    return attention_weights(model, tokenizer.encode(text))


def attention_panels(weights: np.ndarray, values: Mapping[str, Any]) -> list[Panel]:
    """Show one head with the letters along both sides, all heads, and the attention of one letter."""
    before = weights.diagonal(-1, axis1=2, axis2=3)  # (L, H, T - 1)
    shares = before.mean(axis=-1) if before.size else np.zeros(weights.shape[:2])
    layer, head = values["layer"] - 1, values["head"] - 1
    finding = "Layer {layer}, head {head}: {share} of the weight is on the letter before"
    title = finding.format(layer=layer + 1, head=head + 1, share=format_percent(shares[layer, head]))
    letters, m = visible(values["text"]), min(values["letter"], weights.shape[-1]) - 1
    heads = Heads(weights, letters, (layer, head), finding, shares, m)
    row = unpack(pack(weights, DTYPES["weights"]))[
        layer, head, m
    ]  # The page has packed weights too, so both round alike.
    n = int(row.argmax())
    words = {"letter": m + 1, "mark": letters[m], "other": n + 1, "otherMark": letters[n]}
    bars = [Curve("", COLOURS["blue"], row, look="bars")]
    x = Axis("letter looked at", (-0.5, len(letters) - 0.5), name_ticks(letters, MOST_MARKS))
    below = Panel(
        heads.row.format(**words, share=format_percent(row[n])), bars, x, Axis("share of attention")
    )
    return [Panel(title, [heads], x, Axis("letter that looks"), width=1.5, below=below)]


# ------------------------------------------------------------ a text being filled in

AGAIN = "▓"  # a character that had appeared and is masked again
SAMPLERS = {
    "surest first": "threshold {:.0%}",
    "entropy bound": "bound {:.2f} nats",
    "changes its mind": "strength {:.0%}",
}  # name -> what the slider "sampler setting" means
DOUBT = 5.0  # doubt of the sampler that changes its mind


def diffusion(model: LanguageModel, tokenizer: CharTokenizer, text: str, step: int = 5) -> Explorer:
    """Explore how a trained model fills in a text, step by step; type your own, with a _ for each hole.

    The model fills in anew when text or settings change; the page has all steps. The sampler that changes
    its mind has as many steps as there are holes.

    model      trained by masked diffusion
    tokenizer  its characters
    text       with a _ for each character to be found, at most block_size characters
    step       shown at first
    Raises BadInput for a text without holes, one that is too long, or an unknown character.
    Source: note 000 (threshold, temperature and top-k), and those of `by_entropy` and `SecondThoughts`.
    """
    longest, n_characters = model.config.block_size, len(tokenizer.characters)
    controls: list[Control] = [
        Slider("step", min(step, count_holes(text), longest), 0, longest, "step"),
        Choice("sampler", tuple(SAMPLERS), "sampler"),
        Slider("threshold", 95, 0, 100, "sampler setting (%)", step=5),
        Scale("temperature", 0.8, 0.1, 3.0, "temperature"),
        Slider("top_k", min(2, n_characters), 1, n_characters, "top-k"),
        Slider("number", 0, 0, 9, "draw"),
        Line("text", text, "text"),
    ]
    return Explorer(
        "diffusion",
        partial(measure_filling, copy.deepcopy(model), tokenizer),
        partial(filling_panels, tokenizer),
        controls,
        frames_by="step",
        together=("sampler",),
        limits=lambda values: {"step": count_holes(values["text"])},
    )


def count_holes(text: str) -> int:
    """Count the characters of a text that a learner typed for holes."""
    return text.count(HOLE) + text.count(MASK)


def measure_filling(
    model: LanguageModel,
    tokenizer: CharTokenizer,
    text: str,
    sampler: str,
    threshold: int,
    temperature: float,
    top_k: int,
    number: int,
) -> list[Filled]:
    """Fill in a text: return it as it is at first, and after each step. The arguments are the controls."""
    idx = encode_masked(tokenizer, text)
    generator = torch.Generator().manual_seed(number)  # A training must not share its generator.
    if sampler == "changes its mind":
        thoughts = SecondThoughts(int(idx.eq(len(tokenizer.characters)).sum()), threshold / 100, DOUBT)
        return list(drafts(model, idx, thoughts, temperature, top_k, generator))
    order = (by_confidence if sampler == "surest first" else by_entropy)(threshold / 100)
    filled = fill_in(model, idx, order, temperature, top_k, generator)
    steps = range(int(filled.steps) + 1)
    return [replace(filled, when=filled.when * (filled.when <= step)) for step in steps]


def filling_panels(
    tokenizer: CharTokenizer, drafts: Sequence[Filled], values: Mapping[str, Any]
) -> list[list[Panel]]:
    """Show the text after each step, and the steps at which its characters appear."""
    steps_written = torch.stack([draft.when[0] for draft in drafts]).cpu().numpy()  # (steps + 1, T)
    confidence = torch.stack([draft.confidence[0] for draft in drafts]).cpu().numpy()
    letters = [visible(tokenizer.decode(draft.tokens[0])) for draft in drafts]
    holes, total = steps_written[-1] > 0, len(drafts) - 1
    setting = values["threshold"] / 100
    draw_settings = f"temperature {format_number(values['temperature'])}, top-k {values['top_k']}"
    settings = f"{SAMPLERS[values['sampler']].format(setting)}, {draw_settings}, draw {values['number']}"
    pace = f"{holes.sum() / total:.1f} characters a step"
    level = [Level("surer than this: at once", setting)] if values["sampler"] == "surest first" else []
    x = Axis("step", (0.0, max(int(holes.sum()), total) + 1.0), digits=0)
    y = Axis("how sure (probability)", (-0.03, 1.03), [(i / 4, f"{i / 4:g}") for i in range(5)])

    def frame(step: int) -> list[Panel]:
        hidden, visible_cells = holes & (steps_written[step] == 0), steps_written[step] > 0
        removed = hidden & (steps_written[:step] > 0).any(axis=0)  # they had appeared before
        progress = f"{hidden.sum()} character{'' if hidden.sum() == 1 else 's'} left"
        progress += f", {removed.sum()} of them taken back" if removed.any() else ""
        marks = np.where(removed, AGAIN, np.where(hidden, MASK, letters[step])).tolist()
        words = Words(marks, np.where(visible_cells, confidence[step], np.nan), ~holes)
        future = Curve(
            "still to come", COLOURS["grey"], confidence[-1][hidden], steps_written[-1][hidden], "dots"
        )
        past = Curve(
            "written so far",
            COLOURS["blue"],
            confidence[step][visible_cells],
            steps_written[step][visible_cells],
            "dots",
        )
        page = Panel(
            f"Step {step} of {total}: {progress}", [words], note=f"{FULLER}, with {settings}", width=1.4
        )
        return [page, Panel(pace, [*level, future, past], x, y)]

    return [frame(step) for step in range(total + 1)]
