"""What each encoding promises, as functions that measure it.

A promise is kept or broken by a number. The same functions serve the tests, the panels in the
notebooks and the checks of exercises. Some models break a promise on purpose: that is a finding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from babygpt.encodings import Encoding, Fourier, Sinusoidal
from babygpt.encodings.rotary import turn
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.models.base import LanguageModel
from babygpt.models.cache import KVCache
from babygpt.places import Places, sees


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


def _row(model: LanguageModel, idx: Tensor, places: Places) -> Tensor:
    """Logits of one sequence: (T,) token ids -> (T, vocab_size)."""
    return model(idx[None], places)[0]


def _some(places: Places, at: Tensor) -> Places:
    """The places of some tokens of one sequence: those at these indices, or where a mask is true."""
    return Places(places.time[at], None if places.branch is None else places.branch[at])


def _known_branches(places: Places) -> Tensor:
    if places.branch is None:
        raise ValueError("places.branch is None: this promise is about several texts in one sequence")
    return places.branch


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
def causal(model: LanguageModel, idx: Tensor, places: Places | None = None) -> Verdict:
    """Changing the last token changes no prediction before it.

    idx     (T,)  token ids
    places  where they stand; by default 0, 1, 2, ...
    """
    other = torch.cat([idx[:-1], (idx[-1:] + 1) % model.config.vocab_size])
    change = (model(idx[None], places) - model(other[None], places))[0, :-1].abs().max()
    return Verdict("no token sees the future", float(change), 1e-5)


@torch.inference_mode()
def cache_equals_full(model: LanguageModel, idx: Tensor, places: Places | None = None) -> Verdict:
    """Reading token by token with a cache gives the logits of reading all at once.

    idx     (T,)  token ids, at most block_size
    places  (T,)  where they stand; by default 0, 1, 2, ...
    """
    places, cache = places or Places.count(len(idx), device=idx.device), KVCache(len(idx))
    steps = [model(idx[at][None], _some(places, at), cache) for at in torch.arange(len(idx)).split(1)]
    change = (torch.cat(steps, dim=1) - model(idx[None], places)).abs().max()
    return Verdict("reading with a cache changes nothing", float(change), 1e-4)


@torch.inference_mode()
def extrapolates_or_refuses(model: LanguageModel, idx: Tensor, branch: Tensor | None = None) -> Verdict:
    """Past its window a model gives finite logits, or refuses with an error; it never guesses silently.

    idx     (T,)  token ids; read at positions that begin where the window ends
    branch  (T,)  which text each belongs to, for models that have to be told; None for one text
    """
    beyond = Places(Places.count(len(idx), start=model.config.block_size).time, branch)
    try:
        broken = (~torch.isfinite(model(idx[None], beyond))).float().mean()
    except ValueError:
        broken = torch.zeros(())
    return Verdict("past its window it goes on or says no", float(broken), 0.0)


@torch.inference_mode()
def nothing_leaks(model: LanguageModel, idx: Tensor, places: Places) -> Verdict:
    """Changing every token of all other branches changes no prediction of a branch, not even by rounding.

    idx     (T,)  token ids, of several branches
    places  (T,)  their times and branches
    Raises ValueError if places know no branches.
    """
    branch, here, worst = _known_branches(places), _row(model, idx, places), 0.0
    for own in (branch == b for b in branch.unique()):
        other = torch.where(own, idx, (idx + 1) % model.config.vocab_size)
        worst = max(worst, float((_row(model, other, places) - here)[own].abs().max()))
    return Verdict("what other branches say changes nothing", worst, 0.0)


@torch.inference_mode()
def sees_the_past_alone(model: LanguageModel, idx: Tensor, places: Places) -> Verdict:
    """Changing a token changes no earlier prediction, and none of its own time in another branch.

    idx     (T,)  token ids
    places  (T,)  their times and, of several texts, their branches
    """
    here, visible, worst = _row(model, idx, places), sees(places, places)[0], 0.0  # (Tq, Tk)
    for t in range(len(idx)):
        other = idx.clone()
        other[t] = (idx[t] + 1) % model.config.vocab_size
        change = (_row(model, other, places) - here).abs().amax(dim=-1)  # (T,)
        worst = max(worst, float(change.masked_fill(visible[:, t], 0.0).max()))
    return Verdict("sees itself and strictly earlier times, no more", worst, 1e-5)


@torch.inference_mode()
def branches_permute(model: LanguageModel, idx: Tensor, places: Places, seed: int = 0) -> Verdict:
    """With branches in another order in every column, each with its code, predictions move along unchanged.

    idx     (T,)  token ids, of several branches
    places  (T,)  their times and branches
    seed    draws the orders
    Raises ValueError if places know no branches.
    """
    branch, here, worst = _known_branches(places), _row(model, idx, places), 0.0
    draw, n = torch.Generator().manual_seed(seed), int(branch.max()) + 1
    for _ in range(4):
        rank = torch.randperm(n, generator=draw)[branch.cpu()].to(branch.device)
        order = (places.time * n + rank).argsort()
        moved = _row(model, idx[order], _some(places, order))
        worst = max(worst, float((moved - here[order]).abs().max()))
    return Verdict("the order of branches does not matter, only their codes", worst, 1e-4)


@torch.inference_mode()
def parallel_cache_equals_full(model: LanguageModel, idx: Tensor, places: Places) -> Verdict:
    """Reading time by time with a cache, all branches at once, gives the logits of reading all at once.

    idx     (T,)  token ids, in order of time
    places  (T,)  their times and branches
    Raises ValueError if places know no branches.
    """
    _known_branches(places)
    columns, cache = [places.time == t for t in places.time.unique()], KVCache(len(idx))
    steps = [model(idx[at][None], _some(places, at), cache)[0] for at in columns]
    change = (torch.cat(steps) - _row(model, idx, places)).abs().max()
    return Verdict("reading all branches with a cache changes nothing", float(change), 1e-4)


@torch.inference_mode()
def one_branch_is_one_text(model: LanguageModel, plain: LanguageModel, idx: Tensor) -> Verdict:
    """A model of parallel branches reads a text alone as the plain model with the same weights does.

    Measured as the largest change of a logit, as a share of the largest logit where that is above 1.

    plain  such as v4
    idx    (T,)  token ids
    """
    time = Places.count(len(idx), device=idx.device).time
    alone, text = _row(model, idx, Places(time, torch.zeros_like(time))), plain(idx[None])[0]
    change = (alone - text).abs().max() / text.abs().max().clamp(min=1.0)
    return Verdict("one branch is one text", float(change), 1e-6)


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


@torch.inference_mode()
def branch_code_equals_closed_form(encoding: Fourier, n: int = 8) -> Verdict:
    """Branch b adds sin and cos of b stride theta^(-2i/C); with a band, i starts again after band channels.

    n  branches that are looked at
    """
    codes, band = encoding.code(torch.arange(n)), encoding.band or encoding.n_embd
    worst = 0.0
    for b in range(n):
        for channel in range(encoding.n_embd):
            i, odd = divmod(channel % band, 2)
            angle = b * encoding.stride / math.pow(encoding.theta, 2 * i / band)
            worst = max(worst, abs(float(codes[b, channel]) - (math.cos if odd else math.sin)(angle)))
    return Verdict("the branch code equals its closed form", worst, 1e-6)


def shift_is_rotation(width: int = 64, shift: int = 7, theta: float = 10_000.0) -> Verdict:
    """The sinusoid at m + shift is the sinusoid at m, each pair turned by -shift times its frequency.

    (Turned backwards, because a pair holds (sin, cos) and not (cos, sin).)
    """
    here, there = (sinusoid(torch.arange(100) + s, width, theta) for s in (0, shift))
    turned = turn(here, -shift * frequencies(width, theta))
    return Verdict("a shift is a rotation", float((turned - there).abs().max()), 1e-5)
