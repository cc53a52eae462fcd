"""Random inputs for checkers: numbers, Python's own generator, models with random weights."""

import random
from typing import Any

import torch
from torch import Generator, nn


def dice(draw: Generator) -> random.Random:
    """Return Python's own random generator, with a drawn seed."""
    return random.Random(int(torch.randint(2**30, (), generator=draw)))


def integer(draw: Generator, low: int, high: int) -> int:
    """Draw a whole number from low up to, but not including, high."""
    return int(torch.randint(low, high, (), generator=draw))


def randomize_(model: nn.Module, draw: Generator) -> Any:
    """Fill a model with random weights, so that an untrained one computes something, and return it."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=draw) * p.shape[-1] ** -0.5)
    return model
