"""Mistakes in the exercises of notebook 01."""

import torch

from babygpt_course.exercises.lesson_01 import BIGRAM_LOSS, CERTAIN_TEXT, SQUEEZED
from tests.course.exercises.harness import Mutant, listed_mistake, requirements

CERTAIN, TWO, ANY = requirements(BIGRAM_LOSS)
TEXTS, SAME, NOTHING, MUCH = requirements(CERTAIN_TEXT)
ROWS, COLUMNS = requirements(SQUEEZED)


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


KEPT = {}  # shape -> the first table


def in_bytes(text):
    return "".join(chr(ord(letter) % 256) for letter in text)


def without(what):
    return lambda table, n_embd: squeezed(table, n_embd, **{what: False})


MUTANTS = [
    listed_mistake(BIGRAM_LOSS, "the last one counts", [CERTAIN, TWO, ANY], "The last"),
    listed_mistake(BIGRAM_LOSS, "bits", [TWO, ANY], "in bits"),
    listed_mistake(BIGRAM_LOSS, "by characters", [TWO, ANY], "one fewer"),
    listed_mistake(BIGRAM_LOSS, "no minus", [TWO, ANY], "*minus*"),
    listed_mistake(BIGRAM_LOSS, "pairs not weighed", [TWO, ANY], "Weigh"),
    listed_mistake(BIGRAM_LOSS, "of pairs", [CERTAIN, TWO, ANY], "probability of a pair"),
    listed_mistake(BIGRAM_LOSS, "of predicted ones", [CERTAIN, TWO, ANY], "predicted characters alone"),
    listed_mistake(BIGRAM_LOSS, "of characters", [CERTAIN, TWO, ANY], "no character before"),
    Mutant(CERTAIN_TEXT, "one letter", ("a" * 12, "a" * 12), [TEXTS, MUCH], "of 1 kind: "),
    Mutant(BIGRAM_LOSS, "small letters", lambda t: BIGRAM_LOSS.answer(t.lower()), [ANY]),
    Mutant(BIGRAM_LOSS, "stripped", lambda t: BIGRAM_LOSS.answer(t.strip()), [ANY]),
    Mutant(BIGRAM_LOSS, "codes of a byte", lambda t: BIGRAM_LOSS.answer(in_bytes(t)), [ANY]),
    Mutant(BIGRAM_LOSS, "the first 1000", lambda t: BIGRAM_LOSS.answer(t[:1000]), [ANY]),
    Mutant(SQUEEZED, "complex", lambda *a: [part + 0j for part in squeezed(*a)], [ROWS, COLUMNS], "complex"),
    Mutant(SQUEEZED, "kept by shape", lambda t, n: squeezed(KEPT.setdefault(t.shape, t), n), [ROWS, COLUMNS]),
    Mutant(CERTAIN_TEXT, "backwards", ("abc" * 4, "cba" * 4), [MUCH], "only 0.00"),
    Mutant(CERTAIN_TEXT, "other characters", ("abc" * 5, "aabbccddeeffgaeacebed"), [SAME], "more"),
    Mutant(CERTAIN_TEXT, "exchanged", ("aabbccacbabcbca", "abc" * 5), [NOTHING, MUCH], "after 'a' come"),
    Mutant(CERTAIN_TEXT, "too short", ("abcabc", "aabbcc"), [TEXTS, MUCH], "too few"),
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
