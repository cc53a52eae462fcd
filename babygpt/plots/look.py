"""The course's look as options of artists, one by one; nothing here reads Matplotlib's settings or sets them.

It is what Matplotlib ships with, but for `STYLE`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import matplotlib
from matplotlib.axis import Axis
from matplotlib.cbook import normalize_kwargs
from matplotlib.font_manager import font_scalings
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import NullLocator, ScalarFormatter

from babygpt.plots.style import STYLE

LOOK: dict[str, Any] = {**cast(Any, matplotlib.rcParamsDefault), **STYLE}


def section(prefix: str, names: str) -> dict[str, Any]:
    """Return the settings of the look that are called prefix.name, by name."""
    return {name: LOOK[f"{prefix}.{name}"] for name in names.split()}


def points(size: float | str) -> float:
    """Return a size of letters in points; words such as "medium" are relative to the look's own size."""
    return font_scalings[size] * LOOK["font.size"] if isinstance(size, str) else size


PLAIN: dict[str, Any] = {"sketch_params": None, "path_effects": []}  # straight lines, not a comic's
FONT = {
    # The reader's own font is asked for what the look's does not have, such as Chinese characters.
    "family": [LOOK["font.sans-serif"][0], "sans-serif"],
    **section("font", "style variant weight stretch size"),
    "math_fontfamily": LOOK["mathtext.fontset"],
}
LETTERS = {name if name.startswith("math") else f"font{name}": value for name, value in FONT.items()}
TEXT = {**LETTERS, **section("text", "color usetex parse_math antialiased"), **PLAIN}
TITLE = {**TEXT, "fontsize": points(LOOK["axes.titlesize"]), "fontweight": LOOK["axes.titleweight"]}
LABEL = {
    **TEXT,
    "fontsize": points(LOOK["axes.labelsize"]),
    "fontweight": LOOK["axes.labelweight"],
    "color": LOOK["axes.labelcolor"],
}
JOINTS = "dash_joinstyle dash_capstyle solid_joinstyle solid_capstyle"
LINE = {
    **section("lines", "linewidth markersize markeredgewidth markerfacecolor markeredgecolor antialiased"),
    **section("lines", JOINTS),
    "fillstyle": LOOK["markers.fillstyle"],
    **PLAIN,
}
DASHES = {
    sign: (0.0, tuple(LOOK[f"lines.{name}_pattern"]))
    for sign, name in (("--", "dashed"), ("-.", "dashdot"), (":", "dotted"))
}
IMAGE = section("image", "cmap interpolation origin aspect resample interpolation_stage")
LEGEND = {
    **section("legend", "loc frameon framealpha edgecolor fancybox shadow numpoints scatterpoints"),
    **section("legend", "markerscale borderpad labelspacing handlelength handleheight handletextpad"),
    **section("legend", "borderaxespad columnspacing"),
    "facecolor": LOOK["axes.facecolor"],
    "labelcolor": LOOK["text.color"],
}


def line_options(options: Mapping[str, Any], more: Sequence[str] = ("marker", "linestyle")) -> dict[str, Any]:
    """Return the options of a line, with the look's wherever none is given; `more` goes beyond `LINE`."""
    look = {**LINE, **section("lines", " ".join(more))}
    chosen = {**look, **normalize_kwargs(dict(options), Line2D)}
    if isinstance(style := chosen.get("linestyle"), str):
        chosen["linestyle"] = DASHES.get(style, style)
    return chosen


def text_options(options: Mapping[str, Any], look: Mapping[str, Any] = TEXT) -> dict[str, Any]:
    """Return the options of a text, with the look's wherever none is given."""
    given = normalize_kwargs(dict(options), Text)
    font_is_given = "fontproperties" in given  # all of it at once
    return {**{name: look[name] for name in look if not (font_is_given and name in LETTERS)}, **given}


def legend_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a legend, with the look's wherever none is given."""
    given = dict(options)
    size = points(given.pop("fontsize", LOOK["legend.fontsize"]))
    return {**LEGEND, "prop": {**FONT, "size": size}, **given}


def tick_options(name: str, which: str) -> dict[str, Any]:
    """Return the options of the ticks of the "x" or "y" axis, be they "major" or "minor"."""
    tick, ends = f"{name}tick", {"x": ("bottom", "top"), "y": ("left", "right")}[name]
    grid = section("grid", "color linestyle linewidth alpha")
    colour = LOOK[f"{tick}.color"]
    return {
        **{f"grid_{part}": value for part, value in grid.items()},
        **section(tick, " ".join([*ends, *(f"label{end}" for end in ends), "direction"])),
        **section(f"{tick}.{which}", "width pad"),
        "length": LOOK[f"{tick}.{which}.size"],
        "color": colour,
        "labelcolor": colour,
        "labelsize": points(LOOK[f"{tick}.labelsize"]),
        "labelfontfamily": FONT["family"],
        "gridOn": LOOK["axes.grid"] and which == "major",
    }


def style_axis(axis: Axis, name: str) -> None:
    """Give the "x" or "y" axis the look's label, numbers and ticks, and no minor ticks."""
    axis.label.set(**LABEL)
    axis.labelpad = LOOK["axes.labelpad"]
    numbers = {**TEXT, "fontsize": points(LOOK[f"{name}tick.labelsize"]), "color": LOOK[f"{name}tick.color"]}
    axis.offsetText.set(visible=True, **numbers)
    axis.set_minor_locator(NullLocator())
    for which in ("minor", "major"):
        axis.set_tick_params(which=which, reset=True, **tick_options(name, which))
    first = axis.get_major_ticks(1)[0]  # what ticks cannot be told, the others copy from it
    align = {"x": "horizontalalignment", "y": "verticalalignment"}[name]
    for label in (first.label1, first.label2):
        label.set(**numbers, **{align: LOOK[f"{name}tick.alignment"]})
    for line in (first.tick1line, first.tick2line, first.gridline):
        line.set(**section("lines", JOINTS), **PLAIN)
    style_numbers(axis)


def style_numbers(axis: Axis) -> None:
    """Let an axis write its numbers as the look has them."""
    write = axis.get_major_formatter()
    if isinstance(write, ScalarFormatter):
        write.set_useOffset(LOOK["axes.formatter.useoffset"])
        write.set_useMathText(LOOK["axes.formatter.use_mathtext"])
        write.set_useLocale(LOOK["axes.formatter.use_locale"])
        write.set_powerlimits(LOOK["axes.formatter.limits"])
        if hasattr(write, "set_usetex"):  # from Matplotlib 3.10 on
            write.set_usetex(LOOK["text.usetex"])
        # Matplotlib asks its settings for the minus sign at every number.
        write.__dict__["fix_minus"] = lambda text: text.replace("-", "\N{MINUS SIGN}")
