"""Timing things in turn: what else the machine does then slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch
from tqdm import tqdm

from babygpt.errors import BadInput

Way = Callable[[], object]


def clock(device: torch.device) -> Callable[[], float]:
    """Seconds, read when a GPU has done all that it was asked to do."""

    def read() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    return read


def require_turns(turns: int) -> None:
    """Raise a ValueError unless something is measured at least once."""
    if turns < 1:
        raise BadInput(f"turns ({turns}) must be at least 1")


def in_turn(
    ways: Mapping[str, Way], turns: int, title: str, read: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds that each of several ways takes, once a turn, every other turn backwards.

    Raises ValueError if turns is below 1.
    """
    require_turns(turns)
    took: dict[str, list[float]] = {name: [] for name in ways}
    for turn in tqdm(range(turns), desc=title, mininterval=1):
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            start = read()
            ways[name]()
            took[name].append(read() - start)
    return took


def middle(values: Sequence[float]) -> list[float]:
    """First quartile, median and third quartile."""
    if len(values) == 1:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")
