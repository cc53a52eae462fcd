"""Sweeps: their order, their results, and the runs that a stopped study keeps."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

import babygpt_course
from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.encodings import ALiBi
from babygpt.errors import BadInput
from babygpt.experiments import sweep as module
from babygpt.experiments.paired import by_measurement
from babygpt.experiments.sweep import finish, keep_runs, small_config, sweep, train_from_seed
from babygpt.objectives import NextToken
from babygpt.training import Step


def test_a_text_that_is_no_regular_expression_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"--only \(\[\) is no regular expression"):
        keep_runs(tmp_path / "runs.json", only="[")


def test_all_variants_of_a_seed_come_before_the_next_seed():
    runs = []

    def run(variant, seed):
        runs.append((variant, seed))
        return {"loss": f"{variant}{seed}"} | ({"kernel": seed} if variant == "b" else {})

    columns = sweep(("a", "b"), (1, 2), run)
    assert runs == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert columns == {"a": {"loss": ["a1", "a2"]}, "b": {"loss": ["b1", "b2"], "kernel": [1, 2]}}
    assert by_measurement(columns) == {
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

    first, again, second_seed = weights(1, 5), weights(1, 6), weights(2, 5)
    assert all(torch.equal(p, again[name]) for name, p in first.items())
    assert any(not torch.equal(p, second_seed[name]) for name, p in first.items())


# ---------------------------------------------------------------- stopped studies


def runs_of(calls, stop_at=None):
    def run(variant, seed):
        calls.append((variant, seed))
        if (variant, seed) == stop_at:
            raise KeyboardInterrupt
        return {"loss": len(variant) + seed / 10, "curve": [1.5, seed]}

    return run


@pytest.fixture
def partial(tmp_path):
    """Write the file of a study that was stopped after two of its four runs."""
    path = tmp_path / "kept.json"
    with pytest.raises(KeyboardInterrupt):
        sweep(["a", "bb"], [1, 2], runs_of([], stop_at=("a", 2)), keep_runs(path))
    return path


def test_a_run_that_ctrl_c_stops_says_that_it_is_not_kept(capsys):
    def interrupted():
        yield Step(1, 2.0, 0.1, 0.0, 8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(interrupted(), 3, "v4, seed 1")
    assert "interrupted after step 1; this run is not kept" in capsys.readouterr().err


def test_a_stopped_study_continues_after_its_finished_runs(partial):
    calls = []
    whole = sweep(["a", "bb"], [1, 2], runs_of([]))
    assert sweep(["a", "bb"], [1, 2], runs_of(calls), keep_runs(partial)) == whole
    assert calls == [("a", 2), ("bb", 2)]


def test_a_changed_encoding_from_outside_resumes_no_runs(tmp_path, monkeypatch):
    file, runs_path = tmp_path / "mine.py", tmp_path / "kept.json"
    notebook = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", notebook)

    def variants():
        exec("from babygpt.encodings import ALiBi\nclass Typed(ALiBi): pass", vars(notebook))
        return [f"{file}:Mine", "v4", notebook.Typed]

    def calls():
        """Return the variants of which a run is made, and not read."""
        trained = []

        def run(variant, seed):
            trained.append(variant)
            return {"loss": 1.0}

        sweep(named, [1], run, keep_runs(runs_path))
        return trained

    mine = "from babygpt.encodings import ALiBi\nclass Mine(ALiBi): pass\n"
    file.write_text(mine, encoding="utf-8")
    named = variants()
    assert calls() == named
    assert calls() == []
    file.write_text(mine + "# changed", encoding="utf-8")
    assert calls() == [f"{file}:Mine"]
    named = variants()  # the notebook's cell ran again, and nobody knows whether it was edited
    assert calls() == [notebook.Typed]


def test_a_class_is_trained_from_a_seed():
    class Mine(ALiBi):
        pass

    corpus = load_corpus("plain-tales", 9_000)
    plan = TrainConfig(steps=1, batch_size=2)
    model, _ = train_from_seed(Mine, small_config(corpus, 16), NextToken(corpus, 16), plan, steepness=2.0)
    assert (model.version, model.encoding.steepness) == (Mine, 2.0)


def test_runs_of_another_babygpt_are_refused_and_left_alone(partial, monkeypatch):
    before = partial.read_bytes()
    monkeypatch.setattr(module, "code_digest", lambda: "another")
    with pytest.raises(BadInput, match="another babygpt"):
        keep_runs(partial)
    assert partial.read_bytes() == before


def test_the_digest_covers_all_code_that_decides_a_number(monkeypatch):
    """Change the training loop: this makes other numbers, as a change of a study does."""
    read = []
    monkeypatch.setattr(module.Path, "read_bytes", lambda path: read.append(path.as_posix()) or b"")
    module.code_digest.__wrapped__(Path(babygpt_course.__file__).parent)
    for file in (
        "babygpt/training/loop.py",
        "babygpt/experiments/sweep.py",
        "babygpt_course/studies/board.py",
    ):
        assert any(path.endswith(file) for path in read)


@pytest.mark.parametrize("text", ["mine", "[1]", '{"runs": {}}'])
def test_another_file_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "kept.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        keep_runs(path)
    assert path.read_text() == text


@pytest.mark.parametrize("run", [{}, 5, {"loss": [1, float("nan")]}])
def test_a_run_that_is_no_table_of_numbers_is_refused(partial, run):
    stored = json.loads(partial.read_text())
    stored["runs"][next(iter(stored["runs"]))] = run
    partial.write_text(json.dumps(stored))
    with pytest.raises(BadInput):
        keep_runs(partial)
