"""The records of a run in little memory: an hour of training makes a hundred thousand of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload

from babygpt.training import Step
from babygpt.training.records import BUDGET, Thinning


class History(Sequence[Step]):
    """A list of records that stores each as five numbers, and makes it a `Step` when it is asked for.

    Those few that hold more, such as a validation loss, are stored whole. One thread appends, any may look:
    a record is there when all of it is.

    budget  bytes of all snapshots together; where they take more, some records lose theirs
    """

    def __init__(self, budget: int = BUDGET) -> None:
        self._losses, self._rates, self._seconds = array("d"), array("d"), array("d")
        self._steps, self._tokens = array("q"), array("q")
        self._whole: dict[int, Step] = {}
        self._thinning = Thinning(self._whole, budget)

    def append(self, step: Step) -> None:
        """Add a record."""
        if step.val_loss is not None or step.snapshot or step.changed:
            self._keep(len(self), step)
        self._losses.append(step.loss)
        self._rates.append(step.lr)
        self._seconds.append(step.seconds)
        self._tokens.append(step.tokens)
        self._steps.append(step.step)  # last, for it is what is counted

    def replace_last(self, step: Step) -> None:
        """Replace the last record by one that holds more."""
        self._keep(len(self) - 1, step)

    def _keep(self, place: int, step: Step) -> None:
        self._whole[place] = step
        self._thinning.note(place)

    def losses(self, upto: int) -> list[float]:
        """Return the loss of each of the first `upto` steps, or of all there are."""
        return self._losses[: min(upto, len(self))].tolist()

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, i: int) -> Step: ...

    @overload
    def __getitem__(self, i: slice) -> list[Step]: ...

    def __getitem__(self, i: int | slice) -> Step | list[Step]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not len(self):
            raise IndexError("no step was made: the run was stopped before its first")
        at = range(len(self))[i]
        return self._whole.get(at) or Step(
            self._steps[at], self._losses[at], self._rates[at], self._seconds[at], self._tokens[at]
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<records of {len(self)} steps>"
