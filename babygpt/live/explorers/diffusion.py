"""A text being filled in: which characters appear when, how sure the model is, and which it takes back."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.live.controls import Choice, Control, Line, Scale, Slider, format_number
from babygpt.live.explorer import Explorer
from babygpt.live.watches.diffusion import encode_masked
from babygpt.models.base import LanguageModel
from babygpt.sampling.diffusion import Filled, by_confidence, by_entropy, fill_in
from babygpt.sampling.remasking import SecondThoughts, drafts

AGAIN = "▓"  # stands for a character that had appeared and is masked again
SAMPLERS = {
    "surest first": "threshold {:.0%}",
    "entropy bound": "bound {:.2f} nats",
    "changes its mind": "strength {:.0%}",
}  # name -> what its setting is
DOUBT = 5.0  # of the sampler that changes its mind


def draw(page: Axes, steps: Axes, found: dict[str, Any]) -> None:
    """Draw the text as it is after a step, and when each character appeared, or is going to."""
    when, confidence, step, total = (found[name] for name in ("when", "confidence", "step", "total"))
    hidden, again = when > step, found["again"]
    marks = zip(found["text"], hidden, again, strict=True)
    characters = [AGAIN if back else MASK if hides else char for char, hides, back in marks]
    left = f"{hidden.sum()} character{'' if hidden.sum() == 1 else 's'} left"
    left += f", {again.sum()} once more" if again.any() else ""
    shown = confidence.copy()
    shown[hidden] = float("nan")
    holes = when > 0
    title = f"Step {step} of {total}: {left}"
    plots.draw_text(page, characters, shown, title, found["note"], given=~holes)
    pace = f"{holes.sum() / total:.1f} characters a step"
    ends = (step, found["longest"], found["threshold"])
    plots.draw_fill_order(steps, when[holes], confidence[holes], *ends, pace)


def diffusion(model: LanguageModel, tokenizer: CharTokenizer, text: str, step: int = 5) -> Explorer:
    """Explore how a trained model fills in a text, step by step; type your own, with a _ for each hole.

    The model is copied as it is now. It fills in anew when text or settings change; a step is looked up.
    Where it changes its mind, it has as many steps as there are holes.

    model      trained by masked diffusion
    tokenizer  its characters
    text       with a _ for each character to be found, at most block_size characters
    step       which one is shown at first
    Raises BadInput for a text without holes, one that is too long, or an unknown character.
    Source: note 000 (threshold, temperature and top-k), and those of `by_entropy` and `SecondThoughts`.
    """
    model = copy.deepcopy(model)
    holes = int(encode_masked(tokenizer, text).eq(len(tokenizer.characters)).sum())

    @lru_cache(maxsize=32)
    def fill(
        text: str, sampler: str, threshold: int, temperature: float, top_k: int, number: int
    ) -> tuple[Filled, ...]:
        how = (temperature, top_k, torch.Generator().manual_seed(number))
        return write(model, encode_masked(tokenizer, text), sampler, threshold / 100, *how)

    def measure(step: int, **settings: Any) -> dict[str, Any]:
        found, setting = after_step(tokenizer, fill(**settings), step), settings["threshold"] / 100
        drawn = f"temperature {format_number(settings['temperature'])}, top-k {settings['top_k']}"
        how = f"{SAMPLERS[settings['sampler']].format(setting)}, {drawn}, draw {settings['number']}"
        threshold = setting if settings["sampler"] == "surest first" else None
        ends = {"threshold": threshold, "longest": max(holes, found["total"])}
        return {**found, **ends, "note": f"colour: how sure it was    ({how})"}

    # A text that is typed later may have as many holes as the model takes characters.
    controls: list[Control] = [Slider("step", min(step, holes), 0, model.config.block_size, "step")]
    controls += sampling_controls(len(tokenizer.characters), text)
    together = [("sampler", "step")]
    return Explorer("diffusion", measure, draw, controls, widths=(1.9, 1), together=together)


def sampling_controls(n_characters: int, text: str) -> list[Control]:
    """Make the controls of what the model is asked to fill in, and how it draws."""
    return [
        Choice("sampler", tuple(SAMPLERS), "sampler"),
        Slider("threshold", 95, 0, 100, "its setting (%)", step=5),
        Scale("temperature", 0.8, 0.1, 3.0, "temperature"),
        Slider("top_k", min(2, n_characters), 1, n_characters, "top-k"),
        Slider("number", 0, 0, 9, "draw"),
        Line("text", text, "text"),
    ]


def write(
    model: LanguageModel,
    idx: Tensor,
    sampler: str,
    setting: float,
    temperature: float,
    top_k: int,
    draw: torch.Generator,
) -> tuple[Filled, ...]:
    """Fill in a text with one of the SAMPLERS, and return it at first and after every step.

    setting  the threshold, the bound in nats, or the strength
    """
    mask = model.config.vocab_size - 1
    if sampler == "changes its mind":
        thoughts = SecondThoughts(int(idx.eq(mask).sum()), setting, DOUBT)
        return tuple(drafts(model, idx, thoughts, temperature, top_k, draw))
    order = by_confidence(setting) if sampler == "surest first" else by_entropy(setting)
    filled = fill_in(model, idx, order, temperature, top_k, draw)
    hidden = (filled.when > step for step in range(int(filled.steps) + 1))
    return tuple(
        Filled(filled.tokens.masked_fill(h, mask), filled.when.masked_fill(h, 0), filled.confidence)
        for h in hidden
    )


def after_step(tokenizer: CharTokenizer, shown: Sequence[Filled], step: int) -> dict[str, Any]:
    """Return a text as it is after a step, or after its last one, with steps and confidences.

    shown    the text at first and after each step
    returns  "text" with what is going to stand where a character is hidden now, and "when" and how sure;
             "again", which of the hidden ones had appeared before
    """
    total = len(shown) - 1
    step, last = min(step, total), shown[-1]
    now, hidden = shown[step], (shown[step].when == 0) & (last.when > 0)
    before = torch.stack([draft.when > 0 for draft in shown[: step + 1]]).any(dim=0)
    confidence = torch.where(hidden, last.confidence, now.confidence).masked_fill(last.when == 0, torch.nan)
    return {
        "text": tokenizer.decode(torch.where(hidden, last.tokens, now.tokens)[0]),
        "when": torch.where(hidden, last.when, now.when)[0].cpu().numpy(),
        "confidence": confidence[0].cpu().numpy(),
        "again": (hidden & before)[0].cpu().numpy(),
        "step": step,
        "total": total,
    }
