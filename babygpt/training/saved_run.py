"""A run that `train` keeps on disk: written while it trains, taken up again with --resume."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.records import Step


@dataclass
class KeptRun:
    """A run and the file that it is kept in.

    path       of the checkpoint
    version    such as "v4"
    training   the run itself
    text       what it learns from
    info       what the checkpoint says of the run
    overwrite  whether a file that is there may be replaced; a run's own may always be
    """

    path: Path
    version: str
    training: Training
    text: Corpus
    info: dict[str, Any]
    overwrite: bool

    def __post_init__(self) -> None:
        self.training.team.advice = self.advice
        if self.training.team.leads:
            checkpoints.clear_leftovers(self.path)

    def steps(self, every: int) -> Iterator[Step]:
        """Train, writing a checkpoint after every so many steps; 0 for none on the way."""
        for step in self.training.steps():
            if every and step.step % every == 0 and step.step < self.training.config.steps:
                self.save()
            yield step

    def save(self, over: bool = False, **found: Any) -> None:
        """Write the checkpoint: with the state of training, unless it is over, and with what was found.

        Raises FloatingPointError if the last step has ruined the weights.
        """
        training = self.training
        if not training.team.leads:
            return
        info = self.info | {"steps_done": training.step} | found
        state = None if over else training.state()
        made = Checkpoint(self.version, training.model, self.text.tokenizer, info, training=state)
        try:
            checkpoints.save(self.path, made, self.overwrite)
        except checkpoints.Ruined as error:
            raise FloatingPointError(
                f"after step {training.step} {error}; it is not saved, and {self.advice()}. "
                "Try a smaller lr_matrix and lr_other, or a longer warmup"
            ) from None
        self.overwrite = True

    def advice(self) -> str:
        """Where the run's last checkpoint stands, read from it: another process may have written it."""
        try:
            saved = checkpoints.load(self.path)
        except ValueError:
            return "nothing was saved yet"
        if saved.training is None or any(saved.info.get(name) != x for name, x in self.info.items()):
            return "nothing was saved yet"
        done = saved.info.get("steps_done")
        how = "the same command goes on with --resume, and without --overwrite"
        return f"the checkpoint of step {done} stands at {self.path}: {how}"


def take_up(path: Path, version: str, values: dict[str, Any], given: set[str]) -> Checkpoint:
    """Read a run that is to go on, and let its numbers take the place of flags that were not given.

    path     of its checkpoint
    version  that the user names
    values   of all flags, by name; changed in place
    given    names of those on the command line
    Raises ValueError if there is nothing to go on with, or a flag that was given says something else.
    """
    saved = checkpoints.load(path)
    try:
        plan = TrainConfig(**saved.info["train"])
        began = {**asdict(saved.model.config), **asdict(plan), "bound": saved.info.get("bound", False)}
        corpus, done = str(saved.info["corpus"]), saved.info["steps_done"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} does not say how it was trained: {error!r}") from None
    if saved.training is None:
        kind = "is finished" if done == plan.steps else "holds no state of training, only the model"
        raise BadInput(f"{path} {kind}, after {done} of {plan.steps} steps: nothing to resume")
    if saved.version != version:
        raise BadInput(f"{path} holds a run of {saved.version}, not of {version}")
    for name in sorted(began.keys() & values.keys()):
        if name in given and values[name] != began[name]:
            flag = f"--{name.replace('_', '-')}"
            raise BadInput(f"{flag} ({values[name]}): the run in {path} began with {began[name]}")
        values[name] = began[name]
    if "corpus" not in given:
        values["corpus"] = corpus
    return saved


def require_text(path: Path, saved: Checkpoint, text: Corpus) -> None:
    """Raise a ValueError unless a run learned from just this text; where it lies does not matter."""
    if saved.info.get("text") != text.fingerprint():
        raise BadInput(f"--corpus ({text.name}) is another text than the run in {path} began with")
