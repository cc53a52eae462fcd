"""What an encoding's table looks like, in numbers (`python -m babygpt analyze`)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from babygpt.encodings.alibi import slopes
from babygpt.encodings.learned import LearnedPositions
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid


def table_numbers(table: torch.Tensor) -> dict[str, float]:
    """How alike the rows of a position table are: (P, C) -> name -> number."""
    unit = table / table.norm(dim=-1, keepdim=True)
    cosine = unit @ unit.T
    distinct = cosine - 2 * torch.eye(len(table))
    singular = torch.linalg.svdvals(table.double())
    return {
        "norm of a row, mean": float(table.norm(dim=-1).mean()),
        "cosine of neighbours, mean": float(cosine.diagonal(1).mean()),
        "cosine of first and last": float(cosine[0, -1]),
        "cosine of the two most similar rows": float(distinct.max()),
        "directions that hold 99% of the variance": float(_effective(singular)),
    }


def _effective(singular: torch.Tensor) -> int:
    share = (singular**2).cumsum(0) / (singular**2).sum()
    return int((share < 0.99).sum()) + 1


def sinusoidal(width: int, length: int, theta: float) -> dict[str, float]:
    """The fixed table: wavelengths, then its rows."""
    wave = 2 * math.pi / frequencies(width, theta)
    numbers = table_numbers(sinusoid(torch.arange(length), width, theta))
    return {
        "shortest wavelength (tokens)": float(wave[0]),
        "longest wavelength (tokens)": float(wave[-1]),
        "pairs that turn once within the length": float((wave <= length).sum()),
        **numbers,
    }


def learned(width: int, length: int, theta: float) -> dict[str, float]:
    """A table of learned positions before any training (theta plays no part)."""
    torch.manual_seed(0)
    return table_numbers(LearnedPositions(length, width).table.detach())


def rotary(width: int, length: int, theta: float) -> dict[str, float]:
    """What RoPE makes of a query meeting an equal key at every distance."""
    wave = 2 * math.pi / frequencies(width, theta)
    k = rotate(torch.ones(1, 1, length, width), torch.arange(length), theta)[0, 0]
    score = k @ k[0] / width  # (length,) 1 at distance 0
    return {
        "shortest wavelength (tokens)": float(wave[0]),
        "longest wavelength (tokens)": float(wave[-1]),
        "pairs that turn once within the length": float((wave <= length).sum()),
        "score of equal q and k at distance 1": float(score[1]),
        "score of equal q and k at half the length": float(score[length // 2]),
        "lowest score at any distance": float(score.min()),
        "distance of the lowest score (tokens)": float(score.argmin()),
    }


def alibi(width: int, length: int, theta: float) -> dict[str, float]:
    """How far each of four heads sees: the distance at which its score has fallen by 1."""
    return {
        f"head {h}: distance that costs a score of 1 (tokens)": 1 / float(m) for h, m in enumerate(slopes(4))
    }


ANALYSES: dict[str, Callable[[int, int, float], dict[str, float]]] = {
    "sinusoidal": sinusoidal,
    "learned": learned,
    "rotary": rotary,
    "alibi": alibi,
}
