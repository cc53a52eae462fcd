"""Notes 002 and 003: the expected verdicts, closed forms, and stored runs that would decide otherwise."""

import math

import pytest
import torch

from babygpt.encodings import Fourier, Rotary, Rotary2D
from babygpt_course.claims import note_002, note_003

EXPECTED = {
    "2-D RoPE leaves branches 93–99% alike, even at stride 4096": "depends",
    "at stride 128 Fourier codes are 17.4 apart": "holds",
    "at stride 128 Fourier codes are 31% alike": "fails",
    "a larger stride makes them less alike": "depends",
    "theta 1000 suits small strides": "holds",
    "theta 100000 suits large strides": "fails",
    "branch and time are decoupled, more than under 2-D RoPE": "depends",
    "the logits of two branches differ by more than 0.1": "depends",
    "the outputs of two branches are independent": "fails",
    "two branches write no gibberish": "holds",
    "without a single-branch stage training collapses": "fails",
    "several branches are much harder than one": "fails",
    "2-D RoPE is stuck where Fourier codes are not": "fails",
    "what counts is telling apart, not generalising": "depends",
    "a learnable code helps where the fixed one is not enough": "holds",
    "weights of 2-D RoPE do not carry over": "holds",
    "at stride 128 2-D RoPE leaves a cosine of 0.99": "fails",
    "at stride 4096 2-D RoPE still leaves a cosine of 0.95": "fails",
    "neighbouring rows of the table are 85% alike": "fails",
    "rows 0 and 128 are 31% alike": "fails",
    "every index has a vector of its own": "holds",
    "how far apart the indices are does not matter": "fails",
    "it is the Fourier formula that tells branches apart": "fails",
    "in the old program branch_stride was needless": "holds",
    "trained, Fourier codes need no stride": "depends",
    "trained, learnable codes need no stride": "holds",
    "2-D RoPE needs a stride": "depends",
    "under 2-D RoPE the larger the stride the less alike": "depends",
    "32,768 rows are enough for eight branches at stride 4096": "holds",
    "that table has 16 M numbers": "holds",
    "from index 1 to 128 the logits differ about four times more": "holds",
}


def tell(monkeypatch, more=None, **runs):
    """Let these be the stored runs: name -> (loss alone, gap, leak), the same for all numbers of branches.

    more  what was measured besides, in every run: name -> one value a seed
    """
    made = {}
    for name, (alone, gap, leak) in runs.items():
        spread = (-0.001, 0.0, 0.001)
        made[name] = {f"gap {n}": [gap + s for s in spread] for n in (2, 4, 8)}
        made[name] |= {
            "alone": [alone] * 3,
            "leak": [leak] * 3,
            "leak, isolated": [0.0] * 3,
            "own 4": [gap] * 3,
        }
        made[name] |= more or {}
    monkeypatch.setattr(note_002, "stored_results", lambda: {"runs": made})


def test_every_verdict():
    assert {claim.text: claim.measure().verdict for claim in (*note_002.CLAIMS, *note_003.CLAIMS)} == EXPECTED


def test_the_cosine_is_that_of_the_sum_over_frequencies():
    expected = sum(math.cos(128 * 10_000 ** (-i / 256)) for i in range(256)) / 256
    assert note_002.code_cosine(128) == pytest.approx(expected, abs=1e-6)
    assert note_002.code_distance(128) == pytest.approx(16 * math.sqrt(2 - 2 * expected), abs=1e-3)


def test_logits_double_with_the_head():
    assert note_002.logit_difference(8, 2.0, width=32) == pytest.approx(
        2 * note_002.logit_difference(8, width=32), rel=1e-4
    )


@pytest.mark.parametrize(("warmed", "verdict"), [(0.4, "holds"), (0.6, "fails")])
def test_warm_up(monkeypatch, warmed, verdict):
    plain = {"four: Fourier": (0.5, 0.0, 0), "up to eight: none": (0.9, 0.0, 0)}
    tell(monkeypatch, **plain, **{"four, warmed up: Fourier": (warmed, 0.0, 0)})
    assert note_002.warm_up_is_a_must().verdict == verdict


@pytest.mark.parametrize(
    ("two", "four", "eight", "verdict"),
    [
        (0.5, 0.5, 0.55, "fails"),
        (0.5, 0.55, 0.7, "depends"),
        (0.7, 0.8, 0.9, "holds"),
        (0.3, 0.3, 0.3, "fails"),
    ],
)
def test_several_against_one(monkeypatch, two, four, eight, verdict):
    losses = {1: 0.5, 2: two, 4: four, 8: eight}
    tell(monkeypatch, **{f"{n} at a time: Fourier": (loss, 0.0, 0) for n, loss in losses.items()})
    found = note_002.several_are_much_harder_than_one()
    assert found.verdict == verdict
    assert found.value == pytest.approx(max(two, four, eight) - 0.5)


@pytest.mark.parametrize(("inside", "verdict"), [(0.99, "depends"), (0.8, "fails")])
def test_alike_by_a_vector_or_by_streams(monkeypatch, inside, verdict):
    runs = {f"stride 4096: {code}": (0.5, 0.0, 0) for code in note_002.CODES}
    tell(monkeypatch, {"stream 0": [0.0] * 3, "stream 1": [1.0] * 3, "stream 2": [inside] * 3}, **runs)
    assert note_002.rope_2d_leaves_branches_alike().verdict == verdict


@pytest.mark.parametrize(("beside", "verdict"), [(0.1, "holds"), (0.3, "fails")])
def test_gibberish_is_what_company_adds(monkeypatch, beside, verdict):
    words = {"unknown 2": [beside] * 3, "unknown 2, isolated": [0.1] * 3, "unknown 4": [0.5] * 3}
    tell(monkeypatch, words, **{f"two: {code}": (0.5, 0, 0) for code in ("Fourier", "none")})
    assert note_002.no_gibberish().verdict == verdict


@pytest.mark.parametrize(("after", "verdict"), [(0.5, "fails"), (2.0, "holds")])
def test_weights_read_with_another_code(monkeypatch, after, verdict):
    tell(monkeypatch, {"alone, as Fourier": [after] * 3}, **{"two: 2-D RoPE": (0.5, 0, 0)})
    assert note_002.weights_do_not_carry_over().verdict == verdict


@pytest.mark.parametrize(("rope", "verdict"), [(0.9, "holds"), (0.5, "fails"), (0.4, "fails")])
def test_who_is_stuck(monkeypatch, rope, verdict):
    tell(monkeypatch, **{"two: Fourier": (0.5, 0.0, 0), "two: 2-D RoPE": (rope, 0.0, 0)})
    assert note_002.rope_2d_is_stuck().verdict == verdict


@pytest.mark.parametrize(("leak", "verdict"), [(0.0, "holds"), (1e-6, "fails")])
def test_independence_is_exact_or_it_is_none(monkeypatch, leak, verdict):
    tell(monkeypatch, **{"two: Fourier": (0.5, 0.0, leak)})
    assert note_002.outputs_are_independent().verdict == verdict


@pytest.mark.parametrize(
    ("trained", "new", "verdict"), [(0.0, 0.0, "holds"), (0.0, 0.9, "depends"), (0.9, 0.9, "fails")]
)
def test_new_branches(monkeypatch, trained, new, verdict):
    runs = {"two: Fourier": (0.5, new, 0), "up to eight: Fourier": (0.5, trained, 0)}
    tell(monkeypatch, **runs, **{"two: 2-D RoPE": (0.5, 0.1, 0)})
    assert note_002.telling_apart_is_all().verdict == verdict


@pytest.mark.parametrize(("learnt", "verdict"), [(0.4, "holds"), (0.5, "fails"), (0.6, "fails")])
def test_learnable_codes(monkeypatch, learnt, verdict):
    runs = {f"{where}: Fourier": (0.5, 0, 0) for where in ("stride 1", "two")}
    tell(
        monkeypatch,
        **runs,
        **{f"{where}: Fourier, learnable": (learnt, 0, 0) for where in ("stride 1", "two")},
    )
    assert note_002.a_learnable_code_helps().verdict == verdict


@pytest.mark.parametrize(
    ("loss", "gap", "needed", "not_needed"),
    [(0.5, 0.0, "fails", "holds"), (0.6, 0.0, "depends", "depends"), (0.6, 0.2, "holds", "fails")],
)
def test_strides_after_training(monkeypatch, loss, gap, needed, not_needed):
    wide = {f"{where}: 2-D RoPE": (0.5, 0.0, 0) for where in ("stride 8", "stride 1024", "two")}
    tell(monkeypatch, **wide, **{"stride 1: 2-D RoPE": (loss, gap, 0)})
    assert note_003.needs_a_stride("2-D RoPE").verdict == needed
    assert note_003.needs_a_stride("2-D RoPE", claimed=False).verdict == not_needed


@pytest.mark.parametrize(("random", "verdict"), [(0.5, "holds"), (0.0, "fails")])
def test_the_control(monkeypatch, random, verdict):
    tell(monkeypatch, **{"up to eight: random": (0.5, random, 0), "up to eight: Fourier": (0.5, 0.0, 0)})
    assert note_003.it_is_the_formula().verdict == verdict


def test_time_and_branch_add_up_where_they_have_channels_of_their_own():
    assert note_002.interaction(Rotary2D(note_002.HEAD_DIM, stride=128)) < 1e-5
    assert note_002.interaction(Rotary(note_002.HEAD_DIM)) < 1e-5  # no branch at all
    assert note_002.interaction(Fourier(note_002.HEAD_DIM, note_002.WIDTH, stride=128)) > 0.1


def test_the_old_program_looks_up_the_branch_itself():
    rows = torch.stack([note_003.divided_code(branch, 128) for branch in range(3)])
    torch.testing.assert_close(rows, note_003.fourier(torch.arange(3), note_002.WIDTH))
