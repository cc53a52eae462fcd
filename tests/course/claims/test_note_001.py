"""Each claim comes out as mathematics says it must, and each measurement can come out otherwise."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from babygpt.encodings.gaussian import AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt_course.claims import note_001
from babygpt_course.claims import note_001_kernels as claims
from babygpt_course.studies.results import load_results

BY_TEXT = {claim.text: claim for claim in note_001.CLAIMS}
EXPECTED = {
    "RoPE keeps relative positions": "holds",
    "θ_j = 10000^(−2j/d)": "holds",
    "RoPE's frequencies may be too coarse for near tokens": "fails",
    "RoPE is fixed and cannot balance near and far": "depends",
    "K scales from outside and leaves the frequency alone": "holds",
    "K works by controlling the rotation's frequency": "fails",
    "K(m) controls the sensitivity at relative positions": "depends",
    "where m is small, K strengthens the local": "depends",
    "where m is large, K strengthens the global": "fails",
    "σ₁ and σ₂ control how far the model looks": "depends",
    "α₁ and α₂ weigh local against global": "depends",
    "the two terms switch scales by themselves": "depends",
    "the code runs on its own example": "fails",
    "the code multiplies the vector at m by K(m)": "fails",
    "the code rotates even and odd channels": "fails",
    "the code's kernel adapts": "fails",
    "the code works where its queries and keys are": "fails",
    "a model learns better with K (K of the distance)": "depends",
    "a model learns better with K (the formula)": "fails",
    "K helps at other positions (those beyond the window)": "depends",
    "K brings back attention to the far that RoPE neglects": "fails",
    "a model adjusts the range of K to what it needs": "depends",
    "K balances near and far within the window (the formula)": "fails",
}


def test_every_verdict():
    assert {text: claim.measure().verdict for text, claim in BY_TEXT.items()} == EXPECTED


# ---------------------------------------------------------------- the numbers


def test_the_factor_of_a_score_is_a_product_of_two_kernels():
    reason = BY_TEXT["K(m) controls the sensitivity at relative positions"].measure().reason

    def K(m):
        return 0.7 * math.exp(-m * m / 50) + 0.3 * math.exp(-m * m / 800)

    assert f"{K(3) * K(0):.2f} for 3 and 0" in reason
    assert f"{K(63) * K(60):.0e} for 63 and 60" in reason


def test_the_terms_switch_where_they_are_equal_whatever_the_text():
    finding = BY_TEXT["the two terms switch scales by themselves"].measure()
    at = math.sqrt(math.log(0.7 / 0.3) / (1 / 50 - 1 / 800))
    assert 0.7 * math.exp(-at * at / 50) == pytest.approx(0.3 * math.exp(-at * at / 800))
    assert f"from {math.ceil(at)} tokens on" in finding.reason
    assert finding.value == 0
    assert claims.crossovers().tolist() == [[math.ceil(at)] * claims.TEXTS] * 2


def test_attention_is_shared_out_and_a_relative_kernel_takes_it_from_the_far():
    rope, relative = (
        claims.scores_at(e, 60).softmax(dim=-1).mean(dim=0).flip(0).detach().numpy()
        for e in (Rotary(32), RelativeGaussian(32))
    )
    assert [rope.sum(), relative.sum()] == pytest.approx([1, 1], abs=1e-5)
    away = np.arange(61)
    K = 0.7 * np.exp(-(away**2) / 50) + 0.3 * np.exp(-(away**2) / 800)
    assert relative == pytest.approx(K / K.sum(), abs=0.02)  # random tokens are alike on average
    assert rope == pytest.approx(np.full(61, 1 / 61), abs=0.01)


def test_far_from_the_start_the_formula_leaves_a_plain_average():
    weights = claims.scores_at(AbsoluteGaussian(32), 100).softmax(dim=-1)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / 101), atol=1e-6, rtol=1e-4)


# ---------------------------------------------------------------- each could come out otherwise


class Repaired(claims.NoteRotary):
    """The note's module with its four faults mended."""

    def __init__(self):
        super().__init__()
        self.alpha = torch.nn.Parameter(torch.tensor([0.7, 0.3]))
        freqs = self.__dict__.pop("inv_freq")
        self.register_buffer("inv_freq", freqs)

    def rotate(self, x):
        return rotate(x, torch.arange(x.shape[-2]))

    def forward(self, x):
        return claims.note_kernel(torch.arange(x.shape[-2]).float())[:, None] * self.rotate(x)


@pytest.mark.parametrize("text", [text for text in EXPECTED if text.startswith("the code")])
def test_repaired_code_would_hold(monkeypatch, text):
    monkeypatch.setattr(claims, "NoteRotary", Repaired)
    assert BY_TEXT[text].measure().verdict == "holds"


def test_the_shortened_code_is_the_notes():
    """Against the note's own class, if its text is at hand: with as many tokens as channels it runs."""
    note = Path(__file__).parents[3].parent / "shared/source-notes" / claims.NOTE
    if not note.exists():
        pytest.skip("the source notes are not at hand")
    code = note.read_text(encoding="utf-8").split("```python")[1].split("```")[0]
    theirs: dict = {"__name__": "note"}
    exec(code, theirs)
    q, k = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    for x, got in zip((q, k), theirs["RotaryEmbedding"](64, 0.7, 0.3, 5.0, 20.0)(q, k), strict=True):
        torch.testing.assert_close(claims.NoteRotary()(x), got)


def test_a_relative_kernel_in_place_of_the_formula_would_know_the_distance(monkeypatch):
    monkeypatch.setattr(claims, "AbsoluteGaussian", RelativeGaussian)
    assert claims.kernel_knows_the_distance().verdict == "holds"
    assert claims.in_both_uses("", sigmas=(10.0, 40.0)).verdict == "holds"
    assert claims.in_both_uses("", alphas=(0.7, 3.0)).verdict == "holds"


def test_a_kernel_that_turns_or_grows_would_be_seen(monkeypatch):
    class Turning(AbsoluteGaussian):
        def transform_qk(self, q, k, positions):
            return rotate(q, 2 * positions.time), k

    class Growing(AbsoluteGaussian):
        def transform_qk(self, q, k, positions):
            q, k = Rotary.transform_qk(self, q, k, positions)
            return 3 * q, k

    class Rising(RelativeGaussian):
        def score_bias(self, queries, keys):
            return -super().score_bias(queries, keys)

    monkeypatch.setattr(claims, "AbsoluteGaussian", Turning)
    assert claims.kernel_changes_the_rotation().verdict == "holds"
    assert claims.kernel_leaves_the_frequency().verdict == "fails"
    monkeypatch.setattr(claims, "AbsoluteGaussian", Growing)
    assert claims.on_a_match(4, early=12, late=60).verdict == "holds"
    assert claims.on_a_match(40, early=60, late=60).verdict == "depends"
    monkeypatch.setattr(claims, "RelativeGaussian", Rising)
    assert claims.on_a_match(4, early=12, late=60).verdict == "depends"


def test_a_wrong_exponent_would_be_seen(monkeypatch):
    monkeypatch.setattr(claims, "rotate", lambda x, m: rotate(x, m, theta=5000.0))
    assert claims.frequencies_are_right().verdict == "fails"


def test_a_matching_key_gets_what_plain_softmax_gives_it():
    """By hand, with RoPE and the kernel written out, for one text."""
    q, k = claims.random_heads(7, 1)
    q, k = q[0, 0].double(), k[0, 0].double()
    k[2] = q[6]
    turned_q, turned_k = (rotate(x, torch.arange(7)) for x in (q, k))
    away = (6 - torch.arange(7)).double()
    K = 0.7 * torch.exp(-(away**2) / 50) + 0.3 * torch.exp(-(away**2) / 800)
    weights = K * torch.exp(turned_k @ turned_q[6] * 2 / 32**0.5)
    expected = float(weights[2] / weights.sum())
    gaussian_one = RelativeGaussian(32, learnable=False)
    got = claims.scores_of(gaussian_one, q[None, None].float(), k[None, None].float()).softmax(-1)
    assert float(got[0, 2]) == pytest.approx(expected, rel=1e-4)


class HeedingPlaces(AbsoluteGaussian):
    """Its widths are the text's: the first query says how much wider they are."""

    def transform_qk(self, q, k, positions):
        scale = self.kernel(positions.time / (1 + q[:, 0, :1, 0].abs()))[:, None, :, None]  # (B, 1, T, 1)
        q, k = Rotary.transform_qk(self, q, k, positions)
        return q * scale, k * scale


class HeedingDistances(RelativeGaussian):
    """The same for K of the distance."""

    def transform_qk(self, q, k, positions):
        self.wider = 1 + q[:, 0, :1, :1].abs()  # (B, 1, 1)
        return super().transform_qk(q, k, positions)

    def score_bias(self, queries, keys):
        return self.log_kernel((queries.time[:, None] - keys.time) / self.wider)  # (B, T, T)


@pytest.mark.parametrize("kind", [HeedingPlaces, HeedingDistances])
def test_a_switch_that_heeds_the_text_would_be_seen(monkeypatch, kind):
    monkeypatch.setattr(claims, kind.__base__.__name__, kind)
    finding = claims.scales_switch()
    assert finding.verdict == "holds"
    assert finding.value > 0
    assert "it depends on the text" in finding.reason


def test_slower_frequencies_would_be_too_coarse_and_could_not_choose(monkeypatch):
    monkeypatch.setattr(claims, "frequencies", lambda D: torch.full((D // 2,), 1e-3, dtype=torch.float64))
    assert claims.rope_is_too_coarse().verdict == "holds"
    assert claims.rope_cannot_choose_its_scale().verdict == "holds"


# ---------------------------------------------------------------- verdicts over seeds

VERSIONS = ("v4", "v5", "v5 fixed", "v5-absolute", "v5-absolute fixed")


def kernel(half, sigma):
    return {"alpha1": 0.5, "alpha2": 0.5, "sigma1": sigma, "sigma2": sigma, "half": half, "hundredth": 9}


def pretend(monkeypatch, better, sigma=5.0, late=None, further=0.0):
    """Stored results in which all kernels beat RoPE by `better` on each seed, in long runs by `late`."""

    def found(gains):
        lower = {"val_loss": [1.0 - x for x in gains], "far": [1.0 - x for x in gains]}
        rope = {"val_loss": [1.0] * 3, "far": [1.0] * 3, "hiding": [[0.3, 0.0]] * 3, "accuracy": [0.5] * 3}
        own = {"hiding": [[0.3 + further, 0.0]] * 3, "kernel": [[kernel(6, sigma)]] * 3}
        own |= {"accuracy": [0.5 + x for x in gains]}
        ours = {v: {**lower, **own} for v in VERSIONS[1:]}
        return {"v4": rope, **ours, "v5 fixed": {**lower, **own, "accuracy": [0.5] * 3}}

    board = {"300": found(better), "1200": found(better if late is None else late)}
    settings = {"block_size": 64, "start": kernel(8, 5.0), "distances": [20, 63]}
    results = {**settings, "plain": board, "full": {"600": board["1200"]}}
    monkeypatch.setattr(note_001, "load_results", lambda name: results)


@pytest.mark.parametrize(
    ("better", "verdict"),
    [((0.1, 0.2, 0.3), "holds"), ((-0.1, 0.2, 0.3), "depends"), ((-0.1, -0.2, -0.3), "fails")],
)
def test_a_gain_must_have_the_same_sign_on_every_seed(monkeypatch, better, verdict):
    pretend(monkeypatch, better)
    for measure in (
        note_001.lowers_the_loss,
        note_001.formula_lowers_the_loss,
        note_001.helps_far_out,
    ):
        finding = measure()
        assert finding.verdict == verdict
        assert finding.value == pytest.approx(np.mean(better))


def test_a_lead_of_the_first_steps_alone_is_none(monkeypatch):
    pretend(monkeypatch, (0.1, 0.2, 0.3), late=(-0.01, -0.01, -0.01))
    finding = note_001.lowers_the_loss()
    assert finding.verdict == "fails"
    told = "+0.100, +0.200, +0.300 nats after 300 steps and -0.010, -0.010, -0.010 after 1200"
    assert told in finding.reason


@pytest.mark.parametrize(("further", "verdict"), [(0.1, "holds"), (-0.1, "fails")])
def test_what_reaches_further_loses_more_when_the_far_is_hidden(monkeypatch, further, verdict):
    pretend(monkeypatch, (0.1, 0.1, 0.1), further=further)
    finding = note_001.reaches_further_than_rope()
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(further))
    assert "costs RoPE +0.300, +0.300, +0.300 nats: it does not neglect it" in finding.reason


LOST, FOUND = (-0.1, -0.2, -0.3), (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("early", "late", "verdict"),
    [(LOST, LOST, "fails"), (LOST, FOUND, "depends"), (FOUND, FOUND, "holds")],
)
def test_the_range_is_found_unless_every_seed_loses_answers(monkeypatch, early, late, verdict):
    pretend(monkeypatch, early, late=late)
    assert note_001.finds_the_range().verdict == verdict


@pytest.mark.parametrize(("sigma", "verdict"), [(20.0, "holds"), (200.0, "fails")])
def test_a_scale_is_kept_if_k_falls_within_the_window(monkeypatch, sigma, verdict):
    pretend(monkeypatch, (0.1, 0.1, 0.1), sigma)
    finding = note_001.formula_keeps_a_scale()
    assert finding.verdict == verdict
    assert finding.value == pytest.approx(math.exp(-(64**2) / (2 * sigma**2)), rel=1e-3)


def test_the_claims_read_what_the_figure_stored():
    found = load_results("gaussian")["plain"]["1200"]
    gain = np.mean(found["v4"]["val_loss"]) - np.mean(found["v5 fixed"]["val_loss"])
    assert BY_TEXT["a model learns better with K (K of the distance)"].measure().value == pytest.approx(gain)
