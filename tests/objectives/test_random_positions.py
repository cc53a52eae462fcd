"""Positions drawn from a longer range: different, in order, evenly spread; and what is learned at them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.errors import BadInput
from babygpt.objectives import NextToken, RandomPositions, cross_entropy
from babygpt.objectives.next_token import draw_positions
from babygpt.positions import Positions


@given(rows=st.integers(1, 5), length=st.integers(1, 40), more=st.integers(0, 200), seed=st.integers(0, 99))
def test_positions_differ_are_in_order_and_within_the_range(rows: int, length: int, more: int, seed: int):
    drawn = draw_positions(rows, length, length + more, torch.Generator().manual_seed(seed))
    assert drawn.shape == (rows, length)
    assert bool((drawn.diff(dim=1) > 0).all())
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < length + more


def test_every_set_of_positions_is_as_likely() -> None:
    """Two of four: six sets, each of 6,000 draws within five standard deviations of a thousand."""
    drawn = draw_positions(6000, 2, 4, torch.Generator().manual_seed(0))
    counts = torch.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16)
    assert set(counts.nonzero()[:, 0].tolist()) == {1, 2, 3, 6, 7, 11}
    assert bool(((counts[counts > 0] - 1000).abs() < 5 * (6000 * 5 / 36) ** 0.5).all())


def test_windows_are_those_of_the_next_token(small_corpus) -> None:
    drawn = RandomPositions(small_corpus, 16, 64).batch(4, torch.Generator().manual_seed(3))
    plain = NextToken(small_corpus, 16).batch(4, torch.Generator().manual_seed(3))
    assert all(torch.equal(x, y) for x, y in zip(drawn[:2], plain, strict=True))
    assert drawn[2].shape == drawn[0].shape


@pytest.fixture
def reader(awake, small_corpus):
    """Make a model that knows the corpus's characters."""
    return lambda version: awake(version, vocab_size=small_corpus.tokenizer.vocab_size)


def test_the_model_reads_at_the_drawn_positions(small_corpus, reader) -> None:
    """By the loss at those positions, and by that at 0, 1, 2, ..., which is another."""
    model, objective = reader("v3"), RandomPositions(small_corpus, 16, 64)
    batch = objective.batch(4, torch.Generator().manual_seed(3))
    inputs, targets, time = batch
    with torch.inference_mode():
        logits = model(inputs, Positions(time))
        expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        in_a_row = cross_entropy(model(inputs), targets).mean()
        torch.testing.assert_close(objective.loss(model, batch), expected)
    assert abs(expected - in_a_row) > 1e-3


def test_validation_is_the_same_in_every_call(small_corpus, reader) -> None:
    objective = RandomPositions(small_corpus, 16, 64)
    assert objective.validate(reader("v4")) == objective.validate(reader("v4"))


@pytest.mark.parametrize("version", ["nope", "v4"])
def test_a_range_of_one_window_is_the_next_token(small_corpus, reader, version: str) -> None:
    model, batch_of = reader(version), torch.Generator().manual_seed(3)
    assert RandomPositions(small_corpus, 16, 16).validate(model) == pytest.approx(
        NextToken(small_corpus, 16).validate(model), abs=1e-5
    )
    assert RandomPositions(small_corpus, 16, 16).batch(2, batch_of)[2].tolist() == 2 * [list(range(16))]


def test_a_range_shorter_than_the_window_is_refused(small_corpus) -> None:
    with pytest.raises(BadInput, match=r"longest \(15\) must be at least block_size \(16\)"):
        RandomPositions(small_corpus, 16, 15)
    with pytest.raises(BadInput, match=r"longest \(3\) must be at least 4"):
        draw_positions(1, 4, 3, torch.Generator())
