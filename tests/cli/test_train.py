"""`train` and `generate`: printed lines, written files, and refusals."""

import os
from contextlib import nullcontext

import pytest
import torch

from babygpt.cli.encoding_options import encoding_flags
from babygpt.cli.train import train as train_command
from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.metrics.denoising import nelbo
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import checkpoint
from babygpt.training.distributed import Team
from babygpt.training.lost_changes import outputs


def test_a_trained_model_generates_the_same_text_for_a_seed(run, small, tmp_path, corpus):
    out = tmp_path / "weights" / "v4.safetensors"
    result = run("train", "v4", "--corpus", corpus, "--steps", 3, "--seed", 5, "--out", out, *small)
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


def test_train_overwrites_only_with_its_flag(run, refused, contents, small, tmp_path, corpus):
    out = tmp_path / "m.safetensors"
    args = ["train", "v1", "--corpus", corpus, "--steps", 2, "--out", out, *small]
    assert run(*args).exit_code == 0
    before, held = out.read_bytes(), contents(out)
    refused(run(*args), "exists already", out)
    assert out.read_bytes() == before
    assert run(*args, "--overwrite", "--seed", 7).exit_code == 0
    assert contents(out) != held


# ---------------------------------------------------------------- options of encodings


CHOSEN = [
    ("v5", ["--fixed", "--sigmas", 3, 9], {"learnable": False, "sigmas": [3.0, 9.0]}),
    ("v5", ["--kernel", "absolute", "--alphas", 0.5, 0.25], {"kernel": "absolute", "alphas": [0.5, 0.25]}),
    ("v4", ["--theta", 500], {"theta": 500.0}),
    ("v7", ["--alpha", 0.7, "--per-layer"], {"alpha": 0.7, "per_layer": True}),
    ("alibi", ["--steepness", 2], {"steepness": 2.0}),
    ("v4", ["--layers", "alibi"], {"layers": ["alibi"]}),
    ("t5", ["--n-buckets", 8, "--furthest", 30], {"n_buckets": 8, "furthest": 30}),
    ("v7", ["--layers", "t5", "--both-ways"], {"layers": ["t5"], "both_ways": True}),
    ("fire", ["--width", 4, "--threshold", 5], {"width": 4, "threshold": 5.0}),
    ("v4-yarn", ["--factor", 4], {"factor": 4.0}),
    ("v4-dynamic", ["--factor", 4], {"factor": 4.0}),
    ("v4-ntk", ["--factor", 2.5, "--theta", 500], {"factor": 2.5, "theta": 500.0}),
    ("v4-interpolated", ["--factor", 4], {"factor": 4.0}),
    ("partial", ["--share", 0.5], {"share": 0.5}),
    ("v4-nope", ["--every", 1], {"every": 1}),
    ("v6", ["--branches", 2, "--stride", 3, "--isolated"], {"stride": 3, "isolated": True}),
    ("v6", ["--branches", 2, "--max-positions", 400, "--theta", 50], {"max_positions": 400, "theta": 50.0}),
    ("v6-rope2d", ["--branches", 2, "--branch-share", 0.25], {"branch_share": 0.25}),
    ("v6-learned", ["--branches", 2, "--max-branches", 12], {"max_branches": 12}),
]


@pytest.mark.parametrize(("version", "flags", "options"), CHOSEN)
def test_a_chosen_encoding_is_trained_stored_and_read_again(run, train, version, flags, options):
    out = train(version, *flags)
    loaded = checkpoint.load(out)
    assert loaded.options == options
    built = build(version, loaded.model.config, **options)
    assert loaded.model.state_dict().keys() == built.state_dict().keys()
    numbers = {name: getattr(loaded.model.encoding, name) for name in ("theta", "alpha") if name in options}
    assert numbers == {name: options[name] for name in numbers}
    assert len(run("generate", out, "--prompt", "the ", "--tokens", 4).stdout) == 4 + 4 + 1


def test_every_option_of_an_encoding_is_a_flag_with_a_sentence_and_its_default(run):
    others = {option.name for option in train_command.params}
    for name, kind in VERSIONS.items():
        flags = {flag: option for flag, option in encoding_flags([name]).items() if not option.hidden}
        assert {flag: option.default for flag, option in flags.items()} == kind.options()
        assert [flag for flag, option in flags.items() if not option.help or flag in others] == [], name
    shown = " ".join(run("train", "v5", "--help").output.split())
    assert "--sigmas FLOAT..." in shown
    assert "[default: 5.0, 20.0]" in shown
    assert "--steepness" not in shown
    assert "--steepness" in run("train", "v5", "--layers=v5,alibi", "--help").output


def test_all_versions_are_listed_with_their_titles(run):
    lines = run("train", "--versions").output.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        [name, kind.title] for name, kind in VERSIONS.items()
    ]


@pytest.mark.parametrize(
    ("version", "flags", "parts"),
    [
        ("v4", ["--sigmas", 2, 9], ["--sigmas: v4 has no such choice; v5, v5-absolute have"]),
        ("v5", ["--alpha", 0.5], ["--alpha: v5 has no such choice; v7, "]),
        ("v1", ["--theta", 9], ["--theta: v1 has no such choice"]),
        ("v4", ["--layers", "v4,nope", "--sigmas", 2, 9], ["--sigmas: v4"]),
        ("v4", ["--layers", "v7"], ["v7 is no encoding for a layer of v4"]),
        ("v1", ["--per-layer"], ["v1 has no layers"]),
        ("v4", ["--isolated"], ["--isolated: a v4 reads one text"]),
        ("v6", ["--branches", 0], ["0 branches"]),
        ("v6", ["--branches", "3,2"], ["3", "2"]),
        ("v6", ["--branches", "1,2,3"], ["--branches (1,2,3)", "2,4"]),
        ("v6", ["--branches", "two"], ["--branches (two)", "whole numbers"]),
        ("v6", ["--branches", 3, "--max-positions", 256], ["3 branches", "position 256", "0 to 255"]),
        ("v6-learned", ["--max-branches", 2, "--branches", 3], ["3 branches", "0 to 1"]),
        ("v6", ["--length", 17], ["17 tokens", "16 times"]),
        ("v6", ["--branches", 2, "--theta", 0], ["theta (0.0)"]),
    ],
)
def test_a_choice_the_encoding_lacks_is_refused(run, refused, small, tmp_path, corpus, version, flags, parts):
    out = tmp_path / "m.safetensors"
    refused(run("train", version, "--corpus", corpus, "--out", out, *small, *flags), *parts)
    assert not out.exists()


# ---------------------------------------------------------------- resumed runs


def full_at_the_second_checkpoint():
    """Return an os.fsync of a disk that has room for a command's probe of the folder and one checkpoint."""
    real, calls = os.fsync, iter(range(9))

    def sync(handle):
        if next(calls) == 2:
            raise OSError(28, "No space left on device")
        real(handle)

    return sync


@pytest.fixture
def unfinished(run, refused, small, tmp_path, corpus, monkeypatch):
    """Return the file of a v5 whose disk was full at its second checkpoint: it stands at step 2 of 8."""
    out = tmp_path / "folder" / "run.safetensors"
    with monkeypatch.context() as now:
        now.setattr(os, "fsync", full_at_the_second_checkpoint())
        words = ["--corpus", corpus, "--steps", 8, "--save-every", 2, *small, "--fixed", "--sigmas", 3, 9]
        refused(run("train", "v5", "--out", out, *words), out, "No space left", "checkpoint of step 2 stands")
    return out


def test_resuming_another_run_is_refused_and_leaves_the_checkpoint(run, refused, tmp_path, unfinished):
    text, before = tmp_path / "other.txt", unfinished.read_bytes()
    text.write_text("the cat sat on the mat. " * 39 + "the mat sat on the cat. ", encoding="utf-8")
    for version, words, parts in (
        ("v5", "", ("exists already", "--resume")),
        ("v5", "--resume --overwrite", ("choose one",)),
        ("v5", "--resume --steps 9", ("--steps (9)", "began with 8", unfinished)),
        ("v5", "--resume --n-embd 32", ("--n-embd (32)", "began with 16")),
        ("v5", "--resume --sigmas 3 8", ("--sigmas", "began with")),
        ("v5", "--resume --learnable", ("--learnable", "began with")),
        ("v5", "--resume --theta 5", ("--theta", "began with")),
        ("v5", "--resume --per-layer", ("--per-layer", "began with")),
        ("v5", "--resume --bound", ("--bound (True)", "began with False")),
        ("v5", f"--resume --corpus {text}", (text, "another text")),
        ("v4", "--resume", ("a run of v5, not of v4",)),
    ):
        refused(run("train", version, "--out", unfinished, *words.split()), *parts)
        assert unfinished.read_bytes() == before


def test_resuming_needs_no_flags_of_the_run_and_accepts_a_moved_text(run, refused, tmp_path, unfinished):
    assert run("generate", unfinished, "--prompt", "the ", "--tokens", 5).output.startswith("the ")
    moved = (tmp_path / "text.txt").rename(tmp_path / "moved.txt")
    command = ["train", "v5", "--out", unfinished, "--resume"]
    refused(run(*command), "--corpus (tales) is another text", tmp_path / "text.txt")
    result = run(*command, "--corpus", moved, "--sigmas", 3, 9)
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(unfinished)
    assert loaded.options == {"learnable": False, "sigmas": [3.0, 9.0]}
    steps = loaded.info["train"]["steps"], loaded.info["steps_done"]
    assert (loaded.model.config.n_embd, *steps) == (16, 8, 8)
    refused(run(*command), "is finished, after 8 of 8 steps", unfinished)
    checkpoint.save(unfinished, loaded.model, loaded.tokenizer)
    refused(run(*command), "does not say how it was trained", unfinished)


# ---------------------------------------------------------------- runs that begin with a checkpoint


def test_a_run_begins_with_the_weights_of_a_checkpoint_on_another_text(run, refused, train, tmp_path):
    first, text, out = (
        train("v5", "--fixed", steps=3),
        tmp_path / "other.txt",
        tmp_path / "tuned.safetensors",
    )
    text.write_text("the mat sat on the cat. " * 20, encoding="utf-8")
    command = ["train", "v5", "--from", first, "--corpus", text, "--out", out]
    assert run(*command, "--steps", 1, "--lr-matrix", 1e-9, "--lr-other", 1e-9).exit_code == 0
    before, tuned = checkpoint.load(first), checkpoint.load(out)
    assert (tuned.options, tuned.model.config) == (before.options, before.model.config)
    assert tuned.tokenizer.characters == before.tokenizer.characters
    for name, p in before.model.state_dict().items():
        assert torch.allclose(tuned.model.state_dict()[name], p, atol=1e-6), name
    text.write_text("the mat sat on the dog. " * 20, encoding="utf-8")
    command = [*command, "--overwrite"]
    refused(run(*command), "character 'd' at position 19")
    refused(run(*command, "--n-embd", 32), "--n-embd (32)", "began with 16")
    refused(run("train", "v4", *command[2:]), "is a v5, not a v4")
    refused(run(*command[:-3], "--out", first, "--overwrite"), "is what --from names")


def test_the_best_weights_are_kept(run, small, tmp_path, corpus):
    out = tmp_path / "m.safetensors"
    words = ["--corpus", corpus, "--steps", 6, "--eval-every", 2, "--lr-other", 1, "--out", out, *small]
    result = run("train", "v4", *words, "--keep", "best")
    assert result.exit_code == 0, result.output
    stored = checkpoint.load(out)
    step, loss = min(stored.info["curve"], key=lambda point: point[1])
    assert (stored.info["kept_step"], stored.info["val_loss"]) == (step, loss)
    assert step < 6
    assert f"wrote {out} with the weights of step {step}\n" in result.stdout
    text = load_corpus(corpus)
    assert NextToken(text, 16).validate(stored.model) == pytest.approx(loss, abs=1e-6)


# ---------------------------------------------------------------- masked diffusion


@pytest.mark.parametrize("version", ["v7", "v7-nope"])  # every other one: tests/training
def test_v7_trains_reports_its_nelbo_and_generates(run, small, tmp_path, corpus, version):
    out = tmp_path / "m.safetensors"
    result = run("train", version, "--corpus", corpus, "--steps", 2, "--out", out, *small)
    assert result.exit_code == 0, result.output
    assert "2 steps, validation loss of masked characters" in result.stdout
    loaded = checkpoint.load(out)
    text = load_corpus(corpus, with_mask=True)
    assert loaded.tokenizer.mask_id == len(text.tokenizer.characters)
    bound, error = nelbo(loaded.model, text.val)
    assert loaded.info["nelbo"] == pytest.approx(bound, abs=1e-6)
    assert f"NELBO {bound:.3f} ± {error:.3f}" in result.stdout
    loss = MaskedDiffusion(text, 16).validate(loaded.model)
    assert loaded.info["val_loss"] == pytest.approx(loss, abs=1e-6)
    written = run("generate", out, "--prompt", "the ", "--tokens", 9).stdout
    assert written.startswith("the ")
    assert len(written) == 4 + 9 + 1


def test_weights_go_where_note_000_expects_them(run, small, tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("train", "v7", "--corpus", corpus, "--steps", 1, *small).exit_code == 0
    assert checkpoint.load(tmp_path / "weights" / "v7.safetensors").version == "v7"


def test_bound_changes_the_loss_of_v7_and_of_no_other_version(run, small, tmp_path, corpus):
    def trained(name, version, *extra):
        out = tmp_path / f"{name}.safetensors"
        result = run("train", version, "--corpus", corpus, "--steps", 3, "--out", out, *small, *extra)
        assert result.exit_code == 0, result.output
        return result, checkpoint.load(out)

    (_, mean), (_, bound) = trained("mean", "v7-rope"), trained("bound", "v7-rope", "--bound")
    assert (mean.info["bound"], bound.info["bound"]) == (False, True)
    assert not torch.equal(mean.model.head.weight, bound.model.head.weight)
    (plain, unbound), (warned, flagged) = trained("plain", "v4"), trained("warned", "v4", "--bound")
    assert "--bound plays no part in training v4" in warned.stderr
    assert "--bound" not in plain.stderr
    assert "NELBO" not in warned.stdout
    assert torch.equal(unbound.model.head.weight, flagged.model.head.weight)


@pytest.mark.parametrize(
    ("typed", "meant"), [("V4", "v4"), ("rope", "v4"), ("Alibi", "alibi"), ("v7-pop", "v7-pope")]
)
def test_a_version_that_was_nearly_named_is_suggested(run, typed, meant):
    assert f"did you mean {meant}?" in run("train", typed).output
    with pytest.raises(BadInput, match=f"did you mean {meant}?"):
        build(typed, ModelConfig(5))


def test_a_pipe_is_refused_where_several_processes_would_read_it(run, refused, monkeypatch, tmp_path):
    monkeypatch.setattr("babygpt.training.distributed.distributed", lambda: nullcontext(Team(0, 2)))
    out = tmp_path / "m.safetensors"
    refused(run("train", "v4", "--corpus", "-", "--out", out), "standard input", "torchrun", "a file's path")
    assert not out.exists()


# ---------------------------------------------------------------- several texts in one sequence


def test_branches_are_trained_with_the_texts_that_were_asked_for(run, train, corpus):
    out = train("v6", "--branches", "2,3", "--length", 10, "--by-samples", steps=2)
    loaded = checkpoint.load(out)
    assert {name: loaded.info[name] for name in ("branches", "length", "by_samples")} == {
        "branches": [2, 3],
        "length": 10,
        "by_samples": True,
    }
    val = load_corpus(corpus).val
    alone, beside = (parallel_loss(loaded.model, val, n, 10, 258) for n in (1, 3))
    assert loaded.info["alone"] == pytest.approx(alone, abs=1e-5)
    assert loaded.info["val_loss"] == pytest.approx(beside, abs=1e-5)
    plain = train("v6", "--branches", "2,3", "--length", 10, steps=2, name="plain")
    assert not torch.equal(checkpoint.load(plain).model.head.weight, loaded.model.head.weight)


def test_flags_of_branches_change_nothing_elsewhere_and_say_so(run, small, tmp_path, corpus):
    words = ["train", "v4", "--corpus", corpus, "--steps", 1, "--out", tmp_path / "m.safetensors", *small]
    result = run(*words, "--branches", 2, "--length", 3, "--by-samples")
    assert "--branches and --length and --by-samples play no part in training v4" in result.stderr


def test_a_killed_run_of_branches_goes_on_as_it_began(run, refused, small, tmp_path, corpus, monkeypatch):
    words = ["--corpus", corpus, "--steps", 6, "--save-every", 2, "--branches", "1,3", "--length", 9, *small]
    whole, killed = tmp_path / "whole.safetensors", tmp_path / "killed.safetensors"
    assert run("train", "v6", "--out", whole, *words).exit_code == 0
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_at_the_second_checkpoint())
        refused(run("train", "v6", "--out", killed, *words), "No space left", "checkpoint of step 2 stands")
    refused(
        run("train", "v6", "--out", killed, "--resume", "--branches", 2), "--branches", "began with [1, 3]"
    )
    assert run("train", "v6", "--out", killed, "--resume", "--corpus", corpus).exit_code == 0
    first, second = checkpoint.load(whole), checkpoint.load(killed)
    for name, weight in first.model.state_dict().items():
        assert torch.equal(weight, second.model.state_dict()[name]), name
    assert first.info["val_loss"] == second.info["val_loss"]


@pytest.mark.parametrize(
    ("version", "flags"), [("v6", ["--branches", 2]), ("v5", ["--fixed", "--sigmas", 3, 9])]
)
def test_a_learnable_encoding_continues_a_fixed_one(run, refused, train, tmp_path, corpus, version, flags):
    """Begin as the encoding that the weights know, so that at first nothing changes."""
    first = train(version, *flags)
    still = ["--lr-other", 1e-12, "--lr-matrix", 1e-12, "--steps", 1, "--corpus", corpus]
    command = ["train", version, "--from", first, *still, *flags[: 2 if version == "v6" else 0]]
    out = tmp_path / "next.safetensors"
    result = run(*command, "--learnable", "--out", out)
    assert result.exit_code == 0, result.output
    before, after = checkpoint.load(first).model, checkpoint.load(out).model
    assert after.options["learnable"] is True
    assert sum(p.numel() for p in after.parameters()) > sum(p.numel() for p in before.parameters())
    with torch.no_grad():
        assert all(
            torch.allclose(a, b, atol=1e-5) for a, b in zip(outputs(after), outputs(before), strict=True)
        )
    back = [
        "train",
        version,
        "--from",
        out,
        "--fixed",
        "--out",
        tmp_path / "back.safetensors",
        "--corpus",
        corpus,
    ]
    refused(run(*back), "--learnable (False)", "began with True")


def test_a_learnable_encoding_does_not_continue_a_steered_one(run, refused, train, tmp_path, corpus):
    first = train("v6", "--branches", 2)
    loaded = checkpoint.load(first)
    loaded.model.encoding.steer("stride", 64)
    checkpoint.save(first, loaded.model, loaded.tokenizer)
    command = ["train", "v6", "--from", first, "--learnable", "--corpus", corpus, "--out", tmp_path / "n"]
    refused(run(*command), "--learnable: the checkpoint's encoding has other numbers")
