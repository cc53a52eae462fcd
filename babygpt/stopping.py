"""Ctrl-C, and a system that asks a process to end: heard at once, heeded between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

HANG_UP = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none


class Ended(SystemExit):
    """The process ends because it was asked to; its exit status says by which signal, as a shell has it.

    line  what the user is told
    """

    def __init__(self, number: int, what: str = "what was stored before stands") -> None:
        super().__init__(128 + number)
        self.line = f"ended by {signal.Signals(number).name}: {what}"


def end_at_once(number: int, frame: FrameType | None = None) -> None:
    """End the process in order: locks are given back, and what is half-written is removed."""
    raise Ended(number)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """A context that SIGTERM and SIGHUP leave by raising `Ended`, where they would kill the process."""
    with listening({signal.SIGTERM, HANG_UP}, end_at_once):
        yield


@contextmanager
def listening(numbers: Iterable[int], hear: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """A context in which signals call a function, in the main thread.

    Those that are ignored, as under nohup, or that somebody else takes care of, are left to that.
    """
    usual, ours = {}, (signal.default_int_handler, signal.SIG_DFL, end_at_once)
    if threading.current_thread() is threading.main_thread():
        usual = {n: signal.signal(n, hear) for n in numbers if signal.getsignal(n) in ours}
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


class Stop:
    """What signals asked for while this was listening.

    asked      numbers of the signals that came, in their order
    breakable  whether the next one breaks into what is being done
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.breakable = False

    def __bool__(self) -> bool:
        return bool(self.asked)

    @property
    def is_urgent(self) -> bool:
        """Whether nothing is to be done any more but to save: the system asks, or Ctrl-C came twice."""
        return len(self.asked) > 1 or any(number != signal.SIGINT for number in self.asked)

    def hear(self, number: int, frame: FrameType | None = None) -> None:
        """Note a signal; raise KeyboardInterrupt if what is being done may be broken off."""
        self.asked.append(number)
        if self.breakable:
            raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """A context into which a signal breaks with KeyboardInterrupt; one that came twice does at once."""
        self.breakable = True
        try:
            if self.is_urgent:
                raise KeyboardInterrupt
            yield
        finally:
            self.breakable = False

    def end(self, what: str) -> Ended:
        """How the process is to end after what was asked, and what the user is told."""
        urgent = [number for number in self.asked if number != signal.SIGINT]
        return Ended((urgent or self.asked or [signal.SIGINT])[-1], what)


@contextmanager
def deferred_signals() -> Iterator[Stop]:
    """A context in which Ctrl-C, SIGTERM and SIGHUP break into nothing; it yields what they asked for.

    However often they come, what is being done is finished and saved.
    """
    stop = Stop()
    with listening({signal.SIGINT, signal.SIGTERM, HANG_UP}, stop.hear):
        yield stop
