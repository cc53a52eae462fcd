"""v1 is a bigram model, v2 knows its own position too, and a cache changes no logits of any model."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, LearnedPhase, Rotary2D
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions

# ---------------------------------------------------------------- v1 and v2


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


# ---------------------------------------------------------------- the cache

CAUSAL = [name for name, version in VERSIONS.items() if not version.masks]
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


@pytest.mark.parametrize("version", CAUSAL)
@settings(max_examples=6)
@given(cuts=st.sets(st.integers(1, 9)))
def test_pieces_give_the_logits_of_the_whole(awake, text, standing, version: str, cuts: set[int]) -> None:
    """Count from 0 or 6, or give as many rows as there are heads times of their own, with gaps."""
    model, idx = awake(version), text(2, 10)
    own = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 8, 9, 13], [2, 3, 4, 6, 7, 9, 10, 11, 14, 15]])
    for time in (torch.arange(10), torch.arange(6, 16), own):
        whole = standing(version, time)
        assert_pieces_are_the_whole(model, idx, whole, sorted(cuts))
    for b in range(2):
        alone = model(idx[b : b + 1], standing(version, own[b]))
        assert torch.allclose(model(idx, whole)[b : b + 1], alone, atol=1e-5)


@pytest.mark.parametrize("version", ["v1", "v3", "v4", "v5"])
def test_a_cache_may_reach_past_the_window(awake, text, version: str) -> None:
    assert_pieces_are_the_whole(awake(version), text(1, 40), None, [8, 16, 24, 32])  # block_size is 16


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_a_full_cache_refuses_more_and_stays_as_it_is(awake, text, one_text, version: str) -> None:
    model, cache, idx = awake(version), KVCache(6), text(1, 6)
    with torch.no_grad():
        model(idx[:, :5], one_text(version, 5), cache)
        with pytest.raises(ValueError, match="5 of 6 tokens; 2 more"):
            model(idx[:, :2], one_text(version, 2, 5), cache)
        last = model(idx[:, 5:], one_text(version, 1, 5), cache)
        assert torch.allclose(last, model(idx, one_text(version, 6))[:, 5:], atol=1e-5)


class Picky(Encoding):
    """Encoding that refuses positions of 50 and more in every second layer: the first has stored its keys."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def transform_qk(self, q, k, positions: Positions):
        self.calls += 1
        if self.calls % 2 == 0 and bool((positions.time >= 50).any()):
            raise BadInput("a position of 50 or more")
        return q, k


@pytest.mark.parametrize("version", ["v1", "v2", "v3", "learned", "v6", "picky"])
def test_a_refused_call_leaves_the_cache_as_it_was(awake, wake, text, one_text, version: str) -> None:
    """Refuse an unknown token, a position that does not exist, a shape that does not fit, another batch."""
    model = wake(Transformer(CONFIG, Picky())) if version == "picky" else awake(version)
    version = "v4" if version == "picky" else version
    idx, cache = text(2, 10), KVCache(60)
    far = one_text(version, 3)
    far = Positions(far.time.clone().index_fill(0, torch.tensor(2), 10**6), far.branch)
    bad = [
        (idx[:, :3] + 11, one_text(version, 3, 4), BadInput),
        (idx[:, :2], one_text(version, 3, 4), BadInput),
        (idx[:1, :3], one_text(version, 3, 4), BadInput),
        (torch.cat([idx, idx])[:, :3], one_text(version, 3, 4), BadInput),
    ]
    if version not in ("v1", "v3", "v6"):
        bad.append((idx[:, :3], far, BadInput))
    if version == "v6":
        bad.append((idx[:, :3], Positions(far.time, torch.tensor([0, 1, 10**6])), BadInput))
    with torch.no_grad():
        model(idx[:, :4], one_text(version, 4), cache)
        for ids, positions, error in bad:
            with pytest.raises(error):
                model(ids, positions, cache)
            assert (cache.length, len(cache.positions)) == (4, 4)
        rest = model(idx[:, 4:], one_text(version, 6, 4), cache)
        assert torch.allclose(rest, model(idx, one_text(version, 10))[:, 4:], atol=1e-5)


@pytest.mark.parametrize("version", [name for name in CAUSAL if not VERSIONS[name].branches])
def test_what_follows_a_cache_stands_after_its_last_time(awake, text, version: str) -> None:
    """Begin at position 2, leave a gap, or give each row its own times; then go on without positions."""
    model, idx = awake(version), text(2, 9)
    rows = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [2, 3, 4, 6, 7, 9, 10]])
    for first in (Positions.arange(7, 2), Positions(torch.tensor([0, 1, 2, 3, 5, 6, 8])), Positions(rows)):
        after = first.time[..., -1:] + torch.tensor([1, 2])
        cache = KVCache(9)
        with torch.no_grad():
            model(idx[:, :7], first, cache)
            rest = torch.cat([model(idx[:, 7:8], cache=cache), model(idx[:, 8:], cache=cache)], dim=1)
            whole = model(idx, Positions(torch.cat([first.time, after], dim=-1)))
        assert torch.allclose(rest, whole[:, 7:], atol=1e-5)


def test_after_several_branches_positions_must_be_given(awake, woven) -> None:
    model, columns, cache = awake("v6"), woven(), KVCache(30)
    model(columns.tokens, columns.positions, cache)
    with pytest.raises(BadInput, match="several branches: give the positions"):
        model(columns.tokens[:, :1], cache=cache)


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
