"""Fourteen invariants of the museum's models, each a measurement.

They are measured on models with random weights. A promise is about the way a model is built, not about
what it has learned; and a fresh Transformer, whose outputs are zero, would keep most of them.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from babygpt.invariants import Promise
from babygpt.invariants.base import random_qk, unmasked_positions
from babygpt.invariants.encodings import score
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Attention, Context, norm, score_scale
from babygpt.positions import Positions
from babygpt_course.museum.exhibits import SHAPE, Exhibit, Specimen

FAR = 4096  # as far as a book is long; bfloat16 has one whole number in thirty-two there
SAME = 1e-4  # a smaller change of a logit is rounding

Measure = Callable[[Specimen, Specimen], Promise]  # given a model and its healthy twin
PROMISES: dict[str, Measure] = {}


@torch.no_grad()
def fill_with_noise_(model: Specimen) -> Specimen:
    """Fill every parameter with noise, the same at each call; returns the model."""
    draw = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        p.normal_(std=1.0 if "embedding" in name else p.shape[-1] ** -0.5, generator=draw)
    return model.eval()


def random_texts(model: Specimen, rows: int, length: int) -> Tensor:
    """Return random token ids without padding: (rows, length)."""
    draw = torch.Generator().manual_seed(1)
    return torch.randint(model.config.vocab_size - 1, (rows, length), generator=draw)


def pair_scores(model: Specimen, query: int, keys: Tensor) -> Tensor:
    """Return scores in the first block of a token at `query` with another at each of N keys: (B, H, N)."""
    idx = random_texts(model, 8, 2)
    idx = torch.cat([idx[:, :1].expand(-1, len(keys)), idx[:, 1:]], dim=1)  # (B, N + 1), the query last
    positions = Positions(torch.cat([keys, torch.tensor([query])]))
    attention = next(part for part in model.modules() if isinstance(part, Attention))
    stream = norm(model.encoding.embed(model.token_embedding(idx), positions))  # (B, N + 1, C)
    q, k, v = attention.qkv(norm(stream), Context(model.encoding, positions, positions, None, True, None))
    return (q[:, :, -1:] * k[:, :, :-1]).sum(dim=-1) * score_scale(v)


def max_shift_change(model: Specimen, *shifts: int) -> float:
    """Return the largest change of a score of given q and k when both positions move by one of the shifts."""
    window = model.config.block_size
    q, k = random_qk(model.config.n_head, model.config.head_dim)
    changes = [
        (score(model.encoding, q, k, m + by, n + by) - score(model.encoding, q, k, m, n)).abs().max()
        for by in shifts
        for m, n in ((0, 0), (5, 2), (window - by - 1, 3) if by < window else (window - 1, 3))
    ]
    return float(max(changes))


def equal_neighbours(model: Specimen, first: int) -> float:
    """Count neighbouring keys in a window whose scores with a query just behind it are nearly equal."""
    window = model.config.block_size
    usual = pair_scores(model, window, torch.arange(window)).std()
    scores = pair_scores(model, first + window, first + torch.arange(window))
    return float((scores.diff(dim=-1).abs().amax(dim=(0, 1)) < 0.01 * usual).sum())


# ---------------------------------------------------------------- the promises; docstrings name the number


def promise(statement: str, limit: float = SAME) -> Callable[[Callable[..., Tensor | float]], Measure]:
    """Add a function to PROMISES, which measures a model and its twin; of a tensor the largest counts."""

    def register(measure: Callable[..., Tensor | float]) -> Measure:
        @functools.wraps(measure)
        def measured(model: Specimen, healthy: Specimen) -> Promise:
            value = measure(model, healthy)
            value = float(value.abs().max()) if isinstance(value, Tensor) else value
            return Promise(statement, value, limit)

        PROMISES[measure.__name__] = measured
        return measured

    return register


@promise("in the window, scores of given q and k depend only on the distance", 1e-6)
def shift(model: Specimen, _: Specimen) -> float:
    """Measure how much these scores change when both tokens move by 1 or by 7 positions."""
    return max_shift_change(model, 1, 7)


@promise(f"{FAR} positions further on, scores of given q and k still depend only on the distance", 1e-6)
def far(model: Specimen, _: Specimen) -> float:
    """Measure how much scores of given q and k change when both tokens move by about 4096 positions."""
    return max_shift_change(model, FAR, FAR + 5)


@promise("the encoding makes no query and no key longer", 1e-6)
def growth(model: Specimen, _: Specimen) -> float:
    """Measure how much longer a query or key becomes at worst, as a share of its length."""
    q, k = random_qk(model.config.n_head, model.config.head_dim)
    positions = [unmasked_positions(1, position) for position in range(model.config.block_size)]
    turned = [x for position in positions for x in model.encoding.transform_qk(q, k, position)]
    ratios = [a.norm(dim=-1) / b.norm(dim=-1) for a, b in zip(turned, [q, k] * len(positions), strict=True)]
    return float(torch.stack(ratios).max()) - 1


@promise("in the window, a token gets different scores at neighbouring positions", 0.0)
def near(model: Specimen, _: Specimen) -> float:
    """Count the pairs of neighbours, 31 in the window, whose scores are nearly equal."""
    return equal_neighbours(model, 0)


@promise("just past the window, a token gets different scores at neighbouring positions", 0.0)
def beyond(model: Specimen, _: Specimen) -> float:
    """Count the pairs of neighbours, 31 past the window, whose scores are nearly equal."""
    return equal_neighbours(model, model.config.block_size)


@promise("a score changes if its two tokens exchange their positions", 0.0)
def sides(model: Specimen, _: Specimen) -> float:
    """Return 1 if the score of two tokens stays the same after the exchange, and 0 if not."""
    there, back = (pair_scores(model, m, torch.tensor([n])) for m, n in ((12, 5), (5, 12)))
    return float((there - back).abs().max() < SAME)


@promise("in the window, the encoding follows the formula of RoPE or of the sinusoid", 1e-5)
def formula(model: Specimen, healthy: Specimen) -> float:
    """Measure how far embeddings, q and k are from the healthy model's after the encoding."""
    positions, draw = Positions.arange(model.config.block_size), torch.Generator().manual_seed(0)
    x = torch.randn(2, len(positions), model.config.n_embd, generator=draw)
    q = torch.randn(2, model.config.n_head, len(positions), model.config.head_dim, generator=draw)
    ours, theirs = (
        [m.encoding.embed(x, positions), *m.encoding.transform_qk(q, q.flip(0), positions)]
        for m in (model, healthy)
    )
    return max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True))


@promise("no token sees the future")
def causal(model: Specimen, _: Specimen) -> Tensor:
    """Measure how much the last token changes the logits before it."""
    idx = random_texts(model, 1, 12)
    changed = idx.clone()
    changed[0, -1] = (idx[0, -1] + 1) % (model.config.vocab_size - 1)
    return (model(idx) - model(changed))[:, :-1]


@promise("reading with a cache changes nothing")
def cache(model: Specimen, _: Specimen) -> Tensor:
    """Measure how much the logits change if the model reads token by token with a cache."""
    idx, held = random_texts(model, 1, 12), KVCache(12)
    return torch.cat([model(token, None, held) for token in idx.split(1, dim=1)], dim=1) - model(idx)


@promise("reading in pieces of three tokens changes nothing")
def pieces(model: Specimen, _: Specimen) -> Tensor:
    """Measure how much the logits change if the model reads three tokens a call with a cache."""
    idx, held = random_texts(model, 1, 12), KVCache(12)
    return torch.cat([model(piece, None, held) for piece in idx.split(3, dim=1)], dim=1) - model(idx)


@promise("positions stay right after a cache drops its oldest tokens")
def dropped(model: Specimen, _: Specimen) -> Tensor:
    """Measure how far a token's logits are from those at its true position, after five were dropped."""
    idx, caches = random_texts(model, 1, 13), (KVCache(13), KVCache(13))
    for held in caches:
        model(idx[:, :12], Positions.arange(12), held)
        held.length, held.positions = 7, Positions.arange(7, 5)
        for kept in held.buffers.values():
            kept[..., :7, :] = kept[..., 5:12, :].clone()
    return model(idx[:, 12:], None, caches[0]) - model(idx[:, 12:], Positions.arange(1, 12), caches[1])


@promise("padding on the left changes nothing")
def padding(model: Specimen, _: Specimen) -> Tensor:
    """Measure how much five tokens of padding before a text change its logits."""
    idx = random_texts(model, 1, 12)
    pads = torch.full((1, 5), model.config.vocab_size - 1)
    return model(torch.cat([pads, idx], dim=1))[:, 5:] - model(idx)


@promise("the other rows of a batch change nothing")
def batch(model: Specimen, _: Specimen) -> Tensor:
    """Measure how much three other texts in the batch change the logits of a text."""
    idx = random_texts(model, 4, 12)
    return model(idx)[2:3] - model(idx[2:3])


@promise("scores are as large as a healthy model's, within a third", 1 / 3)
def spread(model: Specimen, healthy: Specimen) -> Tensor:
    """Measure how far the standard deviation of scores is from the healthy model's, as a share of it."""
    keys = torch.arange(model.config.block_size)
    rows = [[pair_scores(m, query, keys) for query in keys[::5].tolist()] for m in (model, healthy)]
    ours, theirs = (torch.stack(scores).std() for scores in rows)
    return ours / theirs - 1


@functools.cache
@torch.inference_mode()
def measured(exhibit: Exhibit, name: str) -> Promise:
    """Return the measurement of one of PROMISES on an exhibit, with random weights."""
    return PROMISES[name](fill_with_noise_(exhibit.make(SHAPE)), fill_with_noise_(exhibit.healthy(SHAPE)))


def row(exhibit: Exhibit) -> dict[str, bool]:
    """Return which of all PROMISES an exhibit keeps."""
    return {name: measured(exhibit, name).holds for name in PROMISES}


@functools.cache
@torch.inference_mode()
def hidden_in_training(exhibit: Exhibit) -> bool:
    """Return whether an exhibit agrees with its twin on full windows, which is all that training sees."""
    ours, healthy = fill_with_noise_(exhibit.make(SHAPE)), fill_with_noise_(exhibit.healthy(SHAPE))
    idx = random_texts(ours, 4, SHAPE.block_size)
    return torch.equal(ours(idx), healthy(idx))
