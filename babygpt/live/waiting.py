"""A cell that waits for a run, and meanwhile serves the page: sliders, buttons, questions about the kernel.

A kernel hears nothing while a cell runs (one with subshells does, in a front end that uses them). So the
waiting cell takes the widgets' messages out of the kernel's queue. Other cells stay in it, in their order,
and an error or an interrupt aborts them, as it does without any waiting. jupyter-ui-poll puts cells aside and
runs them later: they then ran on after an error, and now and then in another order.

This reads what ipykernel calls private, of 6.29 to 7.4; pyproject.toml holds it within that.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import iscoroutine
from typing import Any
from weakref import WeakSet

from IPython import get_ipython

SERVED = {"comm_open", "comm_msg", "comm_close", "comm_info_request", "kernel_info_request"}
CELL_ENDS: WeakSet[threading.Event] = WeakSet()  # set when their cells are over
POLL_SECONDS = 0.02  # between two looks at what the page asks; an interrupt gets through on every system


class WaitInterrupted(KeyboardInterrupt):
    """Somebody interrupted a cell that waited; what it waited for goes on. Shown in one line.

    title  of the run
    """

    def __init__(self, title: str) -> None:
        super().__init__(f"the waiting ended; {title} trains on. Its stop button ends it, or run.stop()")

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}."]


def cell_end_event() -> threading.Event:
    """Return an event that is set as soon as the cell that is running ends, or waits for a run.

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
    CELL_ENDS.add(event)
    return event


def wait_and_serve(over: Callable[[float], bool]) -> None:
    """Wait until it is over, and meanwhile do what the page asks of the kernel.

    over  waits so many seconds at most, and says whether it is over
    Raises KeyboardInterrupt if the cell is interrupted.
    """
    for event in list(CELL_ENDS):
        event.set()
    with page_server() as serve:
        while not over(POLL_SECONDS):
            serve()


# ------------------------------------------------------------ what the page asks


@contextmanager
def page_server() -> Iterator[Callable[[], None]]:
    """While the context lasts: a function that handles all that has arrived, and returns at once.

    Without a kernel of a known make (no IPython, another thread than the kernel's) it does nothing.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if threading.current_thread() is not threading.main_thread():
        kernel = None
    if hasattr(kernel, "msg_queue"):  # ipykernel 6
        passed: set[int] = set()
        yield lambda: serve_queue(kernel, passed)
    elif pair := _socket_pair(kernel):  # ipykernel 7
        with serving_pair(kernel, pair) as serve:
            yield serve
    else:
        yield lambda: None


def serve_queue(kernel: Any, passed: set[int]) -> None:
    """Handle what has arrived at ipykernel 6: its one queue holds (number, handler, (message,)).

    Cells never leave the queue, so an interrupt cannot lose them.

    passed  numbers of those that were looked at before, and are not for us
    """
    kernel.shell_stream.flush()
    waiting = kernel.msg_queue._queue
    for item in [item for item in waiting if item[0] not in passed]:
        if item[1] == kernel.dispatch_shell and message_type(kernel, item[2][0]) in SERVED:
            waiting.remove(item)
            handle(kernel, kernel.shell_stream, item[2][0])
        else:
            passed.add(item[0])


@contextmanager
def serving_pair(kernel: Any, pair: Any) -> Iterator[Callable[[], None]]:
    """The same for ipykernel 7, where a thread of its own reads, and hands over through a pair of sockets."""
    manager = kernel.shell_channel_thread.manager
    stream, reply = pair.to_stream, manager.get_subshell_to_shell_channel_socket(None)
    usual = stream._recv_callback
    served: list[Any] = []
    queued: list[Any] = []

    def sort(frames: Any) -> None:
        (served if len(frames) > 1 and message_type(kernel, frames) in SERVED else queued).append(frames)

    def serve() -> None:
        stream.flush()
        while served:
            handle(kernel, reply, served.pop(0))

    stream.on_recv(sort, copy=False)
    try:
        yield serve
    finally:
        stream._recv_callback, stream._recv_copy = usual, False
        for frames in [*served, *queued]:
            stream._run_callback(usual, frames)


def _socket_pair(kernel: Any) -> Any:
    """Through what ipykernel 7 hands requests to its main thread; None in any other kernel."""
    manager = getattr(getattr(kernel, "shell_channel_thread", None), "manager", None)
    return getattr(manager, "_shell_channel_to_main", None)


def message_type(kernel: Any, frames: Any) -> str:
    """Return the type of a message. Only its header is looked at: a signature can be checked only once."""
    _, parts = kernel.session.feed_identities(frames, copy=False)
    name: str = kernel.session.unpack(parts[1].bytes)["msg_type"]
    return name


def handle(kernel: Any, stream: Any, frames: Any) -> None:
    """Handle one message as the kernel does between two cells, then be the waiting cell again."""
    cell = kernel._parent_ident["shell"], kernel.get_parent("shell")
    try:
        idents, parts = kernel.session.feed_identities(frames, copy=False)
        message = kernel.session.deserialize(parts, content=True, copy=False)
        kernel.set_parent(idents, message, channel="shell")
        kernel._publish_status("busy", "shell")
        try:
            work = kernel.shell_handlers[message["header"]["msg_type"]](stream, idents, message)
            if iscoroutine(work):
                _finish(work)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            kernel._publish_status("idle", "shell")
    finally:
        kernel.set_parent(*cell)
        kernel._publish_status("busy", "shell")  # else the page takes this kernel for an idle one


def _finish(work: Any) -> None:
    """Run a coroutine to its end; those of SERVED wait for nothing."""
    try:
        work.send(None)
    except StopIteration:
        pass
    finally:
        work.close()
