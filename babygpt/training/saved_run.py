"""A run that is saved while it trains, and a stopped one that resumes from its checkpoint."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from babygpt.config import SAVE_EVERY, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import is_out_of_memory
from babygpt.errors import BadInput, first_line
from babygpt.models.versions import require_version
from babygpt.signals import Ended, deferred_signals
from babygpt.training.checkpoint import (
    UNFIT,
    Checkpoint,
    load,
    outline,
    plain_numbers,
    require_finite_weights,
    save,
    set_numbers,
)
from babygpt.training.distributed import Team
from babygpt.training.loop import Step, Training, follow
from babygpt.training.stored_encodings import Given

LAST = "last."  # begins the names of the last weights in a state of training, where others are kept


@dataclass
class SavedRun:
    """A training and the file of its checkpoints, which each one replaces. Lock that file first.

    path        of the checkpoint
    training    the run itself
    tokenizer   of the text that it learns from
    info        description of the run, the same from its first checkpoint to its last. With "keep": "best", a
                file holds the weights of the lowest validation loss so far, and those of the last step beside
                them for as long as the run goes on
    team        the processes that train it: the main one writes and shows, and all stop together
    curve       validation losses so far, each with the step after which it was measured
    saved_step  step of the last checkpoint, 0 if there is none
    best        weights of the lowest validation loss, if they are to be kept and there is one
    compared    whether a checkpoint was compared with the model: only the first one is, because nothing but
                weights and steered numbers changes while a run trains
    """

    path: Path
    training: Training
    tokenizer: CharTokenizer
    info: dict[str, Any]
    team: Team = field(default_factory=Team)
    curve: list[list[float]] = field(default_factory=list)
    saved_step: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)
    compared: bool = False

    @property
    def kept_step(self) -> int:
        """The step after which the model had the weights that a checkpoint holds."""
        return int(min(self.curve, key=itemgetter(1))[0]) if self.best else self.training.step

    def train(self, save_every: int = SAVE_EVERY) -> bool:
        """Train to the end, or until a signal asks to stop; then save the last step that was made.

        save_every  steps between checkpoints; 0 writes only at the end
        returns     whether the run came to its end and no signal asked to stop
        Raises `Ended` if the system asked the process to end, and the errors of `save` and `Training`.
        """
        training, total = self.training, self.training.config.steps
        with deferred_signals() as noted, self.errors_with_advice():
            title = require_version(training.model.version).name
            follow(self.steps(save_every, noted), total, title, done=training.step, show=self.team.is_main)
            if training.step > self.saved_step:
                self.save()
        for number in noted:
            if number != signal.SIGINT:  # after Ctrl-C, measure what was learned; otherwise end at once
                raise Ended(number, self.advice())
        return training.step == total and not noted

    def steps(self, save_every: int, noted: list[int]) -> Iterator[Step]:
        """Train and save every `save_every` steps and after the last, before the step is validated.

        Raises KeyboardInterrupt after the first step by which a signal was noted, in any process.
        """
        training, total = self.training, self.training.config.steps
        if training.step and not self.is_measured():  # it was killed between saving and validating
            self.validate(Step(training.step, 0.0, 0.0, training.seconds, training.tokens))
        while training.step < total:
            step = training.make_step()
            # Save before validating, which takes long: a run that is killed meanwhile loses no step.
            if step.step == total or (save_every and step.step % save_every == 0):
                self.save()
            yield self.validate(step)
            if self.team.sum(len(noted)):
                raise KeyboardInterrupt

    def validate(self, step: Step) -> Step:
        """Return the record of the last step with its validation loss, if one is due, and keep the loss."""
        step = self.training.with_validation(step)
        if step.val_loss is not None:
            if self.info.get("keep") == "best" and all(step.val_loss < loss for _, loss in self.curve):
                self.best = copy_weights(self.training.model)
            self.curve.append([step.step, step.val_loss])
        return step

    @contextmanager
    def kept_weights(self) -> Iterator[dict[str, Tensor]]:
        """Lend the model the weights that are kept, and yield those of its last step if they differ."""
        model = self.training.model
        if not self.best:
            yield {}
            return
        last = copy_weights(model)
        model.load_state_dict(self.best)
        try:
            yield last
        finally:
            model.load_state_dict(last)

    def is_measured(self) -> bool:
        """Return whether the validation loss after the last step is known."""
        return bool(self.curve) and self.curve[-1][0] == self.training.step

    def complete(self, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Measure the trained model, save it once more with the result, and return the result.

        measure   returns numbers that JSON can hold, by name; they are added to the checkpoint's info
        Raises `Ended` after Ctrl-C, and the errors of `train`: then the checkpoint stands as it was.
        """
        try:
            with self.errors_with_advice():
                with self.kept_weights():
                    measured = measure()
                self.save(finished=self.training.step == self.training.config.steps, **measured)
        except KeyboardInterrupt:
            raise Ended(signal.SIGINT, f"not all was measured; {self.advice()}") from None
        return measured

    def save(self, finished: bool = False, **measured: Any) -> None:
        """Write the checkpoint in the main process, with the state of training unless it is finished.

        measured  numbers that are added to the checkpoint's info
        Raises FloatingPointError if the last step has ruined a weight; the file stays as it was.
        """
        if not self.team.is_main:
            self.saved_step = self.training.step
            return
        training = self.training
        # Checked here because below the model may hold the kept weights instead of those of its last step.
        require_finite_weights(training.model)
        info = {**self.info, "steps_done": training.step, "kept_step": self.kept_step, "curve": self.curve}
        with self.kept_weights() as last:
            state = training_state(training) | {LAST + name: x for name, x in last.items()}
            rest = None if finished else state
            save(self.path, training.model, self.tokenizer, info | measured, rest, not self.compared)
        self.compared = True
        self.saved_step = training.step

    @contextmanager
    def errors_with_advice(self) -> Iterator[None]:
        """Let errors of the machine say, in one line, which step was saved and how to go on."""
        try:
            yield
        except Exception as error:
            no_memory = is_out_of_memory(error)
            lost = self.team.world_size > 1 and isinstance(error, RuntimeError)  # the connection to another
            if not (no_memory or lost or isinstance(error, OSError | FloatingPointError)):
                raise
            what = "out of memory" if no_memory else "stopped"
            # Both stand-ins are shown as an error of the machine, in one line and without a traceback.
            kind = MemoryError if no_memory else ChildProcessError if lost else type(error)
            reason = first_line(error)
            how = f"{self.advice()}. A smaller batch_size needs less memory" if no_memory else self.advice()
            raise kind(f"{what} after step {self.training.step}: {reason}; {how}") from error

    def advice(self) -> str:
        """Return a sentence that says which step was saved last, and how the run goes on."""
        if not self.saved_step:
            return "nothing was saved yet"
        how = "the same command continues it with --resume, and without --overwrite"
        return f"the checkpoint of step {self.saved_step} stands at {self.path}: {how}"


# ---------------------------------------------------------------- the state of a training


def training_state(training: Training) -> dict[str, Any]:
    """Return all that the next step depends on besides the model: tensors, and what JSON can hold, by name.

    The tensors are the optimizers' own, and change with the next step.
    """
    state: dict[str, Any] = {name: getattr(training, name) for name in ("step", "seconds", "tokens")}
    state["generator"] = training.generator.get_state()
    for i, optimizer in enumerate(training.optimizers):
        for j, moments in enumerate(optimizer.state):
            state |= {f"optimizer.{i}.{j}.{name}": value for name, value in moments.items()}
    return state


def copy_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return copies of a model's weights by name."""
    return {name: x.detach().clone() for name, x in model.state_dict().items()}


def restore(training: Training, state: Mapping[str, Any]) -> None:
    """Bring a training with the same model, objective and plan to where `training_state` was taken.

    Raises the errors in UNFIT if the state does not fit.
    """
    training.step, training.tokens = int(state["step"]), int(state["tokens"])
    training.seconds = float(state["seconds"])
    training.generator.set_state(state["generator"])
    for i, optimizer in enumerate(training.optimizers):
        for j, p in enumerate(optimizer.params):
            start = f"optimizer.{i}.{j}."
            moments = {name.removeprefix(start): x for name, x in state.items() if name.startswith(start)}
            optimizer.state[j] = {name: x.to(p.device, copy=True) for name, x in moments.items()}


def load_unfinished(path: Path, *versions: str, encoding: Given = None) -> tuple[Checkpoint, dict[str, Any]]:
    """Read the checkpoint of a run that is to be resumed.

    versions  of which it may be
    encoding  its encodings from outside, as `load` takes them
    returns   the checkpoint, and the numbers that the run began with by the names of their flags
    Raises BadInput if there is no such run, if it is finished, or if it is of another version.
    """
    saved = load(path, encoding)
    try:
        plan, done = TrainConfig(**saved.info["train"]), saved.info["steps_done"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} does not say how it was trained: {error!r}") from None
    if saved.training is None:
        raise BadInput(f"{path} is finished, after {done} of {plan.steps} steps: nothing to resume")
    if saved.version not in versions:
        raise BadInput(f"{path} holds a run of {saved.version}, not of {' or '.join(versions)}")
    began = {**asdict(saved.model.config), **asdict(plan), "bound": bool(saved.info.get("bound"))}
    return saved, began | {"keep": saved.info.get("keep", "last")}


def go_on(run: SavedRun, saved: Checkpoint) -> None:
    """Continue a run from its checkpoint. Raises BadInput if the checkpoint does not fit."""
    try:
        model = run.training.model
        if outline(model) != outline(saved.model):
            raise BadInput(f"it is a {saved.version} with {saved.options}")
        model.load_state_dict(saved.model.state_dict())
        set_numbers(model, plain_numbers(saved.model))
        run.curve = [[int(step), float(loss)] for step, loss in saved.info.get("curve", [])]
        if saved.training is not None:
            last = {name.removeprefix(LAST): x for name, x in saved.training.items() if name.startswith(LAST)}
            if last:
                run.best = copy_weights(model)
                model.load_state_dict(last)
            restore(run.training, saved.training)
    except UNFIT as error:
        raise BadInput(f"the state of training in {run.path} does not fit: {error!r}") from error
    run.saved_step = run.training.step


def require_same_text(path: Path, saved: Checkpoint, corpus: Corpus) -> None:
    """Raise BadInput unless a run learned from just this text; its path does not matter."""
    if saved.info.get("text") != corpus.fingerprint():
        earlier = saved.info.get("corpus")
        raise BadInput(f"--corpus ({corpus.name}) is another text than that of {path} ({earlier})")
