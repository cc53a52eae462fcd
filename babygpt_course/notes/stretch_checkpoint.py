"""A checkpoint made to read further than its window, in several ways: `python -m babygpt compare stretch`.

Loss and memory are asked apart. What reading further changes is measured on the same characters. What was
told far back is asked for outright, where the text is the corpus "recall": a model that forgets loses nothing
on text that needs no memory.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from babygpt.config import TrainConfig, require_positive, require_seed, setting, settle_numbers
from babygpt.data.corpus import Corpus, recall_corpus
from babygpt.data.recall import NOTE, USUAL
from babygpt.device import pick_device
from babygpt.encodings import Rotary
from babygpt.errors import BadInput
from babygpt.memory import CHANNEL, LOGIT, BatchShape, require_memory, require_memory_to_train
from babygpt.metrics.next_token import position_matched_change
from babygpt.metrics.recall import recall_by_distance
from babygpt.models.stretching import METHODS, stretched
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS
from babygpt.objectives import NextToken
from babygpt.training import checkpoint as checkpoints
from babygpt.training import finish, train
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.studies.stretch import FINE_RATE

CONTROL = "control"  # not stretched, and trained on at the old length for as many steps as the others
AT_OLD_LENGTH = (CONTROL, "drop")  # what DroPE drops is recalibrated at the length of training
NEAREST, RECALLS = 48, 64  # characters from what is told to where it is asked; windows for each distance
Row = dict[str, Any]


@dataclass(frozen=True)
class StretchConfig:
    """How a checkpoint is stretched and measured.

    factors  how many windows are read, whole numbers of at least 2
    methods  some of METHODS
    """

    factors: Sequence[int]
    methods: Sequence[str] = tuple(METHODS)
    windows: int = setting(32, "long windows of validation text, or as many as it has side by side")
    fine_tune: int = setting(0, "steps that a copy is trained for at the new length before it is measured")
    seed: int = setting(1337, "seed of the batches of these steps")

    def __post_init__(self) -> None:
        settle_numbers(self)
        require_positive(self, "windows")
        require_seed(self.seed)
        if self.fine_tune:
            require_positive(self, "fine_tune")
        for name, values in (("factors", self.factors), ("methods", self.methods)):
            if not values or len(set(values)) < len(values):
                listed = ", ".join(map(str, values))
                raise BadInput(f"{name} ({listed}) must name at least one, and none of them twice")
        if too_small := [factor for factor in self.factors if factor < 2]:
            raise BadInput(f"factors ({too_small[0]}) must be at least 2: 4 is for texts four times as long")
        if unknown := [method for method in self.methods if method not in METHODS]:
            raise BadInput(f"methods ({unknown[0]}) must be some of {', '.join(METHODS)}")


def load_stretchable(path: Path) -> Checkpoint:
    """Read a checkpoint with RoPE in some layers or all, and no code in the others.

    Raises BadInput for another one, and what `checkpoint.load` refuses.
    """
    loaded = checkpoints.load(path)
    kind, model = VERSIONS[loaded.version], loaded.model
    if isinstance(model, Transformer) and not kind.masks and not kind.branches:
        found = {type(model.encoding.of_layer(i)).__name__ for i in range(model.config.n_layer)}
        if Rotary.__name__ in found <= {Rotary.__name__, "Encoding"}:
            return loaded
    raise BadInput(
        f"{path} ({loaded.version}) cannot be stretched; what can has RoPE in some layers or all, as v4 has, "
        "and no code in the others"
    )


def model_of(loaded: Checkpoint) -> Transformer:
    """The model of a checkpoint that `load_stretchable` returned."""
    assert isinstance(loaded.model, Transformer)
    return loaded.model


# ---------------------------------------------------------------- refused before it begins


def require_stretch(loaded: Checkpoint, corpus: Corpus, config: StretchConfig) -> None:
    """Raise BadInput, before anything is trained or measured, for a factor or a method that cannot be.

    The text may be too short for such windows, the memory too small, or the model's heads.
    """
    shape = loaded.model.config
    for factor in config.factors:
        length = factor * shape.block_size
        what = f"factor {factor}: windows of {length} characters"
        require_length(corpus, corpus.val, length, what)
        least = LOGIT * shape.vocab_size + CHANNEL * shape.n_embd  # of a token, however attention is computed
        require_memory(what, length * least, pick_device())
        if config.fine_tune:
            require_length(corpus, corpus.train, length, what)
            plan, longer = fine_tuning(loaded, factor, config), replace(shape, block_size=length)
            require_memory_to_train(loaded.model, longer, plan, BatchShape(plan.batch_size, length))
        for method in config.methods:
            stretched(model_of(loaded), method, factor)


def require_length(corpus: Corpus, part: Tensor, length: int, what: str) -> None:
    """Raise BadInput, naming the length that is needed, for a part of a corpus without such a window."""
    if len(part) <= length:
        name = "validation" if part is corpus.val else "training"
        raise BadInput(
            f"{what} need a {name} text of at least {length + 1}; that of {corpus.name} has {len(part)}"
        )


# ---------------------------------------------------------------- training on


def fine_tuning(loaded: Checkpoint, factor: int, config: StretchConfig) -> TrainConfig:
    """How a copy is trained at the new length, with the characters a step that the checkpoint had.

    Where they are no whole number of long windows, there is a part of one more; rates are FINE_RATE of the
    checkpoint's own.
    """
    given = loaded.info.get("train", {})
    began = TrainConfig(**{f.name: given[f.name] for f in fields(TrainConfig) if f.name in given})
    return TrainConfig(
        config.fine_tune,
        batch_size=math.ceil(began.batch_size / factor),
        lr_matrix=FINE_RATE * began.lr_matrix,
        lr_other=FINE_RATE * began.lr_other,
        seed=config.seed,
    )


def fine_tuned(
    loaded: Checkpoint, method: str, factor: int, corpus: Corpus, config: StretchConfig
) -> Transformer:
    """A copy of a checkpoint's model, stretched and trained on; what was loaded stays as it is.

    method  CONTROL and "drop" are trained at the old length, with as many characters a step as the others
    """
    model, plan = model_of(loaded), fine_tuning(loaded, factor, config)
    block_size = model.config.block_size
    own = copy.deepcopy(stretched(model, "none" if method == CONTROL else method, factor))
    if method in AT_OLD_LENGTH:
        objective = NextToken(corpus, block_size)
        plan = replace(plan, batch_size=factor * plan.batch_size)
    else:
        objective = NextToken(with_further_notes(corpus, (factor - 1) * block_size), factor * block_size)
    finish(train(own, objective, plan), plan.steps, f"{method}, factor {factor}")
    return own


def with_further_notes(corpus: Corpus, more: int) -> Corpus:
    """The corpus "recall" with values asked so many characters later at most; any other as it is."""
    if corpus.name != "recall":
        return corpus
    return recall_corpus(len(corpus.train), replace(USUAL, furthest=USUAL.furthest + more))


# ---------------------------------------------------------------- measuring


def distances(block_size: int, factor: int) -> list[int]:
    """Characters from what is told to where it is asked: NEAREST, or what fits one window, and doubled."""
    first, length = min(NEAREST, 3 * block_size // 4), factor * block_size
    return [d for i in range(length.bit_length()) if NOTE <= (d := first * 2**i) <= length - NOTE]


def recalled(model: Transformer, corpus: Corpus, block_size: int, factor: int) -> dict[str, float]:
    """Share of right values at each distance, and "untold", where nothing was told; none of another text."""
    if corpus.name != "recall" or not (asked := distances(block_size, factor)):
        return {}
    how = {"n": RECALLS, "length": factor * block_size}
    told = recall_by_distance(model, corpus.tokenizer, asked, **how).accuracy
    untold = recall_by_distance(model, corpus.tokenizer, asked[:1], is_told=False, **how).accuracy
    return {**{str(d): float(x) for d, x in zip(asked, told, strict=True)}, "untold": float(untold[0])}


def measure(model: Transformer, within: Transformer, factor: int, corpus: Corpus, n_windows: int) -> Row:
    """What is asked of a stretched model.

    within  the model that it was made of
    returns "change" and its standard error "se": nats per character that reading `factor` windows changes,
            against `within` in one; "windows" that they are measured on, side by side; "loss" in one window;
            "recall" as `recalled` returns it
    """
    block_size = within.config.block_size
    row: Row = {"factor": factor, "windows": 0, "change": None, "se": None}
    if factor > 1:
        length = factor * block_size
        n = min(n_windows, (len(corpus.val) - 1) // length)
        change, error = position_matched_change(model, corpus.val, length, n, within=within)
        row |= {"windows": n, "change": change, "se": error if math.isfinite(error) else None}
    loss = NextToken(corpus, block_size).validate(model)
    return {**row, "loss": loss, "recall": recalled(model, corpus, block_size, factor)}


def measure_stretches(loaded: Checkpoint, corpus: Corpus, config: StretchConfig) -> Iterator[Row]:
    """Measure a checkpoint as it is, then under each factor and method.

    loaded  as `load_stretchable` returns it; no weight of it is changed
    corpus  with its characters; its validation text is what all are measured on
    yields  a row as soon as it is measured: "method", and what `measure` returns. The first is "as it is", of
            factor 1; with fine-tuning each factor has a row CONTROL.
    Raises BadInput as `require_stretch` does, and KeyboardInterrupt where a training is interrupted.
    """
    require_stretch(loaded, corpus, config)
    model = model_of(loaded).to(pick_device())
    yield {"method": "as it is", **measure(model, model, 1, corpus, config.windows)}
    for factor in config.factors:
        for method in (*([CONTROL] if config.fine_tune else []), *config.methods):
            if config.fine_tune:
                longer = fine_tuned(loaded, method, factor, corpus, config)
            else:
                longer = stretched(model, method, factor)
            yield {"method": method, **measure(longer, model, factor, corpus, config.windows)}
