"""Mistakes in the exercises of notebook 05."""

import math
from functools import partial

import torch

from babygpt.encodings.rotary import rotate
from babygpt_course.exercises.lesson_05 import HEAD_BIAS, REPAIRED, WIDTH, repaired_answer
from tests.course.exercises.harness import Mutant, requirements

RUNS, SCALES, TURNS = requirements(REPAIRED)
SAME, OWN, FAR = ALL = requirements(HEAD_BIAS)
IS_WIDTH, NAME, NOISE = requirements(WIDTH)


def specimen(x, K, column=True, layout="mixed", length=None):
    D, T = x.shape[-1], x.shape[-2]
    freqs = torch.arange(T).float()[:, None] * 10_000.0 ** (-torch.arange(0, D, 2) / D)
    emb = freqs.repeat_interleave(2, dim=-1) if layout == "pairs" else torch.cat((freqs, freqs), dim=-1)
    a, b = (x[..., : D // 2], x[..., D // 2 :]) if layout == "halves" else (x[..., ::2], x[..., 1::2])
    partner = torch.cat((-b, a), -1) if layout == "halves" else torch.stack((-b, a), -1).flatten(-2)
    scale = K(torch.arange(length or T).float())
    return (scale[:, None] if column else scale) * (x * emb.cos() + partner * emb.sin())


def turned(x, K, sign, start=0):
    times = torch.arange(x.shape[-2])
    rows = x.reshape(1, -1, *x.shape[-2:])
    return K(times.float())[:, None] * rotate(rows, sign * times + start).view_as(x)


def bias(alphas, sigmas, queries, keys, two=2, log=True, safe=True, weights=True, order=False):
    if order:
        queries, keys = torch.arange(len(queries)), torch.arange(len(keys))
    distance = queries[:, None] - keys
    power = -((distance[..., None] / sigmas[:, None, None]) ** 2) / two
    power = power + (alphas.log()[:, None, None] if weights else 0)
    log_bias = power.logsumexp(-1) if safe else power.exp().sum(-1).log()
    return log_bias if log else log_bias.exp()


KEPT_PLACES = {}  # shape -> positions of queries and keys, or the weights, of the first call
KEPT_KERNELS = {}  # T -> the first kernel
REPAIRED_MISTAKES = [
    ("right, in float64", lambda x, K: repaired_answer(x.double(), lambda m: K(m.double())), []),
    ("along the channels", lambda x, K: specimen(x, K, False, "pairs"), [RUNS, SCALES, TURNS]),
    ("layouts mixed", specimen, [SCALES, TURNS], "of one layout"),
    ("lengths change", specimen, [SCALES, TURNS], "does your rotation keep lengths"),
    ("half-split", lambda x, K: specimen(x, K, layout="halves"), [TURNS], "neighbours"),
    ("the other way", lambda x, K: turned(x, K, -1), [TURNS], "turns the other way"),
    ("from 1", lambda x, K: turned(x, K, 1, 1), [TURNS], "stands at position 0"),
    (
        "a kernel kept",
        lambda x, K: repaired_answer(x, KEPT_KERNELS.setdefault(x.shape[-2], K)),
        [SCALES, TURNS],
    ),
    ("no kernel", lambda x, K: repaired_answer(x, torch.ones_like), [SCALES, TURNS], "no K in it"),
    ("K below 0", lambda x, K: repaired_answer(x, lambda m: K(m).abs()), [TURNS], "K itself"),
    ("float16", lambda x, K: repaired_answer(x.half().float(), K), [SCALES, TURNS]),
    ("half results", lambda x, K: repaired_answer(x, K).half(), [RUNS, SCALES, TURNS], "float16"),
    ("complex results", lambda x, K: repaired_answer(x, K) + 0j, [RUNS, SCALES, TURNS], "complex64"),
    ("positions in float16", lambda x, K: repaired_answer(x, lambda m: K(m.half().float())), [SCALES, TURNS]),
    (
        "no K from 64 on",
        lambda x, K: repaired_answer(x, lambda m: K(m).where(m < 64, 1.0)),
        [SCALES, TURNS],
        "K is missing from row 64 on",
    ),
    ("127 at most", lambda x, K: repaired_answer(x, lambda m: K(m.clamp(max=127))), [SCALES, TURNS]),
]
HEAD_BIAS_MISTAKES = [
    ("K itself", partial(bias, log=False), ALL, "log K"),
    ("no 2", partial(bias, two=1), ALL, "with a 2"),
    ("underflow", partial(bias, safe=False), [FAR], "logsumexp"),
    ("no weights", partial(bias, weights=False), ALL, "weights α"),
    ("counted positions", partial(bias, order=True), ALL),
    ("sorted", lambda a, s, q, k: bias(a, s, q.sort().values, k.sort().values), ALL),
    ("distances kept", lambda *a: bias(*a[:2], *KEPT_PLACES.setdefault(a[2].shape + a[3].shape, a[2:])), ALL),
    ("heads kept", lambda a, s, q, k: bias(KEPT_PLACES.setdefault((a.shape, q.shape), a), s, q, k), ALL),
    ("4095 at most", lambda a, s, q, k: bias(a, s, q.clamp(max=4095), k.clamp(max=4095)), [FAR]),
    ("in int16", lambda a, s, q, k: bias(a, s, q.short(), k.short()), [FAR]),
    ("one for all", lambda a, s, q, k: bias(a[:1], s[:1], q, k).expand(len(a), -1, -1), [OWN, FAR]),
]
WIDTH_MISTAKES = [
    ("the note's", 20.0, [NAME], "2.00 nats"),
    ("the 2 forgotten", 56.6, [NOISE], "leaves"),
    ("nearly", 39.9, [NAME], "0.503 nats"),
    ("nearly, too wide", 43, [NOISE], "2.05% of"),
    ("a tensor, too wide", torch.tensor(80.0), [NOISE], "leaves"),
    *((f"{odd}", odd, [IS_WIDTH, NAME, NOISE], "above 0") for odd in (math.nan, math.inf, 1j, True, "41")),
    ("minus", -41.0, [IS_WIDTH, NAME, NOISE], "above 0"),
]
MUTANTS = [
    *(Mutant(REPAIRED, *mistake) for mistake in REPAIRED_MISTAKES),
    *(Mutant(HEAD_BIAS, *mistake) for mistake in HEAD_BIAS_MISTAKES),
    *(Mutant(WIDTH, *mistake) for mistake in WIDTH_MISTAKES),
]
