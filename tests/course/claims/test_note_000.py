"""Each claim comes out as mathematics says it must, and each measurement can come out otherwise."""

import json
import math
from functools import partial

import pytest
import torch

from babygpt.encodings import ExactPhase, GatesLast, LearnedPhase, Polar, Quadrature, Rotary
from babygpt.sampling import by_confidence
from babygpt_course.claims import note_000, polar_gates
from babygpt_course.claims import polar_findings as claims
from babygpt_course.studies.results import load_results

BY_TEXT = {claim.text: claim for claim in note_000.CLAIMS}
EXPECTED = {
    "gates keep scores dependent on position": "holds",
    "they are simpler than RoPE": "depends",
    "they act on each dimension by itself and need no pairs": "holds",
    "the gates have the shapes (1, L, 1, D) and (B, T, 1, 1)": "holds",
    "α lowers the attention to MASK tokens, under control": "fails",
    "φ is a phase that is learned": "fails",
    "cos(iω) cos(φ) approximates a phase": "fails",
    "it is not strictly cos(iω + φ)": "holds",
    "distinct-2 and repeated 3-grams do not tell how readable a text is": "holds",
    "α matters much to what is written": "fails",
    "the threshold matters much to what is written": "holds",
}
STORED = {f"gates are an alternative to RoPE ({which})" for which in ("as written", "repaired")}


def test_every_claim_of_note_000_is_here():
    assert set(BY_TEXT) == set(EXPECTED) | STORED
    assert {claim.note for claim in note_000.CLAIMS} == {"000_295e7101e184e601.txt"}


@pytest.mark.parametrize("text", EXPECTED)
def test_verdict(text):
    before = torch.random.get_rng_state()
    finding = BY_TEXT[text].measure()
    assert finding.verdict == EXPECTED[text], finding
    assert math.isfinite(finding.value)
    assert torch.equal(torch.random.get_rng_state(), before)  # it draws no global random numbers


def test_the_scope_of_trained_claims_is_that_of_the_stored_runs():
    results = load_results("polar")
    told = f"windows of {results['block_size']}, 2 layers of width 96, {results['steps']} steps"
    assert told in note_000.TRAINED
    assert f"from {len(results['seeds'])} seeds" in note_000.TRAINED


@pytest.mark.parametrize("text", sorted(STORED))
def test_what_was_stored_is_judged(text):
    finding = BY_TEXT[text].measure()
    assert finding.verdict in ("holds", "fails", "depends")
    assert math.isfinite(finding.value)


# ---------------------------------------------------------------- against closed forms


def test_multiplications_are_those_on_paper():
    """Gate: one for each of q, k, score. RoPE: two, two, one. Quadrature: two, two, and twice the score."""
    counted = map(
        polar_gates.multiplications, (GatesLast(32), Rotary(32), Quadrature(32), LearnedPhase(1, 32))
    )
    assert list(counted) == [3, 5, 6, 6]


def test_where_waves_are_fast_the_product_errs_by_the_cosine_of_half_the_phase():
    """sin φ over 2 sin(φ/2); and where a wave stands still, the product is exact."""
    product, without = polar_gates.phase_errors(0.3)
    assert float((product / without)[0].sqrt()) == pytest.approx(math.cos(0.15), abs=0.02)
    assert float((product / without)[-1].sqrt()) < 0.05
    product, without = polar_gates.phase_errors(1e-3)
    assert float((product / without)[0].sqrt()) == pytest.approx(1, abs=0.02)


def test_a_phase_added_inside_would_approximate(monkeypatch):
    monkeypatch.setattr(claims, "phase_errors", lambda phi: (torch.full((32,), 0.01), torch.ones(32)))
    assert claims.product_approximates_the_phase().verdict == "holds"


def test_the_largest_gap_is_the_sine_of_the_phase_and_a_strict_gate_has_none(monkeypatch):
    assert claims.product_is_not_strict().value == pytest.approx(math.sin(0.3), abs=1e-3)
    monkeypatch.setattr(claims, "Polar", ExactPhase)
    assert claims.product_is_not_strict().verdict == "fails"


@pytest.mark.parametrize(("threshold", "share"), [(0.0, 1 - 2**-7), (0.95, 0.0), (2.0, 0.0)])
def test_letters_that_do_not_know_each_other_are_alike_by_chance(threshold, share):
    n = 1000
    assert abs(polar_gates.inconsistent_share(threshold) - share) <= 5 * math.sqrt(share * (1 - share) / n)


# ---------------------------------------------------------------- and otherwise


def test_without_positions_none_would_be_kept(monkeypatch):
    class Constant(Polar):
        def gate(self, positions):
            return torch.ones(len(positions), 32, dtype=torch.float64)

    monkeypatch.setattr(claims, "Polar", Constant)
    assert claims.position_is_kept().verdict == "fails"


def test_rotations_would_need_pairs_and_more_work(monkeypatch):
    monkeypatch.setattr(claims, "bare_gate", lambda: Rotary(32))
    assert claims.needs_no_pairs().verdict == "fails"
    assert claims.simpler_than_rope().verdict == "fails"
    monkeypatch.undo()
    monkeypatch.setattr(claims, "LearnedPhase", lambda heads, width: GatesLast(width))
    assert claims.simpler_than_rope().verdict == "holds"


def test_another_frequency_would_not_fit(monkeypatch):
    monkeypatch.setattr(claims, "Polar", lambda width, alpha: Polar(width, alpha, theta=9_000.0))
    assert claims.shapes_fit().verdict == "fails"


def test_with_no_norm_after_it_alpha_would_work(monkeypatch):
    monkeypatch.setattr(claims, "Polar", Quadrature)
    assert claims.mask_gets_less_attention().verdict == "holds"
    repaired = claims.small_model
    monkeypatch.setattr(claims, "small_model", lambda version, alpha: repaired("v7", alpha))
    assert claims.alpha_matters().verdict == "holds"


def test_the_exact_phase_would_learn(monkeypatch):
    made = claims.small_model
    monkeypatch.setattr(claims, "small_model", lambda version, **o: made("v7-exact", **o))
    assert claims.phase_is_learnable().verdict == "holds"


def test_a_metric_of_letters_would_tell(monkeypatch):
    monkeypatch.setattr(claims, "distinct", lambda text, n: text.count("e") / len(text))
    assert claims.metrics_are_not_readability().verdict == "fails"


def test_layers_with_phases_of_their_own_are_asked_too(monkeypatch):
    """One phase for all stays; only a model with a phase in each layer would learn."""
    made = claims.small_model

    def only_own(version, per_layer=False):
        return made("v7-exact" if per_layer else version, per_layer=per_layer)

    monkeypatch.setattr(claims, "small_model", only_own)
    assert claims.phase_is_learnable().verdict == "holds"


def test_without_a_table_nothing_would_be_sliced(monkeypatch):
    class Computed(Polar):
        def cosines(self, positions):
            return self.wave(positions).cos()

    monkeypatch.setattr(claims, "Polar", Computed)
    assert claims.shapes_fit().verdict == "fails"


def test_an_order_that_goes_one_by_one_would_not_mind(monkeypatch):
    one_by_one = by_confidence(2.0)
    monkeypatch.setattr(polar_gates, "by_confidence", lambda threshold: one_by_one)
    assert claims.threshold_matters().verdict == "fails"


# ---------------------------------------------------------------- after training


def tell(monkeypatch, folder, **losses):
    """Let these be the stored runs, three seeds around each loss."""
    seeds = [-0.01, 0.0, 0.01]
    results = {"val_loss": {v.replace("_", "-"): [x + s for s in seeds] for v, x in losses.items()}}
    (folder / "polar.json").write_text(json.dumps(results | {"steps": 7, "seeds": [0, 1, 2]}))
    monkeypatch.setattr(claims, "load_results", partial(load_results, folder=folder))


@pytest.mark.parametrize(
    ("gates", "verdict"), [(1.9, "holds"), (2.01, "holds"), (2.2, "depends"), (3.0, "fails"), (3.3, "fails")]
)
def test_gates_against_rope(monkeypatch, tmp_path, gates, verdict):
    """As good or better; better than no code at all; or not even that."""
    tell(monkeypatch, tmp_path, v7=gates, v7_polar=4.0, v7_rope=2.0, v7_nope=3.0)
    finding = BY_TEXT["gates are an alternative to RoPE (repaired)"].measure()
    assert finding.verdict == verdict
    assert finding.value == pytest.approx(gates - 2.0)
    assert "3 seeds of 7 steps" in finding.reason
    assert BY_TEXT["gates are an alternative to RoPE (as written)"].measure().verdict == "fails"


def test_results_that_are_not_there_are_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "load_results", partial(load_results, folder=tmp_path))
    with pytest.raises(ValueError, match="python -m babygpt figures polar"):
        claims.replaces_rope("v7")
