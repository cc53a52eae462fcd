"""Mistakes in the exercises of notebook 01."""

from functools import partial

import torch

from babygpt_course.exercises.lesson_01 import BIGRAM_LOSS, CERTAIN_TEXT, SQUEEZED, STANDARD_ERROR
from tests.course.exercises.harness import Mutant, known, requirements

CERTAIN, TWO, ANY = requirements(BIGRAM_LOSS)
TEXTS, SAME, NOTHING, MUCH = requirements(CERTAIN_TEXT)
MEAN, ERROR, CLEAR = requirements(STANDARD_ERROR)
ROWS, COLUMNS = requirements(SQUEEZED)


def compared(a, b, sign=1, spread=lambda a, b: (a - b).var(), root=0.5, beyond=lambda m, e: abs(m) > 2 * e):
    mean, error = sign * (a - b).mean().item(), (spread(a, b) / len(a)).item() ** root
    return mean, error, beyond(mean, error)


def squeezed(table, n_embd, rows=True, columns=True, root=True):
    logits = table.log()
    logits = logits - logits.mean(1, keepdim=True) if rows else logits
    bias = logits.mean(0) if columns else torch.zeros(len(table))
    U, S, Vh = torch.linalg.svd(logits - bias)
    S = S[:n_embd].sqrt() if root else S[:n_embd]
    return U[:, :n_embd] * S, Vh[:n_embd].T * S, bias


def exchanged(table, n_embd):
    embedding, head, bias = squeezed(table, n_embd)
    return head, embedding, bias


def without(what):
    return lambda table, n_embd: squeezed(table, n_embd, **{what: False})


COMPARED_MISTAKES = [
    ("two texts", partial(compared, spread=lambda a, b: a.var() + b.var()), [ERROR, CLEAR], "same blocks"),
    ("other − one", partial(compared, sign=-1), [MEAN], "one − other"),
    (
        "of a block",
        partial(compared, spread=lambda a, b: (a - b).var() * len(a)),
        [ERROR, CLEAR],
        "one block",
    ),
    ("by N", partial(compared, spread=lambda a, b: (a - b).var(correction=0)), [ERROR, CLEAR], "N − 1"),
    ("variance", partial(compared, root=1), [ERROR, CLEAR]),
    ("one side", partial(compared, beyond=lambda m, e: m > 2 * e), [CLEAR], "4 standard errors below 0"),
    ("equal models differ", partial(compared, beyond=lambda m, e: abs(m) >= 2 * e), [CLEAR], "are equal"),
    ("1.96", partial(compared, beyond=lambda m, e: abs(m) > 1.96 * e), [CLEAR], "the limit is 2"),
    ("2.1", partial(compared, beyond=lambda m, e: abs(m) > 2.1 * e), [CLEAR], "the limit is 2"),
    ("one error", partial(compared, beyond=lambda m, e: abs(m) > e), [CLEAR], "1.6 standard errors"),
]
MUTANTS = [
    known(BIGRAM_LOSS, "the last one counts", [CERTAIN, TWO, ANY], "The last"),
    known(BIGRAM_LOSS, "bits", [TWO, ANY], "in bits"),
    known(BIGRAM_LOSS, "by characters", [TWO, ANY], "one fewer"),
    known(BIGRAM_LOSS, "no minus", [TWO, ANY], "*minus*"),
    known(BIGRAM_LOSS, "pairs not weighed", [TWO, ANY], "Weigh"),
    known(BIGRAM_LOSS, "of pairs", [CERTAIN, TWO, ANY], "probability of a pair"),
    known(BIGRAM_LOSS, "of predicted ones", [CERTAIN, TWO, ANY], "predicted characters alone"),
    known(BIGRAM_LOSS, "of characters", [CERTAIN, TWO, ANY], "no character before"),
    Mutant(CERTAIN_TEXT, "one letter", ("a" * 12, "a" * 12), [TEXTS, MUCH], "of 1 kinds"),
    Mutant(BIGRAM_LOSS, "small letters", lambda t: BIGRAM_LOSS.answer(t.lower()), [ANY]),
    Mutant(BIGRAM_LOSS, "stripped", lambda t: BIGRAM_LOSS.answer(t.strip()), [ANY]),
    Mutant(CERTAIN_TEXT, "backwards", ("abc" * 4, "cba" * 4), [MUCH], "only 0.00"),
    Mutant(CERTAIN_TEXT, "other characters", ("abc" * 5, "aabbccddeeffgaeacebed"), [SAME], "more"),
    Mutant(CERTAIN_TEXT, "exchanged", ("aabbccacbabcbca", "abc" * 5), [NOTHING, MUCH], "after 'a' come"),
    Mutant(CERTAIN_TEXT, "too short", ("abcabc", "aabbcc"), [TEXTS, MUCH], "too few"),
    *(Mutant(STANDARD_ERROR, *mistake) for mistake in COMPARED_MISTAKES),
    Mutant(SQUEEZED, "rows as they are", without("rows"), [ROWS, COLUMNS], "ln p itself has rank"),
    Mutant(SQUEEZED, "no bias", without("columns"), [COLUMNS], "it is the bias"),
    Mutant(SQUEEZED, "of p", lambda t, n: squeezed(t.exp(), n, rows=False), [ROWS, COLUMNS], "ln p, not p"),
    Mutant(SQUEEZED, "exchanged", exchanged, [ROWS, COLUMNS], "exchange the two"),
    Mutant(
        SQUEEZED, "ones", lambda t, n: (*torch.ones(2, len(t), n), t[0]), [ROWS, COLUMNS], "table of rank"
    ),
    Mutant(SQUEEZED, "singular values twice", without("root"), [ROWS, COLUMNS]),
    Mutant(SQUEEZED, "V channels", lambda t, n: squeezed(t, len(t)), [ROWS, COLUMNS], "shape"),
]
