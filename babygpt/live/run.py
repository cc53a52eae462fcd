"""Training in the background: one run at a time, watched, paused, steered and waited for."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import torch

from babygpt.config import TrainConfig
from babygpt.device import available_cores
from babygpt.live.history import History
from babygpt.live.watch import Watch
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective
from babygpt.training import Step, train


class State(StrEnum):
    """Where a run is in its life."""

    WAITING = "waiting"  # another run is on
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
    """Who shows a run."""

    def hear(self, at_once: bool) -> None:
        """There is something new; it may wait a little unless `at_once`."""

    def conclude(self) -> None:
        """Show the last picture for good."""


class Trainer(threading.Thread):
    """The thread of a run. There may be several; all but the first wait for those before them."""

    def __init__(self, run: Run) -> None:
        super().__init__(name=f"babygpt trainer {run.title}", daemon=True)
        self.training = run
        others = [thread for thread in threading.enumerate() if isinstance(thread, Trainer)]
        self.ahead = [other.training for other in others if not other.training.state.over]

    def run(self) -> None:
        self.training.live(self.ahead)
        self.ahead = []


def polite_threads() -> int:
    """How many threads a background run takes: half the cores, so that sliders and neighbours have the rest.

    With as many threads as cores, each step waits for whichever core is busy elsewhere; see
    `python -m babygpt bench live`.
    """
    return max(1, available_cores() // 2)


class Run:
    """A model that trains in the background.

    title      the model's name
    state      where the run is in its life
    history    a record for each step made so far
    frames     for each watch, the steps it was measured after and what it found
    error      what went wrong, or None
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
        self.no_idea = math.log(model.config.vocab_size)  # nats; the loss of knowing nothing
        self.history = History()
        self.frames: dict[Watch, list[tuple[int, Any]]] = {watch: [] for watch in watches}
        self.error: BaseException | None = None
        self.panel: Panel | None = None
        self._work: Any = (model, objective, config)  # given up at the end, optimizers and all
        self._wanted: SimpleQueue[tuple[str, float]] = SimpleQueue()
        self._going, self._stopping, self._over = (threading.Event() for _ in range(3))
        self._going.set()

    def trains(self, model: LanguageModel) -> bool:
        """Whether this is the model being trained, now or when the run's turn comes."""
        work = self._work
        return work is not None and work[0] is model

    def look_first(self) -> None:
        """Measure the untrained model, unless that is done. Raises what a watch raises."""
        if not any(self.frames.values()):
            self._look(self._work[0], 0)

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
        """Set one of the encoding's numbers before the next step; `history` records it as `changed`."""
        self._wanted.put((name, value))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run is over; False if that took longer than `timeout` seconds."""
        return self._over.wait(timeout)

    def result(self) -> Sequence[Step]:
        """Wait for the end, show the last picture, and hand over the records.

        returns  a record for each step made: all of them, or fewer if somebody stopped the run
        Raises what went wrong in the trainer's thread, or in the painter's.
        """
        try:
            while not self.wait(0.2):  # so short that an interrupt gets through on every system
                pass
        except KeyboardInterrupt:
            print(f"Waiting was interrupted; {self.title} trains on. Its stop button ends it, or run.stop().")
            raise
        if self.panel is not None:
            self.panel.conclude()
        if self.error is not None:
            raise self.error
        return self.history

    def __repr__(self) -> str:
        return f"<{self.title}: {self.state}, {len(self.history)} of {self.total} steps>"

    # ------------------------------------------------------------ in the trainer's thread

    def live(self, ahead: Sequence[Run]) -> None:
        """All of a run's life."""
        for other in ahead:
            self._wait_for(other)
        threads = torch.get_num_threads()
        torch.set_num_threads(polite_threads())
        try:
            self._train()
        except BaseException as error:  # whatever it was, `result` hands it on
            self.error = error
            self._become(State.FAILED)
        finally:
            torch.set_num_threads(threads)
            self._work = None
            self._over.set()

    def _wait_for(self, other: Run) -> None:
        while not self._stopping.is_set() and not other.wait(0.05):
            pass

    def _train(self) -> None:
        model, objective, config = self._work
        if not self._stopping.is_set():
            self._become(State.RUNNING)
            self.look_first()
            for step in train(model, objective, config, self._steering):
                self.history.append(step)
                self._look(model, step.step)
                self._tell(at_once=False)
                if not self._may_go_on():
                    break
            self._measure_the_last(model, objective)
        self._become(State.FINISHED if len(self.history) == self.total else State.STOPPED)

    def _measure_the_last(self, model: LanguageModel, objective: Objective) -> None:
        """Give a run that was stopped early what every run ends with: a validation loss."""
        if self.history and self.history[-1].val_loss is None:
            self.history.amend(replace(self.history[-1], val_loss=objective.validate(model)))

    def _may_go_on(self) -> bool:
        if not self._going.is_set() and not self._stopping.is_set():
            self._become(State.PAUSED)
            self._going.wait()
            if not self._stopping.is_set():
                self._become(State.RUNNING)
        return not self._stopping.is_set()

    def _look(self, model: LanguageModel, step: int) -> None:
        """Measure what is due after this step."""
        for watch, frames in self.frames.items():
            if step in watch.steps(self.total):
                frames.append((step, watch.measure(model)))

    def _steering(self, step: int) -> Mapping[str, float]:
        wanted: dict[str, float] = {}
        try:
            while True:
                name, value = self._wanted.get_nowait()
                wanted[name] = value
        except Empty:
            return wanted

    def _become(self, state: State) -> None:
        self.state = state
        self._tell(True)

    def _tell(self, at_once: bool) -> None:
        if self.panel is not None:
            self.panel.hear(at_once)
