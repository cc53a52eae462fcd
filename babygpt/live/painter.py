"""One thread that paints, whoever asks for it and however often."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Painter:
    """Calls `paint` soon after every `wake`, never twice at a time, once for wakes that pile up.

    The thread lives only while there is something to paint: a notebook with twenty views at rest has
    no thread more than one without.

    paint   draws what is true now; must not raise
    """

    def __init__(self, paint: Callable[[], None]) -> None:
        self.paint = paint
        self.wanted = False
        self.thread: threading.Thread | None = None
        self.change = threading.Condition()

    def wake(self) -> None:
        """Ask for a painting that begins after this call; returns at once."""
        with self.change:
            self.wanted = True
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name="babygpt painter", daemon=True)
                self.thread.start()

    def rest(self, timeout: float | None = None) -> bool:
        """Wait until all that was asked for is painted; False if that took longer than `timeout` seconds."""
        with self.change:
            return self.change.wait_for(lambda: self.thread is None, timeout)

    def _work(self) -> None:
        while self._take():
            self.paint()

    def _take(self) -> bool:
        """Whether there is something to paint; if not, this thread's time is over."""
        with self.change:
            wanted, self.wanted = self.wanted, False
            if not wanted:
                self.thread = None
                self.change.notify_all()
            return wanted
