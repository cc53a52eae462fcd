"""Colours of the course: one source, readable on their backgrounds, apart also for colour-blind readers."""

import re
from itertools import combinations

import numpy as np
import pytest

from babygpt_live.style import DESIGN_TOKENS, ENCODING_COLOURS, ENCODINGS
from babygpt_live.view import PAGE

THEMES = ("light", "dark")
BACKGROUNDS = ("paper", "surface")
WORDS = ("ink", "ink2", "accent", "right", "wrong", *(f"enc-{name}" for name in ENCODINGS))
LEAST_CONTRAST = 4.5  # WCAG 2.2, level AA, for words
LEAST_DISTANCE = 0.097  # in OKLab; two colours nearer than this look alike in a thin curve
# Machado, Oliveira and Fernandes (2009), full strength, on linear red, green and blue.
SIGHTS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson's OKLab: linear red, green and blue -> responses of three cones -> lightness and two hues.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
HUES = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> np.ndarray:
    """Return red, green and blue as shares of light, from "#rrggbb"."""
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    dark, light = sorted(float(linear(colour) @ (0.2126, 0.7152, 0.0722)) for colour in (one, two))
    return (light + 0.05) / (dark + 0.05)


def oklab(colour: str, sight: str) -> np.ndarray:
    """Return a colour in OKLab, as a reader with this sight sees it."""
    return HUES @ np.cbrt(CONES @ np.clip(SIGHTS[sight] @ linear(colour), 0, 1))


def test_contrast_and_distance_of_known_colours():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert oklab("#ffffff", "normal") == pytest.approx([1, 0, 0], abs=1e-3)
    assert oklab("#ff0000", "normal") == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)


def test_python_javascript_and_css_have_the_same_colours():
    script = (PAGE / "glyphs.js").read_text(encoding="utf-8")
    in_script = dict(
        re.findall(r'^  (\w+): \{ name: "[^"]+", colour: "(#[0-9a-f]{6})", path: "M', script, re.M)
    )
    in_css = (PAGE / "tokens.css").read_text(encoding="utf-8").count("light-dark(#")
    assert in_script == ENCODINGS
    assert len(ENCODINGS) == 8
    assert len(DESIGN_TOKENS) == in_css  # each line of the file is read
    versions = {
        "v1": "none",
        "v2": "learned",
        "v3": "sinusoid",
        "v4": "rope",
        "v5": "gaussian",
        "v6": "branches",
    }
    versions |= {"v7": "gates", "nope": "none", "learned": "learned", "alibi": "alibi"}
    assert {name: ENCODING_COLOURS[name] for name in versions} == {
        k: ENCODINGS[v] for k, v in versions.items()
    }


@pytest.mark.parametrize("theme", THEMES)
def test_words_can_be_read_on_paper_and_on_surfaces(theme):
    of_theme = {name: pair[THEMES.index(theme)] for name, pair in DESIGN_TOKENS.items()}
    pairs = [(name, ground) for name in WORDS for ground in BACKGROUNDS] + [("on-accent", "accent")]
    pale = {pair: contrast(of_theme[pair[0]], of_theme[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in pale.items() if ratio < LEAST_CONTRAST} == {}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES)
def test_any_two_encodings_look_different(theme, sight):
    lab = {name: oklab(DESIGN_TOKENS[f"enc-{name}"][THEMES.index(theme)], sight) for name in ENCODINGS}
    distances = {pair: float(np.linalg.norm(lab[pair[0]] - lab[pair[1]])) for pair in combinations(lab, 2)}
    assert {pair: d for pair, d in distances.items() if d < LEAST_DISTANCE} == {}
