"""Mistakes in the exercises of notebook 02."""

import torch

from babygpt_course.exercises.additive import v2_can_answer
from babygpt_course.exercises.learned_positions import (
    ADDITIVE,
    BEYOND_V2,
    SECOND_WORD,
    VOTES,
    each_space,
    second_word_answer,
    votes_answer,
    without_first_line,
)
from tests.course.exercises.harness import Mutant

TWO, MORE, ONE = (check.asked for check in SECOND_WORD.checks)
SUM, MEAN, DIFFER = (check.asked for check in VOTES.checks)
SUMS, ALONE, MEANS, EXCEPTION = (check.asked for check in ADDITIVE.checks)
EQUAL, SETTLED, DOUBT = (check.asked for check in BEYOND_V2.checks)


def by_lines(ids, newline, space, length, off=1, at_end=True):
    """The first space after each line's start, even if it is in a later line."""
    starts = [-1, *(ids == newline).nonzero()[:, 0].tolist()]
    spaces = (ids == space).nonzero()[:, 0]
    found = [int(spaces[spaces > s][0]) + off for s in starts if (spaces > s).any()]
    found = [s for s in found if s + length <= len(ids)] if at_end else found
    return ids[torch.tensor(found, dtype=torch.long)[:, None] + torch.arange(length)]


def padded(ids, newline, space, length):
    """Windows that reach beyond the end are kept, and filled with line ends."""
    return second_word_answer(torch.cat([ids, torch.full((length,), newline)]), newline, space, length)


def not_given_back(E, P, W, b):
    of_token, of_place = E @ W.T + b, P @ W.T
    return of_token, of_place - of_place.mean(dim=0)


def wrong_axis(E, P, W, b):
    of_token, of_place = E @ W.T + b, P @ W.T
    return of_token, of_place - of_place.mean(dim=1, keepdim=True)


def no_bias(E, P, W, b):
    return votes_answer(E, P, W, 0 * b)


def bias_twice(E, P, W, b):
    of_token, of_place = E @ W.T + b, P @ W.T + b
    return of_token + of_place.mean(dim=0), of_place - of_place.mean(dim=0) + 0 * b


def of_rows(E, P, W, b):
    return E @ W.T + b, P @ W.T


def interaction(logits):
    return (
        (logits - logits.mean(0, keepdim=True) - logits.mean(1, keepdim=True) + logits.mean((0, 1)))
        .abs()
        .max()
    )


def two_places(table):
    return v2_can_answer(table[:2])


def steps_of_first_tokens(table):
    logits = table.log() - table.log().mean(-1, keepdim=True)
    steps = logits - logits[:1]
    return bool((steps[:, 0] - steps[:, 1]).abs().max() < 1e-3)


MUTANTS = [
    Mutant(SECOND_WORD, "each space", each_space, [MORE, ONE], "not each one"),
    Mutant(SECOND_WORD, "the first line", without_first_line, [TWO, MORE], "first line begins"),
    Mutant(SECOND_WORD, "the next line's space", by_lines, [ONE]),
    Mutant(SECOND_WORD, "from the space on", lambda *a: by_lines(*a, off=0), [TWO, MORE, ONE]),
    Mutant(
        SECOND_WORD, "beyond the end", lambda *a: by_lines(*a, at_end=False), [TWO, MORE, ONE], "IndexError"
    ),
    Mutant(SECOND_WORD, "filled up", padded, [TWO, MORE, ONE]),
    Mutant(VOTES, "mean lost", not_given_back, [SUM], "must go to the tokens"),
    Mutant(VOTES, "other axis", wrong_axis, [SUM, MEAN, DIFFER]),
    Mutant(VOTES, "no bias", no_bias, [SUM], "bias is missing"),
    Mutant(VOTES, "bias twice", bias_twice, [SUM], "bias is there twice"),
    Mutant(VOTES, "no mean taken", of_rows, [MEAN], "on average"),
    Mutant(VOTES, "all to the tokens", lambda E, P, W, b: (E @ W.T + b, 0 * P @ W.T), [SUM, DIFFER]),
    Mutant(ADDITIVE, "ln p as it is", lambda t: bool(interaction(t.log()) < 1e-3), [SUMS]),
    Mutant(ADDITIVE, "probabilities", lambda t: bool(interaction(t) < 1e-3), [SUMS, MEANS]),
    Mutant(ADDITIVE, "two places", two_places, [EXCEPTION]),
    Mutant(ADDITIVE, "two tokens", steps_of_first_tokens, [EXCEPTION]),
    Mutant(ADDITIVE, "never", lambda t: False, [SUMS, ALONE]),
    Mutant(ADDITIVE, "exactly", lambda t: bool(interaction(t.log()) == 0), [SUMS, ALONE]),
    Mutant(BEYOND_V2, "the notebook's", ["我爱你", "你爱我"], [SETTLED], "after '爱'"),
    Mutant(BEYOND_V2, "the token says it", ["abcd", "bcda"], [DOUBT], "best v2 loses 0.00"),
    Mutant(BEYOND_V2, "one place", ["ab", "ba"], [DOUBT]),
    Mutant(BEYOND_V2, "not as long", ["aab", "bb"], [EQUAL, SETTLED, DOUBT], "equally long"),
    Mutant(BEYOND_V2, "the past decides", ["aab", "bac"], [SETTLED]),
    Mutant(BEYOND_V2, "one text", ["aabbabaababb"], [DOUBT]),
]
