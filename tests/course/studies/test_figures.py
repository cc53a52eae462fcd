"""Contract of all studies: complete, drawn again, resumed after a stop; foreign results are refused."""

import json
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from matplotlib.figure import Figure

from babygpt.errors import BadInput
from babygpt.experiments.paired import FEWEST_SEEDS, RULE
from babygpt.experiments.sweep import SEEDS, StudySize, in_turn
from babygpt_course.commands.run_studies import figures as command
from babygpt_course.studies import (
    board,
    branches,
    figures,
    polar_repairs,
    published_model,
    remasking,
    slopes,
    stretch,
    strides,
)
from babygpt_course.studies.names import draw_names, measure_names
from babygpt_course.studies.results import load_results

FIGURES = Path(__file__).resolve().parents[3] / "figures"
OTHERS = {"whole": {"v4": [0.1, 0.2]}, "letters": {"v4": [[0.1, 1.6], [0.2, 1.5]]}}
QUICK = StudySize(steps=4, seeds=(1, 2), n_chars=9_000, n_questions=8)


@pytest.fixture
def measured(monkeypatch):
    """Let measuring the names take no time, and count how often it is done."""
    runs = []

    def measure(workers):
        runs.append("measured")
        return {"accuracy": {"v4": [0.9, 1.0]}, **OTHERS}

    monkeypatch.setitem(figures.FIGURES, "names", figures.Study(measure, draw_names, (8.0, 3.0)))
    return runs


@pytest.mark.parametrize("name", figures.FIGURES)
def test_stored_results_are_drawn_and_name_their_command(name):
    results, study = load_results(name), figures.FIGURES[name]
    assert results["command"] == f"python -m babygpt figures {name}"
    figure = Figure(figsize=study.size)
    study.draw(figure, results)
    axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert all(ax.get_title() + ax.get_title(loc="left") for ax in axes)
    if study.table:
        assert study.table(results) == (FIGURES / f"{name}.md").read_text(encoding="utf-8")


# The studies `floors` and `real` train nothing.
TRAINED = [name for name in figures.FIGURES if name not in ("floors", "real")]
PLANS = {  # what is stored for each variant of a study, and the variants
    "branches": ("runs", branches.branch_plans(400)),
    "strides": ("runs", strides.stride_plans()),
    "stretch": ("runs", {*stretch.ARMS, *stretch.UNTUNED, *(f"{name} tuned" for name in stretch.TUNED)}),
    "polar": ("val_loss", polar_repairs.LABELS),
    "remasking": ("ways", remasking.WAYS),
    "ladder": ("board", [rung.name for rung in board.RUNGS]),
}


@pytest.mark.parametrize("name", PLANS)
def test_every_variant_of_the_plan_is_stored(name):
    results, (key, plan) = load_results(name), PLANS[name]
    assert set(results[key]) == set(plan)
    for variant, measured in results[key].items():
        seeds = measured.values() if isinstance(measured, dict) else [measured]
        counts = {len(each) for each in seeds if isinstance(each, list)}
        assert counts <= {6, len(results["seeds"])}, variant  # a few wait for the others


@pytest.mark.parametrize("name", TRAINED)
def test_a_study_that_trains_is_stored_from_twelve_seeds_with_its_hardware_and_the_rule(name):
    results, table = load_results(name), figures.FIGURES[name].table
    assert len(set(results["seeds"])) >= FEWEST_SEEDS
    assert {"device", "threads", "instructions"} <= results.keys()
    assert all(text in table(results) for text in (RULE, f"{len(results['seeds'])} seeds") if table)


def test_the_command_stores_numbers_and_resumes_after_a_stop(tmp_path, monkeypatch):
    """Run a study in parallel and in turn: the same numbers, and nothing left but picture and numbers."""
    measure = partial(measure_names, scale=QUICK)
    monkeypatch.setitem(figures.FIGURES, "names", figures.FIGURES["names"]._replace(measure=measure))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for way in (["--workers", "2"], []):
            words = ["names", "--folder", str(tmp_path / f"{len(way)}"), *way]
            result = CliRunner().invoke(command, words, catch_exceptions=False)
            assert result.exit_code == 0, result.output
    finally:
        torch.set_num_threads(threads)
    serial, parallel = (json.loads((tmp_path / n / "names.json").read_text()) for n in ("0", "2"))
    assert serial | {"minutes": 0} == parallel | {"minutes": 0}
    assert {path.name for path in (tmp_path / "2").iterdir()} == {"names.png", "names.json"}
    assert serial["commit"] == figures.commit_of(FIGURES)
    assert [len(seeds) for seeds in serial["val_loss"].values()] == [2, 2]


def test_a_commit_says_whether_code_was_changed_since(tmp_path):
    assert figures.commit_of(tmp_path) is None
    git = ["git", "-C", tmp_path, "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    (tmp_path / "code.py").write_text("1\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *words], check=True)
    commit = figures.commit_of(tmp_path)
    assert len(commit) == 12
    (tmp_path / "notes.md").write_text("Numbers are no code.\n")
    assert figures.commit_of(tmp_path) == commit
    (tmp_path / "code.py").write_text("2\n")
    assert figures.commit_of(tmp_path) == f"{commit}+"


ONCE = {part: (measure, 1) for part, (measure, _) in published_model.PARTS.items() if part != "map"}
QUICK_STUDIES = {
    "real": {"parts": ONCE},  # without its map, for which each head is silenced
    "neighbours": {"scale": replace(QUICK, seeds=(1,)), "every": 2},
    "late": {"scale": replace(QUICK, seeds=(1,)), "every": 2},
    "places": {"scale": replace(QUICK, seeds=(1,)), "every": 2},
    "distances": {"scale": replace(QUICK, seeds=(1,)), "every": 2},
    "sinks": {"scale": QUICK, "n_texts": 2},
    "floors": {"names": ("plain-tales",), "n_windows": 4},
    "remasking": {"scale": QUICK, "n_texts": 1},
    "ladder": {"scale": QUICK, "floor_windows": 3, "rounds": 1},
    "gaussian": {"scale": replace(QUICK, n_questions=60)},
    "lookup": {"scale": replace(QUICK, steps=50)},
    "polar": {"scale": replace(QUICK, steps=20, seeds=(1,))},
    "branches": {"scale": replace(QUICK, seeds=(1,))},
    "strides": {"scale": replace(QUICK, seeds=SEEDS)},  # paired with those of the stored branches
    "plain": {"scale": replace(QUICK, seeds=SEEDS[:2])},  # paired with those of the stored board
    "slopes": {"scale": replace(QUICK, seeds=slopes.SCALE.seeds[:2])},  # paired with those of plain
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*figures.FIGURES, *figures.PLANNED])
def test_every_study_measures_the_numbers_that_it_draws(name):
    study = figures.study_named(name)
    results = study.measure(in_turn, **QUICK_STUDIES.get(name, {"scale": QUICK}))
    results = {"command": "made", "minutes": 1.0, **json.loads(json.dumps(results))}
    assert name in figures.PLANNED or results.keys() <= load_results(name).keys()
    study.draw(Figure(figsize=study.size), results)
    assert not study.table or study.table(results)


def test_a_planned_study_has_no_stored_results():
    for name in (*figures.PLANNED, "no study"):
        with pytest.raises(BadInput, match=f"python -m babygpt figures {name}"):
            load_results(name)
        assert name not in figures.FIGURES


def test_selected_runs_from_other_seeds_are_stored_and_not_drawn(tmp_path, monkeypatch):
    measure = partial(measure_names, scale=QUICK)
    monkeypatch.setitem(figures.FIGURES, "names", figures.FIGURES["names"]._replace(measure=measure))
    store = figures.make_figure("names", tmp_path, seeds=(3, 4), only=" 4 steps")
    results = json.loads(store.read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["names.json"]
    assert results["command"] == "python -m babygpt figures names --seeds 3,4 --only ' 4 steps'"
    assert {name: len(seeds) for name, seeds in results["val_loss"].items()} == {
        "v4, plain-tales, 4 steps": 2
    }


def test_redrawing_trains_nothing_and_prefers_the_folder_to_the_package(tmp_path, measured):
    packaged = figures.make_figure("names", tmp_path / "packaged", redraw=True).read_bytes()
    assert measured == []
    figures.make_figure("names", tmp_path / "pictures", results=tmp_path)
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["names.png"]
    ours = figures.make_figure("names", tmp_path, redraw=True).read_bytes()
    assert measured == ["measured"]
    assert ours != packaged


def test_redrawing_without_stored_numbers_is_refused(tmp_path, monkeypatch, measured):
    monkeypatch.setitem(figures.FIGURES, "new", figures.FIGURES["names"])
    with pytest.raises(BadInput, match="python -m babygpt figures new"):
        figures.make_figure("new", tmp_path, redraw=True)
    with pytest.raises(BadInput, match=r"no .*mistyped"):  # The package's numbers are not drawn instead.
        figures.make_figure("names", tmp_path, redraw=True, results=tmp_path / "mistyped")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", figures.FIGURES)
def test_foreign_results_are_refused_by_their_file_and_draw_nothing(tmp_path, name):
    for foreign in ({"command": "theirs"}, load_results("ladder" if name == "names" else "names")):
        (tmp_path / f"{name}.json").write_text(json.dumps(foreign))
        with pytest.raises(BadInput, match=rf"{name}\.json does not hold the results of {name}"):
            figures.make_figure(name, tmp_path, redraw=True)
    assert [path.suffix for path in tmp_path.iterdir() if path.stem == name] == [".json"]
