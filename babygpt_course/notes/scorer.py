"""A small v4 that scores what other models wrote: how likely it finds their texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, without_mask
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.files import file_lock
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.saved_run import SavedRun, go_on, load_own
from babygpt_course.notes.pretrain import require_same_characters

STEPS, BLOCK_SIZE = 600, 128


@dataclass(frozen=True)
class Scorer:
    """A model that predicts the next token, where it is stored, and how well it knows the corpus.

    val_loss  on the corpus's validation text, nats per character
    """

    checkpoint: Checkpoint
    path: Path
    val_loss: float

    def describe(self) -> dict[str, Any]:
        """What is stored of it beside its scores: its path, version and validation loss."""
        return {"path": str(self.path), "version": self.checkpoint.version, "val_loss": self.val_loss}


def load_scorer(path: Path, corpus: Corpus, same_text: bool = False) -> Scorer:
    """Read a scorer back, and measure its loss on the validation text.

    corpus     whose characters it must know, and on whose validation text it is measured
    same_text  whether it must have been trained on this very text
    Raises BadInput if it does not predict one text's next token, knows other characters, was trained on
    another text, and what `checkpoint.load` refuses.
    """
    loaded, plain = checkpoints.load(path), without_mask(corpus)
    kind = VERSIONS[loaded.version]
    if kind.masks or kind.branches:
        raise BadInput(f"{path} is a {loaded.version}; a judge predicts the next token, as v4 does")
    require_same_characters(loaded.tokenizer, plain.tokenizer, path)
    if same_text and loaded.info.get("text") != corpus.fingerprint():
        raise BadInput(f"{path} was trained on another text than {corpus.name}; give --judge another path")
    objective = NextToken(plain, min(loaded.model.config.block_size, len(plain.val) - 1))
    return Scorer(loaded, path, objective.validate(loaded.model.to(pick_device())))


def train_scorer(path: Path, corpus: Corpus, steps: int = STEPS, seed: int = 1337) -> Scorer:
    """Train a v4 behind a progress bar and store it, or go on with one that was begun like this.

    path    of its checkpoint
    corpus  what it reads
    Raises KeyboardInterrupt if that was interrupted: what it learned so far is stored. Raises `InUse` if
    another process trains it, and BadInput if something else is stored there.
    """
    plain = without_mask(corpus)
    block_size = min(BLOCK_SIZE, len(plain.val) - 1, len(plain.train) - 1)
    plan, objective = TrainConfig(steps=steps, seed=seed), NextToken(plain, block_size)
    info = {"corpus": corpus.name, "text": corpus.fingerprint(), "train": asdict(plan)}
    resume = "the same command goes on"
    with file_lock(path):
        torch.manual_seed(seed)
        saved = load_own(path, "v4", info)
        config = ModelConfig(plain.tokenizer.vocab_size, block_size)
        model = (saved.model if saved else build("v4", config)).to(pick_device())
        run = SavedRun(path, "v4", Training(model, objective, plan), plain.tokenizer, info, resume=resume)
        if saved:
            go_on(run, saved)
        if not run.train(title="judge (v4)"):
            raise KeyboardInterrupt
        val_loss = run.complete(lambda: {"val_loss": run.curve[-1][1]})["val_loss"]
    return Scorer(checkpoints.load(path), path, float(val_loss))


def find_scorer(path: Path | None, default: Path, corpus: Corpus, steps: int = STEPS) -> Scorer:
    """The scorer that a user means: one of their own, one stored before, or one trained now.

    path     their own, or None
    default  where one trained here is stored
    Raises BadInput if the one that is stored was trained for another number of steps.
    """
    if path is not None:
        return load_scorer(path, corpus)
    if not default.exists() or checkpoints.load(default).training is not None:
        return train_scorer(default, corpus, steps)
    stored = load_scorer(default, corpus, same_text=True)
    made = stored.checkpoint.info.get("steps_done")
    if made != steps:
        raise BadInput(f"{default} was trained for {made} steps, not {steps}: move it away, or say --judge")
    return stored
