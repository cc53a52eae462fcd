"""Promises of encodings: one encoding keeps each promise and another breaks it."""

import pytest
import torch

from babygpt import invariants
from babygpt.encodings import ALiBi, Encoding, LearnedPhase, Polar, PoPE, Rotary, Sinusoidal, gaussian
from babygpt.encodings.polar import ExactPhase, GatesLast, KeysOnly, Quadrature, RandomPhase
from babygpt.models.versions import build

IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


class Stretched(Rotary):
    """A rotation that also grows with position: it keeps neither norm nor relativity."""

    def transform_qk(self, q, k, positions):
        q, k = super().transform_qk(q, k, positions)
        grow = 1 + positions.time[:, None] / 100
        return q * grow, k * grow


@pytest.mark.parametrize("encoding", [Rotary(32), ALiBi(4), Encoding(), gaussian(32)])
def test_multiplicative_encodings_are_relative(encoding):
    assert invariants.norm_preserved(encoding).holds
    assert invariants.shift_invariant(encoding).holds


def test_stretched_rotations_and_the_notes_kernel_break_both_promises():
    """Show a finding: K(m) K(n) is no function of m - n, and it shortens vectors far from the start."""
    for encoding in (Stretched(32), gaussian(32, "absolute")):
        assert not invariants.norm_preserved(encoding).holds
        assert not invariants.shift_invariant(encoding).holds


def test_quadrature_is_relative_and_even_until_it_learns_a_phase():
    for encoding in (Quadrature(32), LearnedPhase(4, 32), PoPE(4, 32)):
        assert invariants.shift_invariant(encoding).holds
        assert invariants.mirrored(encoding).holds
        if hasattr(encoding, "delta"):
            torch.nn.init.uniform_(encoding.delta, -3, 3)
            assert invariants.shift_invariant(encoding).holds
            assert invariants.mirrored(encoding).value > 1
    for other, alike in ((Encoding(), True), (ALiBi(4), True), (Rotary(32), False)):
        assert invariants.mirrored(other).holds == alike
    for gate in (Polar(32), KeysOnly(32)):  # half of cos a cos b is the cosine of a + b
        assert invariants.shift_invariant(gate).value > 1
        assert not invariants.mirrored(gate).holds


# ---------------------------------------------------------------- closed forms


def test_the_sinusoid_keeps_its_promises_and_a_wrong_table_is_detected():
    class Halved(Sinusoidal):
        def embed(self, x, positions):
            return x + (super().embed(x, positions) - x) / 2

    assert invariants.table_equals_closed_form(Sinusoidal(16)).holds
    assert invariants.shift_is_rotation(16, shift=5).holds
    assert not invariants.table_equals_closed_form(Halved(16)).holds


def test_alpha_has_an_effect_only_after_the_norm():
    for encoding in (Polar(32), ExactPhase(32), RandomPhase(32)):
        found = invariants.alpha_is_idle(encoding)
        assert found.holds
        assert found.value < 1e-9
    for encoding in (GatesLast(32), KeysOnly(32), Quadrature(32), LearnedPhase(4, 32)):
        before = encoding.alpha
        assert invariants.alpha_is_idle(encoding).value > 1
        assert encoding.alpha == before
    with pytest.raises(ValueError, match="Rotary has no number called 'alpha'"):
        invariants.alpha_is_idle(Rotary(32))


@pytest.mark.parametrize(
    ("version", "phase"),
    [("v7-polar", "phi"), ("v7-exact", "phi"), ("v7-keys", "phi"), ("v7", "delta"), ("v7-pope", "delta")],
)
def test_only_the_notes_phase_gets_no_gradient_at_0(awake, version, phase):
    model = awake(version)
    assert not invariants.phase_never_learns(model, IDX, phase).holds
    torch.nn.init.zeros_(getattr(model.encoding, phase))
    found = invariants.phase_never_learns(model, IDX, phase)
    assert found.holds == (found.value == 0) == (version == "v7-polar")


def test_models_that_prove_nothing_about_a_phase_are_refused(awake):
    with pytest.raises(ValueError, match="LearnedPhase has no parameter called 'phi'"):
        invariants.phase_never_learns(awake("v7"), IDX)
    untrained = build("v7-exact", awake("v7-exact").config)  # its head is zero, and so are all gradients
    with pytest.raises(ValueError, match="no gradient reaches the queries"):
        invariants.phase_never_learns(untrained, IDX)
