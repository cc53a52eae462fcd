"""What can be asked of a model under glass: twelve promises, each a measurement.

They are measured on models filled with noise. A promise is about how a model is built, whatever it has
learned; and a fresh Transformer, whose outputs are zero, would keep most of them by saying nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from babygpt.invariants import Promise
from babygpt.invariants.base import random_qk, unmasked
from babygpt.invariants.encodings import score
from babygpt.models.base import KVCache
from babygpt.models.transformer import Attention, Context, norm, score_scale
from babygpt.positions import Positions
from babygpt_course.museum.specimens import Reader

FAR = 4096  # where a book-length text is, and bfloat16 knows one whole number in thirty-two
SAME = 1e-4  # a smaller change of a logit is rounding


@torch.no_grad()
def wake(model: Reader) -> Reader:
    """Fill every parameter with noise, the same at each call; returns the model."""
    draw = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        p.normal_(std=1.0 if "embedding" in name else p.shape[-1] ** -0.5, generator=draw)
    return model.eval()


def texts(model: Reader, rows: int, length: int) -> Tensor:
    """Random token ids without padding: (rows, length)."""
    draw = torch.Generator().manual_seed(1)
    return torch.randint(model.config.vocab_size - 1, (rows, length), generator=draw)


def pair_scores(model: Reader, query: int, keys: Tensor) -> Tensor:
    """Scores in the first block of a token at one place with another at each of N places: (B, H, N)."""
    idx = texts(model, 8, 2)
    idx = torch.cat([idx[:, :1].expand(-1, len(keys)), idx[:, 1:]], dim=1)  # (B, N + 1), the query last
    positions = Positions(torch.cat([keys, torch.tensor([query])]))
    attention = next(part for part in model.modules() if isinstance(part, Attention))
    stream = norm(model.encoding.embed(model.token_embedding(idx), positions))  # (B, N + 1, C)
    q, k, v = attention.qkv(norm(stream), Context(model.encoding, positions, None, True, None))
    return (q[:, :, -1:] * k[:, :, :-1]).sum(dim=-1) * score_scale(v)


def moved(model: Reader, furthest: int, by: int) -> float:
    """The largest change of a score of given q and k when both places move by so much."""
    config = model.config
    q, k = random_qk(config.n_head, config.head_dim)
    changes = [
        (score(model.encoding, q, k, m + by, n + by) - score(model.encoding, q, k, m, n)).abs().max()
        for m, n in ((0, 0), (5, 2), (furthest - by - 1, 3) if by < furthest else (furthest - 1, 3))
    ]
    return float(max(changes))


def alike(model: Reader, first: int) -> float:
    """How many distances in a window look like the next one, from a query just behind it."""
    window = model.config.block_size
    usual = pair_scores(model, window, torch.arange(window)).std()
    scores = pair_scores(model, first + window, first + torch.arange(window))
    return float((scores.diff(dim=-1).abs().amax(dim=(0, 1)) < 0.01 * usual).sum())


def shift(model: Reader, healthy: Reader) -> Promise:
    """How much scores of given q and k change when both move by a little."""
    value = max(moved(model, model.config.block_size, by) for by in (1, 7))
    return Promise("in the window, what is done to q and k depends on the distance alone", value, 1e-6)


def far(model: Reader, healthy: Reader) -> Promise:
    """How much the same scores change when both move a book further."""
    value = max(moved(model, model.config.block_size, by) for by in (FAR, FAR + 5))
    return Promise(f"{FAR} places further on, it still depends on the distance alone", value, 1e-6)


def growth(model: Reader, healthy: Reader) -> Promise:
    """How much longer a query or key becomes at worst, as a share of its length."""
    q, k = random_qk(model.config.n_head, model.config.head_dim)
    at = [unmasked(1, place) for place in range(model.config.block_size)]
    turned = [x for place in at for x in model.encoding.transform_qk(q, k, place)]
    ratios = [a.norm(dim=-1) / b.norm(dim=-1) for a, b in zip(turned, [q, k] * len(at), strict=True)]
    return Promise(
        "what is done to q and k makes none of them longer", float(torch.stack(ratios).max()) - 1, 1e-6
    )


def near(model: Reader, healthy: Reader) -> Promise:
    """How many distances in the window, of 31, look like the next one."""
    return Promise("neighbouring places in the window are told apart", alike(model, 0), 0.0)


def beyond(model: Reader, healthy: Reader) -> Promise:
    """How many distances just past the window, of 31, look like the next one."""
    value = alike(model, model.config.block_size)
    return Promise("neighbouring places just past the window are told apart", value, 0.0)


def sides(model: Reader, healthy: Reader) -> Promise:
    """1 if two tokens that exchange their places keep their score, and 0 if not."""
    there, back = (pair_scores(model, m, torch.tensor([n])) for m, n in ((12, 5), (5, 12)))
    change = (there - back).abs().max()
    return Promise("left is told from right", float(change < SAME), 0.0)


def formula(model: Reader, healthy: Reader) -> Promise:
    """How far what is added, and what becomes of q and k, is from the healthy model's."""
    at = Positions.arange(model.config.block_size)
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(2, len(at), model.config.n_embd, generator=draw)
    q = torch.randn(2, model.config.n_head, len(at), model.config.head_dim, generator=draw)
    ours, theirs = (
        [m.encoding.embed(x, at), *m.encoding.transform_qk(q, q.flip(0), at)] for m in (model, healthy)
    )
    worst = max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True))
    return Promise("in the window, its code is the formula of RoPE, or of the sinusoid", worst, 1e-5)


def causal(model: Reader, healthy: Reader) -> Promise:
    """How much the last token changes the logits before it."""
    idx = texts(model, 1, 12)
    other = idx.clone()
    other[0, -1] = (idx[0, -1] + 1) % (model.config.vocab_size - 1)
    change = (model(idx) - model(other))[:, :-1].abs().max()
    return Promise("no token sees the future", float(change), SAME)


def cache(model: Reader, healthy: Reader) -> Promise:
    """How much the logits change when tokens are read one by one; the model counts places itself."""
    idx, held = texts(model, 1, 12), KVCache(12)
    steps = torch.cat([model(token, None, held) for token in idx.split(1, dim=1)], dim=1)
    return Promise("reading with a cache changes nothing", float((steps - model(idx)).abs().max()), SAME)


def padding(model: Reader, healthy: Reader) -> Promise:
    """How much five tokens of padding before a text change its logits."""
    idx = texts(model, 1, 12)
    pads = torch.full((1, 5), model.config.vocab_size - 1)
    change = model(torch.cat([pads, idx], dim=1))[:, 5:] - model(idx)
    return Promise("padding on the left changes nothing", float(change.abs().max()), SAME)


def batch(model: Reader, healthy: Reader) -> Promise:
    """How much the logits of a text change when three others are read beside it."""
    idx = texts(model, 4, 12)
    change = (model(idx)[2:3] - model(idx[2:3])).abs().max()
    return Promise("the other rows of a batch change nothing", float(change), SAME)


def spread(model: Reader, healthy: Reader) -> Promise:
    """How far the deviation of scores is from the healthy model's, as a share of it."""
    places = torch.arange(model.config.block_size)
    ours, theirs = (
        torch.stack([pair_scores(m, a, places) for a in places[::5].tolist()]).std() for m in (model, healthy)
    )
    value = float((ours / theirs - 1).abs())
    return Promise("scores are of the usual size, give or take a third", value, 1 / 3)


def trains_alike(model: Reader, healthy: Reader) -> bool:
    """Whether on full windows without padding, all that training knows, two models say the same."""
    idx = texts(model, 4, model.config.block_size)
    return torch.equal(model(idx), healthy(idx))


PROMISES: Mapping[str, Callable[[Reader, Reader], Promise]] = {
    "shift": shift,
    "far": far,
    "growth": growth,
    "near": near,
    "beyond": beyond,
    "sides": sides,
    "formula": formula,
    "causal": causal,
    "cache": cache,
    "padding": padding,
    "batch": batch,
    "spread": spread,
}
