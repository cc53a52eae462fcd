"""The lookup task: its answers are right, its rows are varied, and nothing else can answer it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.data.batches import IGNORED
from babygpt_course.studies.lookup_task import Lookup


@st.composite
def tasks(draw):
    furthest = draw(st.integers(1, 4))
    shortest = draw(st.integers(furthest + 1, 8))
    longest = draw(st.integers(shortest, 12))
    return Lookup(draw(st.integers(longest, 20)), shortest, longest, furthest, draw(st.integers(1, 5)))


@given(tasks(), st.integers(0, 2**31))
def test_every_answer_stands_at_the_shift_from_its_letter(task, seed):
    idx, targets = task.batch(4, torch.Generator().manual_seed(seed))
    assert idx.shape == targets.shape == (4, task.block_size)
    assert 0 <= int(idx.min()) <= int(idx.max()) < task.vocab_size
    for row, answers in zip(idx.tolist(), targets.tolist(), strict=True):
        string = [c for c in row[: task.longest] if c != task.blank]
        assert task.shortest <= len(set(string)) == len(string) <= task.longest
        assert row[: task.longest] == [task.blank] * (task.longest - len(string)) + string
        for n in range(task.questions):
            at = task.longest + 2 * n
            which = row[at + 1] - task.blank - 1
            shift = which - task.furthest + (which >= task.furthest)
            assert 1 <= abs(shift) <= task.furthest
            assert string[string.index(row[at]) + shift] == answers[at + 1]
            assert string.index(row[at]) + shift >= 0
        assert sum(a != IGNORED for a in answers) == task.questions


def test_all_shifts_and_lengths_occur_equally_often():
    task = Lookup()
    idx, _ = task.batch(6000, torch.Generator().manual_seed(0))
    shifts = torch.bincount(idx[:, task.longest + 1 :: 2].flatten() - task.blank - 1).float()
    assert len(shifts) == 2 * task.furthest
    assert float((shifts / shifts.mean() - 1).abs().max()) < 0.05
    lengths = torch.bincount((idx[:, : task.longest] != task.blank).sum(dim=1))[task.shortest :].float()
    assert float((lengths / lengths.mean() - 1).abs().max()) < 0.15


@pytest.mark.parametrize("wrong", [{"furthest": 0}, {"furthest": 6}, {"longest": 30}, {"questions": 0}])
def test_impossible_tasks_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        Lookup(**wrong)
