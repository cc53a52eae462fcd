"""A training run and its checkpoint: saved while it trains and before it is measured, and resumed from there.

Every command that trains goes through here.
"""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from babygpt.config import SAVE_EVERY, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.memory import is_out_of_memory
from babygpt.signals import Ended, deferred_signals
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.loop import Training
from babygpt.training.records import Step, follow

READING = "place."  # begins the names of an objective's reading position in a state of training
UNFIT = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError)


@dataclass
class SavedRun:
    """A training and the file of its checkpoints, which each one replaces. Lock that file first.

    path       of the checkpoint
    version    such as "v4"
    training   the run itself
    tokenizer  of the text that it learns from
    info       description of the run, the same from its first checkpoint to its last
    options    of the model's encoding, as they were given to `build`
    curve      validation losses so far, each with the step after which it was measured
    saved_step step of the last checkpoint, 0 if there is none
    """

    path: Path
    version: str
    training: Training
    tokenizer: CharTokenizer
    info: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    curve: list[list[float]] = field(default_factory=list)
    saved_step: int = 0

    def train(self, save_every: int = SAVE_EVERY, title: str = "") -> bool:
        """Train to the end, or until a signal asks to stop; then save the last step that was made.

        save_every  steps between checkpoints; 0 writes only at the end
        returns     whether the run came to its end and no signal asked to stop
        Raises `Ended` if the system asked the process to end, and the errors of `save` and `Training`.
        """
        training, total = self.training, self.training.config.steps
        with deferred_signals() as noted, self.errors_with_advice():
            steps, show = self.steps(save_every, noted), training.team.is_main
            follow(steps, total, title or self.version, done=training.step, show=show)
            if training.step > self.saved_step:
                self.save()
        for number in noted:
            if number != signal.SIGINT:  # after Ctrl-C, measure what was learned; otherwise end at once
                raise Ended(number, self.advice())
        return training.step == total and not noted

    def steps(self, save_every: int, noted: list[int]) -> Iterator[Step]:
        """Train and save every `save_every` steps and after the last, before the step is validated.

        Raises KeyboardInterrupt after the first step by which a signal was noted, in any of the processes.
        """
        training, total = self.training, self.training.config.steps
        if training.step and not self.is_measured():  # it was killed between saving and validating
            self.validate(Step(training.step, 0.0, 0.0, training.seconds, training.tokens))
        while training.step < total:
            step = training.make_step()
            if step.step == total or (save_every and step.step % save_every == 0):
                self.save()
            yield self.validate(step)
            if training.team.sum(len(noted)):
                raise KeyboardInterrupt

    def validate(self, step: Step) -> Step:
        """Return the record of the last step with its validation loss, if one is due, and keep the loss."""
        step = self.training.with_validation(step)
        if step.val_loss is not None:
            self.curve.append([step.step, step.val_loss])
        return step

    def complete(self, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Measure the trained model, save it once more with the result, and return the result.

        measure   returns numbers that JSON can hold, by name; they are added to the checkpoint's info
        Raises `Ended` after Ctrl-C, and the errors of `train`: then the checkpoint stands as it was.
        """
        try:
            with self.errors_with_advice():
                found = measure()
                self.save(finished=self.training.step == self.training.config.steps, **found)
        except KeyboardInterrupt:
            raise Ended(signal.SIGINT, f"not all was measured; {self.advice()}") from None
        return found

    def is_measured(self) -> bool:
        """Return whether the validation loss after the last step is known."""
        return bool(self.curve) and self.curve[-1][0] == self.training.step

    def save(self, finished: bool = False, **measured: Any) -> None:
        """Write the checkpoint, with the state of training unless it is finished.

        measured  numbers that are added to the checkpoint's info
        Raises FloatingPointError if the last step has ruined a weight; the file stays as it was.
        """
        training = self.training
        if training.team.is_main:
            info = {**self.info, "steps_done": training.step, "curve": self.curve, **measured}
            state = None if finished else training_state(training)
            checkpoint = Checkpoint(self.version, training.model, self.tokenizer, info, self.options, state)
            checkpoints.save(self.path, checkpoint)
        self.saved_step = training.step

    @contextmanager
    def errors_with_advice(self) -> Iterator[None]:
        """Let errors of the machine say, in one line, which step was saved and how to go on."""
        try:
            yield
        except Exception as error:
            kind: type[Exception] = type(error)
            what, hint = "stopped", ""
            if is_out_of_memory(error):
                kind, what, hint = MemoryError, "out of memory", ". A smaller batch_size needs less memory"
            elif isinstance(error, RuntimeError) and self.training.team.world_size > 1:
                kind = ChildProcessError  # gloo raises it when the connection to another process ends
            elif not isinstance(error, OSError | FloatingPointError):
                raise
            reason = (str(error).strip().splitlines() or [kind.__name__])[0]
            raise kind(f"{what} after step {self.training.step}: {reason}; {self.advice()}{hint}") from error

    def advice(self) -> str:
        """Return a sentence that says which step was saved last, and how the run goes on."""
        if not self.saved_step:
            return "nothing was saved yet"
        how = "the same command continues it with --resume, and without --overwrite"
        return f"the checkpoint of step {self.saved_step} stands at {self.path}: {how}"


def training_state(training: Training) -> dict[str, Any]:
    """Return all that the next step depends on besides the weights: tensors, and what JSON can hold, by name.

    The tensors are the optimizers' own, and change with the next step.
    """
    state: dict[str, Any] = {name: getattr(training, name) for name in ("step", "seconds", "tokens")}
    state |= {"steered": dict(training.steered), "generator": training.generator.get_state()}
    state |= {READING + name: value for name, value in training.objective.place().items()}
    for i, optimizer in enumerate(training.optimizers):
        for j, moments in optimizer.state_dict()["state"].items():
            state |= {f"optimizer.{i}.{j}.{name}": value for name, value in moments.items()}
    return state


def restore(training: Training, state: Mapping[str, Any]) -> None:
    """Bring a training with the same model, objective and plan to where `training_state` was taken.

    Weights are no part of a state. Steered numbers that are no weights, such as theta, are set again.
    Raises the errors in UNFIT if the state does not fit.
    """
    training.step, training.tokens = int(state["step"]), int(state["tokens"])
    training.seconds = float(state["seconds"])
    training.generator.set_state(state["generator"])
    place = {name.removeprefix(READING): x for name, x in state.items() if name.startswith(READING)}
    training.objective.seek(place)
    for i, optimizer in enumerate(training.optimizers):
        moments: dict[int, dict[str, Tensor]] = {}
        for name in (name for name in state if name.startswith(f"optimizer.{i}.")):
            _, _, j, moment = name.split(".")
            moments.setdefault(int(j), {})[moment] = state[name]
        if training.step and len(moments) != len(optimizer.param_groups[0]["params"]):
            raise BadInput(f"it holds moments of {len(moments)} parameters of {type(optimizer).__name__}")
        optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    training.steered = dict(state["steered"])
    for name, number in training.steered.items():
        if not isinstance(getattr(training.model.encoding, name), Tensor):
            training.model.encoding.steer(name, number)


def load_unfinished(path: Path, *versions: str) -> tuple[Checkpoint, dict[str, Any]]:
    """Read the checkpoint of a run that is to be resumed.

    versions  of which it may be
    returns   the checkpoint, and the numbers that the run began with by the names of their flags
    Raises BadInput if there is no such run, if it is finished, or if it is of another version.
    """
    saved = checkpoints.load(path)
    try:
        plan, done = TrainConfig(**saved.info["train"]), saved.info["steps_done"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} does not say how it was trained: {error!r}") from None
    if saved.training is None:
        raise BadInput(f"{path} is finished, after {done} of {plan.steps} steps: nothing to resume")
    if saved.version not in versions:
        raise BadInput(f"{path} holds a run of {saved.version}, not of {' or '.join(versions)}")
    began = {**asdict(saved.model.config), **asdict(plan), "bound": bool(saved.info.get("bound"))}
    return saved, began


def go_on(run: SavedRun, saved: Checkpoint) -> None:
    """Continue a run from its checkpoint. Raises BadInput if the checkpoint does not fit."""
    try:
        if (run.version, run.options) != (saved.version, saved.options):
            raise BadInput(f"it is a {saved.version} with {saved.options}")
        run.training.model.load_state_dict(saved.model.state_dict())
        run.curve = [[int(step), float(loss)] for step, loss in saved.info.get("curve", [])]
        if saved.training is not None:
            restore(run.training, saved.training)
    except UNFIT as error:
        raise BadInput(f"the state of training in {run.path} does not fit: {error!r}") from error
    run.saved_step = run.training.step


def require_same_text(path: Path, saved: Checkpoint, corpus: Corpus) -> None:
    """Raise BadInput unless a run learned from just this text; its path does not matter."""
    if saved.info.get("text") != corpus.fingerprint():
        known = saved.info.get("corpus")
        raise BadInput(f"--corpus ({corpus.name}) is another text than that of {path} ({known})")
