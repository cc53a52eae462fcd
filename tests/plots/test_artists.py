"""Artists are put on an Axes once. A second call moves them, and leaves alone what did not change."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text

from babygpt.plots import artists


def new_axes():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.subplots()


@pytest.fixture
def ax():
    return new_axes()


def held(artist):
    """Return the position of an artist and all that it shows."""
    if isinstance(artist, AxesImage):
        return artist.get_array().tolist(), artist.get_extent(), artist.get_clim()
    if isinstance(artist, Text):
        return artist.get_text(), artist.get_position(), getattr(artist, "xy", None)
    return artist.get_xydata().tolist(), artist.get_label()


PUT = {
    "line": lambda ax, n: artists.line(ax, "a", [0, n], [n, 3], label=f"curve {n}"),
    "level": lambda ax, n: artists.horizontal_line(ax, "a", n, color="red"),
    "upright": lambda ax, n: artists.vertical_line(ax, "a", n, color="red"),
    "picture": lambda ax, n: artists.image(ax, "a", np.full((2, 3), n), (0, n), None),
    "larger picture": lambda ax, n: artists.image(ax, "a", np.eye(n, 2 * n), (0, 1), None),
    "words": lambda ax, n: artists.text(ax, "a", (n, 2 * n), f"word {n}", ha="right"),
}


@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
def test_a_second_call_moves_the_artist_and_adds_none(ax, put):
    first = put(ax, 1)
    where, count = held(first), len(ax.get_children())
    assert put(ax, 2) is first
    assert len(ax.get_children()) == count
    assert held(first) == held(put(new_axes(), 2)) != where


@pytest.mark.parametrize("kind", ["line", "level", "upright", "words"])
def test_moving_an_animated_artist_leaves_the_rest_of_the_figure_alone(ax, kind):
    """Animate an artist, as a canvas does with its moving artists."""
    PUT[kind](ax, 1)
    artists.set_title(ax, "title 1")
    for artist in artists.moving_artists(ax):
        artist.set_animated(True)
    ax.figure.canvas.draw()
    PUT[kind](ax, 2)
    artists.set_title(ax, "title 2")
    assert not ax.figure.stale


def test_an_artist_of_another_kind_or_name_is_not_taken_for_it(ax):
    line, dot = artists.line(ax, "a", [0], [0]), artists.line(ax, "b", [1], [1])
    word = artists.text(ax, "a", (0, 0), "a")
    assert artists.find_artist(ax, Line2D, "a") is line
    assert artists.find_artist(ax, Line2D, "b") is dot
    assert artists.find_artist(ax, Annotation, "a") is word
    assert artists.find_artist(ax, AxesImage, "a") is None
    assert artists.find_artist(ax, Line2D, "c") is None


def test_a_picture_of_the_same_shape_and_span_leaves_the_rest_of_the_figure_alone(ax):
    artists.image(ax, "a", np.eye(2), (0, 1), None).set_animated(True)
    ax.figure.canvas.draw()
    artists.image(ax, "a", np.zeros((2, 2)), (0, 1), None)
    assert not ax.figure.stale
    artists.image(ax, "a", np.zeros((2, 2)), (0, 2), None)  # another colour bar
    assert ax.figure.stale


def test_moving_artists_are_the_named_ones_from_bottom_to_top(ax):
    ax.plot([0, 1], [0, 1])
    dot = artists.line(ax, "dot", [0], [0], zorder=3)
    line = artists.line(ax, "line", [0, 1], [0, 1])
    image = artists.image(ax, "image", np.eye(2), (0, 1), None)
    assert artists.moving_artists(ax) == [image, line, dot]


def test_keep_only_removes_unlisted_artists_of_one_kind(ax):
    plain = ax.plot([0, 1], [0, 1])[0]
    stays = artists.line(ax, "stays", [0], [0])
    artists.line(ax, "goes", [0], [0])
    word = artists.text(ax, "goes", (0, 0), "word")
    artists.keep_only(ax, Line2D, ["stays"])
    assert list(ax.lines) == [plain, stays]
    assert word in ax.texts
    artists.keep_only(ax, Annotation, [])
    assert list(ax.texts) == []
    assert list(ax.lines) == [plain, stays]


def test_a_picture_has_one_colour_bar_that_follows_its_span(ax):
    for top in (1, 2, 2):
        shown = artists.image(ax, "a", np.eye(2), (0, top), None)
    assert len(ax.figure.axes) == 2
    assert shown.colorbar.ax.get_ylim() == shown.get_clim() == (0, 2)


@pytest.mark.parametrize(
    "setting",
    [
        lambda ax, n: artists.set_limits(ax, (0.0, float(n)), (-1.0, float(n))),
        lambda ax, n: artists.set_limits(ax, y=(-1.0, float(n))),
        lambda ax, n: artists.set_ticks(ax.xaxis, range(n), ["a", "b", "c"][:n], labelsize=8),
        lambda ax, n: (artists.find_artist(ax, Line2D, "two").set_label(f"two {n}"), artists.set_legend(ax)),
        lambda ax, n: artists.set_title(ax, f"title {n}"),
        lambda ax, n: artists.set_labels(ax, "finding", f"x {n}", "y"),
        lambda ax, n: artists.set_labels(ax, "finding", "x", f"y {n}"),
        lambda ax, n: artists.keep_only(ax, Line2D, ["one", "two"][: n - 1]),
    ],
    ids=["limits", "one limit", "ticks", "legend", "title", "x label", "y label", "keep"],
)
def test_a_repeated_setting_changes_nothing(ax, setting):
    artists.line(ax, "one", [0], [0], label="one")
    artists.line(ax, "two", [0], [0], label="two")
    for n in (2, 1):
        ax.figure.canvas.draw()
        setting(ax, n)
        assert ax.figure.stale  # there was something to do
        ax.figure.canvas.draw()
        setting(ax, n)
        assert not ax.figure.stale


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_legend_names_several_curves_and_never_one_alone(ax):
    artists.line(ax, "one", [0], [0], label="one")
    artists.set_legend(ax)
    assert ax.get_legend() is None
    artists.line(ax, "two", [0], [0], label="two")
    artists.set_legend(ax)
    assert legend_texts(ax) == ["one", "two"]
    artists.line(ax, "two", [0], [0], label="deux")
    artists.set_legend(ax)
    assert legend_texts(ax) == ["one", "deux"]
    artists.keep_only(ax, Line2D, ["one"])
    artists.set_legend(ax)
    assert ax.get_legend() is None
