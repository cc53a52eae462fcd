"""Training in the background: one run at a time, watched, paused, steered and waited for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import torch

from babygpt.config import TrainConfig
from babygpt.device import available_cores
from babygpt.live.history import History
from babygpt.live.waiting import WaitInterrupted, cell_over, wait_and_serve
from babygpt.live.watches.base import Watch
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective
from babygpt.training import Step, Training

WHOLE_CELL = 3.0  # seconds that a run waits at most for the other dashboards of its cell to appear


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
    """Who shows a run."""

    def prepare(self) -> None:
        """Do all that takes long the first time; returns when it is done."""

    def hear(self, at_once: bool) -> None:
        """There is something new; it may wait a little unless `at_once`."""

    def conclude(self, seconds: float) -> bool:
        """Show the last picture for good; False if that took longer than so many seconds."""


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
    measuring  whether a validation loss is being measured after the last of these steps
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
        self.measuring = False
        self.error: BaseException | None = None
        self.panel: Panel | None = None
        self._cell = cell_over()
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

        A run that is over hears nothing any more.
        Raises ValueError, and leaves the run alone, if there is no such number or it cannot be this one.
        """
        work = self._work
        if work is not None:
            work[0].encoding.require_steerable(name, value)
            self._wanted.put((name, value))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run is over; False if that took longer than `timeout` seconds."""
        return self._over.wait(timeout)

    def reach(self, step: int) -> None:
        """Wait until so many steps are made, or the run is over. Raises KeyboardInterrupt if interrupted."""
        self._attend(lambda seconds: self.wait(seconds) or len(self.history) >= step)

    def result(self) -> Sequence[Step]:
        """Wait for the end, show the last picture, and hand over the records.

        returns  a record for each step made: all of them, or fewer if somebody stopped the run
        Raises what went wrong in the trainer's thread, or in the painter's.
        """
        self._attend(self.wait)
        if self.panel is not None:
            self._attend(self.panel.conclude)
        if self.error is not None:
            raise self.error
        return self.history

    def _attend(self, over: Callable[[float], bool]) -> None:
        """Wait, while the page stays alive."""
        try:
            wait_and_serve(over)
        except KeyboardInterrupt:
            raise WaitInterrupted(self.title) from None

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
            training = self._get_ready(model, objective, config)
            if not self._stopping.is_set():
                self._become(State.RUNNING)
            while training.step < self.total and self._may_go_on():
                step = training.advance(self._steering)
                self.history.append(step)
                self._look(model, step)
                self.measuring = training.due(step)
                self._tell(at_once=self.measuring or bool(step.changed))
                if self.measuring:
                    self.history.amend(training.measured(step))
            self._measure_the_last(model, objective)
        self._become(State.FINISHED if len(self.history) == self.total else State.STOPPED)

    def _get_ready(self, model: LanguageModel, objective: Objective, config: TrainConfig) -> Training:
        """Pay what is paid once before the first step: then every step takes as long as the next."""
        self._become(State.PREPARING)
        self.look_first()
        training = Training(model, objective, config)
        self._cell.wait(WHOLE_CELL)
        if self.panel is not None and not self._stopping.is_set():
            self.panel.prepare()
        return training

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

    def _look(self, model: LanguageModel, step: Step) -> None:
        """Measure what is due after this step, and everything if somebody has just turned a knob."""
        for watch, frames in self.frames.items():
            if step.changed or step.step in watch.steps(self.total):
                frames.append((step.step, watch.measure(model)))

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
