"""Exercises of notebook 01: counting a loss, order in pairs, and a v1 whose weights are set by hand."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import torch
from torch import Generator

from babygpt_course.exercises.base import Check, Exercise, Wrong, expect, texts
from babygpt_course.exercises.draws import dice, integer
from babygpt_course.exercises.v1_by_hand import BY_HAND, SQUEEZED


def bigram_loss_stub(text: str) -> float:
    """Loss in nats per prediction of the best bigram model of a text, on that text."""
    return 0.0


def bigram_loss_answer(text: str) -> float:
    """Loss in nats per prediction of the best bigram model of a text, on that text."""
    pairs = Counter(pairwise(text))
    first = Counter(text[:-1])
    return -sum(n * math.log(n / first[a]) for (a, _), n in pairs.items()) / (len(text) - 1)


def loss_by_tables(text: str) -> float:
    """The same by a table of counts, read off at each prediction."""
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(letter) for letter in text])
    counts = torch.zeros(len(letters), len(letters), dtype=torch.float64)
    counts.index_put_((ids[:-1], ids[1:]), torch.ones(1, dtype=torch.float64), accumulate=True)
    log_probs = (counts / counts.sum(dim=1, keepdim=True)).log()
    return -log_probs[ids[:-1], ids[1:]].mean().item()


def certain(attempt: Any, draw: Generator) -> None:
    for period in ("ab", "abc", "abcde"):
        text = period * integer(draw, 2, 6) + period[: integer(draw, 0, 2)]
        last = "The last character predicts nothing, so it does not count as a *first* of a pair"
        pairs, first = Counter(pairwise(text)), Counter(text)
        mean = -sum(n * math.log(n / first[a]) for (a, _), n in pairs.items()) / (len(text) - 1)
        mistakes = {last: mean} if mean > 1e-3 else {}
        expect(attempt, text, want=0.0, what=repr(text), mistakes=mistakes)


def wrong_losses(text: str) -> dict[str, float]:
    """What to say -> the loss that somebody gets who makes that mistake."""
    right, n_pairs = loss_by_tables(text), len(text) - 1
    pairs, first = Counter(pairwise(text)), Counter(text[:-1])
    rows = [-math.log(n / first[a]) for (a, _), n in pairs.items()]
    joint = -sum(n * math.log(n / n_pairs) for n in pairs.values()) / n_pairs
    alone = -sum(n * math.log(n / len(text)) for n in Counter(text).values()) / len(text)
    return {
        "Divide by the number of predictions, which is one fewer than the characters": right
        * n_pairs
        / len(text),
        "That is in bits": right / math.log(2),
        "Weigh each pair by how often it comes": sum(rows) / len(rows),
        "That is the probability of a pair, not of the next character *after* this one": joint,
        "That looks at no character before": alone,
        "A loss is *minus* the logarithm": -right,
    }


def coins(attempt: Any, draw: Generator) -> None:
    for text in ("aab", "aabba", "xyxxyyx"):
        letters = dice(draw).sample("abcdefgh", 2)
        text = "".join(letters[i] for i in (text[i] != text[0] for i in range(len(text))))
        expect(attempt, text, want=loss_by_tables(text), what=repr(text), mistakes=wrong_losses(text))


def any_text(attempt: Any, draw: Generator) -> None:
    rng = dice(draw)
    for n, alphabet in ((9, "abc"), (30, "efgh "), (300, "我你他爱。")):
        text = "".join(rng.choices(alphabet, range(1, len(alphabet) + 1), k=n))
        expect(attempt, text, want=loss_by_tables(text), what=repr(text[:40]), mistakes=wrong_losses(text))


BIGRAM_LOSS = Exercise(
    name="A loss by counting",
    task=(
        "Write `bigram_loss(text)`: the loss, in nats per prediction, that the *best* bigram model for this "
        "text has on the text itself. Nothing is trained. A text of n characters holds n − 1 predictions."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("a text without doubt costs nothing", certain),
        Check("two characters", coins),
        Check("any text", any_text),
    ),
    hints=(
        "The best model says p(b after a) = (pairs ab) / (pairs that begin with a). Count both.",
        "`Counter(itertools.pairwise(text))` counts the pairs. Which characters begin a pair?",
        "Each pair costs −ln p(b after a), as often as it comes. At the end divide by n − 1.",
    ),
    stub=bigram_loss_stub,
    answer=bigram_loss_answer,
)


LEAST, KINDS, DOUBT = 12, 3, 0.8


def two_texts(answer: Any, _: Generator) -> None:
    for text in texts(answer, 2):
        if len(text) < LEAST or len(set(text)) < KINDS:
            raise Wrong(f"{text!r} has {len(text)} characters, of {len(set(text))} kinds: too few")


def anagrams(answer: Any, _: Generator) -> None:
    one, other = texts(answer, 2)
    left, right = Counter(one) - Counter(other), Counter(other) - Counter(one)
    if left or right:
        more = f"the first has {dict(left)} more, and the second {dict(right)}"
        raise Wrong(f"the two texts do not hold the same characters: {more}")


def loss_of(text: str) -> float:
    return abs(loss_by_tables(text)) if len(text) > 1 else 0.0  # and never −0


def first_is_certain(answer: Any, _: Generator) -> None:
    text = texts(answer, 2)[0]
    follow: dict[str, set[str]] = {}
    for a, b in pairwise(text):
        follow.setdefault(a, set()).add(b)
    doubt = next((a for a, after in follow.items() if len(after) > 1), None)
    if doubt is not None:
        after = " and ".join(map(repr, sorted(follow[doubt])))
        raise Wrong(f"v1 loses {loss_of(text):.3f} nats on {text!r}: after {doubt!r} come {after}")


def second_is_not(answer: Any, _: Generator) -> None:
    text = texts(answer, 2)[1]
    if not loss_of(text) >= DOUBT:
        raise Wrong(f"v1 loses only {loss_of(text):.3f} nats per prediction on {text!r}")


CERTAIN_TEXT = Exercise(
    name="Same characters, no doubt and much doubt",
    task=(
        "Design two texts with the same characters, each as often: the best v1 for the first one loses "
        f"*nothing* on it, and the best v1 for the second one loses at least {DOUBT} nats per prediction. "
        f"At least {LEAST} characters each, of at least {KINDS} kinds. Your answer is a pair of texts; your "
        "`bigram_loss` tells you how far you are."
    ),
    level="core",
    minutes=8,
    checks=(
        Check(f"two texts of {LEAST} characters, {KINDS} kinds or more", two_texts),
        Check("they hold the same characters", anagrams),
        Check("v1 loses nothing on the first", first_is_certain),
        Check("v1 loses much on the second", second_is_not),
    ),
    hints=(
        "v1 has no doubt if each character has only one successor. What does such a text look like?",
        "A text that repeats itself: *abcabc…* Now put the same characters in a disorderly row.",
        "After each character, as many others as possible should come, each about equally often.",
    ),
    stub=("", ""),
    answer=("abcabcabcabcabc", "aabbccacbabcbca"),
)


EXERCISES = (BIGRAM_LOSS, CERTAIN_TEXT, BY_HAND, SQUEEZED)
