"""`pretrain` and `parallel-generate`: the curriculum of notes 002 and 003, and what it stores."""

from dataclasses import fields

import pytest
import torch

from babygpt.data.corpus import load_corpus
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.positions import Positions
from babygpt.training import checkpoint
from babygpt_course.notes.curriculum import EpochConfig

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
OTHERS = {  # the notes' other commands
    "002, baseline": "--pe rope --epochs 3 --batch_size 4 --max_branches_per_sample 2 --out_dir out",
    "002, new": "--pe fpe --epochs 3 --batch_size 4 --max_branches_per_sample 2 --out_dir out",
    "002, question 6": "--pe fpe --learning_rate 1e-4 --branch_stride 256 --fpe_learnable --out_dir out",
    "003, RoPE 2D": "--pe rope --out_dir out",
    "003, Fourier": "--pe fpe --fpe_theta 10000.0 --fpe_max_positions 32768 --fpe_learnable --out_dir out",
}


def test_the_stages_of_note_002_run_as_written(run, small, tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = [run(*stage.split(), "--corpus", corpus, *small[:-2]) for stage in STAGES]
    for result in results:
        assert result.exit_code == 0, result.output
    for result, before in zip(results[1:], ("out/fpe_stage1", "out/fpe_stage2_2branch"), strict=True):
        named = [line for line in result.output.splitlines() if "pretrain_512.pth" in line]
        assert named == [f"{before}/pretrain_512.pth: reading {before}/pretrain.safetensors"]
    # 71 texts of 12 characters in the 864 to train on: 142 by 4, then 213 by 8
    assert "v6: 36 steps, 2.03 epochs, 1 branch a sample" in results[0].output
    assert "v6: 27 steps, 3.04 epochs, 2 branches a sample" in results[1].output
    assert "epochs, 2 to 4 branches a sample" in results[2].output
    assert "interference gap" not in results[0].output
    assert "interference gap" in results[2].output
    written = "parallel_generate --model out/fpe_stage2_2branch/pretrain_512.pth --branches 2 --mode pretrain"
    result = run(*written.split(), "--prompt", "the ", "--prompt", "cat ")
    assert result.exit_code == 0, result.output


def test_the_stages_of_the_help_can_be_copied(run, small, tmp_path, corpus, monkeypatch):
    """Expect the note's stages, with other folders."""
    monkeypatch.chdir(tmp_path)
    text = run("pretrain", "--help").output.replace("\\\n", "")
    copied = [line.split()[3:] for line in text.splitlines() if line.startswith("  python -m babygpt pre")]
    assert len(copied) == len(STAGES)
    for stage in copied:
        result = run(*stage, "--corpus", corpus, "--max-steps", 2, *small)
        assert result.exit_code == 0, result.output
    folders = (stage[stage.index("--out-dir") + 1] for stage in copied)
    ours = [checkpoint.load(tmp_path / f / "pretrain.safetensors").info["flags"] for f in folders]
    keys = ("epochs", "batch_by_samples", "branch_slice_count", "branch_loop_all")
    said = [tuple(info[key] for key in keys) for info in ours]
    assert said == [(2, False, 8, True), (3, True, 1, False), (3, True, 1, False)]
    read = [EpochConfig(**{f.name: info[f.name] for f in fields(EpochConfig)}) for info in ours]
    assert [config.n_branches for config in read] == [(1, 1), (2, 2), (2, 4)]


def test_learning_rate_sets_the_rates_of_both_optimizers(pretrain, tmp_path, corpus):
    """Expect the note's rate for both optimizers, and a warning that ours is usually 200 times larger."""
    result = pretrain(corpus, tmp_path / "out", "--learning_rate", "1e-4")
    assert "AdamW at 0.0001, Muon at 0.00015, both 0.005 times their defaults" in result.stderr
    plan = checkpoint.load(tmp_path / "out" / "pretrain.safetensors").info["train"]
    assert (plan["lr_other"], plan["lr_matrix"]) == pytest.approx((1e-4, 1.5e-4))


def test_a_learnable_code_can_continue_from_a_fixed_one(refused, pretrain, tmp_path, corpus, pretrained):
    """Begin a learnable code as the code that the weights know, so that at first nothing changes."""
    still = ["--learning-rate", 1e-12, "--max-branches-per-sample", 2, "--init-weight", pretrained]
    result = pretrain(corpus, tmp_path / "next", "--fpe-learnable", *still)
    assert result.exit_code == 0, result.output
    before, after = (checkpoint.load(f / "pretrain.safetensors") for f in (pretrained, tmp_path / "next"))
    at = Positions(torch.arange(8) // 2, torch.arange(8) % 2)
    idx = torch.arange(8)[None]
    assert torch.allclose(after.model(idx, at), before.model(idx, at), atol=1e-5)
    assert after.model.encoding.table.shape == (32_768, 16)
    later = ["--init-weight", tmp_path / "next"]
    refused(pretrain(corpus, tmp_path / "back", *later), "learnable (False)", "(True)")
    trained = pretrain(corpus, tmp_path / "more", *later, "--fpe-learnable")
    assert trained.exit_code == 0, trained.output


def test_a_checkpoint_stores_options_and_measurements(pretrain, tmp_path, corpus):
    folder = tmp_path / "deep" / "out"
    args = "--fpe-learnable --fpe-theta 50 --fpe-max-positions 40 --branch-stride 3 --seed 5".split()
    result = pretrain(corpus, folder, *args, "--max-branches-per-sample", 3, "--isolated")
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(folder / "pretrain.safetensors")
    chosen = {"stride": 3, "theta": 50.0, "max_positions": 40, "learnable": True, "isolated": True}
    assert (loaded.version, loaded.options) == ("v6", chosen)
    assert loaded.info["train"]["seed"] == 5
    assert loaded.info["steps_done"] == 2
    val = load_corpus(corpus).val
    alone, beside = (parallel_loss(loaded.model, val, n, 12, 258) for n in (1, 3))
    assert loaded.info["alone"] == pytest.approx(alone, abs=1e-5)
    assert loaded.info["gap"] == pytest.approx(beside - alone, abs=1e-5)
    assert f"alone {alone:.3f}" in result.output
    assert f"with 3 branches {beside:.3f}" in result.output


def test_2d_rope_may_give_another_share_of_its_pairs_to_the_branch(refused, pretrain, tmp_path, corpus):
    share = ["--pe", "rope", "--branch-share", 0.25]
    result = pretrain(corpus, tmp_path / "out", *share)
    assert result.exit_code == 0, result.output
    assert checkpoint.load(tmp_path / "out" / "pretrain.safetensors").model.encoding.branch_width == 2
    later = pretrain(corpus, tmp_path / "next", "--pe", "rope", "--init-weight", tmp_path / "out")
    refused(later, "branch_share (0.5)", "(0.25)")
    assert "--branch-share plays no part" in pretrain(corpus, tmp_path / "fpe", *share[2:]).stderr


@pytest.mark.parametrize(
    ("pe", "version", "options"),
    [
        ("fpe", "v6", {"stride": 7, "theta": 10_000.0, "max_positions": 32_768, "learnable": False}),
        ("rope2d", "v6-rope2d", {"stride": 7, "branch_share": 0.5}),
        ("rope", "v6-rope2d", {"stride": 7, "branch_share": 0.5}),
        ("learned", "v6-learned", {"max_branches": 8}),
        ("none", "v6-none", {}),
    ],
)
def test_each_branch_code_trains_its_version(pretrain, tmp_path, corpus, pe, version, options):
    result = pretrain(corpus, tmp_path / "out", "--pe", pe, "--branch-stride", 7)
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(tmp_path / "out" / "pretrain.safetensors")
    assert (loaded.version, loaded.options) == (version, {**options, "isolated": False})
    assert ("--branch-stride plays no part" in result.output) == (pe in ("learned", "none"))


def test_the_same_seed_trains_the_same_model(pretrain, contents, tmp_path, corpus):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        result = pretrain(corpus, tmp_path / name, "--seed", seed, "--max-branches-per-sample", 2)
        assert result.exit_code == 0, result.output
    first, again, other = (contents(tmp_path / n / "pretrain.safetensors") for n in "abc")
    assert first == again
    (_, weights), (_, others) = first, other
    assert weights != others


@pytest.mark.parametrize("name", OTHERS)
def test_the_commands_of_notes_002_and_003_run(run, small, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cat sat on the mat.\n" * 200, encoding="utf-8")
    result = run("pretrain", *OTHERS[name].split(), "--corpus", "text.txt", "--max-steps", 1, *small)
    assert result.exit_code == 0, result.output
    version = checkpoint.load(tmp_path / "out" / "pretrain.safetensors").version
    assert version == ("v6-rope2d" if "--pe rope" in OTHERS[name] else "v6")
    written = run("parallel_generate", "--model", "out/pretrain_512.pth", "--branches", 2, "--tokens", 3)
    assert written.stdout.count("--- branch") == 2, written.output


def test_parallel_generate_writes_each_branch_under_its_heading(run, pretrained):
    args = ["--branches", 2, "--prompt", "the ", "--prompt", "on", "--tokens", 5, "--seed"]
    models = (pretrained, 1), (pretrained / "pretrain.safetensors", 1), (pretrained, 2)
    first, again, other = (run("parallel-generate", "--model", at, *args, seed) for at, seed in models)
    assert first.exit_code == 0, first.output
    lines = first.stdout.splitlines()
    assert lines[0::2] == ["--- branch 0 ---", "--- branch 1 ---"]
    assert (lines[1].startswith("the "), lines[3].startswith("on")) == (True, True)
    assert [len(lines[1]), len(lines[3])] == [9, 7]
    assert first.stdout == again.stdout != other.stdout


def test_a_branch_without_a_prompt_begins_a_line(run, pretrain, tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text("abc\n" * 300, encoding="utf-8")
    assert pretrain(str(text), tmp_path / "out").exit_code == 0
    result = run("parallel-generate", "--model", tmp_path / "out", "--prompt", "ab", "--tokens", 0)
    assert result.stdout == "--- branch 0 ---\nab\n--- branch 1 ---\n\n\n"
