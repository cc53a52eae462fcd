"""Exercises of notebook 05: the note's code repaired, a kernel for each head, a width that keeps a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.gaussian import log_kernel
from babygpt.encodings.rotary import rotate
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, ask
from babygpt_course.exercises.broken_promises import BROKEN
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.head_kernels import HEAD_BIAS

Kernel = Callable[[Tensor], Tensor]


def repaired_stub(x: Tensor, K: Kernel) -> Tensor:
    """K(m) times the rotated x at m = 0, 1, ...: (..., T, D) -> (..., T, D). So far, the note's code."""
    dim, seq_len = x.shape[-1], x.shape[-2]
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
    freqs = torch.einsum("i,j->ij", torch.arange(seq_len).float(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    x1, x2 = x[..., ::2], x[..., 1::2]
    partner = torch.stack((-x2, x1), dim=-1).flatten(-2)
    return K(torch.arange(seq_len).float()) * (x * emb.cos() + partner * emb.sin())


def repaired_answer(x: Tensor, K: Kernel) -> Tensor:
    """K(m) times the rotated x at m = 0, 1, ...: (..., T, D) -> (..., T, D)."""
    dim, seq_len = x.shape[-1], x.shape[-2]
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
    freqs = torch.einsum("i,j->ij", torch.arange(seq_len).float(), inv_freq)
    emb = freqs.repeat_interleave(2, dim=-1)  # the angles of neighbours, as partner has it
    x1, x2 = x[..., ::2], x[..., 1::2]
    partner = torch.stack((-x2, x1), dim=-1).flatten(-2)
    scale = K(torch.arange(seq_len).float())[:, None]  # (T, 1): one for each place, not for each channel
    return scale * (x * emb.cos() + partner * emb.sin())


def drawn_kernel(draw: Generator) -> tuple[Kernel, str]:
    """A kernel of two Gaussians, and its numbers."""
    alphas = torch.rand(2, generator=draw) + 0.2
    sigmas = 40 * torch.rand(2, generator=draw) + 5
    words = f"α {shown(alphas)}, σ {shown(sigmas)}"
    return lambda m: log_kernel(m.float(), alphas.log(), sigmas.log()).exp(), words


SHAPES = ((3, 2), (2, 6, 4), (2, 3, 8, 8), (1, 2, 30, 6))  # (..., T, D)


def scaled_and_turned(attempt: Any, draw: Generator) -> list[tuple[Tensor, Tensor, Tensor, str]]:
    """The learner's answer, the rotated x, K at each place (T, 1), and what was asked, for each shape."""
    found = []
    for shape in SHAPES:
        kernel, words = drawn_kernel(draw)
        x = torch.randn(shape, generator=draw)
        what = f"x of shape {shape}, {words}"
        got = ask(attempt, x, kernel, what=what)
        if text := wrong_shape(got, shape):
            raise Wrong(f"for {what} {text}")
        turned = rotate(x.view(1, -1, *shape[-2:]), torch.arange(shape[-2])).view(shape)
        found.append((torch.as_tensor(got).detach(), turned, kernel(torch.arange(shape[-2]))[:, None], what))
    return found


def runs(attempt: Any, draw: Generator) -> None:
    for got, *_, what in scaled_and_turned(attempt, draw):
        if not got.isfinite().all():
            raise Wrong(f"for {what} {int((~got.isfinite()).sum())} numbers are not finite")


def scales(attempt: Any, draw: Generator) -> None:
    for got, turned, scale, what in scaled_and_turned(attempt, draw):
        ratio = got.norm(dim=-1) / turned.norm(dim=-1)
        want = scale[:, 0].expand_as(ratio)
        if text := difference(ratio, want, atol=1e-3):
            told = ""
            if got.shape[-2] == got.shape[-1]:
                told = ". Does your K run along the places, or along the channels?"
            elif not difference(ratio[..., 0], want[..., 0], atol=1e-3):
                told = ". At place 0, where nothing is turned, it is right: does your rotation keep lengths?"
            if not difference(ratio, torch.ones_like(ratio), atol=1e-3):
                told = ". There is no K in it"
            raise Wrong(f"for {what} lengths are multiplied wrongly: {text}{told}")


def turns(attempt: Any, draw: Generator) -> None:
    for got, turned, _, what in scaled_and_turned(attempt, draw):
        unit = got / got.norm(dim=-1, keepdim=True)
        if text := difference(unit, turned / turned.norm(dim=-1, keepdim=True), atol=1e-3):
            told = "Angles and partners must be of one layout: here neighbours are partners"
            raise Wrong(f"for {what} the directions are not those of RoPE: {text}. {told}")


REPAIRED = Exercise(
    name="Repair the specimen",
    task=(
        "The stub is the code of note 001, with the faults that can be seen in its numbers. Make "
        "`repaired(x, K)` compute K(m) · R_m x for x of shape (…, T, D), whatever T and D are: row m of x, "
        "rotated as RoPE does at place m = 0, 1, …, and multiplied by K(m). `K` is any kernel, a function "
        "that takes places (T,) and returns (T,). Neighbouring channels stay partners, as in the stub's "
        "`partner`. Two lines have to change."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("it runs, for every shape", runs),
        Check("every length is multiplied by K of its place", scales),
        Check("the directions are RoPE's", turns),
    ),
    hints=(
        "K gives (T,), and x is (…, T, D). With which axis does PyTorch match a lone one?",
        "`K(…)[:, None]` is (T, 1). What remains is the mixture of two layouts from notebook 04.",
        "Neighbours are partners, so neighbours need the same angle: ω₀, ω₀, ω₁, ω₁, …",
    ),
    stub=repaired_stub,
    answer=repaired_answer,
)


NAME_AT, COST, FAR, SHARE, LONG = 40, 0.5, 100, 0.02, 256


def width(answer: Any) -> float:
    """The learner's σ. Raises Unusable if it is none."""
    if isinstance(answer, torch.Tensor) and answer.dim() == 0:
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not 0 < answer < math.inf:
        raise Unusable(f"this should be a width above 0, in tokens, and is {shown(answer)}")
    return float(answer)


def is_width(answer: Any, _: Generator) -> None:
    width(answer)


def keeps_the_name(answer: Any, _: Generator) -> None:
    cost = NAME_AT**2 / (2 * width(answer) ** 2)
    if cost > COST + 1e-9:
        raise Wrong(
            f"σ = {answer:g} costs a name {NAME_AT} tokens back {cost:.2f} nats; should be {COST} or less"
        )


def forgets_the_rest(answer: Any, _: Generator) -> None:
    distance = torch.arange(LONG, dtype=torch.float64)
    weights = (-(distance**2) / (2 * width(answer) ** 2)).softmax(dim=0)
    share = float(weights[FAR:].sum())
    if share > SHARE:
        far = f"{FAR} tokens back and more"
        raise Wrong(f"σ = {answer:g} leaves {share:.1%} of the weight {far}; should be {SHARE:.0%} or less")


WIDTH = Exercise(
    name="A width that keeps the name",
    task=(
        "One Gaussian of the distance, K(m) = exp(−m²/(2σ²)), whose logarithm is added to the scores. "
        f"Design its width σ for a text in which a name stands {NAME_AT} tokens back, and from {FAR} tokens "
        f"back on there is only noise. Two wishes: the name's score may lose at most {COST} nats; and if all "
        f"{LONG} tokens of a text have equal scores before K is added, the last one may give at most "
        f"{SHARE:.0%} of its attention to tokens {FAR} or more back. Your answer is a number, σ in tokens."
    ),
    level="core",
    minutes=8,
    checks=(
        Check("it is a width", is_width),
        Check("the name is heard", keeps_the_name),
        Check("the noise is not", forgets_the_rest),
    ),
    hints=(
        "The first wish gives a smallest σ: log K at the name's distance. The second gives a largest one.",
        f"Compute all weights, `(-torch.arange({LONG}.0) ** 2 / (2 * sigma ** 2)).softmax(0)`, for some σ.",
    ),
    stub=5.0,
    answer=41.0,
)

EXERCISES = (REPAIRED, HEAD_BIAS, WIDTH, BROKEN)
