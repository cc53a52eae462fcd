"""RoPE with and without a kernel: each number belongs to the model named, and the figure shows it."""

import numpy as np
import pytest
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt.encodings.gaussian import Gaussian
from babygpt.metrics import loss_by_position
from babygpt.positions import Positions
from babygpt.training import train
from babygpt.training.optimizers import schedule
from babygpt_course.studies import gaussian_training as gaussian
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.gaussian_training import cost_of_hiding, limit_sight
from babygpt_course.studies.results import load_results


def test_the_stored_numbers_of_a_kernel_reproduce_it():
    encoding = Gaussian(8, (2.0, 0.1), (3.0, 9.0))
    numbers = gaussian.kernel_numbers(encoding)
    away = torch.arange(41)
    expected = (encoding.kernel(away) / encoding.kernel(away)[0]).detach().numpy()
    np.testing.assert_allclose(gaussian.relative_kernel(numbers, 40), expected, rtol=1e-3)
    assert expected[numbers["half"] - 1] >= 0.5 > expected[numbers["half"]]
    assert expected[numbers["hundredth"] - 1] >= 0.01 > expected[numbers["hundredth"]]


def test_the_boards_runs_join_those_of_the_study_and_seeds_are_paired():
    v4 = [0.5, 0.5, 0.6]
    val_losses = {"v4": v4, "v5": [0.6, 0.7, 0.7], "v5 fixed": [0.4, 0.55, 0.5]}
    plain = {n: {v: {"val_loss": x} for v, x in val_losses.items()} for n in ("1200", "300")}
    plain["300"]["v5 late"] = {"val_loss": [0.45, 0.5, 0.5]}
    rungs = {v: {"1x": x} for v, x in {**val_losses, "v5 fixed": [0.4, 0.4, 0.4]}.items()}
    losses = gaussian.race({"plain": plain}, {"steps": 600, "board": rungs})
    assert list(losses) == [300, 600, 1200]
    gaps = gaussian.behind(losses)
    assert gaps[300]["v5 fixed"] == pytest.approx([-0.1, 0.05, -0.1])
    assert gaps[300]["v5 late"] == pytest.approx([-0.05, 0.0, -0.1])
    assert gaps[1200]["v5"] == pytest.approx([0.1, 0.2, 0.1])
    assert gaussian.behind(losses, "v5 fixed")[300]["v5 late"] == pytest.approx([0.05, -0.05, 0.0])


# ---------------------------------------------------------------- late and slow kernels


@pytest.fixture(scope="module")
def trained():
    """Return a function that trains v5: its kernel after every step, and its weights at the end."""
    corpus = load_corpus("plain-tales", 9_000)

    def run(start=0, share=1.0, wrapped=True):
        torch.manual_seed(3)
        model, kernels = build("v5", ModelConfig(corpus.tokenizer.vocab_size, 16, 1, 2, 16)), []
        steps = train(model, NextToken(corpus, 16), TrainConfig(steps=12, seed=3))
        for _ in gaussian.with_kernel(steps, model.encoding, start, share) if wrapped else steps:
            kernels.append([p[0].item() for p in model.encoding.parameters()])
        return np.array(kernels), model.head.weight.detach()

    return run


def test_a_kernel_that_is_trained_from_the_start_at_its_own_rate_is_the_usual_one(trained):
    usual, same = trained(wrapped=False), trained()
    np.testing.assert_array_equal(usual[0], same[0])
    assert torch.equal(usual[1], same[1])


def test_a_late_kernel_stays_as_it_is_and_then_learns(trained):
    kernels, _ = trained(start=8)
    untrained = [np.log(gaussian.ALPHAS[0]), np.log(gaussian.SIGMAS[0])]
    np.testing.assert_allclose(kernels[:8], [untrained] * 8, rtol=1e-6)
    assert (np.abs(np.diff(kernels[7:], axis=0)) > 1e-6).all()


def test_a_slow_kernel_moves_by_a_share_of_each_change(trained):
    (usual, _), (slow, _), (still, _) = trained(), trained(share=0.25), trained(share=0.0)
    untrained = np.log([gaussian.ALPHAS[0], gaussian.SIGMAS[0]])
    first = (np.abs(usual - untrained) > 1e-6).all(axis=1).argmax()  # until then nothing reaches attention
    np.testing.assert_allclose(slow[first] - untrained, 0.25 * (usual[first] - untrained), rtol=1e-3)
    np.testing.assert_allclose(still, [untrained] * 12, rtol=1e-6)


def test_late_and_slow_kernels_have_the_stated_share_of_the_rate():
    rates, halved = ([schedule(i, TrainConfig(steps=n)) for i in range(n)] for n in (300, 1200))
    starts = gaussian.late_starts(1200)
    assert gaussian.slow_share(300, starts[300]) * sum(rates) == pytest.approx(sum(rates[200:]))
    assert sum(halved[starts[1200] :]) == pytest.approx(sum(rates), rel=0.1)


# ---------------------------------------------------------------- hiding distant tokens

LENGTH = 12


@pytest.mark.parametrize("version", ["v3", "v4", "v5", "alibi"])
@pytest.mark.parametrize("distance", [0, 3])
def test_one_layer_with_a_horizon_equals_the_model_on_the_end_of_its_text(awake, text, version, distance):
    model, idx = awake(version), text(2, LENGTH)
    model.blocks = model.blocks[:1]
    logits = limit_sight(model, distance)(idx)
    for t in range(LENGTH):
        first = max(0, t - distance)
        alone = model(idx[:, first : t + 1], Positions.arange(t + 1 - first, first))
        torch.testing.assert_close(logits[:, t], alone[:, -1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"per_layer": True}])
def test_a_horizon_beyond_the_text_hides_nothing(awake, text, options):
    model, idx = awake("v5", options), text(2, LENGTH)
    torch.testing.assert_close(limit_sight(model, LENGTH - 1)(idx), model(idx), atol=1e-5, rtol=1e-4)
    assert (limit_sight(model, 1)(idx) - model(idx)).abs().max() > 1e-3


def test_the_model_itself_is_left_as_it_is(awake, text):
    model, idx = awake("v4"), text(2, LENGTH)
    before, encoding = model(idx), model.encoding
    near = limit_sight(model, 0)
    near(idx)
    assert model.encoding is encoding
    assert torch.equal(model(idx), before)
    assert near.head.weight is model.head.weight


def test_the_cost_is_the_rise_of_the_loss(awake, text):
    model, ids = awake("v4"), text(1, 200)[0]
    costs = cost_of_hiding(model, ids, (2, LENGTH - 1), LENGTH, n_windows=8)
    whole = loss_by_position(model, ids, LENGTH, 8)[LENGTH // 2 :].mean()
    near = loss_by_position(limit_sight(model, 2), ids, LENGTH, 8)[LENGTH // 2 :].mean()
    assert costs[0] == pytest.approx(near - whole, abs=1e-6)
    assert abs(costs[0]) > 1e-4
    assert costs[1] == pytest.approx(0, abs=1e-6)


def test_the_stored_runs_are_those_of_the_study():
    stored = load_results("gaussian")
    runs = {(str(steps), version) for world, version, steps in gaussian.kernel_runs(1200) if world == WORLD}
    kept = {(steps, version) for steps, versions in stored["plain"].items() for version in versions}
    assert kept == runs
    assert {steps for steps, _ in runs} == {"300", "1200"}


def test_far_is_the_mean_of_the_last_of_four_windows(monkeypatch):
    monkeypatch.setattr(gaussian.metrics, "loss_by_position", lambda model, text, length: np.arange(length))
    monkeypatch.setattr(gaussian.metrics, "role_accuracy", lambda *_: 1.0)
    corpus = load_corpus("plain-tales", 2000)
    model = build(
        "v4", ModelConfig(corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=1, n_embd=8)
    )
    assert gaussian.evaluate_reading(model, corpus, [])["far"] == np.arange(48, 64).mean()
