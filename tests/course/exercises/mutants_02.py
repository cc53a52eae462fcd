"""Mistakes in the exercises of notebook 02."""

from functools import partial

import torch

from babygpt_course.exercises.lesson_02 import (
    ADDITIVE,
    BEYOND_V2,
    SECOND_WORD,
    VOTES,
    second_word_answer,
    v2_can_answer,
    votes_answer,
)
from tests.course.exercises.harness import Mutant, listed_mistake, requirements

TWO, MORE, ONE = LINES = requirements(SECOND_WORD)
SUM, MEAN, DIFFER = requirements(VOTES)
SUMS, ALONE, MEANS, EXCEPTION = requirements(ADDITIVE)
EQUAL, SETTLED, DOUBT = requirements(BEYOND_V2)


def by_lines(ids, newline, space, length, off=1, at_end=True):
    """Take the first space after each line's start, even if it is in a later line."""
    starts = [-1, *(ids == newline).nonzero()[:, 0].tolist()]
    spaces = (ids == space).nonzero()[:, 0]
    word_starts = [int(spaces[spaces > s][0]) + off for s in starts if (spaces > s).any()]
    word_starts = [s for s in word_starts if s + length <= len(ids)] if at_end else word_starts
    return ids[torch.tensor(word_starts, dtype=torch.long)[:, None] + torch.arange(length)]


def listed(*inputs):
    return second_word_answer(*inputs).tolist()


def stacked(*inputs):
    return torch.stack(list(second_word_answer(*inputs)))


KEPT = {}  # shape -> the first positions


def mean_of(E, P, W, b, positions):
    mean = positions.mean(0) @ W.T
    return E @ W.T + b + mean, P @ W.T - mean


def joined(ids, newline, space, length):
    """Find line ends in a text of the ids' digits."""
    text, starts = "".join(map(str, ids.tolist())), [0]
    starts += [i + 1 for i, c in enumerate(text) if c == str(newline)]
    word_starts = [text.find(str(space), start) + 1 for start in starts if text.find(str(space), start) >= 0]
    return torch.stack([ids[s : s + length] for s in word_starts if s + length <= len(ids)])


def cached(ids, *inputs):
    return second_word_answer(KEPT.setdefault((ids.shape, inputs[-1]), ids), *inputs)


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
    listed_mistake(SECOND_WORD, "each space", [MORE, ONE], "not each one"),
    listed_mistake(SECOND_WORD, "the first line", LINES, "first line begins"),
    Mutant(SECOND_WORD, "the next line's space", by_lines, [ONE]),
    Mutant(SECOND_WORD, "from the space on", lambda *a: by_lines(*a, off=0), LINES),
    Mutant(SECOND_WORD, "beyond the end", lambda *a: by_lines(*a, at_end=False), LINES, "IndexError"),
    Mutant(SECOND_WORD, "not at the very end", lambda i, n, s, k: by_lines(i, n, s, k + 1)[:, :-1], LINES),
    Mutant(SECOND_WORD, "six at most", lambda *a: second_word_answer(*a)[:6], LINES),
    Mutant(SECOND_WORD, "a stack of none", stacked, [ONE], "a tensor of shape (0, "),
    Mutant(SECOND_WORD, "none has no length", lambda *a: torch.tensor(listed(*a)), [ONE], "shape (0,)"),
    Mutant(SECOND_WORD, "right, in a list", listed, []),
    Mutant(SECOND_WORD, "in a byte", lambda i, *a: second_word_answer(i, *a).to(torch.uint8), LINES),
    Mutant(SECOND_WORD, "in float16", lambda i, *a: second_word_answer(i.half(), *a).long(), LINES),
    Mutant(SECOND_WORD, "as floats", lambda *a: second_word_answer(*a).float(), LINES, "whole numbers"),
    Mutant(SECOND_WORD, "ids of one digit", joined, LINES),
    Mutant(SECOND_WORD, "kept by shape", cached, LINES),
    Mutant(SECOND_WORD, "the first 99 tokens", lambda i, *a: second_word_answer(i[:99], *a), LINES),
    Mutant(VOTES, "complex", lambda *a: [votes + 0j for votes in votes_answer(*a)], [SUM, MEAN, DIFFER]),
    Mutant(VOTES, "float16", lambda *a: votes_answer(*(x.half() for x in a)), [SUM, MEAN, DIFFER], "float16"),
    Mutant(VOTES, "mean of the first seven", lambda E, P, W, b: mean_of(E, P, W, b, P[:7]), [MEAN]),
    Mutant(VOTES, "mean kept", lambda E, P, W, b: mean_of(E, P, W, b, KEPT.setdefault(P.shape, P)), [MEAN]),
    Mutant(ADDITIVE, "the diagonal", lambda t: diagonal(t), [EXCEPTION]),
    Mutant(
        SECOND_WORD, "seen as letters", lambda *a: by_lines(*a, off=0), LINES, "Window 0 is ' '; should be '"
    ),
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
