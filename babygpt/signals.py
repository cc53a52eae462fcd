"""Signals such as Ctrl-C: SIGINT, SIGTERM and SIGHUP are noted at once and obeyed between two steps."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

HANG_UP = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none
ENDING = {signal.SIGTERM, HANG_UP}  # they kill the process by default


class Ended(SystemExit):
    """End of the process at the request of a signal; the exit status names the signal, as in a shell.

    line  message for the user
    """

    def __init__(self, number: int, what: str = "earlier files are kept") -> None:
        super().__init__(128 + number)
        self.line = f"ended by {signal.Signals(number).name}: {what}"


def end_at_once(number: int, frame: FrameType | None = None) -> None:
    """Raise `Ended`, so that locks are given back and half-written files removed."""
    raise Ended(number)


@contextmanager
def handle_signals(
    numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
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
    with handle_signals({signal.SIGINT, *ENDING}, lambda number, frame: noted.append(number)):
        yield noted
