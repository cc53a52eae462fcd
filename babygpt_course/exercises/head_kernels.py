"""An exercise of notebook 05: a kernel for each head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.gaussian import log_kernel
from babygpt_course.exercises.base import Check, Exercise, expect
from babygpt_course.exercises.compare import shown
from babygpt_course.exercises.picture import Picture

Kernel = Callable[[Tensor], Tensor]


def head_bias_stub(alphas: Tensor, sigmas: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """log K of each head (H, Tq, Tk); alphas and sigmas (H, 2), places of queries (Tq,) and keys (Tk,)."""
    return torch.zeros(len(alphas), len(queries), len(keys))


def head_bias_answer(alphas: Tensor, sigmas: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """log K of each head (H, Tq, Tk); alphas and sigmas (H, 2), places of queries (Tq,) and keys (Tk,)."""
    distance = (queries[:, None] - keys[None, :]).float()  # (Tq, Tk)
    z = distance[..., None] / sigmas[:, None, None, :]  # (H, Tq, Tk, 2)
    return torch.logsumexp(alphas.log()[:, None, None, :] - z**2 / 2, dim=-1)


def bias_case(draw: Generator, H: int, Tq: int, Tk: int, far: int) -> tuple[tuple[Tensor, ...], str]:
    """Kernels of H heads and places up to `far`, and the same in words."""
    alphas = torch.rand(H, 2, generator=draw) + 0.1
    sigmas = 12 * torch.rand(H, 2, generator=draw) + 1
    places = [torch.randint(far, (n,), generator=draw).sort().values for n in (Tq, Tk)]
    return (alphas, sigmas, *places), f"H = {H}, queries at {shown(places[0])}, keys at {shown(places[1])}"


def compare_bias(
    attempt: Any, draw: Generator, far: int, same: bool, sizes: tuple[tuple[int, int, int], ...]
) -> None:
    for H, Tq, Tk in sizes:
        (alphas, sigmas, queries, keys), what = bias_case(draw, H, Tq, Tk, far)
        if same:
            alphas, sigmas = alphas[:1].expand(H, 2), sigmas[:1].expand(H, 2)
        distance = queries[:, None] - keys
        want = torch.stack(
            [log_kernel(distance.float(), a.log(), s.log()) for a, s in zip(alphas, sigmas, strict=True)]
        )
        z = distance[..., None] / sigmas[:, None, None]
        weights = alphas[:, None, None]
        kernel = (weights * (-(z**2) / 2).exp()).sum(-1)
        mistakes = {
            "The exponent is −m²/(2σ²), with a 2": torch.logsumexp(weights.log() - z**2, -1),
            "Where are the weights α?": torch.logsumexp(-(z**2) / 2, -1),
            "Far away K is too small for a float, and log 0 is −∞: use torch.logsumexp": kernel.log(),
        }
        if kernel.max() > 0.01:
            mistakes["That is K; a bias that joins the scores is log K"] = kernel
        expect(attempt, alphas, sigmas, queries, keys, want=want, what=what, mistakes=mistakes, atol=1e-3)


def one_kernel(attempt: Any, draw: Generator) -> None:
    compare_bias(attempt, draw, 15, True, ((1, 2, 2), (2, 4, 4), (3, 5, 5)))


def own_kernels(attempt: Any, draw: Generator) -> None:
    compare_bias(attempt, draw, 15, False, ((2, 2, 2), (2, 3, 4), (5, 4, 7)))


def far_kernels(attempt: Any, draw: Generator) -> None:
    compare_bias(attempt, draw, 5000, False, ((1, 1, 2), (2, 3, 3), (4, 6, 5)))


def kernel_drawn(attempt: Any) -> Tensor:
    """K of a narrow head and of a wide one, side by side, for 24 queries and keys: (Tq, 2 Tk)."""
    alphas, sigmas = torch.tensor([[0.7, 0.3], [0.2, 0.8]]), torch.tensor([[1.0, 4.0], [3.0, 12.0]])
    return torch.cat(list(attempt(alphas, sigmas, torch.arange(24), torch.arange(24)).exp()), dim=-1)


HEAD_BIAS = Exercise(
    name="A kernel for each head",
    task=(
        "v5 shares one kernel among all heads. Write `head_bias(alphas, sigmas, queries, keys)` with a "
        "kernel for each: row h of `alphas` and of `sigmas`, both (H, 2), has the two weights and the two "
        "widths of head h. `queries` (Tq,) and `keys` (Tk,) are places in the text, whole numbers in any "
        "order. Return log K_h(m − n) for every head h, query at m and key at n, as (H, Tq, Tk), where "
        "K_h(x) = Σⱼ αₕⱼ exp(−x²/(2σₕⱼ²)). Places may be thousands of tokens apart, and the bias must stay "
        "finite."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("heads that agree", one_kernel),
        Check("each head its own kernel", own_kernels),
        Check("thousands of tokens apart", far_kernels),
    ),
    hints=(
        "First the distances, (Tq, Tk). Then give heads and scales an axis of their own: (H, Tq, Tk, 2).",
        "`sigmas[:, None, None, :]` is (H, 1, 1, 2), and meets `distance[..., None]`.",
        "log Σ α e^(−z²/2) = `torch.logsumexp(α.log() − z²/2, dim=-1)`, which never computes K itself.",
    ),
    stub=head_bias_stub,
    answer=head_bias_answer,
    picture=Picture(kernel_drawn, "key, of the first head and then of the second", "query"),
)
