"""Note 004: changed versions 1 and 2 change the verdicts."""

import pytest
import torch

from babygpt_course.claims import note_004 as claims


def test_the_counts_miss_the_bias_of_the_head():
    assert claims.counts_are_right.measure().value == 65


def test_both_readings_give_v1_and_v2_the_same_verdict():
    """Try both readings: in each, the sentences differ in probability and the earlier name has no effect."""
    kinds = (claims.BagOfTokens, claims.BagWithPositions)
    v1, v2 = (claims.tells_sentences_apart(kind, True) for kind in kinds)
    assert v1.verdict == v2.verdict == "depends"
    assert all("is predicted alike" in finding.reason for finding in (v1, v2))


def refuse_long_inputs(v2, idx):
    if idx.shape[1] > 8:
        raise IndexError("index out of range in self")
    return v2.forward(idx)


OTHERS = {  # claim -> what another v2 computes, verdict
    "adding_mixes_token_and_position": (lambda v2, idx: v2.forward(idx) ** 2, "holds"),
    "v2_tells_sentences_apart": (lambda v2, idx: v2.forward(idx).cumsum(dim=1), "holds"),
    "v2_codes_know_their_position": (lambda v2, idx: v2.forward(idx)[:, :1].repeat(1, 3, 1), "fails"),
    "long_inputs_are_cut": (lambda v2, idx: v2.forward(idx[:, :8]), "fails"),
    "writing_goes_on_past_the_table": (refuse_long_inputs, "fails"),
}


@pytest.mark.parametrize("claim", OTHERS)
def test_another_v2_changes_the_verdict(monkeypatch, claim):
    compute, verdict = OTHERS[claim]

    class Other(claims.BagWithPositions):
        def forward(self, idx, positions=None, cache=None):
            return compute(super(), idx)

    monkeypatch.setattr(claims, "BagWithPositions", Other)
    assert getattr(claims, claim).measure().verdict == verdict


def test_a_v1_with_positions_changes_the_verdict(monkeypatch):
    class Positioned(claims.BagOfTokens):
        def forward(self, idx, positions=None, cache=None):
            return super().forward(idx, positions, cache) + torch.arange(idx.shape[1])[:, None]

    monkeypatch.setattr(claims, "BagOfTokens", Positioned)
    assert claims.v1_codes_do_not_know_their_position.measure().verdict == "fails"


def test_a_constant_v1_cannot_distinguish_sentences(monkeypatch):
    class Constant(claims.BagOfTokens):
        def forward(self, idx, positions=None, cache=None):
            return torch.zeros(*idx.shape, self.config.vocab_size)

    monkeypatch.setattr(claims, "BagOfTokens", Constant)
    assert claims.v1_cannot_tell_sentences_apart.measure().verdict == "holds"
