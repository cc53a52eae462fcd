"""Checks around training: one trainer at a time on a model, known tokens, and finite losses."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.models.hook_checks import require_sound_hooks
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import own_classes
from babygpt.models.versions import require_version
from babygpt.objectives import Objective

# Each model that was trained has a lock. A live run trains in a thread of its own while the notebook goes on,
# so a cell below could train the same model at the same time, and the steps of both would mix. An RLock
# refuses other threads only. The keys are weak because this table must not keep models in memory.
TRAINERS = WeakKeyDictionary[LanguageModel, threading.RLock]()
WHAT_TO_TRY = "try a smaller lr_matrix and lr_other, or a longer warmup"


@contextmanager
def alone_with(model: LanguageModel) -> Iterator[None]:
    """Let this thread alone train or validate a model; several trainings of one model may take turns.

    Raises BadInput if another thread is training it.
    """
    lock = TRAINERS.setdefault(model, threading.RLock())
    if not lock.acquire(blocking=False):
        raise BadInput(
            f"this {type(model).__name__} is being trained in another thread, which continues: "
            "wait for its end, or give each training a model of its own"
        )
    try:
        yield
    finally:
        lock.release()


def require_vocabulary(model: LanguageModel, objective: Objective) -> None:
    """Raise BadInput if an objective's text holds tokens that a model does not know.

    Reads the texts `train` and `val` of an objective that has them, else the `vocab_size` of the objective.
    """
    texts = (getattr(objective, name, None) for name in ("train", "val"))
    largest = [int(ids.max()) for ids in texts if isinstance(ids, Tensor) and len(ids)]
    last = max(largest, default=getattr(objective, "vocab_size", 0) - 1)
    vocab_size = model.config.vocab_size
    if last >= vocab_size:
        raise BadInput(
            f"the text holds token {last}, and the model has 0 to {vocab_size - 1} only: "
            f"its vocab_size ({vocab_size}) should be that of the text's tokenizer"
        )


def require_gradients(model: LanguageModel) -> None:
    """Raise BadInput, saying what to write, where no step can move a weight of this model."""
    if torch.is_inference_mode_enabled() or not torch.is_grad_enabled():
        raise BadInput("training needs gradients: call it outside torch.no_grad() and torch.inference_mode()")
    parameters = list(model.parameters())
    if not any(p.requires_grad for p in parameters):
        raise BadInput("all weights of this model are frozen: write model.requires_grad_() to train them")
    if any(p.is_inference() for p in parameters):
        raise BadInput("this model was built under torch.inference_mode(), so it cannot train: build it anew")


def require_finite(name: str, value: float, step: int, lr: float) -> None:
    """Raise a FloatingPointError that names the step and what to try, if a loss is nan or infinite."""
    if not math.isfinite(value):
        raise FloatingPointError(f"{name} is {value} at step {step}, learning rate {lr:.2g}: {WHAT_TO_TRY}")


def require_sound_hooks_on_device(model: LanguageModel) -> None:
    """Raise BadInput if a hook of an encoding from outside fails on the model's device.

    `build` checked it where the model was built, so on a CPU nothing is left to check.
    """
    device = next(model.parameters()).device
    classes = own_classes(model)
    if device.type == "cpu" or not classes:
        return
    kind = require_version(model.version)
    for encoding in {model.encoding.of_layer(i) for i in range(model.config.n_layer)}:
        if type(encoding) in classes:
            require_sound_hooks(encoding, model.config, kind.branches, kind.masks, device)
