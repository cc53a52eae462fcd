"""Mistakes in the exercises of notebook 05."""

import math
from itertools import pairwise

import torch

from babygpt_course.exercises.lesson_05 import (
    BROKEN,
    HEAD_BIAS,
    REPAIRED,
    WIDTH,
    head_bias_answer,
    repaired_answer,
)
from tests.course.exercises.harness import Mutant, requirements

RUNS, SCALES, TURNS = requirements(REPAIRED)
SAME, OWN, FAR = requirements(HEAD_BIAS)
IS_WIDTH, NAME, NOISE = requirements(WIDTH)

KEPT, FAULTY, FAR_AWAY = requirements(BROKEN)


def specimen(x, K, column=True, layout="mixed", length=None):
    D, T = x.shape[-1], x.shape[-2]
    freqs = torch.arange(T).float()[:, None] * 10_000.0 ** (-torch.arange(0, D, 2) / D)
    emb = freqs.repeat_interleave(2, dim=-1) if layout == "pairs" else torch.cat((freqs, freqs), dim=-1)
    a, b = (x[..., : D // 2], x[..., D // 2 :]) if layout == "halves" else (x[..., ::2], x[..., 1::2])
    partner = torch.cat((-b, a), -1) if layout == "halves" else torch.stack((-b, a), -1).flatten(-2)
    scale = K(torch.arange(length or T).float())
    return (scale[:, None] if column else scale) * (x * emb.cos() + partner * emb.sin())


def unscaled(x, K):
    return repaired_answer(x, torch.ones_like)


def bias(alphas, sigmas, queries, keys, two=2, log=True, safe=True, weights=True, order=False):
    distance = (torch.arange(len(queries))[:, None] - torch.arange(len(keys))) if order else None
    distance = queries[:, None] - keys if distance is None else distance
    power = -((distance[..., None] / sigmas[:, None, None]) ** 2) / two
    power = power + (alphas.log()[:, None, None] if weights else 0)
    found = power.logsumexp(-1) if safe else power.exp().sum(-1).log()
    return found if log else found.exp()


def with_(**how):
    return lambda *given: bias(*given, **how)


def first_head(alphas, sigmas, queries, keys):
    return head_bias_answer(alphas[:1], sigmas[:1], queries, keys).expand(len(alphas), -1, -1)


def broken(log_K, queries=(20, 97, 500), furthest=500, near=1e-6, one=False):
    rows = {m: [log_K(m, n) for n in range(m, max(m - furthest, -1), -1)] for m in queries}
    last = rows[max(rows)]
    found = []
    for row in rows.values():
        if any(abs(a - b) > 1e-6 for a, b in zip(row, last, strict=False) if a != b):
            found.append("distance")
        if any(b > a + near for a, b in pairwise(row)):
            found.append("near")
        if not all(map(math.isfinite, row)):
            found.append("finite")
    return set(found[:1] if one else found)


ALL = [SAME, OWN, FAR]
MUTANTS = [
    Mutant(
        REPAIRED, "along the channels", lambda x, K: specimen(x, K, False, "pairs"), [RUNS, SCALES, TURNS]
    ),
    Mutant(REPAIRED, "length 128", lambda x, K: specimen(x, K, True, "pairs", 128), [RUNS, SCALES, TURNS]),
    Mutant(REPAIRED, "layouts mixed", specimen, [SCALES, TURNS], "of one layout"),
    Mutant(REPAIRED, "lengths change", specimen, [SCALES, TURNS], "does your rotation keep lengths"),
    Mutant(REPAIRED, "half-split", lambda x, K: specimen(x, K, layout="halves"), [TURNS], "neighbours"),
    Mutant(REPAIRED, "no kernel", unscaled, [SCALES], "no K in it"),
    Mutant(REPAIRED, "kernel alone", lambda x, K: K(torch.arange(x.shape[-2]))[:, None] * x, [TURNS]),
    Mutant(HEAD_BIAS, "K itself", with_(log=False), ALL, "log K"),
    Mutant(HEAD_BIAS, "no 2", with_(two=1), ALL, "with a 2"),
    Mutant(HEAD_BIAS, "underflow", with_(safe=False), [FAR], "logsumexp"),
    Mutant(HEAD_BIAS, "no weights", with_(weights=False), ALL, "weights α"),
    Mutant(HEAD_BIAS, "counted places", with_(order=True), ALL),
    Mutant(HEAD_BIAS, "one for all", first_head, [OWN, FAR]),
    Mutant(WIDTH, "the note's", 20.0, [NAME], "2.00 nats"),
    Mutant(WIDTH, "the 2 forgotten", 56.6, [NOISE], "leaves"),
    Mutant(WIDTH, "1 nat", 28.3, [NAME]),
    Mutant(WIDTH, "very wide", 1e9, [NOISE]),
    Mutant(WIDTH, "a tensor, too wide", torch.tensor(80.0), [NOISE], "leaves"),
    Mutant(WIDTH, "minus", -41.0, [IS_WIDTH, NAME, NOISE], "above 0"),
    Mutant(BROKEN, "near the start", lambda f: broken(f, (5, 30)), [FAULTY, FAR_AWAY], "do not notice"),
    Mutant(BROKEN, "near the query", lambda f: broken(f, furthest=40), [FAULTY, FAR_AWAY], "do not notice"),
    Mutant(BROKEN, "one query", lambda f: broken(f, (500,)), [FAULTY, FAR_AWAY], "'distance' is broken"),
    Mutant(BROKEN, "the first only", lambda f: broken(f, one=True), [FAULTY, FAR_AWAY]),
    Mutant(BROKEN, "must fall strictly", lambda f: broken(f, near=-1e-9), [KEPT, FAR_AWAY], "it is kept"),
    Mutant(BROKEN, "all of them", lambda f: {"distance", "near", "finite"}, [KEPT, FAULTY, FAR_AWAY]),
]
