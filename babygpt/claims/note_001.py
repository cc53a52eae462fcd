"""The claims of note 001: Gaussian RoPE."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from babygpt import invariants
from babygpt.claims.base import Claim, Finding, verdict
from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import (
    ALPHAS,
    SIGMAS,
    AbsoluteGaussian,
    Gaussian,
    RelativeGaussian,
)
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.experiments.gaussian import shape
from babygpt.experiments.results import load_results
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions

NOTE = "001_e1f3ab19410e1e33.txt"
HEAD_DIM = 32
LATE, NEAR = 60, 8  # a query far from the start, and what counts as near it, in tokens
TEXTS = 512  # random ones


def note_kernel(m: Tensor) -> Tensor:
    """K as the note writes it, with its own numbers: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def turned_by_the_note(x: Tensor) -> Tensor:
    """The note's rotation, without its kernel: angles for half-split pairs, partners interleaved."""
    m = torch.arange(x.shape[-2])
    angle = m[:, None] * frequencies(x.shape[-1]).float()
    emb = torch.cat((angle, angle), dim=-1)  # (T, D)
    x1, x2 = x[..., ::2], x[..., 1::2]
    return x * emb.cos() + torch.stack((-x2, x1), dim=-1).flatten(-2) * emb.sin()


class NoteRotary(nn.Module):
    """The note's module, shortened: its kernel's weights and widths are plain numbers, as there."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D), if that worked."""
        return note_kernel(torch.arange(x.shape[-2]).float()) * turned_by_the_note(x)


def scored(encoding: Encoding, m: int, n: int = TEXTS) -> Tensor:
    """What a query at m thinks of itself and all before it: n random draws, (n, m + 1)."""
    draw, positions = torch.Generator().manual_seed(0), Positions.arange(m + 1)
    q, k = norm(torch.randn(2, n, 1, m + 1, HEAD_DIM, generator=draw))
    q, k = encoding.transform_qk(q, k, positions)
    scores = (q @ k.mT * score_scale(q))[:, 0]
    bias = encoding.score_bias(positions, positions)
    return (scores if bias is None else scores + bias)[:, -1]


def attention(encoding: Encoding, m: int) -> np.ndarray:
    """How a query at m shares out its attention by distance, on average: (m + 1,), nearest first."""
    weights: np.ndarray = scored(encoding, m).softmax(dim=-1).mean(dim=0).flip(0).detach().numpy()
    return weights


def mean_distance(encoding: Encoding, m: int = LATE) -> float:
    """How far back a query at m looks on average, in tokens."""
    return float(attention(encoding, m) @ np.arange(m + 1))


# ---------------------------------------------------------------- RoPE


def rope_is_relative() -> Finding:
    """Largest change of a RoPE score when query and key move together."""
    found = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    return Finding(verdict(found.holds), found.value, "q and k turn together: only the distance is left")


def frequencies_are_right() -> Finding:
    """Error of the note's inverse frequencies against 10000^(-2j/d)."""
    by_note = 1.0 / (10000 ** (torch.arange(0, 64, 2).double() / 64))
    by_formula = torch.tensor([math.pow(10_000, -2 * j / 64) for j in range(32)], dtype=torch.float64)
    error = float((by_note - by_formula).abs().max())
    return Finding(verdict(error < 1e-9), error, "its code computes what its formula says")


def with_pairs(pairs: slice, back: int = 1) -> Tensor:
    """Attention at each distance from 0 to 63 if q and k use these pairs only, and q asks for `back`."""
    away = torch.arange(64, dtype=torch.float64) - back
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM)[pairs]).mean(dim=-1)
    return (score_scale(torch.ones(HEAD_DIM)) * HEAD_DIM * likeness).softmax(dim=0)


def rope_is_too_coarse() -> Finding:
    """The attention that RoPE can put on the token before, with the pairs it has."""
    most = max(float(with_pairs(slice(pairs))[1]) for pairs in range(1, HEAD_DIM // 2 + 1))
    return Finding(
        verdict(most < 0.5),
        most,
        f"a query in the fastest pairs gives {most:.0%} of its attention to the one token before it",
    )


def rope_cannot_choose_its_scale() -> Finding:
    """Attention on the nearest 8 of 64 tokens, by a head in the four fastest pairs and the four slowest."""
    near, wide = (float(with_pairs(pairs)[:NEAR].sum()) for pairs in (slice(4), slice(-4, None)))
    trainable = sum(p.numel() for p in Rotary(HEAD_DIM).parameters())
    return Finding(
        "depends" if near > 2 * wide else "holds",
        near - wide,
        f"{trainable} numbers to train, but q and k choose the pairs: fast ones give {near:.0%} of the "
        f"attention to {NEAR} of 64 tokens, slow ones {wide:.0%}",
    )


# ---------------------------------------------------------------- the formula


def kernel_scales_the_vector() -> Finding:
    """Error of the length of f(x, m) against K(m) times that of x."""
    x, m = torch.randn(1, 1, 64, HEAD_DIM, generator=torch.Generator().manual_seed(0)), torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).transform_qk(x, x, Positions(m))
    error = float((q.norm(dim=-1) / x.norm(dim=-1) - note_kernel(m.float())).abs().max())
    return Finding(verdict(error < 1e-6), error, "a factor in front of a rotation scales every length")


def kernel_changes_the_rotation() -> Finding:
    """Largest angle between f(x, m) and x rotated without the kernel, in radians."""
    x, m = (
        torch.randn(1, 1, 64, HEAD_DIM, generator=torch.Generator().manual_seed(0)).double(),
        torch.arange(64),
    )
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    angle = float(cosine.acos().max())
    return Finding(verdict(angle > 1e-3), angle, "it stretches vectors; their directions stay RoPE's")


def kernel_knows_the_distance() -> Finding:
    """Largest change of a score under the note's formula when query and key move together."""
    found = invariants.shift_invariant(AbsoluteGaussian(HEAD_DIM, learnable=False), head_dim=HEAD_DIM)
    near, far = (float(note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    return Finding(
        verdict(found.holds),
        found.value,
        f"a score is multiplied by K(m)K(n): {near:.2f} for 3 and 0, {far:.0e} for 63 and 60",
    )


def early_queries_look_nearer() -> Finding:
    """Attention of a query at 12 on its nearest 4 tokens, under the note's formula minus under RoPE."""
    with_k, without = (attention(e, 12)[:5].sum() for e in (AbsoluteGaussian(HEAD_DIM), Rotary(HEAD_DIM)))
    return Finding(
        verdict(with_k - without > 0.01),
        float(with_k - without),
        f"K is {float(note_kernel(torch.zeros(1))):.2f} at 0 and falls: it strengthens nothing; "
        f"{with_k:.0%} of the attention on 4 tokens back at most, {without:.0%} without K",
    )


def late_queries_see_more() -> Finding:
    """How much a query at 100 tells keys apart under the note's formula: spread of its scores."""
    with_k, without = (
        float(scored(e, 100).std(dim=-1).mean().detach())
        for e in (AbsoluteGaussian(HEAD_DIM), Rotary(HEAD_DIM))
    )
    return Finding(
        verdict(with_k > without),
        with_k,
        f"scores spread by {without:.2f} under RoPE and by {with_k:.0e} here: attention is a plain average",
    )


def kernel_gives_the_far_more() -> Finding:
    """Attention of a query at 60 on tokens more than 20 back: the best of both kernels minus RoPE."""
    kinds = Rotary(HEAD_DIM), AbsoluteGaussian(HEAD_DIM), RelativeGaussian(HEAD_DIM)
    rope, absolute, relative = (float(attention(e, LATE)[21:].sum()) for e in kinds)
    gain, there = max(absolute, relative) - rope, (LATE - 20) / (LATE + 1)
    neglect = "it neglects nothing" if rope > 0.95 * there else "less than their share"
    return Finding(
        verdict(gain > 0.01),
        gain,
        f"more than 20 back stand {there:.0%} of the tokens, and RoPE gives them {rope:.0%}: {neglect}; "
        f"the formula {absolute:.0%}, K(m − n) {relative:.0%}",
    )


def both_ways(change: Callable[[type[Gaussian]], tuple[Gaussian, Gaussian]], what: str) -> Finding:
    """By how many tokens a query at 60 looks further when the kernel is changed, in both ways to use it."""
    moved = {
        kind: mean_distance(after) - mean_distance(before)
        for kind in (AbsoluteGaussian, RelativeGaussian)
        for before, after in [change(kind)]
    }
    works = [gain > 1.0 for gain in moved.values()]
    reason = f"{what}: a query at {LATE} looks {moved[RelativeGaussian]:+.1f} tokens further with K(m − n), "
    reason += f"{moved[AbsoluteGaussian]:+.1f} with the formula"
    return Finding(
        "holds" if all(works) else "depends" if any(works) else "fails", moved[RelativeGaussian], reason
    )


def widths_set_the_range() -> Finding:
    """Twice both widths."""
    twice = tuple(2 * sigma for sigma in SIGMAS)
    return both_ways(lambda kind: (kind(HEAD_DIM), kind(HEAD_DIM, sigmas=twice)), "σ₁ and σ₂ twice as wide")


def weights_set_the_share() -> Finding:
    """Ten times the weight of the wide Gaussian. (Both weights together cancel in K(m - n).)"""
    more = ALPHAS[0], 10 * ALPHAS[1]
    return both_ways(lambda kind: (kind(HEAD_DIM), kind(HEAD_DIM, alphas=more)), "α₂ ten times larger")


def overtaking() -> Tensor:
    """Where the wide Gaussian begins to outdo the narrow one, text by text: (2, TEXTS), in tokens.

    First the place from which on it leaves a query longer, under the formula; then the distance from which
    on it scores a key higher, with K(m - n).
    """
    alone = (ALPHAS[0], 0.0), (0.0, ALPHAS[1])
    q = norm(torch.randn(TEXTS, 1, LATE, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    formula = (AbsoluteGaussian(HEAD_DIM, alphas, learnable=False) for alphas in alone)
    narrow, wide = (e.transform_qk(q, q, Positions.arange(LATE))[0].norm(dim=-1)[:, 0] for e in formula)
    distance = (RelativeGaussian(HEAD_DIM, alphas, learnable=False) for alphas in alone)
    near, far = (scored(e, LATE).flip(-1) for e in distance)
    return torch.stack([(more > less).int().argmax(dim=-1) for less, more in ((narrow, wide), (near, far))])


def scales_switch() -> Finding:
    """By how many tokens texts differ in where the wide Gaussian overtakes the narrow one."""
    at = overtaking()
    moved, first, last = int((at.amax(dim=-1) - at.amin(dim=-1)).max()), int(at.min()), int(at.max())
    where = f"{first} to {last}" if last > first else str(first)
    reason = f"the wide term overtakes the narrow one from {where} tokens on, asked of {TEXTS} random texts: "
    reason += "it depends on the text" if moved else "α and σ set it beforehand, and no text moves it"
    return Finding(verdict(moved > 0), float(moved), reason)


# ---------------------------------------------------------------- the code


def code_runs() -> Finding:
    """Tokens that the note's own example can be given: 128 tokens of 64 channels, and none if it raises."""
    try:
        out = NoteRotary()(torch.zeros(2, 128, 64))
    except RuntimeError as error:
        return Finding("fails", 0.0, str(error).splitlines()[0])
    return Finding("holds", float(out.shape[-2]), "it runs")


def code_scales_by_place() -> Finding:
    """Error of the factor that the note's code gives to each place, where its shapes allow it to run."""
    x = torch.ones(1, 64, 64)
    by_code = NoteRotary()(x)[0] / turned_by_the_note(x)[0]  # (T, D)
    by_formula = note_kernel(torch.arange(64.0))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, note_kernel(torch.arange(64.0)).expand(64, 64), atol=1e-4))
    reason = "with as many tokens as channels it runs, and K falls along the channels, alike at every place"
    return Finding(verdict(error < 1e-4), error, reason if same else "each place gets its own factor")


def code_rotates() -> Finding:
    """Largest relative change of a vector's length by the note's rotation, its kernel left out."""
    x = torch.randn(8, 128, 64, generator=torch.Generator().manual_seed(0))
    change = turned_by_the_note(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    return Finding(
        verdict(worst < 1e-5),
        worst,
        f"two layouts are mixed: lengths change by factors of {change.min():.2f} to {change.max():.2f}",
    )


def code_adapts() -> Finding:
    """Trainable numbers in the note's module."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    return Finding(
        verdict(trainable > 0), float(trainable), "its α and σ are plain numbers, which no gradient reaches"
    )


# ---------------------------------------------------------------- after training


def against(results: dict[str, Any], key: str, version: str, rival: str = "v4") -> np.ndarray:
    """By how much a version's number is below its rival's, seed by seed; `key` may lead to a corpus."""
    for name in key.split("/"):
        results = results[name]
    return np.array(results[rival]) - np.array(results[version])


def over_seeds(*gains: np.ndarray) -> str:
    """Whether all seeds say yes, all no, or they do not agree."""
    better = np.concatenate(gains) > 0
    return "holds" if better.all() else "depends" if better.any() else "fails"


def spread(gain: np.ndarray) -> str:
    """Mean and range, with signs."""
    return f"{gain.mean():+.3f} ({gain.min():+.3f} to {gain.max():+.3f})"


def lowers_the_loss() -> Finding:
    """Nats per character that K(m - n) gains over RoPE in two worlds, α and σ fixed as in the note's code."""
    results = load_results("gaussian")
    worlds = "val_loss/plain-tales", "val_loss/tales"
    plain, full = (against(results, world, "v5 fixed") for world in worlds)
    trained = [against(results, world, "v5").mean() for world in worlds]
    reason = f"after {results['steps']} steps it leads RoPE by {spread(plain)} nats on the plain tales and "
    reason += f"{spread(full)} on the full ones; trained, by {trained[0]:+.3f} and {trained[1]:+.3f}"
    return Finding(over_seeds(plain, full), float(plain.mean()), reason)


def formula_lowers_the_loss() -> Finding:
    """The same for the note's own formula, on the plain tales."""
    results = load_results("gaussian")
    fixed, trained = (
        against(results, "val_loss/plain-tales", v) for v in ("v5-absolute fixed", "v5-absolute")
    )
    reason = f"K(m)K(n) gains {spread(fixed)} nats over RoPE fixed as in the code, {spread(trained)} trained"
    return Finding(over_seeds(fixed, trained), float(fixed.mean()), reason)


def helps_far_out() -> Finding:
    """Nats per character gained over RoPE at the places of the fourth window, by a model trained on one.

    These are positions beyond the window. How far back a text's own dependencies reach was not varied.
    """
    results = load_results("gaussian")
    relative, absolute = (against(results, "far", v) for v in ("v5 fixed", "v5-absolute fixed"))
    reason = f"in the fourth window of a model trained on one, K(m − n) gains {spread(relative)} nats over "
    reason += f"RoPE, the formula {spread(absolute)}; the reach of dependencies was not varied"
    return Finding(over_seeds(relative, absolute), float(relative.mean()), reason)


def finds_the_range() -> Finding:
    """Right answers that kernels free to choose their range lose against one that stays as it is."""
    results = load_results("gaussian")
    lost = against(results, "accuracy", "v5", "v5 fixed")
    before, after = results["start"]["half"], {kernel["half"] for kernel in results["kernel"]["v5"]}
    halves = " or ".join(map(str, sorted(after)))
    reason = f"trained, K(m − n) halves in {halves} tokens instead of {before}; of 100 questions, which ask "
    reason += f"further back, it answers {100 * lost.mean():.0f} fewer than left alone"
    return Finding("fails" if (lost > 0.05).all() else "depends", float(lost.mean()), reason)


def formula_keeps_a_scale() -> Finding:
    """What the formula's kernel, free to adapt, has left at the end of the window: least share of K(0)."""
    results = load_results("gaussian")
    size, trained = results["block_size"], results["kernel"]["v5-absolute"]
    left = min(float(shape(numbers, size)[-1]) for numbers in trained)
    before = float(shape(results["start"], size)[-1])
    return Finding(
        verdict(left < 0.5),
        left,
        f"given gradients, K({size}) goes from {before:.1%} of K(0) to {left:.0%} or more: training takes "
        "the kernel out of the window's way",
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "RoPE keeps relative positions", rope_is_relative),
    Claim(NOTE, "θ_j = 10000^(−2j/d)", frequencies_are_right),
    Claim(NOTE, "RoPE's frequencies may be too coarse for near tokens", rope_is_too_coarse),
    Claim(NOTE, "RoPE is fixed and cannot balance near and far", rope_cannot_choose_its_scale),
    Claim(NOTE, "K(m) scales the whole rotated vector", kernel_scales_the_vector),
    Claim(NOTE, "K works by controlling the rotation's frequency", kernel_changes_the_rotation),
    Claim(NOTE, "K(m) controls the sensitivity at relative positions", kernel_knows_the_distance),
    Claim(NOTE, "where m is small, K strengthens the local", early_queries_look_nearer),
    Claim(NOTE, "where m is large, K strengthens the global", late_queries_see_more),
    Claim(NOTE, "K brings back attention to the far that RoPE neglects", kernel_gives_the_far_more),
    Claim(NOTE, "σ₁ and σ₂ control how far the model looks", widths_set_the_range),
    Claim(NOTE, "α₁ and α₂ weigh local against global", weights_set_the_share),
    Claim(NOTE, "the two terms switch scales by themselves", scales_switch),
    Claim(NOTE, "the code runs on its own example", code_runs),
    Claim(NOTE, "the code multiplies the vector at m by K(m)", code_scales_by_place),
    Claim(NOTE, "the code rotates even and odd channels", code_rotates),
    Claim(NOTE, "the code's kernel adapts", code_adapts),
    Claim(NOTE, "a model learns better with K (K of the distance)", lowers_the_loss),
    Claim(NOTE, "a model learns better with K (the formula)", formula_lowers_the_loss),
    Claim(NOTE, "K helps at other positions (those beyond the window)", helps_far_out),
    Claim(NOTE, "a model adjusts the range of K to what it needs", finds_the_range),
    Claim(NOTE, "K balances near and far within the window (the formula)", formula_keeps_a_scale),
)
