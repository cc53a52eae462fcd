"""The claims of note 001: Gaussian RoPE."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from babygpt import invariants
from babygpt.claims.base import Claim, Finding, decide
from babygpt.claims.gaussian_kernels import (
    HEAD_DIM,
    LATE,
    NEAR,
    NOTE,
    TEXTS,
    NoteRotary,
    attention_by_distance,
    attention_with_pairs,
    mean_distance,
    note_kernel,
    note_rotation,
    scores_at,
)
from babygpt.claims.gaussian_training import TRAINED_CLAIMS
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.models.transformer import norm
from babygpt.positions import Positions

# ---------------------------------------------------------------- RoPE


def rope_is_relative() -> Finding:
    """Largest change of a RoPE score when query and key move together."""
    found = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    return Finding(decide(found.holds), found.value, "q and k turn together: only the distance is left")


def frequencies_are_right() -> Finding:
    """Error of the note's inverse frequencies against 10000^(-2j/d)."""
    by_note = 1.0 / (10000 ** (torch.arange(0, 64, 2).double() / 64))
    by_formula = torch.tensor([math.pow(10_000, -2 * j / 64) for j in range(32)], dtype=torch.float64)
    error = float((by_note - by_formula).abs().max())
    return Finding(decide(error < 1e-9), error, "its code computes what its formula says")


def rope_is_too_coarse() -> Finding:
    """The attention that RoPE can put on the token before, with the pairs it has."""
    most = max(float(attention_with_pairs(slice(pairs))[1]) for pairs in range(1, HEAD_DIM // 2 + 1))
    return Finding(
        decide(most < 0.5),
        most,
        f"a query in the fastest pairs gives {most:.0%} of its attention to the one token before it",
    )


def rope_cannot_choose_its_scale() -> Finding:
    """Attention on the nearest 8 of 64 tokens, by a head in the four fastest pairs and the four slowest."""
    near, wide = (float(attention_with_pairs(pairs)[:NEAR].sum()) for pairs in (slice(4), slice(-4, None)))
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
    return Finding(decide(error < 1e-6), error, "a factor in front of a rotation scales every length")


def kernel_changes_the_rotation() -> Finding:
    """Largest angle between f(x, m) and x rotated without the kernel, in radians."""
    x = torch.randn(1, 1, 64, HEAD_DIM, generator=torch.Generator().manual_seed(0)).double()
    m = torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    angle = float(cosine.acos().max())
    return Finding(decide(angle > 1e-3), angle, "it stretches vectors; their directions stay RoPE's")


def kernel_knows_the_distance() -> Finding:
    """Largest change of a score under the note's formula when query and key move together."""
    found = invariants.shift_invariant(AbsoluteGaussian(HEAD_DIM, learnable=False), head_dim=HEAD_DIM)
    near, far = (float(note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    return Finding(
        decide(found.holds),
        found.value,
        f"a score is multiplied by K(m)K(n): {near:.2f} for 3 and 0, {far:.0e} for 63 and 60",
    )


def early_queries_look_nearer() -> Finding:
    """Attention of a query at 12 on its nearest 4 tokens, under the note's formula minus under RoPE."""
    with_k, without = (
        attention_by_distance(e, 12)[:5].sum() for e in (AbsoluteGaussian(HEAD_DIM), Rotary(HEAD_DIM))
    )
    return Finding(
        decide(with_k - without > 0.01),
        float(with_k - without),
        f"K is {float(note_kernel(torch.zeros(1))):.2f} at 0 and falls: it strengthens nothing; "
        f"{with_k:.0%} of the attention on 4 tokens back at most, {without:.0%} without K",
    )


def late_queries_see_more() -> Finding:
    """How much a query at 100 tells keys apart under the note's formula: spread of its scores."""
    with_k, without = (
        float(scores_at(e, 100).std(dim=-1).mean().detach())
        for e in (AbsoluteGaussian(HEAD_DIM), Rotary(HEAD_DIM))
    )
    return Finding(
        decide(with_k > without),
        with_k,
        f"scores spread by {without:.2f} under RoPE and by {with_k:.0e} here: attention is a plain average",
    )


def kernel_gives_the_far_more() -> Finding:
    """Attention of a query at 60 on tokens more than 20 back: the best of both kernels minus RoPE."""
    kinds = Rotary(HEAD_DIM), AbsoluteGaussian(HEAD_DIM), RelativeGaussian(HEAD_DIM)
    rope, absolute, relative = (float(attention_by_distance(e, LATE)[21:].sum()) for e in kinds)
    gain, there = max(absolute, relative) - rope, (LATE - 20) / (LATE + 1)
    neglect = "it neglects nothing" if rope > 0.95 * there else "less than their share"
    return Finding(
        decide(gain > 0.01),
        gain,
        f"more than 20 back stand {there:.0%} of the tokens, and RoPE gives them {rope:.0%}: {neglect}; "
        f"the formula {absolute:.0%}, K(m − n) {relative:.0%}",
    )


def in_both_uses(what: str, **changed: Any) -> Finding:
    """By how many tokens a query at 60 looks further when the kernel is changed, in both ways to use it.

    what     is changed, in words
    changed  the kernel's alphas or sigmas
    """
    moved = {
        kind: mean_distance(kind(HEAD_DIM, **changed)) - mean_distance(kind(HEAD_DIM))
        for kind in (AbsoluteGaussian, RelativeGaussian)
    }
    reason = f"{what}: a query at {LATE} looks {moved[RelativeGaussian]:+.1f} tokens further with K(m − n), "
    reason += f"{moved[AbsoluteGaussian]:+.1f} with the formula"
    return Finding(decide(*(gain > 1.0 for gain in moved.values())), moved[RelativeGaussian], reason)


def widths_set_the_range() -> Finding:
    """By how many tokens a query looks further when both widths are doubled."""
    return in_both_uses("σ₁ and σ₂ twice as wide", sigmas=(2 * SIGMAS[0], 2 * SIGMAS[1]))


def weights_set_the_share() -> Finding:
    """The same for a wide Gaussian of ten times the weight; both weights together cancel in K(m - n)."""
    return in_both_uses("α₂ ten times larger", alphas=(ALPHAS[0], 10 * ALPHAS[1]))


def crossovers() -> Tensor:
    """Where the wide Gaussian begins to outdo the narrow one, text by text: (2, TEXTS), in tokens.

    First the place from which on it leaves a query longer, under the formula; then the distance from which
    on it scores a key higher, with K(m - n).
    """
    alone = (ALPHAS[0], 0.0), (0.0, ALPHAS[1])
    q = norm(torch.randn(TEXTS, 1, LATE, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    formula = (AbsoluteGaussian(HEAD_DIM, alphas, learnable=False) for alphas in alone)
    narrow, wide = (e.transform_qk(q, q, Positions.arange(LATE))[0].norm(dim=-1)[:, 0] for e in formula)
    distance = (RelativeGaussian(HEAD_DIM, alphas, learnable=False) for alphas in alone)
    near, far = (scores_at(e, LATE).flip(-1) for e in distance)
    return torch.stack([(more > less).int().argmax(dim=-1) for less, more in ((narrow, wide), (near, far))])


def scales_switch() -> Finding:
    """By how many tokens texts differ in where the wide Gaussian overtakes the narrow one."""
    at = crossovers()
    moved, first, last = int((at.amax(dim=-1) - at.amin(dim=-1)).max()), int(at.min()), int(at.max())
    where = f"{first} to {last}" if last > first else str(first)
    reason = f"the wide term overtakes the narrow one from {where} tokens on, asked of {TEXTS} random texts: "
    reason += "it depends on the text" if moved else "α and σ set it beforehand, and no text moves it"
    return Finding(decide(moved > 0), float(moved), reason)


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
    by_code = NoteRotary()(x)[0] / note_rotation(x)[0]  # (T, D)
    by_formula = note_kernel(torch.arange(64.0))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, note_kernel(torch.arange(64.0)).expand(64, 64), atol=1e-4))
    reason = "with as many tokens as channels it runs, and K falls along the channels, alike at every place"
    return Finding(decide(error < 1e-4), error, reason if same else "each place gets its own factor")


def code_rotates() -> Finding:
    """Largest relative change of a vector's length by the note's rotation, its kernel left out."""
    x = torch.randn(8, 128, 64, generator=torch.Generator().manual_seed(0))
    change = note_rotation(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    return Finding(
        decide(worst < 1e-5),
        worst,
        f"two layouts are mixed: lengths change by factors of {change.min():.2f} to {change.max():.2f}",
    )


def code_adapts() -> Finding:
    """Trainable numbers in the note's module."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    return Finding(
        decide(trainable > 0), float(trainable), "its α and σ are plain numbers, which no gradient reaches"
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
    *TRAINED_CLAIMS,
)
