"""Exercises of notebook 01: counting a loss, order in pairs, few channels."""

import math
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import ask_tensors, require, require_equal, require_texts
from babygpt_course.exercises.compare import count, format_beyond
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, read_tasks

TASKS = read_tasks("lesson_01")


def bigram_loss_answer(text: str) -> float:
    """Loss in nats per prediction of the best bigram model of a text, on that text."""
    pairs = Counter(pairwise(text))
    first = Counter(text[:-1])
    return -sum(n * math.log(n / first[a]) for (a, _), n in pairs.items()) / (len(text) - 1)


def v1_loss(text: str) -> float:
    """Return the loss of the best v1; 0 for a text without a prediction."""
    return abs(bigram_loss_answer(text)) if len(text) > 1 else 0.0  # never -0


def text_entropy(things: list[Any]) -> float:
    return -sum(n * math.log(n / len(things)) for n in Counter(things).values()) / len(things)


def miscount_pairs(text: str, firsts: str = "", weighed: bool = True) -> float:
    """Take the firsts of pairs from all of the text, or each kind of pair once: two known mistakes."""
    pairs, first = Counter(pairwise(text)), Counter(firsts or text)
    return fmean(math.log(first[a] / pairs[a, b]) for a, b in (pairs.elements() if weighed else pairs))


LOSS_MISTAKES = {
    "The last character predicts nothing, so it does not count as a *first* of a pair": miscount_pairs,
    "Divide by the number of predictions, which is one fewer than the characters": (
        lambda text: v1_loss(text) * (len(text) - 1) / len(text)
    ),
    "That is in bits": lambda text: v1_loss(text) / math.log(2),
    "Weigh each pair by how often it comes": lambda text: miscount_pairs(text, text[:-1], weighed=False),
    "That is the probability of a pair, not of the next character *after* this one": (
        lambda text: text_entropy(list(pairwise(text)))
    ),
    "That looks at no character before": lambda text: text_entropy(list(text)),
    "That counts the predicted characters alone; look at the one before each": lambda text: text_entropy(
        list(text[1:])
    ),
    "A loss is *minus* the logarithm": lambda text: -v1_loss(text),
}


def draw_strings(draw: Generator, kind: str) -> Iterator[Case]:
    """Draw texts without doubt, of two characters, or of any."""
    if kind == "certain":
        drawn = [p * integer(draw, 2, 6) + p[: integer(draw, 0, 2)] for p in ("ab", "abc", "abcde")]
    elif kind == "two characters":
        patterns = [(p, dice(draw).sample("abcdefgh", 2)) for p in ("0001", "00110", "0100110")]
        drawn = ["".join(letters[int(i)] for i in pattern) for pattern, letters in patterns]
    else:
        rng, kinds = dice(draw), ((9, "abc"), (30, "\nefgh "), (300, "我你他AaBb。šŁ"), (5000, "ab \n"))
        # š and Ł equal a and A in one byte of their code points.
        drawn = ["".join(rng.choices(alphabet, range(1, len(alphabet) + 1), k=n)) for n, alphabet in kinds]
        drawn.append(f" {drawn[1]}\n")
    yield from (Case(repr(text[:40]), (text,)) for text in drawn)


BIGRAM_LOSS = Exercise(
    TASKS["A loss by counting"],
    [
        Agrees(partial(draw_strings, kind=kind), v1_loss, LOSS_MISTAKES)
        for kind in ("certain", "two characters", "any")
    ],
    bigram_loss_answer,
    mistakes=LOSS_MISTAKES,
)


LEAST = 12
KINDS = 3
DOUBT = 0.8


def two_texts(answer: Any, _: Generator) -> None:
    for text in require_texts(answer, 2):
        few = f"{text!r} has {count(len(text), 'character')}, of {count(len(set(text)), 'kind')}: too few"
        require(len(text) >= LEAST and len(set(text)) >= KINDS, few)


def anagrams(answer: Any, _: Generator) -> None:
    first, second = map(Counter, require_texts(answer, 2))
    more = f"the first has {dict(first - second)} more, and the second {dict(second - first)}"
    require(first == second, f"the two texts do not hold the same characters: {more}")


def first_is_certain(answer: Any, _: Generator) -> None:
    text = require_texts(answer, 2)[0]
    for a in dict.fromkeys(text[:-1]):
        after = sorted({second for first, second in pairwise(text) if first == a})
        listed = f"after {a!r} come {' and '.join(map(repr, after))}"
        require(len(after) == 1, f"v1 loses {v1_loss(text):.3f} nats on {text!r}: {listed}")


def second_is_not(answer: Any, _: Generator) -> None:
    loss = v1_loss(text := require_texts(answer, 2)[1])
    require(loss >= DOUBT, f"v1 loses only {format_beyond(loss, DOUBT)} nats per prediction on {text!r}")


CERTAIN_TEXT = Exercise(
    TASKS["Same characters, no doubt and much doubt"],
    [two_texts, anagrams, first_is_certain, second_is_not],
    ("abcabcabcabcabc", "aabbccacbabcbca"),
)


def squeezed_answer(table: Tensor, n_embd: int) -> tuple[Tensor, Tensor, Tensor]:
    """Embedding (V, n_embd), head (V, n_embd) and bias (V,) of a v1 with this table and few channels."""
    logits = table.log()
    logits = logits - logits.mean(dim=1, keepdim=True)  # a softmax does not see what a row shares
    bias = logits.mean(dim=0)  # what all rows share
    U, S, Vh = torch.linalg.svd(logits - bias)
    root = S[:n_embd].sqrt()
    return U[:, :n_embd] * root, Vh[:n_embd].T * root, bias


def low_rank(logits: Tensor, n_embd: int, power: int = 1) -> Tensor:
    """Return the nearest matrix of a rank of at most n_embd, made of a power of the singular values."""
    U, S, Vh = torch.linalg.svd(logits)
    return U[:, :n_embd] * S[:n_embd] ** power @ Vh[:n_embd]


def squeezes(attempt: Any, draw: Generator, with_bias: bool) -> None:
    for V, n_embd in ((3, 1), (5, 2), (9, 4)):
        E, W = torch.randn(2, V, n_embd, generator=draw, dtype=torch.float64)
        bias = torch.randn(V, generator=draw, dtype=torch.float64) if with_bias else 0.0
        table = (E @ W.T + bias).softmax(dim=-1)
        what = f"a table of {V} characters and n_embd {n_embd}"
        shapes = {"embedding": (V, n_embd), "head": (V, n_embd), "bias": (V,)}
        embedding, head, bias = ask_tensors(attempt, table, n_embd, what=what, shapes=shapes)
        logits = embedding.double() @ head.double().T + bias
        log_p = table.log()
        rows = log_p - log_p.mean(dim=1, keepdim=True)
        mean, rank = rows.mean(dim=0), torch.linalg.matrix_rank(log_p).item()
        raw = f"ln p itself has rank {rank}: what a row shares needs no channel"
        mistakes = {
            raw: low_rank(log_p, n_embd),
            f"{raw}, nor does what all rows share": low_rank(log_p - log_p.mean(dim=0), n_embd)
            + log_p.mean(dim=0),
            "What all rows share needs no channel: it is the bias": low_rank(rows, n_embd),
            "The bias is missing": low_rank(rows - mean, n_embd),
            "Is the bias in the logits twice?": low_rank(rows, n_embd) + mean,
            "The singular values are there twice": low_rank(rows - mean, n_embd, power=2) + mean,
            "Where are the singular values?": low_rank(rows - mean, n_embd, power=0) + mean,
            "Logits are embedding · headᵀ: exchange the two": low_rank(rows - mean, n_embd).T + mean,
            "A logit is ln p, not p": low_rank(table - table.mean(dim=0), n_embd) + table.mean(dim=0),
        }
        mistakes = {text: wrong.softmax(dim=-1) for text, wrong in mistakes.items()}
        off = torch.linalg.matrix_rank(logits - log_p - (logits - log_p).mean(dim=1, keepdim=True), atol=1e-4)
        hint = f". Its logits differ from ln p by a table of rank {off}, besides one number in each row"
        require_equal(logits.softmax(dim=-1), table, f"{what} your v1's table", mistakes, hint)


SQUEEZED = Exercise(TASKS["A v1 with few channels"], each(squeezes, False, True), squeezed_answer)

EXERCISES = (BIGRAM_LOSS, CERTAIN_TEXT, SQUEEZED)
