"""Study of θ and of a kernel's rate: when θ changes, and beside which models an arm is read."""

import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt.encodings.gaussian import SIGMAS
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt.training import train
from babygpt_course.studies import theta_and_rates


def test_theta_changes_after_the_given_step_and_not_before():
    corpus = load_corpus("plain-tales", 9_000)
    torch.manual_seed(3)
    model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 16, 1, 2, 16))
    steps = train(model, NextToken(corpus, 16), TrainConfig(steps=4, seed=3))
    thetas = [model.encoding.theta for _ in theta_and_rates.with_theta(steps, model.encoding, 2, 10.0)]
    assert thetas == [10_000.0, 10.0, 10.0, 10.0]  # after each step


def test_each_arm_trains_its_own_model(monkeypatch):
    """Expect other losses from another θ, and kernels that move by their rate."""
    tiny = StudySize(steps=24, seeds=(1,), n_chars=20_000, n_questions=8, block_size=32)
    arms = {name: arm._replace(share=0.5) for name, arm in theta_and_rates.ARMS.items() if "1 of" not in name}
    monkeypatch.setattr(theta_and_rates, "ARMS", arms)
    trained_arms = theta_and_rates.measure_theta_and_rates(in_turn, tiny)["arms"]
    assert len({arm["loss"][0] for arm in trained_arms.values()}) == len(arms)
    kernels = {name: arm["kernel"][0][0] for name, arm in trained_arms.items() if "kernel" in arm}
    moved = {name: abs(kernel["sigma1"] - SIGMAS[0]) for name, kernel in kernels.items()}
    assert [*moved.values()] == sorted(moved.values())
    assert len(moved) == len(theta_and_rates.RATES)


def test_kernels_stand_beside_the_stored_models_of_their_steps(monkeypatch):
    stored = {
        "gaussian": {
            "plain": {"1200": {v: {"accuracy": [n]} for n, v in enumerate(("v4", "v5", "v5 fixed"))}}
        },
        "ladder": {
            "steps": 600,
            "board": {v: {"roles": [n]} for n, v in enumerate(("v4", "v5", "v5 fixed"), 3)},
        },
    }
    monkeypatch.setattr(theta_and_rates, "load_results", stored.__getitem__)
    arms = {theta_and_rates.kernel_arm("1/9", 0.5): {"accuracy": [0.9]}}
    assert theta_and_rates.by_rate({"arms": arms}, "accuracy") == {
        600: {"v5 fixed": [5], "× 1/9": [0.9], "× 1": [4]},
        1200: {"v5 fixed": [2], "× 1": [1]},
    }
