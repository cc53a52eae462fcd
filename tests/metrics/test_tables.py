"""The tables are what the models say, read without a text."""

import numpy as np
import pytest
import torch

from babygpt.metrics.inspection import bigram_table, position_votes


def test_v1s_table_is_what_it_says_after_any_text(awake, text) -> None:
    model, idx = awake("v1"), text(12)
    table = bigram_table(model)
    assert table.shape == (11, 11)
    with torch.no_grad():
        said = model(idx[None])[0].exp()
    said = (said / said.sum(dim=-1, keepdim=True)).numpy()
    for token, row in zip(idx.tolist(), said, strict=True):
        assert table[token] == pytest.approx(row, abs=1e-6)


def test_each_row_of_v1s_table_is_a_distribution(awake) -> None:
    table = bigram_table(awake("v1"))
    assert table.sum(axis=1) == pytest.approx(np.ones(11), abs=1e-5)
    assert table.min() >= 0
    assert np.ptp(table, axis=0).min() > 0.01  # no two rows agree in a column


@pytest.mark.parametrize("token", [0, 7])
def test_v2s_votes_are_what_its_logits_gain_from_a_position(awake, token: int) -> None:
    """Whatever the token: the same one stands at every position, and its own vote cancels."""
    model = awake("v2")
    with torch.no_grad():
        logits = model(torch.full((1, 16), token))[0]
    votes = position_votes(model)
    assert votes.shape == (16, 11)
    assert votes == pytest.approx((logits - logits.mean(dim=0)).numpy(), abs=1e-5)
    assert np.abs(votes).max() > 0.1


def test_positions_that_are_all_alike_vote_for_nothing(awake) -> None:
    model = awake("v2")
    model.encoding.table.data[:] = model.encoding.table.data[0].clone()
    assert position_votes(model) == pytest.approx(np.zeros((16, 11)), abs=1e-5)


@pytest.mark.parametrize(("version", "measure"), [("v1", bigram_table), ("v2", position_votes)])
def test_a_table_is_a_copy_that_training_does_not_change(awake, version: str, measure) -> None:
    model = awake(version)
    table = measure(model)
    before = table.copy()
    with torch.no_grad():
        for p in model.parameters():
            p += 1
    assert isinstance(table, np.ndarray)
    assert np.array_equal(table, before)
