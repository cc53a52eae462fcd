"""v1 is a bigram model, v2 knows its own position too, and a cache changes no logits of any model.

tests/invariants reads every version with a cache. Here are one model of each kind, and odd pieces.
"""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, LearnedPhase, Rotary2D
from babygpt.models.language_model import BagOfTokens, BagWithPositions, KVCache, LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions

# ---------------------------------------------------------------- v1 and v2

NOTE = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])  # the note's 4 tokens in 2 dimensions


def inputs_of_head(model: LanguageModel, *texts: list[int]) -> list[torch.Tensor]:
    """Return the vectors that a model gives to its head, for each text: (T, C)."""
    seen: list[torch.Tensor] = []
    model.head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0]))
    for idx in texts:
        model(torch.tensor([idx]))
    return seen


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_logits_depend_on_the_last_token_and_in_v2_on_its_position(awake, text, version: str) -> None:
    model, idx = awake(version), text(3, 9)
    x = model.token_embedding.weight[idx]
    if version == "v2":
        x = x + model.encoding.table[:9]
    assert torch.allclose(model(idx), x @ model.head.weight.T + model.head.bias, atol=1e-6)
    moved = model(idx, Positions.arange(9, start=2))
    assert torch.equal(moved, model(idx)) == (version == "v1")
    assert awake("v1")(text(1, 99)).shape == (1, 99, 11)  # block_size is 16, and v1 needs none


@pytest.mark.parametrize("extra", [1, 5, 16, 40])
def test_v2_cuts_long_text_and_its_targets_to_the_last_window(awake, text, extra: int) -> None:
    """Cut inputs and targets; the note cuts the inputs and forgets the targets."""
    model, idx = awake("v2"), text(2, 17 + extra)
    x, y = idx[:, :-1], idx[:, 1:]
    assert torch.equal(model(x), model(x[:, extra:]))
    expected = cross_entropy(model(x[:, -16:]), y[:, -16:])
    assert expected.shape == (2, 16)
    assert torch.equal(cross_entropy(model(x), y), expected)


def test_v1_and_v2_give_the_vectors_of_the_notes_examples() -> None:
    """Read 我爱你 and 你爱我, of section 2.3: v1 gives 我 one vector at both positions, v2 two."""
    v1 = BagOfTokens(ModelConfig(vocab_size=4, n_head=1, n_embd=2))
    v1.token_embedding.weight.data = NOTE
    one, other = inputs_of_head(v1, [0, 1, 2], [2, 1, 0])
    assert torch.equal(one, NOTE[[0, 1, 2]])
    assert torch.equal(other, one.flip(0))
    v2 = BagWithPositions(ModelConfig(vocab_size=4, block_size=3, n_head=1, n_embd=2))
    v2.token_embedding.weight.data = NOTE
    v2.encoding.table.data = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
    one, other = inputs_of_head(v2, [0, 1, 2], [2, 1, 0])
    assert torch.allclose(one, torch.tensor([[0.11, 0.22], [0.33, 0.44], [0.55, 0.66]]))
    assert torch.allclose(other, torch.tensor([[0.51, 0.62], [0.33, 0.44], [0.15, 0.26]]))


# ---------------------------------------------------------------- the cache

# no attention, a table, sines added, the causal kernel, a bias, branches, keys wider than values
WAYS = ["v1", "v2", "v3", "v4", "v5", "v6", "pope"]
CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


@torch.no_grad()
def assert_pieces_are_the_whole(model, idx: torch.Tensor, whole: Positions | None, cuts: list[int]) -> None:
    """Read a text with a cache, in pieces that end at these cuts, and at once."""
    cache, T = KVCache(idx.shape[1]), idx.shape[1]
    pieces = []
    for a, b in pairwise([0, *cuts, T]):
        here = None
        if whole is not None:
            parts = (None if p is None else p[..., a:b] for p in (whole.time, whole.branch, whole.masked))
            here = Positions(*parts)
        pieces.append(model(idx[:, a:b], here, cache))
        assert cache.length == b
    assert torch.allclose(torch.cat(pieces, dim=1), model(idx, whole), atol=1e-5)


@pytest.mark.parametrize("version", WAYS)
@given(cuts=st.sets(st.integers(1, 15)), start=st.sampled_from([0, 6]))
def test_pieces_give_the_logits_of_the_whole(awake, text, one_text, version: str, cuts: set[int], start: int):
    n = 16 if version != "v2" else 10  # its table ends
    assert_pieces_are_the_whole(
        awake(version), text(2, n), one_text(version, n, start), [c for c in sorted(cuts) if c < n]
    )


@pytest.mark.parametrize("version", ["v1", "v3", "v4", "v5"])
def test_a_cache_may_reach_past_the_window(awake, text, version: str) -> None:
    assert_pieces_are_the_whole(awake(version), text(1, 40), None, [8, 16, 24, 32])  # block_size is 16


@pytest.mark.parametrize("version", ["v2", "learned"])
def test_learned_positions_end_with_a_cache_too(awake, text, version: str) -> None:
    model, cache = awake(version), KVCache(40)
    model(text(1, 16), cache=cache)
    with pytest.raises(ValueError, match="position 16 "):
        model(text(1, 1), cache=cache)


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_a_full_cache_refuses_more_and_stays_as_it_is(awake, text, one_text, version: str) -> None:
    model, cache, idx = awake(version), KVCache(6), text(1, 6)
    with torch.no_grad():
        model(idx[:, :5], one_text(version, 5), cache)
        with pytest.raises(ValueError, match="5 of 6 tokens; 2 more"):
            model(idx[:, :2], one_text(version, 2, 5), cache)
        last = model(idx[:, 5:], one_text(version, 1, 5), cache)
        assert torch.allclose(last, model(idx, one_text(version, 6))[:, 5:], atol=1e-5)


def test_two_caches_are_independent_and_each_needs_room(awake, text) -> None:
    model, idx, one, other = awake("v4"), text(2, 8), KVCache(8), KVCache(8)
    with torch.no_grad():
        model(idx[:1, :4], cache=one)
        model(idx[1:, :4], cache=other)
        assert torch.allclose(model(idx[:1, 4:], cache=one), model(idx[:1])[:, 4:], atol=1e-5)


@pytest.mark.parametrize("version", WAYS)
def test_rows_of_a_batch_may_have_their_own_positions(awake, text, standing, version: str) -> None:
    """Use as many rows as heads, so that a mix-up gives other numbers; tests/encodings read the others."""
    model, idx, time = awake(version), text(2, 4), torch.tensor([[0, 1, 2, 3], [2, 5, 9, 11]])
    positions = standing(version, time)
    assert_pieces_are_the_whole(model, idx, positions, [2])
    for b in range(2):
        alone = model(idx[b : b + 1], standing(version, time[b]))
        assert torch.allclose(model(idx, positions)[b : b + 1], alone, atol=1e-5)


class OwnBranch(Encoding):
    """A bias against other texts than a token's own."""

    def score_bias(self, queries: Positions, keys: Positions) -> torch.Tensor:
        return torch.where(queries.branch[:, None] == keys.branch, 0.0, -3.0)[None]


@pytest.mark.parametrize(
    "encoding", [Rotary2D(8), OwnBranch(), LearnedPhase(2, 8)], ids=["turned", "bias", "wide"]
)
def test_branches_masks_and_wide_keys_are_cached(wake, text, encoding: Encoding) -> None:
    """Include gates in quadrature, whose keys have twice the channels of values."""
    branch, masked = torch.tensor([0, 1, 0, 1, 1, 0]), torch.tensor([False, True, True, False, True, False])
    whole = Positions(torch.arange(6), None if isinstance(encoding, LearnedPhase) else branch, masked)
    assert_pieces_are_the_whole(wake(Transformer(CONFIG, encoding)), text(1, 6), whole, [2])
