"""Explorers of closed formulas: the sinusoid, RoPE, ALiBi, the Gaussian kernel, branch codes, polar gates.

They are computed by JavaScript modules of the folder page/. Python only names their controls.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from babygpt.encodings.gaussian import ALPHAS, KERNELS, SIGMAS
from babygpt.encodings.polar import ALPHA
from babygpt_live.explorer import Choice, Control, Controlled, Scale, Slider
from babygpt_live.view import Output, Still

SCRIPTS = Path(__file__).with_name("page")
MOVE = "<p>Run the cell to move it.</p>"
PIXELS = 1.5  # pixels of a still for each CSS pixel
THETA = Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")  # base of RoPE's and the sinusoid's frequencies


class Formula(Controlled):
    """Explorer that the page computes.

    title     in a word or two
    name      of the module
    controls  sliders, scales and choices
    still     name of the picture that stands where no kernel is; by default that of the module
    """

    def __init__(self, title: str, name: str, controls: Sequence[Control], still: str = "") -> None:
        self.name, self.script = name, SCRIPTS / f"{name}.js"
        self.still_path = SCRIPTS / f"{still or name}.png"
        super().__init__(title, self.script, controls)
        self.output = Output(self, repr(self), self.picture)

    def state(self) -> dict[str, Any]:
        """Return all that a page needs, as JSON: names, controls, and the value of each control."""
        return {"name": self.name, **super().state()}

    def picture(self) -> Still | None:
        """Return the picture that tools/screenshots.py made, or None for a new explorer."""
        if not self.still_path.exists():
            return None
        from PIL import Image  # A learner's first cell shows no formula.

        with Image.open(self.still_path) as picture:
            alt = f"explorer: {self.title}: {picture.info['Description']}"
            return Still(self.still_path.read_bytes(), "image/png", alt, round(picture.width / PIXELS), MOVE)


def sinusoidal() -> Formula:
    """Explore the code of each position, and how quickly positions stop looking alike.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    controls = [
        Slider("position", 20, 0, 63, "position (tokens)"),
        Slider("width", 96, 8, 128, "width (channels)", step=8),
        THETA,
    ]
    return Formula("sinusoid", "sinusoid", controls)


def rotary(n_hands: int = 1) -> Formula:
    """Explore RoPE: angles of a query and a key depend on their distance alone, and a hand shows some alike.

    n_hands  that are shown at first, 1 or 2
    Source: Su et al. 2021, arXiv:2104.09864.
    """
    controls = [
        Slider("position", 30, 24, 43, "position of q"),
        Slider("distance", 3, 0, 24, "distance (tokens)"),
        Slider("pair", 2, 0, 15, "pair i (first hand)"),
        Slider("n_hands", n_hands, 1, 4, "hands, from i on"),
        THETA,
    ]
    return Formula("RoPE", "rope", controls, "rope" if n_hands == 1 else f"rope_{n_hands}_hands")


def alibi() -> Formula:
    """Explore how far each head of ALiBi looks, beside RoPE with a query that equals its keys.

    Source: Press et al. 2022, arXiv:2108.12409.
    """
    controls = [
        Slider("distance", 8, 0, 64, "distance (tokens)"),
        Choice("n_head", (4, 2, 6), "heads"),
        Scale("steepness", 1.0, 0.1, 10.0, "steepness"),
        Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ of RoPE"),
    ]
    return Formula("ALiBi", "alibi", controls)


def gaussian_kernel() -> Formula:
    """Explore what the two scales of K do to scores: by the note's formula, or repaired.

    Source: note 001.
    """
    controls = [
        Choice("kernel", tuple(reversed(KERNELS)), "kernel"),
        Slider("position", 40, 1, 64, "position of q"),
        Scale("sigma1", SIGMAS[0], 1.0, 100.0, "σ₁ (tokens)"),
        Scale("sigma2", SIGMAS[1], 1.0, 100.0, "σ₂ (tokens)"),
        Scale("alpha1", ALPHAS[0], 0.01, 10.0, "α₁"),
        Scale("alpha2", ALPHAS[1], 0.01, 10.0, "α₂"),
    ]
    return Formula("Gaussian kernel", "gaussian", controls)


def branches() -> Formula:
    """Explore how alike two parallel texts look under Fourier codes and 2-D RoPE, and what note 002 measured.

    Source: notes 002 and 003.
    """
    controls = [
        Scale("stride", 128.0, 1.0, 8192.0, "stride (positions)", doubling=True),
        Slider("width", 512, 8, 512, "width (channels)", step=8),
        Scale("counted", 256.0, 1.0, 256.0, "slowest pairs that count", doubling=True),
    ]
    return Formula("branches", "branches", controls)


ORDERS = ("gates, then norm", "norm, then gates")
GATES = ("cos(iω) cos φ", "cos(iω + φ)", "... α on keys only", "[cos, sin]", "[cos, sin], φ between")


POLAR_STILLS = {  # gate, order and phi at first -> name of the picture
    (GATES[0], ORDERS[0], 0): "polar",
    (GATES[0], ORDERS[1], 0): "polar_after_the_norm",
    (GATES[3], ORDERS[1], 0): "polar_sines",
    (GATES[4], ORDERS[1], 45): "polar_between",
}


def polar(gate: str = GATES[0], order: str = ORDERS[0], phi: int = 0) -> Formula:
    """Explore what a gate, before or after the norm, leaves of two positions in a score.

    gate, order  one of GATES and one of ORDERS, which are chosen at first
    phi          at first, in degrees
    Source: note 000, section 2, and its repairs.
    """
    controls = [
        Choice("gate", GATES, "gate", gate),
        Choice("order", ORDERS, "order", order),
        Scale("alpha", ALPHA, 0.03, 3.0, "α of MASK"),
        Slider("phi", phi, -180, 180, "φ (degrees)", step=15),
        THETA,
    ]
    return Formula("polar gates", "polar", controls, POLAR_STILLS.get((gate, order, phi), "no_picture"))


FORMULAS = (sinusoidal, rotary, alibi, gaussian_kernel, branches, polar)
_, *STARTS = [partial(polar, *start) for start in POLAR_STILLS]
STILLS: tuple[Callable[[], Formula], ...] = (*FORMULAS, partial(rotary, n_hands=2), *STARTS)  # with a picture
