"""Each promise is measured on a model that keeps it and on one that breaks it."""

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Rotary, Sinusoidal
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 10])


def awake(model):
    """A model whose zero-initialised matrices are random, so that it computes something."""
    torch.manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return model


class Stretched(Rotary):
    """A rotation that also grows with position: it keeps neither norm nor relativity."""

    def multiply(self, q, k, places):
        q, k = super().multiply(q, k, places)
        grow = 1 + places.time[:, None] / 100
        return q * grow, k * grow


class Broken(Encoding):
    """Past position 20 its logits are not finite, and it says nothing."""

    def embed(self, x, places):
        return torch.where(places.time[:, None] > 20, torch.nan, x)


class Peeking(Transformer):
    """A causal model by name that reads the future."""

    def __init__(self, config):
        super().__init__(config, Encoding(), causal=False)


@pytest.mark.parametrize("encoding", [Rotary(32), ALiBi(4), Encoding()])
def test_multiplicative_codes_are_relative(encoding):
    assert invariants.norm_preserved(encoding).holds
    assert invariants.shift_invariant(encoding).holds


def test_a_stretched_rotation_breaks_both_promises():
    assert not invariants.norm_preserved(Stretched(32)).holds
    assert not invariants.shift_invariant(Stretched(32)).holds


def test_v1_and_v2_see_one_token_at_a_time_and_v4_does_not():
    for version in ("v1", "v2"):
        assert invariants.blind_to_the_past(awake(build(version, CONFIG)), IDX).holds
    assert not invariants.blind_to_the_past(awake(build("v4", CONFIG)), IDX).holds


def test_without_a_code_one_causal_layer_is_blind_to_order_and_two_are_not():
    """The surprise of causal NoPE: with a second layer the mask itself tells order."""
    one = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert invariants.order_blind(awake(build("nope", one)), IDX).holds
    assert not invariants.order_blind(awake(build("nope", CONFIG)), IDX).holds


def test_bidirectional_without_a_code_is_blind_to_order_at_any_depth():
    assert invariants.order_blind(awake(Peeking(CONFIG)), IDX).holds


@pytest.mark.parametrize("version", ["learned", "v3", "v4", "alibi"])
def test_a_code_opens_the_eyes(version):
    one = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert not invariants.order_blind(awake(build(version, one)), IDX).holds


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_causal_and_reads_alike_with_a_cache(version):
    model = awake(build(version, CONFIG))
    assert invariants.causal(model, IDX).holds
    assert invariants.cache_equals_full(model, IDX).holds
    assert invariants.extrapolates_or_refuses(model, IDX).holds


def test_a_model_that_peeks_is_found_out():
    assert not invariants.causal(awake(Peeking(CONFIG)), IDX).holds


def test_silent_nonsense_past_the_window_is_found_out():
    assert not invariants.extrapolates_or_refuses(awake(Transformer(CONFIG, Broken())), IDX).holds


def test_learned_positions_refuse_instead_of_guessing():
    with pytest.raises(ValueError, match="position 16 is not in the table: it has 0 to 15"):
        build("learned", CONFIG)(torch.zeros(1, 17, dtype=torch.long))


def test_the_sinusoid_keeps_its_promises():
    assert invariants.table_equals_closed_form(Sinusoidal(16)).holds
    assert invariants.shift_is_rotation(16, shift=5).holds


def test_a_wrong_table_is_found_out():
    class Halved(Sinusoidal):
        def embed(self, x, places):
            return x + (super().embed(x, places) - x) / 2

    assert not invariants.table_equals_closed_form(Halved(16)).holds


def test_a_learned_table_is_no_function_of_distance():
    """The dot product of two rows depends on both places: measured as the invariant measures scores."""
    torch.manual_seed(0)
    table = LearnedPositions(32, 8).table.detach()
    gram = table @ table.T
    assert (gram.diagonal(1) - gram[0, 1]).abs().max() > 1e-4


def test_a_verdict_prints_its_mark():
    assert str(invariants.Verdict("it holds", 0.0, 1.0)) == "✓ it holds"
    assert str(invariants.Verdict("it fails", 2.0, 1.0)) == "✗ it fails"
