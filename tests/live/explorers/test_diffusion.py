"""The explorer of filling in shows the sampler's steps, without touching anybody's random numbers."""

from importlib import import_module

import numpy as np
import pytest
import torch
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from babygpt import live
from babygpt.data.tokenizer import CharTokenizer
from babygpt.plots.artists import find_artist
from babygpt.sampling import SecondThoughts, by_confidence, by_entropy, drafts, fill_in

LONG = 60  # seconds; nothing here takes that long unless it hangs
LETTERS = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens, as the small models have
HOLLOW = "ab__ef_hi ab__ef"


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


def letters(ax):
    """The characters on an Axes, in their order."""
    found = {text.get_gid() or text.get_label(): text.get_text() for text in ax.texts}
    found.pop("note", None)
    return "".join(found[f"letter {i}"] for i in range(len(found))).replace("•", " ")


@pytest.fixture
def sampler(awake):
    return live.diffusion(awake("v7"), LETTERS, HOLLOW)


def move(explorer, **values):
    for name, value in values.items():
        explorer.controls[name].value = value
    assert explorer.painter.wait(LONG)


@pytest.mark.parametrize("step", [0, 1, 3, 5])
def test_a_step_shows_what_had_appeared_by_then(awake, sampler, step):
    move(sampler, step=step, threshold=100, top_k=3)
    own = torch.Generator().manual_seed(0)
    expected = fill_in(awake("v7"), live.encode_masked(LETTERS, HOLLOW), by_confidence(1.0), 0.8, 3, own)
    tokens = expected.tokens.masked_fill(expected.when > step, LETTERS.mask_id)
    page = sampler.canvas.axes[0]
    assert letters(page) == LETTERS.decode(tokens[0])
    left = int((expected.when > step).sum())
    assert f"Step {step} of 5: {left} character{'s' * (left != 1)} left" == title(page)
    shown = np.ma.filled(find_artist(page, AxesImage, "confidence").get_array(), np.nan)[0]
    there = ((expected.when > 0) & (expected.when <= step))[0].numpy()
    np.testing.assert_allclose(shown[there], expected.confidence[0].numpy()[there])
    assert np.isnan(shown[~there]).all()


def test_the_entropy_bound_is_a_sampler_without_a_threshold(sampler, monkeypatch):
    bounds = []
    own = import_module("babygpt.live.explorers.diffusion")
    monkeypatch.setattr(own, "by_entropy", lambda bound: bounds.append(bound) or by_entropy(np.inf))
    move(sampler, sampler="entropy bound", threshold=60)
    assert bounds[-1] == 0.6
    assert title(sampler.canvas.axes[1]) == "5.0 characters a step"
    assert find_artist(sampler.canvas.axes[1], Line2D, "threshold") is None
    move(sampler, sampler="surest first")
    assert find_artist(sampler.canvas.axes[1], Line2D, "threshold") is not None


def test_a_changed_mind_shows_each_draft_and_what_was_taken_back(awake, sampler):
    move(sampler, sampler="changes its mind", threshold=80, top_k=3, text="_" * 12)
    thoughts, own = SecondThoughts(12, 0.8, 5.0), torch.Generator().manual_seed(0)
    idx = live.encode_masked(LETTERS, "_" * 12)
    shown = list(drafts(awake("v7"), idx, thoughts, 0.8, 3, own))
    seen, taken_back = torch.zeros(12, dtype=torch.bool), 0
    for step, draft in enumerate(shown):
        move(sampler, step=step)
        hidden = draft.tokens[0] == LETTERS.mask_id
        again = hidden & seen
        expected = [c if not a else "▓" for c, a in zip(LETTERS.decode(draft.tokens[0]), again, strict=True)]
        page = sampler.canvas.axes[0]
        assert letters(page) == "".join(expected)
        assert title(page).startswith(f"Step {step} of {len(shown) - 1}: {int(hidden.sum())} character")
        assert title(page).endswith(f", {int(again.sum())} once more") == bool(again.any())
        image = np.ma.filled(find_artist(page, AxesImage, "confidence").get_array(), np.nan)[0]
        np.testing.assert_allclose(image[~hidden], draft.confidence[0, ~hidden].numpy())
        assert np.isnan(image[hidden]).all()
        seen, taken_back = seen | ~hidden, taken_back + int(again.sum())
    assert taken_back > 0


def test_with_no_threshold_all_appears_at_once(sampler):
    move(sampler, threshold=0)
    assert title(sampler.canvas.axes[0]) == "Step 1 of 1: 0 characters left"
    assert title(sampler.canvas.axes[1]) == "5.0 characters a step"


def test_moving_through_the_steps_asks_the_model_nothing(sampler, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the model was asked")

    monkeypatch.setattr(import_module("babygpt.live.explorers.diffusion"), "fill_in", refuse)
    move(sampler, step=2)
    assert sampler.error is None
    move(sampler, temperature=sampler.controls["temperature"].options[0][1])
    assert isinstance(sampler.error, AssertionError)  # else the test above says nothing


def test_filling_in_leaves_the_random_numbers_of_training_alone(sampler):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    move(sampler, number=4, threshold=50)
    assert torch.equal(torch.rand(4), expected)


def test_a_text_of_another_length_is_filled_in_too(sampler):
    move(sampler, text="a_")
    assert sampler.error is None
    assert len(letters(sampler.canvas.axes[0])) == 2
