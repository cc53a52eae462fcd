"""Mistakes in the exercises of notebook 01."""

import math
from collections import Counter
from itertools import pairwise

import torch

from babygpt_course.exercises.bag_of_tokens import BIGRAM_LOSS, BY_HAND, CERTAIN_TEXT, SQUEEZED
from babygpt_course.exercises.v1_by_hand import by_hand_answer
from tests.course.exercises.harness import Mutant

CERTAIN, TWO, ANY = (check.asked for check in BIGRAM_LOSS.checks)
TEXTS, SAME, NOTHING, MUCH = (check.asked for check in CERTAIN_TEXT.checks)
POSSIBLE, NEVER = (check.asked for check in BY_HAND.checks)
ROWS, COLUMNS = (check.asked for check in SQUEEZED.checks)


def loss(text, first=lambda t: t[:-1], log=math.log, by=lambda t: len(t) - 1, sign=-1):
    pairs, firsts = Counter(pairwise(text)), Counter(first(text))
    return sign * sum(n * log(n / firsts[a]) for (a, _), n in pairs.items()) / by(text)


def unweighted(text):
    pairs, firsts = Counter(pairwise(text)), Counter(text[:-1])
    return -sum(math.log(n / firsts[a]) for (a, _), n in pairs.items()) / len(pairs)


def joint(text):
    pairs = Counter(pairwise(text))
    return -sum(n * math.log(n / (len(text) - 1)) for n in pairs.values()) / (len(text) - 1)


def unigram(text):
    return -sum(n * math.log(n / len(text)) for n in Counter(text).values()) / len(text)


def transposed(table, bias, n_embd):
    embedding, _ = by_hand_answer(table, bias, n_embd)
    return embedding, by_hand_answer(table.T, bias[:, None], n_embd)[1]


def unclamped(table, bias, n_embd):
    V = len(table)
    embedding, head = torch.zeros(V, n_embd), torch.zeros(V, n_embd)
    embedding[:, :V], head[:, :V] = torch.eye(V), (table.log() - bias).T
    return embedding, head


def no_log(table, bias, n_embd):
    return by_hand_answer(table.exp(), bias, n_embd)[0], by_hand_answer(table.exp(), 0 * bias, n_embd)[1]


def squeezed(table, n_embd, rows=True, columns=True, root=True, exchanged=False):
    logits = table.log()
    logits = logits - logits.mean(1, keepdim=True) if rows else logits
    bias = logits.mean(0) if columns else torch.zeros(len(table))
    U, S, Vh = torch.linalg.svd(logits - bias)
    S = S[:n_embd].sqrt() if root else S[:n_embd]
    embedding, head = U[:, :n_embd] * S, Vh[:n_embd].T * S
    return (head, embedding, bias) if exchanged else (embedding, head, bias)


def with_(**how):
    return lambda table, n_embd: squeezed(table, n_embd, **how)


MUTANTS = [
    Mutant(BIGRAM_LOSS, "the last one counts", lambda t: loss(t, first=str), [CERTAIN, TWO, ANY], "The last"),
    Mutant(BIGRAM_LOSS, "bits", lambda t: loss(t, log=math.log2), [TWO, ANY], "bits"),
    Mutant(BIGRAM_LOSS, "by characters", lambda t: loss(t, by=len), [TWO, ANY], "one fewer"),
    Mutant(BIGRAM_LOSS, "no minus", lambda t: loss(t, sign=1), [TWO, ANY], "*minus*"),
    Mutant(BIGRAM_LOSS, "pairs not weighed", unweighted, [TWO, ANY], "Weigh"),
    Mutant(BIGRAM_LOSS, "of pairs", joint, [CERTAIN, TWO, ANY], "of a pair"),
    Mutant(BIGRAM_LOSS, "of characters", unigram, [CERTAIN, TWO, ANY], "no character before"),
    Mutant(CERTAIN_TEXT, "one letter", ("a" * 12, "a" * 12), [TEXTS, MUCH], "of 1 kinds"),
    Mutant(CERTAIN_TEXT, "backwards", ("abc" * 4, "cba" * 4), [MUCH], "only 0.000"),
    Mutant(CERTAIN_TEXT, "once each", ("abcdefghijkl", "lakbjcidhegf"), [MUCH]),
    Mutant(CERTAIN_TEXT, "other characters", ("abc" * 5, "aabbccddeeffgaeacebed"), [SAME], "more"),
    Mutant(CERTAIN_TEXT, "exchanged", ("aabbccacbabcbca", "abc" * 5), [NOTHING, MUCH], "after 'a' come"),
    Mutant(CERTAIN_TEXT, "too short", ("abcabc", "aabbcc"), [TEXTS, MUCH], "too few"),
    Mutant(CERTAIN_TEXT, "in order", ("abcabcabcabc", "aaaabbbbcccc"), [MUCH]),
    Mutant(
        BY_HAND, "bias forgotten", lambda t, b, n: by_hand_answer(t, 0 * b, n), [POSSIBLE, NEVER], "on top"
    ),
    Mutant(BY_HAND, "transposed", transposed, [POSSIBLE, NEVER]),
    Mutant(BY_HAND, "ln 0", unclamped, [NEVER], "no number"),
    Mutant(BY_HAND, "no logarithm", no_log, [POSSIBLE, NEVER]),
    Mutant(BY_HAND, "V channels", lambda t, b, n: by_hand_answer(t, b, len(t)), [POSSIBLE, NEVER], "shape"),
    Mutant(SQUEEZED, "rows as they are", with_(rows=False), [ROWS, COLUMNS], "ln p itself has rank"),
    Mutant(SQUEEZED, "no bias", with_(columns=False), [COLUMNS], "need no channel"),
    Mutant(SQUEEZED, "singular values twice", with_(root=False), [ROWS, COLUMNS]),
    Mutant(SQUEEZED, "exchanged", with_(exchanged=True), [ROWS, COLUMNS]),
    Mutant(SQUEEZED, "V channels", lambda t, n: squeezed(t, len(t)), [ROWS, COLUMNS], "shape"),
]
