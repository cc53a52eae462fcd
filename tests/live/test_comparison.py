"""Picture of a comparison: curves with a band of seeds, and a dot for each paired difference."""

import matplotlib
import pytest
from matplotlib.figure import Figure

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt_live import comparison, comparison_view, view
from babygpt_live.comparison_view import GrowingCurves, watch_comparison
from babygpt_live.panel import Curve, Level, unpack
from babygpt_live.style import STYLE

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
    assert " ".join(ax.get_title().split()).startswith(
        "Loss, lower is better: v4 ends at 0.750, alibi ends at 0.750"
    )


def test_the_labels_of_learning_curves_lie_within_their_part_of_the_picture(results):
    with matplotlib.rc_context(STYLE):
        figure = Figure((comparison.WIDTH, comparison.CURVES_HEIGHT))
        ax = figure.subplots()
        comparison.draw_learning_curves(ax, results)
    figure.draw_without_rendering()
    for words in (ax.xaxis.label, ax.yaxis.label, ax._left_title):
        (x0, y0), (x1, y1) = words.get_window_extent().get_points()
        assert min(x0, y0) >= 0
        assert x1 <= figure.bbox.x1
        assert y1 <= figure.bbox.y1


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


# ---------------------------------------------------------------- curves that grow


def test_the_mean_is_that_of_finished_runs_and_every_run_is_a_thin_line():
    curves = {
        "v4": {1: [[2, 3.0], [4, 2.0]], 2: [[2, 2.0], [4, 1.0]], 3: [[2, 9.0]]},
        "alibi": {1: [[2, 3.5]]},
    }
    panel = comparison.growing_panel(curves, 4, floor=0.5)
    assert panel.title == "Loss: v4 ends at 1.500 (2 seeds)"
    thin = [curve for curve in panel.marks if isinstance(curve, Curve) and curve.look == "thin"]
    assert [curve.y.tolist() for curve in thin] == [[3, 2], [2, 1], [9], [3.5]]
    means = [curve for curve in panel.marks if isinstance(curve, Curve) and curve.look == "marked"]
    assert [(mean.name, mean.y.tolist(), mean.x.tolist()) for mean in means] == [
        ("v4", [2.5, 1.5], [2, 4]),
        ("alibi", [], []),
    ]
    assert panel.y.span == (0.5, 9.0)
    assert panel.find(Level).at == 0.5


def test_before_the_first_loss_there_is_an_empty_panel():
    assert comparison.growing_panel({"v4": {}}, 4).title == "Loss: no run is finished yet"


def test_a_comparison_is_watched_while_it_trains_and_ends_at_the_numbers_of_its_table(monkeypatch):
    frames, published = [], []
    corpus = from_text("cats", "the cat sat on the mat. " * 40)
    shape = ModelConfig(corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)
    variants = ["v4", ("v4-shift", {"back": 2})]
    monkeypatch.setattr(view, "show", lambda data, **how: published.append((data, how)))
    monkeypatch.setattr(comparison_view, "display", lambda widget: widget._ipython_display_())
    monkeypatch.setattr(
        GrowingCurves,
        "send_state",
        lambda widget, key=None: frames.append(widget.shown) if key == "shown" else None,
    )
    trained = watch_comparison(
        variants, corpus, [1, 2], shape, TrainConfig(steps=4, batch_size=2, eval_every=2)
    )
    panels = [frame["frames"][0][0] for frame in frames]
    n_points = [
        sum(len(mark["y"]["data"]) for mark in panel["marks"] if mark["look"] == "thin") for panel in panels
    ]
    assert n_points == sorted(n_points)
    assert len(set(n_points)) == 9  # a frame for each of two validations of four runs, and an empty one
    names = [row["variant"] for row in trained.rows]
    means = [row["means"]["loss"]["mean"] for row in trained.rows]
    words = ", ".join(f"{name} ends at {mean:.3f} (2 seeds)" for name, mean in zip(names, means, strict=True))
    assert panels[-1]["title"] == f"Loss: {words}"
    ends = [unpack(mark["y"])[-1] for mark in panels[-1]["marks"] if mark["look"] == "marked"]
    assert ends == pytest.approx(means, rel=1e-6)
    still, how = published[-1]
    assert how["update"]
    assert f"v4-shift (back 2) ends at {means[1]:.3f}" in still["image/svg+xml"].replace("\n", " ")
