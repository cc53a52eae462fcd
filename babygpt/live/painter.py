"""One thread that paints, whoever asks and however often."""

from __future__ import annotations

import threading
from collections.abc import Callable

IDLE_SECONDS = 1.0  # without a wake, after which a painter is idle


def as_failure(error: BaseException, doing: str) -> Exception:
    """Return what another thread may raise about an error that came up while `doing` something.

    A KeyboardInterrupt or SystemExit of one thread, raised in another, would be taken for the reader's own.
    """
    if isinstance(error, Exception):
        return error
    failure = RuntimeError(f"{type(error).__name__} while {doing}")
    failure.__cause__ = error
    return failure


class Painter:
    """Calls `paint` soon after every `wake`, never twice at a time, once for wakes that pile up.

    The thread lives only while there is something to paint, and a moment longer: a notebook with twenty
    idle views has no thread more than one without.

    paint    draws what is true now; must not raise
    on_idle  called after each painting that no other followed for a moment; must not raise
    error    what one of them raised all the same, until something is painted again; None if nothing
    """

    def __init__(self, paint: Callable[[], None], on_idle: Callable[[], None]) -> None:
        self.paint, self.on_idle = paint, on_idle
        self.wanted = self.painting = False
        self.thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self.change = threading.Condition()

    def wake(self) -> None:
        """Ask for a painting that begins after this call; returns at once."""
        with self.change:
            if self.thread is None:
                thread = threading.Thread(target=self._work, name="babygpt painter", daemon=True)
                thread.start()  # where there can be no more threads, nothing is asked for
                self.thread = thread
            self.wanted = True
            self.change.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all that was asked for is painted; False if that took longer than `timeout` seconds."""
        with self.change:
            return self.change.wait_for(lambda: not (self.wanted or self.painting), timeout)

    def _work(self) -> None:
        try:
            while True:
                while self._wait_for_wake():
                    self.paint()
                    self.error = None
                self.on_idle()
                if self._retire():
                    return
        except BaseException as error:  # nobody waits for ever for a painter that is gone
            with self.change:
                self.error = error
                self.wanted = self.painting = False
                self.thread = None
                self.change.notify_all()
            raise

    def _wait_for_wake(self) -> bool:
        """Wait a moment for something to paint; whether there is something."""
        with self.change:
            self.painting = False
            self.change.notify_all()
            self.painting = self.change.wait_for(lambda: self.wanted, IDLE_SECONDS)
            self.wanted = False
            return self.painting

    def _retire(self) -> bool:
        """Whether nothing came in the meantime; if so, this thread is to end."""
        with self.change:
            if not self.wanted:
                self.thread = None
            return not self.wanted
