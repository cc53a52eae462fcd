"""The command line as a user types it: what it prints, what it writes, how it refuses."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import fields

import pytest
import torch
from click.testing import CliRunner

from babygpt.cli import main
from babygpt.data.corpus import load_corpus
from babygpt.experiments.reading import ReadConfig
from babygpt.metrics.branches import company_loss
from babygpt.metrics.diffusion import nelbo
from babygpt.models.versions import VERSIONS
from babygpt.objectives import MaskedDiffusion
from babygpt.training import checkpoint

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


def contents(path):
    """All that a checkpoint holds: its metadata, and of each weight where it stands, and the bytes of all.

    Not the file's bytes: safetensors writes the two keys of its metadata in any order, another every time.
    """
    size = int.from_bytes(path.read_bytes()[:8], "little")
    return json.loads(path.read_bytes()[8 : 8 + size]), path.read_bytes()[8 + size :]


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
    before, held = out.read_bytes(), contents(out)
    refused(run(*args), "exists already", out)
    assert out.read_bytes() == before
    assert run(*args, "--overwrite", "--seed", 7).exit_code == 0
    assert contents(out) != held


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


def interrupted(*args):
    """Start a command as a real process, interrupt its training by a real signal: what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "babygpt", *[str(a) for a in args]],
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
    return printed


@pytest.mark.survives("Ctrl-C while training", "what was learned is kept")
def test_ctrl_c_keeps_what_was_learned(tmp_path, corpus):
    """The checkpoint holds the steps made so far."""
    out = tmp_path / "m.safetensors"
    printed = interrupted("train", "v4", "--corpus", corpus, "--steps", 1_000_000, "--out", out, *SMALL)
    assert "validation loss" in printed
    assert 0 < checkpoint.load(out).info["steps_done"] < 1_000_000


def test_ctrl_c_keeps_what_was_learned_of_branches(tmp_path, corpus):
    out = tmp_path / "out"
    printed = interrupted("pretrain", "--corpus", corpus, "--epochs", 2_000, "--out-dir", out, *SMALL)
    info = checkpoint.load(out / "pretrain.safetensors").info
    assert 0 < info["steps_done"] < info["train"]["steps"]
    assert f"v6: {info['steps_done']} steps" in printed
    assert 0 < info["reading"]["epochs_done"] < 2_000


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned", "rotary", "alibi", "fourier", "gaussian"])
def test_analyze_prints_numbers(encoding):
    result = run("analyze", encoding, "--width", 32, "--length", 64)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len({len(line) for line in lines}) == 1  # the numbers stand below each other
    for line in lines:
        float(line.split()[-1])


def test_analyze_tells_the_longest_wavelength():
    """2 pi theta^((w - 2) / w), by hand for width 4 and theta 100."""
    output = run("analyze", "sinusoidal", "--width", 4, "--theta", 100).output
    assert "62.83" in next(line for line in output.splitlines() if "longest" in line)


def printed_numbers(*args):
    result = run("analyze", *args)
    assert result.exit_code == 0, result.output
    return dict(line.rsplit(maxsplit=1) for line in result.output.strip().splitlines())


def test_analyze_fourier_reads_its_options():
    """By hand, width 2: the angle between neighbours is the stride itself, one radian."""
    numbers = printed_numbers("fourier", "--width", 2, "--stride", 1, "--branches", 2)
    assert numbers["Fourier: cosine of branches 0 and 1"] == "0.5403"
    assert numbers["2-D RoPE, branch pairs: cosine of branches 0 and 1"] == "0.5403"
    assert "Fourier: cosine of branches 0 and 2" not in numbers


def test_analyze_gaussian_reads_its_options():
    """By hand, one scale of width 10: K(4) is exp(-0.08)."""
    numbers = printed_numbers("gaussian", "--alphas", 1, 0, "--sigmas", 10, 20)
    assert float(numbers["K at distance 4"]) == pytest.approx(0.9231, abs=5e-5)


@pytest.mark.parametrize(
    ("used", "idle", "told"),
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
    ],
)
def test_analyze_tells_which_flags_change_nothing(used, idle, told):
    with_all, without = run("analyze", *used, *idle), run("analyze", *used)
    assert with_all.exit_code == 0
    assert with_all.stdout == without.stdout
    assert (with_all.stderr, without.stderr) == (told, "")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["fourier", "--stride", "0"], ["stride (0) must be at least 1"]),
        (["fourier", "--branches", "0"], ["branches (0) must be at least 1"]),
        (["fourier", "--branches", "1"], ["1 branches", "at least 2"]),
        (["fourier", "--width", "7"], ["width (7) must be even"]),
        (["gaussian", "--sigmas", "0", "20"], ["sigma (0.0) must be above 0"]),
        (["gaussian", "--alphas", "0", "0"], ["alphas (0.0, 0.0) are all 0"]),
    ],
)
def test_analyze_refuses_what_makes_no_code(args, parts):
    refused(run("analyze", *args), *parts)


# ---------------------------------------------------------------- parallel branches


STAGES = (  # note 002, but for the script's name
    "pretrain --pe fpe --epochs 2 --batch_size 4 --branches_per_sample 1 --branch_slice_count 8 "
    "--branch_loop_all --branch_stride 128 --out_dir out/fpe_stage1",
    "pretrain --pe fpe --epochs 3 --batch_size 4 --batch_by_samples --max_branches_per_sample 2 "
    "--min_branches_per_sample 2 --branch_stride 128 --init_weight out/fpe_stage1/pretrain_512.pth "
    "--out_dir out/fpe_stage2_2branch",
    "pretrain --pe fpe --epochs 3 --batch_size 4 --batch_by_samples --max_branches_per_sample 4 "
    "--min_branches_per_sample 2 --branch_stride 128 --init_weight out/fpe_stage2_2branch/pretrain_512.pth "
    "--out_dir out/fpe_stage3_4branch",
)
TINY = SMALL[:-2]  # the note says --batch_size itself


def pretrain(corpus, folder, *args):
    """Two steps, so that it takes no time."""
    return run("pretrain", "--corpus", corpus, "--out-dir", folder, "--max-steps", 2, *SMALL, *args)


@pytest.fixture
def pretrained(tmp_path, corpus):
    folder = tmp_path / "pretrained"
    result = pretrain(corpus, folder, "--branches-per-sample", 2)
    assert result.exit_code == 0, result.output
    return folder


def test_the_stages_of_note_002_run_as_written(tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = [run(*stage.split(), "--corpus", corpus, *TINY) for stage in STAGES]
    for result in results:
        assert result.exit_code == 0, result.output
    for result, before in zip(results[1:], ("out/fpe_stage1", "out/fpe_stage2_2branch"), strict=True):
        told = [line for line in result.output.splitlines() if "pretrain_512.pth" in line]
        assert told == [f"{before}/pretrain_512.pth: reading {before}/pretrain.safetensors"]
    # 71 texts of 12 characters in the 864 to train on: 142 by 4, then 213 by 8
    assert "v6: 36 steps, 2.03 epochs, 1 branch a sample" in results[0].output
    assert "v6: 27 steps, 3.04 epochs, 2 branches a sample" in results[1].output
    assert "epochs, 2 to 4 branches a sample" in results[2].output
    assert "interference gap" not in results[0].output
    assert "interference gap" in results[2].output
    written = "parallel_generate --model out/fpe_stage2_2branch/pretrain_512.pth --branches 2 --mode pretrain"
    result = run(*written.split(), "--prompt", "the ", "--prompt", "cat ")
    assert result.exit_code == 0, result.output


def test_the_stages_of_the_help_can_be_copied(tmp_path, corpus, monkeypatch):
    """They say what the note's stages say, but for the folders."""
    monkeypatch.chdir(tmp_path)
    text = run("pretrain", "--help").output.replace("\\\n", "")
    copied = [
        line.split()[3:] for line in text.splitlines() if line.startswith("  python -m babygpt pretrain")
    ]
    assert len(copied) == len(STAGES)
    for stage in copied:
        result = run(*stage, "--corpus", corpus, "--max-steps", 2, *SMALL)
        assert result.exit_code == 0, result.output
    folders = (stage[stage.index("--out-dir") + 1] for stage in copied)
    ours = [checkpoint.load(tmp_path / f / "pretrain.safetensors").info["reading"] for f in folders]
    keys = ("epochs", "batch_by_samples", "branch_slice_count", "branch_loop_all")
    said = [tuple(info[key] for key in keys) for info in ours]
    assert said == [(2, False, 8, True), (3, True, 1, False), (3, True, 1, False)]
    read = [ReadConfig(**{f.name: info[f.name] for f in fields(ReadConfig)}) for info in ours]
    assert [config.n_branches for config in read] == [(1, 1), (2, 2), (2, 4)]


def test_the_notes_one_learning_rate_is_refused_with_the_two_there_are(tmp_path, corpus):
    result = pretrain(corpus, tmp_path / "out", "--learning_rate", "1e-4")
    refused(result, "--learning-rate (1e-4)", "--lr-matrix", "0.03", "--lr-other", "0.02")
    assert not (tmp_path / "out").exists()


def test_a_later_stage_begins_where_the_earlier_ended(tmp_path, corpus, pretrained):
    """With a learning rate of next to nothing, the weights stay what they were."""
    slow = ["--lr-matrix", 1e-12, "--lr-other", 1e-12]
    result = pretrain(corpus, tmp_path / "next", "--init-weight", pretrained, *slow)
    assert result.exit_code == 0, result.output
    before, after = (
        checkpoint.load(f / "pretrain.safetensors").model for f in (pretrained, tmp_path / "next")
    )
    for p, q in zip(before.parameters(), after.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-6)
    assert any(p.abs().sum() > 0 for p in after.head.parameters())  # fresh ones are 0


def test_a_checkpoint_says_what_was_chosen_and_measured(tmp_path, corpus):
    folder = tmp_path / "deep" / "out"
    args = [
        "--fpe-learnable",
        "--fpe-theta",
        50,
        "--fpe-max-positions",
        40,
        "--branch-stride",
        3,
        "--seed",
        5,
    ]
    result = pretrain(corpus, folder, *args, "--max-branches-per-sample", 3, "--isolated")
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(folder / "pretrain.safetensors")
    chosen = {"stride": 3, "theta": 50.0, "max_positions": 40, "learnable": True, "isolated": True}
    assert (loaded.version, loaded.options) == ("v6", chosen)
    assert loaded.info["train"]["seed"] == 5
    assert loaded.info["steps_done"] == 2
    val = load_corpus(corpus).val
    alone, beside = (company_loss(loaded.model, val, n, 12, 258) for n in (1, 3))
    assert loaded.info["alone"] == pytest.approx(alone, abs=1e-5)
    assert loaded.info["gap"] == pytest.approx(beside - alone, abs=1e-5)
    assert f"alone {alone:.3f}" in result.output
    assert f"with 3 branches {beside:.3f}" in result.output


@pytest.mark.parametrize(
    ("pe", "version", "options"),
    [
        ("fpe", "v6", {"stride": 7, "theta": 10_000.0, "max_positions": 32_768, "learnable": False}),
        ("rope2d", "v6-rope2d", {"stride": 7}),
        ("rope", "v6-rope2d", {"stride": 7}),
        ("learned", "v6-learned", {"max_branches": 8}),
        ("none", "v6-none", {}),
    ],
)
def test_each_code_is_a_version(tmp_path, corpus, pe, version, options):
    result = pretrain(corpus, tmp_path / "out", "--pe", pe, "--branch-stride", 7)
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(tmp_path / "out" / "pretrain.safetensors")
    assert (loaded.version, loaded.options) == (version, {**options, "isolated": False})
    assert ("--branch-stride plays no part" in result.output) == (pe in ("learned", "none"))


def test_the_same_seed_trains_the_same_model(tmp_path, corpus):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        result = pretrain(corpus, tmp_path / name, "--seed", seed, "--max-branches-per-sample", 2)
        assert result.exit_code == 0, result.output
    first, again, other = (contents(tmp_path / n / "pretrain.safetensors") for n in "abc")
    assert first == again
    (_, weights), (_, others) = first, other
    assert weights != others


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--branches-per-sample", "0"], ["0 branches", "at least 1"]),
        (["--min-branches-per-sample", "3", "--max-branches-per-sample", "2"], ["at most 2", "at least 3"]),
        (
            ["--branches-per-sample", "2", "--max-branches-per-sample", "4"],
            ["branches_per_sample (2)", "max_branches_per_sample (4)"],
        ),
        (
            ["--branches-per-sample", "3", "--fpe-max-positions", "256"],
            ["3 branches", "position 256", "0 to 255"],
        ),
        (["--pe", "learned", "--learned-rows", "2", "--branches-per-sample", "3"], ["3 branches", "0 to 1"]),
        (["--length", "17"], ["17 tokens", "16 times"]),
        (["--length", "0"], ["0 tokens"]),
        (["--epochs", "0"], ["epochs (0) must be above 0"]),
        (["--batch-size", "0"], ["batch_size (0) must be above 0"]),
        (["--max-steps", "0"], ["max_steps (0) must be above 0"]),
        (["--branch-stride", "0"], ["branch_stride (0) must be above 0"]),
        (["--fpe-theta", "0"], ["fpe_theta (0.0) must be above 0"]),
        (["--branch-slice-count", "0"], ["branch_slice_count (0) must be above 0"]),
        (
            ["--branch-slice-count", "50", "--branches-per-sample", "3"],
            ["71 texts in 50 slices", "3 branches"],
        ),
        (["--branches-per-sample", "8"], ["7 texts", "8 branches"]),
        (["--n-embd", "30", "--n-head", "4"], ["n_embd (30) must be divisible by n_head (4)"]),
        (["--corpus", "no/such/file.txt"], ["no/such/file.txt"]),
        (["--init-weight", "no/such/pretrain_512.pth"], ["no checkpoint at no/such/pretrain_512.pth"]),
        (["--pe", "fourier"], ["fpe", "rope2d", "learned", "none"]),
        (["--lr-other", "1e38", "--lr-matrix", "1e38", "--max-steps", "30"], ["loss is", "at step"]),
    ],
)
def test_bad_input_to_pretrain_writes_nothing(tmp_path, corpus, extra, parts):
    out = tmp_path / "deep" / "out"
    refused(pretrain(corpus, out, *extra), *parts)
    assert not out.parent.exists()


@pytest.mark.parametrize("name", ["pretrain.safetensors", "notes.txt"])
def test_an_out_dir_that_holds_anything_is_left_alone(tmp_path, corpus, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    refused(pretrain(corpus, out), "holds something already", out, "--out-dir")
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [(name, "mine")]


def test_an_empty_out_dir_will_do_and_a_file_will_not(tmp_path, corpus):
    (tmp_path / "out").mkdir()
    assert pretrain(corpus, tmp_path / "out").exit_code == 0
    file = tmp_path / "file"
    file.write_text("mine")
    for out in (file, file / "below"):
        refused(pretrain(corpus, out), f"{out} cannot be made", f"{file} is a file")
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--n-embd", "32"], ["n_embd (32)", "(16)"]),
        (["--n-layer", "2"], ["n_layer (2)", "(1)"]),
        (["--block-size", "20"], ["block_size (20)", "(16)"]),
        (["--pe", "rope2d"], ["v6", "v6-rope2d", "not interchangeable"]),
        (["--pe", "none"], ["v6", "v6-none", "not interchangeable"]),
        (["--branch-stride", "64"], ["stride (64)", "(128)", "--other-code"]),
        (["--fpe-theta", "100"], ["theta (100.0)", "(10000.0)", "--other-code"]),
        (["--isolated"], ["isolated (True)", "(False)", "--other-code"]),
        (["--fpe-learnable"], ["learnable (True)", "(False)"]),
        (["--fpe-learnable", "--other-code"], ["learnable (True)", "(False)"]),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, corpus, pretrained, extra, parts):
    source, out = pretrained / "pretrain.safetensors", tmp_path / "next"
    before = source.read_bytes()
    refused(pretrain(corpus, out, "--init-weight", pretrained, *extra), source, *parts)
    assert source.read_bytes() == before
    assert not out.exists()


def test_weights_of_another_alphabet_are_refused(tmp_path, pretrained):
    other = tmp_path / "other.txt"
    other.write_text("the dog sat on the mat. " * 40, encoding="utf-8")
    result = pretrain(str(other), tmp_path / "next", "--init-weight", pretrained)
    refused(result, "other characters", "lacks 'dg'", "has 'c'")
    assert not (tmp_path / "next").exists()


def test_another_fixed_code_on_trained_weights_has_to_be_asked_for(tmp_path, corpus, pretrained):
    out = tmp_path / "next"
    args = ["--init-weight", pretrained, "--branch-stride", 64, "--fpe-max-positions", 100, "--other-code"]
    assert pretrain(corpus, out, *args).exit_code == 0
    options = checkpoint.load(out / "pretrain.safetensors").options
    assert (options["stride"], options["max_positions"]) == (64, 100)


def test_init_weight_may_be_anyones_checkpoint_but_not_nobodys(tmp_path, corpus, pretrained):
    source = pretrained / "pretrain.safetensors"
    moved = source.rename(tmp_path / "moved.safetensors")
    assert pretrain(corpus, tmp_path / "next", "--init-weight", moved).exit_code == 0
    for gone in (pretrained, pretrained / "pretrain_512.pth"):
        refused(pretrain(corpus, tmp_path / "more", "--init-weight", gone), "no checkpoint", gone, source)
    damaged = pretrained / "pretrain_512.pth"
    damaged.write_bytes(b"a pickle")
    refused(pretrain(corpus, tmp_path / "more", "--init-weight", damaged), "no safetensors file", damaged)
    assert not (tmp_path / "more").exists()


# ---------------------------------------------------------------- parallel writing


def test_parallel_generate_writes_each_branch_under_its_heading(pretrained):
    args = ["--branches", 2, "--prompt", "the ", "--prompt", "on", "--tokens", 5, "--seed", 1]
    first, again, other = (
        run("parallel-generate", "--model", at, *args, *more)
        for at, more in (
            (pretrained, []),
            (pretrained / "pretrain.safetensors", []),
            (pretrained, ["--seed", 2]),
        )
    )
    assert first.exit_code == 0, first.output
    lines = first.stdout.splitlines()
    assert lines[0::2] == ["--- branch 0 ---", "--- branch 1 ---"]
    assert lines[1].startswith("the ")
    assert lines[3].startswith("on")
    assert [len(lines[1]), len(lines[3])] == [9, 7]
    assert first.stdout == again.stdout != other.stdout


def test_a_branch_without_a_prompt_begins_a_line(tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text("abc\n" * 300, encoding="utf-8")
    assert pretrain(str(text), tmp_path / "out").exit_code == 0
    result = run("parallel-generate", "--model", tmp_path / "out", "--prompt", "ab", "--tokens", 0)
    assert result.stdout == "--- branch 0 ---\nab\n--- branch 1 ---\n\n\n"


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--branches", "0"], ["0 branches"]),
        (["--branches", "257"], ["257 branches", "position 32768", "0 to 32767"]),
        (["--branches", "1", "--prompt", "a", "--prompt", "b"], ["2 prompts", "1 branches"]),
        (["--prompt", "cat"], ["1 prompts for 2 branches", "no line end"]),
        (["--prompt", "cat!", "--prompt", "cat"], ["character '!' at place 3"]),
        (["--prompt", "", "--prompt", "cat"], ["prompt is empty"]),
        (["--prompt", "the cat sat on the mat", "--prompt", "cat"], ["22 tokens", "16"]),
        (["--prompt", "the", "--prompt", "cat", "--top-k", "0"], ["top_k (0)"]),
    ],
)
def test_parallel_generate_refuses_in_one_line(pretrained, args, parts):
    refused(run("parallel-generate", "--model", pretrained, *args), *parts)


def test_each_kind_of_model_has_its_own_command(tmp_path, corpus, pretrained):
    refused(run("generate", pretrained / "pretrain.safetensors"), "v6", "parallel-generate --model")
    out = tmp_path / "v4.safetensors"
    run("train", "v4", "--corpus", corpus, "--steps", 1, "--out", out, *SMALL)
    refused(run("parallel-generate", "--model", out), "v4", f"generate {out}")
    refused(run("parallel-generate", "--model", tmp_path / "none"), "no checkpoint at", tmp_path / "none")
    refused(run("train", "v6", "--corpus", corpus, "--out", tmp_path / "v6.safetensors"), "v6", "pretrain")
    assert not (tmp_path / "v6.safetensors").exists()


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


@pytest.mark.parametrize(
    "command",
    [
        *["", "train", "generate", "pretrain", "parallel-generate", "analyze", "figures"],
        *["compare", "compare encodings", "compare generation", "bench", "bench recipe"],
    ],
)
def test_help_says_what_each_option_does(command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    for line in result.output.splitlines():
        if line.strip().startswith("--") and "--help" not in line:
            last = line.split()[-1]  # a long flag has its sentence on the next line
            assert len(line.split()) > 2 or last.isupper() or last.endswith("]")


# ---------------------------------------------------------------- masked diffusion


@pytest.mark.parametrize("version", [v for v, made in VERSIONS.items() if made.masks])
def test_every_v7_is_trained_and_writes(tmp_path, corpus, version):
    out = tmp_path / "m.safetensors"
    result = run("train", version, "--corpus", corpus, "--steps", 2, "--out", out, *SMALL)
    assert result.exit_code == 0, result.output
    assert "2 steps, validation loss of masked characters" in result.stdout
    loaded = checkpoint.load(out)
    text = load_corpus(corpus, with_mask=True)
    assert loaded.tokenizer.mask_id == len(text.tokenizer.characters)
    bound, error = nelbo(loaded.model, text.val)
    assert loaded.info["nelbo"] == pytest.approx(bound, abs=1e-6)
    assert f"NELBO {bound:.3f} ± {error:.3f}" in result.stdout
    assert loaded.info["val_loss"] == pytest.approx(
        MaskedDiffusion(text, 16).validate(loaded.model), abs=1e-6
    )
    written = run("generate", out, "--prompt", "the ", "--tokens", 9).stdout
    assert written.startswith("the ")
    assert len(written) == 4 + 9 + 1


def test_weights_go_where_note_000_expects_them(tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("train", "v7", "--corpus", corpus, "--steps", 1, *SMALL).exit_code == 0
    assert checkpoint.load(tmp_path / "weights" / "v7.safetensors").version == "v7"


def test_the_bound_is_another_loss_and_idle_elsewhere(tmp_path, corpus):
    def trained(name, version, *extra):
        out = tmp_path / f"{name}.safetensors"
        result = run("train", version, "--corpus", corpus, "--steps", 3, "--out", out, *SMALL, *extra)
        assert result.exit_code == 0, result.output
        return result, checkpoint.load(out)

    (_, mean), (_, bound) = trained("mean", "v7-rope"), trained("bound", "v7-rope", "--bound")
    assert (mean.info["bound"], bound.info["bound"]) == (False, True)
    assert not torch.equal(mean.model.head.weight, bound.model.head.weight)
    (plain, one), (told, other) = trained("plain", "v4"), trained("told", "v4", "--bound")
    assert "--bound plays no part in training v4" in told.stderr
    assert "--bound" not in plain.stderr
    assert "NELBO" not in told.stdout
    assert torch.equal(one.model.head.weight, other.model.head.weight)


@pytest.fixture(scope="module")
def denoiser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("denoiser")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    args = ["--corpus", folder / "text.txt", "--steps", 40, "--out", folder / "m.safetensors", *SMALL]
    assert run("train", "v7-rope", *args).exit_code == 0
    return folder / "m.safetensors"


def test_generate_reads_every_flag_of_diffusion(denoiser):
    def wrote(*flags):
        result = run("generate", denoiser, "--prompt", "the cat ", "--tokens", 60, "--top-k", 4, *flags)
        assert result.exit_code == 0, result.output
        assert len(result.stdout) == 8 + 60 + 1
        return result.stdout

    usual = wrote()
    assert usual == wrote("--order", "confidence", "--confidence-threshold", 0.95)
    orders = [["--order", "random"], ["--order", "random", "--per-step", 4], ["--order", "ancestral"]]
    others = [*orders, ["--confidence-threshold", 0], ["--block", 3], ["--seed", 7]]
    assert len({usual, *(wrote(*flags) for flags in others)}) == 1 + len(others)


def test_a_prompt_longer_than_the_window_is_continued(denoiser):
    prompt = "the cat sat on the mat. the cat sat"
    written = run("generate", denoiser, "--prompt", prompt, "--tokens", 5).stdout
    assert written.startswith(prompt)
    assert len(written) == len(prompt) + 5 + 1


def test_flags_that_change_nothing_are_named(tmp_path, corpus, denoiser):
    told = run("generate", denoiser, "--prompt", "the", "--order", "random", "--n-steps", 4)
    assert told.stderr == "--n-steps plays no part with --order random\n"
    assert told.stdout == run("generate", denoiser, "--prompt", "the", "--order", "random").stdout
    out = tmp_path / "v4.safetensors"
    run("train", "v4", "--corpus", corpus, "--steps", 1, "--out", out, *SMALL)
    told = run("generate", out, "--prompt", "the", "--order", "random", "--block", 4)
    assert (
        told.stderr == "--order and --block play no part in a v4, which writes one character after another\n"
    )
    assert told.stdout == run("generate", out, "--prompt", "the").stdout


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--confidence-threshold", "-1"], ["threshold (-1.0)"]),
        (["--order", "random", "--per-step", "0"], ["per_step (0)"]),
        (["--order", "ancestral", "--n-steps", "0"], ["n_steps (0)"]),
        (["--block", "16"], ["block (16)", "between 1 and 15"]),
        (["--temperature", "-1"], ["temperature (-1.0)"]),
        (["--top-k", "0"], ["top_k (0)"]),
        (["--tokens", "-1"], ["n_tokens (-1)"]),
        (["--prompt", "the dog"], ["character 'd' at place 4"]),
        (["--prompt", "░"], ["character '░' at place 0"]),
        (["--prompt", ""], ["prompt is empty"]),
    ],
)
def test_generate_refuses_in_one_line(denoiser, args, parts):
    refused(run("generate", denoiser, "--prompt", "the ", *args), *parts)


# ---------------------------------------------------------------- comparing encodings


BRIEF = ["--max-iters", "4", "--eval-interval", "2", "--eval-iters", "2", *SMALL]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A finished comparison: where it is, what was typed, and what was printed."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    args = ["compare", "encodings", "--corpus", folder / "text.txt", "--seeds", "1,2", *BRIEF]
    result = run(*args, "--out-dir", folder)
    assert result.exit_code == 0, result.output
    return folder, args, result


def test_compare_encodings_writes_what_note_000_names(compared):
    folder, _, result = compared
    results = json.loads((folder / "ablation_results.json").read_text())
    assert [(r["variant"], r["seed"]) for r in results["runs"]] == [
        *[("rope", 1), ("polar", 1)],
        *[("rope", 2), ("polar", 2)],
    ]
    for name in ("val_loss_curve.png", "summary_bars.png"):
        assert (folder / "ablation_plots" / name).read_bytes().startswith(b"\x89PNG")
        assert name in result.stdout
    for variant in ("rope", "polar"):
        for seed in (1, 2):
            checkpoint.load(folder / "weights" / "ablation" / f"{variant}_seed{seed}.safetensors")
    each = [gap["each"] for gap in results["paired"]["polar - rope"].values()]
    loss = {(r["variant"], r["seed"]): r["val_loss"] for r in results["runs"]}
    assert each[0]["2"] == pytest.approx(loss["polar", 2] - loss["rope", 2])
    assert "polar - rope, paired: validation loss" in result.stdout
    assert "validation loss on 8 windows of 16 characters" in result.stdout


def test_compare_encodings_goes_on_where_it_stands(compared):
    folder, args, first = compared
    again = run(*args, "--out-dir", folder)
    assert again.stdout.splitlines()[:4] == [
        f"{name}, seed {seed}: finished before" for seed in (1, 2) for name in ("rope", "polar")
    ]
    assert again.stdout.splitlines()[4:] == first.stdout.splitlines()
    refused(
        run(*args, "--out-dir", folder, "--max-iters", 5),
        *["--max-iters (5)", folder / "ablation_results.json", "(4)", "--out-dir"],
    )
    other = run(*args, "--out-dir", folder / "other", "--max-iters", 5, "--variants", "v7-nope")
    assert other.exit_code == 0, other.output


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--seeds", "1,x"], ["--seeds (1,x)", "'x'", "whole numbers"]),
        (["--seeds", ""], ["no seeds"]),
        (["--seeds", "1,1"], ["name 1 twice"]),
        (["--variants", "rope,v4"], ["variant (v4)", "rope, nope, alibi"]),
        (["--eval-iters", "0"], ["eval_iters (0) must be above 0"]),
        (["--max-iters", "0"], ["max_iters (0) must be above 0"]),
        (["--block-size", "100000"], ["block_size (100000)"]),
        (["--corpus", "no/such/file.txt"], ["no/such/file.txt"]),
    ],
)
def test_compare_encodings_refuses_in_one_line_and_writes_nothing(tmp_path, corpus, extra, parts):
    out = tmp_path / "out"
    refused(run("compare", "encodings", "--corpus", corpus, *BRIEF, "--out-dir", out, *extra), *parts)
    assert not out.exists()


def test_an_out_dir_that_is_a_file_is_refused(tmp_path, corpus):
    for out in (corpus, f"{corpus}/below"):
        refused(run("compare", "encodings", "--corpus", corpus, *BRIEF, "--out-dir", out), "is a file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "weights").write_text("mine")
    args = ["compare", "encodings", "--corpus", corpus, *BRIEF, "--out-dir", tmp_path / "out"]
    refused(run(*args), "weights is a file", "--out-dir")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["weights"]


LONG = ["--max-iters", "150", "--eval-interval", "50", "--eval-iters", "2", *SMALL]


def stopped_after_one_run(folder, corpus, how):
    """A real comparison, stopped by a real signal when one run is stored: its exit status, what it said."""
    args = ["compare", "encodings", "--corpus", corpus, "--seeds", "1,2", "--out-dir", folder, *LONG]
    process = subprocess.Popen(
        [sys.executable, "-m", "babygpt", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not (folder / "ablation_results.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=120)
    return args, process.returncode, said


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.survives(
    "Ctrl-C or kill -9 in a comparison of hours", "the same command goes on; finished runs are as they were"
)
def test_a_stopped_comparison_goes_on_and_loses_nothing(tmp_path, corpus, how):
    args, status, said = stopped_after_one_run(tmp_path, corpus, how)
    finished = json.loads((tmp_path / "ablation_results.json").read_text())["runs"]
    assert 1 <= len(finished) < 4
    if how == signal.SIGINT:
        assert status == 1
        assert "this run is not kept; the same command goes on" in said.splitlines()[-1]
    weights = [tmp_path / one["weights"] for one in finished]
    before = [path.read_bytes() for path in weights]
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("finished before") == len(finished)
    whole = json.loads((tmp_path / "ablation_results.json").read_text())["runs"]
    assert whole[: len(finished)] == finished
    assert len(whole) == 4
    assert [path.read_bytes() for path in weights] == before


# ---------------------------------------------------------------- comparing generations


NOTES_WRITING = "--temp 0.8 --top-k 2 --confidence-threshold 0.95 --seed 1337"
WRITING = ["--num-prompts", 3, "--prompt-len", 8, "--gen-len", 20, *NOTES_WRITING.split(), "--judge-steps", 2]


def generation(compared, output, *extra, rope="rope_seed1", polar="polar_seed1"):
    at = compared[0] / "weights" / "ablation"
    files = ["--rope-weights", at / f"{rope}.safetensors", "--polar-weights", at / f"{polar}.safetensors"]
    return run("compare", "generation", *files, *WRITING, "--output", output, *extra)


def test_compare_generation_measures_both_and_the_truth(tmp_path, compared, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "new" / "out.json"
    result = generation(compared, output)
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text(), parse_constant=pytest.fail)
    assert list(found["rows"]) == ["rope", "polar", "true"]
    assert [len(row["texts"]) for row in found["rows"].values()] == [3, 3, 3]
    assert {
        "distinct_1_chars",
        "distinct_2_words",
        "repeat_3gram_chars",
        "entropy_chars",
        "judge_nll",
        "judge_entropy",
    } <= set(found["rows"]["true"]["measures"])
    judge = checkpoint.load(tmp_path / "weights" / "judge.safetensors")
    assert found["judge"]["val_loss"] == pytest.approx(judge.info["val_loss"])
    assert f"validation loss {judge.info['val_loss']:.3f} nats" in result.stdout
    assert found["settings"]["confidence_threshold"] == 0.95
    before = output.read_bytes()
    refused(generation(compared, output), "exists already", output, "--overwrite")
    assert output.read_bytes() == before
    again = generation(compared, output, "--overwrite")
    assert again.exit_code == 0, again.output
    assert json.loads(output.read_text())["rows"] == found["rows"]


def test_an_interrupted_judge_is_said_to_be_gone(tmp_path, compared, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("babygpt.training.records.follow", stopped)
    refused(generation(compared, "out.json"), "interrupted: this judge is not kept")
    assert list(tmp_path.iterdir()) == []


def test_compare_generation_over_grids(tmp_path, compared, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grids = ["--alpha-grid", "0,0.3", "--threshold-grid", "0.5"]
    result = generation(compared, "out.json", *grids)
    assert result.exit_code == 0, result.output
    points = json.loads((tmp_path / "out.json").read_text())["grid"]
    assert [(p["model"], p["alpha"], p["confidence_threshold"]) for p in points] == [
        ("rope", None, 0.5),
        ("polar", 0.0, 0.5),
        ("polar", 0.3, 0.5),
    ]
    assert "polar, alpha 0.3, threshold 0.5: repeat_3gram_chars" in result.stdout


def test_models_are_called_by_what_they_are(tmp_path, compared, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = generation(compared, "a.json", rope="polar_seed1", polar="rope_seed2")
    assert "polar_seed1.safetensors is a v7-polar, and is called polar" in result.stderr
    assert list(json.loads((tmp_path / "a.json").read_text())["rows"]) == ["polar", "rope", "true"]
    generation(compared, "b.json", polar="rope_seed2")
    assert list(json.loads((tmp_path / "b.json").read_text())["rows"]) == ["rope_seed1", "rope_seed2", "true"]
    refused(generation(compared, "c.json", polar="rope_seed1"), "are both rope_seed1")


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--prompt-len", 9], ["prompt_len (9) must be at most 8", "rope_seed1.safetensors holds 16"]),
        (["--gen-len", 2000], ["gen_len (2000)", "2008 characters"]),
        (["--top-k", 0], ["top_k (0)"]),
        (["--temp", -1], ["temp (-1.0)"]),
        (["--alpha-grid", "0,x"], ["--alpha-grid (0,x)", "'x'"]),
        (["--alpha-grid", "nan"], ["--alpha-grid: nan"]),
        (["--threshold-grid", "0.5,-1"], ["--threshold-grid: -1.0"]),
        (["--judge", "none.safetensors"], ["no checkpoint at none.safetensors"]),
        (["--corpus", "tales-zh"], ["other characters"]),
        (["--rope-weights", "none.safetensors"], ["no checkpoint at none.safetensors"]),
    ],
)
def test_compare_generation_refuses_in_one_line_and_writes_nothing(
    tmp_path, compared, monkeypatch, extra, parts
):
    monkeypatch.chdir(tmp_path)
    refused(generation(compared, "out.json", *extra), *parts)
    assert list(tmp_path.iterdir()) == []


def test_compare_generation_wants_models_of_diffusion(tmp_path, compared, corpus):
    v4 = tmp_path / "v4.safetensors"
    run("train", "v4", "--corpus", corpus, "--steps", 1, "--out", v4, *SMALL)
    refused(
        generation(compared, tmp_path / "o.json", "--polar-weights", v4), v4, "v4", "fill in masked tokens"
    )
    at = compared[0] / "weights" / "ablation" / "rope_seed1.safetensors"
    refused(generation(compared, tmp_path / "o.json", "--judge", at), at, "predicts the next token")
    assert not (tmp_path / "o.json").exists()


def test_models_of_two_corpora_need_one_to_be_named(tmp_path, compared, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "v7.safetensors"
    run("train", "v7-polar", "--corpus", corpus, "--steps", 1, "--out", other, *SMALL)
    refused(generation(compared, "o.json", "--polar-weights", other), corpus, "say which --corpus")
    named = generation(compared, "o.json", "--polar-weights", other, "--corpus", corpus)
    assert named.exit_code == 0, named.output
