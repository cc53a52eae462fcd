"""Picture of a comparison: curves with a band of seeds, and a dot for each paired difference."""

import pytest
from matplotlib.figure import Figure

from babygpt_live import comparison

GAPS = {  # of two variants to v4
    "loss": {"mean": 0.2, "low": 0.1, "high": 0.3, "n": 3, "p": 0.01, "verdict": None},
    "roles": {"mean": -0.1, "low": None, "high": None, "n": 2, "p": None, "verdict": None},
}
EACH = {"loss": {"1": 0.1, "2": 0.3, "3": 0.2}, "roles": {"1": -0.05, "2": -0.15}}


@pytest.fixture
def results():
    """Return the results of three variants from two seeds, as `compare` stores them."""
    gaps = {name: {**gap, "each": EACH[name]} for name, gap in GAPS.items()}
    means = {"loss": {"mean": 1.0, "sd": 0.1}, "roles": {"mean": 0.5, "sd": 0.1}}
    names = ("v4", "alibi", "mine.py:Sandwich")
    rows = [
        {"variant": name, "means": means, "differences": gaps if name != "v4" else {}, "rate": 1}
        for name in names
    ]
    runs = [{"curve": [[1, 3.0], [2, 1.0]]}, {"curve": [[1, 2.0], [2, 0.5]]}]
    return {"rows": rows, "runs": dict.fromkeys(names, runs), "seeds": [1, 2], "floor": 0.4}


def test_a_learning_curve_is_the_mean_in_a_band_of_all_seeds(ax, results):
    comparison.draw_learning_curves(ax, results)
    curve = ax.get_lines()[0]
    assert curve.get_label() == "v4"
    assert curve.get_ydata().tolist() == [2.5, 0.75]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.5, 3.0)
    assert ax.get_lines()[-1].get_label() == "floor 0.400"
    assert " ".join(ax.get_title().split()).startswith("Loss: v4 ends at 0.750, alibi ends at 0.750")


def test_every_variant_has_a_colour_of_its_own(results):
    assert len(set(comparison.colours_of(results).values())) == 3


def test_differences_are_a_dot_for_each_seed_with_an_interval_where_there_is_one(ax, results):
    comparison.draw_differences(ax, results, "loss")
    first_row = [line.get_xdata() for line in ax.get_lines() if line.get_ydata()[0] in (0, 0.25)]
    assert [list(xs) for xs in first_row[1:]] == [[0.1, 0.3, 0.2], [0.1, 0.3], [0.2]]
    assert [text.get_text() for text in ax.texts] == ["alibi", "Sandwich"]
    answers = Figure().subplots()
    comparison.draw_differences(answers, results, "roles")
    dots = [line.get_xdata() for line in answers.get_lines() if line.get_marker() == "o"]
    assert list(dots[0]) == pytest.approx([-5, -15])  # points of right answers
    spans = [
        line for line in answers.get_lines()[1:] if line.get_marker() == "None" and len(line.get_xdata())
    ]
    assert spans == []


def test_a_long_name_pushes_no_title_off_the_picture(results):
    name = "a_file_with_a_long_name.py:AnEncodingThatHasALongNameToo"
    results["rows"][2]["variant"], results["runs"][name] = name, []
    figure = Figure(figsize=(comparison.WIDTH, 3), layout="constrained")
    ax = figure.subplots()
    comparison.draw_differences(ax, results, "loss")
    figure.draw_without_rendering()
    assert ax.title.get_window_extent().x1 <= figure.bbox.x1
    assert ax.xaxis.label.get_window_extent().x1 <= figure.bbox.x1


def test_the_picture_is_a_png_file(results):
    assert comparison.draw_comparison(results).startswith(b"\x89PNG")
