"""Each claim comes out as mathematics says it must, and each measurement can come out otherwise."""

import re

import pytest
import torch

from babygpt_course.claims import note_004 as claims
from babygpt_course.claims import position_gains

BY_TEXT = {claim.text: claim for claim in claims.CLAIMS}
TRAINED = "knowing the place helps prediction"
EXPECTED = {
    "v1 cannot tell 我爱你 from 你爱我": "fails",
    "in v1 a character has the same code at every place": "holds",
    "the note's worked table of sums is right": "holds",
    "in v2 a character has another code at another place": "holds",
    "with a code for each place v2 knows who loves whom": "fails",
    "v1 has VD + DV parameters, v2 VD + TD + DV": "fails",
    "v2 adds block_size × n_embd parameters to v1": "holds",
    "an input that is too long is cut to its last block_size tokens": "holds",
    "so v2 can write on past block_size": "holds",
    "adding mixes token and position in one space": "fails",
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
    aligned, anywhere = map(float, re.findall(r"[-+][\d.]+\d", finding.reason))
    assert finding.verdict == "depends"
    assert finding.value == pytest.approx(aligned, abs=1e-3)
    assert aligned > 0.05
    assert abs(anywhere) < 0.02


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [([0.3, 0.31, 0.29], "holds"), ([-0.3, -0.31, -0.29], "fails"), ([0.3, -0.3, 0.3], "fails")],
)
def test_gains_in_both_or_in_neither_would_decide_it(monkeypatch, gains, verdict):
    monkeypatch.setattr(position_gains, "position_gains", lambda aligned: gains)
    assert position_gains.position_helps_prediction().verdict == verdict


# ---------------------------------------------------------------- another v2 would change the verdict


def verdict_of(monkeypatch, text: str, forward) -> str:
    """The verdict on a claim if v2 had another forward pass; `forward` is given the model and the tokens."""

    class Other(claims.BagWithPositions):
        def forward(self, idx, positions=None, cache=None):
            return forward(super(), idx)

    monkeypatch.setattr(claims, "BagWithPositions", Other)
    return BY_TEXT[text].measure().verdict


OTHERS = {
    "adding mixes token and position in one space": lambda v2, idx: v2.forward(idx) ** 2,
    "with a code for each place v2 knows who loves whom": lambda v2, idx: v2.forward(idx).cumsum(dim=1),
    "in v2 a character has another code at another place": lambda v2, idx: v2.forward(idx)[:, :1].expand(
        -1, idx.shape[1], -1
    ),
    "an input that is too long is cut to its last block_size tokens": lambda v2, idx: v2.forward(idx[:, :8]),
}


@pytest.mark.parametrize("text", OTHERS)
def test_another_v2_would_change_the_verdict(monkeypatch, text):
    assert {verdict_of(monkeypatch, text, OTHERS[text]), EXPECTED[text]} == {"holds", "fails"}


def test_a_v2_that_refuses_long_inputs_would_stop_at_its_table(monkeypatch):
    def refusing(v2, idx):
        if idx.shape[1] > 8:
            raise IndexError("index out of range in self")
        return v2.forward(idx)

    text = "so v2 can write on past block_size"
    assert verdict_of(monkeypatch, text, refusing) == "fails"
    assert BY_TEXT[text].measure().value == 1  # from eight tokens, the ninth


def test_a_v1_that_looked_at_places_would_change_the_verdict(monkeypatch):
    class Placed(claims.BagOfTokens):
        def forward(self, idx, positions=None, cache=None):
            return super().forward(idx, positions, cache) + torch.arange(idx.shape[1])[:, None]

    monkeypatch.setattr(claims, "BagOfTokens", Placed)
    assert BY_TEXT["in v1 a character has the same code at every place"].measure().verdict == "fails"
