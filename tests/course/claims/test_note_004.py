"""Note 004: the expected verdicts, and versions 1 and 2 with which they would be others."""

import re

import pytest
import torch

from babygpt_course.claims import note_004 as claims

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


def test_every_verdict():
    measured = {text: claim.measure() for text, claim in BY_TEXT.items() if text != TRAINED}
    assert {text: finding.verdict for text, finding in measured.items()} == EXPECTED
    assert measured["v1 has VD + DV parameters, v2 VD + TD + DV"].value == 65  # the head's bias


def test_position_helps_on_aligned_windows_only():
    finding = BY_TEXT[TRAINED].measure()
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
    assert BY_TEXT[TRAINED].measure().verdict == verdict


def refuse_long_inputs(v2, idx):
    if idx.shape[1] > 8:
        raise IndexError("index out of range in self")
    return v2.forward(idx)


OTHERS = {
    "adding mixes token and position in one space": lambda v2, idx: v2.forward(idx) ** 2,
    "with a code for each place v2 knows who loves whom": lambda v2, idx: v2.forward(idx).cumsum(dim=1),
    "in v2 a character has another code at another place": lambda v2, idx: v2.forward(idx)[:, :1].expand(
        -1, idx.shape[1], -1
    ),
    "an input that is too long is cut to its last block_size tokens": lambda v2, idx: v2.forward(idx[:, :8]),
    "so v2 can write on past block_size": refuse_long_inputs,
}


@pytest.mark.parametrize("text", OTHERS)
def test_another_v2_would_change_the_verdict(monkeypatch, text):
    class Other(claims.BagWithPositions):
        def forward(self, idx, positions=None, cache=None):
            return OTHERS[text](super(), idx)

    monkeypatch.setattr(claims, "BagWithPositions", Other)
    assert {BY_TEXT[text].measure().verdict, EXPECTED[text]} == {"holds", "fails"}


def test_a_v1_that_looked_at_positions_would_change_the_verdict(monkeypatch):
    class Positioned(claims.BagOfTokens):
        def forward(self, idx, positions=None, cache=None):
            return super().forward(idx, positions, cache) + torch.arange(idx.shape[1])[:, None]

    monkeypatch.setattr(claims, "BagOfTokens", Positioned)
    assert BY_TEXT["in v1 a character has the same code at every place"].measure().verdict == "fails"
