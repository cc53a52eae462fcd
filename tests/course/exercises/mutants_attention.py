"""Mistakes in the exercises of notebook 03a."""

import torch

from babygpt.encodings.base import norm
from babygpt_course.exercises.attention import ATTENTION, BLOCK, HALF_BLIND
from tests.course.exercises.harness import Mutant

SUMS, LATER, EARLIER, SCORES, MIX, PYTORCH = (check.asked for check in ATTENTION.checks)
STAYS, MLP, ATTENDS, HEARS, WHOLE = (check.asked for check in BLOCK.checks)
LETTERS, END, START, TWO = (check.asked for check in HALF_BLIND.checks)


def attend(q, k, v, diagonal=1, scale=0.5, after=False, dim=-1, width=None):
    scores = q @ k.transpose(-2, -1) / (width or q.shape[-1]) ** scale
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)
    if after:
        weights = scores.softmax(dim).masked_fill(later, 0.0)
    else:
        weights = scores.masked_fill(later, -torch.inf).softmax(dim)
    return weights @ v, weights


def width_of_v(q, k, v):
    return attend(q, k, v, width=v.shape[-1])


def zero_scores(q, k, v):
    """The mask multiplies the scores by 0, so that hidden tokens still get e^0."""
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).tril()
    weights = scores.softmax(-1)
    return weights @ v, weights


def block(
    x, w, n_head, pre=True, add=True, square=True, qk=True, scale=2, mask=True, mlp_norm=True, cut=True
):
    B, T, C = x.shape
    D = C // n_head
    y = norm(x) if pre else x
    q, k, v = (
        (y @ w[name].T).view(B, T, n_head, D).transpose(1, 2)
        if cut
        else (y @ w[name].T).view(B, n_head, T, D)
        for name in ("to_q", "to_k", "to_v")
    )
    q, k = (norm(q), norm(k)) if qk else (q, k)
    scores = scale * q @ k.transpose(-2, -1) / D**0.5
    if mask:
        scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -torch.inf)
    mix = scores.softmax(-1) @ v
    mix = mix.transpose(1, 2).reshape(B, T, C) if cut else mix.reshape(B, T, C)
    x = mix @ w["out"].T + (x if add else 0)
    hidden = ((norm(x) if mlp_norm else x) @ w["up"].T).relu()
    return (hidden**2 if square else hidden) @ w["down"].T + (x if add else 0)


def with_(**how):
    return lambda x, w, n_head: block(x, w, n_head, **how)


ALL = [STAYS, MLP, ATTENDS, WHOLE]
MUTANTS = [
    Mutant(
        ATTENTION,
        "no mask",
        lambda *a: attend(*a, diagonal=99),
        [LATER, EARLIER, SCORES, PYTORCH],
        "where is",
    ),
    Mutant(
        ATTENTION,
        "off by one",
        lambda *a: attend(*a, diagonal=2),
        [LATER, EARLIER, SCORES, PYTORCH],
        "see the one after it",
    ),
    Mutant(
        ATTENTION,
        "not itself",
        lambda *a: attend(*a, diagonal=0),
        [SUMS, LATER, EARLIER, SCORES, MIX, PYTORCH],
        "has no softmax",
    ),
    Mutant(ATTENTION, "no scale", lambda *a: attend(*a, scale=0.0), [SCORES, PYTORCH], "by √D"),
    Mutant(ATTENTION, "by D", lambda *a: attend(*a, scale=1.0), [SCORES, PYTORCH], "not by D"),
    Mutant(ATTENTION, "v's width", width_of_v, [SCORES, PYTORCH], "not that of v"),
    Mutant(
        ATTENTION,
        "mask after",
        lambda *a: attend(*a, after=True),
        [SUMS, LATER, EARLIER, SCORES, PYTORCH],
        "mask before the softmax",
    ),
    Mutant(
        ATTENTION,
        "over queries",
        lambda *a: attend(*a, dim=-2),
        [SUMS, EARLIER, SCORES, PYTORCH],
        "Your columns do",
    ),
    Mutant(ATTENTION, "zeros for −∞", zero_scores, [LATER, EARLIER, SCORES, PYTORCH]),
    Mutant(ATTENTION, "mix of v alone", lambda q, k, v: (v, attend(q, k, v)[1]), [MIX, PYTORCH]),
    Mutant(BLOCK, "adds nothing", with_(add=False), ALL, "*adds* to the stream"),
    Mutant(BLOCK, "ReLU", with_(square=False), [MLP, WHOLE], "ReLU squared"),
    Mutant(BLOCK, "MLP reads the stream", with_(mlp_norm=False), [MLP, WHOLE]),
    Mutant(BLOCK, "attention reads the stream", with_(pre=False), [ATTENDS, WHOLE]),
    Mutant(BLOCK, "no query norm", with_(qk=False), [ATTENDS, WHOLE]),
    Mutant(BLOCK, "scale 1", with_(scale=1), [ATTENDS, WHOLE]),
    Mutant(BLOCK, "no mask", with_(mask=False), [ATTENDS, HEARS, WHOLE], "the last token, changed"),
    Mutant(BLOCK, "heads cut wrongly", with_(cut=False), [ATTENDS, WHOLE]),
    Mutant(BLOCK, "norm after", lambda *a: norm(block(*a)), ALL, "itself is not normalised"),
    Mutant(HALF_BLIND, "the notebook's", ("我爱你", "你爱我"), [LETTERS, END, START, TWO], "from a to z"),
    Mutant(HALF_BLIND, "two exchanged", ("abcdef", "bacdef"), [START], "predicts the same after 'abc'"),
    Mutant(HALF_BLIND, "backwards", ("abcdef", "fedcba"), [END], "different things after"),
    Mutant(HALF_BLIND, "the same", ("abcdef", "abcdef"), [START, TWO], "two layers, too"),
    Mutant(HALF_BLIND, "other letters", ("abcdef", "ghijef"), [END]),
]
