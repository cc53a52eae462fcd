"""A run on disk: saved while it trains and before it is measured, by one process, and resumed from there.

Every command that trains goes through here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from babygpt.config import SAVE_EVERY, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.memory import is_out_of_memory
from babygpt.stopping import deferred_signals
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.loop import Training
from babygpt.training.records import Step, follow, interruptible

NOT_SAVED = "nothing was saved yet"
Measure = Callable[[], dict[str, Any]]


@dataclass
class SavedRun:
    """A training and the file that its checkpoints are written to; `claim` that file first.

    path       of the checkpoint
    version    such as "v4"
    training   the run itself
    tokenizer  of what it learns from
    info       what the checkpoint says of the run, the same from its first checkpoint to its last
    overwrite  whether a file that is there may be replaced; a run's own may always be
    options    what was chosen of the model's encoding when it was built
    resume     how a user makes this run go on
    curve      validation losses so far, each with the step after which it was measured
    """

    path: Path
    version: str
    training: Training
    tokenizer: CharTokenizer
    info: dict[str, Any]
    overwrite: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    resume: str = "the same command goes on with --resume, and without --overwrite"
    curve: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.training.team.advice = self.advice
        self.saved_step = self.training.step  # of what stands there, if the run goes on
        self.seen, self.digest = stamp(self.path), checkpoints.stored_digest(self.path)
        self.pauses: list[float] = []  # seconds between steps of this session

    # ------------------------------------------------------------ training

    def train(self, save_every: int = SAVE_EVERY, title: str = "", leave: bool = True) -> bool:
        """Train to the end, or until a signal asks to stop; either way, what was learned is saved.

        save_every  steps between checkpoints; 0 writes only at the end
        returns     whether it came to the end, and nobody asked to stop
        Raises `Ended` if the system asked the process to end, or somebody pressed Ctrl-C twice; MemoryError,
        in one line, if the memory did not do; and what `save` and `Training.steps` raise.
        """
        training, team = self.training, self.training.team
        total = training.config.steps
        with deferred_signals() as stop, self.memory_in_one_line():
            steps = interruptible(self.steps(save_every), lambda: team.any(bool(stop)))
            made = follow(steps, total, title or self.version, leave, training.step, team.is_main)
            self.pauses = [b.seconds - a.seconds for a, b in pairwise(made)]
            if training.step > self.saved_step:
                self.save()
            if team.any(stop.is_urgent):
                raise stop.end(self.advice())
        return training.step == total and not stop

    def steps(self, save_every: int) -> Iterator[Step]:
        """Train, saving every `save_every` steps and after the last, before anything is measured."""
        training = self.training
        last = Step(training.step, 0.0, 0.0, training.seconds, training.tokens)
        if training.step and not self.is_measured():  # it was killed after it had saved
            self.note(training.with_validation(last))
        while training.step < training.config.steps:
            step = training.make_step()
            if step.step == training.config.steps or (save_every and step.step % save_every == 0):
                self.save()
            step = training.with_validation(step)
            self.note(step)
            yield step

    def seconds_per_step(self) -> float:
        """What a step takes: the median of this session's, or where it made none the mean of all."""
        return median(self.pauses) if self.pauses else self.training.seconds / self.training.step

    def is_measured(self) -> bool:
        """Whether the validation loss after the last step is known."""
        return bool(self.curve) and self.curve[-1][0] == self.training.step

    def note(self, step: Step) -> None:
        """Keep the validation loss of a step, if it has one."""
        if step.val_loss is not None:
            self.curve.append([step.step, step.val_loss])

    def complete(self, measure: Measure) -> dict[str, Any]:
        """Measure what was trained, which may be interrupted, and save it once more with what was found.

        measure   returns numbers that JSON can hold, by name; they are added to the checkpoint's info
        returns   these numbers
        Raises `Ended` if a signal broke into the measuring, MemoryError as `train` does: then the checkpoint
        stands as it was saved before.
        """
        with deferred_signals() as stop, self.memory_in_one_line():
            try:
                with stop.interruptible():
                    found = measure()
            except KeyboardInterrupt:
                raise stop.end(f"not all was measured; {self.advice()}") from None
            self.save(finished=self.training.step == self.training.config.steps, **found)
            if stop:
                raise stop.end(f"all was measured and saved at {self.path}")
        return found

    @contextmanager
    def memory_in_one_line(self) -> Iterator[None]:
        """A context in which too little memory raises a MemoryError that says what stands where."""
        try:
            yield
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            where = f"out of memory after step {self.training.step} ({said})"
            raise MemoryError(f"{where}; {self.advice()}. A smaller batch_size needs less") from error

    # ------------------------------------------------------------ the file

    def save(self, finished: bool = False, **measured: Any) -> None:
        """Write the checkpoint, with the state of training unless it is finished.

        measured  numbers that are added to the checkpoint's info
        Raises FloatingPointError if the last step has made a weight nan, and BadInput if somebody else has
        replaced the file meanwhile: then it is left as it is, and this run is saved beside it.
        """
        training = self.training
        if training.team.is_main:
            info = {**self.info, "steps_done": training.step, "curve": self.curve, **measured}
            state = None if finished else training.state()
            made = Checkpoint(self.version, training.model, self.tokenizer, info, self.options, state)
            try:
                self._write(made)
            except checkpoints.NanWeights as error:
                raise FloatingPointError(
                    f"after step {training.step} {error}; it is not saved, and {self.advice()}. "
                    "Try a smaller lr_matrix and lr_other, or a longer warmup"
                ) from None
            except OSError as error:
                raise OSError(f"after step {training.step} {error}; {self.advice()}") from error
            self.seen, self.digest = stamp(self.path), checkpoints.stored_digest(self.path)
        self.saved_step, self.overwrite = training.step, True

    def _write(self, made: Checkpoint) -> None:
        if self.is_ours():
            checkpoints.save(self.path, made, self.overwrite)
            return
        stem = os.fsencode(self.path.stem)[:220].decode(errors="ignore")  # file systems hold 255 bytes
        beside = self.path.with_stem(f"{stem}-{self.training.step}-{os.getpid()}")
        checkpoints.save(beside, made)
        raise BadInput(
            f"{self.path} was replaced by somebody else while this run trained, and is left as it is; "
            f"what this run learned, to step {self.training.step}, stands at {beside}"
        )

    def is_ours(self) -> bool:
        """Whether what stands at the path is what this run saw or wrote there last, or nothing."""
        found = stamp(self.path)
        if found is None or found == self.seen:
            return True
        return self.digest is not None and checkpoints.stored_digest(self.path) == self.digest  # only touched

    def advice(self) -> str:
        """Where the run's last checkpoint stands, read from it: another process may have written it."""
        try:
            saved = checkpoints.load(self.path)
        except (BadInput, MemoryError, RuntimeError):
            return NOT_SAVED
        if saved.training is None or differing(saved, self.info):
            return NOT_SAVED
        return f"the checkpoint of step {saved.info['steps_done']} stands at {self.path}: {self.resume}"


def stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is replaced: its number, size and time of change; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def differing(saved: Checkpoint, info: dict[str, Any]) -> list[str]:
    """Names of what a checkpoint does not say as `info` does, once that has been through JSON as well."""
    return [name for name, x in json.loads(json.dumps(info)).items() if saved.info.get(name) != x]


# ---------------------------------------------------------------- going on


def load_unfinished(path: Path, version: str) -> tuple[Checkpoint, dict[str, Any]]:
    """Read the checkpoint of a run that is to be resumed.

    returns   the checkpoint, and the numbers that the run began with by the names of their flags
    Raises BadInput if there is no such run, if it is finished, or one of another version.
    """
    saved = checkpoints.load(path)
    try:
        plan = TrainConfig(**saved.info["train"])
        began = {**asdict(saved.model.config), **asdict(plan), "bound": saved.info.get("bound", False)}
        began["corpus"], done = str(saved.info["corpus"]), saved.info["steps_done"]
        began |= saved.info.get("flags", {})
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} does not say how it was trained: {error!r}") from None
    if saved.training is None:
        kind = "is finished" if done == plan.steps else "holds no state of training, only the model"
        raise BadInput(f"{path} {kind}, after {done} of {plan.steps} steps: nothing to resume")
    if saved.version != version:
        raise BadInput(f"{path} holds a run of {saved.version}, not of {version}")
    return saved, began


def load_own(path: Path, version: str, info: dict[str, Any]) -> Checkpoint | None:
    """What an earlier call of the same command left at a path, finished or not; None if nothing is there.

    info  what the checkpoint of this very run says of it
    Raises BadInput, naming the file, if anything else is there: it is the user's.
    """
    if not path.exists():
        return None
    saved = checkpoints.load(path)
    different = differing(saved, info)
    if saved.version != version or different:
        what = f"its {different[0]} differs" if different else f"a {saved.version}"
        raise BadInput(f"{path} is of another run ({what}) than the one to be made; move it away")
    return saved


def go_on(run: SavedRun, saved: Checkpoint) -> None:
    """Take a run up where its checkpoint stands; the model is the checkpoint's own.

    Raises BadInput if its state of training does not fit.
    """
    if saved.training is not None:
        run.training.restore(saved.training)
    run.curve = list(saved.info.get("curve", []))
    run.saved_step, run.overwrite = run.training.step, True


def require_same_text(path: Path, saved: Checkpoint, corpus: Corpus) -> None:
    """Raise BadInput unless a run learned from just this text; where it lies does not matter."""
    if saved.info.get("text") != corpus.fingerprint():
        raise BadInput(f"--corpus ({corpus.name}) is another text than the run in {path} began with")
