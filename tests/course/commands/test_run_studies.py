"""`figures`: files and options that are refused; tests/course/studies makes a study with it."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("content", ["", "[1]", '"text"', '{"names": ', "<<<<<<< HEAD"])
def test_a_damaged_file_of_results_is_refused_by_name(run, refused, tmp_path, content):
    (tmp_path / "names.json").write_text(content, encoding="utf-8")
    refused(run("figures", "names", "--folder", tmp_path, "--redraw"), "names.json holds no results")


def test_numbers_that_could_not_be_written_are_not_measured(run, refused, tmp_path):
    file = tmp_path / "file"
    file.touch()
    refused(run("figures", "names", "--folder", tmp_path, "--results", file), f"{file} is a file")


def test_an_unknown_matplotlib_backend_does_no_harm(tmp_path):
    """Run a command with a wrong backend: no command opens a window, and none may fail for it."""
    words = [sys.executable, "-m", "babygpt", "figures", "names", "--redraw", "--folder", str(tmp_path)]
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    assert subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "names.png").exists()


def test_a_command_leaves_the_environment_of_its_caller_alone(run):
    """Keep the backend out of the environment: a kernel that inherits it shows no figures."""
    before = dict(os.environ)
    assert run("analyze", "fourier").exit_code == 0
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "0"], "workers (0) must be at least 1"),
        (["--workers", "2", "--redraw"], "--redraw trains nothing"),
        (["--seeds", "1,x"], "seeds (1,x) must be whole numbers"),
        (["--cluster-option", "timeout_min=3"], "and belongs to a --cluster"),
        (["--cluster", "local", "--cluster-option", "timeout_min"], "(timeout_min) must be NAME=VALUE"),
        (["--cluster", "local", "--cluster-option", "no_such=1"], "cluster (local): "),
        (["--cluster", "local", "--cluster-option", f"timeout_min={'9' * 5000}"], "cluster (local): "),
    ],
)
def test_impossible_ways_to_run_a_study_are_refused(run, refused, tmp_path, words, says):
    refused(run("figures", "names", "--folder", tmp_path, *words), says)
    assert not (tmp_path / "names.png").exists()
