"""The explorer of stretching: its curves, its angles and its speeds against those counted another way."""

import json
import math

import numpy as np
import pytest

from babygpt.models.transformer import Transformer
from babygpt_course.studies.stretching import stretched
from babygpt_course.tools import stretching
from babygpt_course.tools.stretching import explore_stretching
from babygpt_live.panel import Curve, Level, with_base64

BLOCK, D = 16, 8


@pytest.fixture
def v4(awake) -> Transformer:
    return awake("v4")


def named(panel) -> dict[str, Curve]:
    return {mark.name: mark for mark in panel.marks if isinstance(mark, Curve)}


def test_the_curves_are_the_losses_of_the_model_and_of_the_stretched_one(v4, text, monkeypatch) -> None:
    reads, ids = [], text(400)
    own = stretching.loss_by_position
    monkeypatch.setattr(stretching, "loss_by_position", lambda *args: reads.append(args) or own(*args))
    explorer = explore_stretching(v4, ids)
    for method, factor in (("interpolation", 1), ("ntk", 2), ("yarn", 8), ("drop", 3)):
        measurement = explorer.measure(method, factor)
        for name, read in (("as it is", v4), ("stretched", stretched(v4, method, factor))):
            losses = own(read, ids, 128, stretching.WINDOWS)
            expected = [losses[i : i + 32].mean() for i in range(0, 128, 32)]
            assert measurement["curves"][name] == pytest.approx(expected, rel=1e-5)
            first = BLOCK if factor > 1 else 0
            assert measurement["means"][name] == pytest.approx(
                losses[first : BLOCK * factor].mean(), rel=1e-5
            )
        assert max(curve.max() for curve in measurement["curves"].values()) < measurement["top"]
    count = len(reads)
    measurement = explorer.measure("ntk", 2)
    assert len(reads) == count  # each reading is made once
    panel = stretching.panels(measurement, {})[1]
    for name, curve in named(panel).items():
        np.testing.assert_array_equal(curve.y, measurement["curves"][name])
        assert curve.at().tolist() == [16, 48, 80, 112]
    means = measurement["means"]
    expected = f"Tokens 17 to 32: {means['as it is']:.2f} as it is, {means['stretched']:.2f} stretched"
    assert panel.title == expected
    alone, *marks = (mark for mark in panel.marks if isinstance(mark, Level))
    assert alone.name.startswith("the last 16 alone: ")
    assert [(mark.axis, mark.at) for mark in marks] == [("x", 16), ("x", 32)]
    json.dumps(with_base64(explorer.shown), allow_nan=False)


def test_angles_are_new_where_they_are_reached_for_the_first_time(awake, text) -> None:
    """Count the angles of a text, in degrees, that no token of the window had."""
    explorer = explore_stretching(awake("v4", block_size=64), text(1200))
    for method, factor in (("none", 1), ("none", 4), ("interpolation", 4), ("ntk", 4), ("ntk", 8)):
        measurement, tokens = explorer.measure(method, factor), np.arange(0, 64 * factor, 0.01)
        reached = [set(np.floor(tokens / t % 1 * 360)) for t in measurement["after"]]
        window_angles = [set(np.floor(tokens[: 64 * 100] / t % 1 * 360)) for t in measurement["before"]]
        by_counting = [bool(now - once) for now, once in zip(reached, window_angles, strict=True)]
        assert measurement["new"].tolist() == by_counting, (method, factor)
        panel = stretching.panels(measurement, {})[0]
        assert panel.title == f"Up to {64 * factor}, new angles: {sum(by_counting)} of 4 pairs"
        assert named(panel)["angles never seen"].at().tolist() == np.flatnonzero(by_counting).tolist()


def test_a_turn_takes_as_many_tokens_as_the_stretched_frequencies_say(v4, text) -> None:
    measure, pairs = explore_stretching(v4, text(400)).measure, np.arange(4)
    before = 2 * math.pi * 10_000.0 ** (2 * pairs / D)
    slower = 2 * math.pi * (10_000.0 * 5 ** (8 / 6)) ** (2 * pairs / D)
    for method, after in (("interpolation", before * 5), ("ntk", slower), ("drop", [])):
        panel = stretching.panels(measure(method, 5), {})[0]
        curves = named(panel)
        np.testing.assert_allclose(curves["trained"].y, before)
        dots = np.concatenate([curves["angles seen"].y, curves["angles never seen"].y])
        np.testing.assert_allclose(np.sort(dots), after)  # a pair that does not turn has none
        assert panel.y.log
        assert panel.y.span[0] < before.min() < before.max() < panel.y.span[1]
        assert panel.find(Level).at == BLOCK
