"""Curves over steps, positions and distances; a second call on the same Axes moves them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt.plots import artists
from babygpt.plots.style import COLOURS, ENCODING_COLOURS

ROW = 0.08  # of a legend, as a share of the Axes' height
LEGEND: Any = {"fontsize": 9, "handlelength": 1.5}


def running_mean(losses: Sequence[float], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps, counted from 1, and at each the mean of the last `width` losses (at first of all)."""
    step, sums = np.arange(1, len(losses) + 1), np.cumsum([0.0, *losses])
    first = np.maximum(step - width, 0)
    return step, (sums[step] - sums[first]) / (step - first)


def draw_losses(
    ax: Axes,
    curves: Mapping[str, Sequence[float]],
    floors: Mapping[str, float],
    title: str,
    smooth: int = 10,
    total: int | None = None,
    untrained: float = 0.0,
    baseline: str = "",
    moves: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Draw training losses over the steps, with the floors that are known.

    curves     name -> loss of each step, nats per character; the first one is drawn first
    floors     name -> a loss that cannot be passed
    smooth     steps averaged into one point
    total      steps of a run that is not over: both axes then hold all of it from the start
    untrained  loss of a model that knows nothing, where such a run begins
    baseline   name of a curve that is drawn in grey
    moves      step -> the knob that was moved before it, and where to
    """
    for name, losses in curves.items():
        colour = COLOURS["grey"] if name == baseline else ENCODING_COLOURS.get(name)
        artists.line(ax, name, *running_mean(losses, smooth), label=name, color=colour)
    for style, (name, floor) in zip(("--", ":", "-."), floors.items(), strict=False):
        look = {"color": "black", "lw": 1, "ls": style}
        artists.horizontal_line(ax, f"floor {name}", floor, label=f"{name} {floor:.3f}", **look)
    artists.keep_only(ax, Line2D, {*curves, *(f"floor {name}" for name in floors), *["moves"][: len(moves)]})
    draw_moves(ax, moves, total or 1)
    if total is None:
        artists.autoscale(ax)
    else:
        highest = max(untrained, *floors.values(), *(max(losses, default=0.0) for losses in curves.values()))
        rows = len(curves) + len(floors)
        room = ROW * rows * (rows > 1) * (1.5 if baseline else 1.0)  # beside a gap, Axes are lower
        top = max(0.5, float(np.ceil(4 * highest / (0.98 - room)) / 4))
        artists.set_limits(ax, (0.0, float(total)), (0.0, top))
    artists.set_labels(ax, title, "step", "loss (nats per character)")
    artists.set_legend(ax, loc="upper right", borderaxespad=0.1, **LEGEND)


def draw_moves(ax: Axes, moves: Mapping[int, str], total: int) -> None:
    """Draw a line at each step at which a knob was moved. Of moves that are close, only the last is named.

    moves  step -> the knob and its new value
    total  steps of the whole run
    """
    ends = np.repeat(np.array([*moves], float), 3), np.tile([0.0, 0.6, np.nan], len(moves))
    if moves:
        look = {"color": "black", "lw": 1, "ls": ":", "transform": ax.get_xaxis_transform()}
        artists.line(ax, "moves", *ends, **look)
    named: dict[int, str] = {}  # by the first step of each group
    for step, words in moves.items():
        named[next((begin for begin in named if step - begin < total / 12), step)] = words
    artists.keep_only(ax, Annotation, [f"move {i}" for i in range(len(named))])
    turned: Any = {"xycoords": ("data", "axes fraction"), "rotation": 90, "ha": "right", "va": "center"}
    turned["bbox"] = {"boxstyle": "square,pad=0.1", "fc": ax.get_facecolor(), "ec": "none", "alpha": 0.8}
    for i, (step, words) in enumerate(named.items()):
        artists.text(ax, f"move {i}", (float(step), 0.42), words, size=9, **turned)


def draw_gap(ax: Axes, steps: np.ndarray, gap: np.ndarray, title: str, total: int, **look: Any) -> None:
    """Draw the gap between two losses over the steps, on an axis that shows it, with a line at zero.

    steps, gap  (n,), nats per character
    look        Matplotlib's settings of the curve, or y_label
    """
    ends = np.ceil([20 * gap.max(initial=0.02), -20 * gap.min(initial=-0.02)]) / 20  # wholes of 0.05
    spans = (0.0, float(total)), (-float(ends[1]), float(ends[0]))
    look = {"colours": {"gap": COLOURS["red"]}, **look}
    draw_curves(ax, steps, {"gap": gap}, title, "step", look.pop("y_label", "gap (nats)"), *spans, **look)
    artists.horizontal_line(ax, "mark zero", 0.0, color="black", lw=1, ls="--")


def draw_curves(
    ax: Axes,
    x: np.ndarray,
    curves: Mapping[str, np.ndarray],
    title: str,
    x_label: str,
    y_label: str,
    x_span: tuple[float, float] | None = None,
    y_span: tuple[float, float] | None = None,
    legend: str = "best",
    columns: int = 1,
    colours: Mapping[str, str] = ENCODING_COLOURS,
    **look: Any,
) -> None:
    """Draw several curves over one x axis. Other lines stay if their names begin with "mark".

    curves   name -> (len(x),)
    x_span   where the x axis begins and ends; by default it follows the curves, and so does y
    legend   where it stands, in Matplotlib's words; "best" follows the curves of the first drawing
    columns  of the legend
    colours  name -> colour; a name without one takes the next colour of the course
    look     Matplotlib's settings of the curves
    """
    # With a new curve all begin anew, so that each gets the colour and the depth that it has on fresh Axes.
    if any(artists.find_artist(ax, Line2D, name) is None for name in curves):
        artists.keep_only(ax, Line2D, ())
        ax.set_prop_cycle(None)
    for name, values in curves.items():
        artists.line(ax, name, x, values, label=name, color=colours.get(name), **look)
    names = [str(artist.get_gid()) for artist in artists.moving_artists(ax)]
    artists.keep_only(ax, Line2D, [*curves, *(name for name in names if name.startswith("mark"))])
    if x_span is None or y_span is None:
        artists.autoscale(ax)
    artists.set_limits(ax, x_span, y_span)
    artists.set_labels(ax, title, x_label, y_label)
    artists.set_legend(ax, loc=legend, ncols=columns, **LEGEND)


def draw_by_position(
    ax: Axes, curves: Mapping[str, np.ndarray], block_size: int, title: str, smooth: int = 16
) -> None:
    """Draw loss over position on empty Axes, with the end of the trained window marked.

    curves      name -> (length,) nats per character; a shorter curve ends where its model refuses
    block_size  tokens in a training window
    """
    for name, losses in curves.items():
        whole = len(losses) // smooth * smooth
        mean = np.asarray(losses[:whole]).reshape(-1, smooth).mean(axis=1)
        at = np.arange(len(mean)) * smooth + smooth / 2
        ax.plot(at, mean, label=name, color=ENCODING_COLOURS.get(name))
    ax.axvline(block_size, color="black", lw=1, ls="--", label=f"trained up to {block_size}")
    artists.set_labels(ax, title, "position (tokens)", "loss (nats per character)")
    ax.legend()
