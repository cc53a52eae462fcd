"""Counted contexts, against counting one token at a time; a distribution at every place."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from babygpt.data.corpus import from_text
from benchmarks.counting import measure_counting, mix_in

TEXT = "the cat sat on the mat. the rat sat on the cat. a cat ate the rat on the mat. " * 12


def one_by_one(train: list[int], val: list[int], longest: int, vocab_size: int) -> float:
    """The same loss, from dictionaries."""
    total = 0.0
    for t, token in enumerate(val):
        p = 1 / vocab_size
        for length in range(longest + 1):
            if t < length:
                break
            follows: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
            for i in range(length, len(train)):
                follows[tuple(train[i - length : i])][train[i]] += 1
            seen = follows.get(tuple(val[t - length : t]))
            if seen:
                p = (seen[token] + len(seen) * p) / (seen.total() + len(seen))
        total -= math.log(p)
    return total / len(val)


def test_counts_are_those_of_counting_one_by_one() -> None:
    corpus = from_text("cats", TEXT)
    found = measure_counting(corpus, 3)["contexts"]
    vocab_size = corpus.tokenizer.vocab_size
    for length in range(4):
        want = one_by_one(corpus.train.tolist(), corpus.val.tolist(), length, vocab_size)
        assert found[str(length)]["val_loss"] == pytest.approx(want, abs=1e-4)


def test_all_tokens_together_have_probability_1() -> None:
    rng = np.random.default_rng(0)
    train, before = rng.integers(5, size=200), rng.integers(5, size=2)
    sums = 0.0
    for token in range(5):
        val = np.array([*before, token])
        p = np.full(3, 1 / 5)
        for length in range(3):
            p = mix_in(p, train, val, length, 5)
        sums += p[-1]
    assert sums == pytest.approx(1)


@pytest.mark.parametrize("longest", [-1, 0, 40])
def test_contexts_of_no_length_that_can_be_counted_are_refused(longest: int) -> None:
    with pytest.raises(ValueError, match=rf"longest \({longest}\) must lie between 1 and"):
        measure_counting(from_text("cats", TEXT), longest)
