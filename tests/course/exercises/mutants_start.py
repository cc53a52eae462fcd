"""Mistakes in the exercises of notebook 00."""

import math
import re

from babygpt_course.exercises.start import MIRROR, QUESTIONS, STORY, UNITS, units_answer
from tests.course.exercises.harness import Mutant

RULES, AGAIN, OTHERS, STORIES = (check.asked for check in STORY.checks)
SAME, BACK, EXCHANGED = (check.asked for check in MIRROR.checks)
NATS, BITS, PERPLEXITY = (check.asked for check in UNITS.checks)
NUMBER, SELDOM, WASTED = (check.asked for check in QUESTIONS.checks)


def log_prob(holes, sizes, once=True, fewer=True, rules=True, sign=-1, log=math.log, by_hole=False):
    total, seen = 0.0, []
    for hole in holes:
        kind = hole.split(".")[0]
        taken = sum(h.split(".")[0] == kind for h in seen) if fewer else 0
        if (not once or hole not in seen) and (rules or hole[0] != "["):
            total += sign * log(sizes[kind] - (taken if once else min(taken, 0)))
        if by_hole or hole not in seen:
            seen.append(hole)
    return total


def one_by_one(story, one, other):
    return story.replace(one, other).replace(other, one)


def first_only(story, one, other):
    a, b = story.index(one), story.index(other)
    (i, x), (j, y) = sorted([(a, one), (b, other)])
    return story[:i] + y + story[i + len(x) : j] + x + story[j + len(y) :]


def whole_words(story, one, other):
    swap = {one: other, other: one}
    return re.sub(rf"\b({one}|{other})\b", lambda found: swap[found[0]], story)


def at_spaces(story, one, other):
    swap = {one: other, other: one}
    return " ".join(swap.get(word, word) for word in story.split())


def mean_first(p):
    nats = -math.log(p.mean())
    return nats, nats / math.log(2), math.exp(nats)


def changed(number, value):
    return lambda p: tuple(value(p) if i == number else x for i, x in enumerate(units_answer(p)))


def nats(p):
    return -p.log().mean().item()


MUTANTS = [
    Mutant(STORY, "repeats", lambda h, s: log_prob(h, s, once=False), [AGAIN, OTHERS, STORIES], "no choice"),
    Mutant(STORY, "none fewer", lambda h, s: log_prob(h, s, fewer=False), [OTHERS, STORIES], "never share"),
    Mutant(STORY, "rules forgotten", lambda h, s: log_prob(h, s, rules=False), [RULES, STORIES]),
    Mutant(
        STORY, "no minus", lambda h, s: log_prob(h, s, sign=1), [RULES, AGAIN, OTHERS, STORIES], "above 0"
    ),
    Mutant(STORY, "bits", lambda h, s: log_prob(h, s, log=math.log2), [RULES, AGAIN, OTHERS, STORIES]),
    Mutant(STORY, "repeats use up names", lambda h, s: log_prob(h, s, by_hole=True), [STORIES]),
    Mutant(MIRROR, "one after the other", one_by_one, [SAME, BACK, EXCHANGED], "nobody can tell"),
    Mutant(MIRROR, "the first place only", first_only, [EXCHANGED]),
    Mutant(MIRROR, "words have borders", whole_words, [EXCHANGED]),
    Mutant(MIRROR, "apart at spaces", at_spaces, [SAME, EXCHANGED], "full stop"),
    Mutant(MIRROR, "backwards", lambda story, one, other: story[::-1], [EXCHANGED]),
    Mutant(MIRROR, "one way", lambda story, one, other: story.replace(one, other), [SAME, BACK, EXCHANGED]),
    Mutant(UNITS, "mean of p", mean_first, [NATS, BITS, PERPLEXITY], "Average the logarithms"),
    Mutant(UNITS, "of all of the text", changed(0, lambda p: -p.log().sum()), [NATS], "divide"),
    Mutant(UNITS, "no minus", changed(0, lambda p: p.log().mean()), [NATS], "*minus*"),
    Mutant(UNITS, "times ln 2", changed(1, lambda p: nats(p) * math.log(2)), [BITS], "larger"),
    Mutant(UNITS, "2 to the nats", changed(2, lambda p: 2 ** nats(p)), [PERPLEXITY], "mixes"),
    Mutant(UNITS, "mean of 1/p", changed(2, lambda p: (1 / p).mean()), [PERPLEXITY], "mean of 1/p"),
    Mutant(QUESTIONS, "one in twenty", 65, [SELDOM], "of a hundred coins"),
    Mutant(QUESTIONS, "two deviations", 100, [SELDOM]),
    Mutant(QUESTIONS, "2.33 deviations", 136, [SELDOM], "try a few more"),
    Mutant(QUESTIONS, "notebook's 200", 200, [WASTED], "many fewer"),
    Mutant(QUESTIONS, "a share", 0.6, [NUMBER, SELDOM, WASTED], "whole number"),
    Mutant(QUESTIONS, "a few", 10, [SELDOM]),
]
