"""Runs of a learner's code with a time limit, which leave the kernel as it was."""

import builtins
import contextlib
import ctypes
import importlib
import io
import math
import os
import random
import statistics
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from operator import is_
from types import ModuleType
from typing import Any

import numpy as np
import torch

OUTPUT_LIMIT = 600  # characters that are kept of what the learner's code prints
PATIENCE, TRIES = 0.5, 3  # seconds that an interrupted thread gets to end, and how often it is interrupted
ALONE = threading.Lock()  # two checks at once would each take the other's output for the notebook's


class OutOfTime(BaseException):
    """Exception in the learner's code when its time is over. No `except Exception` catches it."""


class Beginning(io.StringIO):
    """Text stream that keeps only the beginning of what is written to it."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, OUTPUT_LIMIT - self.tell())])
        return len(text)


@contextlib.contextmanager
def preserved_libraries() -> Iterator[None]:
    """Undo what a call replaces in the libraries that checks use, such as `torch.Tensor.isclose`."""
    own = [part for part in vars(sys.modules[__package__]).values() if isinstance(part, ModuleType)]
    homes = [builtins, math, random, statistics, torch, torch.nn.functional, torch.Tensor, *own]
    before = [dict(vars(home)) for home in homes]
    try:
        yield
    finally:
        for home, names in zip(homes, before, strict=True):
            now = vars(home)
            if len(now) == len(names) and all(map(is_, now.values(), names.values())):
                continue
            for name in [name for name, value in names.items() if now.get(name, before) is not value]:
                setattr(home, name, names[name])
        for name in vars(torch.Tensor).keys() - before[homes.index(torch.Tensor)].keys():
            if hasattr(torch.Tensor.__base__, name):  # it hid a method that Tensor inherits
                delattr(torch.Tensor, name)


@contextlib.contextmanager
def preserved_state() -> Iterator[None]:
    """Restore the random generators, the libraries, and settings of Python, NumPy and PyTorch."""
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  a learner may seed it
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    folder, depth = "", sys.getrecursionlimit()
    printed, numpy_printed = vars(copy(torch._tensor_str.PRINT_OPTS)), np.get_printoptions()
    with contextlib.suppress(OSError):  # a folder may have been deleted
        folder = os.getcwd()
    try:
        with torch.random.fork_rng(devices=[]), preserved_libraries(), warnings.catch_warnings():
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        with contextlib.suppress(OSError):
            os.chdir(folder)
        sys.setrecursionlimit(depth)
        torch.set_printoptions(**printed)
        np.set_printoptions(**numpy_printed)


def interrupt(thread: threading.Thread) -> None:
    """Raise OutOfTime in a thread until it ends, but for a few times only: its code may catch everything."""
    for _ in range(1200 if thread.is_alive() else 0):  # no import is cut off: it would stay half done
        stack = traceback.walk_stack(sys._current_frames().get(thread.ident or 0))
        if not any("importlib._bootstrap" in frame.f_code.co_filename for frame, _ in stack):
            break
        thread.join(0.05)
    for _ in range(TRIES):
        if thread.is_alive():
            ident = ctypes.c_ulong(thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(OutOfTime))
            thread.join(PATIENCE)


def run_with_timeout(seconds: float, work: Callable[[], Any]) -> tuple[Any, BaseException | None, str]:
    """Run `work` in a thread of its own, and interrupt it when its time is over or the caller is interrupted.

    seconds  after which OutOfTime is raised in the thread
    returns  the value of `work`, the exception (OutOfTime if it did not end), the beginning of its output

    Python raises it between two steps of the code only. One long call of a library is left behind, and goes
    on in its thread. If it also keeps Python's lock, as `sum(range(10**9))` does, nothing else runs until it
    ends, so that neither this limit nor the interrupt button has an effect: restart the kernel.
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
        try:
            thread.start()
            thread.join(seconds)
        finally:  # after a KeyboardInterrupt as well
            interrupt(thread)
    if values:
        return values[0], None, output.getvalue()
    return None, errors[0] if errors else OutOfTime(), output.getvalue()
