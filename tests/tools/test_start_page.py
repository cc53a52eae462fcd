"""The recording that the start page draws, and what the page says about it."""

import math
from base64 import b64decode

import numpy as np
import pytest

from tools.book import start

LARGEST = 40_000  # bytes of the recording


@pytest.fixture(scope="module")
def recording():
    return start.load_recording()


def test_a_recording_holds_both_orders_for_both_models(recording):
    assert start.RECORDING.stat().st_size < LARGEST
    assert (recording["seed"], recording["steps"], recording["questions"]) == (
        start.SEED,
        start.STEPS,
        start.QUESTIONS,
    )
    assert [question["text"] for question in recording["asked"]] == list(start.ASKED)
    for question, lanes in zip(recording["asked"], recording["readings"], strict=True):
        assert len(lanes) == len(start.MODELS)
        for begin, length in question["names"]:
            assert question["text"][begin : begin + length].isalpha()
        for lane in lanes:
            n = len(lane["text"]) + 1
            assert lane["text"].startswith(question["text"])
            assert lane["asked"] == len(question["text"])
            assert len(lane["next"]) == lane["asked"] + 1
            assert all(0 < share <= 1 for pairs in lane["next"] for _, share in pairs)
            assert all(math.fsum(share for _, share in pairs) <= 1.01 for pairs in lane["next"])
            shares = np.frombuffer(b64decode(lane["weights"]), np.uint8) / 255
            rows = np.zeros((n, n))
            rows[np.tril_indices(n)] = shares  # raises an error for another number of weights
            np.testing.assert_allclose(rows.sum(axis=1), 1, atol=n / 510)
            assert rows[lane["asked"], 1] == pytest.approx(lane["look"], abs=0.003)


def test_one_model_is_right_in_both_orders_and_the_other_writes_one_name(recording):
    for question, (rope, none) in zip(recording["asked"], recording["readings"], strict=True):
        assert rope["text"][len(question["text"])] == question["right"][0]
        assert none["text"][len(question["text"])] == recording["readings"][0][1]["text"][rope["asked"]]
    assert recording["right"]["rope"] > 0.9
    assert recording["right"]["none"] < 0.7


def test_the_page_says_that_it_is_a_recording_and_that_the_other_model_is_no_bag(recording):
    html = start.start_html()
    assert '<span class="first-kind">recorded</span>' in html
    assert f"Recorded: seed {recording['seed']}, {recording['steps']} steps" in html
    assert "not simply a bag" in html
    assert "notebooks/03a_attention.html" in html
