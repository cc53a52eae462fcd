"""Note 004: versions 1 and 2 with which the verdicts would be others."""

import re

import pytest
import torch

from babygpt_course.claims import note_004 as claims


def test_the_counts_miss_the_bias_of_the_head():
    assert claims.counts_are_right.measure().value == 65


def test_position_helps_on_aligned_windows_only():
    finding = claims.position_helps_prediction.measure()
    aligned, anywhere = map(float, re.findall(r"[-+][\d.]+\d", finding.reason))
    assert finding.verdict == "depends"
    assert finding.value == pytest.approx(aligned, abs=1e-3)
    assert aligned > 0.05
    assert abs(anywhere) < 0.02


@pytest.mark.parametrize(
    ("sign", "verdict"), [((1, 1, 1), "holds"), ((-1, -1, -1), "fails"), ((1, -1, 1), "fails")]
)
def test_gains_in_both_or_in_neither_would_decide_it(monkeypatch, sign, verdict):
    gains = [s * gain for s, gain in zip(sign, (0.3, 0.31, 0.29), strict=True)]
    monkeypatch.setattr(claims, "position_gains", lambda aligned: gains)
    assert claims.position_helps_prediction.measure().verdict == verdict


def refuse_long_inputs(v2, idx):
    if idx.shape[1] > 8:
        raise IndexError("index out of range in self")
    return v2.forward(idx)


OTHERS = {  # claim -> what another v2 computes, verdict
    "adding_mixes_token_and_position": (lambda v2, idx: v2.forward(idx) ** 2, "holds"),
    "v2_tells_who_stood_before": (lambda v2, idx: v2.forward(idx).cumsum(dim=1), "holds"),
    "v2_codes_know_their_position": (lambda v2, idx: v2.forward(idx)[:, :1].repeat(1, 3, 1), "fails"),
    "long_inputs_are_cut": (lambda v2, idx: v2.forward(idx[:, :8]), "fails"),
    "writing_goes_on_past_the_table": (refuse_long_inputs, "fails"),
}


@pytest.mark.parametrize("claim", OTHERS)
def test_another_v2_would_change_the_verdict(monkeypatch, claim):
    compute, verdict = OTHERS[claim]

    class Other(claims.BagWithPositions):
        def forward(self, idx, positions=None, cache=None):
            return compute(super(), idx)

    monkeypatch.setattr(claims, "BagWithPositions", Other)
    assert getattr(claims, claim).measure().verdict == verdict


def test_a_v1_that_looked_at_positions_would_change_the_verdict(monkeypatch):
    class Positioned(claims.BagOfTokens):
        def forward(self, idx, positions=None, cache=None):
            return super().forward(idx, positions, cache) + torch.arange(idx.shape[1])[:, None]

    monkeypatch.setattr(claims, "BagOfTokens", Positioned)
    assert claims.v1_codes_do_not_know_their_position.measure().verdict == "fails"
