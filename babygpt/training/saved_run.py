"""A run on disk: its checkpoint is written while it trains, and it can be resumed from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.files import remove_leftovers
from babygpt.training.records import Step

NOT_SAVED = "nothing was saved yet"


@dataclass
class SavedRun:
    """A training and the file that its checkpoints are written to.

    path       of the checkpoint
    version    such as "v4"
    training   the run itself
    corpus     what it learns from
    info       what the checkpoint says of the run
    overwrite  whether a file that is there may be replaced; a run's own may always be
    options    what was chosen of the model's encoding when it was built
    """

    path: Path
    version: str
    training: Training
    corpus: Corpus
    info: dict[str, Any]
    overwrite: bool
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.training.team.advice = self.advice
        if self.training.team.is_main:
            remove_leftovers(self.path)

    def steps(self, save_every: int) -> Iterator[Step]:
        """Train, writing a checkpoint after every `save_every` steps but the last; 0 writes none."""
        for step in self.training.steps():
            if save_every and step.step % save_every == 0 and step.step < self.training.config.steps:
                self.save()
            yield step

    def save(self, finished: bool = False, **measured: Any) -> None:
        """Write the checkpoint, with the state of training unless it is finished.

        measured  numbers that are added to the checkpoint's info
        Raises FloatingPointError if the last step has made a weight nan.
        """
        training = self.training
        if not training.team.is_main:
            return
        info = self.info | {"steps_done": training.step} | measured
        state = None if finished else training.state()
        tokenizer = self.corpus.tokenizer
        checkpoint = Checkpoint(self.version, training.model, tokenizer, info, self.options, state)
        try:
            checkpoints.save(self.path, checkpoint, self.overwrite)
        except checkpoints.NanWeights as error:
            raise FloatingPointError(
                f"after step {training.step} {error}; it is not saved, and {self.advice()}. "
                "Try a smaller lr_matrix and lr_other, or a longer warmup"
            ) from None
        self.overwrite = True

    def advice(self) -> str:
        """Where the run's last checkpoint stands, read from it: another process may have written it."""
        try:
            saved = checkpoints.load(self.path)
        except BadInput:
            return NOT_SAVED
        if saved.training is None or any(saved.info.get(name) != x for name, x in self.info.items()):
            return NOT_SAVED
        done = saved.info.get("steps_done")
        how = "the same command goes on with --resume, and without --overwrite"
        return f"the checkpoint of step {done} stands at {self.path}: {how}"


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
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} does not say how it was trained: {error!r}") from None
    if saved.training is None:
        kind = "is finished" if done == plan.steps else "holds no state of training, only the model"
        raise BadInput(f"{path} {kind}, after {done} of {plan.steps} steps: nothing to resume")
    if saved.version != version:
        raise BadInput(f"{path} holds a run of {saved.version}, not of {version}")
    return saved, began


def require_same_text(path: Path, saved: Checkpoint, corpus: Corpus) -> None:
    """Raise BadInput unless a run learned from just this text; where it lies does not matter."""
    if saved.info.get("text") != corpus.fingerprint():
        raise BadInput(f"--corpus ({corpus.name}) is another text than the run in {path} began with")
