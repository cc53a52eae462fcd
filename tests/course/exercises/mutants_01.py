"""Mistakes in the exercises of notebook 01."""

import torch

from babygpt_course.exercises.lesson_01 import BIGRAM_LOSS, BY_HAND, CERTAIN_TEXT, SQUEEZED, by_hand_answer
from tests.course.exercises.harness import Mutant, known, requirements

CERTAIN, TWO, ANY = requirements(BIGRAM_LOSS)
TEXTS, SAME, NOTHING, MUCH = requirements(CERTAIN_TEXT)
POSSIBLE, NEVER = requirements(BY_HAND)
ROWS, COLUMNS = requirements(SQUEEZED)


def transposed(table, bias, n_embd):
    embedding, _ = by_hand_answer(table, bias, n_embd)
    return embedding, by_hand_answer(table.T, bias[:, None], n_embd)[1]


def unclamped(table, bias, n_embd):
    V = len(table)
    embedding, head = torch.zeros(2, V, n_embd)
    embedding[:, :V], head[:, :V] = torch.eye(V), (table.log() - bias).T
    return embedding, head


def no_log(table, bias, n_embd):
    return by_hand_answer(table.exp(), 0 * bias, n_embd)


def squeezed(table, n_embd, rows=True, columns=True, root=True):
    logits = table.log()
    logits = logits - logits.mean(1, keepdim=True) if rows else logits
    bias = logits.mean(0) if columns else torch.zeros(len(table))
    U, S, Vh = torch.linalg.svd(logits - bias)
    S = S[:n_embd].sqrt() if root else S[:n_embd]
    return U[:, :n_embd] * S, Vh[:n_embd].T * S, bias


def without(what):
    return lambda table, n_embd: squeezed(table, n_embd, **{what: False})


BOTH = [POSSIBLE, NEVER]
MUTANTS = [
    known(BIGRAM_LOSS, "the last one counts", [CERTAIN, TWO, ANY], "The last"),
    known(BIGRAM_LOSS, "bits", [TWO, ANY], "in bits"),
    known(BIGRAM_LOSS, "by characters", [TWO, ANY], "one fewer"),
    known(BIGRAM_LOSS, "no minus", [TWO, ANY], "*minus*"),
    known(BIGRAM_LOSS, "pairs not weighed", [TWO, ANY], "Weigh"),
    known(BIGRAM_LOSS, "of pairs", [CERTAIN, TWO, ANY], "probability of a pair"),
    known(BIGRAM_LOSS, "of characters", [CERTAIN, TWO, ANY], "no character before"),
    Mutant(CERTAIN_TEXT, "one letter", ("a" * 12, "a" * 12), [TEXTS, MUCH], "of 1 kinds"),
    Mutant(BIGRAM_LOSS, "small letters", lambda t: BIGRAM_LOSS.answer(t.lower()), [ANY]),
    Mutant(BIGRAM_LOSS, "stripped", lambda t: BIGRAM_LOSS.answer(t.strip()), [ANY]),
    Mutant(CERTAIN_TEXT, "backwards", ("abc" * 4, "cba" * 4), [MUCH], "only 0.00"),
    Mutant(CERTAIN_TEXT, "other characters", ("abc" * 5, "aabbccddeeffgaeacebed"), [SAME], "more"),
    Mutant(CERTAIN_TEXT, "exchanged", ("aabbccacbabcbca", "abc" * 5), [NOTHING, MUCH], "after 'a' come"),
    Mutant(CERTAIN_TEXT, "too short", ("abcabc", "aabbcc"), [TEXTS, MUCH], "too few"),
    Mutant(BY_HAND, "bias forgotten", lambda t, b, n: by_hand_answer(t, 0 * b, n), BOTH, "on top"),
    Mutant(BY_HAND, "transposed", transposed, BOTH),
    Mutant(BY_HAND, "ln 0", unclamped, [NEVER], "no number"),
    Mutant(BY_HAND, "no logarithm", no_log, BOTH),
    Mutant(BY_HAND, "V channels", lambda t, b, n: by_hand_answer(t, b, len(t)), BOTH, "shape"),
    Mutant(SQUEEZED, "rows as they are", without("rows"), [ROWS, COLUMNS], "ln p itself has rank"),
    Mutant(SQUEEZED, "no bias", without("columns"), [COLUMNS], "need no channel"),
    Mutant(SQUEEZED, "singular values twice", without("root"), [ROWS, COLUMNS]),
    Mutant(SQUEEZED, "V channels", lambda t, n: squeezed(t, len(t)), [ROWS, COLUMNS], "shape"),
]
