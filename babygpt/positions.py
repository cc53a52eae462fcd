"""Positions of tokens, which are all that an encoding knows besides the vectors, and the causal mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from babygpt.errors import BadInput


@dataclass(frozen=True)
class Positions:
    """The position of each token of one sequence or of a batch, its branch, and whether it is masked.

    time      (T,) or (B, T)  position in the text, in tokens, counted from 0
    branch    (T,) or (B, T)  number of the parallel text it belongs to, counted from 0, or None
    masked    (B, T)          whether it is the MASK token, or None
    start     the first position, if time is known to be start, start + 1, ...; else None. With it, a mask is
              chosen without reading the tensor, which on a GPU would mean waiting for it
    window    of which these are a part, from `start` on, or None
    """

    time: Tensor
    branch: Tensor | None = None
    masked: Tensor | None = None
    start: int | None = None
    window: Window | None = field(default=None, repr=False, compare=False)

    @classmethod
    def arange(
        cls, n: int, start: int = 0, device: torch.device | str | None = None, masked: Tensor | None = None
    ) -> Positions:
        """Return the positions of n tokens in a row, the first at position `start`."""
        return cls(torch.arange(start, start + n, device=device), masked=masked, start=start)

    @property
    def in_a_row(self) -> bool:
        """Whether `start` and their number say all about their time, and they are of one text."""
        return self.start is not None and self.branch is None and self.time.dim() == 1

    @property
    def last(self) -> Positions:
        """The last token's position, without its branch and mask."""
        return Positions(
            self.time[..., -1:], start=None if self.start is None else self.start + len(self) - 1
        )

    def table(self, owner: object, make: Callable[[Tensor], Tensor]) -> Tensor:
        """Return what an encoding makes of these positions alone: (T, ...), or what `make` gives for (B, T).

        In a window it is made once, for all positions there and all layers, and these are rows of it.

        owner  tells apart what different encodings make
        make   maps (T,) or (B, T) positions to it
        """
        if self.window is None or self.start is None:
            return make(self.time)
        return self.window.table(owner, make).narrow(0, self.start, len(self))

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.time.device

    def concat(self, more: Positions) -> Positions:
        """Return these positions followed by others. Branch and masked are kept if both have them."""

        def join(ours: Tensor | None, theirs: Tensor | None) -> Tensor | None:
            return None if ours is None or theirs is None else torch.cat([ours, theirs], dim=-1)

        goes_on = self.start is not None and more.start == self.start + len(self)
        start = self.start if goes_on else None
        if start is not None and self.window is not None and self.window is more.window:
            return self.window.part(start, len(self) + len(more))
        time = torch.cat([self.time, more.time], dim=-1)
        return Positions(time, join(self.branch, more.branch), join(self.masked, more.masked), start)

    def select(self, tokens: Tensor) -> Positions:
        """Return the positions of some tokens of one sequence: of (n,) indices, or of a (T,) mask."""
        branch, masked = (None if part is None else part[tokens] for part in (self.branch, self.masked))
        return Positions(self.time[tokens], branch, masked)

    def to(self, device: torch.device | str) -> Positions:
        """Return these positions on a device."""
        branch = None if self.branch is None else self.branch.to(device)
        masked = None if self.masked is None else self.masked.to(device)
        return Positions(self.time.to(device), branch, masked, self.start)

    def require_fit(self, size: torch.Size) -> None:
        """Raise BadInput unless each part has a number for each of (B, T) tokens."""
        for name in ("time", "branch", "masked"):
            part = getattr(self, name)
            if part is not None and part.shape not in (size, size[1:]):
                raise BadInput(
                    f"positions.{name} of shape {tuple(part.shape)} are not those of the tokens: "
                    f"for {tuple(size)} of them it must be {tuple(size)} or {tuple(size[1:])}"
                )

    def __len__(self) -> int:
        return self.time.shape[-1]

    @property
    def is_increasing(self) -> bool:
        """Whether these are tokens of one text, each later than the one before it."""
        return self.branch is None and (self.start is not None or bool((self.time.diff(dim=-1) > 0).all()))

    def is_last_of(self, keys: Positions) -> bool:
        """Return whether this is known to be the last token of `keys`, a text without gaps."""
        if self.start is None or keys.start is None:
            return False
        return len(self) == 1 and self.start == keys.start + len(keys) - 1


class Window:
    """The positions that a text can have while it is written, and what encodings make of them.

    n  number of tokens that it holds
    """

    def __init__(self, n: int, device: torch.device | str | None = None) -> None:
        self.time = torch.arange(n, device=device)
        self.tables: dict[object, Tensor] = {}

    def part(self, start: int, n: int) -> Positions:
        """Return the positions of n tokens in a row, the first at position `start`."""
        return Positions(self.time.narrow(0, start, n), start=start, window=self)

    def table(self, owner: object, make: Callable[[Tensor], Tensor]) -> Tensor:
        """Return what `make` makes of all positions, made at the first call: (n, ...)."""
        if owner not in self.tables:
            self.tables[owner] = make(self.time)
        return self.tables[owner]


def causal_mask(queries: Positions, keys: Positions, isolated: bool = False) -> Tensor:
    """Return which tokens may look at which: at themselves, and at strictly earlier times of every branch.

    queries   Tq tokens that look
    keys      Tk tokens to be looked at
    isolated  whether a token may look at its own branch only
    returns   (1, Tq, Tk), with B before it where positions have a B; True where the query may look
    Raises BadInput for isolated branches where no branches are given.
    Source: note 002 (parallel branches in one sequence).
    """

    def pairs(of_query: Tensor, of_key: Tensor) -> tuple[Tensor, Tensor]:
        return of_query[..., None, :, None], of_key[..., None, None, :]

    query_time, key_time = pairs(queries.time, keys.time)
    if queries.branch is None or keys.branch is None:
        if isolated:
            raise BadInput("isolated branches need positions.branch: which text each token belongs to")
        return key_time <= query_time  # in one text only the token itself has its time
    query_branch, key_branch = pairs(queries.branch, keys.branch)
    own = query_branch == key_branch
    if isolated:
        return own & (key_time <= query_time)
    return (key_time < query_time) | (own & (key_time == query_time))
