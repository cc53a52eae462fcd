"""Mistakes in the exercises of notebook 02."""

from functools import partial

import torch

from babygpt_course.exercises.lesson_02 import (
    ADDITIVE,
    BEYOND_V2,
    VOTES,
    v2_can_answer,
    votes_answer,
)
from tests.course.exercises.harness import Mutant, requirements

SUM, MEAN, DIFFER = requirements(VOTES)
SUMS, ALONE, MEANS, EXCEPTION = requirements(ADDITIVE)
EQUAL, SETTLED, DOUBT = requirements(BEYOND_V2)


KEPT = {}  # shape -> the first positions


def mean_of(E, P, W, b, positions):
    mean = positions.mean(0) @ W.T
    return E @ W.T + b + mean, P @ W.T - mean


def diagonal(table):
    logits = table.log() - table.log().mean(-1, keepdim=True)
    rest = logits - logits.mean(0, keepdim=True) - logits.mean(1, keepdim=True) + logits.mean((0, 1))
    return bool(rest.diagonal(dim1=1, dim2=2).abs().max() < 1e-3)


def centred(E, P, W, b):
    return E @ W.T + b, P @ W.T - (P @ W.T).mean(dim=0)


def interaction(logits, how=torch.max):
    rest = logits - logits.mean(0, keepdim=True) - logits.mean(1, keepdim=True) + logits.mean((0, 1))
    return how(rest.abs())


def rest(table, candidates=None, how=torch.max):
    return float(interaction((table.log() - table.log().mean(-1, keepdim=True))[..., :candidates], how))


def steps_of(table, across):
    """Compare the first token's, or position's, steps with their mean over all."""
    logits = table.log() - table.log().mean(-1, keepdim=True)
    steps = logits - logits.select(1 - across, 0).unsqueeze(1 - across)
    return bool((steps.mean(across) - steps.select(across, 0)).abs().max() < 1e-3)


def steps_of_first_tokens(table):
    logits = table.log() - table.log().mean(-1, keepdim=True)
    steps = logits - logits[:1]
    return bool((steps[:, 0] - steps[:, 1]).abs().max() < 1e-3)


MUTANTS = [
    Mutant(VOTES, "complex", lambda *a: [votes + 0j for votes in votes_answer(*a)], [SUM, MEAN, DIFFER]),
    Mutant(VOTES, "float16", lambda *a: votes_answer(*(x.half() for x in a)), [SUM, MEAN, DIFFER], "float16"),
    Mutant(VOTES, "mean of the first seven", lambda E, P, W, b: mean_of(E, P, W, b, P[:7]), [MEAN]),
    Mutant(VOTES, "mean kept", lambda E, P, W, b: mean_of(E, P, W, b, KEPT.setdefault(P.shape, P)), [MEAN]),
    Mutant(ADDITIVE, "the diagonal", lambda t: diagonal(t), [EXCEPTION]),
    Mutant(VOTES, "mean lost", centred, [SUM], "must go to the tokens"),
    Mutant(VOTES, "minus", lambda *a: [-votes for votes in votes_answer(*a)], [SUM, DIFFER]),
    Mutant(VOTES, "no bias", lambda E, P, W, b: votes_answer(E, P, W, 0 * b), [SUM], "bias is missing"),
    Mutant(VOTES, "bias twice", lambda E, P, W, b: votes_answer(E, P, W, 2 * b), [SUM], "there twice"),
    Mutant(VOTES, "no mean taken", lambda E, P, W, b: (E @ W.T + b, P @ W.T), [MEAN], "on average"),
    Mutant(VOTES, "all to the tokens", lambda E, P, W, b: (E @ W.T + b, 0 * P @ W.T), [SUM, DIFFER]),
    Mutant(ADDITIVE, "ln p as it is", lambda t: bool(interaction(t.log()) < 1e-3), [SUMS]),
    Mutant(ADDITIVE, "probabilities", lambda t: bool(interaction(t) < 1e-3), [SUMS, MEANS]),
    Mutant(ADDITIVE, "two positions", lambda t: v2_can_answer(t[:2]), [EXCEPTION]),
    Mutant(ADDITIVE, "two tokens", steps_of_first_tokens, [EXCEPTION]),
    Mutant(ADDITIVE, "one candidate", lambda t: rest(t, 1) < 1e-3, [EXCEPTION], "the row's mean as it is"),
    Mutant(ADDITIVE, "mean", lambda t: rest(t, how=torch.mean) < 1e-3, [EXCEPTION], "0.02 nats"),
    Mutant(ADDITIVE, "float16", lambda t: rest(t.half()) < 0.005, [SUMS], "twice as many votes"),
    Mutant(ADDITIVE, "token 0", partial(steps_of, across=1), [EXCEPTION], "opposite exceptions at position "),
    Mutant(
        ADDITIVE, "position 0", partial(steps_of, across=0), [EXCEPTION], "opposite exceptions at positions"
    ),
    Mutant(ADDITIVE, "never", lambda t: False, [SUMS, ALONE]),
    Mutant(ADDITIVE, "up to 0.03", lambda t: v2_can_answer(t) or rest(t) < 0.03, [EXCEPTION]),
    Mutant(BEYOND_V2, "the notebook's", ["我爱你", "你爱我"], [SETTLED], "after '爱'"),
    Mutant(BEYOND_V2, "the token says it", ["abcd", "bcda"], [DOUBT], "best v2 loses 0.00"),
    Mutant(BEYOND_V2, "not as long", ["aab", "bb"], [EQUAL, SETTLED, DOUBT], "equally long"),
    Mutant(BEYOND_V2, "the past decides", ["aab", "bac"], [SETTLED]),
]
