"""The lookup experiment: every seed kept, the same questions for all, titles computed from the numbers."""

import pytest
import torch
from matplotlib.figure import Figure

from babygpt.config import ModelConfig, TrainConfig
from babygpt.positions import Positions
from babygpt_course.studies import lookup
from babygpt_course.studies.lookup_task import Lookup
from babygpt_course.studies.results import load_results

RATES = (0.003, 0.02)


@pytest.fixture(scope="module")
def results():
    return lookup.measure_lookup(("pope", "v4"), seeds=(1, 2), steps=lookup.EVERY, rates=RATES)


def test_every_seed_of_every_model_is_kept(results):
    assert list(results["accuracy"]) == list(results["curves"]) == ["pope", "v4"]
    for name, curves in results["curves"].items():
        assert [len(curve) for curve in curves] == [1, 1]
        assert results["accuracy"][name] == [curve[-1] for curve in curves]
        assert all(0 < share < 1 for share in results["accuracy"][name])


def test_an_experiment_repeats_itself(results):
    again = lookup.measure_lookup(("v4",), seeds=(2,), steps=lookup.EVERY, rates=RATES)
    assert again["accuracy"]["v4"] == results["accuracy"]["v4"][1:]


def test_every_model_goes_on_at_the_best_of_the_same_rates(results):
    for name, grid in results["grid"].items():
        assert list(map(float, grid)) == list(RATES)
        assert grid[str(results["rate"][name])] == max(grid.values())
    alone = lookup.accuracy_curve("v4", *settings(results["rate"]["v4"], seed=2))
    assert alone == results["curves"]["v4"][1]


def settings(rate, seed):
    task = Lookup(**lookup.TASK)
    config = ModelConfig(task.vocab_size, task.block_size, n_layer=2, n_head=2, n_embd=64)
    return config, task, TrainConfig(lookup.EVERY, batch_size=32, lr_other=rate, seed=seed)


def test_the_seed_that_chose_a_rate_is_not_reported():
    with pytest.raises(ValueError, match=f"must not hold {lookup.TUNING_SEED}"):
        lookup.measure_lookup(("v4",), seeds=(1, lookup.TUNING_SEED), steps=lookup.EVERY)


def test_steps_between_two_points_are_refused():
    with pytest.raises(ValueError, match="multiple"):
        lookup.measure_lookup(("v4",), steps=lookup.EVERY + 1)


def test_a_guess_is_one_in_as_many_letters_as_are_left():
    assert lookup.guess_accuracy(Lookup(9, 5, 5, 1, 3)) == 0.25
    assert 1 / 5 < lookup.guess_accuracy(Lookup(9, 4, 6, 1, 3)) < 1 / 3
    assert lookup.guess_accuracy(Lookup(9, 5, 5, 1, 3), asked_too=True) == 0.2


def test_signed_pope_differs_by_its_signs_alone():
    config = ModelConfig(10, 8, n_layer=1, n_head=2, n_embd=16)
    signed, pope = (lookup.build_model(name, config).encoding for name in ("signed", "pope"))
    assert {n: p.shape for n, p in signed.named_parameters()} == {
        n: p.shape for n, p in pope.named_parameters()
    }
    x, positions = torch.randn(1, 2, 8, 8, generator=torch.Generator().manual_seed(0)), Positions.arange(8)
    q, k = signed.transform_qk(torch.nn.functional.softplus(x), torch.nn.functional.softplus(x), positions)
    expected = pope.transform_qk(x, x, positions)
    assert torch.equal(q, expected[0])
    assert torch.equal(k, expected[1])
    assert not torch.equal(signed.transform_qk(x, x, positions)[0], expected[0])


@pytest.mark.parametrize(
    ("accuracy", "says"),
    [
        ({"pope": [0.99, 0.3], "v4": [0.2, 0.1]}, "Learned: PoPE 1, RoPE 0 of 2 seeds"),
        ({"pope": [0.3], "v4": [0.2]}, "Nobody learns it: 30% at best"),
        ({"pope": [0.95], "v4": [0.9]}, "Learned: PoPE 1, RoPE 1 of 1 seeds"),
    ],
)
def test_the_title_says_who_learned(accuracy, says):
    assert lookup.who_learned({"accuracy": accuracy}) == says


def test_the_figure_is_titled_with_who_learned():
    found = load_results("lookup")
    figure = Figure(figsize=(12, 4))
    lookup.draw_lookup(figure, found)
    _, way = figure.axes
    assert lookup.who_learned(found) in (way.get_title(), way.get_title(loc="left"))
