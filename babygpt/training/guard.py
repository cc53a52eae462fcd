"""What no training may begin with: tokens that the model does not know, and another thread that trains it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from torch import Tensor

from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective

BUSY: WeakKeyDictionary[LanguageModel, threading.Thread] = WeakKeyDictionary()  # model -> who is at it now


@contextmanager
def alone_with(model: LanguageModel) -> Iterator[None]:
    """A context in which this thread alone trains or validates a model; several trainings may take turns.

    Raises BadInput if another thread is at it just now.
    """
    me = threading.current_thread()
    other = BUSY.setdefault(model, me)
    if other is not me and other.is_alive():  # one that has died in a step will not come back
        raise BadInput(
            f"this {type(model).__name__} is being trained in another thread ({other.name}), which goes on: "
            "wait for its end, or give each training a model of its own"
        )
    BUSY[model] = me
    try:
        yield
    finally:
        BUSY.pop(model, None)


def require_vocabulary(model: LanguageModel, objective: Objective) -> None:
    """Raise BadInput if an objective's text holds tokens that a model does not know.

    Looks at the texts `train` and `val` of an objective that has them, and at `vocab_size` of one that draws
    its own.
    """
    parts = (getattr(objective, name, None) for name in ("train", "val"))
    ends = [int(ids.max()) for ids in parts if isinstance(ids, Tensor) and len(ids)]
    last = max(ends, default=getattr(objective, "vocab_size", 0) - 1)
    known = model.config.vocab_size
    if last >= known:
        raise BadInput(
            f"the text holds token {last}, and the model knows 0 to {known - 1} only: "
            f"its vocab_size ({known}) should be that of the text's tokenizer"
        )
