"""The look of all pictures of the course: colours, fonts, marks for characters that cannot be seen."""

import re
from collections.abc import Iterable
from pathlib import Path
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
TOKEN = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")


def read_tokens() -> dict[str, tuple[str, str]]:
    """Return the colours of page/tokens.css: name -> (on white, on black), such as "#1b67dc"."""
    css = (Path(__file__).parent / "page" / "tokens.css").read_text(encoding="utf-8")
    return {name: (light, dark) for name, light, dark in TOKEN.findall(css)}


DESIGN_TOKENS = read_tokens()
ENCODINGS = {  # encoding -> its colour on white, in which figures and stills are drawn
    name.removeprefix("enc-"): light for name, (light, _) in DESIGN_TOKENS.items() if name.startswith("enc-")
}
# One colour for each encoding in all figures of the course.
ENCODING_COLOURS = {
    "nope": ENCODINGS["none"],
    "learned": ENCODINGS["learned"],
    "v1": ENCODINGS["none"],
    "v2": ENCODINGS["learned"],
    "v3": ENCODINGS["sinusoid"],
    "v4": ENCODINGS["rope"],
    "v5": ENCODINGS["gaussian"],
    "v5-absolute": COLOURS["orange"],
    "v5 fixed": COLOURS["sky"],  # its kernel is not trained
    "v5-absolute fixed": COLOURS["grey"],
    "v5 late": COLOURS["green"],  # its kernel is trained from a later step on, or at a lower rate
    "v5 slow": COLOURS["orange"],
    "alibi": ENCODINGS["alibi"],
    "v6": ENCODINGS["branches"],
    "pope": COLOURS["pink"],
    "v7": ENCODINGS["gates"],
    "v7-polar": "#B8860B",
    "v7-pope": COLOURS["pink"],
    "v7-rope": ENCODINGS["rope"],
    "v7-nope": ENCODINGS["none"],
    "NoPE": ENCODINGS["none"],
    "RoPE": ENCODINGS["rope"],
    "ALiBi": ENCODINGS["alibi"],
    "RoPE, keys equal to the query": COLOURS["grey"],  # lesson 04a draws it beside RoPE
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
