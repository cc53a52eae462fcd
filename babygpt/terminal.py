"""The terminal of a process: print though it may be gone, and note signals such as Ctrl-C.

SIGINT, SIGTERM and SIGHUP are noted at once and obeyed between two training steps.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

HANG_UP = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none
ENDING = {signal.SIGTERM, HANG_UP}  # by default they kill the process


class Screen:
    """A stream that falls silent once it cannot be written to: its terminal is closed, or its disk full."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        """Write a text at once, if that can be done."""
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # ValueError: it was closed
            # Redirect it to nowhere, because Python writes to it once more when it ends.
            with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
                os.dup2(nowhere.fileno(), self.stream.fileno())

    def __getattr__(self, name: str) -> Any:  # its encoding, its width: a progress bar needs them
        return getattr(self.stream, name)


def echo(text: str, error: bool = False) -> None:
    """Print a line to stdout or stderr if that can be done, about work that is stored already."""
    Screen(sys.stderr if error else sys.stdout).write(f"{text}\n")


# ---------------------------------------------------------------- signals


class Ended(SystemExit):
    """The process ends because a signal asked for it; the exit status names the signal, as in a shell.

    line  what the user is told
    """

    def __init__(self, number: int, what: str = "what was stored before stands") -> None:
        super().__init__(128 + number)
        self.line = f"ended by {signal.Signals(number).name}: {what}"


def end_at_once(number: int, frame: FrameType | None = None) -> None:
    """Raise `Ended`, so that locks are given back and half-written files removed."""
    raise Ended(number)


@contextmanager
def handled(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a function for these signals while the context lasts, in the main thread.

    A signal that is ignored, as under nohup, or that other code handles, keeps its handler.
    """
    ours = (signal.default_int_handler, signal.SIG_DFL, end_at_once)
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {n: signal.signal(n, handler) for n in numbers if signal.getsignal(n) in ours}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Note the signals that ask for an end while the context lasts; they interrupt nothing.

    Yields the list of their numbers, in the order in which they come.
    """
    noted: list[int] = []
    with handled({signal.SIGINT, *ENDING}, lambda number, frame: noted.append(number)):
        yield noted
