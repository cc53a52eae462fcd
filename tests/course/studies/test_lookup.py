"""The lookup task: its answers are right, only the text gives them, and rates are tuned equally."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.data.batches import IGNORED
from babygpt.encodings import PoPE
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt.positions import Positions
from babygpt_course.studies import lookup
from babygpt_course.studies.lookup import Lookup


def test_chance_accuracy_is_one_over_the_remaining_letters():
    assert lookup.guess_accuracy(Lookup(9, 5, 5, 1, 3)) == 0.25
    assert 1 / 5 < lookup.guess_accuracy(Lookup(9, 4, 6, 1, 3)) < 1 / 3
    assert lookup.guess_accuracy(Lookup(9, 5, 5, 1, 3), asked_too=True) == 0.2


def test_every_model_trains_at_its_best_rate_of_the_same_grid(monkeypatch):
    def train(name, task, rate, steps, seed):
        return [0.1, round(rate * (100 if name == "pope" else -100) + seed / 1000, 4)]

    monkeypatch.setattr(lookup, "train_lookup", train)
    scale = StudySize(lookup.EVERY, seeds=(1, 2))
    results = lookup.measure_lookup(in_turn, scale, names=("pope", "v4"), rates=(0.001, 0.002))
    assert results["rate"] == {"pope": 0.002, "v4": 0.001}
    assert results["grid"]["pope"] == {"0.001": 0.107, "0.002": 0.207}
    assert results["accuracy"] == {"pope": [0.201, 0.202], "v4": [-0.099, -0.098]}
    assert results["curves"]["pope"] == [[0.1, 0.201], [0.1, 0.202]]


def test_signed_pope_differs_by_its_signs_alone():
    signed, pope = (kind(2, 8) for kind in (lookup.SignedPoPE, PoPE))
    x, positions = torch.randn(1, 2, 8, 8, generator=torch.Generator().manual_seed(0)), Positions.arange(8)
    plus = torch.nn.functional.softplus(x)
    q, k = signed.transform_qk(plus, plus, positions)
    expected = pope.transform_qk(x, x, positions)
    assert torch.equal(q, expected[0])
    assert torch.equal(k, expected[1])
    assert not torch.equal(signed.transform_qk(x, x, positions)[0], expected[0])


# ---------------------------------------------------------------- the task


@st.composite
def tasks(draw):
    furthest = draw(st.integers(1, 4))
    shortest = draw(st.integers(furthest + 1, 8))
    longest = draw(st.integers(shortest, 12))
    return Lookup(draw(st.integers(longest, 20)), shortest, longest, furthest, draw(st.integers(1, 5)))


@given(tasks(), st.integers(0, 2**31))
def test_every_answer_is_at_the_shift_from_its_letter(task, seed):
    idx, targets = task.batch(4, torch.Generator().manual_seed(seed))
    assert idx.shape == targets.shape == (4, task.block_size)
    assert 0 <= int(idx.min()) <= int(idx.max()) < task.vocab_size
    for row, answers in zip(idx.tolist(), targets.tolist(), strict=True):
        string = [c for c in row[: task.longest] if c != task.blank]
        assert task.shortest <= len(set(string)) == len(string) <= task.longest
        assert row[: task.longest] == [task.blank] * (task.longest - len(string)) + string
        for n in range(task.questions):
            position = task.longest + 2 * n
            which = row[position + 1] - task.blank - 1
            shift = which - task.furthest + (which >= task.furthest)
            assert 1 <= abs(shift) <= task.furthest
            assert string[string.index(row[position]) + shift] == answers[position + 1]
            assert string.index(row[position]) + shift >= 0
        assert sum(a != IGNORED for a in answers) == task.questions
