"""`generate`: written texts, their measures, and refusals."""

import json
import math
from pathlib import Path
from statistics import mean, stdev

import pytest

from babygpt.data.corpus import load_corpus
from babygpt.metrics.texts import text_measures
from babygpt.sampling import generate_parallel
from babygpt.training import checkpoint


def test_a_text_without_a_line_end_needs_a_prompt(run, refused, small, tmp_path):
    corpus, out = tmp_path / "line.txt", tmp_path / "m.safetensors"
    corpus.write_text("the cat sat on the mat. " * 40)
    assert run("train", "v4", "--corpus", corpus, "--steps", 1, "--out", out, *small).exit_code == 0
    refused(run("generate", out, "--tokens", 3), "knows no line end", "--prompt of ' .aceh")
    refused(run("generate", out, "--tokens", 3, "--prompt", "\n"), "character '\\n' at position 0")
    assert run("generate", out, "--tokens", 3, "--prompt", "t").stdout.startswith("t")


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
    why = "in a model that writes one character after another"
    assert written.stderr == f"--confidence-threshold and --block play no part {why}\n"
    assert written.stdout == run("generate", out, "--prompt", "the").stdout


# ---------------------------------------------------------------- several texts in one sequence


def test_a_model_of_branches_writes_all_texts_at_once(run, train):
    out = train("v6", "--branches", 2, steps=40)
    words = ["--temperature", 0, "--tokens", 12]
    result = run("generate", out, "--prompt", "the ", "--prompt", "cat sat", *words)
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(out)
    prompts = [loaded.tokenizer.encode(text) for text in ("the ", "cat sat")]
    texts = [
        loaded.tokenizer.decode(text) for text in generate_parallel(loaded.model, prompts, 12, temperature=0)
    ]
    assert result.stdout == "".join(f"--- {i} of 2 ---\n{text}\n" for i, text in enumerate(texts, start=1))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--prompt", "t", "--samples", 257], ["257 branches", "position 32768", "0 to 32767"]),
        (["--prompt", "cat!", "--prompt", "cat"], ["character '!' at position 3"]),
        (["--prompt", "the cat sat on the mat", "--prompt", "cat"], ["22 tokens", "16"]),
        (["--prompt", "cat", "--prompts-from", "tales"], ["--prompt and --prompts-from"]),
        ([], ["knows no line end"]),
    ],
)
def test_what_branches_cannot_write_is_refused(run, refused, train, words, parts):
    refused(run("generate", train("v6", "--branches", 2), *words), *parts)


# ---------------------------------------------------------------- several models side by side


@pytest.fixture
def two(train):
    return [train(version, name=version, steps=3) for version in ("v7-rope", "v7-polar")]


def test_several_models_continue_the_same_prompts(run, two):
    words = ["--prompt", "the cat", "--tokens", 9, "--seed", 4]
    each = [run("generate", path, *words).stdout for path in two]
    both = run("generate", *two, *words)
    assert both.exit_code == 0, both.output
    assert both.stdout == "".join(f"=== {path} ===\n{text}" for path, text in zip(two, each, strict=True))


def test_texts_and_their_measures_are_stored_beside_the_true_continuations(
    run, refused, two, corpus, tmp_path
):
    out = tmp_path / "new" / "out.json"
    words = ["--prompts-from", corpus, "--n-prompts", 5, "--prompt-tokens", 8, "--tokens", 20, "--measure"]
    result = run("generate", *two, *words, "--out", out)
    assert result.exit_code == 0, result.output
    models = json.loads(out.read_text(), parse_constant=pytest.fail)["models"]
    assert list(models) == [*map(str, two), "true"]
    text = load_corpus(corpus)
    validation = text.tokenizer.decode(text.val)
    assert len(set(models["true"]["texts"])) > 1
    for index, whole in enumerate(models["true"]["texts"]):
        assert whole in validation
        assert len(whole) == 28
        for name in map(str, two):
            assert models[name]["texts"][index].startswith(whole[:8])
    for name, model in models.items():
        expected = [text_measures(whole[8:], True) for whole in model["texts"]]
        for measure, numbers in expected[0].items():
            if not math.isnan(numbers):
                assert model["measures"][measure][0] == numbers
        assert ("characters_a_step" in model["measures"]) == (name != "true")
    shares = models["true"]["measures"]["distinct_1_chars"]
    assert f"{mean(shares):.3f} ± {stdev(shares):.3f}" in result.stdout
    refused(run("generate", *two, *words, "--out", out), "exists already", "--overwrite")
    again = run("generate", *two, *words, "--out", out, "--overwrite")
    assert again.exit_code == 0, again.output
    assert json.loads(out.read_text())["models"] == models


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--tokens", 2000], ["--tokens (2000)", "2032 characters"]),
        (["--prompts-from", "no/such.txt"], ["no/such.txt"]),
        (["--prompts-from", "tales-zh", "--prompt-tokens", 4, "--tokens", 4], ["character"]),
        (["--tokens", 9, "--top-k", 0], ["top_k (0)"]),
    ],
)
def test_what_cannot_be_compared_is_refused(run, refused, two, corpus, tmp_path, words, parts):
    source = [] if "--prompts-from" in words else ["--prompts-from", corpus]
    refused(run("generate", *two, *source, *words, "--out", tmp_path / "o.json"), *parts)
    assert not (tmp_path / "o.json").exists()
    refused(run("generate", two[0], two[0], "--prompt", "the"), "named twice")
