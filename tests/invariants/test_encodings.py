"""Promises of encodings: one encoding keeps each promise and another breaks it."""

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import (
    ALiBi,
    Encoding,
    LearnedPhase,
    PerLayer,
    Polar,
    PoPE,
    Rotary,
    Sinusoidal,
)
from babygpt.encodings.polar import ExactPhase, GatesLast, KeysOnly, Quadrature, RandomPhase
from babygpt.models.versions import VERSIONS, build

IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


class Stretched(Rotary):
    """A rotation that also grows with position: it keeps neither norm nor relativity."""

    def transform_qk(self, q, k, positions):
        q, k = super().transform_qk(q, k, positions)
        grow = 1 + positions.time[:, None] / 100
        return q * grow, k * grow


SHAPE = ModelConfig(vocab_size=11, block_size=600, n_layer=1, n_head=4, n_embd=128)
ONE_TEXT = [name for name, version in VERSIONS.items() if version.encoding and not version.branches]
ABSOLUTE = {"v5-absolute", "fire", "v7-polar", "v7-exact", "v7-random", "v7-last", "v7-keys"}
STRETCHES = ABSOLUTE - {"fire"} | {"pope", "v7-pope"}


@pytest.mark.parametrize("version", ONE_TEXT)
def test_every_encoding_keeps_the_promises_that_it_makes(version):
    """Expect scores of the distance alone and queries that keep their length, unless a set names it."""
    whole = VERSIONS[version].make_encoding(SHAPE)
    for encoding in whole.all() if isinstance(whole, PerLayer) else [whole]:
        for p in encoding.parameters():
            torch.nn.init.uniform_(p, -1, 1)
        assert invariants.shift_invariant(encoding).holds == (version not in ABSOLUTE)
        assert invariants.norm_preserved(encoding).holds == (version not in STRETCHES)


def test_stretched_rotations_break_both_promises():
    assert not invariants.norm_preserved(Stretched(32)).holds
    assert not invariants.shift_invariant(Stretched(32)).holds


def test_quadrature_is_even_until_it_learns_a_phase():
    for encoding in (Quadrature(32), LearnedPhase(4, 32), PoPE(4, 32)):
        assert invariants.left_right_symmetry(encoding).holds
        if hasattr(encoding, "delta"):
            torch.nn.init.uniform_(encoding.delta, -3, 3)
            assert invariants.left_right_symmetry(encoding).value > 1
    for control, alike in ((Encoding(), True), (ALiBi(4), True), (Rotary(32), False), (Polar(32), False)):
        assert invariants.left_right_symmetry(control).holds == alike


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
        promise = invariants.alpha_is_idle(encoding.double())
        assert promise.holds
        assert promise.value < 1e-9
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
    promise = invariants.phase_never_learns(model, IDX, phase)
    assert promise.holds == (promise.value == 0) == (version == "v7-polar")


def test_models_that_prove_nothing_about_a_phase_are_refused(awake):
    with pytest.raises(ValueError, match="LearnedPhase has no parameter called 'phi'"):
        invariants.phase_never_learns(awake("v7"), IDX)
    untrained = build("v7-exact", awake("v7-exact").config)  # its head is zero, and so are all gradients
    with pytest.raises(ValueError, match="no gradient reaches the queries"):
        invariants.phase_never_learns(untrained, IDX)
