"""Faults that a test plants in a command's process before the command runs.

A test names them as text, such as "signal_at_step(3, 'SIGKILL')"; `conftest.start` runs that text first.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

from babygpt.training.loop import Training

CHANGES = ("fsync", "replace", "unlink")  # A command changes its files with these functions of os.


def before_step(act: Callable[[int], None]) -> None:
    """Call a function with the step's number before each optimizer step."""
    make_step = Training.make_step

    def act_and_make_step(self: Training, *args: Any, **named: Any) -> Any:
        act(self.step + 1)
        return make_step(self, *args, **named)

    Training.make_step = act_and_make_step  # type: ignore[method-assign]


def signal_at_step(step: int, *names: str) -> None:
    """Send signals to this process before it makes a step."""

    def send(number: int) -> None:
        if number == step:
            for name in names:
                os.kill(os.getpid(), getattr(signal, name))

    before_step(send)


def signal_at_change(nth: int, name: str) -> None:
    """Send a signal to this process at the n-th moment before or after it changes files."""
    moments = 0

    def count() -> None:
        nonlocal moments
        moments += 1
        if moments == nth:
            os.kill(os.getpid(), getattr(signal, name))

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            count()
            try:
                return change(*args, **named)
            finally:
                count()

        return call

    for change in CHANGES:
        setattr(os, change, counted(getattr(os, change)))


def log_steps(path: str) -> None:
    """Add a byte to a file for every step that is begun."""

    def log(number: int) -> None:
        with open(path, "ab") as file:
            file.write(b".")

    before_step(log)
