"""The loop of all studies: its order, what it collects, and that a seed decides everything about a run."""

import torch

from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.experiments.sweep import by_measurement, small_config, sweep, train_from_seed
from babygpt.objectives import NextToken


def test_all_variants_of_a_seed_come_before_the_next_seed():
    runs = []

    def run(variant, seed):
        runs.append((variant, seed))
        return {"loss": f"{variant}{seed}"} | ({"kernel": seed} if variant == "b" else {})

    found = sweep(("a", "b"), (1, 2), run)
    assert runs == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert found == {"a": {"loss": ["a1", "a2"]}, "b": {"loss": ["b1", "b2"], "kernel": [1, 2]}}
    assert by_measurement(found, "kernel", "loss") == {
        "kernel": {"b": [1, 2]},
        "loss": {"a": ["a1", "a2"], "b": ["b1", "b2"]},
    }


def test_a_seed_decides_weights_and_batches():
    corpus = load_corpus("plain-tales", 9_000)
    config, objective = small_config(corpus, 16), NextToken(corpus, 16)

    def weights(seed, disturbance):
        torch.manual_seed(disturbance)
        model, history = train_from_seed("v4", config, objective, TrainConfig(steps=2, seed=seed))
        assert [step.step for step in history] == [1, 2]
        return model.state_dict()

    one, again, other = weights(1, 5), weights(1, 6), weights(2, 5)
    assert all(torch.equal(p, again[name]) for name, p in one.items())
    assert any(not torch.equal(p, other[name]) for name, p in one.items())
