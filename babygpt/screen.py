"""Words for a screen that may be gone: closed, full, or read by nobody any more."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any


class Screen:
    """A stream that goes silent for good once it cannot be written to.

    stream  such as sys.stderr; None, as Python has it where it was closed, is silent from the start
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text if that can be done; returns its length in any case."""
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Send what was written on its way."""
        self._try("flush")

    def _try(self, action: str, *words: str) -> None:
        if self.stream is None:
            return
        try:
            getattr(self.stream, action)(*words)
        except UnicodeEncodeError as error:  # a screen that knows few letters
            known = (word.encode(error.encoding, "backslashreplace").decode(error.encoding) for word in words)
            self._try(action, *known)
        except (OSError, ValueError):  # ValueError: it was closed
            silence(self.stream)
            self.stream = None

    def __getattr__(self, name: str) -> Any:
        """Whatever else the stream has, such as its encoding."""
        return getattr(self.__dict__.get("stream"), name)


def silence(stream: Any) -> None:
    """Lead a stream that is broken to nowhere: Python writes what is left in it once more when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def say(text: str, error: bool = False) -> None:
    """Print a line about work that is stored already; if the screen is gone, say nothing.

    error  whether it goes to the standard error stream
    """
    screen = Screen(sys.stderr if error else sys.stdout)
    screen.write(f"{text}\n")
    screen.flush()


def spell_unknown_letters() -> None:
    """Have standard output write \\u2713 for a letter that it does not know, and not break off.

    On Windows it knows few, once it is led into a file or another program. Standard error does so by itself.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # it is gone, or was led elsewhere after Python opened it
            sys.stdout.reconfigure(errors="backslashreplace")


def open_closed_streams() -> None:
    """Lead standard streams that were closed to nowhere: else the next file that is opened takes their place.

    A warning that C code writes to "standard error" would go into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
