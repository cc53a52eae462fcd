"""The experiment over branch codes: every run is made, and its numbers are what the measures say."""

import pytest
import torch

from babygpt.metrics.branches import interference_gap, leakage, parallel_loss
from babygpt_course.studies import branches as experiment
from babygpt_course.studies.results import load_results


@pytest.fixture(scope="module")
def corpus():
    return experiment.load_corpus("plain-tales", 9_000)


def test_every_code_is_trained_on_up_to_eight_and_on_two():
    names = experiment.plans(steps=10)
    for code in experiment.CODES:
        assert names[f"up to eight: {code}"][1] == [experiment.Phase(10, 1, 8)]
        assert names[f"two: {code}"][1] == [experiment.Phase(10, 2, 2)]


def test_a_warm_up_takes_its_steps_from_the_same_budget():
    for name, (_, phases) in experiment.plans(steps=11).items():
        assert sum(phase.steps for phase in phases) == 11, name


def test_equal_budgets_train_on_the_same_texts_however_many_share_a_sequence(corpus):
    planned, seen = experiment.plans(steps=1), []
    for n in experiment.AT_A_TIME:
        ((_, fewest, most, numbers, texts),) = planned[f"{n} at a time: Fourier"][1]
        objective = experiment.Branches(
            corpus, experiment.BLOCK_SIZE, (fewest, most), experiment.LENGTH, numbers
        )
        batch = objective.batch(texts, torch.Generator().manual_seed(0))
        columns = [batch.tokens[row][batch.branch[row] == b] for row in range(texts // n) for b in range(n)]
        seen.append(torch.stack(columns))
    assert all(torch.equal(texts, seen[0]) for texts in seen)


def test_codes_to_be_compared_have_the_same_frequencies_and_stride(corpus):
    rope = experiment.build_model(corpus, experiment.CODES["2-D RoPE"], 0).encoding
    fourier = experiment.build_model(corpus, experiment.CODES["Fourier, RoPE's band"], 0).encoding
    assert fourier.band == rope.branch_width
    assert (fourier.stride, fourier.theta) == (rope.stride, rope.theta)


def test_another_stride_brings_a_table_that_is_long_enough():
    version, options = experiment.with_stride(experiment.CODES["Fourier, learnable"], 1000)
    assert (version, options["stride"]) == ("v6", 1000)
    assert options["max_positions"] > 7 * 1000


def test_a_model_is_examined_with_the_measures(corpus):
    model = experiment.build_model(corpus, experiment.CODES["Fourier"], 0)
    experiment.train_phases(model, corpus, [experiment.Phase(3, 2, 2, 8)], seed=0)
    found = experiment.evaluate(model, corpus)
    assert found["alone"] == pytest.approx(parallel_loss(model, corpus.val, 1, experiment.LENGTH), abs=1e-4)
    assert found["gap 4"] == pytest.approx(
        interference_gap(model, corpus.val, 4, experiment.LENGTH), abs=1e-4
    )
    assert found["leak"] == pytest.approx(leakage(model, corpus.val, 2, experiment.LENGTH), abs=1e-4)
    assert found["leak, isolated"] == 0
    assert not model.isolated


def test_a_run_on_two_is_also_split_read_and_looked_into():
    results = experiment.measure_branches(steps=2, seeds=(1,), n_chars=9_000, only="two: 2-D RoPE")
    found = {name: values[0] for name, values in results["runs"]["two: 2-D RoPE"].items()}
    for n in ("4", "8"):
        assert found[f"own {n}"] + found[f"company {n}"] == pytest.approx(found[f"gap {n}"], abs=1e-4)
    assert found["stream 0"] == 1  # nothing is added
    assert 0 <= found["unknown 2"] <= 1
    assert found["alone, as Fourier"] > 0


def test_a_model_without_a_code_has_one_stream_for_both_branches(corpus):
    model = experiment.build_model(corpus, experiment.CODES["none"], 0)
    experiment.train_phases(model, corpus, [experiment.Phase(3, 2, 2)], seed=0)
    assert set(experiment.stream_similarity(model, corpus, n_texts=2).values()) == {1.0}


def test_every_word_of_the_corpus_is_known(corpus, monkeypatch):
    def copy_out(model, prompts, n_tokens, generator):
        return [corpus.train[: len(prompt) + n_tokens] for prompt in prompts]

    monkeypatch.setattr(experiment, "generate_parallel", copy_out)
    model = experiment.build_model(corpus, experiment.CODES["none"], 0)
    assert set(experiment.unknown_words(model, corpus, n_texts=4).values()) == {0.0}


def test_one_run_gives_one_number_a_seed():
    results = experiment.measure_branches(steps=1, seeds=(1, 2), n_chars=9_000, only="two: none")
    assert list(results["runs"]) == ["two: none"]
    assert {len(numbers) for numbers in results["runs"]["two: none"].values()} == {2}


def test_stored_results_hold_every_run_of_the_plan():
    results = load_results("branches")
    assert set(results["runs"]) == set(experiment.plans(results["steps"]))
    assert all(len(values) == 3 for run in results["runs"].values() for values in run.values())


def test_gaps_are_sorted_by_code_and_number():
    run = {"alone": [1.0], "gap 2": [0.1], "gap 4": [0.2], "gap 8": [0.3], "leak": [0.0]}
    results = {"runs": {"two: none": run, "up to eight: none": run, "two of eight numbers: none": run}}
    found = experiment.gaps(results, "two")
    assert list(found) == list(
        experiment.CODES
    )  # a row for each, where there are runs and where there are none
    assert found["none"] == {"2": [0.1], "4": [0.2], "8": [0.3]}
    assert found["Fourier"] == {}


def test_the_table_has_a_row_for_each_run_with_mean_and_spread():
    run = {key: [0.1, 0.2, 0.3] for key in experiment.NUMBERS}
    results = {
        "command": "make it",
        "minutes": 2.0,
        "seeds": [1, 2, 3],
        "steps": 5,
        "runs": {"two: none": run},
    }
    told, _, heading, _, row = experiment.markdown_table(results).splitlines()
    assert "`make it`, 2 minutes" in told
    assert heading.count("|") == row.count("|")
    assert row.startswith("| two: none | 0.200 ± 0.100 | ")
