"""Training in the background: one run at a time, watched, paused, steered and waited for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from queue import SimpleQueue
from typing import Any, Protocol

import torch

from babygpt.config import TrainConfig
from babygpt.live.history import History
from babygpt.live.painter import as_failure
from babygpt.live.waiting import WaitInterrupted, cell_end_event, wait_and_serve
from babygpt.live.watches.watch import Watch
from babygpt.models.base import LanguageModel
from babygpt.objectives import Branches, Objective
from babygpt.quotas import available_cores
from babygpt.training import Step, Training

CELL_SECONDS = 3.0  # that a run waits at most for the other dashboards of its cell to appear


class State(StrEnum):
    """Where a run is in its life."""

    WAITING = "waiting"  # another run is on
    PREPARING = "getting ready"  # what is paid once: optimizers, the first picture
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether nothing will happen any more."""
        return self in (State.STOPPED, State.FINISHED, State.FAILED)


class Panel(Protocol):
    """What shows a run."""

    def prepare(self) -> None:
        """Do all that takes long the first time, and return when it is done."""

    def update(self, at_once: bool) -> None:
        """Show what is new in the run; unless `at_once` that may wait a little."""

    def finish(self, seconds: float) -> bool:
        """Show the last picture for good; False if that took longer than so many seconds."""


def background_threads() -> int:
    """Return how many threads a background run takes: half the cores, so that sliders have the rest.

    It is never more than PyTorch has now, which somebody may have chosen.

    With as many threads as cores, each step waits for whichever core is busy elsewhere; see
    `python -m benchmarks live`.
    """
    return min(torch.get_num_threads(), max(1, available_cores() // 2))


@contextmanager
def in_background() -> Iterator[None]:
    """A context in which torch takes `background_threads`, and afterwards as many as before."""
    threads = torch.get_num_threads()
    torch.set_num_threads(background_threads())
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def most_branches(objective: Objective) -> int:
    """Return how many texts a sequence of this objective may hold, or the highest number of one, plus 1."""
    return (objective.numbers or objective.n_branches[1]) if isinstance(objective, Branches) else 1


class Run:
    """A model that trains in the background.

    title       the model's name
    state       where the run is in its life
    history     a record for each step made so far
    frames      for each watch, the steps it was measured after and what it found
    validating  whether a validation loss is being measured after the last of these steps
    error       what went wrong, or None
    """

    def __init__(
        self,
        model: LanguageModel,
        objective: Objective,
        config: TrainConfig,
        title: str,
        watches: Sequence[Watch] = (),
    ) -> None:
        self.title, self.total = title, config.steps
        self.state = State.WAITING
        self.uniform_loss = math.log(model.config.vocab_size)  # nats; of a model that knows nothing
        self.history = History()
        self.frames: dict[Watch, list[tuple[int, Any]]] = {watch: [] for watch in watches}
        self.validating = False
        self.error: Exception | None = None
        self.panel: Panel | None = None
        self._cell_end = cell_end_event()
        self._work: Any = (model, objective, config)  # let go of at the end, optimizers and all
        self._steered: SimpleQueue[tuple[str, float]] = SimpleQueue()
        self._going, self._stopping, self._over = (threading.Event() for _ in range(3))
        self._going.set()

    def is_training(self, model: LanguageModel) -> bool:
        """Whether this is the model that the run trains, now or later."""
        work = self._work
        return work is not None and work[0] is model

    def measure_untrained(self) -> None:
        """Measure the untrained model, unless that is done. Raises what a watch raises."""
        for watch, frames in self.frames.items():
            if not frames:
                frames.append((0, watch.measure(self._work[0])))

    # ------------------------------------------------------------ from any thread

    def pause(self) -> None:
        """Stop before the next step, until `resume`. Only a run that trains can be paused."""
        if self.state is State.RUNNING and not self._stopping.is_set():
            self._going.clear()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._going.set()

    def stop(self) -> None:
        """End the run before its next step. The model stays as it is, and so do the records."""
        self._stopping.set()
        self._going.set()

    def steer(self, name: str, value: float) -> None:
        """Set one of the encoding's numbers before the next step; `history` records it as `changed`.

        A run that is over ignores it.
        Raises BadInput, and leaves the run alone, if there is no such number or it cannot be this one.
        """
        work = self._work
        if work is not None:
            work[0].encoding.require_steerable(name, value, most_branches(work[1]))
            self._steered.put((name, value))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run is over; False if that took longer than `timeout` seconds."""
        return self._over.wait(timeout)

    def wait_for_step(self, step: int) -> None:
        """Wait until so many steps are made, or the run is over. Raises KeyboardInterrupt if interrupted."""
        self._wait_and_serve(lambda seconds: self.wait(seconds) or len(self.history) >= step)

    def result(self) -> Sequence[Step]:
        """Wait for the end, show the last picture, and return the records.

        returns  a record for each step made: all of them, or fewer if somebody stopped the run
        Raises what went wrong in the trainer's thread, or in the painter's.
        """
        self._wait_and_serve(self.wait)
        if self.panel is not None:
            self._wait_and_serve(self.panel.finish)
        if self.error is not None:
            raise self.error
        return self.history

    def _wait_and_serve(self, over: Callable[[float], bool]) -> None:
        try:
            wait_and_serve(over)
        except KeyboardInterrupt:
            if self._over.is_set():
                raise
            raise WaitInterrupted(self.title) from None

    def __repr__(self) -> str:
        return f"<{self.title}: {self.state}, {len(self.history)} of {self.total} steps>"

    # ------------------------------------------------------------ in the trainer's thread

    def train_after(self, earlier: Sequence[Run]) -> None:
        """Wait for the earlier runs, train, and say how it ended."""
        try:
            for other in earlier:
                self._wait_for(other)
            with in_background():
                self._train()
        except BaseException as error:  # whatever it was, `result` raises it
            self.error = as_failure(error, f"{self.title} trained")
            self._set_state(State.FAILED)
        finally:
            self._work = None
            self._over.set()

    def _wait_for(self, other: Run) -> None:
        while not self._stopping.is_set() and not other.wait(0.05):
            pass

    def _train(self) -> None:
        model, objective, config = self._work
        if not self._stopping.is_set():
            training = self._prepare(model, objective, config)
            if not self._stopping.is_set():
                self._set_state(State.RUNNING)
            while training.step < self.total and self._goes_on():
                step = training.make_step(self._steering)
                self.history.append(step)
                self._measure(model, step)
                self.validating = training.is_validated(step)
                self._notify(at_once=self.validating or bool(step.changed))
                if self.validating:
                    self.history.replace_last(training.with_validation(step))
            self._validate_last(model, objective)
        self._set_state(State.FINISHED if len(self.history) == self.total else State.STOPPED)

    def _prepare(self, model: LanguageModel, objective: Objective, config: TrainConfig) -> Training:
        """Pay what is paid once before the first step: then every step takes as long as the next."""
        self._set_state(State.PREPARING)
        self.measure_untrained()
        training = Training(model, objective, config)
        self._cell_end.wait(CELL_SECONDS)
        if self.panel is not None and not self._stopping.is_set():
            self.panel.prepare()
        return training

    def _validate_last(self, model: LanguageModel, objective: Objective) -> None:
        """Give a run that was stopped early what every run ends with: a validation loss."""
        if self.history and self.history[-1].val_loss is None:
            self.history.replace_last(replace(self.history[-1], val_loss=objective.validate(model)))

    def _goes_on(self) -> bool:
        """Wait through a pause; whether training goes on after it."""
        if not self._going.is_set() and not self._stopping.is_set():
            self._set_state(State.PAUSED)
            self._going.wait()
            if not self._stopping.is_set():
                self._set_state(State.RUNNING)
        return not self._stopping.is_set()

    def _measure(self, model: LanguageModel, step: Step) -> None:
        """Measure what is due after this step, and everything if somebody has just steered."""
        for watch, frames in self.frames.items():
            if step.changed or step.step in watch.steps(self.total):
                frames.append((step.step, watch.measure(model)))

    def _steering(self, step: int) -> Mapping[str, float]:
        """Return what was steered since the last step: of several values for one number the last."""
        changes: dict[str, float] = {}
        while not self._steered.empty():  # this thread alone takes from it
            name, value = self._steered.get_nowait()
            changes[name] = value
        return changes

    def _set_state(self, state: State) -> None:
        self.state = state
        self._notify(True)

    def _notify(self, at_once: bool) -> None:
        if self.panel is not None:
            self.panel.update(at_once)
