"""Programs that tests and benchmarks run beside them: where they are, and how long they live."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from babygpt.errors import BadInput

START_LIMIT = 60.0  # seconds for a program to come up


def find_program(title: str, names: Sequence[str], variable: str) -> str:
    """Return the path of a program: the one that an environment variable names, or the first on the path.

    title     its name in words
    names     those that its file may have; the first one is Debian's package, too
    variable  the environment variable
    Raises BadInput, saying how to get one, if there is none.
    """
    path = os.environ.get(variable) or next(filter(None, map(shutil.which, names)), None)
    if not path or not Path(path).is_file():
        raise BadInput(
            f"no {title} {f'at {path}' if path else 'on the path'}: install one (Debian: apt install "
            f"{names[0]}) or set {variable} to its path"
        )
    return path


@contextmanager
def run_program(
    title: str, command: Sequence[str], log: Path, find_address: Callable[[], str | None], **options: Any
) -> Iterator[str]:
    """Run a program while the context lasts; yields its address.

    title         its name in words
    log           file for what it prints
    find_address  returns its address once it has come up, and nothing before
    options       of `subprocess.Popen`
    Raises TimeoutError with the end of its log if it does not come up.
    """
    with log.open("w", encoding="utf-8") as out:
        running = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **options)
    try:
        end, address = time.monotonic() + START_LIMIT, None
        while address is None:
            if time.monotonic() > end or running.poll() is not None:
                raise TimeoutError(f"{title} did not come up:\n{log.read_text('utf-8')[-2000:]}")
            time.sleep(0.1)
            address = find_address()
        yield address
    finally:
        running.terminate()
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
