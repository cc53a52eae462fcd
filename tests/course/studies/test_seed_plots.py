"""Stored results are drawn seed by seed."""

import pytest

from babygpt_course.studies import seed_plots


def test_gaps_are_a_row_for_each_code_and_a_colour_for_each_number(ax):
    gaps = {"none": {"2": [0.1, 0.2], "4": [0.3, 0.4]}, "Fourier": {"2": [-0.001, 0.0], "4": [1.0, 1.1]}}
    seed_plots.draw_gaps(ax, {**gaps, "random": {}}, "what company costs", {"Fourier": {"4": [0.6, 0.7]}})
    shown = sorted((it.get_ydata()[0], *it.get_xdata()) for it in ax.get_lines() if len(it.get_xdata()))
    assert shown == [(0, 0.1, 0.2), (0, 0.3, 0.4), (1, -0.001, 0.0), (1, 1.0, 1.1), (1.25, 0.6, 0.7)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["2 texts", "4 texts"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["none", "Fourier", "random"]


def test_strides_are_a_line_for_each_code_and_a_dot_for_each_seed(ax):
    curves = {"Fourier": {1: [0.1, 0.3], 128: [0.5]}, "code (formula)": {1: [1.0], 128: [0.4]}}
    seed_plots.draw_by_stride(ax, curves, "a finding", "cosine")
    lines = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert list(lines["Fourier"].get_xdata()) == [1, 128]
    assert list(lines["Fourier"].get_ydata()) == pytest.approx([0.2, 0.5])
    assert lines["code (formula)"].get_linestyle() == "--"
    dots = [tuple(line.get_ydata()) for line in ax.get_lines() if line.get_marker() == "o"]
    assert dots == [(0.1, 0.3), (0.5,), (1.0,), (0.4,)]


def test_rows_are_a_name_each_with_a_dot_for_each_seed_and_a_bar_at_their_mean(ax):
    values = {"v4": [1.0, 2.0, 6.0], "v3": [2.0, 2.0, 2.0]}
    seed_plots.draw_seed_dots(ax, values, "a finding", "nats", {"floor": -5.0}, means=True)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["v4", "v3"]
    assert ax.lines[0].get_xydata().tolist() == [[1, 0], [2, 0], [6, 0]]
    bars = [it.get_xdata() for it in ax.lines if it.get_linestyle() == "-"]
    assert [list(bar) for bar in bars] == [[3, 3], [2, 2]]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first name is on top
    assert ax.get_xlim()[0] < -5  # the axis has room for what rows are compared with


def test_seeds_are_dots_without_a_mean_and_a_model_that_refuses_has_a_row(ax):
    values, rings = {"v4": [1.0, 6.0], "v2": []}, {"v4": [2.0, 3.0]}
    seed_plots.draw_seed_dots(
        ax, values, "a finding", "nats", {"chance": 0.5}, (0, 9), rings, {"v2": "refuses"}
    )
    dots = {(*map(float, line.get_xdata()),) for line in ax.lines if line.get_marker() == "o"}
    assert dots == {(1.0, 6.0), (2.0, 3.0), ()}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["v4", "v2"]
    assert [(note.get_text(), note.xy[1]) for note in ax.texts] == [("refuses", 1)]
    assert ax.get_xlim() == (0, 9)
