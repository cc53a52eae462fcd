"""Promises of a sampler, how a promise prints, and how a text is read."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from babygpt import invariants
from babygpt.invariants.base import text_logits
from babygpt.objectives import denoise
from babygpt.sampling import ancestral, by_confidence, fill_in, in_random_order


def test_a_promise_prints_its_mark():
    assert str(invariants.Promise("it holds", 0.0, 1.0)) == "✓ it holds"
    assert str(invariants.Promise("it fails", 2.0, 1.0)) == "✗ it fails"


def test_a_text_is_read_with_its_masks_where_the_model_fills_in(awake, text):
    model, idx = awake("v7"), torch.tensor([3, 10, 4, 10, 10, 5])
    assert torch.equal(text_logits(model, idx)[:, :10], denoise(model, idx[None])[0])
    model, idx = awake("v4"), text(9)
    assert torch.equal(text_logits(model, idx), model(idx[None])[0])


MASK = 10
ORDERS = {"surest first": by_confidence(0.3), "random": in_random_order(2), "ancestral": ancestral(4)}


@pytest.fixture
def holes(text):
    """Two texts, one with ten holes and one with none."""
    idx = text(2, 14, vocab_size=MASK)
    idx[0, 2:12] = MASK
    return idx


@pytest.mark.parametrize("order", ORDERS)
def test_ours_keeps_all_promises(awake, holes, order):
    model, fill = awake("v7"), partial(fill_in, order=ORDERS[order])
    for promise in (
        invariants.fills_every_mask,
        invariants.keeps_the_prompt,
        invariants.at_least_one_a_step,
    ):
        assert promise(model, holes, fill).holds, promise
        assert promise(model, holes).holds, promise  # by confidence, where nothing is said


def test_samplers_that_break_a_promise_are_found_out(awake, holes):
    model, filled, at = awake("v7"), fill_in(awake("v7"), holes), torch.tensor([2])
    left = replace(filled, tokens=filled.tokens.index_fill(1, at, MASK))
    assert invariants.fills_every_mask(model, holes, lambda *_: left).value == 2
    changed = replace(filled, tokens=(filled.tokens + 1) % MASK)
    assert invariants.keeps_the_prompt(model, holes, lambda *_: changed).value == 18
    assert invariants.fills_every_mask(model, holes, lambda *_: changed).holds
    for when in (2 * filled.when, filled.when.index_fill(1, at, 0)):  # idle steps, or a token without a step
        slow = replace(filled, when=when)
        assert not invariants.at_least_one_a_step(model, holes, lambda *_, slow=slow: slow).holds
