"""What models may see and what they make of order: each promise kept by one, broken by another."""

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Polar
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 10])
CAUSAL = [name for name, version in VERSIONS.items() if not version.masks]
DENOISERS = [name for name, version in VERSIONS.items() if version.masks]


def peeking(config):
    """A model that reads the future."""
    return Transformer(config, Encoding(), causal=False)


class Broken(Encoding):
    """Past position 20 its logits are not finite, and it says nothing."""

    def embed(self, x, positions):
        return torch.where(positions.time[:, None] > 20, torch.nan, x)


class Nonsense(Polar):
    """Past position 20 its gates are not finite, and it says nothing."""

    def gate(self, positions):
        return torch.where(positions.time[:, None] > 20, torch.nan, super().gate(positions))


def test_v1_and_v2_see_one_token_at_a_time_and_v4_does_not(wake):
    for version in ("v1", "v2"):
        assert invariants.blind_to_the_past(wake(build(version, CONFIG)), IDX).holds
    assert not invariants.blind_to_the_past(wake(build("v4", CONFIG)), IDX).holds


def test_without_a_code_one_causal_layer_is_blind_to_order_and_two_are_not(wake):
    """The surprise of causal NoPE: with a second layer the mask itself tells order."""
    one = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert invariants.order_blind(wake(build("nope", one)), IDX).holds
    assert not invariants.order_blind(wake(build("nope", CONFIG)), IDX).holds


def test_bidirectional_without_a_code_is_blind_to_order_at_any_depth(wake):
    assert invariants.order_blind(wake(peeking(CONFIG)), IDX).holds


@pytest.mark.parametrize("version", ["learned", "v3", "v4", "v5", "v5-absolute", "alibi"])
def test_a_code_opens_the_eyes(wake, version):
    one = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert not invariants.order_blind(wake(build(version, one)), IDX).holds


@pytest.mark.parametrize("version", CAUSAL)
def test_every_version_is_causal_and_reads_alike_with_a_cache(wake, one_text, version):
    model, positions = wake(build(version, CONFIG)), one_text(version, len(IDX))
    assert invariants.causal(model, IDX, positions).holds
    assert invariants.cache_equals_full(model, IDX, positions).holds
    assert invariants.extrapolates_or_refuses(model, IDX, positions.branch).holds


def test_a_model_that_has_to_be_told_the_branch_is_not_taken_to_refuse_positions(wake):
    """It goes on past its window; an error about branches would have passed for a refusal."""
    model, beyond = (
        wake(build("v6", CONFIG)),
        Positions(torch.arange(16, 26), torch.zeros(10, dtype=torch.long)),
    )
    assert torch.isfinite(model(IDX[None], beyond)).all()


@pytest.mark.parametrize("version", DENOISERS)
def test_who_fills_in_sees_the_future_and_goes_on_past_its_window(wake, one_text, version):
    model = wake(build(version, CONFIG))
    assert not invariants.causal(model, IDX).holds
    assert not invariants.cache_equals_full(model, IDX).holds
    assert invariants.extrapolates_or_refuses(model, IDX).holds
    assert torch.isfinite(model(IDX[None], one_text(version, 10, start=16))).all()


@pytest.mark.parametrize("version", DENOISERS)
def test_of_those_who_fill_in_only_one_without_a_code_is_blind(wake, version):
    found = invariants.order_blind(wake(build(version, CONFIG)), IDX)
    assert found.holds == (version == "v7-nope")


def test_gates_that_are_not_told_what_is_masked_are_not_taken_to_refuse_positions(wake):
    """Else an error about MASK would pass for a model that knows its window's end."""
    assert not invariants.extrapolates_or_refuses(wake(Transformer(CONFIG, Nonsense(8), False)), IDX).holds


def test_a_model_that_peeks_is_found_out(wake):
    assert not invariants.causal(wake(peeking(CONFIG)), IDX).holds


def test_silent_nonsense_past_the_window_is_found_out(wake):
    assert not invariants.extrapolates_or_refuses(wake(Transformer(CONFIG, Broken())), IDX).holds


def test_learned_positions_refuse_instead_of_guessing():
    with pytest.raises(ValueError, match="position 16 is not in the table: it has 0 to 15"):
        build("learned", CONFIG)(torch.zeros(1, 17, dtype=torch.long))
