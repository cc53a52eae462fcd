"""What the page asks while a cell waits: sliders, buttons, and questions about the kernel. Nothing else.

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

from IPython import get_ipython

SERVED = {"comm_open", "comm_msg", "comm_close", "comm_info_request", "kernel_info_request"}


def nobody() -> None:
    """Without a kernel there is nobody to serve."""


@contextmanager
def page_served() -> Iterator[Callable[[], None]]:
    """While the context lasts: a function that handles all that has arrived, and returns at once.

    Without a kernel of a known make (no IPython, another thread than the kernel's) it does nothing.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if threading.current_thread() is not threading.main_thread():
        kernel = None
    if hasattr(kernel, "msg_queue"):  # ipykernel 6
        passed: set[int] = set()
        yield lambda: serve_queue(kernel, passed)
    elif pair := _pair(kernel):  # ipykernel 7
        with served_pair(kernel, pair) as serve:
            yield serve
    else:
        yield nobody


def serve_queue(kernel: Any, passed: set[int]) -> None:
    """Handle what has arrived at ipykernel 6: its one queue holds (number, handler, (message,)).

    Cells never leave the queue, so an interrupt cannot lose them.

    passed  numbers of those that were looked at before, and are not for us
    """
    kernel.shell_stream.flush()
    waiting = kernel.msg_queue._queue
    for item in [item for item in waiting if item[0] not in passed]:
        if item[1] == kernel.dispatch_shell and kind(kernel, item[2][0]) in SERVED:
            waiting.remove(item)
            answer(kernel, kernel.shell_stream, item[2][0])
        else:
            passed.add(item[0])


@contextmanager
def served_pair(kernel: Any, pair: Any) -> Iterator[Callable[[], None]]:
    """The same for ipykernel 7, where a thread of its own reads, and hands over through a pair of sockets."""
    stream, reply = (
        pair.to_stream,
        kernel.shell_channel_thread.manager.get_subshell_to_shell_channel_socket(None),
    )
    usual = stream._recv_callback
    served: list[Any] = []
    kept: list[Any] = []

    def take(frames: Any) -> None:
        (served if len(frames) > 1 and kind(kernel, frames) in SERVED else kept).append(frames)

    def serve() -> None:
        stream.flush()
        while served:
            answer(kernel, reply, served.pop(0))

    stream.on_recv(take, copy=False)
    try:
        yield serve
    finally:
        stream._recv_callback, stream._recv_copy = usual, False
        for frames in [*served, *kept]:
            stream._run_callback(usual, frames)


def _pair(kernel: Any) -> Any:
    """Through what ipykernel 7 hands requests to its main thread; None in any other kernel."""
    manager = getattr(getattr(kernel, "shell_channel_thread", None), "manager", None)
    return getattr(manager, "_shell_channel_to_main", None)


def kind(kernel: Any, frames: Any) -> str:
    """The type of a message. Only its header is read: a signature is good for one reading."""
    _, parts = kernel.session.feed_identities(frames, copy=False)
    name: str = kernel.session.unpack(parts[1].bytes)["msg_type"]
    return name


def answer(kernel: Any, stream: Any, frames: Any) -> None:
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
        kernel._publish_status("busy", "shell")  # else the page takes this kernel for one at rest


def _finish(work: Any) -> None:
    """Run a coroutine to its end; those of SERVED wait for nothing."""
    try:
        work.send(None)
    except StopIteration:
        pass
    finally:
        work.close()
