"""`figures`: studies side by side, and what is refused."""

import json
import os
import subprocess
import sys

import pytest
import torch

from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.objectives import NextToken
from babygpt_course.studies import figures
from babygpt_course.studies.sweep import small_config, sweep, train_from_seed

# ---------------------------------------------------------------- figures


@pytest.mark.parametrize("content", ["", "[1]", '"text"', '{"roles": ', "<<<<<<< HEAD"])
def test_a_damaged_file_of_results_is_refused_by_name(run, refused, tmp_path, content):
    (tmp_path / "roles.json").write_text(content, encoding="utf-8")
    refused(run("figures", "roles", "--folder", tmp_path, "--redraw"), "roles.json holds no results")


def test_numbers_that_could_not_be_written_are_not_measured(run, refused, tmp_path):
    file = tmp_path / "file"
    file.touch()
    refused(run("figures", "roles", "--folder", tmp_path, "--results", file), f"{file} is a file")


def test_a_backend_that_matplotlib_does_not_know_is_no_matter(tmp_path):
    """No command opens a window. It was a traceback as Matplotlib was imported."""
    words = [sys.executable, "-m", "babygpt", "figures", "sinusoid", "--folder", str(tmp_path)]
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    assert subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "sinusoid.png").exists()


def test_a_command_leaves_the_environment_of_its_caller_alone(run):
    """A kernel that a test started after it showed no figures: it had inherited the backend."""
    before = dict(os.environ)
    assert run("analyze", "fourier").exit_code == 0
    assert dict(os.environ) == before


@pytest.fixture
def small_study(monkeypatch):
    """A figure called roles: two tiny models from two seeds, and nothing to see."""
    corpus = load_corpus("plain-tales", 9_000)
    config, objective = small_config(corpus, 16), NextToken(corpus, 16)

    def run(version, seed):
        _, history = train_from_seed(version, config, objective, TrainConfig(steps=2, seed=seed))
        return {"losses": [step.loss for step in history]}

    study = figures.Study(lambda *_: None, lambda: sweep(("v3", "v4"), (1, 2), run))
    monkeypatch.setitem(figures.FIGURES, "roles", study)


@pytest.mark.parametrize("way", [["--workers", "2"], ["--cluster", "local", "--workers", "2"]])
def test_a_study_side_by_side_has_the_numbers_of_one_in_turn(run, tmp_path, small_study, way):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for folder, more in (("turn", []), ("side", way)):
            assert run("figures", "roles", "--folder", tmp_path / folder, *more).exit_code == 0
    finally:
        torch.set_num_threads(threads)
    in_turn, side_by_side = (
        json.loads((tmp_path / folder / "roles.json").read_text("utf-8")) for folder in ("turn", "side")
    )
    assert {name: side_by_side[name] for name in ("v3", "v4")} == {n: in_turn[n] for n in ("v3", "v4")}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "0"], "workers (0) must lie between 1 and"),
        (["--workers", "2", "--redraw"], "--redraw trains nothing"),
        (["--cluster-option", "timeout_min=3"], "cluster-option (timeout_min) is for a --cluster"),
        (["--cluster", "local", "--cluster-option", "timeout_min"], "(timeout_min) must be NAME=VALUE"),
        (["--cluster", "local", "--cluster-option", "no_such=1"], "cluster (local): "),
    ],
)
def test_ways_of_making_runs_that_there_are_not_are_refused(run, refused, tmp_path, words, says):
    refused(run("figures", "sinusoid", "--folder", tmp_path, *words), says)
    assert not (tmp_path / "sinusoid.png").exists()
