"""An answer as a picture: a matrix that is made by calling it, beside the wanted one, and the difference."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt.errors import BadInput


@dataclass(frozen=True)
class Picture:
    """What of an answer can be drawn.

    matrix  given an answer, calls it on an input of its own, and returns what is drawn: (rows, columns)
    x, y    what runs along the columns and the rows
    """

    matrix: Callable[[Any], Tensor]
    x: str
    y: str


@dataclass(frozen=True)
class Drawn:
    """A figure of an answer, which a notebook shows, and what it shows in words."""

    figure: Figure
    words: str

    def __repr__(self) -> str:
        return f"Yours, the wanted one, and the difference: {self.words}"

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        """The picture, and what it shows for those who do not see it."""
        file = io.BytesIO()
        self.figure.savefig(file, format="png")
        return file.getvalue(), {"alt": repr(self)}


def numbers(of: Callable[[], Any]) -> Tensor:
    """A matrix that somebody's code makes, in float32. Raises BadInput if it makes something else."""
    made = torch.as_tensor(of()).detach().cpu()
    if made.dim() != 2 or made.is_complex():
        raise BadInput(f"{made.dtype} of shape {tuple(made.shape)} is no matrix")
    return made.float()


def apart(yours: Tensor, wanted: Tensor, atol: float = 1e-4) -> str:
    """In how many places two matrices differ, in words, and by how much."""
    differ = ~yours.isclose(wanted, 1e-5, atol)
    number = int(differ.sum())
    if not number:
        return "No difference"
    furthest = (yours - wanted)[differ].abs().nan_to_num(torch.inf).max()
    return f"{number} of {differ.numel()} differ, by up to {furthest:.2g}"
