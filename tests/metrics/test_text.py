"""Numbers of a text, counted by hand, and its likelihood under a model."""

import math

import pytest
import torch
from torch.nn import functional as F

from babygpt.metrics.text import distinct, entropy, nll_and_entropy, repeated, words


def test_grams_by_hand():
    """abab has the pairs ab, ba, ab."""
    assert distinct("abab", 1) == 2 / 4
    assert distinct("abab", 2) == 2 / 3
    assert repeated("abab", 2) == 2 / 3
    assert repeated("abab", 3) == 0


def test_words_are_counted_like_characters():
    assert words("who's there? ada, ben-hur. ada!") == ["who's", "there", "ada", "ben-hur", "ada"]
    assert distinct(words("ada met ben. ada met eve."), 2) == 4 / 5
    assert repeated(words("ada met ben. ada met ben."), 3) == 2 / 4


def test_a_text_without_such_grams_has_no_number():
    for measure in (distinct, repeated):
        assert math.isnan(measure("ab", 3))
        with pytest.raises(ValueError, match=r"n \(0\) must be at least 1"):
            measure("ab", 0)
    assert math.isnan(entropy(""))


def test_entropy_by_hand():
    assert entropy("aaaa") == pytest.approx(0)
    assert entropy("abcd") == pytest.approx(math.log(4))
    assert entropy("aaab") == pytest.approx(0.75 * math.log(4 / 3) + 0.25 * math.log(4))


def test_a_judge_says_how_likely_a_text_is_and_how_unsure_it_was(awake, text):
    judge, ids = awake("v4"), text(3, 12)
    surprise, unsure = nll_and_entropy(judge, ids, start=4)
    log_p = judge(ids[:, :-1])[:, 3:].log_softmax(-1)
    expected = F.nll_loss(log_p.transpose(1, 2), ids[:, 4:], reduction="none").mean(1)
    torch.testing.assert_close(surprise.float(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(unsure.float(), -(log_p.exp() * log_p).sum(-1).mean(1), atol=1e-5, rtol=0)


def test_a_text_longer_than_the_window_is_read_to_its_end(awake, text):
    """Each token is judged after half a window at least: the last one after the 15 before it."""
    judge, ids = awake("v4", block_size=16), text(2, 41)
    surprise, _ = nll_and_entropy(judge, ids, start=1)
    by_hand = []
    for begin in range(1, 41, 8):
        end = min(begin + 8, 41)
        log_p = judge(ids[:, max(0, end - 17) : end - 1]).log_softmax(-1)
        picked = log_p[:, begin - end :].gather(-1, ids[:, begin:end, None])[..., 0]
        by_hand.append(-picked)
    torch.testing.assert_close(surprise.float(), torch.cat(by_hand, 1).mean(1), atol=1e-5, rtol=0)
    changed = ids.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 11
    assert (nll_and_entropy(judge, changed, 1)[0] != surprise).all()


@pytest.mark.parametrize("start", [0, 12])
def test_a_judge_needs_something_before_and_after(awake, text, start):
    with pytest.raises(ValueError, match=rf"start \({start}\) must lie between 1 and 11"):
        nll_and_entropy(awake("v4"), text(1, 12), start)
