"""Mistakes in the exercises of notebook 10."""

import math
import random
from functools import partial

import numpy as np
import torch

from babygpt_course.exercises.lesson_10 import FORGETS, NTK, YARN
from tests.course.exercises.harness import Mutant, requirements

QUICKEST, MIDDLE, LADDER = ALL = requirements(NTK)
OFTEN, NEVER, BETWEEN, SCORES = requirements(YARN)
REMEMBER, FORGET, PRETEND = requirements(FORGETS)


KEPT = {}  # shape -> the first numbers


def rope(head_dim, theta, step=2):
    return theta ** (-torch.arange(0, head_dim, step, dtype=torch.float64) / head_dim)


def grown(power):
    """Let the base grow by a power of the factor."""
    return lambda D, theta, s: rope(D, theta * s ** power(D))


def evenly(D, theta, s):
    """Slow the pairs down in equal steps, not in equal ratios."""
    return rope(D, theta) / (1 + (s - 1) * torch.arange(D // 2) / (D // 4))


def yarn(w, window, s, fewest, most, wrong="", log=math.log, power=2):
    turns = window * w / (1 if wrong == "radians" else 2 * math.pi) * (s if wrong == "stretched" else 1)
    if wrong == "logarithms":
        turns, fewest, most = turns.log(), math.log(fewest), math.log(most)
    share = (turns - fewest) / (most - fewest)
    share = share if wrong == "uncut" else share.clamp(0, 1)
    share = {"step": share.round(), "flipped": 1 - share, "all": 0 * share}.get(wrong, share)
    slowed = 1 / (share / w + (1 - share) * s / w) if wrong == "waves" else share * w + (1 - share) * w / s
    return slowed, (1 + 0.1 * log(s)) ** power


def forgets(reader, distance, wrong="", off=0, least=60):
    right = 0
    for _ in range(100):
        key = "C" if wrong == "always C" else random.choice("ABCDEFGH")
        others = [key, key] if wrong == "told anew" else random.sample(sorted(set("ABCDEFGH") - {key}), 2)
        digit, digit_before, digit_between = "712" if wrong == "always 7" else random.sample("0123456789", 3)
        before = "" if wrong == "nothing before" else f"<{others[0]}{digit_before}>"
        filler = "" if wrong == "at the start" else "." * random.randrange(100)
        between = "" if wrong == "nothing in between" else f"<{others[1]}{digit_between}>"
        between = between.ljust(distance - 4 + off, ".")
        right += reader(f"{before}{filler}<{key}{digit}>{between}[{key}") == digit
    return right < least


def example(reader, distance):
    """Return the text of the task, repeated; only luck tells its digits apart."""
    return sum(reader("<C7>" + "." * (distance - 4) + "[C") == "7" for _ in range(100)) < 60


NTK_MISTAKES = [
    ("interpolation", lambda D, t, s: rope(D, t) / s, [QUICKEST, LADDER], "slows all of them"),
    ("theta times the factor", grown(lambda D: 1), [MIDDLE, LADDER], "is not -1"),
    ("the lesson's", grown(lambda D: D / (D - 2)), [MIDDLE, LADDER], "the lesson's base"),
    ("quicker", grown(lambda D: -2), [MIDDLE, LADDER], "become quicker"),
    ("in equal steps", evenly, [LADDER], "These two pairs are right"),
    ("half of them", lambda D, t, s: rope(D, t) / torch.where(torch.arange(D // 2) < D // 4, 1, s), [LADDER]),
    ("wavelengths", lambda D, t, s: 2 * math.pi / rope(D, t * s**2), ALL, "Are these wavelengths?"),
    ("a number for each channel", lambda D, t, s: rope(D, t * s**2, 1), ALL, "should be shape"),
]
YARN_MISTAKES = [
    ("interpolation", partial(yarn, wrong="all"), [OFTEN, BETWEEN], "by the whole factor"),
    ("the wrong way round", partial(yarn, wrong="flipped"), [OFTEN, NEVER, BETWEEN], "wrong way round"),
    ("radians for turns", partial(yarn, wrong="radians"), [NEVER, BETWEEN], "2π radians"),
    ("the stretched window", partial(yarn, wrong="stretched"), [NEVER, BETWEEN], "not in the stretched one"),
    ("never cut off", partial(yarn, wrong="uncut"), [OFTEN, NEVER], "never below 0 or above 1"),
    ("a step for a ramp", partial(yarn, wrong="step"), [BETWEEN]),
    ("logarithms", partial(yarn, wrong="logarithms"), [BETWEEN], "not with their logarithm"),
    ("wavelengths mixed", partial(yarn, wrong="waves"), [BETWEEN], "not the wavelengths"),
    ("q alone", partial(yarn, power=1), [SCORES], "a product of the two"),
    ("one more term", lambda w, W, s, f, m: (yarn(w, W, s, f, m)[0], 1 + 0.2 * math.log(s)), [SCORES]),
    ("float16", lambda *a: (yarn(*a)[0].half(), yarn(*a)[1]), [OFTEN, NEVER, BETWEEN, SCORES], "float16"),
    ("sorted", lambda w, *a: yarn(w.sort(descending=True).values, *a), [OFTEN, NEVER, BETWEEN]),
    ("kept by shape", lambda w, *a: yarn(w, *KEPT.setdefault(w.shape, a)), [OFTEN, NEVER, BETWEEN, SCORES]),
    ("temperature", partial(yarn, power=-2), [SCORES], "scores grow"),
    ("log10", partial(yarn, log=math.log10), [SCORES], "math.log"),
    ("frequencies alone", lambda *a: yarn(*a)[0], [OFTEN, NEVER, BETWEEN, SCORES], "two things"),
]
FORGETS_MISTAKES = [
    ("the example", example, [PRETEND], "told last"),
    ("nothing in between", partial(forgets, wrong="nothing in between"), [PRETEND], "told last"),
    ("nothing before", partial(forgets, wrong="nothing before"), [PRETEND], "told first"),
    ("always at the start", partial(forgets, wrong="at the start"), [PRETEND], "the first 8 characters"),
    ("always 7", partial(forgets, wrong="always 7"), [PRETEND], "always says 7"),
    ("always C", partial(forgets, wrong="always C"), [PRETEND], "the digit of C only"),
    ("never wrong", partial(forgets, least=100), [REMEMBER], "guesses once in 20"),
    ("better than never", partial(forgets, least=1), [FORGET, PRETEND]),
    ("counted after the note", partial(forgets, off=4), [REMEMBER, FORGET], "no further"),
    ("one too near", partial(forgets, off=-1), [REMEMBER, FORGET], "or more"),
    ("told anew", partial(forgets, wrong="told anew"), [REMEMBER], "keeps everything"),
]
RIGHT = [  # answers that fail nothing
    (NTK, "a list", lambda D, t, s: [(t * s * s) ** (-2 * i / D) for i in range(D // 2)], []),
    (NTK, "powers of ten", lambda D, t, s: np.logspace(0, (2 - D) / D * math.log10(t * s * s), D // 2), []),
    (NTK, "slowed", lambda D, t, s: rope(D, t) * s ** -(torch.arange(D // 2) / (D // 4)), []),
    (YARN, "in a list", lambda *inputs: [yarn(*inputs)[0].tolist(), np.float32(yarn(*inputs)[1])], []),
    (YARN, "pair by pair", lambda w, *a: (np.array([float(yarn(x, *a)[0]) for x in w]), yarn(w, *a)[1]), []),
    (YARN, "two tensors", lambda *inputs: tuple(map(torch.as_tensor, yarn(*inputs))), []),
    (FORGETS, "100 questions", forgets, []),
    (FORGETS, "NumPy's", lambda *inputs: np.bool_(forgets(*inputs, least=50)), []),
    (FORGETS, "majority", lambda *inputs: sum(forgets(*inputs) for _ in range(3)) >= 2, []),
]
MUTANTS = [
    *(Mutant(NTK, *mistake) for mistake in NTK_MISTAKES),
    *(Mutant(YARN, *mistake) for mistake in YARN_MISTAKES),
    *(Mutant(FORGETS, *mistake) for mistake in FORGETS_MISTAKES),
    *(Mutant(*answer) for answer in RIGHT),
]
