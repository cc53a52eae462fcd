"""The run for a GPU, rehearsed on the processor: no part that fails stops the others."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import gpu
from benchmarks.cli import main


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("to be or not to be, that is the question. " * 50)
    return path


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch.compile's own, as it looks on
def test_the_rehearsal_measures_every_part_and_stores_it(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> float:
        raise RuntimeError("device-side assert\nand much more")

    monkeypatch.setattr(gpu.notebooks, "run", fail)
    monkeypatch.setattr(gpu, "run_tests", lambda arguments: {"pytest": "1 passed"})
    monkeypatch.setattr(gpu, "SMALL", replace(gpu.SMALL, versions=("v4",), steps=10))
    args = ["gpu", "--device", "cpu", "--small", "--corpus", text, "--store", "--folder", tmp_path]
    result = CliRunner().invoke(main, list(map(str, args)))
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "gpu.json").read_text())
    parts = stored["parts"]
    large = ["large v4, 20 steps", "large v7, 20 steps"]
    assert list(parts) == ["train v4", "tests", "notebook 02_learned_positions", *large]
    assert stored["failed"] == ["notebook 02_learned_positions"], result.output
    assert parts["train v4"]["eager"] > 0
    assert parts["train v4"]["graph_breaks"] == 0
    assert parts[large[0]]["val"] <= gpu.SMALL.target
    assert parts[large[1]]["nelbo"] > 0
    assert "✗ notebook 02_learned_positions: error RuntimeError: device-side assert\n" in result.output
    assert "✓ train v4: eager" in result.output
