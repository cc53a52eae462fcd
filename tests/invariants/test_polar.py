"""What becomes of alpha and the phase: as the note has them, and after each repair."""

import pytest
import torch

from babygpt import invariants
from babygpt.encodings import (
    ExactPhase,
    GatesLast,
    KeysOnly,
    LearnedPhase,
    Polar,
    Quadrature,
    RandomPhase,
    Rotary,
)
from babygpt.models.versions import build

IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


def at_zero(model, phase):
    """A model that computes something, with its phase where the note begins."""
    with torch.no_grad():
        getattr(model.encoding, phase).zero_()
    return model


@pytest.mark.parametrize("encoding", [Polar(32), ExactPhase(32), RandomPhase(32)])
def test_before_a_norm_alpha_is_idle(encoding):
    """And PoPE has none."""
    found = invariants.alpha_is_idle(encoding)
    assert found.holds
    assert found.value < 1e-9


@pytest.mark.parametrize("encoding", [GatesLast(32), KeysOnly(32), Quadrature(32), LearnedPhase(4, 32)])
def test_after_the_norm_alpha_counts(encoding):
    assert invariants.alpha_is_idle(encoding).value > 1


def test_alpha_on_queries_flattens_what_a_mask_looks_for_and_on_keys_alone_it_does_not():
    assert not invariants.alpha_spares_queries(GatesLast(32)).holds
    for encoding in (KeysOnly(32), Quadrature(32), LearnedPhase(4, 32)):
        assert invariants.alpha_spares_queries(encoding).value == 0


def test_measuring_alpha_leaves_it_as_it_was():
    encoding = KeysOnly(32, alpha=0.25)
    invariants.alpha_is_idle(encoding)
    assert encoding.alpha == 0.25


def test_an_encoding_without_alpha_is_named():
    with pytest.raises(ValueError, match="Rotary has no number called 'alpha'"):
        invariants.alpha_is_idle(Rotary(32))


@pytest.mark.parametrize(
    ("version", "phase", "never"),
    [("v7-polar", "phi", True), ("v7-exact", "phi", False), ("v7-keys", "phi", False)]
    + [(version, "delta", False) for version in ("v7", "v7-pope")],
)
def test_who_learns_a_phase_from_0(awake, version, phase, never):
    found = invariants.phase_never_learns(at_zero(awake(version), phase), IDX, phase)
    assert found.holds == never
    assert (found.value == 0) == never


def test_anywhere_else_the_notes_phase_would_learn(awake):
    """It is the point where it begins."""
    assert not invariants.phase_never_learns(awake("v7-polar"), IDX).holds


def test_an_untrained_model_is_no_proof(awake):
    """Its head is zero, so nothing has a gradient but the head."""
    model = build("v7-exact", awake("v7-exact").config)
    with pytest.raises(ValueError, match="no gradient reaches the queries"):
        invariants.phase_never_learns(model, IDX)


def test_a_phase_that_is_not_there_is_named(awake):
    with pytest.raises(ValueError, match="LearnedPhase has no parameter called 'phi'"):
        invariants.phase_never_learns(awake("v7"), IDX)


def test_scores_are_waves_of_the_distance():
    learnt = LearnedPhase(4, 32, theta=50.0)
    with torch.no_grad():
        learnt.delta.uniform_(-3, 3)
    for encoding in (Quadrature(32), learnt):
        assert invariants.score_equals_closed_form(encoding).holds


def test_the_other_sign_of_the_phase_is_found_out():
    class Behind(LearnedPhase):
        """The phase where the queries are, with the keys' sign."""

        def transform_qk(self, q, k, positions):
            k, q = super().transform_qk(k, q, positions)
            return q, k

    wrong = Behind(4, 32)
    assert invariants.score_equals_closed_form(wrong).holds  # nothing to tell yet
    with torch.no_grad():
        wrong.delta.uniform_(-3, 3)
    assert not invariants.score_equals_closed_form(wrong).holds
