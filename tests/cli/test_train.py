"""`train` and `generate`: printed lines, written files, and refusals."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from babygpt.cli.train import encoding_options
from babygpt.cli.train import train as train_command
from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.metrics.denoising import nelbo
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import checkpoint
from babygpt.training.distributed import Team


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
]


@pytest.mark.parametrize(("version", "flags", "options"), CHOSEN)
def test_a_chosen_encoding_is_trained_stored_and_read_again(run, train, version, flags, options):
    out = train(version, *flags)
    loaded = checkpoint.load(out)
    assert loaded.options == options
    built = build(version, loaded.model.config, **options)
    assert loaded.model.state_dict().keys() == built.state_dict().keys()
    found = {name: getattr(loaded.model.encoding, name) for name in ("theta", "alpha") if name in options}
    assert found == {name: options[name] for name in found}
    assert len(run("generate", out, "--prompt", "the ", "--tokens", 4).stdout) == 4 + 4 + 1


def test_every_option_of_an_encoding_is_a_flag_with_a_sentence_and_its_default(run):
    others = {option.name for option in train_command.params}
    for name, kind in VERSIONS.items():
        flags = {flag: option for flag, option in encoding_options([name]).items() if not option.hidden}
        assert {flag: option.default for flag, option in flags.items()} == (
            {} if kind.branches else kind.options()
        )
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
    ],
)
def test_a_choice_the_encoding_lacks_is_refused(run, refused, small, tmp_path, corpus, version, flags, parts):
    out = tmp_path / "m.safetensors"
    refused(run("train", version, "--corpus", corpus, "--out", out, *small, *flags), *parts)
    assert not out.exists()


# ---------------------------------------------------------------- resumed runs


@pytest.fixture
def unfinished(run, refused, small, tmp_path, corpus, monkeypatch):
    """Return the file of a v5 whose disk was full at its second checkpoint: it stands at step 2 of 8."""
    out, real, calls = tmp_path / "folder" / "run.safetensors", os.fsync, iter(range(9))

    def full(handle):
        if next(calls) == 2:  # after the probe of the folder, and the first checkpoint
            raise OSError(28, "No space left on device")
        real(handle)

    with monkeypatch.context() as now:
        now.setattr(os, "fsync", full)
        words = ["--corpus", corpus, "--steps", 8, "--save-every", 2, *small, "--fixed", "--sigmas", 3, 9]
        refused(run("train", "v5", "--out", out, *words), out, "No space left", "checkpoint of step 2 stands")
    return out


def test_resuming_another_run_is_refused_and_leaves_the_checkpoint(run, refused, tmp_path, unfinished):
    other, before = tmp_path / "other.txt", unfinished.read_bytes()
    other.write_text("the cat sat on the mat. " * 39 + "the mat sat on the cat. ", encoding="utf-8")
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
        ("v5", f"--resume --corpus {other}", (other, "another text")),
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
    first, other, out = (
        train("v5", "--fixed", steps=3),
        tmp_path / "other.txt",
        tmp_path / "tuned.safetensors",
    )
    other.write_text("the mat sat on the cat. " * 20, encoding="utf-8")
    command = ["train", "v5", "--from", first, "--corpus", other, "--out", out]
    assert run(*command, "--steps", 1, "--lr-matrix", 1e-9, "--lr-other", 1e-9).exit_code == 0
    before, tuned = checkpoint.load(first), checkpoint.load(out)
    assert (tuned.options, tuned.model.config) == (before.options, before.model.config)
    assert tuned.tokenizer.characters == before.tokenizer.characters
    for name, p in before.model.state_dict().items():
        assert torch.allclose(tuned.model.state_dict()[name], p, atol=1e-6), name
    other.write_text("the mat sat on the dog. " * 20, encoding="utf-8")
    command = [*command, "--overwrite"]
    refused(run(*command), "character 'd' at position 19")
    refused(run(*command, "--n-embd", 32), "--n-embd (32)", "began with 16")
    refused(run(*command, "--learnable"), "--learnable (True)", "began with False")
    refused(run("train", "v4", *command[2:]), "is a v5, not a v4")
    refused(run(*command[:-3], "--out", first, "--overwrite"), "is what --from names")


def test_the_best_weights_are_kept(run, small, tmp_path, corpus):
    out = tmp_path / "m.safetensors"
    words = ["--corpus", corpus, "--steps", 6, "--eval-every", 2, "--lr-other", 1, "--out", out, *small]
    result = run("train", "v4", *words, "--keep", "best")
    assert result.exit_code == 0, result.output
    found = checkpoint.load(out)
    step, loss = min(found.info["curve"], key=lambda point: point[1])
    assert (found.info["kept_step"], found.info["val_loss"]) == (step, loss)
    assert step < 6
    assert f"wrote {out} with the weights of step {step}\n" in result.stdout
    text = load_corpus(corpus)
    assert NextToken(text, 16).validate(found.model) == pytest.approx(loss, abs=1e-6)


def test_a_text_without_a_line_end_needs_a_prompt(run, refused, small, tmp_path):
    corpus, out = tmp_path / "line.txt", tmp_path / "m.safetensors"
    corpus.write_text("the cat sat on the mat. " * 40)
    assert run("train", "v4", "--corpus", corpus, "--steps", 1, "--out", out, *small).exit_code == 0
    refused(run("generate", out, "--tokens", 3), "knows no line end", "--prompt of ' .aceh")
    refused(run("generate", out, "--tokens", 3, "--prompt", "\n"), "character '\\n' at position 0")
    assert run("generate", out, "--tokens", 3, "--prompt", "t").stdout.startswith("t")


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
    (plain, one), (warned, other) = trained("plain", "v4"), trained("warned", "v4", "--bound")
    assert "--bound plays no part in training v4" in warned.stderr
    assert "--bound" not in plain.stderr
    assert "NELBO" not in warned.stdout
    assert torch.equal(one.model.head.weight, other.model.head.weight)


@pytest.fixture
def denoiser(train):
    return train("v7-rope", steps=40)


def test_generate_uses_every_flag_of_diffusion(run, denoiser):
    def wrote(*flags):
        result = run("generate", denoiser, "--prompt", "the cat ", "--tokens", 60, "--top-k", 4, *flags)
        assert result.exit_code == 0, result.output
        assert len(result.stdout) == 8 + 60 + 1
        return result.stdout

    usual = wrote()
    assert usual == wrote("--confidence-threshold", 0.95)
    others = [["--confidence-threshold", 0], ["--block", 3], ["--seed", 7]]
    assert len({usual, *(wrote(*flags) for flags in others)}) == 1 + len(others)


def test_a_prompt_longer_than_the_window_is_continued(run, denoiser):
    prompt = "the cat sat on the mat. the cat sat"
    written = run("generate", denoiser, "--prompt", prompt, "--tokens", 5).stdout
    assert written.startswith(prompt)
    assert len(written) == len(prompt) + 5 + 1


def test_holes_of_a_prompt_are_filled_in(run, refused, train, denoiser):
    filled = run("generate", denoiser, "--prompt", "the c__ sat", "--temperature", 0)
    assert filled.exit_code == 0, filled.output
    assert len(filled.stdout) == 11 + 1
    assert (filled.stdout[:5], filled.stdout[7:]) == ("the c", " sat\n")
    assert run("generate", denoiser, "--prompt", "the c?? sat", "--hole", "?", "--temperature", 0).stdout == (
        filled.stdout
    )
    refused(
        run("generate", denoiser, "--prompt", "the c_t", "--hole", "t"), "--hole (t) must be one character"
    )
    refused(run("generate", train("v4", name="v4"), "--prompt", "the c_t"), "character '_' at position 5")


def test_an_underscore_that_the_model_knows_is_text(run, refused, train, corpus):
    Path(corpus).write_text("def foo_bar(x): return x_y\n" * 40, encoding="utf-8")
    out = train("v7-rope", name="code")
    words = ["--tokens", 2, "--temperature", 0]
    assert run("generate", out, "--prompt", "def foo_b", *words).stdout.startswith("def foo_b")
    refused(run("generate", out, "--prompt", "def foo_b", "--hole", "_"), "--hole (_) must be one character")


@pytest.mark.parametrize("version", ["v4", "v7-rope"])
def test_a_prompt_and_a_stop_are_read_like_a_corpus(run, refused, train, corpus, version):
    Path(corpus).write_bytes(b"the cat\r\nsat\r\n" * 60)
    out = train(version)
    words = ["generate", out, "--tokens", 3, "--temperature", 0]
    assert run(*words, "--prompt", "the cat\r\n").stdout == run(*words, "--prompt", "the cat\n").stdout
    assert run(*words, "--prompt", "the", "--stop", "\r\n").exit_code == 0
    refused(run(*words, "--prompt", "the", "--stop", "\\n"), "holds a backslash", "--stop $'\\n'")
    refused(run(*words, "--prompt", "the", "--stop", "Q"), "character 'Q' at position 0")
    refused(run(*words, "--seed", 2**64), "18446744073709551616 is not in the range")


@pytest.mark.parametrize(
    ("typed", "meant"), [("V4", "v4"), ("rope", "v4"), ("Alibi", "alibi"), ("v7-pop", "v7-pope")]
)
def test_a_version_that_was_nearly_named_is_suggested(run, typed, meant):
    assert f"did you mean {meant}?" in run("train", typed).output
    with pytest.raises(BadInput, match=f"did you mean {meant}?"):
        build(typed, ModelConfig(5))


@pytest.mark.parametrize("version", ["v4", "v7-rope"])
def test_several_texts_are_written_and_end_after_a_word(run, train, version):
    """Compare with one text at a time, of the likeliest characters."""
    out = train(version, steps=40)
    words = ["--temperature", 0, "--tokens", 30]
    alone = [run("generate", out, "--prompt", prompt, *words).stdout for prompt in ("the", "the cat sat on")]
    prompts = ["--prompt", "the", "--prompt", "the cat sat on"]
    many = run("generate", out, *prompts, "--samples", 2, *words).stdout
    texts = [alone[0], alone[0], alone[1], alone[1]]
    assert many == "".join(f"--- {i} of 4 ---\n{text}" for i, text in enumerate(texts, start=1))
    stop = alone[0][3 + 6 : 3 + 8]
    ended = run("generate", out, "--prompt", "the", "--stop", stop, *words).stdout
    assert ended == alone[0][: alone[0].index(stop, 3) + 2] + "\n"
    drawn = {run("generate", out, "--prompt", "the", "--top-p", p, "--tokens", 30).stdout for p in (0.01, 1)}
    assert alone[0] in drawn
    assert len(drawn) == 2


def test_flags_that_change_nothing_are_named(run, train):
    out = train("v4", name="v4")
    written = run("generate", out, "--prompt", "the", "--confidence-threshold", 0.5, "--block", 4)
    why = "in a v4, which writes one character after another"
    assert written.stderr == f"--confidence-threshold and --block play no part {why}\n"
    assert written.stdout == run("generate", out, "--prompt", "the").stdout


def test_a_pipe_is_refused_where_several_processes_would_read_it(run, refused, monkeypatch, tmp_path):
    monkeypatch.setattr("babygpt.training.distributed.distributed", lambda: nullcontext(Team(0, 2)))
    out = tmp_path / "m.safetensors"
    refused(run("train", "v4", "--corpus", "-", "--out", out), "standard input", "torchrun", "a file's path")
    assert not out.exists()
