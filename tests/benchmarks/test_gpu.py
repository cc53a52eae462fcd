"""The run for a GPU, rehearsed on the processor: no part that fails stops the others."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from babygpt.config import ModelConfig
from babygpt.models.versions import build
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
    monkeypatch.setattr(gpu.notebooks, "run", lambda path: 1.0)
    monkeypatch.setattr(gpu, "run_tests", lambda arguments: {"ok": False, "pytest": "1 failed"})
    monkeypatch.setattr(gpu, "SMALL", replace(gpu.SMALL, versions=("v4",), steps=10))
    args = ["gpu", "--device", "cpu", "--small", "--corpus", text, "--store", "--folder", tmp_path]
    result = CliRunner().invoke(main, list(map(str, args)))
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "gpu.json").read_text())
    parts = stored["parts"]
    large = ["large v4, 20 steps", "large v7, 20 steps"]
    assert list(parts) == ["train v4", "tests", "notebook 02_learned_positions", *large]
    assert stored["failed"] == ["tests"], result.output
    assert parts["train v4"]["eager"] > 0
    assert parts["train v4"]["graph_breaks"] == 0
    assert parts[large[0]]["val"] <= gpu.SMALL.target
    assert parts[large[1]]["nelbo"] > 0
    assert "✗ tests: pytest 1 failed" in result.output
    assert "✓ train v4: eager" in result.output


def test_a_part_that_raises_says_so_in_one_line() -> None:
    def fail() -> dict[str, object]:
        raise RuntimeError("device-side assert\nand much more")

    assert gpu.attempt(fail) == {"ok": False, "error": "RuntimeError: device-side assert"}


def test_dropout_is_there_in_training_alone_and_nothing_else_is_changed() -> None:
    model = build("v4", ModelConfig(20, 16, n_layer=1, n_head=2, n_embd=16))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.1)
    idx = torch.arange(16)[None]
    before = model(idx)
    gpu.add_dropout(model, 0.5)
    assert not torch.equal(model(idx), model(idx))
    with torch.no_grad():
        assert torch.equal(model(idx), before)


def test_the_large_model_has_10_7_million_weights() -> None:
    with torch.device("meta"):
        model = build("v4", ModelConfig(65, *gpu.Size().large))
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 1) == 10.7
