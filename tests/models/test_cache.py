"""Reading with a cache changes nothing but the work."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, LearnedPhase, Rotary2D
from babygpt.models.base import KVCache
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions

# One of each way to read: no attention, a table, sines added, the causal kernel, a bias, branches, wide keys.
# That every version reads alike with a cache is asked in invariants/test_models.py.
WAYS = ["v1", "v2", "v3", "v4", "v5", "v6", "pope"]


@pytest.mark.parametrize("version", WAYS)
@given(cuts=st.sets(st.integers(1, 15)))
def test_pieces_give_the_logits_of_the_whole(awake, text, one_text, version: str, cuts: set[int]) -> None:
    model, idx = awake(version), text(2, 16)
    borders = [0, *sorted(cuts), 16]
    cache = KVCache(16)
    with torch.no_grad():
        pieces = [model(idx[:, a:b], one_text(version, b - a, a), cache) for a, b in pairwise(borders)]
        assert torch.allclose(torch.cat(pieces, dim=1), model(idx, one_text(version, 16)), atol=1e-5)


@pytest.mark.parametrize("version", ["v1", "v3", "v4", "v5"])
def test_a_cache_may_reach_past_the_window(awake, text, version: str) -> None:
    model, idx = awake(version), text(1, 40)  # block_size is 16
    cache = KVCache(40)
    with torch.no_grad():
        pieces = [model(idx[:, t : t + 8], cache=cache) for t in range(0, 40, 8)]
        assert torch.allclose(torch.cat(pieces, dim=1), model(idx), atol=1e-5)


@pytest.mark.parametrize("version", ["v2", "learned"])
def test_learned_positions_run_out_with_a_cache_too(awake, text, version: str) -> None:
    model, cache = awake(version), KVCache(40)
    model(text(1, 16), cache=cache)
    with pytest.raises(ValueError, match="position 16 "):
        model(text(1, 1), cache=cache)


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_cache_knows_how_many_tokens_were_read(awake, text, one_text, version: str) -> None:
    model, cache = awake(version), KVCache(16)
    lengths = []
    for n in (3, 1, 5):
        model(text(2, n), one_text(version, n, cache.length), cache)
        lengths.append(cache.length)
    assert lengths == [3, 4, 9]


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_a_full_cache_refuses_more_and_stays_as_it_is(awake, text, one_text, version: str) -> None:
    model, cache, idx = awake(version), KVCache(6), text(1, 6)
    with torch.no_grad():
        model(idx[:, :5], one_text(version, 5), cache)
        with pytest.raises(ValueError, match="5 of 6 tokens; 2 more"):
            model(idx[:, :2], one_text(version, 2, 5), cache)
        last = model(idx[:, 5:], one_text(version, 1, 5), cache)
        assert torch.allclose(last, model(idx, one_text(version, 6))[:, 5:], atol=1e-5)


@pytest.mark.parametrize("version", ["v4", "v6"])
def test_two_caches_do_not_know_each_other(awake, text, one_text, version: str) -> None:
    model, idx = awake(version), text(2, 8)
    first, second = one_text(version, 4), one_text(version, 4, 4)
    one, other = KVCache(8), KVCache(8)
    with torch.no_grad():
        model(idx[:1, :4], first, one)
        model(idx[1:, :4], first, other)
        whole = model(idx[:1], one_text(version, 8))
        assert torch.allclose(model(idx[:1, 4:], second, one), whole[:, 4:], atol=1e-5)


@pytest.mark.parametrize("version", WAYS)
def test_places_given_by_hand_are_kept(awake, text, one_text, version: str) -> None:
    """A text that begins at place 6, read in two pieces."""
    model, idx, cache = awake(version), text(1, 8), KVCache(8)
    with torch.no_grad():
        pieces = [
            model(idx[:, :3], one_text(version, 3, 6), cache),
            model(idx[:, 3:], one_text(version, 5, 9), cache),
        ]
        assert torch.allclose(torch.cat(pieces, 1), model(idx, one_text(version, 8, 6)), atol=1e-5)


@pytest.mark.parametrize("version", WAYS)
def test_rows_that_stand_elsewhere_are_cached(awake, text, version: str) -> None:
    """As many rows as heads: one that passes for the other gives other numbers."""
    model, idx, cache = awake(version), text(2, 4), KVCache(4)
    time = torch.tensor([[0, 1, 2, 3], [2, 5, 9, 11]])
    branch = torch.zeros_like(time) if VERSIONS[version].branches else None

    def there(*at: slice) -> Positions:
        return Positions(time[at], None if branch is None else branch[at])

    with torch.no_grad():
        pieces = [model(idx[:, t : t + 2], there(slice(None), slice(t, t + 2)), cache) for t in (0, 2)]
        for b in range(2):
            alone = model(idx[b : b + 1], there(slice(b, b + 1)))
            assert torch.allclose(torch.cat(pieces, dim=1)[b : b + 1], alone, atol=1e-5)


class OwnBranch(Encoding):
    """A bias that keeps to the text that a token belongs to."""

    def score_bias(self, queries: Positions, keys: Positions) -> torch.Tensor:
        same = queries.branch[:, None] == keys.branch
        return torch.where(same, 0.0, -3.0)[None]


@pytest.mark.parametrize("encoding", [Rotary2D(8), OwnBranch()], ids=["turned", "bias"])
def test_branches_are_remembered(wake, text, encoding: Encoding) -> None:
    config = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
    model, idx, cache = wake(Transformer(config, encoding)), text(1, 6), KVCache(6)
    whole = Positions(torch.arange(6), branch=torch.tensor([0, 1, 0, 1, 1, 0]))
    with torch.no_grad():
        pieces = [
            model(idx[:, a:b], Positions(whole.time[a:b], whole.branch[a:b]), cache)
            for a, b in ((0, 2), (2, 6))
        ]
        assert torch.allclose(torch.cat(pieces, dim=1), model(idx, whole), atol=1e-5)


def test_keys_may_have_more_channels_than_values(wake, text) -> None:
    """Gates in quadrature double them; and what is MASK is remembered."""
    config = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
    model, idx, cache = wake(Transformer(config, LearnedPhase(2, 8))), text(1, 6), KVCache(6)
    whole = Positions(torch.arange(6), masked=torch.tensor([False, True, True, False, True, False]))
    with torch.no_grad():
        pieces = [
            model(idx[:, a:b], Positions(whole.time[a:b], masked=whole.masked[a:b]), cache)
            for a, b in ((0, 2), (2, 6))
        ]
        assert torch.allclose(torch.cat(pieces, dim=1), model(idx, whole), atol=1e-5)


@pytest.mark.parametrize("capacity", [0, -4])
def test_room_for_nothing_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match=rf"capacity \({capacity}\)"):
        KVCache(capacity)
