"""The body against the same arithmetic in NumPy, against PyTorch's attention, and its promises."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig
from babygpt.data.batches import interleave
from babygpt.encodings import ALiBi, Encoding, Rotary
from babygpt.models.transformer import SHARPNESS, Context, Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions
from babygpt_course.studies.gaussian_training import limit_sight

V, C, H, D, BLOCK = 11, 16, 2, 8, 16
CONFIG = ModelConfig(vocab_size=V, block_size=BLOCK, n_layer=2, n_head=H, n_embd=C)
BODIES = ["v4", "nope", "alibi"]
Position = tuple[int, int]  # time and branch of a token


# ---------------------------------------------------------------- the reference


def rms(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.finfo(np.float64).eps)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def score(version: str, h: int, q: np.ndarray, k: np.ndarray, query: Position, key: Position) -> float:
    """Return the score of q at one position and k at another in head h. tests/encodings have the others."""
    distance = 0 if version in ("nope", "alibi") else query[0] - key[0]
    q_, k_ = q[0::2] + 1j * q[1::2], k[0::2] + 1j * k[1::2]
    wave = np.exp(1j * distance * 10_000 ** (-np.arange(0, D, 2) / D))
    plain = SHARPNESS * float((q_ * k_.conj() * wave).sum().real) / math.sqrt(D)
    return plain - (2 ** (-8 * (h + 1) / H) * abs(query[0] - key[0]) if version == "alibi" else 0.0)


def attention(
    version: str, weights: dict, layer: int, x: np.ndarray, positions: list[Position], visible: np.ndarray
) -> np.ndarray:
    T, name = len(x), f"blocks.{layer}.attention."
    w = {key.removeprefix(name): p for key, p in weights.items() if key.startswith(name)}
    q, k, v = ((x @ w[f"to_{name}.weight"].T).reshape(T, H, D) for name in "qkv")
    q, k = rms(q), rms(k)
    heads = []
    for h in range(H):
        scores = np.full((T, T), -np.inf)
        for i, j in np.argwhere(visible):
            scores[i, j] = score(version, h, q[i, h], k[j, h], positions[i], positions[j])
        heads.append(softmax(scores) @ v[:, h])
    return np.concatenate(heads, axis=-1) @ w["out.weight"].T


def compute(version: str, model: Transformer, idx: list[int], positions: list[Position], visible: np.ndarray):
    """Return the logits of one sequence, (T, V), in float64 and without PyTorch."""
    weights = {name: p.detach().double().numpy() for name, p in model.state_dict().items()}
    x = rms(weights["token_embedding.weight"][idx])
    for layer in range(CONFIG.n_layer):
        x = x + attention(version, weights, layer, rms(x), positions, visible)
        up, out = (weights[f"blocks.{layer}.mlp.{name}.weight"] for name in ("up", "out"))
        x = x + np.maximum(rms(x) @ up.T, 0) ** 2 @ out.T
    return rms(x) @ weights["head.weight"].T


def reference(version: str, model: Transformer, idx: list[int], start: int = 0, causal: bool = True):
    """Return the logits of one text, (T, V)."""
    positions, T = [(start + t, 0) for t in range(len(idx))], len(idx)
    return compute(version, model, idx, positions, np.tri(T, dtype=bool) if causal else np.ones((T, T), bool))


def visible(positions: list[Position], isolated: bool) -> np.ndarray:
    """Return which token sees which, pair by pair: (T, T)."""

    def sees(query: Position, key: Position) -> bool:
        same = query[1] == key[1]
        earlier = key[0] < query[0] or (same and key[0] == query[0])
        return earlier and (same or not isolated)

    return np.array([[sees(query, key) for key in positions] for query in positions])


@pytest.mark.parametrize("isolated", [False, True])
def test_parallel_texts_equal_the_reference(awake, text, isolated: bool) -> None:
    """Let three texts begin at different times, in one sequence."""
    model = awake("v6-none", {"isolated": isolated})
    columns = interleave(text(17).split([5, 8, 4]), (2, 0, 5))
    positions = list(zip(columns.time[0].tolist(), columns.branch[0].tolist(), strict=True))
    expected = compute("v4", model, columns.tokens[0].tolist(), positions, visible(positions, isolated))
    got = model(columns.tokens, columns.positions)[0].detach().numpy()
    assert np.abs(got - expected).max() < 1e-4


@pytest.mark.parametrize("version", BODIES)
@pytest.mark.parametrize("start", [0, 5])
def test_logits_equal_the_reference(awake, text, version: str, start: int) -> None:
    model, idx, positions = awake(version), text(2, 10), Positions.arange(10, start)
    expected = np.stack([reference(version, model, row.tolist(), start) for row in idx])
    assert np.abs(model(idx, positions).detach().numpy() - expected).max() < 1e-4
    assert np.abs(model.double()(idx, positions).detach().numpy() - expected).max() < 1e-10


def test_masks_have_the_precision_of_the_model(awake, text) -> None:
    """Guard against PyTorch, which misreads a float32 mask of 40 tokens or more in a float64 model."""
    model, idx, back = awake("v4"), text(1, 40), torch.arange(39, -1, -1)
    exact = awake("v4").double()
    assert torch.allclose(exact(idx[:, back], Positions(back)), exact(idx)[:, back], atol=1e-12)
    near, exact_near = limit_sight(model, 5), limit_sight(exact, 5)
    assert torch.allclose(exact_near(idx).float(), near(idx), atol=1e-4)
    assert not torch.allclose(near(idx), model(idx), atol=1e-2)


@pytest.mark.parametrize("encoding", ["v4", "nope", "alibi"])
def test_body_without_causality_equals_the_reference(wake, text, encoding: str) -> None:
    position_encoding = {"v4": Rotary(D), "nope": Encoding(), "alibi": ALiBi(H)}[encoding]
    model, idx = wake(Transformer(CONFIG, position_encoding, causal=False)), text(1, 10)
    expected = reference(encoding, model, idx[0].tolist(), causal=False)
    assert np.abs(model(idx)[0].detach().numpy() - expected).max() < 1e-4


def test_a_layer_that_looks_both_ways_is_pytorchs_attention_without_a_mask(awake) -> None:
    """Take gates in quadrature as waves, with plain attention's scale although keys are wider."""
    model, x = awake("v7").double(), torch.randn(2, 7, C, dtype=torch.float64)
    layer, where = model.blocks[0].attention, Positions(torch.arange(7), masked=torch.arange(7) == 3)
    context = Context(model.encoding, where, where, model.attn_masks(where, where)[0], model.causal, None)
    q, k, v = (to(x).view(2, 7, H, D).transpose(1, 2) for to in (layer.to_q, layer.to_k, layer.to_v))
    q, k = (F.rms_norm(each, (D,)) for each in (q, k))
    wave = torch.arange(7)[:, None] * 10_000.0 ** (-torch.arange(D).double() / D)
    ahead = wave + model.encoding.delta[:, None]
    factor = torch.where(where.masked, 0.3, 1.0).double()[:, None]
    q = torch.cat([q * wave.cos(), q * wave.sin()], dim=-1)
    k = torch.cat([k * ahead.cos(), k * ahead.sin()], dim=-1) * factor
    mixed = F.scaled_dot_product_attention(q, k, v, scale=SHARPNESS / math.sqrt(D))
    expected = mixed.transpose(1, 2).flatten(2) @ layer.out.weight.T
    assert torch.allclose(layer(x, context), expected, atol=1e-6)


# ---------------------------------------------------------------- promises


@pytest.mark.parametrize("version", ["v3", "v4", "v5", "alibi", "v7", "v7-polar", "v7-nope"])
def test_a_change_anywhere_reaches_every_token_that_may_look(awake, text, one_text, version: str) -> None:
    """Expect a change in all tokens of a diffusion model, and in the last token of the others."""
    model, idx, positions = awake(version), text(1, 12), one_text(version, 12)
    for position in range(12):
        altered = idx.clone()
        altered[:, position] = (altered[:, position] + 1) % V
        change = (model(idx, positions) - model(altered, positions)).abs().amax(dim=-1)[0]
        assert (change[0 if VERSIONS[version].masks else -1 :] > 1e-6).all()


@given(order=st.permutations(range(9)))
@pytest.mark.parametrize("version", ["v4", "v5"])
def test_times_in_any_order_are_read_by_time(awake, text, version: str, order: list[int]) -> None:
    """Keep attention's own causal mask out: it depends on the row's order alone."""
    model, idx, times = awake(version), text(1, 9), torch.tensor(order)
    assert torch.allclose(model(idx[:, times], Positions(times)), model(idx)[:, times], atol=1e-5)


@pytest.mark.parametrize(("version", "biased"), [("v4", False), ("v7", False), ("alibi", True)])
def test_attention_gets_a_mask_only_where_its_own_is_not_enough(awake, version: str, biased: bool) -> None:
    """Require none, or a row, for a text and for its last token: with a mask the same numbers take longer."""
    model, keys = awake(version), Positions.arange(9)
    for queries in (keys, Positions.arange(1, 8)):
        masks = model.attn_masks(queries, keys)
        assert [mask is None or mask.shape for mask in masks] == [(1, H, 1, 9) if biased else True] * 2


def test_isolation_needs_branches_and_causality(awake, text) -> None:
    with pytest.raises(ValueError, match=r"positions\.branch"):
        awake("v6-none", {"isolated": True})(text(1, 5))
    with pytest.raises(ValueError, match="causal is False"):
        Transformer(CONFIG, Rotary(D), causal=False, isolated=True)


# ---------------------------------------------------------------- untrained models and bad shapes


def test_an_untrained_body_gives_equal_logits(text) -> None:
    assert not build("v4", CONFIG)(text(2, 12)).any()


def test_every_block_starts_as_identity() -> None:
    model, x = build("v4", CONFIG), torch.randn(2, 5, C)
    context = Context(model.encoding, Positions.arange(5), Positions.arange(5), None, True, None)
    for block in model.blocks:
        assert torch.equal(block(x, context), x)
