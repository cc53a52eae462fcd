"""Drawing functions put the numbers they are given on the Axes they are given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from babygpt import plots


@pytest.fixture
def ax():
    return Figure().subplots()


def labelled(ax):
    return bool(ax.get_title(loc="left") or ax.get_title()) and bool(ax.get_ylabel())


def test_losses_are_smoothed_and_floors_drawn(ax):
    plots.draw_losses(ax, {"v4": [4.0, 2.0, 2.0, 0.0]}, {"floor": 0.5}, "it falls", smooth=2)
    curve, floor = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), [3.0, 2.0, 1.0])
    np.testing.assert_allclose(curve.get_xdata(), [2, 3, 4])
    assert set(floor.get_ydata()) == {0.5}
    assert labelled(ax)


def test_a_curve_that_ends_early_is_drawn_to_its_end(ax):
    plots.draw_by_position(ax, {"learned": np.ones(32), "v4": np.arange(64.0)}, 32, "how far", smooth=16)
    short, long = ax.lines[:2]
    assert list(short.get_xdata()) == [8, 24]
    np.testing.assert_allclose(long.get_ydata(), np.arange(64).reshape(4, 16).mean(axis=1))


def test_bars_show_the_mean_and_dots_each_seed(ax):
    plots.draw_accuracies(ax, {"nope": [0.5, 0.7], "v4": [1.0, 1.0]}, "who did it")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([60, 100])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [50, 70])


def test_a_diverging_matrix_is_centred_on_zero(ax):
    plots.draw_matrix(ax, np.array([[1.0, -3.0]]), "m", "x", "y", diverging=True)
    assert ax.images[0].get_clim() == (-3, 3)
    np.testing.assert_allclose(ax.images[0].get_array(), [[1, -3]])


def test_a_matrix_carries_its_ticks(ax):
    plots.draw_matrix(ax, np.eye(2), "m", "x", "y", ticks=["a", "b"])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]


def test_the_clock_points_where_the_angles_say(ax):
    plots.draw_clock(ax, [0.0, np.pi / 2], ["right", "up"], "clock")
    tips = [a.xy for a in ax.texts if not a.get_text()]
    np.testing.assert_allclose(tips, [(1, 0), (0, 1)], atol=1e-12)


def test_each_encoding_has_a_colour_of_its_own_beside_its_rivals():
    rivals = ["nope", "learned", "v3", "v4", "alibi"]
    assert len({plots.ENCODING_COLOURS[name] for name in rivals}) == len(rivals)
