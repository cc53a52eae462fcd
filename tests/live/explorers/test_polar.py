"""The explorer of polar gates measures what the formulas say, and its titles say what it measured."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt import live
from babygpt.encodings import KeysOnly, Polar
from babygpt.live.explorers.polar import FURTHEST, GATES, HIDDEN, ORDERS, gated, measure
from babygpt.positions import Positions

LONG = 60  # seconds; nothing here takes that long unless it hangs
AS_WRITTEN, _, ON_KEYS, QUADRATURE, APART = GATES
GATES_FIRST, NORM_FIRST = ORDERS
settings = {
    "alpha": st.floats(0.03, 3),
    "phi": st.integers(-12, 12).map(lambda n: 15 * n),
    "theta": st.floats(10, 1e6),
}
omega_at = np.arange(32)


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


@given(**settings)
def test_the_gate_as_written_is_that_of_the_formula(alpha, phi, theta):
    found = measure(AS_WRITTEN, NORM_FIRST, alpha, phi, theta)
    i, omega = np.arange(FURTHEST + 1)[:, None], theta ** (-omega_at / 32)
    state = np.where(HIDDEN, alpha, 1.0)[:, None]
    gate = np.cos(i * omega) * math.cos(math.radians(phi)) * state
    np.testing.assert_allclose(found["gates"], gate, atol=1e-6)
    np.testing.assert_allclose(found["scores"], 2 / 32**0.5 * gate @ gate.T, atol=1e-5)


@given(**settings)
def test_with_the_norm_last_alpha_moves_nothing_and_the_gate_is_the_packages(alpha, phi, theta):
    if abs(phi) == 90:
        return  # cos(phi) is 0: nothing is left to be normalised
    found = measure(AS_WRITTEN, GATES_FIRST, alpha, phi, theta)
    assert found["moved"] < 1e-3
    encoding = Polar(32, alpha, theta)
    torch.nn.init.constant_(encoding.phi, math.radians(phi))
    ones = torch.ones(1, 1, FURTHEST + 1, 32, dtype=torch.float64)
    with torch.no_grad():
        _, k = encoding.transform_qk(ones, ones, Positions(torch.arange(FURTHEST + 1), masked=HIDDEN[None]))
    np.testing.assert_allclose(found["gates"], k[0, 0].numpy(), atol=1e-4)


@given(**settings)
def test_of_two_places_quadrature_leaves_the_distance_and_a_phase_tells_left_from_right(alpha, phi, theta):
    even, uneven = (measure(gate, NORM_FIRST, alpha, phi, theta) for gate in (QUADRATURE, APART))
    distance = np.arange(-24, 25, 2)[:, None]
    for found, delta in ((even, 0.0), (uneven, math.radians(phi))):
        expected = 2 / 32**0.5 * np.cos(distance * theta ** (-omega_at / 32) - delta).sum(axis=1)
        for scores in found["across"].values():
            np.testing.assert_allclose(scores, expected, atol=1e-5)
        assert found["step"] < 1e-9
    assert even["uneven"] < 1e-9
    if phi % 180:
        assert uneven["uneven"] > 0.1


def test_alpha_on_keys_leaves_queries_as_they_are():
    how = (NORM_FIRST, 0.3, 0.5, 1e4)
    (q, k), (plain_q, plain_k) = (gated(ON_KEYS, *how, some) for some in (True, False))
    torch.testing.assert_close(q, plain_q)
    torch.testing.assert_close(k[HIDDEN], 0.3 * plain_k[HIDDEN])
    assert isinstance(GATES[ON_KEYS](8), KeysOnly)


@pytest.mark.parametrize(
    ("gate", "order", "diagonals", "sides"),
    [
        (AS_WRITTEN, GATES_FIRST, "change by", r"i \+ j: by \d.\d, i ↔ j: nothing"),
        (QUADRATURE, NORM_FIRST, "constant", r"i \+ j: nothing, i ↔ j: nothing"),
        (APART, NORM_FIRST, "constant", r"i \+ j: nothing, i ↔ j: by \d.\d"),
    ],
)
def test_the_titles_say_what_was_measured(gate, order, diagonals, sides):
    explorer = live.polar()
    for name, value in (("gate", gate), ("order", order), ("phi", 45), ("alpha", 0.3)):
        explorer.controls[name].value = value
    assert explorer.painter.wait(LONG)
    found = measure(gate, order, 0.3, 45, 10_000.0)
    told = [title(ax) for ax in explorer.canvas.axes]
    assert told[0] == f"α = 0.3 moves scores by {found['moved']:.2f}"
    assert (found["moved"] < 0.005) == (order == GATES_FIRST)
    assert diagonals in told[1]
    assert re.fullmatch(sides, told[2])
    low, high = explorer.canvas.axes[2].get_ylim()
    curves = np.array(list(found["across"].values()))
    assert low < curves.min() < curves.max() < high


def test_a_slider_that_moves_no_gate_still_says_where_it_stands():
    explorer = live.polar()  # as written: neither alpha nor phi does anything
    for name, value, said in (("alpha", 3.0, "α = 3 "), ("phi", 15, "φ = 15°")):
        explorer.controls[name].value = value
        assert explorer.painter.wait(LONG)
        assert said in " ".join(title(ax) for ax in explorer.canvas.axes)
