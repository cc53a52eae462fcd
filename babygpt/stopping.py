"""SIGINT, SIGTERM and SIGHUP: noted at once, obeyed between two training steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

HANG_UP = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none


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
def listening(numbers: Iterable[int], hear: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a function for these signals while the context lasts, in the main thread.

    A signal that is ignored, as under nohup, or that other code handles, keeps its handler.
    """
    ours = (signal.default_int_handler, signal.SIG_DFL, end_at_once)
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {n: signal.signal(n, hear) for n in numbers if signal.getsignal(n) in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `Ended` while the context lasts; by default they kill the process."""
    with listening({signal.SIGTERM, HANG_UP}, end_at_once):
        yield


@contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Note the signals that ask for an end while the context lasts; they interrupt nothing.

    Yields the list of their numbers, in the order in which they come.
    """
    noted: list[int] = []
    with listening({signal.SIGINT, signal.SIGTERM, HANG_UP}, lambda number, frame: noted.append(number)):
        yield noted
