"""Promises of a sampler: ours keeps them, and each way to break one is found out."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from babygpt import invariants
from babygpt.sampling import ancestral, by_confidence, fill_in, in_random_order

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


def lazy(model, idx):
    """Leaves a MASK."""
    filled = fill_in(model, idx)
    return replace(filled, tokens=filled.tokens.index_fill(1, torch.tensor([2]), MASK))


def eager(model, idx):
    """Writes over the prompt."""
    filled = fill_in(model, idx)
    return replace(filled, tokens=(filled.tokens + 1) % MASK)


def slow(model, idx):
    """Counts steps at which nothing appears."""
    filled = fill_in(model, idx)
    return replace(filled, when=2 * filled.when)


def forgetful(model, idx):
    """Does not say when a token appeared."""
    filled = fill_in(model, idx)
    return replace(filled, when=filled.when.index_fill(1, torch.tensor([2]), 0))


def test_a_mask_that_is_left_is_found_out(awake, holes):
    assert invariants.fills_every_mask(awake("v7"), holes, lazy).value == 2


def test_a_prompt_that_changes_is_found_out(awake, holes):
    assert invariants.keeps_the_prompt(awake("v7"), holes, eager).value == 18
    assert invariants.fills_every_mask(awake("v7"), holes, eager).holds


@pytest.mark.parametrize("fill", [slow, forgetful])
def test_steps_that_do_nothing_are_found_out(awake, holes, fill):
    assert not invariants.at_least_one_a_step(awake("v7"), holes, fill).holds
