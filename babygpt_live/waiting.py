"""Cell that waits for a run, and meanwhile serves the page: sliders, buttons, questions about the kernel.

ipykernel 6 handles no message while a cell runs. So the waiting cell takes the widgets' messages out of the
kernel's queue and handles them itself. Other cells stay in the queue, in their order, and an error or an
interrupt aborts them, as it does without any waiting. (jupyter-ui-poll puts cells aside and runs them later:
they then ran after an error too, and sometimes in another order.)

This reads private attributes of ipykernel 6.29 to 6.31; pyproject.toml keeps it below 7.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from inspect import iscoroutine
from typing import Any

from IPython import get_ipython

SERVED = {"comm_open", "comm_msg", "comm_close", "comm_info_request", "kernel_info_request"}
POLL_SECONDS = 0.02  # between two looks at the queue; an interrupt gets through on every system


class WaitInterrupted(KeyboardInterrupt):
    """Interrupt of a waiting cell, shown in one line; the run goes on.

    title  of the run
    """

    def __init__(self, title: str) -> None:
        super().__init__(f"the waiting ended; {title} trains on. Its stop button ends it, or run.stop()")

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}."]


def wait_and_serve(over: Callable[[float], bool]) -> None:
    """Wait until it is over, and meanwhile handle the page's messages.

    over  waits for at most the number of seconds that it is given, and returns whether it is over
    Raises KeyboardInterrupt if the cell is interrupted.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    in_cell = threading.current_thread() is threading.main_thread() and hasattr(kernel, "msg_queue")
    skip_numbers: set[int] = set()
    while not over(POLL_SECONDS):
        if in_cell:
            serve_queue(kernel, skip_numbers)


def serve_queue(kernel: Any, skip_numbers: set[int]) -> None:
    """Handle new messages of the page; the kernel's queue holds (number, handler, (message,)).

    Cells never leave the queue, so an interrupt cannot lose them.

    skip_numbers  numbers of messages that are not for us; new ones are added
    """
    kernel.shell_stream.flush()
    waiting = kernel.msg_queue._queue
    for entry in [entry for entry in waiting if entry[0] not in skip_numbers]:
        if entry[1] == kernel.dispatch_shell and message_type(kernel, entry[2][0]) in SERVED:
            waiting.remove(entry)
            handle(kernel, entry[2][0])
        else:
            skip_numbers.add(entry[0])


def message_type(kernel: Any, frames: Any) -> str:
    """Return the type of a message, from its header alone: a signature can be checked only once."""
    _, parts = kernel.session.feed_identities(frames, copy=False)
    name: str = kernel.session.unpack(parts[1].bytes)["msg_type"]
    return name


def handle(kernel: Any, frames: Any) -> None:
    """Handle one message as the kernel does between two cells, then be the waiting cell again."""
    cell = kernel._parent_ident["shell"], kernel.get_parent("shell")
    try:
        idents, parts = kernel.session.feed_identities(frames, copy=False)
        message = kernel.session.deserialize(parts, content=True, copy=False)
        kernel.set_parent(idents, message, channel="shell")
        kernel._publish_status("busy", "shell")
        work = kernel.shell_handlers[message["header"]["msg_type"]](kernel.shell_stream, idents, message)
        if iscoroutine(work):  # the handlers of SERVED wait for nothing: one step is the whole
            with suppress(StopIteration):
                work.send(None)
            work.close()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        kernel._publish_status("idle", "shell")
        kernel.set_parent(*cell)
        kernel._publish_status("busy", "shell")  # Without it the page takes this kernel for an idle one.
