"""A styled figure looks the same whatever Matplotlib is set to, and leaves those settings alone."""

from contextlib import contextmanager

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from cycler import cycler
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.plots.figure import StyledFigure
from babygpt.plots.look import LOOK

# What a reader may set, each to something else than the course has.
COLOURED = {
    name: "magenta"
    for name in matplotlib.rcParams
    if name.endswith((".color", "facecolor", "labelcolor", "titlecolor"))
}
SIZED = {
    "font.size": 20,
    "axes.titlesize": "xx-large",
    "lines.linewidth": 9,
    "lines.markersize": 20,
    "axes.linewidth": 5,
    "axes.labelpad": 30,
    "axes.titlepad": 30,
    "axes.titley": 0.5,
    "axes.xmargin": 0.3,
    "figure.figsize": (3, 3),
    "figure.dpi": 33,
    "figure.subplot.left": 0.4,
    "figure.constrained_layout.w_pad": 0.5,
    "xtick.major.size": 20,
    "xtick.major.pad": 20,
    "ytick.major.width": 5,
    "legend.borderpad": 2,
    "legend.handlelength": 9,
    "grid.linewidth": 5,
}
PLACED = {
    "axes.grid": False,
    "axes.titlelocation": "right",
    "axes.spines.top": True,
    "axes.axisbelow": False,
    "axes.prop_cycle": cycler(color=["red", "black"]),
    "xaxis.labellocation": "right",
    "xtick.direction": "in",
    "xtick.top": True,
    "xtick.minor.visible": True,
    "xtick.alignment": "right",
    "ytick.left": False,
    "ytick.labelleft": False,
    "figure.constrained_layout.use": False,
    "legend.frameon": True,
    "image.cmap": "magma",
    "image.origin": "lower",
    "image.interpolation": "bilinear",
    "lines.marker": "o",
    "lines.linestyle": "--",
    "lines.dashed_pattern": [9, 9],
    "savefig.format": "pdf",
}
WRITTEN = {
    "font.family": "monospace",
    "font.sans-serif": ["DejaVu Serif"],
    "font.monospace": ["DejaVu Serif"],
    "font.weight": "bold",
    "axes.titleweight": "bold",
    "axes.unicode_minus": False,  # as many do for Chinese letters
    "axes.formatter.limits": (-1, 1),
    "axes.formatter.use_mathtext": True,
    "text.usetex": True,  # and there need be no LaTeX here
}
SHEETS = ["dark_background", "ggplot", "seaborn-v0_8-talk", "Solarize_Light2", "grayscale"]


@contextmanager
def setting(name):
    """Matplotlib as somebody has set it."""
    own = {"colours": COLOURED, "sizes": SIZED, "places": PLACED, "writing": WRITTEN}
    with matplotlib.rc_context(own.get(name)):
        if name in SHEETS:
            plt.style.use(name)
        elif name == "comic":
            plt.xkcd()
        yield


def fill(axes):
    """Lines, texts, a legend, images, colour bars: all that the live lab draws."""
    squares = np.linspace(0, 1, 36).reshape(1, 1, 6, 6)
    plots.draw_losses(axes[0], {"v4": [4.0, 3.0, 2.0], "new": [-1.0]}, {"floor": 0.5}, "losses", total=9)
    plots.draw_matrix(axes[1], 1 - squares[0, 0] * 1e-7, "matrix", "x", "y", diverging=True)
    plots.draw_text(axes[2], "abcdef", np.linspace(0, 1, 6), "text", "note")
    plots.draw_attention_heads(axes[3], squares, "abcdef", (0, 0), "heads")
    plots.draw_clock(axes[4], [0.1, 2.0], ["q", "k"], "clock")


def picture(figure):
    canvas = FigureCanvasAgg(figure)
    fill(figure.subplots(1, 5))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).copy()


def styled():
    return StyledFigure((10, 2.5), 80)


@pytest.fixture(scope="module")
def usual():
    return picture(styled())


@pytest.mark.parametrize("name", ["colours", "sizes", "places", "writing", "comic", *SHEETS])
def test_a_styled_figure_looks_the_same_whatever_the_settings_are(name, usual):
    with setting(name):
        before = dict(matplotlib.rcParams)
        np.testing.assert_array_equal(picture(styled()), usual)
        assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["colours", "sizes", "places", "dark_background"])
def test_another_figure_looks_as_it_is_set(name, usual):
    """The test above can fail."""
    with setting(name):
        assert not np.array_equal(picture(Figure((10, 2.5), 80)), usual)


def test_a_styled_figure_is_what_the_courses_settings_make(usual):
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **plots.STYLE}):
        np.testing.assert_array_equal(picture(Figure((10, 2.5), 80)), usual)


def test_settings_that_change_after_the_first_drawing_change_nothing():
    figure, drawn = styled(), []
    picture(figure)
    for change in ({}, {}, {**SIZED, **PLACED, **WRITTEN}):  # laid out twice, it stands still
        with matplotlib.rc_context(change):
            figure.axes[0].set_xlim(
                0, 1000 + len(drawn) / 1e9
            )  # it has to be drawn, ticks that come included
            figure.canvas.draw()
        drawn.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    np.testing.assert_array_equal(drawn[2], drawn[1])


@pytest.fixture
def ax():
    return styled().subplots()


def test_what_a_call_gives_is_what_is_drawn(ax):
    curve = ax.plot([0, 1], "o--", lw=5, c="red", label="a")[0]
    assert (curve.get_linewidth(), curve.get_color(), curve.get_marker()) == (5, "red", "o")
    assert curve.get_linestyle() == "--"
    assert ax.text(0, 0, "a", size=7, weight="bold").get_fontsize() == 7
    assert ax.text(0, 0, "a", font="serif:size=9").get_fontsize() == 9
    assert ax.imshow(np.eye(2), cmap="magma", origin="lower").get_cmap().name == "magma"
    assert ax.legend(fontsize=5, frameon=True).get_texts()[0].get_fontsize() == 5
    assert ax.set_title("a", loc="right", color="red").get_color() == "red"
    assert ax.get_title(loc="right") == "a"


def test_axes_that_are_cleared_keep_their_look(ax):
    with matplotlib.rc_context(PLACED):
        ax.clear()
        assert ax.plot([0, 1])[0].get_color() == plots.COLOURS["blue"]
        ax.set_title("a")
        assert ax.get_title(loc="left") == "a"
        assert not ax.spines["top"].get_visible()


def test_chinese_letters_may_come_from_the_readers_font(ax):
    """Its name is in the settings, as DejaVu has no Chinese; what DejaVu has is DejaVu's."""
    assert ax.text(0, 0, "我爱你").get_fontfamily() == [LOOK["font.sans-serif"][0], "sans-serif"]
