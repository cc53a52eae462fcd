"""The loop of all studies: its order, what it collects, and that a seed decides everything about a run."""

import pytest
import torch

from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.objectives import NextToken
from babygpt_course.studies.sweep import by_measurement, kept_runs, small_config, sweep, train_from_seed


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


def test_a_seed_that_is_asked_for_twice_counts_twice():
    assert sweep(("a",), (1, 1), lambda variant, seed: {"loss": seed}) == {"a": {"loss": [1, 1]}}


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


# ---------------------------------------------------------------- a study that is stopped


def made_by(calls: list, stop_at: tuple | None = None):
    def run(variant: str, seed: int) -> dict:
        calls.append((variant, seed))
        if (variant, seed) == stop_at:
            raise KeyboardInterrupt
        return {"loss": len(variant) + seed / 10, "curve": [1.5, seed]}

    return run


@pytest.mark.survives(
    "Ctrl-C or kill -9 in a study for a figure", "the same command goes on with the next run"
)
def test_a_study_goes_on_from_the_runs_it_has_made(tmp_path) -> None:
    path, whole = tmp_path / "kept.json", sweep(["a", "bb"], [1, 2], made_by([]))
    with pytest.raises(KeyboardInterrupt), kept_runs(path):
        sweep(["a", "bb"], [1, 2], made_by([], stop_at=("a", 2)))
    calls: list = []
    with kept_runs(path):
        assert sweep(["a", "bb"], [1, 2], made_by(calls)) == whole
    assert calls == [("a", 2), ("bb", 2)]
    assert not path.exists()


def test_runs_of_other_code_are_not_mixed_in_and_not_thrown_away(tmp_path, monkeypatch) -> None:
    path = tmp_path / "kept.json"
    with pytest.raises(KeyboardInterrupt), kept_runs(path):
        sweep(["a"], [1, 2], made_by([], stop_at=("a", 2)))
    before = path.read_bytes()
    monkeypatch.setattr("babygpt_course.studies.sweep.code_digest", lambda: "another")
    with pytest.raises(BadInput, match="another babygpt"), kept_runs(path):
        pass
    assert path.read_bytes() == before
    path.write_text("mine")
    with pytest.raises(BadInput, match="does not hold the runs"), kept_runs(path):
        pass
    assert path.read_text() == "mine"
