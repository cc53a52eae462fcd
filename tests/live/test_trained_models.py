"""Explorers of trained models show the numbers of their model, as it was when they were made."""

import json

import numpy as np
import pytest
import torch

from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.metrics.inspection import attention_weights
from babygpt.sampling import SecondThoughts, by_confidence, drafts, fill_in
from babygpt_course import explorers
from babygpt_course.explorers import trained_models
from babygpt_course.explorers.watches import FULLER
from babygpt_live import Curve, Heads, Level, Words, visible
from babygpt_live.panel import with_base64

LETTERS = CharTokenizer("abcdefghij ")
FILLED = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens too, as the small models have
HOLLOW = "ab__ef_hi ab__ef"


@pytest.mark.parametrize("name", ["attention", "diffusion"])
def test_an_unusable_text_is_refused_in_one_line_and_the_panels_stay(awake, name):
    if name == "attention":
        explorer = explorers.attention(awake("v4"), LETTERS, "abc dab")
    else:
        explorer = explorers.diffusion(awake("v7"), FILLED, HOLLOW)
    before = explorer.shown["frames"]
    for typed in ("", "é", "🎲", "_" * 1000, "a" * 1000, "\udcff", "<b>"):
        explorer.text = typed
        assert explorer.shown["problem"], typed
        assert "\n" not in explorer.shown["problem"]
        assert "Error" not in explorer.shown["problem"]  # Messages of BadInput name no class.
        assert explorer.shown["frames"] == before
    explorer.text = "ab_" if name == "diffusion" else "abc"
    assert explorer.shown["problem"] == ""
    json.dumps(with_base64(explorer.shown), allow_nan=False)


# ---------------------------------------------------------------- attention


def test_the_attention_shown_is_that_of_layer_head_and_letter(awake):
    explorer = explorers.attention(awake("v4"), LETTERS, "abc dab")
    expected = attention_weights(awake("v4"), LETTERS.encode("abc dab"))
    measured = explorer.shown
    for layer, head, letter in ((1, 2, 5), (2, 1, 9)):
        explorer.layer, explorer.head, explorer.letter = layer, head, letter
        (panel,) = explorer.now()
        mark = panel.find(Heads)
        np.testing.assert_array_equal(mark.weights, expected)
        assert (mark.chosen, mark.letters) == ((layer - 1, head - 1), visible("abc dab"))
        m = min(letter, 7) - 1  # the last one, beyond the end
        assert mark.letter == m
        weights = expected[layer - 1, head - 1]
        row, text = panel.below.find(Curve).y, visible("abc dab")
        np.testing.assert_allclose(row, weights[m], atol=0.01)  # The page receives rounded weights.
        n = int(row.argmax())
        assert panel.below.title.startswith(f"Letter {m + 1}, “{text[m]}”, looks most at “{text[n]}”: ")
        before = np.mean([weights[m, m - 1] for m in range(1, 7)])
        assert mark.shares[layer - 1, head - 1] == pytest.approx(before)
        assert (
            panel.title == f"Layer {layer}, head {head}: {before:.0%} of the weight is on the letter before"
        )
    assert explorer.shown is measured  # the page draws another head or letter without the kernel
    explorer.text = "a"
    assert explorer.shown["limits"] == {"letter": 1}
    assert explorer.now()[0].title.endswith(": 0% of the weight is on the letter before")


def test_a_model_that_trains_on_does_not_change_the_picture(awake):
    model = awake("v4", n_layer=1)  # A model of one layer needs no slider for its layer.
    explorer = explorers.attention(model, LETTERS, "abc dab")
    for p in model.parameters():
        torch.nn.init.normal_(p)
    explorer.text = "dab"
    expected = attention_weights(awake("v4", n_layer=1), LETTERS.encode("dab"))
    np.testing.assert_array_equal(explorer.now()[0].find(Heads).weights, expected)
    with pytest.raises(BadInput, match="sentence"):
        explorers.attention(model, LETTERS, "")


# ---------------------------------------------------------------- filling in


def frames(explorer):
    """Return the two panels after each step, and the words of the first."""
    shown = explorer.frames(explorer.values())
    return shown, [page.find(Words) for page, _ in shown]


def dots(panel):
    return {
        mark.name: list(zip(mark.at(), mark.y, strict=True))
        for mark in panel.marks
        if isinstance(mark, Curve)
    }


def test_a_step_shows_the_characters_that_had_appeared_by_then(awake):
    explorer = explorers.diffusion(awake("v7"), FILLED, HOLLOW)
    explorer.threshold, explorer.top_k = 100, 3
    idx, own = explorers.encode_masked(FILLED, HOLLOW), torch.Generator().manual_seed(0)
    expected = fill_in(awake("v7"), idx, by_confidence(1.0), 0.8, 3, own)
    shown, words = frames(explorer)
    sure, when = expected.confidence[0].numpy(), expected.when[0].numpy()
    assert len(shown) == 6
    for step, (page, steps) in enumerate(shown):
        tokens = expected.tokens.masked_fill(expected.when > step, FILLED.mask_id)
        assert words[step].characters == visible(FILLED.decode(tokens[0]))
        remaining = int((when > step).sum())
        assert page.title == f"Step {step} of 5: {remaining} character{'s' * (remaining != 1)} left"
        there = (when > 0) & (when <= step)
        np.testing.assert_allclose(words[step].sure, np.where(there, sure, np.nan))
        assert words[step].given.tolist() == [char != "_" for char in HOLLOW]
        later = when > step
        assert dots(steps)["written so far"] == list(zip(when[there], sure[there], strict=True))
        assert dots(steps)["still to come"] == list(zip(when[later], sure[later], strict=True))
        assert steps.title == "1.0 characters a step"
        assert steps.find(Level).at == 1.0
        assert page.note == f"{FULLER}, with threshold 100%, temperature 0.8, top-k 3, draw 0"


def test_a_changed_mind_shows_each_draft_and_the_characters_taken_back(awake):
    explorer = explorers.diffusion(awake("v7"), FILLED, HOLLOW)
    explorer.sampler, explorer.threshold, explorer.top_k, explorer.text = "changes its mind", 80, 3, "_" * 12
    thoughts, own = SecondThoughts(12, 0.8, 5.0), torch.Generator().manual_seed(0)
    idx = explorers.encode_masked(FILLED, "_" * 12)
    expected = list(drafts(awake("v7"), idx, thoughts, 0.8, 3, own))
    shown, words = frames(explorer)
    before, taken_back = torch.zeros(12, dtype=torch.bool), 0
    for (page, _), word, draft in zip(shown, words, expected, strict=True):
        hidden = draft.tokens[0] == FILLED.mask_id
        again = hidden & before
        marks = zip(visible(FILLED.decode(draft.tokens[0])), again, strict=True)
        assert word.characters == ["▓" if back else char for char, back in marks]
        assert page.title.endswith(f", {int(again.sum())} of them taken back") == bool(again.any())
        np.testing.assert_allclose(word.sure[~hidden], draft.confidence[0, ~hidden].numpy())
        assert np.isnan(word.sure[hidden]).all()
        before, taken_back = before | ~hidden, taken_back + int(again.sum())
    assert taken_back > 0


def test_filling_in_runs_once_for_all_steps_and_uses_no_global_random_numbers(awake, monkeypatch):
    explorer, calls = explorers.diffusion(awake("v7"), FILLED, HOLLOW), []
    monkeypatch.setattr(trained_models, "fill_in", lambda *args: calls.append(1) or fill_in(*args))
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    explorer.number = 4
    explorer.threshold = 50
    explorer.step = 1
    assert torch.equal(torch.rand(4), expected)
    assert calls == [1, 1]
    explorer.text = "ab_d_ "
    assert explorer.shown["limits"] == {"step": 2}
    explorer.sampler, explorer.threshold = "entropy bound", 0
    assert not any(isinstance(mark, Level) for mark in explorer.now()[1].marks)
    explorer.sampler = "surest first"
    assert explorer.now()[1].title == "2.0 characters a step"  # all at once
