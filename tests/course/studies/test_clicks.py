"""Study of the click: when seeds begin to answer and to spell, stored model by model."""

from dataclasses import replace
from math import inf

import pytest
from matplotlib.figure import Figure

from babygpt.errors import BadInput
from babygpt.experiments.sweep import StudySize
from babygpt_course.studies import clicks, figures

AT = [50, 100, 150, 200]
ABOUT = {"command": "made", "minutes": 1.5, "steps": 200, "seeds": [1, 2]}


def results(**models):
    """Return results of two seeds; a model is given by its shares of answers and of names."""
    losses = [[0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.8, 0.7]]
    by_model = {name: {"answers": a, "spells": s, "loss": losses} for name, (a, s) in models.items()}
    return {**ABOUT, "at": AT, "asked": {"questions": [100, 400]}, "models": by_model}


EARLY = [[0.9, 1, 1, 1], [0.5, 0.9, 1, 1]], [[0, 0.8, 0.8, 1], [0, 0.9, 0.79, 0.7]]
LATE = [[0.5, 0.95, 0.5, 0.92], [0.5, 0.5, 0.5, 0.5]], [[0, 0, 0, 0.1], [0, 0, 0, 0]]
TWO = results(v4=EARLY, nope=LATE)


@pytest.mark.parametrize(
    ("shares", "step"),
    [
        ([0.9, 0.9, 1, 1], 50),
        ([0.1, 0.9, 1, 1], 100),
        ([0.95, 0.95, 0.89, 0.95], 200),  # a share that falls again has not clicked
        ([1, 1, 1, 0.89], inf),
        ([0, 0, 0, 0], inf),
    ],
)
def test_a_seed_clicks_at_the_first_step_after_which_no_share_is_too_low(shares, step):
    assert clicks.click_step(AT, shares, 0.9) == step


def test_seeds_that_never_click_are_counted():
    assert clicks.click_steps(TWO, "answers") == {"v4": [50, 100], "nope": [200, inf]}
    assert clicks.click_steps(TWO, "spells") == {"v4": [100, inf], "nope": [inf, inf]}
    counts = {name: each.tolist() for name, each in clicks.clicked(TWO, "answers").items()}
    assert counts == {"v4": [1, 2, 2, 2], "nope": [0, 0, 0, 1]}


def test_each_encoding_is_a_line_that_rises_with_its_seeds():
    figure = Figure(figsize=(13, 5))
    clicks.draw_clicks(figure, TWO)
    answers, spells = figure.axes
    lines = {line.get_label(): line.get_ydata() for line in answers.get_lines()}
    heights = {name: [round(y) for y in ys] for name, ys in lines.items()}
    assert heights == {"RoPE": [0, 1, 2, 2, 2], "NoPE": [0, 0, 0, 0, 1]}
    titles = [" ".join(ax.get_title().split()) for ax in (answers, spells)]
    assert titles[0] == "Half of the seeds answer by step 50 (RoPE) to 200 (NoPE)"
    assert titles[1] == "Half of the seeds spell by step 100 (RoPE), and fewer by the end with NoPE"
    assert clicks.click_title(results(nope=LATE), "spells") == "No encoding lets half of the seeds spell"


def test_the_table_counts_seeds_and_splits_the_last_loss(monkeypatch):
    monkeypatch.setattr(clicks, "STOPS", (100, 200, 600))
    rows = [row.strip("| ").split(" | ") for row in clicks.table(TWO).splitlines() if row.startswith("|")]
    assert ["RoPE", "answer", "2", "2", "50", "50 100"] in rows
    assert ["RoPE", "spell", "1", "1", "100", "100 –"] in rows
    assert ["NoPE", "answer", "0", "1", "200", "200 –"] in rows
    assert ["RoPE", "0.650 ± 0.071", "0.600", "0.700"] in rows


def test_models_are_stored_one_command_after_the_other(tmp_path, monkeypatch):
    """Measure two models in two calls: the file holds both, and no other settings are let in."""
    quick = StudySize(steps=4, seeds=(1, 2), n_chars=9_000, n_questions=8)

    def make(only, scale=quick):
        def measure(workers):
            return clicks.measure_clicks(workers, scale, every=3)

        monkeypatch.setitem(figures.FIGURES, "clicks", figures.FIGURES["clicks"]._replace(measure=measure))
        return figures.load_results("clicks", figures.make_figure("clicks", tmp_path, only=only).parent)

    first, both = make("'nope'"), make("'v4'")
    assert [*both["models"]] == ["v4", "nope"]
    assert both["models"]["nope"] == first["models"]["nope"]
    assert both["command"] == "python -m babygpt figures clicks"
    assert both["at"] == [3, 4]
    assert [len(curve) for curve in both["models"]["v4"]["loss"]] == [2, 2]
    with pytest.raises(BadInput, match="differ from the new ones in steps"):
        make("'v3'", replace(quick, steps=5))
