"""A text being filled in: which characters appear when, and how sure the model is of them."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.live.controls import Control, Line, Scale, Slider, format_number
from babygpt.live.explorer import Explorer
from babygpt.live.watches.diffusion import confidence_of, encode_masked
from babygpt.models.base import LanguageModel
from babygpt.sampling.diffusion import Filled, by_confidence, fill_in


def draw(page: Axes, steps: Axes, found: dict[str, Any]) -> None:
    """Draw the text as it is after a step, and when each character appeared, or is going to."""
    when, confidence, step, total = (found[name] for name in ("when", "confidence", "step", "total"))
    hidden = when > step
    characters = [MASK if hides else char for char, hides in zip(found["text"], hidden, strict=True)]
    left = f"{hidden.sum()} character{'' if hidden.sum() == 1 else 's'} left"
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

    model      trained by masked diffusion
    tokenizer  its characters
    text       with a _ for each character to be found, at most block_size characters
    step       which one is shown at first
    Raises BadInput for a text without holes, one that is too long, or an unknown character.
    Source: note 000 (threshold, temperature and top-k).
    """
    model = copy.deepcopy(model)
    holes = int(encode_masked(tokenizer, text).eq(len(tokenizer.characters)).sum())

    @lru_cache(maxsize=32)
    def fill(text: str, threshold: int, temperature: float, top_k: int, number: int) -> Filled:
        own, order = torch.Generator().manual_seed(number), by_confidence(threshold / 100)
        return fill_in(model, encode_masked(tokenizer, text), order, temperature, top_k, own)

    def measure(step: int, **settings: Any) -> dict[str, Any]:
        found = after_step(tokenizer, fill(**settings), step)
        drawn = f"temperature {format_number(settings['temperature'])}, top-k {settings['top_k']}"
        note = f"colour: how sure it was    ({drawn}, draw {settings['number']})"
        threshold, longest = settings["threshold"] / 100, max(holes, found["total"])
        return {**found, "note": note, "threshold": threshold, "longest": longest}

    # A text that is typed later may have as many holes as the model takes characters.
    controls: list[Control] = [Slider("step", min(step, holes), 0, model.config.block_size, "step")]
    controls += sampling_controls(len(tokenizer.characters), text)
    return Explorer("diffusion", measure, draw, controls, widths=(1.9, 1))


def sampling_controls(n_characters: int, text: str) -> list[Control]:
    """Make the controls of what the model is asked to fill in, and how it draws."""
    return [
        Slider("threshold", 95, 0, 100, "threshold (%)", step=5),
        Scale("temperature", 0.8, 0.1, 3.0, "temperature"),
        Slider("top_k", min(2, n_characters), 1, n_characters, "top-k"),
        Slider("number", 0, 0, 9, "draw"),
        Line("text", text, "text"),
    ]


def after_step(tokenizer: CharTokenizer, filled: Filled, step: int) -> dict[str, Any]:
    """Return a text as it is after a step, or after its last one, with steps and confidences."""
    total = int(filled.steps)
    return {
        "text": tokenizer.decode(filled.tokens[0]),
        "when": filled.when[0].cpu().numpy(),
        "confidence": confidence_of(filled),
        "step": min(step, total),
        "total": total,
    }
