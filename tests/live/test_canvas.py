"""The picture is what Matplotlib would draw, made anew only where something moved."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from babygpt import plots
from babygpt.live import alibi, rotary, sinusoidal
from babygpt.live.canvas import DRAWING_LOCK, WIDTH, Canvas, encode_png
from babygpt.plots.artists import moving_artists

LOSSES = [4.0 - n / 20 for n in range(60)]


def decode(png):
    return np.asarray(Image.open(BytesIO(png)))


def draw(canvas, made, top=None):
    """A frame of a run: its loss, and what a head looks at."""
    loss, head = canvas.axes
    weights = np.random.default_rng(made).random((5, 5))
    with DRAWING_LOCK:
        plots.draw_losses(loss, {"v4": LOSSES[:made]}, {"floor": 0.5}, f"after {made}", total=60)
        plots.draw_matrix(head, weights, f"head after {made}", "key", "query", top=1.0)
        if top is not None:
            loss.set_ylim(0, top)


def frame(canvas, made, top=None):
    draw(canvas, made, top)
    with DRAWING_LOCK:
        return decode(canvas.png())


def fresh():
    return Canvas((1, 1.2), 2.5)


@pytest.fixture
def canvas():
    return fresh()


@pytest.fixture
def backgrounds(canvas, monkeypatch):
    """A list that grows with every background that the canvas draws."""
    drawn, draw_background = [], canvas.draw_background
    monkeypatch.setattr(canvas, "draw_background", lambda: (drawn.append(1), draw_background()))
    return drawn


# ---------------------------------------------------------------- room


@pytest.mark.parametrize(
    ("room", "ratio", "pixels"),
    [(848, 1, 848), (848, 2, 1696), (1100, 1.5, 1650), (1333, 1.25, 1666), (2500, 1, 1920), (2500, 2, 3840)],
)
def test_the_picture_has_the_pixels_of_its_room_on_its_screen(canvas, room, ratio, pixels):
    draw(canvas, 20)
    with DRAWING_LOCK:
        canvas.set_size(room, ratio)
        height, width, _ = decode(canvas.png()).shape
    assert width == pixels
    assert height == pytest.approx(2.5 / WIDTH * pixels, abs=1)


def test_in_another_room_everything_is_larger_and_nothing_stands_elsewhere(canvas, backgrounds):
    frame(canvas, 20)
    places = [ax.get_position().bounds for ax in canvas.axes]
    draw(canvas, 20)
    with DRAWING_LOCK:
        canvas.set_size(1700, 1)
        canvas.png()
        canvas.set_size(1700, 1)  # as it is already
        canvas.png()
    assert [ax.get_position().bounds for ax in canvas.axes] == places
    assert len(backgrounds) == 2


def test_the_words_for_a_picture_are_its_titles(canvas):
    draw(canvas, 30)
    assert canvas.alt_text() == "after 30; head after 30"


# ---------------------------------------------------------------- PNG


@given(
    pixels=arrays.arrays(
        np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(4)), elements=st.integers(0, 255)
    )
)
def test_any_pixels_come_back_as_they_were(pixels):
    image = Image.open(BytesIO(encode_png(pixels)))
    image.load()  # checks the sums too
    assert (image.format, image.mode) == ("PNG", "RGBA")
    np.testing.assert_array_equal(np.asarray(image), pixels)


def test_the_png_shows_the_pixels_of_the_canvas(canvas):
    shown = frame(canvas, 30)
    assert shown.shape == (250, 1100, 4)
    np.testing.assert_array_equal(shown, np.asarray(canvas.agg.buffer_rgba()))
    assert len(np.unique(shown.reshape(-1, 4), axis=0)) > 50  # it is no blank


# ---------------------------------------------------------------- moving


def test_a_frame_after_others_is_the_frame_drawn_alone(canvas):
    for made in (10, 60, 20, 30):
        moved = frame(canvas, made)
    np.testing.assert_array_equal(moved, frame(fresh(), 30))
    assert not np.array_equal(moved, frame(fresh(), 29))


def whole(canvas):
    """The figure as Matplotlib draws it in one go, with everything in its usual depth."""
    artists = [artist for ax in canvas.axes for artist in moving_artists(ax)]
    for artist in artists:
        artist.set_animated(False)
    with DRAWING_LOCK:
        canvas.agg.draw()
    for artist in artists:
        artist.set_animated(True)
    return np.asarray(canvas.agg.buffer_rgba()).copy()


def near_frames(canvas, margin=2):
    """Where the frame of an Axes stands, or its legend, and some pixels around."""
    height, width = np.asarray(canvas.agg.buffer_rgba()).shape[:2]
    near = np.zeros((height, width), dtype=bool)
    for ax in canvas.axes:
        parts = [*(spine for spine in ax.spines.values() if spine.get_visible()), ax.get_legend()]
        for part in filter(None, parts):
            x0, y0, x1, y1 = part.get_window_extent().extents.astype(int)
            rows = slice(height - y1 - margin - 1, height - y0 + margin)
            near[rows, max(0, x0 - margin) : x1 + margin + 1] = True
    return near


def require_as_whole(canvas):
    """The one difference: what moves is drawn last, so it lies over frames and legends, not under them."""
    shown, expected = np.asarray(canvas.agg.buffer_rgba()).copy(), whole(canvas)
    differ = (shown != expected).any(axis=-1)
    assert not (differ & ~near_frames(canvas)).any()
    assert differ.mean() < 0.01
    assert near_frames(canvas).mean() < 0.2  # so most of the picture is compared exactly


@pytest.mark.parametrize("made", [1, 30, 60])
def test_a_kept_background_makes_the_picture_that_matplotlib_makes(canvas, made):
    frame(canvas, 10)
    frame(canvas, made)
    require_as_whole(canvas)


@pytest.mark.parametrize("explorer", [rotary, sinusoidal, alibi])
def test_an_explorer_that_was_moved_shows_what_matplotlib_would_draw(explorer):
    shown = explorer()
    for widget in shown.controls.values():
        if hasattr(widget, "max"):
            widget.value = widget.max
        else:
            widget.index = len(widget.options) - 1
        assert shown.painter.wait(60)
    assert shown.error is None
    require_as_whole(shown.canvas)


# ---------------------------------------------------------------- the background


def test_the_background_is_kept_while_only_what_moves_changes(canvas, backgrounds):
    for made in range(10, 30):
        frame(canvas, made)
    assert len(backgrounds) == 1
    assert not canvas.figure.stale


def test_other_limits_need_another_background(canvas, backgrounds):
    frame(canvas, 10)
    for _ in range(2):
        moved = frame(canvas, 30, top=100)
    assert len(backgrounds) > 1
    alone = fresh()
    frame(alone, 30)
    np.testing.assert_array_equal(moved, frame(alone, 30, top=100))
    assert not np.array_equal(moved, frame(fresh(), 30))


def test_a_curve_that_comes_is_drawn_and_one_that_goes_leaves_nothing(canvas):
    empty = frame(canvas, 30)
    ax = canvas.axes[0]
    with DRAWING_LOCK:
        line = ax.plot([0, 60], [0, 4], gid="line")[0]
        with_line = decode(canvas.png())
    assert line in {artist for _, artist in canvas.moving}
    line.remove()
    with DRAWING_LOCK:
        without = decode(canvas.png())
    assert not np.array_equal(with_line, empty)
    np.testing.assert_array_equal(without, empty)


def test_the_axes_stay_where_they_are_from_frame_to_frame(canvas):
    """Also when their labels become wider: a plot that jumps cannot be read."""
    frame(canvas, 10)
    places = [ax.get_position().extents.tolist() for ax in canvas.axes]
    frame(canvas, 30, top=1_000_000)
    assert [ax.get_position().extents.tolist() for ax in canvas.axes] == places


def test_the_axes_are_as_wide_as_asked():
    canvas = Canvas((1, 3), 2)
    with DRAWING_LOCK:
        canvas.png()
    left, right = (ax.get_position().width for ax in canvas.axes)
    assert right / left == pytest.approx(3, rel=0.15)  # labels take some room
