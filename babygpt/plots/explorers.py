"""Pictures of trained models' explorers: each draws a measurement, and moves what it drew before."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from babygpt import plots


def attention(heads: Axes, row: Axes, found: dict[str, Any]) -> None:
    """Draw one head with the letters along both sides, all heads, and the attention of one letter."""
    layer, head, letter = found["chosen"]
    weights: np.ndarray = found["weights"][layer, head]
    before = weights.diagonal(-1).mean() if len(weights) > 1 else 0.0
    title = f"Layer {layer + 1}, head {head + 1}: {before:.0%} of the weight is on the letter before"
    letters = plots.visible(found["text"])
    plots.draw_attention_heads(heads, found["weights"], letters, (layer, head), title)
    most = int(weights[letter].argmax())
    finding = f"Letter {letter + 1}, “{letters[letter]}”: {weights[letter, most]:.0%} on “{letters[most]}”"
    plots.draw_attention_row(row, weights[letter], letters, finding)


def filling(page: Axes, steps: Axes, found: dict[str, Any]) -> None:
    """Draw the text after a step, and the steps at which its characters appear."""
    when, confidence, step, total = (found[name] for name in ("when", "confidence", "step", "total"))
    hidden, again = when > step, found["again"]
    left = f"{hidden.sum()} character{'' if hidden.sum() == 1 else 's'} left"
    left += f", {again.sum()} of them taken back" if again.any() else ""
    shown, holes = np.where(hidden, np.nan, confidence), when > 0
    title = f"Step {step} of {total}: {left}"
    plots.draw_text(page, found["characters"], shown, title, found["note"], given=~holes)
    pace = f"{holes.sum() / total:.1f} characters a step"
    ends = (step, found["longest"], found["threshold"])
    plots.draw_fill_order(steps, when[holes], confidence[holes], *ends, pace)
