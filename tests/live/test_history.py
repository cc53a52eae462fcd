"""A run's records: a list to whoever looks, and small to whoever keeps it."""

import gc
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babygpt.live.history import History
from babygpt.training import Step
from babygpt.training.records import Thinning

PLAIN = st.builds(
    Step, st.integers(1, 2**40), st.floats(0, 9), st.floats(0, 1), st.floats(0, 1e6), st.integers(0, 2**60)
)
TOLD = st.builds(
    replace, PLAIN, val_loss=st.floats(0, 9), changed=st.dictionaries(st.text(max_size=3), st.floats(0, 1))
)


def kept(steps):
    history = History()
    for step in steps:
        history.append(step)
    return history


@given(st.lists(PLAIN | TOLD, max_size=8), st.slices(8))
def test_it_reads_like_the_list_of_its_records(steps, some):
    history = kept(steps)
    assert len(history) == len(steps)
    assert list(history) == steps == history[:]
    assert history == steps
    assert history[some] == steps[some]
    assert [history[-1 - i] for i in range(len(steps))] == steps[::-1]
    assert history.losses(3) == [step.loss for step in steps[:3]]
    assert history.losses(99) == [step.loss for step in steps]
    with pytest.raises(IndexError):
        history[len(steps)]


@given(st.lists(PLAIN, min_size=1, max_size=4), st.floats(0, 9))
def test_the_last_record_can_be_told_more(steps, loss):
    history = kept(steps)
    history.replace_last(replace(history[-1], val_loss=loss))
    assert list(history) == [*steps[:-1], replace(steps[-1], val_loss=loss)]


def test_a_snapshot_is_kept_as_it_is():
    step = Step(1, 2.0, 0.1, 1.0, 9, snapshot={"delta": np.ones(3)})
    assert kept([step])[0] is step


LARGE = {"table": np.zeros(100)}  # 800 bytes


@pytest.mark.survives("many evaluations of a run with a large table", "its snapshots are thinned evenly")
@pytest.mark.parametrize("replaced", [False, True])
def test_snapshots_that_take_too_much_are_thinned_evenly(replaced):
    history = History(budget=8_000)
    for i in range(1, 301):
        step = Step(i, 2.0, 0.1, 1.0, 9)
        told = replace(step, val_loss=1.0, snapshot=LARGE)
        if i % 2:
            history.append(step)
        elif replaced:
            history.append(step)
            history.replace_last(told)
        else:
            history.append(told)
        held = [s.step for s in history if s.snapshot]
        assert len(held) <= 10
        assert held[:1] == [2][: i // 2]
        assert held[-1:] == [i - i % 2][: i // 2]  # the latest is there, and the first
        assert len(set(np.diff(held[:-1]))) <= 1
        assert i < 100 or len(held) >= 5
    assert [s.step for s in history if s.val_loss is not None] == list(range(2, 301, 2))


def test_two_snapshots_stay_however_large():
    records = [Step(i, 2.0, 0.1, 1.0, 9, snapshot=LARGE) for i in range(5)]
    thinning = Thinning(records, budget=1)
    for i in range(5):
        thinning.note(i)
        thinning.note(i)  # told again: it is no other one
    assert [bool(step.snapshot) for step in records] == [True, False, False, False, True]


def test_other_records_are_other_ones():
    step = Step(1, 2.0, 0.1, 1.0, 9)
    assert kept([step]) != [step, step]
    assert kept([step]) != [replace(step, loss=2.5)]
    assert kept([]) == []


@pytest.mark.survives("a hundred thousand steps under one dashboard", "each takes 40 bytes")
def test_a_hundred_thousand_records_take_four_megabytes_and_no_objects():
    history, before = History(), len(gc.get_objects())
    for i in range(100_000):
        history.append(Step(i + 1, 1.0, 0.1, 0.5 * i, 64 * i))
    columns = (value for value in vars(history).values())
    assert sum(map(sys.getsizeof, columns)) < 100_000 * 48  # arrays grow an eighth ahead
    assert len(gc.get_objects()) - before < 1000


def test_a_run_without_a_step_says_so() -> None:
    """A learner who stopped it at once asks for its last record."""
    with pytest.raises(IndexError, match="stopped before its first"):
        History()[-1]
