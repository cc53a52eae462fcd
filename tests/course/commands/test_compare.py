"""`compare encodings` and `compare generation`: the commands of note 000, and what they write."""

import json

import pytest

from babygpt.training import checkpoint

SHORT = "--max-iters 2 --eval-interval 1 --eval-iters 1".split()  # in place of the note's 3000, 300 and 100
COMPARE = "compare encodings --seeds 1337,2027,9001"
GENERATE = (  # as it stands in the note, but for the script's name
    "compare generation --rope-weights weights/ablation/rope_seed1337.pt "
    "--polar-weights weights/ablation/polar_seed1337.pt --num-prompts 32 --prompt-len 32 --gen-len 256 "
    "--temp 0.8 --top-k 2 --confidence-threshold 0.95 --seed 1337 --output generation_eval_seed1337.json"
)
WRITING = "--num-prompts 3 --prompt-len 8 --gen-len 20 --temp 0.8 --top-k 2 --confidence-threshold 0.95"


def test_the_commands_of_note_000_run(run, tmp_path, monkeypatch):
    """Compare losses, then what the first seed's models write; name weights as the note does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cat sat on the mat.\n" * 200, encoding="utf-8")
    shape = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 64 --batch-size 4 --corpus text.txt".split()
    result = run(*COMPARE.split(), *SHORT, *shape)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "ablation_results.json").exists()
    result = run(*GENERATE.split())
    assert result.exit_code == 0, result.output
    names = [f"weights/ablation/{name}_seed1337" for name in ("rope", "polar")]
    assert [line for line in result.stderr.splitlines() if ".pt:" in line] == [
        f"{name}.pt: reading {name}.safetensors" for name in names
    ]
    found = json.loads((tmp_path / "generation_eval_seed1337.json").read_text(encoding="utf-8"))
    assert list(found["weights"].values()) == [f"{name}.safetensors" for name in names]
    assert found["settings"]["gen_len"] == 256


@pytest.fixture(scope="module")
def compared(run, small, tmp_path_factory):
    """Run a comparison; return its folder and its output."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    brief = "--max-iters 4 --eval-interval 2 --eval-iters 2 --seeds 1,2".split()
    args = ["compare", "encodings", "--corpus", folder / "text.txt", *brief, *small]
    result = run(*args, "--out-dir", folder)
    assert result.exit_code == 0, result.output
    return folder, result


def test_compare_encodings_writes_the_files_that_note_000_names(compared):
    folder, result = compared
    results = json.loads((folder / "ablation_results.json").read_text())
    made = [(variant, seed) for seed in (1, 2) for variant in ("rope", "polar")]
    assert [(r["variant"], r["seed"]) for r in results["runs"]] == made
    for name in ("val_loss_curve.png", "summary_bars.png"):
        assert (folder / "ablation_plots" / name).read_bytes().startswith(b"\x89PNG")
        assert name in result.stdout
    for variant, seed in made:
        checkpoint.load(folder / "weights" / "ablation" / f"{variant}_seed{seed}.safetensors")
    each = [gap["each"] for gap in results["paired"]["polar - rope"].values()]
    loss = {(r["variant"], r["seed"]): r["val_loss"] for r in results["runs"]}
    assert each[0]["2"] == pytest.approx(loss["polar", 2] - loss["rope", 2])
    assert "polar - rope: masked-token validation loss" in result.stdout
    assert "validation loss on 8 windows of 16 characters" in result.stdout


@pytest.fixture
def generation(run, compared):
    """Compare two models of the comparison above, by the names of their files."""
    at = compared[0] / "weights" / "ablation"
    files = [
        "--rope-weights",
        at / "rope_seed1.safetensors",
        "--polar-weights",
        at / "polar_seed1.safetensors",
    ]

    def command(output, *more, corpus=compared[0] / "text.txt"):
        text = ["--corpus", corpus] if corpus else []
        words = [*files, *text, *WRITING.split(), "--output", output, *more]
        return run("compare", "generation", *words)

    return command


def test_compare_generation_measures_both_and_the_truth(generation, tmp_path):
    output = tmp_path / "new" / "out.json"
    result = generation(output)
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text(), parse_constant=pytest.fail)
    assert list(found["rows"]) == ["rope_seed1", "polar_seed1", "true"]
    assert [len(row["texts"]) for row in found["rows"].values()] == [3, 3, 3]
    measures = {"distinct_1_chars", "distinct_2_words", "repeat_3gram_chars", "entropy_chars"}
    assert measures <= set(found["rows"]["true"]["measures"])
    assert found["settings"]["confidence_threshold"] == 0.95
    again = generation(output, "--overwrite")
    assert again.exit_code == 0, again.output
    assert json.loads(output.read_text())["rows"] == found["rows"]


def test_two_corpora_need_the_corpus_option(train, refused, generation, tmp_path, corpus):
    other = train("v7-polar")
    refused(generation(tmp_path / "o", "--polar-weights", other, corpus=None), corpus, "say which --corpus")
    named = generation(tmp_path / "o", "--polar-weights", other, corpus=corpus)
    assert named.exit_code == 0, named.output
