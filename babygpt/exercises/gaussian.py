"""Exercises of notebook 05: the note's code repaired, a kernel for each head, and a width that keeps a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.gaussian import log_kernel
from babygpt.encodings.rotary import rotate
from babygpt.exercises.base import Check, Exercise, Unusable, Wrong, ask, expect
from babygpt.exercises.compare import difference, shown, wrong_shape
from babygpt.exercises.draws import integer

Kernel = Callable[[Tensor], Tensor]


def repaired_stub(x: Tensor, K: Kernel) -> Tensor:
    """K(m) times the rotated x at m = 0, 1, ...: (..., T, D) -> (..., T, D). The note's code, as it stands."""
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
        "The stub is the code of note 001, with its faults. Make `repaired(x, K)` compute K(m) · R_m x, for x "
        "of any shape (…, T, D) and any kernel `K`: a function of places (T,) that returns (T,). Two lines have "
        "to change."
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


def compare_bias(attempt: Any, draw: Generator, far: int, same: bool, sizes: tuple[tuple[int, int, int], ...]) -> None:
    for H, Tq, Tk in sizes:
        (alphas, sigmas, queries, keys), what = bias_case(draw, H, Tq, Tk, far)
        if same:
            alphas, sigmas = alphas[:1].expand(H, 2), sigmas[:1].expand(H, 2)
        distance = queries[:, None] - keys
        want = torch.stack([log_kernel(distance.float(), a.log(), s.log()) for a, s in zip(alphas, sigmas, strict=True)])
        z = distance[..., None] / sigmas[:, None, None]
        weights = alphas[:, None, None]
        mistakes = {
            "That is K; a bias that joins the scores is log K": (weights * (-(z**2) / 2).exp()).sum(-1),
            "The exponent is −m²/(2σ²), with a 2": torch.logsumexp(weights.log() - z**2, -1),
            "Where are the weights α?": torch.logsumexp(-(z**2) / 2, -1),
            "Far away K is too small for a float, and log 0 is −∞: use torch.logsumexp": (
                (weights * (-(z**2) / 2).exp()).sum(-1).log()
            ),
        }
        expect(attempt, alphas, sigmas, queries, keys, want=want, what=what, mistakes=mistakes, atol=1e-2)


def one_kernel(attempt: Any, draw: Generator) -> None:
    compare_bias(attempt, draw, 15, True, ((1, 2, 2), (2, 4, 4), (3, 5, 5)))


def own_kernels(attempt: Any, draw: Generator) -> None:
    compare_bias(attempt, draw, 15, False, ((2, 2, 2), (2, 3, 4), (5, 4, 7)))


def far_kernels(attempt: Any, draw: Generator) -> None:
    compare_bias(attempt, draw, 5000, False, ((1, 1, 2), (2, 3, 3), (4, 6, 5)))


HEAD_BIAS = Exercise(
    name="A kernel for each head",
    task=(
        "v5 shares one kernel among all heads. Write `head_bias(alphas, sigmas, queries, keys)` with a kernel for "
        "each: alphas and sigmas are (H, 2), `queries` (Tq,) and `keys` (Tk,) are places in the text, in any "
        "order. Return log K_h(m − n), (H, Tq, Tk), with K_h(m) = Σⱼ αⱼ exp(−m²/(2σⱼ²)). Places may be "
        "thousands of tokens apart, and the bias must stay finite."
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
)


NAME_AT, COST, FAR, SHARE, LONG = 40, 0.5, 100, 0.02, 256


def width(answer: Any) -> float:
    """The learner's σ. Raises Unusable if it is none."""
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not 0 < answer < math.inf:
        raise Unusable(f"this should be a width above 0, in tokens, and is {shown(answer)}")
    return float(answer)


def is_width(answer: Any, _: Generator) -> None:
    width(answer)


def keeps_the_name(answer: Any, _: Generator) -> None:
    cost = NAME_AT**2 / (2 * width(answer) ** 2)
    if cost > COST + 1e-9:
        raise Wrong(f"σ = {answer:g} costs a name {NAME_AT} tokens back {cost:.2f} nats; should be {COST} or less")


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
        f"One Gaussian, K(m) = exp(−m²/(2σ²)), whose logarithm joins the scores. Design its width σ for a text in "
        f"which a name stands {NAME_AT} tokens back, and {FAR} tokens back there is only noise: the name's score "
        f"may lose at most {COST} nats, and the last of {LONG} tokens that are all alike may give at most "
        f"{SHARE:.0%} of its weight to tokens that are {FAR} or more back. Your answer is σ."
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

EXERCISES = (REPAIRED, HEAD_BIAS, WIDTH)
