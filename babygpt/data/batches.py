"""Windows cut out of one long row of token ids."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


def require_window(ids: Tensor, block_size: int) -> None:
    """Raise a ValueError if the text is too short for one window and its targets."""
    if len(ids) <= block_size:
        raise ValueError(
            f"the text has {len(ids)} tokens; block_size {block_size} needs at least {block_size + 1}"
        )


def cut(ids: Tensor, starts: Tensor, length: int) -> Tensor:
    """Windows of `length` tokens at the given starts.

    ids       (N,)  token ids
    starts    (B,)  first token of each window
    returns   (B, length)
    """
    return ids[starts[:, None] + torch.arange(length)]


def line_starts(ids: Tensor, newline: int, length: int) -> Tensor:
    """Where a line begins and `length` tokens follow: (S,)."""
    after = (ids == newline).nonzero()[:, 0] + 1
    starts = torch.cat([torch.zeros(1, dtype=torch.long), after])
    return starts[starts + length <= len(ids)]


def whole_split(ids: Tensor, block_size: int, batch_size: int = 64) -> Iterator[tuple[Tensor, Tensor]]:
    """Every token of a text once as a target, in windows side by side; the last one may be shorter.

    ids         (N,)  token ids
    block_size  tokens in a window
    yields      (B, T) inputs and (B, T) targets, each target the token after its input
    Raises ValueError if the text has fewer than 2 tokens.
    """
    if len(ids) < 2:
        raise ValueError(f"the text has {len(ids)} tokens; a target needs at least 2")
    x, y = ids[:-1], ids[1:]
    whole = len(x) // block_size * block_size
    if whole:
        rows = zip(
            x[:whole].view(-1, block_size).split(batch_size),
            y[:whole].view(-1, block_size).split(batch_size),
            strict=True,
        )
        yield from rows
    if whole < len(x):
        yield x[None, whole:], y[None, whole:]
