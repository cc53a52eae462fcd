"""Studies of several texts in one sequence: branch codes, strides, and shares of a head's pairs."""

import pytest
import torch

from babygpt.data.corpus import load_corpus
from babygpt_course.studies import branches, strides
from babygpt_course.studies.results import load_results
from babygpt_course.studies.sweep import small_config


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 9_000)


def test_equal_budgets_train_on_the_same_texts_however_many_share_a_sequence(corpus):
    planned, seen = branches.branch_plans(steps=1), []
    for n in branches.AT_A_TIME:
        ((_, fewest, most, numbers, texts),) = planned[f"{n} at a time: Fourier"][1]
        objective = branches.Branches(corpus, branches.BLOCK_SIZE, (fewest, most), branches.LENGTH, numbers)
        batch = objective.batch(texts, torch.Generator().manual_seed(0))
        columns = [batch.tokens[row][batch.branch[row] == b] for row in range(texts // n) for b in range(n)]
        seen.append(torch.stack(columns))
    assert all(torch.equal(texts, seen[0]) for texts in seen)


def test_codes_to_be_compared_have_the_same_frequencies_and_stride(corpus):
    rope = branches.build_branches(corpus, branches.CODES["2-D RoPE"], 0).encoding
    fourier = branches.build_branches(corpus, branches.CODES["Fourier, RoPE's band"], 0).encoding
    assert fourier.band == rope.branch_width
    assert (fourier.stride, fourier.theta) == (rope.stride, rope.theta)


PLANS = {
    "branches": branches.branch_plans(400),
    "strides": strides.stride_plans(),
    "branch_share": strides.share_plans(),
}


@pytest.mark.parametrize("name", PLANS)
def test_stored_results_hold_every_run_of_the_plan(name):
    runs = load_results(name)["runs"]
    assert set(runs) == set(PLANS[name])
    for run, found in runs.items():
        seeds = 1 if name == "strides" and not strides.is_decisive(run) else 3
        assert {len(values) for values in found.values()} == {seeds}, run


def test_a_loss_among_two_is_the_loss_alone_and_the_gap(monkeypatch):
    run = {"alone": [1.0, 2.0], "gap 2": [0.25, 0.5]}
    monkeypatch.setattr(strides, "load_results", lambda name: {"runs": {"two: Fourier": run}})
    found = strides.losses_among_two({"runs": {"stride 4096: Fourier": run, "stride 1: Fourier": run}})
    expected = {stride: [1.25, 2.5] for stride in (1, branches.STRIDE, 4096)}
    assert found == {"Fourier": expected, "2-D RoPE": {}, strides.IN_BAND: {}}


# ---------------------------------------------------------------- shares


def test_arms_differ_in_their_code_alone(corpus):
    config = small_config(corpus, strides.BLOCK_SIZE)
    widths = [strides.build_arm(f"share {x:g}", config).encoding.branch_width for x in strides.SHARES]
    assert widths == [0, 6, 12, 18, 24]
    built = {arm: strides.build_arm(arm, config) for arm, _ in strides.share_plans().values()}
    assert len({sum(p.numel() for p in model.parameters()) for model in built.values()}) == 1
    assert [arm for arm, model in built.items() if model.isolated] == ["isolated"]
