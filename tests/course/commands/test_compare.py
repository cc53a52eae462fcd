"""`compare encodings` and `compare generation`: the flags of note 000, what is written, what is refused."""

import json

import pytest

from babygpt.training import checkpoint


@pytest.fixture(scope="module")
def brief(small):
    return ["--max-iters", "4", "--eval-interval", "2", "--eval-iters", "2", *small]


@pytest.fixture(scope="module")
def compared(run, brief, tmp_path_factory):
    """Run a comparison; return its folder, its command line and its output."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    args = ["compare", "encodings", "--corpus", folder / "text.txt", "--seeds", "1,2", *brief]
    result = run(*args, "--out-dir", folder)
    assert result.exit_code == 0, result.output
    return folder, args, result


def test_compare_encodings_writes_the_files_that_note_000_names(compared):
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
    assert "polar - rope: masked-token validation loss" in result.stdout
    assert "validation loss on 8 windows of 16 characters" in result.stdout


def test_compare_encodings_skips_finished_runs(run, refused, compared):
    folder, args, first = compared
    again = run(*args, "--out-dir", folder)
    assert again.stdout.splitlines()[:4] == [
        f"{name}, seed {seed}: finished before" for seed in (1, 2) for name in ("rope", "polar")
    ]
    assert again.stdout.splitlines()[4:] == first.stdout.splitlines()
    other = run(*args, "--out-dir", folder / "other", "--max-iters", 5, "--variants", "v7-nope")
    assert other.exit_code == 0, other.output


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--seeds", "1,x"], ["--seeds (1,x)", "'x'", "whole numbers"]),
        (["--seeds", ""], ["0 seeds and 2 variants"]),
        (["--variants", "rope,v4"], ["variant (v4)", "rope, nope, alibi"]),
        (["--eval-iters", "0"], ["eval_iters (0) must be at least 1"]),
        (["--max-iters", "0"], ["max_iters (0) must be at least 1"]),
        (["--block-size", "100000"], ["block_size (100000)"]),
        (["--corpus", "no/such/file.txt"], ["no/such/file.txt"]),
    ],
)
def test_compare_encodings_refuses_and_writes_nothing(brief, run, refused, tmp_path, corpus, extra, parts):
    out = tmp_path / "out"
    refused(run("compare", "encodings", "--corpus", corpus, *brief, "--out-dir", out, *extra), *parts)
    assert not out.exists()


def test_an_out_dir_that_is_a_file_is_refused(brief, run, refused, tmp_path, corpus):
    for out in (corpus, f"{corpus}/below"):
        refused(run("compare", "encodings", "--corpus", corpus, *brief, "--out-dir", out), "is a file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "weights").write_text("mine")
    args = ["compare", "encodings", "--corpus", corpus, *brief, "--out-dir", tmp_path / "out"]
    refused(run(*args), "weights is a file", "--out-dir")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["weights"]


# ---------------------------------------------------------------- comparing generations


NOTES_WRITING = "--temp 0.8 --top-k 2 --confidence-threshold 0.95 --seed 1337"
WRITING = ["--num-prompts", 3, "--prompt-len", 8, "--gen-len", 20, *NOTES_WRITING.split()]


@pytest.fixture
def generation(run, compared):
    """Compare two models of the comparison above, by the names of their files."""
    at = compared[0] / "weights" / "ablation"

    def command(output, *extra, rope="rope_seed1", polar="polar_seed1", corpus=compared[0] / "text.txt"):
        files = ["--rope-weights", at / f"{rope}.safetensors", "--polar-weights", at / f"{polar}.safetensors"]
        text = ["--corpus", corpus] if corpus else []
        return run("compare", "generation", *files, *text, *WRITING, "--output", output, *extra)

    return command


def test_compare_generation_measures_both_and_the_truth(refused, generation, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "new" / "out.json"
    result = generation(output)
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text(), parse_constant=pytest.fail)
    assert list(found["rows"]) == ["rope_seed1", "polar_seed1", "true"]
    assert [len(row["texts"]) for row in found["rows"].values()] == [3, 3, 3]
    assert {"distinct_1_chars", "distinct_2_words", "repeat_3gram_chars", "entropy_chars"} <= set(
        found["rows"]["true"]["measures"]
    )
    assert found["settings"]["confidence_threshold"] == 0.95
    before = output.read_bytes()
    refused(generation(output), "exists already", output, "--overwrite")
    assert output.read_bytes() == before
    again = generation(output, "--overwrite")
    assert again.exit_code == 0, again.output
    assert json.loads(output.read_text())["rows"] == found["rows"]


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--prompt-len", 9], ["prompt_len (9) must be at most 8", "rope_seed1.safetensors holds 16"]),
        (["--gen-len", 2000], ["gen_len (2000)", "2008 characters"]),
        (["--top-k", 0], ["top_k (0)"]),
        (["--temp", -1], ["temp (-1.0)"]),
        (["--confidence-threshold", -1], ["confidence_threshold (-1.0)"]),
        (["--corpus", "tales-zh"], ["other characters"]),
        (["--rope-weights", "none.safetensors"], ["no checkpoint at none.safetensors"]),
    ],
)
def test_compare_generation_refuses_in_one_line_and_writes_nothing(
    refused, generation, tmp_path, monkeypatch, extra, parts
):
    monkeypatch.chdir(tmp_path)
    refused(generation("out.json", *extra), *parts)
    assert list(tmp_path.iterdir()) == []


def test_two_models_of_one_name_are_refused(refused, generation, tmp_path):
    refused(generation(tmp_path / "o.json", polar="rope_seed1"), "are both called rope_seed1")


def test_compare_generation_refuses_models_without_diffusion(train, refused, generation, tmp_path, compared):
    v4 = train("v4")
    refused(generation(tmp_path / "o.json", "--polar-weights", v4), v4, "v4", "fill in masked tokens")
    assert not (tmp_path / "o.json").exists()


def test_two_corpora_need_the_corpus_option(train, refused, generation, tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = train("v7-polar")
    refused(generation("o.json", "--polar-weights", other, corpus=None), corpus, "say which --corpus")
    named = generation("o.json", "--polar-weights", other, "--corpus", corpus)
    assert named.exit_code == 0, named.output
