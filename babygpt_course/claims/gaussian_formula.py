"""How the claims of note 001 about RoPE and about its formula are measured, with K(m) and with K(m - n)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from babygpt import invariants
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.positions import Positions
from babygpt_course.claims.base import Finding, decide
from babygpt_course.claims.gaussian_kernels import (
    HEAD_DIM,
    LATE,
    NEAR,
    TEXTS,
    attention_on_match,
    attention_with_pairs,
    mean_distance,
    note_kernel,
    random_heads,
    scores_at,
)

# ---------------------------------------------------------------- RoPE


def rope_is_relative() -> Finding:
    """Largest change of a RoPE score when query and key move together."""
    found = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    return Finding(decide(found.holds), found.value, "q and k turn together: only the distance is left")


def frequencies_are_right() -> Finding:
    """Error of 10000^(-2j/d) against the angle by which RoPE turns pair j between two neighbours."""
    x = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(HEAD_DIM // 2)
    turned = rotate(x[None], torch.tensor([1]))[0]
    angles = torch.atan2(turned[1::2], turned[::2])
    by_note = 10_000 ** (-2 * torch.arange(HEAD_DIM // 2).double() / HEAD_DIM)
    error = float((angles - by_note).abs().max())
    return Finding(
        decide(error < 1e-9), error, "so far does RoPE, as published, turn pair j from place to place"
    )


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


def angle_to_rope() -> tuple[float, float]:
    """Largest angle between f(x, m) and RoPE, radians; and largest error of its length against K(m)."""
    x, m = random_heads(64, 1)[0].double(), torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    error = (q.norm(dim=-1) / x.norm(dim=-1) - note_kernel(m.double())).abs().max()
    return float(cosine.acos().max()), float(error)


def kernel_leaves_the_frequency() -> Finding:
    """Error of the length of f(x, m) against K(m), if its direction is RoPE's."""
    angle, error = angle_to_rope()
    reason = "a factor in front of a rotation changes every length, and no direction"
    return Finding(decide(max(angle, error) < 1e-3), error, reason)


def kernel_changes_the_rotation() -> Finding:
    """Largest angle between f(x, m) and x rotated without the kernel, in radians."""
    angle, _ = angle_to_rope()
    return Finding(decide(angle > 1e-3), angle, "it stretches vectors; their directions stay RoPE's")


def kernel_knows_the_distance() -> Finding:
    """Largest change of a score, by the formula, when query and key move together."""
    kinds = (kind(HEAD_DIM, learnable=False) for kind in (AbsoluteGaussian, RelativeGaussian))
    formula, text = (invariants.shift_invariant(each, head_dim=HEAD_DIM) for each in kinds)
    near, far = (float(note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    reason = f"the formula multiplies a score by K(m)K(n): {near:.2f} for 3 and 0, {far:.0e} for 63 and 60; "
    reason += "K(m − n) is " + ("the same for both" if text.holds else "no function of the distance either")
    return Finding(decide(formula.holds, text.holds), formula.value, reason)


def on_a_match(back: int, early: int, late: int) -> Finding:
    """What K adds to the attention on a key that fits, `back` tokens before.

    early, late  where the query stands: when the formula is asked, and when K(m - n) is
    """
    formula, text = AbsoluteGaussian(HEAD_DIM), RelativeGaussian(HEAD_DIM)
    told, gains = [], []
    for name, encoding, m in (("the formula", formula, early), ("K(m − n)", text, late)):
        plain, with_k = (attention_on_match(e, m, back) for e in (Rotary(HEAD_DIM), encoding))
        told.append(f"at {m} {plain:.0%} becomes {with_k:.0%} by {name}")
        gains.append(with_k - plain)
    reason = f"attention on the one key that fits, {back} tokens back: {', '.join(told)}"
    return Finding(decide(*(gain > 0.01 for gain in gains)), gains[1], reason)


def early_queries_look_nearer() -> Finding:
    """What K(m - n) adds to the attention on a key that fits, 4 tokens back; by the formula asked early."""
    return on_a_match(4, early=12, late=LATE)


def late_queries_see_more() -> Finding:
    """What K(m - n) adds to the attention on a key that fits, 40 tokens back."""
    return on_a_match(40, early=LATE, late=LATE)


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
    q, _ = random_heads(LATE)
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
    return Finding(decide(0 < first < LATE, moved > 0), float(moved), reason)
