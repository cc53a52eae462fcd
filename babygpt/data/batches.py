"""Windows cut from one long row of token ids, and several texts interleaved in one sequence."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from babygpt.config import require_countable
from babygpt.errors import BadInput
from babygpt.positions import Positions

IGNORED = -100  # marks a token without a target; cross_entropy skips it


def evenly_spaced(ids: Tensor, length: int, n: int) -> Tensor:
    """Return the starts of n windows of `length` tokens and their targets, the first and the last included.

    ids      (N,)  text
    returns  (n,)  whole numbers, in tokens, computed as such: a float32 counts to 2^24 only
    Raises BadInput if the text is too short, and for no windows or empty ones.
    """
    require_countable("length", length)
    require_countable("n", n)
    if len(ids) <= length:
        raise BadInput(f"the text has {len(ids)} tokens; a window of {length} needs at least {length + 1}")
    return torch.arange(n) * (len(ids) - length - 1) // max(1, n - 1)


def cut(ids: Tensor, starts: Tensor, length: int) -> Tensor:
    """Return windows of `length` tokens at the given starts.

    ids       (N,)  token ids
    starts    (B,)  first token of each window
    returns   (B, length)
    """
    return ids[starts[:, None] + torch.arange(length)]


def line_starts(ids: Tensor, newline: int, length: int) -> Tensor:
    """Return the starts of the lines that are followed by at least `length` tokens: (S,)."""
    after = (ids == newline).nonzero()[:, 0] + 1
    starts = torch.cat([torch.zeros(1, dtype=torch.long), after])
    return starts[starts + length <= len(ids)]


def consecutive_windows(
    ids: Tensor, block_size: int, batch_size: int = 64
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield windows side by side, the last one perhaps shorter. Every token but the first is a target once.

    ids         (N,)  token ids
    block_size  tokens in a window
    yields      (B, T) inputs and (B, T) targets, each target the token after its input
    """
    x, y = ids[:-1], ids[1:]
    n_whole = len(x) // block_size * block_size  # tokens that fill whole windows
    if n_whole:
        inputs, targets = (part[:n_whole].view(-1, block_size).split(batch_size) for part in (x, y))
        yield from zip(inputs, targets, strict=True)
    if n_whole < len(x):
        yield x[None, n_whole:], y[None, n_whole:]


class BranchBatch(NamedTuple):
    """Samples that each hold several texts in one sequence: all tokens of one time, then those of the next.

    tokens   (B, T)  token ids
    targets  (B, T)  the next token of the same branch; IGNORED where there is none
    time     (B, T)  position of each token in its text, in tokens
    branch   (B, T)  which text it belongs to, counted from 0
    """

    tokens: Tensor
    targets: Tensor
    time: Tensor
    branch: Tensor

    @property
    def positions(self) -> Positions:
        """The positions of the tokens, for a model."""
        return Positions(self.time, self.branch)


def interleave(
    texts: Sequence[Tensor], offsets: Sequence[int], branches: Sequence[int] | None = None
) -> BranchBatch:
    """Put several texts into one sequence, sorted by time and then by branch.

    texts     n of (T_b + 1,)  token ids; each token's target is the one after it in its own text
    offsets   n                the time of each text's first token
    branches  n                the branch of each text; 0 to n - 1 by default
    returns   a batch of one row, (1, T_1 + ... + T_n)
    Raises BadInput if two texts have one branch, and if texts, offsets and branches differ in number.
    Source: note 002 (branches and times of a sample).
    """
    numbers = list(range(len(texts)) if branches is None else branches)
    if not len(texts) == len(offsets) == len(numbers):
        raise BadInput(
            f"{len(texts)} texts need as many offsets ({len(offsets)}) and branches ({len(numbers)})"
        )
    if len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise BadInput(f"branches {numbers} must be different whole numbers of at least 0")
    tokens, targets = torch.cat([t[:-1] for t in texts]), torch.cat([t[1:] for t in texts])
    time = torch.cat([torch.arange(len(t) - 1) + start for t, start in zip(texts, offsets, strict=True)])
    branch = torch.cat([torch.full((len(t) - 1,), b) for t, b in zip(texts, numbers, strict=True)])
    order = torch.argsort(time * (int(branch.max()) + 1) + branch)  # one key sorts by time, then by branch
    return BranchBatch(*(part[order][None] for part in (tokens, targets, time, branch)))


def collate(samples: Sequence[BranchBatch]) -> BranchBatch:
    """Put samples into one batch and pad the shorter ones.

    Padding has no target, and its time is after all others, so no token ever looks at it.

    samples  B of (1, T_i)
    returns  (B, T) parts, T the longest
    """
    last = max(int(sample.time.max()) for sample in samples)
    paddings = (0, IGNORED, last + 1, 0)  # one for tokens, targets, time and branch each
    padded = [
        pad_sequence([row[0] for row in rows], batch_first=True, padding_value=padding)
        for rows, padding in zip(zip(*samples, strict=True), paddings, strict=True)
    ]
    return BranchBatch(*padded)


def branch_batches(
    texts: Tensor, n: int, block_size: int, generator: torch.Generator, batch_size: int = 16
) -> Iterator[BranchBatch]:
    """Yield every text once, n of them in each sample, at random times of one window.

    texts       (N, T + 1)  token ids; if n does not divide N, the remainder is dropped
    n           branches of a sample
    block_size  times in the window; a text begins at any time at which it still ends inside
    generator   draws which texts share a sample, and the offsets
    batch_size  samples of a batch
    yields      batches of (batch_size or fewer, n T)
    Raises BadInput if n is below 1, N below n, or T above block_size.
    """
    require_branches(n, n, texts.shape[1] - 1, block_size)
    if len(texts) < n:
        raise BadInput(f"{len(texts)} texts do not make one sample of {n} branches")
    groups = torch.randperm(len(texts), generator=generator)[: len(texts) // n * n].view(-1, n)
    free = block_size - (texts.shape[1] - 1)
    for samples in groups.split(batch_size):
        offsets = torch.randint(free + 1, samples.shape, generator=generator)
        rows = zip(samples, offsets.tolist(), strict=True)
        yield collate([interleave(list(texts[group]), starts) for group, starts in rows])


def require_branches(low: int, high: int, length: int, block_size: int) -> None:
    """Raise BadInput unless between `low` and `high` texts of `length` tokens fit into a window."""
    if not 1 <= low <= high:
        raise BadInput(f"at least {low} and at most {high} branches: a sample needs at least 1")
    if not 1 <= length <= block_size:
        raise BadInput(f"a branch of {length} tokens does not fit: the window has {block_size} times")
