"""What is watched while a model learns to fill in: the phases of its gates, and a text with holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.live.watch import Frames, Watch
from babygpt.sampling.diffusion import Filled, fill_in

HOLE = "_"  # what a learner types for MASK; each is one character to be found


def with_holes(tokenizer: CharTokenizer, text: str) -> Tensor:
    """The token ids of a text in which every _ (or ░) is a MASK: (1, T).

    A tokenizer that knows _ as a character keeps it; then ░ alone is a hole.

    Raises ValueError if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    if tokenizer.mask_id is None:
        raise ValueError("the tokenizer has no MASK token: load the corpus with_mask=True")
    holes = MASK if HOLE in tokenizer.ids else HOLE + MASK
    hollow = torch.tensor([char in holes for char in text], dtype=torch.bool)
    if not hollow.any():
        raise ValueError(f"{text!r} has no hole: write {holes[0]} for each character to be found")
    some = tokenizer.characters[0]  # stands in a hole while the text is read
    ids = tokenizer.encode("".join(some if char in holes else char for char in text))
    return ids.masked_fill(hollow, tokenizer.mask_id)[None]


def gates(times: int = 40) -> Watch:
    """The phases of a model's gates: a row for each head if each has its own, else one before and one now.

    Measuring raises a ValueError if the model's encoding has no phase.
    """

    def measure(model: Any) -> np.ndarray:
        for name in ("delta", "phi"):
            if (phase := getattr(model.encoding, name, None)) is not None:
                return np.atleast_2d(phase.detach().cpu().numpy()).copy()  # (H or 1, D)
        raise ValueError(f"{type(model.encoding).__name__} has no phase to watch; v7 and v7-polar have one")

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = frames[0][1], frames[-1][1]
        own = len(now) > 1
        rows = now if own else np.concatenate([first, now])
        names = [f"head {h + 1}" for h in range(len(now))] if own else ["at first", "now"]
        top = max(1.0, float(np.ceil(2 * max(np.abs(phases).max() for _, phases in frames)) / 2))
        finding = f"Phases moved by {np.abs(now - first).max():.2f} rad"
        plots.draw_matrix(ax, rows, finding, "dimension k", "", diverging=True, top=top)
        plots.label_rows(ax, names)

    return Watch(measure, draw, times, width=1.3)


def filling(tokenizer: CharTokenizer, text: str, times: int = 40, columns: int = 16) -> Watch:
    """A text with holes as the model would fill it in, each time anew, always taking the likeliest.

    text     with a _ for each hole
    columns  characters in a row
    Raises ValueError if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    idx = with_holes(tokenizer, text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, filled = frames[-1]
        sure = written(filled)
        finding = f"After {step} steps: {np.nanmean(sure):.0%} sure"
        plots.draw_text(ax, tokenizer.decode(filled.tokens[0]), sure, finding, "colour: how sure", columns)

    return Watch(lambda model: fill_in(model, idx, temperature=0), draw, times, width=1.5)


def written(filled: Filled) -> np.ndarray:
    """How sure the model was of each character of the first text; nan for those it did not write."""
    return filled.sure[0].masked_fill(filled.when[0] == 0, torch.nan).cpu().numpy()
