"""Exercises of notebook 05: repaired code, a kernel for each head, and a width."""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt.encodings.gaussian import log_kernel
from babygpt.encodings.rotary import rotate
from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import Unusable, ask_tensor, require, require_equal
from babygpt_course.exercises.compare import SHOWN, as_numbers, describe, difference, format_beyond
from babygpt_course.exercises.exercise import Exercise, each, read_tasks

TASKS = read_tasks("lesson_05")

Kernel = Callable[[Tensor], Tensor]


def repaired_answer(x: Tensor, K: Kernel) -> Tensor:
    """K(m) times the rotated x at m = 0, 1, ...: (..., T, D) -> (..., T, D)."""
    dim, seq_len = x.shape[-1], x.shape[-2]
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
    freqs = torch.einsum("i,j->ij", torch.arange(seq_len).float(), inv_freq)
    emb = freqs.repeat_interleave(2, dim=-1)  # the angles of neighbours, as partner has it
    x1, x2 = x[..., ::2], x[..., 1::2]
    partner = torch.stack((-x2, x1), dim=-1).flatten(-2)
    scale = K(torch.arange(seq_len).float())[:, None]  # (T, 1): one for each position, not for each channel
    return scale * (x * emb.cos() + partner * emb.sin())


def rotation_mistakes(x: Tensor) -> dict[str, Tensor]:
    """Rotate x (..., T, D) with each mistake: sentence for the learner -> (..., T, D)."""
    D, times = x.shape[-1], torch.arange(x.shape[-2])
    rows = x.reshape(1, -1, *x.shape[-2:])
    angles = times[:, None] * 10_000.0 ** (-torch.arange(0, D, 2) / D)  # (T, D/2)
    half_angles, neighbour_angles = angles.repeat(1, 2), angles.repeat_interleave(2, dim=-1)  # (T, D) each
    first, second = x.chunk(2, dim=-1)
    half_partners = torch.cat((-second, first), dim=-1)
    neighbour_partners = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    layout = "Angles and partners must be of one layout: here neighbours are partners"
    return {
        f"{layout}; your angles are those of halves": (
            x * half_angles.cos() + neighbour_partners * half_angles.sin()
        ),
        f"{layout}; your partners are those of halves": (
            x * neighbour_angles.cos() + half_partners * neighbour_angles.sin()
        ),
        f"{layout}; yours is half-split": x * half_angles.cos() + half_partners * half_angles.sin(),
        "It turns the other way: the first channel of a pair gets minus the second, times the sine": (
            x * neighbour_angles.cos() - neighbour_partners * neighbour_angles.sin()
        ),
        "It is not turned at all": x,
        "The first row stands at position 0": rotate(rows, times + 1).view_as(x),
        "Pair i turns by m · 10000^(−2i/D): the exponent is −2i/D, not −i/D": (
            rotate(rows, times, 100.0).view_as(x)
        ),
    }


def rotates_and_scales(attempt: Any, draw: Generator, aspect: str) -> None:
    """Compare lengths or directions of the learner's vectors with those of a rotated x times K."""
    # (..., T, D); from 2049 on float16 has even numbers only, and its errors show in all rows of length 30
    shapes = (1, 2), (3, 2), (2, 6, 4), (2, 3, 8, 8), (2, 3, 8, 8), (1, 2, 30, 6), (300, 4), (2500, 6)
    for shape, kernel in product(shapes, (lambda m: 1.5 * (m + 1.0).cos(), torch.special.bessel_j0)):
        x, times = 3 * torch.randn(shape, generator=draw), torch.arange(shape[-2])
        what = f"x of shape {shape}, K(0), K(1), … = {describe(kernel(times)[:SHOWN])}"
        ours = ask_tensor(attempt, x, kernel, what=what, shape=shape)
        rotated = rotate(x.view(1, -1, *shape[-2:]), times).view(shape).double()
        if aspect == "numbers":
            require_equal(bool(ours.isfinite().all()), True, f"{what} all numbers are finite")
        elif aspect == "lengths":
            ratio = ours.norm(dim=-1) / rotated.norm(dim=-1)
            scale = kernel(times).abs().expand_as(ratio).double()
            hint, rows = "", ratio.reshape(-1, shape[-2])  # (…, T)
            off = ~rows.isclose(scale.reshape(rows.shape), atol=1e-4)
            if (first := int(off.any(dim=0).int().argmax())) > 0 and ((rows - 1)[off].abs() < 1e-4).all():
                hint = f". K is missing from row {first} on"
            elif shape[-2] == shape[-1]:
                hint = ". Does your K run along the positions, or along the channels?"
            elif not difference(ratio[..., 0], scale[..., 0], atol=1e-3):
                hint = (
                    ". At position 0, where nothing is turned, it is right: does your rotation keep lengths?"
                )
            mistakes = {"There is no K in it": torch.ones_like(ratio)}
            require_equal(ratio, scale, f"{what} lengths are multiplied wrongly:", mistakes, hint)
        else:
            hint = ". In row m, channels 2i and 2i + 1 turn by m · 10000^(−2i/D), the first to the second"
            turned = {text: wrong * kernel(times)[:, None] for text, wrong in rotation_mistakes(x).items()}
            mistakes = {"A K below 0 turns a vector round: is it multiplied by K itself?": rotated, **turned}
            mistakes = {text: F.normalize(wrong, dim=-1) for text, wrong in mistakes.items()}
            directions = F.normalize(ours, dim=-1)
            expected = F.normalize(rotated * kernel(times)[:, None], dim=-1)
            # A float32 of an angle is coarser where the angle is large.
            atol, wrong = 1e-4 if shape[-2] <= 30 else 1e-3, "the directions are not those of RoPE:"
            require_equal(directions, expected, f"{what} {wrong}", mistakes, hint, atol)


REPAIRED = Exercise(
    TASKS["Repair the specimen"],
    each(rotates_and_scales, "numbers", "lengths", "directions"),
    repaired_answer,
)


def head_bias_answer(alphas: Tensor, sigmas: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """log K of each head (H, Tq, Tk); alphas and sigmas (H, 2), positions of queries (Tq,) and keys (Tk,)."""
    distance = (queries[:, None] - keys[None, :]).float()  # (Tq, Tk)
    z = distance[..., None] / sigmas[:, None, None, :]  # (H, Tq, Tk, 2)
    return torch.logsumexp(alphas.log()[:, None, None, :] - z**2 / 2, dim=-1)


def exact_bias(alphas: Tensor, sigmas: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Return log K (H, Tq, Tk) as the course's own encoding computes it, in float64."""
    distance = (queries[:, None] - keys).double()
    return log_kernel(distance, alphas.double().log()[:, None, None], sigmas.double().log()[:, None, None])


BIAS_MISTAKES: dict[str, Callable[..., Tensor]] = {
    "The exponent is −m²/(2σ²), with a 2": lambda a, s, *at: head_bias_answer(a, s / 2**0.5, *at),
    "Where are the weights α?": lambda a, s, *at: head_bias_answer(torch.ones_like(a), s, *at),
    "Far away K is too small for a float, and log 0 is −∞: use torch.logsumexp": (
        lambda *given: head_bias_answer(*given).exp().log()
    ),
    "That is K; a bias that joins the scores is log K": lambda *given: head_bias_answer(*given).exp(),
}


def draw_bias_heads(draw: Generator, first: tuple[int, ...], far: int, same: bool = False) -> Iterator[Case]:
    """Draw (H, Tq, Tk) of several sizes, positions below `far`, and heads that are all alike or not."""
    for H, Tq, Tk in (first, (2, 3, 4), (2, 3, 4), (5, 4, 7), (1, 300, 2), (3, 2, 300)):
        alphas = torch.rand(H, 2, generator=draw) + 0.1
        sigmas = 12 * torch.rand(H, 2, generator=draw) + 1
        queries, keys = (torch.randint(far, (n,), generator=draw) for n in (Tq, Tk))
        queries[0], keys[0] = (0, far) if far > 15 else (queries[0], keys[0])  # as far apart as may be
        if same:
            alphas, sigmas = alphas[:1].expand(H, 2), sigmas[:1].expand(H, 2)
        what = f"H = {H}, queries at {describe(queries)}, keys at {describe(keys)}"
        yield Case(what, (alphas, sigmas, queries, keys))


def asks_bias(*arguments: Any) -> Agrees:
    """Return the check on heads that `draw_bias_heads` draws, given these arguments."""
    return Agrees(lambda draw: draw_bias_heads(draw, *arguments), exact_bias, BIAS_MISTAKES, atol=1e-3)


def kernel_drawn(attempt: Any) -> Tensor:
    """Return K of a narrow head and of a wide one, side by side, for 24 queries and keys: (Tq, 2 Tk).

    The queries come last first, and six positions are missing among the keys, so that a kernel shows which
    takes a row's number for a position.
    """
    queries, keys = torch.arange(29, 5, -1), torch.cat([torch.arange(12), torch.arange(18, 30)])
    alphas, sigmas = torch.tensor([[0.7, 0.3], [0.2, 0.8]]), torch.tensor([[1.0, 4.0], [3.0, 12.0]])
    return torch.cat(list(attempt(alphas, sigmas, queries, keys).exp()), dim=-1)


HEAD_BIAS = Exercise(
    TASKS["A kernel for each head"],
    [asks_bias((1, 2, 2), 15, True), asks_bias((2, 2, 2), 15), asks_bias((1, 1, 2), 50_000)],
    head_bias_answer,
    picture=(kernel_drawn, "key, of the first head and then of the second", "query, the last one first"),
)

NAME_AT = 40
COST = 0.5
FAR = 100
SHARE = 0.02
LONG = 256


def width(answer: Any, _: Any = None) -> float:
    """Return the learner's σ. Raises Unusable if it is no number above 0."""
    sigma = as_numbers(answer)
    lone = sigma is not None and not (sigma.dim() or sigma.is_complex() or sigma.dtype == torch.bool)
    if sigma is None or not lone or not 0 < sigma < math.inf:
        raise Unusable(f"this should be a width above 0, in tokens, and is {describe(answer)}")
    return float(sigma)


def keeps_the_name(answer: Any, _: Generator) -> None:
    cost = NAME_AT**2 / (2 * (sigma := width(answer)) ** 2)
    costs = f"costs a name {NAME_AT} tokens back {format_beyond(cost, COST)} nats"
    require(cost <= COST + 1e-9, f"σ = {sigma:g} {costs}; should be {COST} or less")


def forgets_the_rest(answer: Any, _: Generator) -> None:
    distance, sigma = torch.arange(LONG, dtype=torch.float64), width(answer)
    share = (-(distance**2) / (2 * sigma**2)).softmax(dim=0)[FAR:].sum().item()
    far = f"{FAR} tokens back and more; should be {SHARE:.0%} or less"
    require(share <= SHARE, f"σ = {sigma:g} leaves {format_beyond(share, SHARE, '%')} of the weight {far}")


WIDTH = Exercise(TASKS["A width that keeps the name"], [width, keeps_the_name, forgets_the_rest], 41.0)

EXERCISES = (REPAIRED, HEAD_BIAS, WIDTH)
