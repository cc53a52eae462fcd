"""Promises of models: what they see, and that a cache changes nothing. Promises of samplers that fill in."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from babygpt.errors import BadInput
from babygpt.invariants.base import Promise, text_logits, unmasked_positions
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import mask_token_id
from babygpt.positions import Positions, causal_mask
from babygpt.sampling import Filled, fill_in

# A sampler takes a model and (B, T) token ids with holes, and fills the holes.
Sampler = Callable[[LanguageModel, Tensor], Filled]


@torch.inference_mode()
def order_blind(model: LanguageModel, idx: Tensor, seed: int = 0) -> Promise:
    """Measure how shuffling the tokens of idx (T,) before the last one changes the last one's prediction."""
    draw = torch.Generator().manual_seed(seed)
    last = idx[-1:]
    here = text_logits(model, idx)[-1]
    worst = 0.0
    for _ in range(4):
        shuffled = torch.cat([idx[:-1][torch.randperm(len(idx) - 1, generator=draw)], last])
        worst = max(worst, float((text_logits(model, shuffled)[-1] - here).abs().max()))
    return Promise("blind to the order of what came before", worst, 1e-4)


@torch.inference_mode()
def blind_to_the_past(model: LanguageModel, idx: Tensor) -> Promise:
    """Measure how replacing every token of idx (T,) before the last one changes the last one's prediction."""
    changed = torch.cat([(idx[:-1] + 1) % model.config.vocab_size, idx[-1:]])
    change = (text_logits(model, idx)[-1] - text_logits(model, changed)[-1]).abs().max()
    return Promise("sees one token at a time", float(change), 1e-4)


@torch.inference_mode()
def causal(model: LanguageModel, idx: Tensor, positions: Positions | None = None) -> Promise:
    """Measure how a change of the last token changes the predictions before it.

    idx        (T,)  token ids
    positions  (T,)  where they stand; by default 0, 1, 2, ...
    """
    positions = positions or unmasked_positions(len(idx), device=idx.device)
    changed = torch.cat([idx[:-1], (idx[-1:] + 1) % model.config.vocab_size])
    change = (model(idx[None], positions) - model(changed[None], positions))[0, :-1].abs().max()
    return Promise("no token sees the future", float(change), 1e-5)


@torch.inference_mode()
def cache_equals_full(model: LanguageModel, idx: Tensor, positions: Positions | None = None) -> Promise:
    """Compare the logits of reading token by token with a cache and all at once; arguments as in `causal`."""
    positions = positions or unmasked_positions(len(idx), device=idx.device)
    change = _change_by_cache(model, idx, positions, torch.arange(len(idx)).split(1))
    return Promise("reading with a cache changes nothing", change, 1e-4)


@torch.inference_mode()
def pieces_equal_full(
    model: LanguageModel, idx: Tensor, lengths: Sequence[int], positions: Positions | None = None
) -> Promise:
    """Compare the logits of reading in pieces with a cache and all at once.

    lengths  tokens of each piece, T together; the other arguments are those of `causal`
    """
    positions = positions or unmasked_positions(len(idx), device=idx.device)
    change = _change_by_cache(model, idx, positions, torch.arange(len(idx)).split(list(lengths)))
    return Promise("reading in pieces with a cache changes nothing", change, 1e-4)


def _change_by_cache(
    model: LanguageModel, idx: Tensor, positions: Positions, pieces: Sequence[Tensor]
) -> float:
    """Return the largest change of a logit when a text is read in pieces (indices or masks) with a cache."""
    cache = KVCache(len(idx))
    logits = [model(idx[piece][None], positions.select(piece), cache)[0] for piece in pieces]
    return float((torch.cat(logits) - model(idx[None], positions)[0]).abs().max())


@torch.inference_mode()
def distance_alone(
    model: LanguageModel, idx: Tensor, shift: int, positions: Positions | None = None
) -> Promise:
    """Measure how moving all tokens by `shift` positions changes the predictions; arguments as in `causal`.

    Nothing changes where scores depend on the distance alone, and nothing else depends on the position.
    """
    here = positions or unmasked_positions(len(idx), device=idx.device)
    start = None if here.start is None else here.start + shift
    there = Positions(here.time + shift, here.branch, here.masked, start)
    change = (model(idx[None], there) - model(idx[None], here)).abs().max()
    # A float32 angle of 100 radians is off by 1e-5, which attention may multiply by 30.
    return Promise("scores depend on the distance alone", float(change), 1e-3)


@torch.inference_mode()
def batch_equals_alone(model: LanguageModel, idx: Tensor, positions: Positions) -> Promise:
    """Compare the logits of each text of a batch with those of the text alone.

    idx        (B, T)  token ids
    positions  (T,) for all texts or (B, T), where each text is in a row
    """
    together, changes = model(idx, positions), []
    for row in range(len(idx)):
        time, branch, masked = (
            part[row] if part is not None and part.dim() == 2 else part
            for part in (positions.time, positions.branch, positions.masked)
        )
        assert time is not None
        alone = model(idx[row : row + 1], Positions(time, branch, masked, start=int(time[0])))
        changes.append((together[row] - alone[0]).abs().max())
    return Promise("other texts of a batch change nothing", float(torch.stack(changes).max()), 1e-4)


@torch.inference_mode()
def extrapolates_or_refuses(
    model: LanguageModel, idx: Tensor, branch: Tensor | None = None, start: int | None = None
) -> Promise:
    """Measure whether a model still knows positions past its window, or refuses them with an error.

    The value is the share of its logits there that are not finite. It is 1 for a model that notices tokens
    twice as far apart inside its window and not past it, such as one that clamps positions to the last one.

    idx        (T,)  token ids; read at positions that begin at `start`
    branch     (T,)  which text each belongs to, for models of several texts; None for one text
    start      a position past the window, by default the first one
    """
    size, statement = model.config.block_size, "past its window it goes on or refuses"
    start_past = size if start is None else start
    try:
        beyond = _logits_with_gaps(model, idx, branch, start_past, 1)
        outside = float((_logits_with_gaps(model, idx, branch, start_past, 2) - beyond).abs().max())
    except (ValueError, IndexError):  # a learner's own encoding need not know BadInput
        return Promise(statement, 0.0, 0.0)
    n = min(len(idx), (size + 1) // 2)  # twice as far apart they still fit
    first, own = idx[:n], None if branch is None else branch[:n]
    inside = float(
        (_logits_with_gaps(model, first, own, 0, 2) - _logits_with_gaps(model, first, own, 0, 1)).abs().max()
    )
    broken = float((~torch.isfinite(beyond)).float().mean())
    silent = inside > 1e-4 and outside < 1e-6 * inside
    return Promise(statement, max(broken, float(silent)), 0.0)


def _logits_with_gaps(
    model: LanguageModel, idx: Tensor, branch: Tensor | None, start: int, step: int
) -> Tensor:
    """Return the logits of tokens at positions from `start` on, `step` apart: (T, vocab_size)."""
    masked = torch.zeros(len(idx), dtype=torch.bool, device=idx.device)
    time = start + step * torch.arange(len(idx), device=idx.device)
    with sdpa_kernel(SDPBackend.MATH):  # the fused operator of processors makes 0 of nan
        return model(idx[None], Positions(time, branch, masked))[0]


def _required_branches(positions: Positions) -> Tensor:
    if positions.branch is None:
        raise BadInput("positions.branch is None: this promise is about several texts in one sequence")
    return positions.branch


@torch.inference_mode()
def nothing_leaks(model: LanguageModel, idx: Tensor, positions: Positions) -> Promise:
    """Measure how changing every token of all other branches changes the predictions of a branch.

    idx        (T,)  token ids, of several branches
    positions  (T,)  their times and branches
    Raises BadInput if positions has no branches.
    """
    branch, here, worst = _required_branches(positions), model(idx[None], positions)[0], 0.0
    for own in (branch == b for b in branch.unique()):
        changed = torch.where(own, idx, (idx + 1) % model.config.vocab_size)
        worst = max(worst, float((model(changed[None], positions)[0] - here)[own].abs().max()))
    return Promise("what other branches say changes nothing", worst, 0.0)


@torch.inference_mode()
def sees_the_past_alone(model: LanguageModel, idx: Tensor, positions: Positions) -> Promise:
    """Measure how a token changes earlier predictions, and those of its own time in other branches.

    The arguments are those of `nothing_leaks`, but positions of one text need no branches.
    """
    here, worst = model(idx[None], positions)[0], 0.0
    visible = causal_mask(positions, positions)[0]  # (Tq, Tk)
    for t in range(len(idx)):
        changed = idx.clone()
        changed[t] = (idx[t] + 1) % model.config.vocab_size
        change = (model(changed[None], positions)[0] - here).abs().amax(dim=-1)  # (T,)
        worst = max(worst, float(change.masked_fill(visible[:, t], 0.0).max()))
    return Promise("sees itself and strictly earlier times, no more", worst, 1e-5)


@torch.inference_mode()
def branches_permute(model: LanguageModel, idx: Tensor, positions: Positions, seed: int = 0) -> Promise:
    """Measure how predictions change when branches come in another order in every column, codes and all.

    seed  draws the orders; the other arguments are those of `nothing_leaks`
    """
    branch, here, worst = _required_branches(positions), model(idx[None], positions)[0], 0.0
    draw, n = torch.Generator().manual_seed(seed), int(branch.max()) + 1
    for _ in range(4):
        rank = torch.randperm(n, generator=draw)[branch.cpu()].to(branch.device)
        order = (positions.time * n + rank).argsort()  # times stay in order, branches of one time do not
        moved = model(idx[order][None], positions.select(order))[0]
        worst = max(worst, float((moved - here[order]).abs().max()))
    return Promise("the order of branches does not matter, only their codes", worst, 1e-4)


@torch.inference_mode()
def parallel_cache_equals_full(model: LanguageModel, idx: Tensor, positions: Positions) -> Promise:
    """Compare the logits of reading time by time with a cache, all branches at once, and without one.

    The arguments are those of `nothing_leaks`, in order of time.
    """
    _required_branches(positions)
    columns = [positions.time == t for t in positions.time.unique()]
    change = _change_by_cache(model, idx, positions, columns)
    return Promise("reading all branches with a cache changes nothing", change, 1e-4)


@torch.inference_mode()
def one_branch_is_one_text(model: LanguageModel, plain: LanguageModel, idx: Tensor) -> Promise:
    """Compare a model of branches that reads one text, idx (T,), with the plain model of the same weights.

    The value is the largest change of a logit, as a share of the largest logit where that is above 1.

    plain  such as v4
    """
    time = Positions.arange(len(idx), device=idx.device).time
    alone, text = model(idx[None], Positions(time, torch.zeros_like(time)))[0], plain(idx[None])[0]
    change = (alone - text).abs().max() / text.abs().max().clamp(min=1.0)
    return Promise("one branch is one text", float(change), 1e-6)


@torch.inference_mode()
def change_by_exchange(model: LanguageModel, idx: Tensor, a: int, b: int) -> float:
    """Return the largest change of a logit when two texts exchange their branches, a and b, with their codes.

    idx  (2, T)  token ids of the texts, whose tokens have the times 0 to T - 1
    """
    T, tokens = idx.shape[1], idx.T.reshape(1, -1)  # both tokens of a time side by side
    time, masked = torch.arange(T).repeat_interleave(2), torch.zeros(2 * T, dtype=torch.bool)
    plain, exchanged = (
        model(tokens, Positions(time, torch.tensor(branches).repeat(T), masked).to(idx.device))
        for branches in ((a, b), (b, a))
    )
    return float((plain - exchanged).abs().max())


# ---------------------------------------------------------------- samplers that fill in


def fills_every_mask(model: LanguageModel, idx: Tensor, fill: Sampler = fill_in) -> Promise:
    """Count the MASK tokens that a sampler leaves.

    idx   (B, T)  token ids, MASK where a token is to be found
    fill  such as `fill_in`, or `partial(fill_in, order=ancestral(8))`
    """
    n_masks = (fill(model, idx).tokens == mask_token_id(model)).sum()
    return Promise("no MASK is left", float(n_masks), 0.0)


def keeps_the_prompt(model: LanguageModel, idx: Tensor, fill: Sampler = fill_in) -> Promise:
    """Count the given tokens that a sampler changes; arguments as in `fills_every_mask`."""
    changed = (fill(model, idx).tokens.to(idx.device) != idx) & (idx != mask_token_id(model))
    return Promise("what was there stays as it was", float(changed.sum()), 0.0)


def at_least_one_a_step(model: LanguageModel, idx: Tensor, fill: Sampler = fill_in) -> Promise:
    """Count the steps at which nothing appears, and the holes filled at no step, as in `fills_every_mask`."""
    holes, filled = idx == mask_token_id(model), fill(model, idx)
    wrong = 0
    for when, hole, steps in zip(filled.when.to(idx.device), holes, filled.steps, strict=True):
        busy_steps = set(when[hole].tolist())  # steps at which a token appeared
        wrong += len(busy_steps ^ set(range(1, int(steps) + 1)))
    return Promise("every step something appears", float(wrong), 0.0)
