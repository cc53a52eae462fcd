"""Watches of a model that learns to fill in: its gates, and a text with holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.errors import BadInput
from babygpt.live.controls import format_number
from babygpt.live.watches.watch import Frames, Watch
from babygpt.metrics.inspection import gates_of, phases_of
from babygpt.positions import Positions
from babygpt.sampling.diffusion import Filled, fill_in

HOLE = "_"  # what a learner types for MASK; each is one character to be found


def encode_masked(tokenizer: CharTokenizer, text: str) -> Tensor:
    """Encode a text in which every _ (or ░) stands for a MASK token: (1, T) token ids.

    A tokenizer that knows _ as a character encodes it as that; then ░ alone is a hole.

    Raises BadInput if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    if tokenizer.mask_id is None:
        raise BadInput("the tokenizer has no MASK token: load the corpus with_mask=True")
    holes = MASK if HOLE in tokenizer.ids else HOLE + MASK
    hollow = torch.tensor([char in holes for char in text], dtype=torch.bool)
    if not hollow.any():
        raise BadInput(f"{text!r} has no hole: write {holes[0]} for each character to be found")
    some = tokenizer.characters[0]  # stands in a hole while the text is read
    ids = tokenizer.encode("".join(some if char in holes else char for char in text))
    return ids.masked_fill(hollow, tokenizer.mask_id)[None]


@dataclass(frozen=True)
class Gates:
    """The gates of a model, as they are between two steps.

    values  (H or 1, T, channels)  what multiplies the keys of each head, or of all heads
    phases  (H or 1, D)  radians, or None where there is none to learn
    alpha   the factor of MASK tokens, or None where there is none
    """

    values: np.ndarray
    phases: np.ndarray | None
    alpha: float | None

    def phase_change(self, first: Gates) -> np.ndarray:
        """Return how far the phases of each head have moved at most since `first`, radians: (H or 1,)."""
        if self.phases is None or first.phases is None:
            return np.zeros(len(self.values))
        furthest: np.ndarray = np.abs(self.phases - first.phases).max(axis=-1)
        return furthest


def gates(times: int = 40, length: int = 32) -> Watch:
    """Watch the gates of a model's keys, before any norm: a row for each position.

    The last four of every sixteen positions are MASK. Where each head has gates of its own, those of the
    head are drawn whose phases have moved furthest.

    length  positions, at least 1
    Raises BadInput for a length below 1; measuring raises one if the model's encoding has no gates.
    """
    if length < 1:
        raise BadInput(f"length ({length}) must be at least 1 position")
    masked = torch.arange(length) % 16 >= 12

    @torch.inference_mode()
    def measure(model: Any) -> Gates:
        encoding, device = model.encoding, next(model.parameters()).device
        values = gates_of(encoding, Positions(torch.arange(length), masked=masked[None]).to(device))
        phases = phases_of(encoding)
        copied = None if phases is None else phases.cpu().numpy().copy()
        return Gates(values.cpu().numpy().astype(np.float16), copied, getattr(encoding, "alpha", None))

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = frames[0][1], frames[-1][1]
        moved = now.phase_change(first)
        head = int(moved.argmax())
        shown = now.values[head].astype(np.float32)
        both = now.phases is None or shown.shape[-1] > now.phases.shape[-1]
        mark = "MASK" if now.alpha is None else f"MASK\n× {format_number(now.alpha)}"
        across = "channel: cosines, then sines" if both else "channel"
        plots.draw_gates(ax, shown, masked.numpy(), describe_phases(now, moved, head), across, mark)

    return Watch(measure, draw, times, width=1.25, height=3.6)


def describe_phases(now: Gates, moved: np.ndarray, head: int) -> str:
    """Say how far the phases of a head have moved at most."""
    if now.phases is None:
        return "No phase to learn: the gates stay"
    whose = f"Head {head + 1}'s phases" if len(moved) > 1 else "Phases"
    return f"{whose} moved by {moved[head]:.2f} rad"


def filled_text(tokenizer: CharTokenizer, text: str, times: int = 40, columns: int = 16) -> Watch:
    """Watch a text with holes as the model fills it in, each time anew, always taking the likeliest.

    text     with a _ for each hole
    columns  characters in a row
    Raises BadInput if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    idx = encode_masked(tokenizer, text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, filled = frames[-1]
        confidence = confidence_of(filled)
        finding = f"After {step} steps: {np.nanmean(confidence):.0%} sure"
        given = (filled.when[0] == 0).cpu().numpy()
        letters = tokenizer.decode(filled.tokens[0])
        plots.draw_text(ax, letters, confidence, finding, "colour: how sure", columns, given=given)

    return Watch(lambda model: fill_in(model, idx, temperature=0), draw, times, width=1.4)


def confidence_of(filled: Filled) -> np.ndarray:
    """Return the model's confidence in each character of the first text; nan where it did not write."""
    return filled.confidence[0].masked_fill(filled.when[0] == 0, torch.nan).cpu().numpy()
