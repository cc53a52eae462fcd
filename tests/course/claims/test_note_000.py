"""Note 000: closed forms, and changed definitions that change the verdicts."""

import json
import math
from functools import partial

import pytest
import torch

from babygpt.encodings import GatesLast, LearnedPhase, Polar, Quadrature, Rotary
from babygpt.sampling import by_confidence
from babygpt_course.claims import claims_in
from babygpt_course.claims import note_000 as claims
from babygpt_course.studies.results import load_results


def test_measuring_draws_no_global_random_numbers():
    before = torch.random.get_rng_state()
    for claim in claims_in(claims):
        claim.measure()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_scope_of_trained_claims_is_that_of_the_stored_runs():
    results = load_results("polar")
    shape = f"windows of {results['block_size']}, 2 layers of width 96, {results['steps']} steps"
    assert shape in claims.TRAINED


def test_multiplications_are_those_on_paper():
    """Count for q, k and score: gate 1, 1, 1; RoPE 2, 2, 1; quadrature 2, 2, and twice the score."""
    encodings = (GatesLast(32), Rotary(32), Quadrature(32), LearnedPhase(1, 32))
    assert [claims.multiplications(encoding) for encoding in encodings] == [3, 5, 6, 6]


def test_the_product_errs_by_the_cosine_of_half_the_phase_where_waves_are_fast():
    """Expect sin φ over 2 sin(φ/2); where a wave stands still, the product is exact."""
    product, without = claims.phase_errors(0.3)
    assert float((product / without)[0].sqrt()) == pytest.approx(math.cos(0.15), abs=0.02)
    assert float((product / without)[-1].sqrt()) < 0.05


@pytest.mark.parametrize(("threshold", "share"), [(0.0, 1 - 2**-7), (0.95, 0.0), (2.0, 0.0)])
def test_letters_filled_in_at_once_agree_only_by_chance(threshold, share):
    n = 1000
    assert abs(claims.inconsistent_share(threshold) - share) <= 5 * math.sqrt(share * (1 - share) / n)


class Constant(Polar):
    """A gate that depends on no position."""

    def gate(self, positions):
        return torch.ones(len(positions), 32, dtype=torch.float64)


def only_layers_learn(version, per_layer=False):
    return small_model("v7-exact" if per_layer else version, per_layer=per_layer)


small_model, one_by_one = claims.small_model, by_confidence(2.0)
OTHERWISE = [  # claim, name in the module, its replacement, verdict
    ("position_is_kept", "Polar", Constant, "fails"),
    ("needs_no_pairs", "bare_gate", lambda: Rotary(32), "fails"),
    ("simpler_than_rope", "bare_gate", lambda: Rotary(32), "fails"),
    ("mask_gets_less_attention", "Polar", Quadrature, "holds"),
    ("alpha_matters", "small_model", lambda version, alpha: small_model("v7", alpha), "holds"),
    ("phase_is_learnable", "small_model", lambda version, **o: small_model("v7-exact", **o), "holds"),
    ("phase_is_learnable", "small_model", only_layers_learn, "holds"),
    (
        "product_approximates_the_phase",
        "phase_errors",
        lambda _: (torch.tensor([0.01]), torch.ones(1)),
        "holds",
    ),
    ("metrics_are_not_readability", "distinct", lambda text, n: text.count("e") / len(text), "fails"),
    ("threshold_matters", "by_confidence", lambda threshold: one_by_one, "fails"),
]


@pytest.mark.parametrize(("claim", "name", "other", "verdict"), OTHERWISE)
def test_a_changed_definition_changes_the_verdict(monkeypatch, claim, name, other, verdict):
    monkeypatch.setattr(claims, name, other)
    assert getattr(claims, claim).measure().verdict == verdict


@pytest.mark.parametrize(
    ("gates", "verdict"),
    [(1.9, "holds"), (2.01, "holds"), (2.018, "undecided"), (2.2, "depends"), (3.0, "fails"), (3.3, "fails")],
)
def test_planted_losses_decide_between_gates_and_rope(monkeypatch, tmp_path, gates, verdict):
    """Plant losses: as good, nearly as good, better than no encoding, or worse. Three seeds decide none."""
    losses, noise = {"v7-rope": 2.0, "v7-nope": 3.0}, 2 * (0.0, 0.004, -0.004, 0.001, -0.001, 0.0)
    monkeypatch.setattr(claims, "load_results", partial(load_results, folder=tmp_path))
    for seeds, expected in ((12, verdict), (3, "undecided")):
        found = {version: [loss] * seeds for version, loss in losses.items()}
        found["v7-polar"] = [gates + away for away in noise[:seeds]]
        (tmp_path / "polar.json").write_text(json.dumps({"steps": 7, "val_loss": found}))
        finding = claims.as_written.measure()
        assert finding.verdict == expected
        assert f"{seeds} seeds) nats per character after 7 steps" in finding.reason
    assert finding.value == pytest.approx(gates - 2.0)
