"""Mistakes in the exercises of notebook 10."""

import math
import random

import torch

from babygpt_course.exercises.lesson_10 import FORGETS, NTK, YARN
from tests.course.exercises.harness import Mutant, requirements

QUICKEST, MIDDLE, LADDER = requirements(NTK)
OFTEN, NEVER, BETWEEN, SCORES = requirements(YARN)
REMEMBER, FORGET, PRETEND = requirements(FORGETS)


def rope(head_dim, theta, step=2):
    return theta ** (-torch.arange(0, head_dim, step, dtype=torch.float64) / head_dim)


def grown(power):
    """A base that grows by a power of the factor."""
    return lambda D, theta, s: rope(D, theta * s ** power(D))


def evenly(D, theta, s):
    """How many times slower pairs turn grows in equal steps, not in equal ratios."""
    return rope(D, theta) / (1 + (s - 1) * torch.arange(D // 2) / (D // 4))


def half_of_them(D, theta, s):
    found = rope(D, theta)
    found[D // 4 :] /= s
    return found


def yarn(
    w,
    window,
    s,
    fewest,
    most,
    whole=2 * math.pi,
    stretch=1,
    flip=False,
    cut=True,
    step=False,
    log=False,
    waves=False,
    scale=lambda s: (1 + 0.1 * math.log(s)) ** 2,
):
    turns = window * (s if stretch == "s" else 1) * w / whole
    if log:
        turns, fewest, most = turns.log(), math.log(fewest), math.log(most)
    kept = (turns - fewest) / (most - fewest)
    kept = kept.clamp(0, 1) if cut else kept
    kept = kept.round() if step else kept
    kept = 1 - kept if flip else kept
    return (1 / (kept / w + (1 - kept) * s / w) if waves else kept * w + (1 - kept) * w / s), scale(s)


def with_(**how):
    return lambda *given: yarn(*given, **how)


def all_of_them(w, window, s, fewest, most):
    return w / s, yarn(w, window, s, fewest, most)[1]


def forgets(
    reader, distance, off=0, before=True, start=False, between=True, same=False, keys="ABCDEFGH", digits=True,
    least=60, n=100,
):  # fmt: skip
    right = 0
    for _ in range(n):
        key = random.choice(keys)
        others = [key, key] if same else random.sample(sorted(set("ABCDEFGH") - {key}), 2)
        digit, *told = random.sample("0123456789", 3) if digits else "712"
        first, later = (f"<{k}{d}>" for k, d in zip(others, told, strict=True))
        filler = "" if start else "." * random.randrange(100)
        text = (first if before else "") + filler + f"<{key}{digit}>"
        text += (later if between else "").ljust(distance - 4 + off, ".")
        right += reader(f"{text}[{key}") == digit
    return right < least


def but(**how):
    return lambda *given: forgets(*given, **how)


def example(reader, distance):
    """The text of the task, again and again: what it is told apart by is luck alone."""
    return sum(reader("<C7>" + "." * (distance - 4) + "[C") == "7" for _ in range(100)) < 60


MUTANTS = [
    Mutant(NTK, "interpolation", lambda D, t, s: rope(D, t) / s, [QUICKEST, LADDER], "slows all of them"),
    Mutant(NTK, "theta times the factor", grown(lambda D: 1), [MIDDLE, LADDER], "is not -1"),
    Mutant(NTK, "the lesson's", grown(lambda D: D / (D - 2)), [MIDDLE, LADDER], "the lesson's base"),
    Mutant(NTK, "the root of the factor", grown(lambda D: 0.5), [MIDDLE, LADDER]),
    Mutant(NTK, "quicker", grown(lambda D: -2), [MIDDLE, LADDER], "become quicker"),
    Mutant(NTK, "in equal steps", evenly, [LADDER], "Both wishes are kept"),
    Mutant(NTK, "half of the pairs", half_of_them, [LADDER], "Both wishes are kept"),
    Mutant(NTK, "theta forgotten", lambda D, t, s: rope(D, 1e4 * s**2), [MIDDLE, LADDER]),
    Mutant(
        NTK,
        "wavelengths",
        lambda D, t, s: 2 * math.pi / rope(D, t * s**2),
        [QUICKEST, MIDDLE, LADDER],
        "Are these wavelengths?",
    ),
    Mutant(
        NTK,
        "a number for each channel",
        lambda D, t, s: rope(D, t * s**2, 1),
        [QUICKEST, MIDDLE, LADDER],
        "should be shape",
    ),
    Mutant(YARN, "interpolation", all_of_them, [OFTEN, BETWEEN], "by the whole factor"),
    Mutant(YARN, "the wrong way round", with_(flip=True), [OFTEN, NEVER, BETWEEN], "wrong way round"),
    Mutant(YARN, "radians for turns", with_(whole=1), [NEVER, BETWEEN], "2π radians"),
    Mutant(YARN, "the stretched window", with_(stretch="s"), [NEVER, BETWEEN], "not in the stretched one"),
    Mutant(YARN, "never cut off", with_(cut=False), [OFTEN, NEVER], "never below 0 or above 1"),
    Mutant(YARN, "a step for a ramp", with_(step=True), [BETWEEN]),
    Mutant(YARN, "logarithms", with_(log=True), [BETWEEN], "not with their logarithm"),
    Mutant(YARN, "wavelengths mixed", with_(waves=True), [BETWEEN], "not the wavelengths"),
    Mutant(YARN, "q alone", with_(scale=lambda s: 1 + 0.1 * math.log(s)), [SCORES], "a product of the two"),
    Mutant(
        YARN, "temperature", with_(scale=lambda s: (1 + 0.1 * math.log(s)) ** -2), [SCORES], "scores grow"
    ),
    Mutant(YARN, "log10", with_(scale=lambda s: (1 + 0.1 * math.log10(s)) ** 2), [SCORES], "math.log"),
    Mutant(YARN, "frequencies alone", lambda *a: yarn(*a)[0], [OFTEN, NEVER, BETWEEN, SCORES], "two things"),
    Mutant(FORGETS, "the example", example, [PRETEND], "told last"),
    Mutant(FORGETS, "nothing in between", but(between=False), [PRETEND], "told last"),
    Mutant(FORGETS, "nothing before", but(before=False), [PRETEND], "told first"),
    Mutant(FORGETS, "always at the start", but(start=True), [PRETEND], "the first 8 characters"),
    Mutant(FORGETS, "always 7", but(digits=False), [PRETEND], "always says 7"),
    Mutant(FORGETS, "always C", but(keys="C"), [PRETEND], "the digit of C only"),
    Mutant(FORGETS, "never wrong", but(least=100), [REMEMBER], "guesses once in 20"),
    Mutant(FORGETS, "better than never", but(least=1), [FORGET, PRETEND]),
    Mutant(FORGETS, "counted after the note", but(off=4), [REMEMBER, FORGET], "no further"),
    Mutant(FORGETS, "one too near", but(off=-1), [REMEMBER, FORGET], "or more"),
    Mutant(FORGETS, "half as far", lambda r, d: forgets(r, d // 2 + 6), [REMEMBER, FORGET]),
    Mutant(FORGETS, "told anew", but(same=True), [REMEMBER], "keeps everything"),
    Mutant(FORGETS, "the other way round", lambda *a: not forgets(*a), [REMEMBER, FORGET, PRETEND]),
]
