"""How large a model is, told without making it."""

from __future__ import annotations

from torch import nn

from babygpt.config import ModelConfig, TrainConfig
from babygpt.room import require_room

BYTES = 4  # of a weight
COPIES = 3  # of every weight in training: itself, its gradient, and the optimizer's memory of it


def require_room_for(config: ModelConfig, blocks: bool = True) -> None:
    """Raise a ValueError unless a model that is not made yet fits into memory, whatever its encoding needs.

    config  the shape
    blocks  whether there are any, each of 4 square matrices for attention, and 8 more for the MLP
    """
    layers = config.n_layer if blocks else 0
    weights = 2 * config.vocab_size * config.n_embd + 12 * layers * config.n_embd**2
    require_room(f"the weights of {told(config)}", BYTES * weights)


def require_room_to_train(model: nn.Module, shape: ModelConfig, plan: TrainConfig) -> None:
    """Raise a ValueError if the memory is too small for a training, whatever else it may need.

    Counted are what every weight takes, and of every block the stream that it passes on.
    """
    device = next(model.parameters()).device
    weights = sum(p.numel() for p in model.parameters())
    blocks = max(1, len(getattr(model, "blocks", ())))
    stream = plan.batch_size * shape.block_size * shape.n_embd * blocks
    what = f"batches of {plan.batch_size} windows (batch_size) and {told(shape)}"
    require_room(what, BYTES * (COPIES * weights + stream), device)


def told(config: ModelConfig) -> str:
    """A shape in words."""
    return f"n_layer {config.n_layer}, n_embd {config.n_embd} and block_size {config.block_size}"
