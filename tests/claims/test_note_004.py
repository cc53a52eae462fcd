"""Each claim comes out as mathematics says it must, and each measurement can come out otherwise."""

import re

import pytest
import torch

from babygpt.claims import note_004 as claims

BY_TEXT = {claim.text: claim for claim in claims.CLAIMS}
TRAINED = "knowing the place helps prediction"
EXPECTED = {
    "v1 cannot tell 我爱你 from 你爱我": "fails",
    "in v1 a character has the same code at every place": "holds",
    "the note's worked table of sums is right": "holds",
    "with a code for each place v2 knows who loves whom": "fails",
    "v1 has VD + DV parameters, v2 VD + TD + DV": "fails",
    "v2 adds block_size × n_embd parameters to v1": "holds",
    "cutting long inputs inside forward is all it takes": "fails",
    "adding mixes token and position in one space": "fails",
    "concatenating would double the next layer": "holds",
}


def test_every_claim_of_note_004_is_here():
    assert set(BY_TEXT) == {*EXPECTED, TRAINED}


@pytest.mark.parametrize("text", EXPECTED)
def test_verdict(text):
    finding = BY_TEXT[text].measure()
    assert finding.verdict == EXPECTED[text], finding


def test_the_missing_parameters_are_the_heads_bias():
    assert BY_TEXT["v1 has VD + DV parameters, v2 VD + TD + DV"].measure().value == 65


def test_position_helps_on_aligned_windows_only():
    finding = BY_TEXT[TRAINED].measure()
    aligned, anywhere = map(float, re.findall(r"[-\d.]+\d", finding.reason))
    assert finding.verdict == "depends"
    assert finding.value == pytest.approx(aligned, abs=1e-3)
    assert aligned > 0.05
    assert abs(anywhere) < 0.02


def test_a_v2_with_a_nonlinear_head_would_mix_token_and_position(monkeypatch):
    """The measurement of interaction is not zero for every model."""

    class Mixing(claims.BagWithPositions):
        def forward(self, idx, positions=None, cache=None):
            return super().forward(idx, positions, cache) ** 2

    monkeypatch.setattr(claims, "BagWithPositions", Mixing)
    assert claims.adding_mixes_token_and_position().verdict == "holds"


def test_a_model_that_sees_the_past_would_make_the_other_verdict(monkeypatch):
    class Summing(claims.BagWithPositions):
        def forward(self, idx, positions=None, cache=None):
            return super().forward(idx, positions, cache).cumsum(dim=1)

    monkeypatch.setattr(claims, "BagWithPositions", Summing)
    torch.manual_seed(0)
    assert claims.v2_tells_who_stood_before().verdict == "holds"
