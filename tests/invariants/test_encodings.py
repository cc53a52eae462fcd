"""What encodings promise: each promise kept by one, broken by another."""

import pytest
import torch

from babygpt import invariants
from babygpt.encodings import (
    ALiBi,
    Encoding,
    ExactPhase,
    GatesLast,
    KeysOnly,
    LearnedPhase,
    LearnedPositions,
    Polar,
    PoPE,
    Quadrature,
    RandomPhase,
    Rotary,
    Sinusoidal,
    gaussian,
)
from babygpt.models.versions import build

IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


class Stretched(Rotary):
    """A rotation that also grows with position: it keeps neither norm nor relativity."""

    def transform_qk(self, q, k, positions):
        q, k = super().transform_qk(q, k, positions)
        grow = 1 + positions.time[:, None] / 100
        return q * grow, k * grow


@pytest.mark.parametrize("encoding", [Rotary(32), ALiBi(4), Encoding(), gaussian(32)])
def test_multiplicative_codes_are_relative(encoding):
    assert invariants.norm_preserved(encoding).holds
    assert invariants.shift_invariant(encoding).holds


def test_a_stretched_rotation_breaks_both_promises():
    assert not invariants.norm_preserved(Stretched(32)).holds
    assert not invariants.shift_invariant(Stretched(32)).holds


def test_the_notes_kernel_breaks_both_promises_too():
    """A finding: K(m) K(n) is no function of m - n, and it shortens whatever stands far from the start."""
    assert invariants.shift_invariant(gaussian(32, "absolute")).value > 1
    assert not invariants.norm_preserved(gaussian(32, "absolute")).holds


@torch.no_grad()
def awake_phase(encoding):
    """With a phase that is not where it begins."""
    encoding.delta.uniform_(-3, 3)
    return encoding


@pytest.mark.parametrize("encoding", [Quadrature(32), LearnedPhase(4, 32), PoPE(4, 32)])
def test_quadrature_is_relative_and_before_it_learns_a_phase_even(encoding):
    assert invariants.shift_invariant(encoding).holds
    assert invariants.mirrored(encoding).holds


@pytest.mark.parametrize("encoding", [LearnedPhase(4, 32), PoPE(4, 32)])
def test_a_phase_tells_left_from_right_and_stays_relative(encoding):
    encoding = awake_phase(encoding)
    assert invariants.shift_invariant(encoding).holds
    assert invariants.mirrored(encoding).value > 1
    assert not invariants.mirrored(encoding).holds


@pytest.mark.parametrize("encoding", [Polar(32), KeysOnly(32)])
def test_one_gate_alone_keeps_a_term_of_the_sum(encoding):
    """A finding: half of cos a cos b is the cosine of a + b. It knows the start, and no sides are alike."""
    assert invariants.shift_invariant(encoding).value > 1
    assert not invariants.mirrored(encoding).holds


@pytest.mark.parametrize(("encoding", "alike"), [(Encoding(), True), (ALiBi(4), True), (Rotary(32), False)])
def test_who_tells_left_from_right(encoding, alike):
    assert invariants.mirrored(encoding).holds == alike


def test_a_learned_table_is_no_function_of_distance():
    """The dot product of two rows depends on both places: measured as the invariant measures scores."""
    torch.manual_seed(0)
    table = LearnedPositions(32, 8).table.detach()
    gram = table @ table.T
    assert (gram.diagonal(1) - gram[0, 1]).abs().max() > 1e-4


# ---------------------------------------------------------------- closed forms


def test_the_sinusoid_keeps_its_promises():
    assert invariants.table_equals_closed_form(Sinusoidal(16)).holds
    assert invariants.shift_is_rotation(16, shift=5).holds


def test_a_wrong_table_is_found_out():
    class Halved(Sinusoidal):
        def embed(self, x, positions):
            return x + (super().embed(x, positions) - x) / 2

    assert not invariants.table_equals_closed_form(Halved(16)).holds


# ---------------------------------------------------------------- a gate's alpha and phase


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
