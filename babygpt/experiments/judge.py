"""A small v4 that reads what other models wrote, and tells how likely it finds it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.pretrain import require_characters
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.training import checkpoint as checkpoints
from babygpt.training import finish, train
from babygpt.training.checkpoint import Checkpoint

STEPS, BLOCK_SIZE = 600, 128


@dataclass(frozen=True)
class Judge:
    """A model that predicts the next token, where it is stored, and how well it knows the corpus.

    val_loss  on the corpus's validation text, nats per character
    """

    checkpoint: Checkpoint
    path: Path
    val_loss: float

    def told(self) -> dict[str, Any]:
        """What the results say of it."""
        return {"path": str(self.path), "version": self.checkpoint.version, "val_loss": self.val_loss}


def readable(corpus: Corpus) -> Corpus:
    """The same corpus without a MASK token, which no judge knows."""
    plain = CharTokenizer(corpus.tokenizer.characters)
    return Corpus(corpus.name, plain, corpus.train, corpus.val, corpus.grammar)


def load_judge(path: Path, corpus: Corpus, same_text: bool = False) -> Judge:
    """Read a judge back, and measure it.

    corpus     whose characters it must know, and on whose validation text it is measured
    same_text  whether it must have been trained on this very text
    Raises ValueError if it does not predict one text's next token, knows other characters, was trained on
    another text, and what `checkpoint.load` refuses.
    """
    loaded, plain = checkpoints.load(path), readable(corpus)
    kind = VERSIONS[loaded.version]
    if kind.masks or kind.branches:
        raise BadInput(f"{path} is a {loaded.version}; a judge predicts the next token, as v4 does")
    require_characters(loaded.tokenizer, plain.tokenizer, path)
    if same_text and loaded.info.get("text") != corpus.fingerprint():
        raise BadInput(f"{path} was trained on another text than {corpus.name}; give --judge another path")
    return measured(loaded, path, plain)


def measured(loaded: Checkpoint, path: Path, plain: Corpus) -> Judge:
    """A judge with its loss on the validation text."""
    objective = NextToken(plain, min(loaded.model.config.block_size, len(plain.val) - 1))
    return Judge(loaded, path, objective.validate(loaded.model.to(pick_device())))


def train_judge(path: Path, corpus: Corpus, steps: int = STEPS, seed: int = 1337) -> Judge:
    """Train a v4 behind a progress bar and store it.

    path    must not exist
    corpus  what it reads
    Raises KeyboardInterrupt if that was interrupted: then nothing is stored.
    """
    plain = readable(corpus)
    block_size = min(BLOCK_SIZE, len(plain.val) - 1, len(plain.train) - 1)
    plan = TrainConfig(steps=steps, seed=seed)
    objective = NextToken(plain, block_size)
    torch.manual_seed(seed)
    model = build("v4", ModelConfig(plain.tokenizer.vocab_size, block_size)).to(pick_device())
    history = finish(train(model, objective, plan), steps, "judge (v4)", leave=True)
    val_loss = history[-1].val_loss
    info = {"corpus": corpus.name, "text": corpus.fingerprint(), "train": asdict(plan), "steps_done": steps}
    checkpoint = Checkpoint("v4", model, plain.tokenizer, {**info, "val_loss": val_loss})
    checkpoints.save(path, checkpoint)
    return Judge(checkpoint, path, float(val_loss or objective.validate(model)))


def find_judge(path: Path | None, default: Path, corpus: Corpus, steps: int = STEPS) -> Judge:
    """The judge that a user means: one of their own, one kept from before, or one trained now.

    path     their own, or None
    default  where one trained here is kept
    Raises ValueError if the one that is kept was trained for another number of steps.
    """
    if path is not None:
        return load_judge(path, corpus)
    if not default.exists():
        return train_judge(default, corpus, steps)
    kept = load_judge(default, corpus, same_text=True)
    made = kept.checkpoint.info.get("steps_done")
    if made != steps:
        raise BadInput(f"{default} was trained for {made} steps, not {steps}: move it away, or say --judge")
    return kept
