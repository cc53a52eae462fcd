"""Runs of a learner's code with a time limit, which leave the kernel as it was."""

import contextlib
import ctypes
import importlib
import io
import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

OUTPUT_LIMIT = 600  # characters that are kept of what the learner's code prints
PATIENCE = 0.5  # seconds that an interrupted thread gets to end
ALONE = threading.Lock()  # two checks at once would each take the other's output for the notebook's


class OutOfTime(BaseException):
    """Exception in the learner's code when its time is over. No `except Exception` catches it."""


class Beginning(io.StringIO):
    """Text stream that keeps only the beginning of what is written to it."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, OUTPUT_LIMIT - self.tell())])
        return len(text)


@contextlib.contextmanager
def preserved_state() -> Iterator[None]:
    """Restore the random generators, and PyTorch's default type and number of threads."""
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  a learner may seed it
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def run_with_timeout(seconds: float, work: Callable[[], Any]) -> tuple[Any, BaseException | None, str]:
    """Run `work` in a thread of its own, and interrupt it when its time is over.

    seconds  after which OutOfTime is raised in the thread; one long call of a library is left behind instead
    returns  the value of `work`, the exception (OutOfTime if it did not end), the beginning of its output
    """
    # PyTorch imports this at the first optimizer, which would take seconds of the check's.
    importlib.import_module("torch._dynamo")
    values, errors, output = list[Any](), list[BaseException](), Beginning()

    def run() -> None:
        try:
            values.append(work())
        except BaseException as error:  # SystemExit too: a learner's exit() must not end the kernel
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with ALONE, preserved_state(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        thread.start()
        thread.join(seconds)
        for _ in range(1200 if thread.is_alive() else 0):  # no import is cut off: it would stay half done
            stack = traceback.walk_stack(sys._current_frames().get(thread.ident or 0))
            if not any("importlib._bootstrap" in frame.f_code.co_filename for frame, _ in stack):
                ident = ctypes.c_ulong(thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(OutOfTime))
                thread.join(PATIENCE)
                break
            thread.join(0.05)
    if values:
        return values[0], None, output.getvalue()
    return None, errors[0] if errors else OutOfTime(), output.getvalue()
