"""The look of all pictures of the course: colours, fonts, marks for characters that cannot be seen."""

from collections.abc import Iterable
from typing import Any

from cycler import cycler

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "grey": "#7F7F7F",
}
# One colour for each encoding in all figures of the course.
ENCODING_COLOURS = {
    "nope": COLOURS["grey"],
    "learned": COLOURS["orange"],
    "v1": COLOURS["grey"],
    "v2": COLOURS["orange"],
    "v3": COLOURS["green"],
    "v4": COLOURS["blue"],
    "v5": COLOURS["red"],
    "v5-absolute": COLOURS["orange"],
    "v5 fixed": COLOURS["sky"],  # its kernel is not trained
    "v5-absolute fixed": COLOURS["grey"],
    "v5 late": COLOURS["green"],  # its kernel is trained from a later step on, or at a lower rate
    "v5 slow": COLOURS["orange"],
    "alibi": COLOURS["pink"],
    "v6": "#8C510A",
    "pope": "#6A3D9A",
    "v7": "#01665E",
    "v7-polar": "#B8860B",
    "v7-pope": "#6A3D9A",
    "v7-rope": COLOURS["blue"],
    "v7-nope": COLOURS["grey"],
    "RoPE": COLOURS["grey"],  # beside the heads of ALiBi, which take the other colours
}
STYLE: Any = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=list(COLOURS.values())),
    "axes.grid": True,
    "grid.alpha": 0.25,
    "image.cmap": "viridis",
    "legend.frameon": False,
}
DIVERGING = "RdBu_r"


def set_style() -> None:
    """Give all figures made after this call the course's look."""
    import matplotlib  # a fifth of a second, which pictures of the lab do not need

    matplotlib.rcParams.update(STYLE)


def visible(characters: Iterable[str]) -> list[str]:
    """Return a mark for each character in which spaces and line ends can be seen."""
    return [{"\n": "↵", " ": "•"}.get(character, character) for character in characters]
