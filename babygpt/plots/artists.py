"""Lines, images and texts that are put on an Axes once and moved afterwards.

Asked a second time for an artist of the same name, each function moves the one that is there. Nothing is
touched that did not change: an untouched axis need not be drawn again, and drawing axes is what takes time.
"""

import textwrap
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedFormatter, FixedLocator

Kind = TypeVar("Kind", bound=Artist)


def find_artist(ax: Axes, kind: type[Kind], name: str) -> Kind | None:
    """Return the artist of this kind that was put on the Axes under this name, or None."""
    found = (a for a in ax.get_children() if isinstance(a, kind) and a.get_gid() == name)
    return next(found, None)


def moving_artists(ax: Axes) -> list[Artist]:
    """Return all that these functions put on the Axes, but for background texts, undermost first."""
    return sorted((a for a in ax.get_children() if a.get_gid()), key=lambda a: a.get_zorder())


def keep_only(ax: Axes, kind: type[Artist], names: Collection[str]) -> None:
    """Remove the artists of this kind whose name is not among these."""
    for artist in moving_artists(ax):
        if isinstance(artist, kind) and artist.get_gid() not in names:
            artist.remove()


def line(ax: Axes, name: str, x: Any, y: Any, **style: Any) -> Line2D:
    """Draw or move a curve through the points (x, y), each (n,)."""
    have = find_artist(ax, Line2D, name)
    if have is None:
        return ax.plot(x, y, gid=name, **style)[0]
    have.set_data(x, y)
    have.set_label(style.get("label", have.get_label()))
    return have


def horizontal_line(ax: Axes, name: str, y: float, **style: Any) -> Line2D:
    """Draw or move a horizontal line across the Axes."""
    return line(ax, name, (0.0, 1.0), (y, y), transform=ax.get_yaxis_transform(), **style)


def vertical_line(ax: Axes, name: str, x: float, **style: Any) -> Line2D:
    """Draw or move a vertical line across the Axes."""
    return line(ax, name, (x, x), (0.0, 1.0), transform=ax.get_xaxis_transform(), **style)


def image(
    ax: Axes,
    name: str,
    matrix: np.ndarray,
    span: tuple[float, float],
    cmap: str | None,
    extent: tuple[float, float, float, float] | None = None,
    square: bool = False,
    bar: bool = True,
) -> AxesImage:
    """Draw a matrix in colours, or put other numbers into the one that is there.

    matrix  (rows, columns)
    span    the values at the two ends of the colours
    extent  left, right, bottom and top, in the units of the data; by default a unit for each number
    square  whether cells are square, whatever the Axes
    bar     whether there is a colour bar
    """
    rows, columns = matrix.shape
    ends = extent or (-0.5, columns - 0.5, rows - 0.5, -0.5)
    have = find_artist(ax, AxesImage, name)
    if have is None:
        look: Any = {"interpolation": "nearest", "cmap": cmap, "vmin": span[0], "vmax": span[1]}
        have = ax.imshow(matrix, aspect="equal" if square else "auto", extent=ends, gid=name, **look)
        if bar and square:  # beside a square image it is as high as the image, whatever the Axes
            ax.figure.colorbar(have, cax=ax.inset_axes((1.02, 0.0, 0.035, 1.0)))
        elif bar:
            ax.figure.colorbar(have, ax=ax)
        ax.grid(visible=False)
        return have
    if tuple(have.get_extent()) != ends:
        have.set_extent(ends)
    have.set_data(matrix)
    if have.get_clim() != span:
        have.set_clim(*span)
    return have


def text(ax: Axes, name: str, at: tuple[float, float], text: str, **style: Any) -> Annotation:
    """Write or move a text at a point, in the units of the data."""
    have = find_artist(ax, Annotation, name)
    if have is None:
        return ax.annotate(text, at, gid=name, **style)
    have.set_text(text)
    have.xy = at
    have.set_position(at)
    return have


def background_text(ax: Axes, name: str, at: tuple[float, float], text: str, **style: Any) -> Text:
    """Write or move a text that belongs to the background, like axes and ticks: it seldom changes."""
    found = (t for t in ax.texts if t.get_label() == name)
    have = next(found, None)
    if have is None:
        return ax.text(*at, text, label=name, **style)
    if (have.get_text(), have.get_position()) != (text, at):
        have.set_text(text)
        have.set_position(at)
    return have


def keep_background_texts(ax: Axes, names: Collection[str]) -> None:
    """Remove the background texts whose name is not among these."""
    for text in [t for t in ax.texts if not t.get_gid() and t.get_label() not in names]:
        text.remove()


def hide_frame(ax: Axes) -> None:
    """Hide the frame and the marks of the ticks; their labels stay."""
    if ax.spines["left"].get_visible():
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)


def set_limits(ax: Axes, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None) -> None:
    """Set where the axes begin and end; None leaves an axis as it is."""
    if x is not None and ax.get_xlim() != x:
        ax.set_xlim(*x)
    if y is not None and ax.get_ylim() != y:
        ax.set_ylim(*y)


def autoscale(ax: Axes) -> None:
    """Let the axes that have no fixed limits span all curves."""
    ax.relim()
    ax.autoscale_view()


def set_ticks(axis: Axis, positions: Sequence[float], labels: Sequence[str], **look: Any) -> None:
    """Put a label at each position on an axis. Of its look: `labelsize` in points, `rotation` in degrees."""
    at, texts = axis.get_major_locator(), axis.get_major_formatter()
    if list(getattr(at, "locs", ())) == list(positions) and list(getattr(texts, "seq", ())) == list(labels):
        return
    axis.set_major_locator(FixedLocator(positions))
    axis.set_major_formatter(FixedFormatter(labels))
    axis.set_tick_params(**look)


def set_legend(ax: Axes, **options: Any) -> None:
    """Show a legend of the labelled curves, or none for a curve alone."""
    handles, labels = ax.get_legend_handles_labels()
    have = ax.get_legend()
    if have is not None and [text.get_text() for text in have.get_texts()] == labels:
        return
    if have is not None:
        have.remove()
    if len(labels) > 1:
        ax.legend(handles, labels, frameon=False, **options)


LETTER = 0.53  # mean width of a title's letters, as a share of their height


def set_title(ax: Axes, text: str) -> None:
    """Set the title of an Axes, in lines that end before the title of the next Axes begins."""
    have = find_artist(ax, Text, "title")
    if have is None:
        (have := ax.set_title("")).set_gid("title")
    figure: Any = ax.figure
    others = (other for other in figure.axes if other.get_label() != "<colorbar>")
    begins, left = [other.get_position(True).x0 for other in others], ax.get_position(True).x0
    width = min((x for x in begins if x > left + 0.02), default=1.0) - left  # as a share of the figure's
    letter = LETTER * float(have.get_fontsize()) / (72 * figure.get_figwidth())
    text = textwrap.fill(text, max(1, int(width / letter) - 1))
    if have.get_text() != text:
        have.set_text(text)


def set_labels(ax: Axes, title: str, x: str, y: str) -> None:
    """Set the title and the labels of both axes."""
    set_title(ax, title)
    if ax.get_xlabel() != x:
        ax.set_xlabel(x)
    if ax.get_ylabel() != y:
        ax.set_ylabel(y)
