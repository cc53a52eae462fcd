"""The explorer of stretched models shows what each method does to a trained v4, and to its losses."""

import math
import sys
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt import live
from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.live.explorers.stretching import LABELS, WINDOWS, Reader, block_means, has_new_angles
from babygpt.metrics.next_token import loss_by_position
from babygpt.models.stretching import METHODS, stretched
from babygpt.models.versions import build

TEXT = torch.randint(11, (400,), generator=torch.Generator().manual_seed(3))


def trained(version="v4", **options):
    torch.manual_seed(0)
    model = build(version, ModelConfig(11, block_size=16, n_layer=2, n_head=2, n_embd=16), **options)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return model


@cache
def reader():
    return Reader(trained(), TEXT)


def test_every_method_has_a_label():
    assert list(LABELS) == list(METHODS)
    assert len(set(LABELS.values())) == len(LABELS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1, 3, 8])
def test_the_curves_are_the_losses_of_the_model_and_of_the_stretched_one(method, factor):
    found = reader().measure(method, factor)
    for name, model in (("as it is", trained()), ("stretched", stretched(trained(), method, factor))):
        losses = loss_by_position(model, TEXT, 128, WINDOWS)
        shown = found["curves"][name]
        assert shown == pytest.approx([losses[i : i + 32].mean() for i in range(0, 128, 32)], rel=1e-5)
        first = 16 if factor > 1 else 0
        assert found["means"][name] == pytest.approx(losses[first : 16 * factor].mean(), rel=1e-5)
    np.testing.assert_array_equal(found["position"], [16, 48, 80, 112])
    assert max(curve.max() for curve in found["curves"].values()) < found["top"]
    assert found["marks"][1:] == (16, 16 * factor)


@given(st.sampled_from(["interpolation", "ntk", "yarn", "none"]), st.integers(1, 8))
def test_a_turn_takes_as_many_tokens_as_the_stretched_frequencies_say(method, factor):
    found = reader().measure(method, factor)
    omega = 10_000.0 ** (-2 * np.arange(4) / 8)
    np.testing.assert_allclose(found["before"], 2 * math.pi / omega)
    if method == "interpolation":
        omega = omega / factor
    if method == "ntk":
        omega = (10_000.0 * factor ** (8 / 6)) ** (-2 * np.arange(4) / 8)
    if method != "yarn":
        np.testing.assert_allclose(found["after"], 2 * math.pi / omega)
    assert (found["after"] >= found["before"] * (1 - 1e-12)).all()


def test_angles_are_new_where_they_are_reached_for_the_first_time():
    """By counting: the angles of a text, in degrees, that no token of the window had."""
    window, length = 64, 256
    before = np.array([10.0, 63.0, 70.0, 200.0, 1000.0])
    for slower in (1.0, 2.0, 4.0, 5.0):
        reached = [set(np.floor(np.arange(0, length, 0.01) / (slower * t) % 1 * 360)) for t in before]
        had = [set(np.floor(np.arange(0, window, 0.01) / t % 1 * 360)) for t in before]
        by_counting = [bool(now - once) for now, once in zip(reached, had, strict=True)]
        found = has_new_angles(before, slower * before, window, length)
        assert found.tolist() == by_counting, slower
    assert not has_new_angles(before, np.full(5, math.inf), window, length).any()  # without a code


def test_what_is_left_over_makes_no_point():
    np.testing.assert_allclose(block_means(np.arange(70.0)), [15.5, 47.5])


def test_a_model_without_a_code_has_no_dots_and_no_new_angles():
    explorer = live.stretching(trained(), TEXT)
    explorer.controls["method"].value = "drop"
    explorer.refresh()
    lines = {line.get_gid(): line for line in explorer.canvas.axes[0].lines}
    assert len(lines["angles seen"].get_xdata()) == len(lines["angles never seen"].get_xdata()) == 0
    assert len(lines["before"].get_xdata()) == 4
    assert explorer.canvas.axes[0].get_title(loc="left") == "Up to 64, new angles: 0 of 4 pairs"


def test_the_titles_say_what_was_measured():
    explorer = live.stretching(trained(), TEXT)
    explorer.controls["method"].value, explorer.controls["factor"].value = "ntk", 2
    explorer.refresh()
    means = reader().measure("ntk", 2)["means"]
    title = f"Tokens 17 to 32: {means['as it is']:.2f} as it is, {means['stretched']:.2f} stretched"
    assert explorer.canvas.axes[1].get_title(loc="left") == title
    assert title in explorer.canvas.alt_text()


def test_each_reading_is_made_once(monkeypatch):
    made = []
    module = sys.modules[Reader.__module__]  # the package's `stretching` is the function
    monkeypatch.setattr(module, "loss_by_position", lambda *a: made.append(a) or loss_by_position(*a))
    reader = Reader(trained(), TEXT)
    made.clear()
    for _ in range(3):
        reader.measure("yarn", 5)
        reader.measure("ntk", 3)
    assert len(made) <= 3  # and at most once the model as it is


def test_a_model_that_trains_on_does_not_change_what_is_shown():
    model = trained()
    explorer = live.stretching(model, TEXT)
    before = explorer.measure("yarn", 3)["curves"]["stretched"]
    with torch.no_grad():
        for p in model.parameters():
            p.normal_()
    np.testing.assert_array_equal(
        explorer.measure("yarn", 4)["before"], explorer.measure("yarn", 3)["before"]
    )
    again = live.stretching(trained(), TEXT).measure("yarn", 5)["curves"]["stretched"]
    np.testing.assert_array_equal(explorer.measure("yarn", 5)["curves"]["stretched"], again)
    assert before.shape == again.shape


@pytest.mark.parametrize(
    ("version", "options", "said"),
    [("alibi", {}, "ALiBi"), ("nope", {}, "Encoding"), ("v4-nope", {"every": 2}, "PerLayer")],
)
def test_a_model_without_rope_in_every_layer_is_refused(version, options, said):
    with pytest.raises(BadInput, match=said):
        live.stretching(trained(version, **options), TEXT)


def test_a_text_too_short_is_refused():
    with pytest.raises(BadInput):
        live.stretching(trained(), TEXT[:100])
