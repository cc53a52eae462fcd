"""One thread that paints, whoever asks for it and however often."""

from __future__ import annotations

import threading
from collections.abc import Callable

QUIET = 1.0  # seconds without a wake after which a painter is at rest


def nothing() -> None:
    """There is nothing to do at rest."""


class Painter:
    """Calls `paint` soon after every `wake`, never twice at a time, once for wakes that pile up.

    The thread lives only while there is something to paint, and a moment longer: a notebook with twenty
    views at rest has no thread more than one without.

    paint    draws what is true now; must not raise
    at_rest  called after each painting that no other followed for a moment; must not raise
    """

    def __init__(self, paint: Callable[[], None], at_rest: Callable[[], None] = nothing) -> None:
        self.paint, self.at_rest = paint, at_rest
        self.wanted = self.painting = False
        self.thread: threading.Thread | None = None
        self.change = threading.Condition()

    def wake(self) -> None:
        """Ask for a painting that begins after this call; returns at once."""
        with self.change:
            self.wanted = True
            self.change.notify_all()
            if self.thread is None:
                thread = threading.Thread(target=self._work, name="babygpt painter", daemon=True)
                thread.start()
                self.thread = thread

    def rest(self, timeout: float | None = None) -> bool:
        """Wait until all that was asked for is painted; False if that took longer than `timeout` seconds."""
        with self.change:
            return self.change.wait_for(lambda: not (self.wanted or self.painting), timeout)

    def _work(self) -> None:
        try:
            while True:
                while self._take():
                    self.paint()
                self.at_rest()
                if self._leaves():
                    return
        except BaseException:  # nobody waits for ever for a painter that is gone
            with self.change:
                self.wanted = self.painting = False
                self.thread = None
                self.change.notify_all()
            raise

    def _take(self) -> bool:
        """Whether there is something to paint, now or in a moment."""
        with self.change:
            self.painting = False
            self.change.notify_all()
            self.painting = self.change.wait_for(lambda: self.wanted, QUIET)
            self.wanted = False
            return self.painting

    def _leaves(self) -> bool:
        """Whether nothing came in the meantime; if so, this thread's time is over."""
        with self.change:
            if not self.wanted:
                self.thread = None
            return not self.wanted
