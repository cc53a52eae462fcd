"""`analyze` and `figures`: numbers of an encoding, and of studies."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "encoding", ["sinusoidal", "learned", "rotary", "alibi", "fourier", "gaussian", "polar"]
)
def test_it_prints_numbers(run, encoding):
    result = run("analyze", encoding, "--width", 32, "--length", 64)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len({len(line) for line in lines}) == 1  # the numbers stand below each other
    for line in lines:
        float(line.split()[-1])


def test_the_longest_wavelength_is_that_of_the_formula(run):
    """2 pi theta^((w - 2) / w), by hand for width 4 and theta 100."""
    output = run("analyze", "sinusoidal", "--width", 4, "--theta", 100).output
    assert "62.83" in next(line for line in output.splitlines() if "longest" in line)


@pytest.fixture
def printed_numbers(run):
    def numbers(*args):
        result = run("analyze", *args)
        assert result.exit_code == 0, result.output
        return dict(line.rsplit(maxsplit=1) for line in result.output.strip().splitlines())

    return numbers


def test_fourier_uses_its_options(printed_numbers):
    """By hand, width 2: the angle between neighbours is the stride itself, one radian."""
    numbers = printed_numbers("fourier", "--width", 2, "--stride", 1, "--branches", 2)
    assert numbers["Fourier: cosine of branches 0 and 1"] == "0.5403"
    assert numbers["2-D RoPE, branch pairs: cosine of branches 0 and 1"] == "0.5403"
    assert "Fourier: cosine of branches 0 and 2" not in numbers


def test_fourier_has_the_notes_width_by_itself(printed_numbers):
    """Note 002: L2距离17.4, at width 512 and stride 128."""
    assert printed_numbers("fourier")["Fourier: distance of neighbours, mean"].startswith("17.4")
    assert printed_numbers("fourier") == printed_numbers("fourier", "--width", 512)
    assert printed_numbers("rotary") == printed_numbers("rotary", "--width", 128)


def test_polar_uses_its_options(printed_numbers):
    change = "quadrature: change of a score between MASK tokens (sd)"
    size = ["polar", "--width", 8, "--length", 32]
    assert float(printed_numbers(*size, "--alpha", 1)[change]) == 0
    assert float(printed_numbers(*size)[change]) > 0.5
    theta = printed_numbers(*size, "--theta", 2)["longest wavelength (tokens)"]
    assert float(theta) == pytest.approx(11.52, abs=0.01)  # 2 pi 2^(7/8)


def test_gaussian_uses_its_options(printed_numbers):
    """By hand, one scale of width 10: K(4) is exp(-0.08)."""
    numbers = printed_numbers("gaussian", "--alphas", 1, 0, "--sigmas", 10, 20)
    assert float(numbers["K at distance 4"]) == pytest.approx(0.9231, abs=5e-5)


@pytest.mark.parametrize(
    ("used", "unused", "warning"),
    [
        (
            ["fourier", "--width", 8],
            ["--length", 5, "--alphas", 1, 2],
            "--length and --alphas play no part in `analyze fourier`\n",
        ),
        (["alibi"], ["--theta", 3], "--theta plays no part in `analyze alibi`\n"),
        (["learned", "--width", 8], ["--theta", 3], "--theta plays no part in `analyze learned`\n"),
        (["gaussian", "--alphas", 1, 2], ["--width", 8], "--width plays no part in `analyze gaussian`\n"),
        (["rotary", "--width", 8, "--length", 9, "--theta", 3], [], ""),
        (["polar", "--width", 8], ["--stride", 3], "--stride plays no part in `analyze polar`\n"),
    ],
)
def test_flags_that_change_nothing_are_named(run, used, unused, warning):
    with_all, without = run("analyze", *used, *unused), run("analyze", *used)
    assert with_all.exit_code == 0
    assert with_all.stdout == without.stdout
    assert (with_all.stderr, without.stderr) == (warning, "")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["fourier", "--stride", "0"], ["stride (0) must be at least 1"]),
        (["fourier", "--branches", "0"], ["branches (0) must be at least 1"]),
        (["fourier", "--branches", "1"], ["1 branches", "at least 2"]),
        (["fourier", "--width", "7"], ["width (7) must be even"]),
        (["gaussian", "--sigmas", "0", "20"], ["sigma (0.0) must be above 0"]),
        (["gaussian", "--alphas", "0", "0"], ["alphas (0.0, 0.0) are all 0"]),
        (["polar", "--alpha", "inf"], ["alpha (inf)"]),
        (["polar", "--length", "1"], ["length (1)"]),
    ],
)
def test_what_makes_no_code_is_refused(run, refused, args, parts):
    refused(run("analyze", *args), *parts)


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
    assert run("analyze", "rotary").exit_code == 0
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "0"], "workers (0) must be at least 1"),
        (["--workers", "2", "--redraw"], "--redraw trains nothing"),
        (["--cluster-option", "timeout_min=3"], "and belongs to a --cluster"),
        (["--cluster", "local", "--cluster-option", "timeout_min"], "(timeout_min) must be NAME=VALUE"),
        (["--cluster", "local", "--cluster-option", "no_such=1"], "cluster (local): "),
    ],
)
def test_ways_of_making_runs_that_there_are_not_are_refused(run, refused, tmp_path, words, says):
    refused(run("figures", "sinusoid", "--folder", tmp_path, *words), says)
    assert not (tmp_path / "sinusoid.png").exists()
