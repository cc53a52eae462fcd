"""What each encoding promises, as functions that measure it.

A promise is kept or broken by a number. The same functions serve the tests, the panels in the
notebooks and the checks of exercises. Some models break a promise on purpose: that is a finding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from babygpt.encodings import Encoding, Sinusoidal
from babygpt.encodings.rotary import turn
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.models.base import LanguageModel
from babygpt.models.cache import KVCache
from babygpt.places import Places


@dataclass(frozen=True)
class Verdict:
    """Whether a promise holds, and the number that says so.

    promise  in words
    value    what was measured
    limit    the promise holds if value is at most this
    """

    promise: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.promise}"


def _scores(encoding: Encoding, q: Tensor, k: Tensor, m: int, n: int) -> Tensor:
    """What attention would compare: scores of q placed at m with k placed at n, (B, H)."""
    queries, keys = Places.count(1, m), Places.count(1, n)
    q_m, _ = encoding.multiply(q, q, queries)
    _, k_n = encoding.multiply(k, k, keys)
    scores = (q_m * k_n).sum(dim=-1)[..., 0]  # (B, H)
    bias = encoding.bias(queries, keys)
    return scores if bias is None else scores + bias[..., 0, 0]


def _random_heads(n_head: int, head_dim: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(8, n_head, 1, head_dim, generator=draw, dtype=torch.float64) for _ in range(2))
    return q, k


@torch.inference_mode()
def norm_preserved(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Verdict:
    """Placing a query anywhere leaves its length as it was."""
    q, k = _random_heads(n_head, head_dim)
    changes = [
        (encoding.multiply(q, k, Places.count(1, m))[0].norm(dim=-1) / q.norm(dim=-1) - 1).abs().max()
        for m in range(0, furthest, 31)
    ]
    return Verdict("a query keeps its length wherever it stands", float(max(changes)), 1e-6)


@torch.inference_mode()
def shift_invariant(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Verdict:
    """The score of q at m and k at n depends on m - n only.

    Measured on what `apply` and `bias` do to fixed random q and k: the largest change of a score when
    both places move together.
    """
    q, k = _random_heads(n_head, head_dim)
    worst = 0.0
    for m, n in ((0, 0), (5, 2), (40, 0), (100, 37)):
        here = _scores(encoding, q, k, m, n)
        for shift in (1, 10, furthest - m):
            worst = max(worst, float((_scores(encoding, q, k, m + shift, n + shift) - here).abs().max()))
    return Verdict("a score depends on the distance alone", worst, 1e-6)


@torch.inference_mode()
def order_blind(model: LanguageModel, idx: Tensor, seed: int = 0) -> Verdict:
    """Shuffling the tokens before the last one leaves the last one's prediction as it was.

    idx  (T,)  token ids
    """
    draw = torch.Generator().manual_seed(seed)
    last = idx[-1:]
    here = model(idx[None])[0, -1]
    worst = 0.0
    for _ in range(4):
        shuffled = torch.cat([idx[:-1][torch.randperm(len(idx) - 1, generator=draw)], last])
        worst = max(worst, float((model(shuffled[None])[0, -1] - here).abs().max()))
    return Verdict("blind to the order of what came before", worst, 1e-4)


@torch.inference_mode()
def blind_to_the_past(model: LanguageModel, idx: Tensor) -> Verdict:
    """Replacing every token before the last one leaves its prediction as it was.

    idx  (T,)  token ids
    """
    other = torch.cat([(idx[:-1] + 1) % model.config.vocab_size, idx[-1:]])
    change = (model(idx[None])[0, -1] - model(other[None])[0, -1]).abs().max()
    return Verdict("sees one token at a time", float(change), 1e-4)


@torch.inference_mode()
def causal(model: LanguageModel, idx: Tensor) -> Verdict:
    """Changing the last token changes no prediction before it.

    idx  (T,)  token ids
    """
    other = torch.cat([idx[:-1], (idx[-1:] + 1) % model.config.vocab_size])
    change = (model(idx[None]) - model(other[None]))[0, :-1].abs().max()
    return Verdict("no token sees the future", float(change), 1e-5)


@torch.inference_mode()
def cache_equals_full(model: LanguageModel, idx: Tensor) -> Verdict:
    """Reading token by token with a cache gives the logits of reading all at once.

    idx  (T,)  token ids, at most block_size
    """
    cache = KVCache(len(idx))
    steps = [model(idx[None, t : t + 1], cache=cache) for t in range(len(idx))]
    change = (torch.cat(steps, dim=1) - model(idx[None])).abs().max()
    return Verdict("reading with a cache changes nothing", float(change), 1e-4)


@torch.inference_mode()
def extrapolates_or_refuses(model: LanguageModel, idx: Tensor) -> Verdict:
    """Past its window a model gives finite logits, or refuses with an error; it never guesses silently.

    idx  (T,)  token ids; read at positions that begin where the window ends
    """
    beyond = Places.count(len(idx), start=model.config.block_size)
    try:
        broken = (~torch.isfinite(model(idx[None], beyond))).float().mean()
    except ValueError:
        broken = torch.zeros(())
    return Verdict("past its window it goes on or says no", float(broken), 0.0)


def table_equals_closed_form(encoding: Sinusoidal) -> Verdict:
    """What the sinusoidal encoding adds is sin(m theta^(-2i/C)) and cos(m theta^(-2i/C))."""
    added = encoding.embed(torch.zeros(1, 64, encoding.n_embd), Places.count(64))[0]
    worst = 0.0
    for m in range(64):
        for i in range(encoding.n_embd // 2):
            angle = m / math.pow(encoding.theta, 2 * i / encoding.n_embd)
            worst = max(worst, abs(float(added[m, 2 * i]) - math.sin(angle)))
            worst = max(worst, abs(float(added[m, 2 * i + 1]) - math.cos(angle)))
    return Verdict("the table equals its closed form", worst, 1e-6)


def shift_is_rotation(width: int = 64, shift: int = 7, theta: float = 10_000.0) -> Verdict:
    """The sinusoid at m + shift is the sinusoid at m, each pair turned by -shift times its frequency.

    (Turned backwards, because a pair holds (sin, cos) and not (cos, sin).)
    """
    here, there = (sinusoid(torch.arange(100) + s, width, theta) for s in (0, shift))
    turned = turn(here, -shift * frequencies(width, theta))
    return Verdict("a shift is a rotation", float((turned - there).abs().max()), 1e-5)
