"""A cell that waits for a run, and stays alive while it does."""

from __future__ import annotations

from collections.abc import Callable

from babygpt.live.serving import page_served

LOOK = 0.02  # seconds between two looks at what the page asks; an interrupt gets through on every system


class WaitInterrupted(KeyboardInterrupt):
    """Somebody interrupted a cell that waited; what it waited for goes on. Shown in one line.

    title  of the run
    """

    def __init__(self, title: str) -> None:
        super().__init__(f"the waiting ended; {title} trains on. Its stop button ends it, or run.stop()")

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}."]


def wait_and_serve(over: Callable[[float], bool]) -> None:
    """Wait until it is over, and meanwhile do what the page asks of the kernel.

    over  waits so many seconds at most, and says whether it is over
    Raises KeyboardInterrupt if the cell is interrupted.
    """
    with page_served() as serve:
        while not over(LOOK):
            serve()
