"""The run for a GPU, rehearsed on the processor: what it says, and that no failing part stops the others."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner

from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.models.versions import build
from benchmarks import gpu
from benchmarks.cli import main
from tools.browser.chromium import CHROMIUM_VARIABLE

CPU = torch.device("cpu")
TINY = replace(gpu.SMALL, versions=("v4",), steps=10, notebooks=("02_learned_positions",))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("to be or not to be, that is the question. " * 50)
    return path


@pytest.fixture
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No notebook is run, and no pytest."""
    monkeypatch.setattr(gpu.notebooks, "run", lambda path: 1.0)
    monkeypatch.setattr(gpu, "run_tests", lambda arguments: {"pytest": "1 passed"})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("args", [[], ["--small"], ["--device", "cpu"]])
def test_without_a_gpu_one_sentence_says_what_it_takes(args: list[str]) -> None:
    result = CliRunner().invoke(main, ["gpu", *args])
    assert result.exit_code == 1
    assert "no GPU that PyTorch can use" in result.output
    assert "it takes an NVIDIA GPU" in result.output


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch.compile's own, as it looks on
@pytest.mark.usefixtures("_no_processes")
def test_the_rehearsal_measures_every_part_and_stores_it(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "SMALL", TINY)
    args = ["gpu", "--device", "cpu", "--small", "--corpus", text, "--store", "--folder", tmp_path]
    result = CliRunner().invoke(main, list(map(str, args)))
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "gpu.json").read_text())
    parts = stored["parts"]
    assert list(parts) == [
        "machine",
        "train v4",
        "tests",
        "notebook 02_learned_positions",
        "large v4",
        "large v7",
    ]
    assert stored["failed"] == [], result.output
    assert parts["train v4"]["eager"] > 0
    assert parts["train v4"]["graph_breaks"] == 0
    assert parts["large v7"]["nelbo"] > 0
    assert "– machine: skipped no GPU in this rehearsal" in result.output
    assert "✓ train v4: eager" in result.output


@pytest.mark.usefixtures("_no_processes")
def test_a_part_that_fails_says_so_and_the_rest_goes_on(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> dict[str, object]:
        raise RuntimeError("device-side assert\nand much more")

    monkeypatch.setattr(gpu, "train_version", fail)
    found = gpu.measure_gpu(CPU, str(text), TINY)
    assert "train v4" in found["failed"]
    assert found["parts"]["tests"]["ok"]
    assert "✗ train v4: error RuntimeError: device-side assert\n" in capsys.readouterr().out


def test_a_loss_that_does_not_fall_is_a_failure() -> None:
    gpu.require_falling("eager", [3.0, 2.0, 1.0, 1.0], 2)
    with pytest.raises(RuntimeError, match=r"compiled run's loss did not fall: 1.500, then 2.500"):
        gpu.require_falling("compiled", [1.0, 2.0, 2.0, 3.0], 2)


def test_plans_are_tried_in_turn_until_one_is_good_enough(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = iter([RuntimeError("out of memory"), (1.5, False), (1.45, True), (1.4, True)])

    def train_large(*_: object) -> dict[str, object]:
        if isinstance(outcome := next(outcomes), Exception):
            raise outcome
        return {"val": outcome[0], "ok": outcome[1]}

    monkeypatch.setattr(gpu, "train_large", train_large)
    found = gpu.try_plans("v4", str(text), CPU, replace(TINY, plans=gpu.FULL.plans))
    assert (found["val"], found["ok"]) == (1.45, True)
    assert [one["ok"] for one in found["plans"]] == [False, False, True]


@pytest.mark.parametrize(
    ("losses", "seconds", "steps"), [([3.0, 1.9, 1.0], 99.0, 5), ([3.0, 2.5, 2.6], 99.0, 5), ([3.0], 1.0, 3)]
)
def test_a_large_run_ends_at_its_target_its_last_step_or_its_budget(
    losses: list[float], seconds: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of one second a call, and a validation after every two steps of six."""
    ticks, vals = iter(range(99)), iter(losses)
    monkeypatch.setattr(gpu, "device_clock", lambda device: lambda: float(next(ticks)))
    training = SimpleNamespace(device=CPU, step=0, config=SimpleNamespace(steps=6), model=torch.nn.Identity())
    training.objective = SimpleNamespace(validate=lambda model: next(vals))
    training.make_step = lambda: setattr(training, "step", training.step + 1)
    best = gpu.race_to(2.0, training, replace(TINY, val_every=2, seconds=seconds))  # type: ignore[arg-type]
    assert best["steps"] == steps
    assert best["val"] == min(losses[:2])
    assert best["first_step_s"] == 1.0


def test_dropout_is_there_in_training_alone_and_nothing_else_is_changed() -> None:
    model = build("v4", ModelConfig(20, 16, n_layer=1, n_head=2, n_embd=16))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.1)
    idx = torch.arange(16)[None]
    before = model(idx)
    gpu.add_dropout(model, 0.5)
    assert not torch.equal(model.train()(idx), model(idx))
    assert torch.equal(model.eval()(idx), before)


def test_the_large_model_has_10_7_million_weights() -> None:
    with torch.device("meta"):
        model = build("v4", ModelConfig(65, **gpu.FULL.large))
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 1) == 10.7


def test_without_chromium_dashboards_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CHROMIUM_VARIABLE, str(tmp_path / "nowhere"))
    found = gpu.attempt(gpu.measure_dashboards)
    assert found["ok"] is None
    assert "chromium" in found["skipped"].lower()


def test_a_device_that_is_there_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert gpu.require_gpu("cuda").type == "cuda"
    with pytest.raises(BadInput, match="has a GPU"):
        gpu.require_gpu("cpu")
