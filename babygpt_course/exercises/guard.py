"""Running code that a learner wrote: whatever it does, it ends, and nothing of ours is changed by it."""

from __future__ import annotations

import contextlib
import ctypes
import io
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

KEPT_CHARACTERS = 600  # of what the learner's code prints


class OutOfTime(BaseException):
    """Raised inside the learner's code when its time is over; no `except Exception` holds it up."""


class Printed(io.TextIOBase):
    """Takes what is printed, and keeps its beginning."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self.text) < KEPT_CHARACTERS:
            self.text = (self.text + text)[:KEPT_CHARACTERS]
        return len(text)


@contextlib.contextmanager
def global_state_kept() -> Iterator[None]:
    """Put back the random generators, and PyTorch's default type and threads, as they were."""
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002  the global one, which a learner may seed
    dtype, recursion = torch.get_default_dtype(), sys.getrecursionlimit()
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_rng_state(torch_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)
        torch.set_default_dtype(dtype)
        sys.setrecursionlimit(recursion)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def within(seconds: float, work: Callable[[], Any]) -> tuple[Any, BaseException | None, str]:
    """Run `work` in a thread of its own, for so long at most.

    seconds  after which it is interrupted; inside one long call of a library it is left behind instead
    returns  what it returned, what it raised (OutOfTime if it did not end), and how its output begins
    """
    returned: list[Any] = []
    raised: list[BaseException] = []
    printed = Printed()

    def run() -> None:
        try:
            returned.append(work())
        except BaseException as error:  # SystemExit too: nothing a learner writes ends the kernel
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with global_state_kept(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            interrupt(thread)
    if returned:
        return returned[0], None, printed.text
    return None, raised[0] if raised else OutOfTime(), printed.text


def interrupt(thread: threading.Thread, patience: float = 0.5) -> None:
    """Raise OutOfTime in another thread, and wait a moment for it to end."""
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(OutOfTime))
    thread.join(patience)
