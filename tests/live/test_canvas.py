"""Pictures equal Matplotlib's own, and only moved artists are drawn again."""

from io import BytesIO

import matplotlib
import numpy as np
import pytest
from PIL import Image

from babygpt import plots
from babygpt.live.canvas import DRAWING_LOCK, WIDTH, Canvas, first_drawing
from babygpt.plots.artists import moving_artists
from babygpt_course.studies.stretching import explore_stretching

LOSSES = [4.0 - n / 20 for n in range(60)]


def frame(canvas, steps, top=None):
    """Return the pixels of a run's frame: its loss, and the attention of a head."""
    loss, head = canvas.axes
    weights = np.random.default_rng(steps).random((5, 5))
    with DRAWING_LOCK:
        plots.draw_losses(loss, {"v4": LOSSES[:steps]}, {"floor": 0.5}, f"after {steps}", total=60)
        plots.draw_matrix(head, weights, f"head after {steps}", "key", "query", top=1.0)
        if top is not None:
            loss.set_ylim(0, top)
        return np.asarray(Image.open(BytesIO(canvas.png())))


def fresh():
    return Canvas((1, 1.2), 2.5)


@pytest.fixture
def canvas():
    return fresh()


@pytest.fixture
def backgrounds(canvas, monkeypatch):
    """Return a list that grows with every background that the canvas draws."""
    drawn, draw_background = [], canvas.draw_background
    monkeypatch.setattr(canvas, "draw_background", lambda: (drawn.append(1), draw_background()))
    return drawn


def test_the_picture_has_the_pixels_of_its_cell_on_its_screen(canvas):
    for width, ratio, pixels in ((848, 1, 848), (1100, 1.5, 1650), (1333, 1.25, 1666), (2500, 2, 3840)):
        canvas.set_size(width, ratio)
        height, shown, _ = frame(canvas, 20).shape
        assert shown == pixels
        assert height == pytest.approx(2.5 / WIDTH * pixels, abs=1)


def test_the_alt_text_of_a_picture_is_its_titles(canvas):
    frame(canvas, 30)
    assert canvas.alt_text() == "after 30; head after 30"


def test_the_png_shows_the_pixels_of_the_canvas(canvas):
    shown = frame(canvas, 30)
    assert shown.shape == (250, 1100, 4)
    np.testing.assert_array_equal(shown, np.asarray(canvas.agg.buffer_rgba()))
    assert len(np.unique(shown.reshape(-1, 4), axis=0)) > 50  # it is not blank


def test_the_first_drawing_has_the_courses_style_and_leaves_the_readers(canvas):
    matplotlib.rcdefaults()
    before = dict(matplotlib.rcParams)
    with first_drawing():
        assert matplotlib.rcParams["font.size"] == plots.STYLE["font.size"]
        assert DRAWING_LOCK.locked()
    assert dict(matplotlib.rcParams) == before


# ---------------------------------------------------------------- moving artists


def require_as_whole(canvas):
    """Compare with the figure as Matplotlib draws it at once, with every artist at its usual depth.

    Moving artists are drawn last here, so a few pixels differ: the artists lie over frames and legends.
    """
    shown = np.asarray(canvas.agg.buffer_rgba()).copy()
    for artist in (artist for ax in canvas.axes for artist in moving_artists(ax)):
        artist.set_animated(False)
    canvas.agg.draw()
    expected = np.asarray(canvas.agg.buffer_rgba())
    assert (shown != expected).any(axis=-1).mean() < 0.005
    assert (expected != 255).any(axis=-1).mean() > 0.05  # of the picture: it is not blank


def test_a_later_frame_equals_the_frame_drawn_alone_and_by_matplotlib(canvas):
    for steps in (10, 60, 20, 30):
        moved = frame(canvas, steps)
    np.testing.assert_array_equal(moved, frame(fresh(), 30))
    assert not np.array_equal(moved, frame(fresh(), 29))
    require_as_whole(canvas)


def test_a_moved_explorer_equals_the_figure_drawn_by_matplotlib(make, small_corpus):
    explorer = explore_stretching(make(), small_corpus.val)
    explorer.draw_values({"method": "yarn", "factor": 8})
    with DRAWING_LOCK:
        explorer.canvas.png()
        require_as_whole(explorer.canvas)


def test_the_background_is_reused_while_only_moving_artists_change(canvas, backgrounds):
    for steps in range(10, 20):
        frame(canvas, steps)
    assert len(backgrounds) == 1
    assert not canvas.figure.stale


def test_other_limits_need_another_background_and_leave_the_axes_in_place(canvas, backgrounds):
    """Let labels become wider, too: a reader cannot follow a plot that jumps."""
    frame(canvas, 10)
    places = [ax.get_position().extents.tolist() for ax in canvas.axes]
    moved = frame(canvas, 30, top=1_000_000)
    assert len(backgrounds) > 1
    assert [ax.get_position().extents.tolist() for ax in canvas.axes] == places
    alone = fresh()
    frame(alone, 30)
    np.testing.assert_array_equal(moved, frame(alone, 30, top=1_000_000))


def test_a_new_curve_is_drawn_and_a_removed_one_leaves_nothing(canvas):
    frame(canvas, 30)
    empty = canvas.png()
    line = canvas.axes[0].plot([0, 60], [0, 4], gid="line")[0]
    assert canvas.png() != empty
    line.remove()
    assert canvas.png() == empty
