"""A cell that waits for a run, and stays alive while it does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from IPython import get_ipython

from babygpt.live.serving import page_served

CELLS: WeakSet[threading.Event] = WeakSet()  # set when their cells are over
LOOK = 0.02  # seconds between two looks at what the page asks; an interrupt gets through on every system


class WaitInterrupted(KeyboardInterrupt):
    """Somebody interrupted a cell that waited; what it waited for goes on. Shown in one line.

    title  of the run
    """

    def __init__(self, title: str) -> None:
        super().__init__(f"the waiting ended; {title} trains on. Its stop button ends it, or run.stop()")

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}."]


def cell_over() -> threading.Event:
    """An event that is set as soon as the cell that is running ends, or waits for a run.

    Then all that it shows is on the page. Where no cell is running it is set already.
    """
    event, shell = threading.Event(), get_ipython()
    if shell is None or threading.current_thread() is not threading.main_thread():
        event.set()
        return event

    def over(*_: Any) -> None:
        event.set()
        shell.events.unregister("post_run_cell", over)

    shell.events.register("post_run_cell", over)
    CELLS.add(event)
    return event


def wait_and_serve(over: Callable[[float], bool]) -> None:
    """Wait until it is over, and meanwhile do what the page asks of the kernel.

    over  waits so many seconds at most, and says whether it is over
    Raises KeyboardInterrupt if the cell is interrupted.
    """
    for event in list(CELLS):
        event.set()
    with page_served() as serve:
        while not over(LOOK):
            serve()
