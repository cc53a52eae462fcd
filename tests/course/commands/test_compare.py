"""`compare encodings`, a command of note 000, and what it writes."""

import json

import pytest

from babygpt.training import checkpoint


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
