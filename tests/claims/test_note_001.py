"""Each claim comes out as mathematics says it must, and each measurement can come out otherwise."""

import math

import numpy as np
import pytest
import torch

from babygpt.claims import gaussian_kernels, gaussian_training
from babygpt.claims import note_001 as claims
from babygpt.encodings.gaussian import AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.experiments.results import load_results

BY_TEXT = {claim.text: claim for claim in claims.CLAIMS}
EXPECTED = {
    "RoPE keeps relative positions": "holds",
    "θ_j = 10000^(−2j/d)": "holds",
    "RoPE's frequencies may be too coarse for near tokens": "fails",
    "RoPE is fixed and cannot balance near and far": "depends",
    "K(m) scales the whole rotated vector": "holds",
    "K works by controlling the rotation's frequency": "fails",
    "K(m) controls the sensitivity at relative positions": "fails",
    "where m is small, K strengthens the local": "fails",
    "where m is large, K strengthens the global": "fails",
    "K brings back attention to the far that RoPE neglects": "fails",
    "σ₁ and σ₂ control how far the model looks": "depends",
    "α₁ and α₂ weigh local against global": "depends",
    "the two terms switch scales by themselves": "fails",
    "the code runs on its own example": "fails",
    "the code multiplies the vector at m by K(m)": "fails",
    "the code rotates even and odd channels": "fails",
    "the code's kernel adapts": "fails",
}
STORED = {
    "a model learns better with K (K of the distance)",
    "a model learns better with K (the formula)",
    "K helps at other positions (those beyond the window)",
    "a model adjusts the range of K to what it needs",
    "K balances near and far within the window (the formula)",
}


def test_every_claim_of_note_001_is_here():
    assert set(BY_TEXT) == set(EXPECTED) | STORED
    assert {claim.note for claim in claims.CLAIMS} == {"001_e1f3ab19410e1e33.txt"}


@pytest.mark.parametrize("text", EXPECTED)
def test_verdict(text):
    finding = BY_TEXT[text].measure()
    assert finding.verdict == EXPECTED[text], finding
    assert math.isfinite(finding.value)


@pytest.mark.parametrize("text", sorted(STORED))
def test_what_was_stored_is_judged(text):
    finding = BY_TEXT[text].measure()
    assert finding.verdict in ("holds", "fails", "depends")
    assert math.isfinite(finding.value)


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


def test_the_share_of_the_far_stands_beside_what_rope_gives_it():
    reason = BY_TEXT["K brings back attention to the far that RoPE neglects"].measure().reason
    far = claims.attention_by_distance(Rotary(32), 60)[21:]
    assert f"stand {len(far) / 61:.0%} of the tokens" in reason
    assert f"RoPE gives them {far.sum():.0%}: it neglects nothing" in reason


def test_attention_is_shared_out_and_a_relative_kernel_takes_it_from_the_far():
    rope, relative = (claims.attention_by_distance(e, 60) for e in (Rotary(32), RelativeGaussian(32)))
    assert [rope.sum(), relative.sum()] == pytest.approx([1, 1], abs=1e-5)
    away = np.arange(61)
    K = 0.7 * np.exp(-(away**2) / 50) + 0.3 * np.exp(-(away**2) / 800)
    assert relative == pytest.approx(K / K.sum(), abs=0.02)  # random tokens are alike on average
    assert rope == pytest.approx(np.full(61, 1 / 61), abs=0.01)


def test_far_from_the_start_the_formula_leaves_a_plain_average():
    weights = claims.scores_at(AbsoluteGaussian(32), 100).softmax(dim=-1)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / 101), atol=1e-6, rtol=1e-4)


# ---------------------------------------------------------------- each could come out otherwise


def test_repaired_code_would_hold(monkeypatch):
    class Repaired(torch.nn.Module):
        def forward(self, x):
            return claims.note_kernel(torch.arange(x.shape[-2]).float())[:, None] * claims.note_rotation(x)

    monkeypatch.setattr(claims, "NoteRotary", Repaired)
    monkeypatch.setattr(claims, "note_rotation", lambda x: rotate(x, torch.arange(x.shape[-2])))
    for text in (
        "the code runs on its own example",
        "the code multiplies the vector at m by K(m)",
        "the code rotates even and odd channels",
    ):
        assert BY_TEXT[text].measure().verdict == "holds", text


def test_trainable_numbers_would_adapt(monkeypatch):
    monkeypatch.setattr(claims, "NoteRotary", lambda: torch.nn.Linear(1, 2))
    assert BY_TEXT["the code's kernel adapts"].measure().value == 4


def test_a_relative_kernel_in_place_of_the_formula_would_know_the_distance(monkeypatch):
    monkeypatch.setattr(claims, "AbsoluteGaussian", RelativeGaussian)
    assert claims.kernel_knows_the_distance().verdict == "holds"
    assert claims.early_queries_look_nearer().verdict == "holds"
    assert claims.widths_set_the_range().verdict == "holds"
    assert claims.weights_set_the_share().verdict == "holds"


def test_a_kernel_that_turns_or_grows_would_be_seen(monkeypatch):
    class Turning(AbsoluteGaussian):
        def transform_qk(self, q, k, positions):
            return rotate(q, 2 * positions.time), k

    class Growing(AbsoluteGaussian):
        def transform_qk(self, q, k, positions):
            return 2 * q, k

    monkeypatch.setattr(claims, "AbsoluteGaussian", Turning)
    assert claims.kernel_changes_the_rotation().verdict == "holds"
    assert claims.kernel_scales_the_vector().verdict == "fails"
    monkeypatch.setattr(claims, "AbsoluteGaussian", Growing)
    assert claims.late_queries_see_more().verdict == "holds"


def test_a_kernel_that_rises_would_give_the_far_more(monkeypatch):
    class Rising(RelativeGaussian):
        def score_bias(self, queries, keys):
            return -super().score_bias(queries, keys)

    monkeypatch.setattr(claims, "RelativeGaussian", Rising)
    assert claims.kernel_gives_the_far_more().verdict == "holds"


def test_a_rope_that_neglects_the_far_would_be_called_so(monkeypatch):
    monkeypatch.setattr(claims, "Rotary", RelativeGaussian)
    assert "neglects nothing" not in claims.kernel_gives_the_far_more().reason


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
    monkeypatch.setattr(
        gaussian_kernels, "frequencies", lambda D: torch.full((D // 2,), 1e-3, dtype=torch.float64)
    )
    assert claims.rope_is_too_coarse().verdict == "holds"
    assert claims.rope_cannot_choose_its_scale().verdict == "holds"


# ---------------------------------------------------------------- verdicts over seeds


def kernel(half, sigma):
    return {"alpha1": 0.5, "alpha2": 0.5, "sigma1": sigma, "sigma2": sigma, "half": half, "hundredth": 9}


def pretend(monkeypatch, better, sigma=5.0):
    """Stored results in which v5 and v5-absolute beat RoPE by `better` on each seed."""
    lower, higher = [1.0 - x for x in better], [0.5 + x for x in better]
    kinds = ("v5", "v5 fixed", "v5-absolute", "v5-absolute fixed")
    three = {"v4": [1.0] * 3, **dict.fromkeys(kinds, lower)}
    results = {
        "steps": 300,
        "block_size": 64,
        "val_loss": {"plain-tales": three, "tales": three},
        "far": three,
        "accuracy": {"v5 fixed": [0.5] * 3, "v5": higher},
        "kernel": {v: [kernel(6, sigma)] * 3 for v in ("v5", "v5-absolute")},
        "start": kernel(8, 5.0),
    }
    monkeypatch.setattr(gaussian_training, "load_results", lambda name: results)


@pytest.mark.parametrize(
    ("better", "verdict"),
    [((0.1, 0.2, 0.3), "holds"), ((-0.1, 0.2, 0.3), "depends"), ((-0.1, -0.2, -0.3), "fails")],
)
def test_a_gain_must_have_the_same_sign_on_every_seed(monkeypatch, better, verdict):
    pretend(monkeypatch, better)
    for measure in (
        gaussian_training.lowers_the_loss,
        gaussian_training.formula_lowers_the_loss,
        gaussian_training.helps_far_out,
    ):
        finding = measure()
        assert finding.verdict == verdict
        assert finding.value == pytest.approx(np.mean(better))


def test_the_range_is_found_unless_every_seed_loses_answers(monkeypatch):
    pretend(monkeypatch, (-0.1, -0.2, -0.3))
    assert gaussian_training.finds_the_range().verdict == "fails"
    pretend(monkeypatch, (0.0, -0.2, -0.3))
    assert gaussian_training.finds_the_range().verdict == "depends"


@pytest.mark.parametrize(("sigma", "verdict"), [(20.0, "holds"), (200.0, "fails")])
def test_a_scale_is_kept_if_k_falls_within_the_window(monkeypatch, sigma, verdict):
    pretend(monkeypatch, (0.1, 0.1, 0.1), sigma)
    finding = gaussian_training.formula_keeps_a_scale()
    assert finding.verdict == verdict
    assert finding.value == pytest.approx(math.exp(-(64**2) / (2 * sigma**2)), rel=1e-3)


def test_the_claims_read_what_the_figure_stored():
    results = load_results("gaussian")
    gain = np.mean(results["far"]["v4"]) - np.mean(results["far"]["v5 fixed"])
    assert BY_TEXT["K helps at other positions (those beyond the window)"].measure().value == pytest.approx(
        gain
    )
