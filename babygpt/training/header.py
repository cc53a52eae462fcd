"""What may stand in the header of a checkpoint: the kind and range of every field, in one place.

A field that is missing is for its reader to miss, and one that is not named here may be anything: `info`
takes whatever JSON was saved with a model.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from babygpt.config import BEYOND, TrainConfig
from babygpt.errors import BadInput

Kind = tuple[str, Callable[[Any], bool]]  # what it is in words, and whether a value is of it


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number that PyTorch can count to, and no True."""
    return type(value) is int and -BEYOND <= value < BEYOND


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_whole(value) or (type(value) is float and math.isfinite(value))


def is_plan(value: Any) -> bool:
    """Whether a value holds numbers of a TrainConfig, whose own checks name what they refuse."""
    if not isinstance(value, dict):
        return False
    TrainConfig(**{f.name: value[f.name] for f in fields(TrainConfig) if f.name in value})
    return True


def is_curve(value: Any) -> bool:
    """Whether a value is a list of pairs: the step, and the loss after it."""

    def is_pair(x: Any) -> bool:
        return isinstance(x, list) and len(x) == 2 and is_whole(x[0]) and is_number(x[1])

    return isinstance(value, list) and all(map(is_pair, value))


TEXT: Kind = ("a text", lambda x: isinstance(x, str))
FLAG: Kind = ("true or false", lambda x: isinstance(x, bool))
TABLE: Kind = ("values by name", lambda x: isinstance(x, dict))
LETTERS: Kind = (
    "a list of single characters",
    lambda x: isinstance(x, list) and all(isinstance(char, str) and len(char) == 1 for char in x),
)
WHOLE: Kind = ("a whole number", is_whole)
COUNT: Kind = ("a whole number of at least 0", lambda x: is_whole(x) and x >= 0)
SECONDS: Kind = ("a number of at least 0", lambda x: is_number(x) and x >= 0)
NUMBERS: Kind = ("numbers by name", lambda x: isinstance(x, dict) and all(map(is_number, x.values())))

HEADER: dict[str, Kind] = {
    **{"version": TEXT, "config": TABLE, "characters": LETTERS, "with_mask": FLAG},
    **{"info": TABLE, "options": TABLE, "training": TABLE},
}
INFO: dict[str, Kind] = {
    **{"corpus": TEXT, "text": TEXT, "bound": FLAG, "train": ("the numbers of a training", is_plan)},
    **{"steps_done": COUNT, "tokens": COUNT, "batch_size": COUNT, "seed": WHOLE, "seconds": SECONDS},
    **{"curve": ("steps, each with its loss", is_curve), "flags": TABLE},
}
TRAINING: dict[str, Kind] = {
    **{"step": COUNT, "tokens": COUNT, "seconds": SECONDS, "steered": NUMBERS, "next_batch": TEXT},
}


def require_header(header: Mapping[str, Any]) -> None:
    """Raise BadInput naming the first field of a header that is not of its kind."""
    require_kinds("", header, HEADER)
    require_kinds("info.", header.get("info", {}), INFO)
    require_kinds("training.", header.get("training", {}), TRAINING)


def require_kinds(where: str, values: Mapping[str, Any], kinds: Mapping[str, Kind]) -> None:
    """Raise BadInput naming the first of these values that is not of its kind, `where` before its name."""
    for name, (words, fits) in kinds.items():
        if name in values and not fits(values[name]):
            raise BadInput(f"{where}{name} ({reprlib.repr(values[name])}) must be {words}")
