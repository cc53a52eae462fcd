"""The two sets of numbers that define a run, and the checks of numbers by their annotations."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, wraps
from inspect import isclass, signature
from numbers import Integral, Real
from types import UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from babygpt.errors import BadInput

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
KINDS: Mapping[Any, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
}
# PyTorch's generators take larger seeds, but not one that is counted up from there.
VALID_SEEDS = range(-(2**63), 2**63)


def setting(default: Any, help: str) -> Any:
    """Return a dataclass field with a default and the sentence that `--help` shows for it."""
    return field(default=default, metadata={"help": help})


SAVE_EVERY = 100  # steps between two checkpoints of a run


# ---------------------------------------------------------------- numbers by their annotations


@cache
def annotations_of(owner: Any) -> Mapping[str, Any]:
    """Return the annotations of a dataclass, a function or an __init__; none if one cannot be read."""
    try:
        return get_type_hints(owner.__init__ if isclass(owner) and not is_dataclass(owner) else owner)
    except (NameError, TypeError):  # a name that only a type checker imports, or a builtin
        return {}


def require_kind(name: str, value: Any, annotation: Any) -> None:
    """Raise BadInput unless a value is of its annotated kind: int, float, bool, or one of these or None.

    Numbers of NumPy and PyTorch count as such. Other annotations are not checked, except tuples of numbers.
    """
    if get_origin(annotation) is tuple and isinstance(value, tuple | list):
        for part, kind in zip(value, get_args(annotation), strict=False):
            require_kind(name, part, kind)
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    allowed = [KINDS[kind] for kind in kinds if kind in KINDS]
    if not allowed or (value is None and type(None) in kinds):
        return
    is_scalar = getattr(value, "ndim", None) == 0  # a number of NumPy or PyTorch
    number = value.item() if is_scalar else value
    if not isinstance(number, tuple(kind for kind, _ in allowed)):
        raise BadInput(f"{name} ({value!r}) must be {' or '.join(words for _, words in allowed)}")


def require_kinds(owner: Any, values: Mapping[str, Any]) -> None:
    """Raise BadInput naming the first value that is not of the kind that a class or function annotates."""
    annotations = annotations_of(owner)
    for name, value in values.items():
        if name in annotations:
            require_kind(name, value, annotations[name])


def check_arguments(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function refuse arguments that are not of their annotated kinds, with BadInput. A decorator."""
    parameters = signature(function)

    @wraps(function)
    def check_and_call(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        require_kinds(function, parameters.bind(*args, **named).arguments)
        return function(*args, **named)

    return check_and_call


def require_positive(config: Any, *names: str) -> None:
    """Raise BadInput unless every field is of its annotated kind, a seed is in range, and these are above 0.

    Counts, which are annotated int, must be at least 1, and the others must be finite.
    """
    kind: Any = type(config)
    require_kinds(kind, {f.name: getattr(config, f.name) for f in fields(config)})
    if hasattr(config, "seed"):
        require_seed("seed", config.seed)
    for name in names:
        value = getattr(config, name)
        if annotations_of(kind).get(name) is float:
            if not value > 0:
                raise BadInput(f"{name} ({value}) must be above 0")
            require_finite_number(name, value)
        else:
            require_countable(name, value)


def require_countable(name: str, number: Any) -> None:
    """Raise BadInput unless a number is whole and at least 1."""
    if not isinstance(number, Integral) or int(number) < 1:
        raise BadInput(f"{name} ({number}) must be at least 1, and whole")


def require_finite_number(name: str, number: float) -> None:
    """Raise BadInput for nan and for an infinite number."""
    if not math.isfinite(number):
        raise BadInput(f"{name} ({number}) must be a finite number")


def require_seed(name: str, seed: int) -> None:
    """Raise BadInput for a seed that PyTorch's generators do not take."""
    if int(seed) not in VALID_SEEDS:
        raise BadInput(f"{name} ({seed}) must lie between -2^63 and 2^63 - 1")


# ---------------------------------------------------------------- the two sets


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model. Versions v1 and v2 use only the first, second and last number."""

    vocab_size: int = field(metadata={"help": "number of different tokens"})
    block_size: int = setting(192, "longest window the model is trained on, in tokens")
    n_layer: int = setting(4, "number of Transformer blocks")
    n_head: int = setting(4, "attention heads in each block")
    n_embd: int = setting(128, "width of the residual stream, in channels")

    def __post_init__(self) -> None:
        require_positive(self, *(f.name for f in fields(self)))
        if self.n_embd % self.n_head:
            raise BadInput(f"n_embd ({self.n_embd}) must be divisible by n_head ({self.n_head})")

    @property
    def head_dim(self) -> int:
        """Channels of one attention head."""
        return self.n_embd // self.n_head


@dataclass(frozen=True)
class TrainConfig:
    """The plan of a training. The defaults are the course's."""

    steps: int = setting(600, "number of optimizer steps")
    batch_size: int = setting(12, "windows in a batch")
    lr_matrix: float = setting(0.03, "peak learning rate of Muon, for the hidden matrices")
    lr_other: float = setting(0.02, "peak learning rate of AdamW, for embeddings, head and encodings")
    warmup: int = setting(10, "steps of linear warm-up")
    final_lr: float = setting(0.0, "learning rate at the end, as a share of the peak")
    weight_decay: float = setting(0.0, "decoupled weight decay of the hidden matrices")
    eval_every: int = setting(0, "steps between validation losses; 0 measures only at the end")
    seed: int = setting(1337, "seed of the batches")
    bf16: bool = setting(False, "multiply matrices in bfloat16; validation stays in float32")

    def __post_init__(self) -> None:
        require_positive(self, "steps", "batch_size", "lr_matrix", "lr_other")
        for name in ("warmup", "eval_every", "weight_decay"):
            if getattr(self, name) < 0:
                raise BadInput(f"{name} ({getattr(self, name)}) must be at least 0")
        require_finite_number("weight_decay", self.weight_decay)
        if not 0 <= self.final_lr <= 1:
            raise BadInput(f"final_lr ({self.final_lr}) must lie between 0 and 1")
