"""The command line as a user types it: what it prints, what it writes, how it refuses."""

import json
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from babygpt import checkpoint
from babygpt.cli import main

SMALL = ["--n-layer", "1", "--n-head", "2", "--n-embd", "16", "--block-size", "16", "--batch-size", "4"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    return str(path)


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def refused(result, *parts):
    """One line on bad input, exit status 1 or 2, no traceback."""
    assert result.exit_code in (1, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    last = result.output.strip().splitlines()[-1]
    for part in parts:
        assert str(part) in last


def test_train_then_generate(tmp_path, corpus):
    out = tmp_path / "weights" / "v4.safetensors"
    result = run("train", "v4", "--corpus", corpus, "--steps", 3, "--seed", 5, "--out", out, *SMALL)
    assert result.exit_code == 0, result.output
    assert "3 steps, validation loss" in result.output
    loaded = checkpoint.load(out)
    assert loaded.version == "v4"
    assert loaded.info["train"]["seed"] == 5
    assert loaded.info["steps_done"] == 3
    first, again = (run("generate", out, "--prompt", "the ", "--tokens", 20, "--seed", 1) for _ in range(2))
    assert first.exit_code == 0
    assert first.output.startswith("the ")
    assert len(first.output.rstrip("\n")) <= 24
    assert first.output == again.output


def test_train_overwrites_only_when_told(tmp_path, corpus):
    out = tmp_path / "m.safetensors"
    args = ["train", "v1", "--corpus", corpus, "--steps", 2, "--out", out, *SMALL]
    assert run(*args).exit_code == 0
    before = out.read_bytes()
    refused(run(*args), "exists already", out)
    assert out.read_bytes() == before
    assert run(*args, "--overwrite", "--seed", 7).exit_code == 0
    assert out.read_bytes() != before


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--n-embd", "30", "--n-head", "4"], ["n_embd (30) must be divisible by n_head (4)"]),
        (["--n-embd", "6", "--n-head", "2"], ["width (3) must be even"]),
        (["--block-size", "100000"], ["needs at least 100001"]),
        (["--steps", "0"], ["steps (0) must be above 0"]),
        (["--corpus", "no/such/file.txt"], ["no/such/file.txt"]),
        (["--steps", "30", "--lr-other", "1e38", "--lr-matrix", "1e38"], ["loss is", "at step"]),
    ],
)
def test_bad_input_is_refused_in_one_line_and_writes_nothing(tmp_path, corpus, extra, parts):
    out = tmp_path / "m.safetensors"
    refused(run("train", "v4", "--corpus", corpus, "--out", out, *SMALL, *extra), *parts)
    assert not out.exists()


def test_an_empty_corpus_and_an_unknown_character_are_refused(tmp_path, corpus):
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")
    refused(run("train", "v1", "--corpus", empty), "is empty")
    out = tmp_path / "m.safetensors"
    run("train", "v1", "--corpus", corpus, "--steps", 1, "--out", out, *SMALL)
    refused(run("generate", out, "--prompt", "cat!"), "character '!' at place 3")


def test_a_damaged_checkpoint_and_a_missing_one_are_refused(tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"not a checkpoint")
    refused(run("generate", broken), "damaged", broken)
    refused(run("generate", tmp_path / "none.safetensors"), "no checkpoint")


def test_an_unknown_version_names_the_known_ones():
    refused(run("train", "v99"), "v1", "v4")


def test_ctrl_c_keeps_what_was_learned(tmp_path, corpus):
    """A real process, a real signal: the checkpoint holds the steps made so far."""
    out = tmp_path / "m.safetensors"
    args = ["train", "v4", "--corpus", corpus, "--steps", "1000000", "--out", str(out), *SMALL]
    process = subprocess.Popen(
        [sys.executable, "-m", "babygpt", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell that runs the tests in the background has SIGINT ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    seen = ""
    deadline = time.monotonic() + 120
    while "loss=" not in seen and time.monotonic() < deadline:
        seen += process.stderr.read(1)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "validation loss" in printed
    assert 0 < checkpoint.load(out).info["steps_done"] < 1_000_000


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned", "rotary", "alibi"])
def test_analyze_prints_numbers(encoding):
    result = run("analyze", encoding, "--width", 32, "--length", 64)
    assert result.exit_code == 0
    for line in result.output.strip().splitlines():
        float(line.split()[-1])


def test_analyze_tells_the_longest_wavelength():
    """2 pi theta^((w - 2) / w), by hand for width 4 and theta 100."""
    output = run("analyze", "sinusoidal", "--width", 4, "--theta", 100).output
    assert "62.83" in next(line for line in output.splitlines() if "longest" in line)


def test_bench_recipe_prints_json_last(corpus):
    result = run("bench", "recipe", "--corpus", corpus, "--steps", 20, "--plain-steps", 20, "--target", 9)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout.strip().splitlines()[-1])
    keys = {"ours_steps", "ours_val", "ours_s", "plain_steps", "plain_val", "plain_s", "ratio"}
    assert keys <= set(figures)
    assert figures["ours_steps"] == figures["plain_steps"] == 1  # the target is met at the first look
    assert figures["ratio"] == pytest.approx(figures["plain_s"] / figures["ours_s"], rel=0.5)


def test_bench_refuses_steps_it_cannot_share_out(corpus):
    refused(run("bench", "recipe", "--corpus", corpus, "--steps", 7), "steps (7)", "multiple of 20")


@pytest.mark.parametrize("command", ["", "train", "generate", "figures", "bench", "bench recipe"])
def test_help_says_what_each_option_does(command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    for line in result.output.splitlines():
        if line.strip().startswith("--") and "--help" not in line:
            assert len(line.split()) > 2 or line.strip().split()[-1].isupper()
