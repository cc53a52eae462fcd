"""Figures: measured, stored with the command that makes them, drawn from what was stored."""

import json

import pytest

from babygpt.experiments import figures, lengths, roles


@pytest.mark.parametrize("name", ["sinusoid", "rope"])
def test_a_figure_is_drawn(tmp_path, name):
    path = figures.make(name, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_measured_figures_store_their_numbers_and_command(tmp_path, monkeypatch):
    fake = figures.Picture(figures.draw_roles, lambda: {"accuracy": {"v4": [0.9, 1.0]}})
    monkeypatch.setitem(figures.FIGURES, "roles", fake)
    figures.make("roles", tmp_path)
    stored = json.loads((tmp_path / "roles.json").read_text())
    assert stored["command"] == "python -m babygpt figures roles"
    assert stored["accuracy"] == {"v4": [0.9, 1.0]}
    monkeypatch.setitem(figures.FIGURES, "roles", figures.Picture(figures.draw_roles, lambda: 1 / 0))
    figures.make("roles", tmp_path, redraw=True)


def test_redrawing_without_results_is_refused(tmp_path):
    with pytest.raises(ValueError, match="redraw"):
        figures.make("roles", tmp_path, redraw=True)


def test_an_unknown_figure_names_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="sinusoid"):
        figures.make("nonsense", tmp_path)


def test_roles_measures_every_seed_of_every_version():
    results = roles.roles(versions=("nope",), seeds=(1, 2), steps=1, n_chars=9_000, n_questions=4)
    assert {v: len(a) for v, a in results["accuracy"].items()} == {"nope": 2}


def test_lengths_ends_where_a_model_refuses():
    results = lengths.lengths(versions=("learned", "v4"), steps=2, block_size=16, n_chars=9_000)
    assert {v: len(losses) for v, losses in results["loss"].items()} == {"learned": 16, "v4": 64}
