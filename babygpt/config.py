"""The two sets of numbers that define a run: the shape of the model, and the plan of its training."""

from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from babygpt.errors import BadInput


def setting(default: Any, help: str) -> Any:
    """Return a dataclass field with a default and the sentence that `--help` shows for it."""
    return field(default=default, metadata={"help": help})


SAVE_EVERY = 100  # steps between two checkpoints of a run


def require_positive(config: Any, *names: str) -> None:
    """Raise BadInput naming the first of these fields that is not above 0: counts must be at least 1."""
    for name in names:
        value = getattr(config, name)
        if isinstance(value, int):
            require_countable(name, value)
        elif not value > 0:
            raise BadInput(f"{name} ({value}) must be above 0")


def require_countable(name: str, number: Any) -> None:
    """Raise BadInput unless a number is whole and at least 1."""
    if not isinstance(number, Integral) or int(number) < 1:
        raise BadInput(f"{name} ({number}) must be at least 1, and whole")


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
        if not 0 <= self.final_lr <= 1:
            raise BadInput(f"final_lr ({self.final_lr}) must lie between 0 and 1")
