"""The experiment over strides: what is compared has as many pairs, and every stride is trained."""

import pytest

from babygpt_course.studies import strides as experiment
from babygpt_course.studies.branches import CODES, RIVALS, STRIDE, build_model
from babygpt_course.studies.results import load_results


def test_every_rival_is_planned_at_every_stride():
    planned = experiment.plans()
    for code in RIVALS:
        for stride in (*experiment.FROM_EVERY_SEED, *experiment.FROM_THE_FIRST):
            version, options = planned[f"stride {stride}: {code}"]
            assert (version, options) == (CODES[code][0], {**CODES[code][1], "stride": stride})


def test_shares_turn_so_many_pairs_of_a_head():
    corpus = experiment.load_corpus("plain-tales", 9_000)
    planned = experiment.plans()
    widths = [
        build_model(corpus, planned[f"share {x:g}: 2-D RoPE"], 0).encoding.branch_width for x in (0, 0.25, 1)
    ]
    assert widths == [0, 6, 24]


def test_only_the_decisive_runs_have_every_seed():
    results = experiment.measure_strides(steps=1, seeds=(1, 2), n_chars=9_000, only="stride 1:")
    seeds = {name: len(found["alone"]) for name, found in results["runs"].items()}
    assert seeds == {"stride 1: Fourier": 2, "stride 1: 2-D RoPE": 2, f"stride 1: {experiment.IN_BAND}": 1}


def test_stored_results_hold_every_run_of_the_plan():
    results = load_results("strides")
    assert set(results["runs"]) == set(experiment.plans())
    for name, found in results["runs"].items():
        seeds = 3 if experiment.is_decisive(name) else 1
        assert {len(values) for values in found.values()} == {seeds}, name


def test_a_loss_among_two_is_the_loss_alone_and_the_gap(monkeypatch):
    run = {"alone": [1.0, 2.0], "gap 2": [0.25, 0.5]}
    at_128 = {f"two: {code}": run for code in RIVALS}
    monkeypatch.setattr(experiment, "load_results", lambda name: {"runs": at_128})
    found = experiment.losses_among_two({"runs": {"stride 4096: Fourier": run, "stride 1: Fourier": run}})
    assert {code: list(strides) for code, strides in found.items()} == {
        "Fourier": [1, STRIDE, 4096],  # in order
        "2-D RoPE": [STRIDE],
        experiment.IN_BAND: [],
    }
    assert found["Fourier"][STRIDE] == pytest.approx([1.25, 2.5])
