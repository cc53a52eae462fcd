"""Snapshots of a long run in little memory: when there are too many, every second one is dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babygpt.training.records import Step

BUDGET = 64 * 2**20  # bytes of all snapshots of a run together


class Thinning:
    """Drops snapshots from a run's records, so that those left span the run evenly and fit a budget.

    The first and the last always stay. A record that loses its snapshot keeps all else.

    records  of the run, by their place
    budget   bytes; two snapshots stay even where they take more
    """

    def __init__(self, records: list[Step] | dict[int, Step], budget: int = BUDGET) -> None:
        self.records, self.budget = records, budget
        self.size, self.count, self.stride = 0, 0, 1
        self.kept: dict[int, int] = {}  # number of a snapshot, counted from 0 -> place of its record

    def note(self, place: int) -> None:
        """Take notice of the record at a place, the latest that there is, if it holds a snapshot."""
        if not (size := self._size(place)) or self.kept.get(self.count - 1) == place:
            return
        self._drop([n for n in self.kept if n == self.count - 1 and n % self.stride])
        self.kept[self.count] = place
        self.size, self.count = self.size + size, self.count + 1
        while self.size > self.budget and len(self.kept) > 2:
            self.stride *= 2
            self._drop([n for n in self.kept if n % self.stride and n < self.count - 1])

    def _size(self, place: int) -> int:
        return sum(part.nbytes for part in self.records[place].snapshot.values())

    def _drop(self, numbers: list[int]) -> None:
        for n in numbers:
            place = self.kept.pop(n)
            self.size -= self._size(place)
            self.records[place] = replace(self.records[place], snapshot={})
