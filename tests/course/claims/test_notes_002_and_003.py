"""Notes 002 and 003: closed forms, and stored runs that change the verdict."""

import math

import pytest
import torch

from babygpt.encodings import Fourier, Rotary, Rotary2D
from babygpt.encodings.fourier import fourier
from babygpt_course.claims import note_002, note_003

CODES = ("Fourier", "2-D RoPE")


def run(alone, gap=0.0, leak=0.0, **more):
    """Return what the runs of one name stored, from twelve seeds that differ by thousandths."""
    gaps = {f"gap {n}": gap for n in (4, 8, 16)}
    found = {"alone": alone, "leak": leak, "leak, isolated": 0.0, **gaps, **more}
    noise = (-0.001, 0.0, 0.001, 0.002, -0.002, 0.001) * 2
    return {"gap 2": [gap + e for e in noise], **{key: [value] * 12 for key, value in found.items()}}


def words(beside):
    return {"unknown 2": beside, "unknown 2, isolated": 0.1, "unknown 4": 0.5}


def warmed_up(loss):
    return {"four: Fourier": run(0.5), "up to eight: none": run(0.9), "four, warmed up: Fourier": run(loss)}


def at_a_time(*losses):
    runs = {f"{n} at a time: Fourier": run(loss) for n, loss in zip((2, 4, 8), losses[1:], strict=False)}
    return {"16 at a time: isolated": run(losses[0]), **runs}


def streams(inside):
    found = run(0.5, **{"stream 0": 0.0, "stream 1": 1.0, "stream 2": inside})
    return {f"stride 4096: {code}": found for code in CODES}


def strides(loss, gap):
    wide = {f"{where}: {code}": run(0.5) for where in ("stride 8", "stride 1024", "two") for code in CODES}
    return wide | {f"stride 1: {code}": run(loss, gap) for code in CODES}


def rope_against_fourier(loss):
    return {"two: Fourier": run(0.5), "two: 2-D RoPE": run(loss)}


OTHERWISE = [  # claim, stored runs, verdict
    (note_002.warm_up_is_a_must, warmed_up(0.4), "holds"),
    (note_002.warm_up_is_a_must, warmed_up(0.49), "fails"),
    (note_002.warm_up_is_a_must, warmed_up(0.6), "fails"),
    (note_002.several_are_much_harder_than_one, at_a_time(0.5, 0.5, 0.505, 0.51), "fails"),
    (note_002.several_are_much_harder_than_one, at_a_time(0.5, 0.5, 0.55, 0.7), "depends"),
    (note_002.several_are_much_harder_than_one, at_a_time(0.5, 0.53, 0.55), "holds"),
    (note_002.rope_2d_leaves_branches_alike, streams(0.99), "depends"),
    (note_002.rope_2d_leaves_branches_alike, streams(0.8), "fails"),
    (note_002.no_gibberish, {"two: Fourier": run(0.5, **words(0.12))}, "holds"),
    (note_002.no_gibberish, {"two: Fourier": run(0.5, **words(0.3))}, "fails"),
    (note_002.weights_do_not_carry_over, {"two: 2-D RoPE": run(0.5, **{"alone, as Fourier": 0.5})}, "fails"),
    (note_002.weights_do_not_carry_over, {"two: 2-D RoPE": run(0.5, **{"alone, as Fourier": 2.0})}, "holds"),
    (note_002.rope_2d_is_stuck, rope_against_fourier(0.9), "holds"),
    (note_002.rope_2d_is_stuck, rope_against_fourier(0.515), "fails"),
    (note_002.rope_2d_is_stuck, rope_against_fourier(0.4), "fails"),
    (note_002.outputs_are_independent, {"two: Fourier": run(0.5, leak=1e-4)}, "holds"),
    (note_002.outputs_are_independent, {"two: Fourier": run(0.5, leak=0.05)}, "fails"),
    (note_003.rope_2d_needs_one, strides(0.5, 0.0), "fails"),
    (note_003.rope_2d_needs_one, strides(0.6, 0.0), "depends"),
    (note_003.rope_2d_needs_one, strides(0.6, 0.2), "holds"),
    (note_003.fourier_needs_none, strides(0.5, 0.0), "holds"),
    (note_003.fourier_needs_none, strides(0.6, 0.0), "depends"),
    (note_003.fourier_needs_none, strides(0.6, 0.2), "fails"),
]


@pytest.mark.parametrize(("claim", "runs", "verdict"), OTHERWISE)
def test_other_stored_runs_change_the_verdict(monkeypatch, claim, runs, verdict):
    """Expect the same numbers from three seeds to decide nothing that rests on them."""
    monkeypatch.setattr(note_002, "stored_results", lambda: {"runs": runs})
    assert claim.measure().verdict == verdict
    few = {name: {key: seeds[:3] for key, seeds in found.items()} for name, found in runs.items()}
    monkeypatch.setattr(note_002, "stored_results", lambda: {"runs": few})
    assert claim.measure().verdict == "undecided"


OTHER_CODES = [  # claim, name in the module of note 002, its replacement, verdict
    (note_002.stride_256_is_less_alike, "code_cosine", lambda position: position / 1000, "depends"),
    (note_002.theta_suits_the_stride, "code_cosine", lambda _, theta: float(theta == 1e4), "holds"),
    (note_002.branch_and_time_are_decoupled, "Rotary2D", lambda D, **_: Rotary(D), "fails"),
    (note_002.distance_of_codes, "code_distance", lambda position: 17.6, "fails"),
    (note_002.similarity_is_31_percent, "code_cosine", lambda position: 0.315, "holds"),
    (note_003.larger_stride_less_alike, "rope_cosine", lambda position: 1 / position, "holds"),
]


@pytest.mark.parametrize(("claim", "name", "other", "verdict"), OTHER_CODES)
def test_other_branch_codes_change_the_verdict(monkeypatch, claim, name, other, verdict):
    monkeypatch.setattr(note_002, name, other)
    assert claim.measure().verdict == verdict


def test_the_cosine_is_that_of_the_sum_over_frequencies():
    expected = sum(math.cos(128 * 10_000 ** (-i / 256)) for i in range(256)) / 256
    assert note_002.code_cosine(128) == pytest.approx(expected, abs=1e-6)
    assert note_002.code_distance(128) == pytest.approx(16 * math.sqrt(2 - 2 * expected), abs=1e-3)


def test_logits_double_with_the_head():
    change, doubled = (note_002.logit_difference(8, scale, width=32) for scale in (1.0, 2.0))
    assert doubled == pytest.approx(2 * change, rel=1e-4)


def test_time_and_branch_add_up_when_they_have_separate_channels():
    D, width = note_002.HEAD_DIM, note_002.WIDTH
    assert note_002.interaction(Rotary2D(D, stride=128)) < 1e-5
    assert note_002.interaction(Rotary(D)) < 1e-5  # no branch at all
    assert note_002.interaction(Fourier(D, width, stride=128)) > 0.1


def test_the_old_program_indexes_codes_by_branch_without_the_stride():
    rows = torch.stack([note_003.divided_code(branch, 128) for branch in range(3)])
    torch.testing.assert_close(rows, fourier(torch.arange(3), note_002.WIDTH))
