"""Claims about branch codes: what mathematics decides, and what the stored training runs decide."""

import math

import pytest

from babygpt.claims import branches, note_002, note_003

BY_TEXT = {claim.text: claim for claim in (*note_002.CLAIMS, *note_003.CLAIMS)}
DECIDED = {  # by the formula alone
    "2-D RoPE leaves branches 93–99% alike, even at stride 4096": "fails",
    "at stride 128 Fourier codes are 17.4 apart": "holds",
    "at stride 128 Fourier codes are 31% alike": "fails",
    "theta 1000 suits small strides, 100000 large ones": "holds",
    "the logits of two branches differ by more than 0.1": "depends",
    "two branches reach a loss of 1.5": "depends",
    "weights of 2-D RoPE do not carry over": "holds",
    "at stride 4096 2-D RoPE still leaves a cosine of 0.95": "fails",
    "neighbouring rows of the table are 85% alike": "fails",
    "rows 0 and 128 are 31% alike": "fails",
    "every index has a vector of its own": "holds",
    "how far apart the indices are does not matter": "fails",
    "32,768 rows are enough for eight branches at stride 4096": "holds",
    "that table has 16 M numbers": "holds",
}


def tell(monkeypatch, **runs):
    """Let these be the stored runs: name -> (loss alone, gap, leak), the same for all numbers of branches."""
    made = {}
    for name, (alone, gap, leak) in runs.items():
        spread = (-0.001, 0.0, 0.001)
        made[name] = {f"gap {n}": [gap + s for s in spread] for n in (2, 4, 8)}
        made[name] |= {"alone": [alone] * 3, "leak": [leak] * 3, "leak, isolated": [0.0] * 3}
    monkeypatch.setattr(branches, "_stored", lambda: {"runs": made, "floor": 0.3})


@pytest.mark.parametrize("text", DECIDED)
def test_verdict(text):
    finding = BY_TEXT[text].measure()
    assert finding.verdict == DECIDED[text], finding


@pytest.mark.parametrize("text", BY_TEXT)
def test_every_claim_finds_a_number(text):
    finding = BY_TEXT[text].measure()
    assert finding.verdict in ("holds", "fails", "depends")
    assert math.isfinite(finding.value)


def test_the_cosine_is_that_of_the_sum_over_frequencies():
    expected = sum(math.cos(128 * 10_000 ** (-i / 256)) for i in range(256)) / 256
    assert branches.code_cosine(128) == pytest.approx(expected, abs=1e-6)
    assert branches.code_distance(128) == pytest.approx(16 * math.sqrt(2 - 2 * expected), abs=1e-3)


def test_logits_double_with_the_head():
    assert branches.logit_difference(8, 2.0, width=32) == pytest.approx(
        2 * branches.logit_difference(8, width=32), rel=1e-4
    )


@pytest.mark.parametrize(("warmed", "verdict"), [(0.4, "holds"), (0.6, "fails")])
def test_warm_up(monkeypatch, warmed, verdict):
    tell(monkeypatch, **{"four: Fourier": (0.5, 0.0, 0), "four, warmed up: Fourier": (warmed, 0.0, 0)})
    assert note_002.warm_up_is_a_must().verdict == verdict


@pytest.mark.parametrize(("rope", "verdict"), [(0.9, "holds"), (0.5, "fails"), (0.4, "fails")])
def test_who_is_stuck(monkeypatch, rope, verdict):
    tell(monkeypatch, **{"two: Fourier": (0.5, 0.0, 0), "two: 2-D RoPE": (rope, 0.0, 0)})
    assert note_002.rope_2d_is_stuck().verdict == verdict


@pytest.mark.parametrize(("leak", "verdict"), [(0.0, "holds"), (1e-6, "fails")])
def test_independence_is_exact_or_it_is_none(monkeypatch, leak, verdict):
    tell(monkeypatch, **{"two: Fourier": (0.5, 0.0, leak)})
    assert note_002.outputs_are_independent().verdict == verdict


@pytest.mark.parametrize(("gap", "verdict"), [(0.0, "holds"), (0.9, "fails")])
def test_new_branches(monkeypatch, gap, verdict):
    names = ("two: Fourier", "two: 2-D RoPE", "two of eight numbers: Fourier")
    tell(monkeypatch, **dict.fromkeys(names, (0.5, gap, 0)))
    assert note_002.new_branches_do_not_matter().verdict == verdict


@pytest.mark.parametrize(("learnt", "verdict"), [(0.4, "holds"), (0.5, "depends"), (0.6, "fails")])
def test_learnable_codes(monkeypatch, learnt, verdict):
    runs = {"up to eight: Fourier, learnable": (learnt, 0, 0), "up to eight: Fourier": (0.5, 0, 0)}
    tell(monkeypatch, **runs)
    assert note_002.a_learnable_code_is_better().verdict == verdict


@pytest.mark.parametrize(("gap", "verdict"), [(0.001, "holds"), (0.1, "fails")])
def test_strides_after_training(monkeypatch, gap, verdict):
    where = ("stride 1", "stride 8", "stride 1024", "two")
    runs = {f"{w}: {code}": (0.5, gap, 0) for w in where for code in ("Fourier", "Fourier, learnable")}
    tell(monkeypatch, **runs)
    assert note_003.training_does_not_need_a_stride().verdict == verdict
    assert note_003.learnable_codes_do_not_need_a_stride().verdict == verdict


@pytest.mark.parametrize(("narrow", "verdict"), [(0.001, "fails"), (0.2, "holds")])
def test_strides_of_rope(monkeypatch, narrow, verdict):
    tell(monkeypatch, **{"stride 1: 2-D RoPE": (0.5, narrow, 0), "two: 2-D RoPE": (0.5, 0.001, 0)})
    assert note_003.rope_2d_needs_a_stride().verdict == verdict
