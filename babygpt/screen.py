"""Print without failing where the terminal is closed, full, or knows few letters."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any


class Screen:
    """A stream that falls silent once it cannot be written to, such as a pipe that nobody reads any more."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        """Write a text at once, if that can be done."""
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # ValueError: it was closed
            silence(self.stream)

    def __getattr__(self, name: str) -> Any:  # its encoding, its width: what a progress bar asks for
        return getattr(self.stream, name)


def silence(stream: Any) -> None:
    """Redirect a broken stream to nowhere, because Python writes to it once more when it ends."""
    with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def echo(text: str, error: bool = False) -> None:
    """Print a line to stdout or stderr if that can be done, about work that is stored already."""
    Screen(sys.stderr if error else sys.stdout).write(f"{text}\n")
