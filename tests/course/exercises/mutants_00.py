"""Mistakes in the exercises of notebook 00."""

import math
import re
from functools import partial

import numpy as np
import torch

from babygpt_course.exercises.lesson_00 import (
    MIRROR,
    STORY,
    UNITS,
    free_choices,
    story_log_prob_answer,
    unit_mistakes,
    units_answer,
    words_exchanged,
)
from tests.course.exercises.harness import Mutant, requirements

RULES, AGAIN, OTHERS, STORIES = requirements(STORY)
SAME, BACK, EXCHANGED = requirements(MIRROR)
NATS, BITS, PERPLEXITY = requirements(UNITS)


def distinct_choices(holes, sizes):
    return free_choices(list(dict.fromkeys(holes)), sizes)


def without_rules(holes, sizes):
    return story_log_prob_answer([hole for hole in holes if hole[0] != "["], sizes)


def in_int64(holes, sizes):
    log_prob = story_log_prob_answer(holes, sizes)
    factors = [sizes[h.split(".")[0]] - i for i, h in enumerate(holes)]
    return log_prob if math.prod(factors) < 2**63 else -math.log(abs(int(np.prod(factors))) or 1)


def one_by_one(story, a, b):
    return story.replace(a, b).replace(b, a)


def by_pattern(story, a, b, border="", **limit):
    pattern = f"{border}({a}|{b}){border}"
    return re.sub(pattern, lambda match: {a: b, b: a}[match[0]], story, **limit)


def sign(free):
    return lambda story, a, b: story.replace(a, free).replace(b, a).replace(free, b)


def mean_first(p):
    nats = -math.log(p.mean())
    return nats, nats / math.log(2), math.exp(nats)


KEPT = {}  # shape -> the first probabilities


def by_product(p):
    nats = -math.log(max(math.prod(p.tolist()), 5e-324)) / len(p)
    return nats, nats / math.log(2), math.exp(nats)


def in_half(p):
    return tuple(torch.tensor(units_answer(p)).half())


def unit(name, number, fails, says):
    def answer(p):
        (wrong,) = (value for text, value in unit_mistakes(p)[number].items() if says in text)
        return tuple(wrong if i == number else x for i, x in enumerate(units_answer(p)))

    return Mutant(UNITS, name, answer, [fails], says)


ALL = [RULES, AGAIN, OTHERS, STORIES]
MUTANTS = [
    Mutant(STORY, "repeats", free_choices, [AGAIN, OTHERS, STORIES], "no choice"),
    Mutant(STORY, "none fewer", distinct_choices, [OTHERS, STORIES], "never share"),
    Mutant(STORY, "rules forgotten", without_rules, [RULES, AGAIN, STORIES]),
    Mutant(STORY, "no minus", lambda *inputs: -story_log_prob_answer(*inputs), ALL, "above 0"),
    Mutant(STORY, "a product of int64", in_int64, [OTHERS], "'name.g'"),
    Mutant(STORY, "bits", lambda *inputs: story_log_prob_answer(*inputs) / math.log(2), ALL),
    Mutant(MIRROR, "one after the other", one_by_one, [SAME, BACK, EXCHANGED], "cannot be told apart"),
    Mutant(MIRROR, "words have borders", partial(by_pattern, border=r"\b"), [EXCHANGED]),
    Mutant(MIRROR, "apart at spaces", words_exchanged, [SAME, EXCHANGED], "full stop"),
    Mutant(MIRROR, "a letter as the sign", sign("x"), [BACK, EXCHANGED]),
    Mutant(MIRROR, "two letters as the sign", sign("zz"), [BACK, EXCHANGED]),
    Mutant(MIRROR, "four times only", partial(by_pattern, count=4), [EXCHANGED]),
    Mutant(UNITS, "mean of p", mean_first, [NATS, BITS, PERPLEXITY], "Average the logarithms"),
    unit("of all of the text", 0, NATS, "divide"),
    unit("no minus", 0, NATS, "*minus*"),
    unit("times ln 2", 1, BITS, "larger"),
    unit("2 to the nats", 2, PERPLEXITY, "mixes"),
    unit("mean of 1/p", 2, PERPLEXITY, "mean of 1/p"),
    unit("1.44 bits", 1, BITS, "1.44 is rounded"),
    Mutant(UNITS, "root of a product", by_product, [NATS, BITS, PERPLEXITY]),
    Mutant(UNITS, "in a list", lambda p: list(units_answer(p)), []),
    Mutant(
        UNITS,
        "float16",
        lambda p: tuple(torch.tensor(units_answer(p)).half()),
        [NATS, BITS, PERPLEXITY],
        "float16",
    ),
    Mutant(
        UNITS, "kept by length", lambda p: units_answer(KEPT.setdefault(p.shape, p)), [NATS, BITS, PERPLEXITY]
    ),
    Mutant(UNITS, "never below 1e-6", lambda p: units_answer(p.clamp(min=1e-6)), [NATS, BITS, PERPLEXITY]),
    Mutant(UNITS, "never below 0.01", lambda p: units_answer(p.clamp(min=0.01)), [NATS, BITS, PERPLEXITY]),
]
