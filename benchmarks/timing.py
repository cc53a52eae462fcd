"""Timing tasks in rounds: whatever else the machine does then slows all of them alike."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from tqdm import tqdm

from babygpt.errors import BadInput

Clock = Callable[[], float]  # seconds
Result = TypeVar("Result")


def device_clock(device: torch.device) -> Clock:
    """Make a clock, in seconds, that first waits until a GPU has done all that it was asked to do."""

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    return now


def require_rounds(rounds: int) -> None:
    """Raise BadInput unless there is at least one round."""
    if rounds < 1:
        raise BadInput(f"rounds ({rounds}) must be at least 1")


def run_in_rounds(
    tasks: Mapping[str, Callable[[], Result]], rounds: int, title: str
) -> dict[str, list[Result]]:
    """Call each of several functions once a round, in reverse order every other round.

    tasks    name -> function without arguments
    rounds   how often each is called, at least 1
    title    of the progress bar
    returns  name -> what the function returned, round by round
    Raises BadInput if rounds is below 1.
    """
    require_rounds(rounds)
    results: dict[str, list[Result]] = {name: [] for name in tasks}
    for i in tqdm(range(rounds), desc=title, mininterval=1):
        for name in list(tasks)[:: -1 if i % 2 else 1]:
            results[name].append(tasks[name]())
    return results
