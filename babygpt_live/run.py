"""Training in the background: one run at a time, watched, paused, steered and waited for."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any, ClassVar, Self

import torch
from joblib import cpu_count

from babygpt.config import TrainConfig
from babygpt.device import keep_on_device, pick_device
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Branches, Objective
from babygpt.training import Step, Training
from babygpt_live.waiting import WaitInterrupted, wait_and_serve
from babygpt_live.watch import Watch


class State(StrEnum):
    """State of a run."""

    WAITING = "waiting"  # another run is on
    PREPARING = "getting ready"  # one-time costs: imports, optimizers
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self in (State.STOPPED, State.FINISHED, State.FAILED)


@contextmanager
def background_threads() -> Iterator[None]:
    """Give PyTorch half the cores while the context lasts, and never more threads than it has now.

    With as many threads as cores, each step waits for whichever core is busy elsewhere, and sliders answer
    late; see `python -m benchmarks live`.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, max(1, cpu_count() // 2)))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class LoopRun:
    """Run of a training loop that adds its own records; a dashboard shows them as they come.

    title       of the model
    total       planned steps
    device      where the loop trains, or None to name no device
    numbers     names of what `steer` may set; the loop reads the new values from `steering`
    unit        of the loss, such as "nats per character"
    state       waiting, getting ready, running, paused, stopped, finished or failed
    history     a record for each step made so far
    frames      watch -> the steps after which it measured, each with the measurement
    validating  while a validation loss is measured: windows read so far, and in all; else None
    error       of a run that failed, else None
    steered     the last value asked for of each number that was steered, by name
    baseline    earlier run that its dashboard compares it with, or None
    listeners   called after each step with False, and with True after what nobody should miss
    dashboard   that shows it, or None
    """

    uniform_loss = 0.0  # Uniform guesses have this loss; the axis of losses reaches it.

    def __init__(
        self,
        title: str,
        total: int,
        watches: Sequence[Watch] = (),
        unit: str = "",
        device: torch.device | None = None,
        numbers: Sequence[str] = (),
    ) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.device, self.numbers = device, tuple(numbers)
        self.state = State.WAITING
        self.history: list[Step] = []
        self.frames: dict[Watch, list[tuple[int, Any]]] = {watch: [] for watch in watches}
        self.validating: tuple[int, int] | None = None
        self.error: BaseException | None = None
        self.steered: dict[str, float] = {}
        self._queued: SimpleQueue[tuple[str, float]] = SimpleQueue()
        self.baseline: LoopRun | None = None
        self.listeners: list[Callable[[bool], None]] = []
        self.dashboard: Any = None
        self._started = 0.0
        self._paused_seconds = 0.0
        self._listener_error: BaseException | None = None  # the first one
        self._guarded = False  # whether `start` runs the loop, and sees how it ends
        self._going, self._stopping, self._over = (threading.Event() for _ in range(3))
        self._going.set()

    # ------------------------------------------------------------ for the loop

    def measure_untrained(self, model: Any) -> None:
        """Measure the untrained model, unless that is done. Raises the errors of the watches."""
        for watch, frames in self.frames.items():
            if not frames:
                frames.append((0, watch.measure(model)))

    def steps(self) -> Iterator[int]:
        """Yield the numbers of the planned steps, from 1. Wait through pauses, and end early after `stop`.

        A loop that `start` runs is over when it returns or raises, any other one when it leaves these steps.
        """
        self._started = time.monotonic()
        self._set_state(State.RUNNING)
        try:
            for step in range(1, self.total + 1):
                if not self._goes_on():
                    break
                yield step
        finally:
            if not self._guarded:  # A generator cannot tell a loop that failed from one that broke off.
                self._end()
                self._over.set()

    def steering(self) -> dict[str, float]:
        """Return the numbers steered since the last call, each with its last value."""
        queued = range(self._queued.qsize())  # or more; only the loop's thread takes from it
        return dict(self._queued.get_nowait() for _ in queued)

    def record(
        self, step: int, loss: float, model: Any, changed: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        """Add the loss of a step, let the watches measure the model, and tell the dashboard.

        step     counted from 1
        loss     of the step's batch, in the run's unit
        changed  numbers that were set before the step, which the dashboard marks
        Raises BadInput if this is not the next of the planned steps.
        """
        if step != len(self.history) + 1 or step > self.total:
            plan = f"step {len(self.history) + 1}" if len(self.history) < self.total else "no step"
            raise BadInput(f"{self.title} cannot record step {step}: {plan} of {self.total} comes next")
        seconds = time.monotonic() - self._started - self._paused_seconds
        self._add(Step(step, loss, lr=math.nan, seconds=seconds, tokens=0, changed=dict(changed)), model)

    def _add(self, record: Step, model: Any) -> None:
        self.history.append(record)
        for watch, frames in self.frames.items():
            if record.changed or record.step in watch.steps(self.total):
                frames.append((record.step, watch.measure(model)))
        self._notify(at_once=bool(record.changed) or record.step == 1)  # A reader waits for the first loss.

    def _goes_on(self) -> bool:
        """Wait through a pause; return whether training goes on after it."""
        if not self._going.is_set() and not self._stopping.is_set():
            self._set_state(State.PAUSED)
            begin = time.monotonic()
            self._going.wait()
            self._paused_seconds += time.monotonic() - begin
            if not self._stopping.is_set():
                self._set_state(State.RUNNING)
        return not self._stopping.is_set()

    def _end(self) -> None:
        self._set_state(State.FINISHED if len(self.history) == self.total else State.STOPPED)

    def _set_state(self, state: State) -> None:
        self.state = state
        self._notify(at_once=True)

    def _notify(self, at_once: bool) -> None:
        for listen in self.listeners:
            try:
                listen(at_once)
            except Exception as error:  # A dashboard that fails must not end the training.
                self._listener_error = self._listener_error or error

    # ------------------------------------------------------------ from any thread

    def start(self, loop: Callable[[Self, Any], object], model: Any) -> None:
        """Call `loop(run, model)` in a thread of its own. If it raises, the run fails and keeps the error.

        Raises BadInput if the run has begun: each loop needs a run of its own.
        """
        if self._guarded or self.state is not State.WAITING:
            raise BadInput(f"{self.title} has begun: make a new {type(self).__name__} for another loop")
        self._guarded = True
        name = f"babygpt trainer {self.title}"
        threading.Thread(target=self._call, args=(loop, model), name=name, daemon=True).start()

    def _call(self, loop: Callable[[Self, Any], object], model: Any) -> None:
        try:
            loop(self, model)
            self._end()
        except BaseException as error:  # whatever it is, `result` raises it
            self.error = error
            self._set_state(State.FAILED)
        finally:
            self._over.set()

    def pause(self) -> None:
        """Stop before the next step, until `resume`. Only a run that trains can be paused."""
        if self.state is State.RUNNING and not self._stopping.is_set():
            self._going.clear()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._going.set()

    def stop(self) -> None:
        """End the run before its next step. The model keeps its weights, and the run its records."""
        self._stopping.set()
        self._going.set()

    def steer(self, name: str, value: float) -> None:
        """Hand a number to the loop, which gets it from its next call of `steering`.

        Raises BadInput if the loop has no such number, or the value is not finite.
        """
        self.require_number(name)
        if not math.isfinite(value):
            raise BadInput(f"{name} ({value}) must be finite")
        self._queue(name, value)

    def require_number(self, name: str) -> None:
        """Raise BadInput unless `steer` may set this number."""
        if name not in self.numbers:
            has = ", ".join(self.numbers) or "none"
            raise BadInput(f"the loop of {self.title} has no number {name!r} to set; it has {has}")

    def _queue(self, name: str, value: float) -> None:
        self.steered[name] = value
        self._queued.put((name, value))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run is over; return False if that took longer than `timeout` seconds."""
        return self._over.wait(timeout)

    def wait_for_step(self, step: int) -> None:
        """Wait until `step` steps are made, or the run is over. Raises KeyboardInterrupt if interrupted."""
        self._wait_and_serve(lambda seconds: self.wait(seconds) or len(self.history) >= step)

    def result(self) -> Sequence[Step]:
        """Wait for the end, and return the records.

        returns  a record for each step made: fewer than planned if the run was stopped
        Raises the error of a loop that `start` runs, or of a listener, such as a watch whose panel failed.
        """
        self._wait_and_serve(self.wait)
        if error := self.error or self._listener_error:
            raise error
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


class Run(LoopRun):
    """Language model that trains in the background, on the best device or on BABYGPT_DEVICE.

    unfinished  all runs that were started and are not over, the first one first
    """

    device: torch.device
    unfinished: ClassVar[list[Run]] = []

    def __init__(
        self,
        model: LanguageModel,
        objective: Objective,
        config: TrainConfig,
        title: str,
        watches: Sequence[Watch] = (),
    ) -> None:
        super().__init__(title, config.steps, watches, "nats per character", pick_device())
        self.uniform_loss = math.log(model.config.vocab_size)
        self._work: Any = (model, objective, config)  # released at the end, optimizers and all

    def is_training(self, model: LanguageModel) -> bool:
        """Return whether the run trains this model, now or later."""
        work = self._work
        return work is not None and work[0] is model

    # ------------------------------------------------------------ from any thread

    def require_number(self, name: str) -> None:
        """Raise BadInput unless the encoding has this number to steer. A run that is over has all of them."""
        if (work := self._work) is not None:
            work[0].encoding.require_number(name)

    def start_after(self, earlier: list[Run]) -> None:
        """Train in a thread of its own as soon as the earlier runs are over.

        earlier  emptied as they end
        """
        self._guarded = True
        self.unfinished.append(self)
        name = f"babygpt trainer {self.title}"
        threading.Thread(target=self.train_after, args=(earlier,), name=name, daemon=True).start()

    def steer(self, name: str, value: float) -> None:
        """Set one of the encoding's numbers before the next step; `history` records it as `changed`.

        A run that is over ignores it.
        Raises BadInput, and leaves the run alone, if there is no such number or it cannot have this value.
        """
        if (work := self._work) is not None:
            model, objective, _ = work
            texts = 1  # number of texts that a sequence may hold
            if isinstance(objective, Branches):
                texts = objective.numbers or objective.n_branches[1]
            model.encoding.require_steerable(name, value, texts)
            self._queue(name, value)

    def result(self) -> Sequence[Step]:
        """Wait for the end, and return the records.

        returns  as for any loop; if the run was stopped before its first step, one record of the untrained
                 model, with step 0
        Raises the error of the trainer's thread, or of a listener.
        """
        return super().result() or [self.untrained]

    # ------------------------------------------------------------ in the trainer's thread

    def train_after(self, earlier: list[Run]) -> None:
        """Wait for the earlier runs, train, and keep the error if there is one."""
        try:
            while earlier and not self._stopping.is_set():
                if earlier[0].wait(0.05):
                    del earlier[0]
                    self._notify(at_once=True)
            with background_threads():
                self._train(*self._work)
        except BaseException as error:  # whatever it is, `result` raises it
            self.error = error
            self._set_state(State.FAILED)
        finally:
            earlier.clear()
            self._work = None
            if self in self.unfinished:
                self.unfinished.remove(self)
            self._over.set()

    def _train(self, model: LanguageModel, objective: Objective, config: TrainConfig) -> None:
        if not self._stopping.is_set():
            self._set_state(State.PREPARING)  # pay all one-time costs now: then all steps take equally long
            with keep_on_device(model, self.device):
                self.measure_untrained(model)
                training = Training(model, objective, config)
                if not self._stopping.is_set():
                    self._set_state(State.RUNNING)
                while training.step < self.total and self._goes_on():
                    step = training.make_step(lambda _: self.steering())
                    self._add(step, model)
                    if training.is_validated(step):
                        with self._count_windows(model, objective):
                            self.history[-1] = training.with_validation(step)
                if self.history and self.history[-1].val_loss is None:  # stopped early
                    with self._count_windows(model, objective):
                        self.history[-1] = replace(self.history[-1], val_loss=objective.validate(model))
        if not self.history:  # stopped before its first step
            loss = objective.validate(model)
            self.untrained = Step(0, loss, lr=0.0, seconds=0.0, tokens=0, val_loss=loss)
        self._end()

    @contextmanager
    def _count_windows(self, model: LanguageModel, objective: Objective) -> Iterator[None]:
        """Count the validation windows that the model reads while the context lasts, and show the number."""
        total = sum(len(batch[0]) for batch in objective.val_batches())
        self.validating = (0, total)
        self._notify(at_once=True)

        def count(_: Any, inputs: tuple[Any, ...], output: Any) -> None:
            # A copy of the model may still be used after the count has ended.
            if self.validating is not None:
                self.validating = (min(self.validating[0] + len(inputs[0]), total), total)
                self._notify(at_once=False)

        hook = model.register_forward_hook(count)
        try:
            yield
        finally:
            hook.remove()
            self.validating = None
