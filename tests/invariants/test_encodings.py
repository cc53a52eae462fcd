"""What encodings promise of one query and one key: each promise kept by one, broken by another."""

import pytest
import torch

from babygpt import invariants
from babygpt.encodings import (
    ALiBi,
    Encoding,
    KeysOnly,
    LearnedPhase,
    LearnedPositions,
    Polar,
    PoPE,
    Quadrature,
    Rotary,
    gaussian,
)


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
