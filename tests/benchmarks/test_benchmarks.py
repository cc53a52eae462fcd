"""Benchmarks from the shell, and the numbers that they compute from what they time."""

import itertools
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.training import Training
from benchmarks import gpu, live, scaling, step
from benchmarks.cli import main
from benchmarks.machine import describe_machine
from benchmarks.step import MeteredObjective, PartMeter, measure_step
from tools.browser.recording import dashboard_runs, worst

ROOT = Path(__file__).resolve().parents[2]
TINY = {"n_layer": 2, "n_head": 2, "n_embd": 16}


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("to be or not to be, that is the question. " * 50)
    return path


def test_the_last_line_names_command_and_machine_and_is_stored_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: dict[str, Any] = {}
    monkeypatch.setattr(
        "benchmarks.step.measure_step", lambda **options: arguments.update(options) or {"step_ms": 1}
    )
    monkeypatch.chdir(tmp_path)
    words = ["step", "--version", "v7", "--rounds", 3]
    results = json.loads(run(*words).stdout.strip().splitlines()[-1])
    assert results["command"] == "python -m benchmarks step --version v7 --rounds 3"
    assert (results["machine"], results["step_ms"]) == (describe_machine(), 1)
    assert (arguments["version"], arguments["rounds"], arguments["batch_size"]) == ("v7", 3, 12)
    assert list(tmp_path.iterdir()) == []
    stored = run(*words, "--store", "--folder", tmp_path)
    assert (tmp_path / "step_v7.json").read_text() == json.dumps(json.loads(stored.stdout), indent=1) + "\n"
    assert str(tmp_path) not in stored.stdout


NUMBERS = [
    (name, option.opts[0], value)
    for name, command in sorted(main.commands.items())
    for option in command.params
    for value in {"integer": (0,), "float": ("nan",)}.get(option.type.name, ())
]


def test_useless_numbers_are_refused_before_anything_is_measured(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.timing.run_in_rounds", pytest.fail)
    for command, option, value in NUMBERS:
        corpus = ["--corpus", text] if command in ("recipe", "diffusion") else []
        result = run(command, option, value, *corpus)
        assert result.exit_code == 1, (command, option, value)
        assert option.removeprefix("--").replace("-", "_") in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch.compile's own, as it looks on
def test_the_run_for_a_gpu_goes_on_after_a_part_that_fails(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rehearse it on the processor."""

    def fail(path: Path) -> float:
        raise RuntimeError("device-side assert\nand much more")

    monkeypatch.setattr(gpu.notebooks, "run", fail)
    monkeypatch.setattr(gpu, "run_tests", lambda arguments: {"pytest": "1 passed"})
    monkeypatch.setattr(gpu, "SMALL", replace(gpu.SMALL, versions=("v4",), steps=10))
    result = run("gpu", "--device", "cpu", "--small", "--corpus", text, "--store", "--folder", tmp_path)
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "gpu.json").read_text())
    parts, large = stored["parts"], ["large v4, 20 steps", "large v7, 20 steps"]
    assert list(parts) == ["train v4", "tests", "notebook 02_learned_positions", *large]
    assert stored["failed"] == ["notebook 02_learned_positions"], result.output
    assert parts["train v4"]["graph_breaks"] == 0 < parts["train v4"]["eager"]
    assert parts[large[0]]["val"] <= gpu.SMALL.target
    assert parts[large[1]]["nelbo"] > 0
    assert "✗ notebook 02_learned_positions: error RuntimeError: device-side assert\n" in result.output


# ---------------------------------------------------------------- a training step


@pytest.mark.parametrize("version", ["v1", "v4", "v6"])
def test_every_part_of_a_step_is_timed_once(small_corpus: Corpus, version: str) -> None:
    ticks = itertools.count()
    meter = PartMeter(lambda: float(next(ticks)))
    model = build(version, ModelConfig(small_corpus.tokenizer.vocab_size, 8, **TINY))
    objective = MeteredObjective(step.fixed_size_objective(version, small_corpus, 8), meter)
    training = Training(model, objective, TrainConfig(steps=5, batch_size=3))
    step.add_meter_hooks(training, meter)
    before = next(ticks)
    parts = meter.measure_step(training.steps())
    after = next(ticks)
    optimizers = {type(optimizer).__name__ for optimizer in training.optimizers}
    assert set(parts) == {"rest", "batch", "loss", "forward", "backward"} | optimizers
    assert sum(parts.values()) == after - before - 2  # nothing is lost, nothing is counted twice
    assert all(taken >= 1 for taken in parts.values())


def test_the_parts_of_a_step_add_up_to_its_time() -> None:
    results = measure_step("v4", 3, 8, rounds=1, n_chars=9_000, **TINY)
    assert sum(results["ms"].values()) == pytest.approx(results["step_ms"], abs=0.01)
    assert results["steps"] == 10  # those of the first round warm up


# ---------------------------------------------------------------- how a step grows

TINY_SETTINGS = {
    "length": [scaling.Setting(n, 16, 20, 64 // n) for n in (16, 32)],
    "vocabulary": [scaling.Setting(16, 16, n, 2) for n in (20, 300)],
}


def test_a_step_of_each_version_is_measured_in_each_setting_beside_v4() -> None:
    results = scaling.measure_scaling(["v5", "v6", "v7"], 1, TINY_SETTINGS, "eager")
    assert list(results["axes"]) == ["length", "vocabulary"]
    for axis, entries in results["axes"].items():
        for entry, setting in zip(entries, TINY_SETTINGS[axis], strict=True):
            assert scaling.setting_of(entry) == setting
            assert list(entry["versions"]) == ["v4", "v5", "v6", "v7"]
            assert entry["versions"]["v4"]["of_v4"] == 1
            assert all(number > 0 for numbers in entry["versions"].values() for number in numbers.values())
    assert scaling.report(json.loads(json.dumps(results)))


def test_memory_is_that_of_tensors_and_equal_in_each_run() -> None:
    small, large = TINY_SETTINGS["vocabulary"]
    sizes = [scaling.peak_memory("v4", setting) for setting in (small, small, large)]
    assert sizes[0] == sizes[1]
    # Two tables with two moments of AdamW each, and in the backward pass logits and their gradient: float32.
    tables, logits = 3 * 2 * 16 * (300 - 20), 2 * 16 * 2 * (300 - 20)
    assert 4 * (tables + logits) <= sizes[2] - sizes[0] <= 8 * (tables + logits)


def test_an_unknown_version_is_refused_before_anything_is_measured() -> None:
    result = run("scaling", "--versions", "v5,v8")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: versions (v8) must be some of v1, v2,")


def entry(setting: scaling.Setting, **versions: tuple[float, float, float]) -> dict[str, Any]:
    numbers = {name: dict(zip(("ms", "of_v4", "mib"), row, strict=True)) for name, row in versions.items()}
    return {**asdict(setting), "versions": numbers}


def test_the_page_says_what_is_quadratic_and_what_logits_and_compiling_cost() -> None:
    short, long = scaling.Setting(1024, batch=2), scaling.Setting(2048, batch=1)
    small, large = scaling.Setting(vocabulary=65), scaling.Setting(vocabulary=32_000)
    axes = {
        "length": [
            entry(short, v4=(100, 1, 50), v5=(150, 1.5, 100), v3=(100, 1, 50)),
            entry(long, v4=(150, 1, 55), v5=(300, 2, 190), v3=(140, 0.9, 56)),
        ],
        "vocabulary": [
            entry(small, v4=(10, 1, 5), v5=(11, 1.1, 6), v3=(10, 1, 5)),
            entry(large, v4=(200, 1, 255), v5=(201, 1, 256), v3=(199, 1, 254)),
        ],
    }
    compiled = {"eager_ms": 50.0, "ratio": 0.5, "compile_s": 40.0, "break_even": 1600}
    text = scaling.report({"axes": axes, "compiled": compiled})
    assert "| length 2,048 | 2,048 | 150 | 55 | v5 2.00 | v5 3.45 |" in text
    assert "| v5 | 1.50 (2.00) | 2.00 (3.45) | 1.00 (1.00) | 1.90 |" in text
    assert "v4 takes 1.50 times the time, because" in text
    assert "It takes 1.10 times the memory" in text
    assert "Of 3 versions, 1 keep a number for each pair" in text
    assert "that of v5 1.90 times (last column)." in text
    assert "takes 20.0 times the time and 250 MiB more. The logits of 512 tokens are 62 MiB" in text
    assert "It pays after 1,600 steps." in text
    text = scaling.report({"axes": axes, "compiled": compiled | {"ratio": 1.1, "break_even": None}})
    assert "It never pays there." in text


def test_the_report_replaces_what_stands_between_its_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- scaling -->\nold\n<!-- end -->\nb\n<!-- live -->\nkept\n<!-- end -->\n")
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    (tmp_path / "benchmarks/results/scaling.json").write_text("{}")
    monkeypatch.setattr(scaling, "report", lambda results: "new")
    assert run("report", "--page", page).exit_code == 0
    marks = "a\n<!-- scaling -->\n\nnew\n\n<!-- end -->\nb\n<!-- live -->\nkept\n<!-- end -->\n"
    assert page.read_text() == marks


# ---------------------------------------------------------------- dashboards


def drawing(t: float, state: str, steps_made: int, frames: int, reading: str = "") -> dict[str, Any]:
    """Return a drawing of a run that began to train at 10 s, t seconds later; told 50 ms before."""
    now = 10_000 + 1000 * t
    head = {"state": state, "made": steps_made, "frames": [frames, 1], "reading": reading}
    return {"t": now, "at": now - 50, "ms": 2.0, **head}


DRAWN = [
    drawing(-2, "waiting", 0, 1),
    drawing(-1, "getting ready", 0, 1),
    drawing(0, "running", 0, 1),
    drawing(0.2, "running", 1, 1),
    drawing(0.3, "running", 1, 1),  # nothing new: a hand moved
    drawing(0.4, "running", 5, 2),
    drawing(1.0, "running", 9, 2),
    drawing(1.7, "running", 9, 2, "64 of 128 windows read"),
    drawing(2.0, "finished", 9, 2),
    drawing(9.0, "finished", 9, 2),
]
BOARD = {"cell": 3, "title": "v5", "watches": 2, "started": 8_500, "drawings": DRAWN}
MESSAGES = [(9_000, 500), (10_100, 1000), (11_000, 3000), (13_000, 9000)]


def test_the_motion_of_a_dashboard_is_read_from_its_drawings() -> None:
    """Take the worst of two dashboards in each respect; a third never trained."""
    slow = {**BOARD, "watches": 0, "started": None, "drawings": [*DRAWN[:4], drawing(4, "stopped", 2, 1)]}
    waits = {**BOARD, "drawings": DRAWN[:2]}
    runs = dashboard_runs({"boards": [BOARD, slow, waits], "messages": MESSAGES})
    slowest, run = worst(runs), runs[0]
    assert (run.cell, run.title, run.steps, run.seconds) == (3, "v5", 9, 2.0)
    assert (run.losses_per_s, run.measurements_per_s, run.drawings_per_s) == (1.5, 0.5, 3.0)
    assert (run.longest_still_s, run.shown_after_ms, run.redraw_ms) == (0.7, 50.0, 2.0)
    assert (run.kb_per_s, run.ready_s, run.first_loss_ms) == (2.0, 0.5, 50.0)
    assert (slowest["losses_per_s"], slowest["measurements_per_s"], slowest["longest_still_s"]) == (
        0.5,
        0.5,
        3.8,
    )


def test_a_later_dashboard_of_a_cell_does_not_count_its_wait_for_the_first_run() -> None:
    first, later = dashboard_runs({"boards": [BOARD, {**BOARD, "title": "v4"}], "messages": MESSAGES})
    assert (first.ready_s, later.ready_s) == (0.5, None)


def test_the_share_of_the_speed_that_is_kept_has_its_interval() -> None:
    assert live.share_kept([10, 20], [9, 18]) == {"mean": 0.9, "low": 0.9, "high": 0.9}
    share = live.share_kept([10, 10, 10], [9, 10, 8])
    assert share["low"] < 0.8 < share["mean"] < 0.9 < 1 < share["high"]


def test_the_page_has_the_stored_numbers_of_the_live_lab() -> None:
    stored = json.loads((ROOT / "benchmarks/results/live.json").read_text(encoding="utf-8"))
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert live.report(stored) in text, "python -m benchmarks report"
    if (path := ROOT / "benchmarks/results/scaling.json").exists():  # It needs a quiet machine.
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert scaling.report(stored) in text, "python -m benchmarks report"
