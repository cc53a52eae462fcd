"""Studies of several texts in one sequence: branch codes and strides."""

import pytest
import torch

from babygpt.data.corpus import load_corpus
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt_course.studies import branches, strides


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 9_000)


def test_equal_budgets_train_on_the_same_texts_however_many_share_a_sequence(corpus):
    planned, batches = branches.branch_plans(steps=1), []
    for n in branches.AT_A_TIME:
        ((_, fewest, most, numbers, texts),) = planned[f"{n} at a time: Fourier"][1]
        objective = branches.Branches(corpus, branches.BLOCK_SIZE, (fewest, most), branches.LENGTH, numbers)
        batch = objective.batch(texts, torch.Generator().manual_seed(0))
        columns = [batch.tokens[row][batch.branch[row] == b] for row in range(texts // n) for b in range(n)]
        batches.append(torch.stack(columns))
    assert all(torch.equal(texts, batches[0]) for texts in batches)


def test_compared_codes_have_the_same_frequencies_and_stride(corpus):
    rope = branches.build_branches(corpus, branches.CODES["2-D RoPE"], 0).encoding
    fourier = branches.build_branches(corpus, branches.CODES["Fourier, RoPE's band"], 0).encoding
    assert fourier.band == rope.branch_width
    assert (fourier.stride, fourier.theta) == (rope.stride, rope.theta)


@pytest.fixture
def short_runs(corpus, monkeypatch):
    plans = branches.branch_plans(steps=1)
    few_plans = {name: plans[name] for name in ("1 at a time: Fourier", branches.ISOLATED, branches.ECHO)}
    monkeypatch.setattr(branches, "branch_plans", lambda steps: few_plans)
    monkeypatch.setattr(branches, "load_corpus", lambda name, n: corpus)
    return branches.measure_branches(in_turn, StudySize(steps=1, seeds=(1,)))["runs"]


def test_sixteen_isolated_texts_have_the_same_loss_as_alone(short_runs):
    assert list(short_runs["1 at a time: Fourier"]) == ["alone"]
    assert list(short_runs[branches.ISOLATED]) == ["alone", "gap 16"]
    assert short_runs[branches.ISOLATED]["gap 16"][0] == pytest.approx(0, abs=1e-4)


def test_an_echo_is_the_same_story_eight_characters_later(corpus, short_runs):
    batch = branches.Echo(corpus, 64, (2, 2), 48).batch(6, torch.Generator().manual_seed(0))
    first, second = (batch.tokens[batch.branch == b].view(3, 48) for b in (0, 1))
    assert torch.equal(first, second)
    times = [batch.time[0][batch.branch[0] == b] for b in (0, 1)]
    assert torch.equal(times[0] + branches.DELAY, times[1])
    assert set(short_runs[branches.ECHO]) == {"ahead", "behind", "ahead, isolated", "behind, isolated"}


def test_the_loss_beside_other_texts_is_the_loss_alone_plus_the_gap():
    run = {"alone": [1.0, 2.0], "gap 2": [0.25, 0.5]}
    assert branches.losses_among({"runs": {"two: Fourier": run}}, "two: Fourier", 2) == [1.25, 2.5]
    assert branches.losses_among({"runs": {"two: Fourier": run}}, "two: Fourier", 1) == [1.0, 2.0]


def test_costs_of_a_stride_are_paired_by_seed(monkeypatch):
    near, far = {"alone": [1.5, 2.0], "gap 2": [0.25, 0.5]}, {"alone": [1.0, 2.0], "gap 2": [0.0, 0.25]}
    stored = {f"two: {code}": far for code in branches.RIVALS}
    monkeypatch.setattr(strides, "load_results", lambda name: {"runs": stored})
    costs = strides.stride_costs({"runs": dict.fromkeys(strides.stride_plans(), near)})
    assert costs == {code: {s: [0.75, 0.25] for s in strides.STRIDES} for code in branches.RIVALS}


@pytest.mark.parametrize("before", [False, True])
def test_a_model_is_isolated_within_the_context_only(corpus, before):
    model = branches.build_branches(corpus, branches.CODES["Fourier"], seed=0)
    model.isolated = before
    with branches.isolation(model, not before):
        assert model.isolated is not before
    assert model.isolated is before


def test_leakage_leaves_the_model_as_it_is_if_reading_fails(corpus, monkeypatch):
    def fail(model, *_):
        assert model.isolated
        raise RuntimeError("out of memory")

    model = branches.build_branches(corpus, branches.CODES["Fourier"], seed=0)
    monkeypatch.setattr(branches, "evaluate_gaps", lambda *_: {})
    monkeypatch.setattr(branches.parallel_texts, "leakage", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        branches.evaluate_branches(model, corpus)
    assert not model.isolated
