"""What an encoding's table looks like, in numbers (`python -m babygpt analyze`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from babygpt.encodings.alibi import slopes
from babygpt.encodings.base import norm
from babygpt.encodings.fourier import branch_codes
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, Gaussian
from babygpt.encodings.learned import LearnedPositions
from babygpt.encodings.polar import ALPHA, Gated, KeysOnly, Polar, Quadrature
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.errors import BadInput
from babygpt.memory import require_memory
from babygpt.metrics.branches import cosines
from babygpt.metrics.inspection import reach
from babygpt.positions import Positions

GATES = {"as written": Polar, "alpha on keys": KeysOnly, "quadrature": Quadrature}


def table_numbers(table: torch.Tensor) -> dict[str, float]:
    """How alike the rows of a position table are: (P, C) -> name -> number."""
    cosine = cosines(table)
    distinct = cosine - 2 * torch.eye(len(table))
    variance = torch.linalg.svdvals(table.double()) ** 2
    share = variance.cumsum(0) / variance.sum()
    return {
        "norm of a row, mean": float(table.norm(dim=-1).mean()),
        "cosine of neighbours, mean": float(cosine.diagonal(1).mean()),
        "cosine of first and last": float(cosine[0, -1]),
        "cosine of the two most similar rows": float(distinct.max()),
        "directions that hold 99% of the variance": float((share < 0.99).sum()) + 1,
    }


def require_table(width: int, length: int) -> None:
    """Raise BadInput unless a table with neighbouring rows can be made, and compared row by row."""
    if width < 1:
        raise BadInput(f"width ({width}) must be at least 1 channel")
    if length < 2:
        raise BadInput(f"length ({length}) must be at least 2: rows are compared with their neighbours")
    require_memory(f"tables of width {width} and length {length}", 8 * length * (width + length))


def wavelengths(width: int, length: int, theta: float) -> dict[str, float]:
    """The longest and the shortest wave of a width's frequencies, and how many turn within a length."""
    wave = 2 * math.pi / frequencies(width, theta)
    return {
        "shortest wavelength (tokens)": float(wave[0]),
        "longest wavelength (tokens)": float(wave[-1]),
        "pairs that turn at least once within the length": float((wave <= length).sum()),
    }


def sinusoidal(width: int = 128, length: int = 128, theta: float = 10_000.0) -> dict[str, float]:
    """The fixed table: wavelengths, then its rows."""
    require_table(width, length)
    table = sinusoid(torch.arange(length), width, theta)
    return {**wavelengths(width, length, theta), **table_numbers(table)}


def learned(width: int = 128, length: int = 128) -> dict[str, float]:
    """A table of learned positions before any training."""
    require_table(width, length)
    torch.manual_seed(0)
    return table_numbers(LearnedPositions(length, width).table.detach())


def rotary(width: int = 128, length: int = 128, theta: float = 10_000.0) -> dict[str, float]:
    """What RoPE makes of a query meeting an equal key at every distance."""
    require_table(width, length)
    k = rotate(torch.ones(1, 1, length, width), torch.arange(length), theta)[0, 0]
    score = k @ k[0] / width  # (length,) 1 at distance 0
    return {
        **wavelengths(width, length, theta),
        "score of equal q and k at distance 1": float(score[1]),
        "score of equal q and k at half the length": float(score[length // 2]),
        "lowest score at any distance": float(score.min()),
        "distance of the lowest score (tokens)": float(score.argmin()),
    }


def alibi() -> dict[str, float]:
    """How far each of four heads sees: the distance at which its score has fallen by 1."""
    return {
        f"head {h}: distance that costs a score of 1 (tokens)": 1 / float(m) for h, m in enumerate(slopes(4))
    }


def likeness(codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How alike codes are, and how far apart.

    codes    (n, C)  a row for each of n branches
    returns  (n, n) cosines and (n, n) Euclidean distances, float64
    """
    codes = codes.double()
    return cosines(codes), torch.cdist(codes, codes, compute_mode="donot_use_mm_for_euclid_dist")


def code_numbers(codes: torch.Tensor) -> dict[str, float]:
    """How well the codes of branches can be told apart.

    codes    (n, C)  a row for each branch, n at least 2
    returns  name -> number: cosine of branch 0 with 1, 2, 4, ...; distance of neighbours; the most similar
             pair; and how much larger the Gram matrix's largest eigenvalue is than its smallest
    Raises BadInput for fewer than 2 branches.
    """
    if len(codes) < 2:
        raise BadInput(f"{len(codes)} branches: to be told apart there must be at least 2")
    cosine, distance = likeness(codes)
    singular = torch.linalg.svdvals(codes.double())  # their squares are the Gram matrix's eigenvalues
    others = cosine - 3 * torch.eye(len(codes))  # no pair of a branch with itself
    powers = [2**i for i in range(len(codes).bit_length()) if 2**i < len(codes)]
    return {
        **{f"cosine of branches 0 and {b}": float(cosine[0, b]) for b in powers},
        "distance of neighbours, mean": float(distance.diagonal(1).mean()),
        "cosine of the two most similar branches": float(others.max()),
        "condition number of the Gram matrix": float((singular[0] / singular[-1]) ** 2),
    }


def fourier(
    width: int = 512, theta: float = 10_000.0, stride: int = 128, branches: int = 8
) -> dict[str, float]:
    """The codes of branches, and beside them what 2-D RoPE does with the same frequencies.

    512 channels are note 002's.

    The rival's rows are of those pairs only that turn with the branch. They are half of a head's, and the
    others are the same in every branch: where c is the cosine of the pairs, a whole key's is (1 + c) / 2.
    """
    ours, rival = branch_codes(width, theta, stride, branches).values()
    rows = {"Fourier": ours, "2-D RoPE, branch pairs": rival}
    return {f"{name}: {what}": x for name, code in rows.items() for what, x in code_numbers(code).items()}


def first_below(encoding: Gaussian, share: float) -> float:
    """Where a kernel is below a share of its peak, in tokens; infinite if not in a million million."""
    end = 10**12
    found = reach(encoding, share, end)
    return float(found) if found < end else math.inf


def two_scales(alphas: Sequence[float] = ALPHAS, sigmas: Sequence[float] = SIGMAS) -> dict[str, float]:
    """How v5's kernel falls with distance."""
    encoding = Gaussian(2, alphas, sigmas, learnable=False)
    at = [0, 1, 2, 4, 8, 16, 32, 64]
    return {
        **{f"K at distance {m}": float(encoding.kernel(torch.tensor(m))) for m in at},
        **{
            f"first distance where K is below {share} of its peak (tokens)": first_below(encoding, share)
            for share in (1 / 2, 1 / 100)
        },
    }


def variance_told(scores: torch.Tensor, group: torch.Tensor) -> float:
    """Which share of the scores' variance the group tells: that of the groups' means, by the whole.

    scores  (n,)  numbers
    group   (n,)  whole numbers from 0; the same for scores that belong together
    """
    counts = torch.bincount(group)
    means = torch.bincount(group, scores) / counts.clamp(min=1)
    spread = scores - scores.mean()
    return float((means[group] - scores.mean()).square().sum() / spread.square().sum())


def gate_scores(encoding: Gated, length: int, masked: bool = False, n: int = 8) -> torch.Tensor:
    """Scores of n random queries, each at every position, with a random key at every position.

    masked   whether every token is MASK
    returns  (n, length, length), float64; q and k are normalised first, as a model does
    """
    draw = torch.Generator().manual_seed(0)
    q, k = norm(torch.randn(2, n, 1, 1, encoding.head_dim, generator=draw, dtype=torch.float64))
    positions = Positions.arange(length, masked=torch.full((1, length), masked))
    shape = (n, 1, length, encoding.head_dim)
    q, k = encoding.transform_qk(q.expand(shape), k.expand(shape), positions)
    return (q @ k.mT)[:, 0]


@torch.inference_mode()
def polar(
    width: int = 32, length: int = 128, theta: float = 10_000.0, alpha: float = ALPHA
) -> dict[str, float]:
    """The gates of v7: their waves, what alpha does to a score, and what a score depends on.

    Only scores are compared whose sum and difference of positions have many others like them.
    """
    require_table(width, length)
    require_memory(f"scores of width {width} and length {length}", 8 * 8 * length * (4 * length + 6 * width))
    torch.manual_seed(0)
    i, j = torch.arange(length)[:, None], torch.arange(length)
    inside = ((i - j).abs() <= length // 2) & ((i + j - length).abs() <= length // 2)
    gate = Polar(width, alpha, theta).gate(Positions.arange(length))
    numbers = {
        "shortest wavelength (tokens)": 2 * math.pi,
        "longest wavelength (tokens)": 2 * math.pi * theta ** ((width - 1) / width),
        "size of a gate as written, mean": float(gate.abs().mean()),
    }
    for name, kind in GATES.items():
        encoding = kind(width, alpha, theta)
        scores = gate_scores(encoding, length)
        change = (gate_scores(encoding, length, masked=True) - scores).square().mean().sqrt()
        told = [[variance_told(s[inside], by[inside]) for s in scores] for by in (i - j + length, i + j)]
        difference, total = (sum(shares) / len(shares) for shares in told)
        numbers |= {
            f"{name}: change of a score between MASK tokens (sd)": float(change / scores.std()),
            f"{name}: share of a score's variance told by i - j": difference,
            f"{name}: share of a score's variance told by i + j": total,
        }
    return numbers


ANALYSES: dict[str, Callable[..., dict[str, float]]] = {
    "sinusoidal": sinusoidal,
    "learned": learned,
    "rotary": rotary,
    "alibi": alibi,
    "fourier": fourier,
    "gaussian": two_scales,
    "polar": polar,
}
