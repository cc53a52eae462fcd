"""Figures: measured, stored with the command that makes them, drawn from what was stored."""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from babygpt_course.studies import figures
from babygpt_course.studies.results import load_results
from babygpt_course.studies.roles_and_lengths import draw_roles, measure_lengths, measure_roles

FIGURES = Path(__file__).resolve().parents[3] / "figures"


@pytest.fixture
def measured(monkeypatch):
    """Let measuring the roles take no time; it counts how often it is done."""
    runs = []

    def measure():
        runs.append("measured")
        return {"accuracy": {"v4": [0.9, 1.0]}}

    monkeypatch.setitem(figures.FIGURES, "roles", figures.Study(draw_roles, measure))
    return runs


@pytest.mark.parametrize("name", [name for name, study in figures.FIGURES.items() if study.measure is None])
def test_what_needs_no_training_is_drawn(tmp_path, name):
    path = figures.make(name, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [name for name, study in figures.FIGURES.items() if study.measure])
def test_stored_results_are_drawn_and_name_their_command(name):
    found = load_results(name)
    assert found["command"] == f"python -m babygpt figures {name}"
    figure = Figure(figsize=(8, 4))
    figures.FIGURES[name].draw(figure, found)
    assert all(
        ax.get_title() + ax.get_title(loc="left") for ax in figure.axes if ax.get_label() != "<colorbar>"
    )


def test_measured_figures_store_their_numbers_and_command(tmp_path, measured):
    figures.make("roles", tmp_path / "pictures", results=tmp_path / "numbers")
    stored = json.loads((tmp_path / "numbers" / "roles.json").read_text())
    assert stored["command"] == "python -m babygpt figures roles"
    assert stored["accuracy"] == {"v4": [0.9, 1.0]}
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["roles.png"]


def test_redrawing_trains_nothing_and_prefers_the_folder_to_the_package(tmp_path, measured):
    packaged = figures.make("roles", tmp_path / "packaged", redraw=True).read_bytes()
    assert measured == []
    figures.make("roles", tmp_path)
    ours = figures.make("roles", tmp_path, redraw=True).read_bytes()
    assert measured == ["measured"]
    assert ours != packaged


def test_redrawing_what_nobody_has_measured_is_refused(tmp_path, monkeypatch, measured):
    monkeypatch.setitem(figures.FIGURES, "new", figures.FIGURES["roles"])
    with pytest.raises(ValueError, match="python -m babygpt figures new"):
        figures.make("new", tmp_path, redraw=True)


@pytest.mark.parametrize("name", ["branch_share", "branches", "ladder"])
def test_tables_are_those_of_the_repository(tmp_path, name):
    figures.make(name, tmp_path, redraw=True)
    assert (tmp_path / f"{name}.md").read_bytes() == (FIGURES / f"{name}.md").read_bytes()


def test_an_unknown_figure_names_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="sinusoid"):
        figures.make("nonsense", tmp_path)


def test_roles_measures_every_seed_of_every_version():
    results = measure_roles(versions=("nope",), seeds=(1, 2), steps=1, n_chars=9_000, n_questions=4)
    assert {v: len(a) for v, a in results["accuracy"].items()} == {"nope": 2}


def test_lengths_ends_where_a_model_refuses():
    results = measure_lengths(("learned", "v4"), seeds=(1, 2), steps=2, block_size=16, n_chars=9_000)
    assert {v: len(losses) for v, losses in results["loss"].items()} == {"learned": 16, "v4": 64}
    assert {v: len(seeds) for v, seeds in results["change"].items()} == {"v4": 2}
