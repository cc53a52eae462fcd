"""Files that are written whole or not at all, and by one process at a time.

Links are followed: the file that a link points to is written, and the link stays.
"""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from babygpt.errors import BadInput

PART = ".babygpt-part"
LOCK = ".babygpt-lock"
PROBE = ".babygpt-probe"


def is_left_behind(path: Path) -> bool:
    """Return whether a program left a file behind that is none of the user's, by its path within a folder.

    JupyterLab keeps copies in .ipynb_checkpoints, and macOS puts ._NAME and __MACOSX into archives. A walk
    through a folder of the user's skips such files.
    """
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def hidden_sibling(path: Path, ending: str) -> Path:
    """Return the path of a hidden file in the same folder, such as .model.safetensors.babygpt-lock."""
    return path.with_name(f".{path.name}{ending}")


@contextmanager
def folder_of(path: Path) -> Iterator[None]:
    """Make the folder of a file; at the end of the context remove it again if it stayed empty."""
    missing = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for folder in missing:
            with suppress(OSError):  # it holds something
                folder.rmdir()


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Open a context in which no other process may lock the same file. The lock dies with its process.

    Raises BadInput naming the process that holds it, and OSError in a folder that knows no locks.
    """
    from filelock import FileLock, Timeout  # A learner's first cell needs no lock.

    note = hidden_sibling(path.resolve(), LOCK)
    me = f"process {os.getpid()} on {platform.node()} since {time.strftime('%d %B, %H:%M:%S')}"
    lock = FileLock(note, timeout=0)
    with folder_of(note):
        try:
            lock.acquire()
        except Timeout:
            holder = "another process"
            with suppress(OSError, UnicodeError):  # a locked file cannot be read on Windows
                holder = note.read_text(encoding="utf-8") or holder
            ways = f"wait for it, choose another path, or remove {note} if that process is gone for good"
            raise BadInput(f"{path} is being written by {holder}; {ways}") from None
        try:
            with suppress(OSError):  # the disk may be full, and training itself may still find room
                note.write_text(me, encoding="utf-8")
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                note.unlink()  # before the release: afterwards it may be another process's lock
            lock.release()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its final place and move it there, so that no reader ever sees half of it.

    Hold `file_lock` where several processes may write it.
    Raises OSError naming the path if the disk is full or the folder cannot be written to; the old file stays.
    """
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        part = hidden_sibling(target, PART)  # the next call replaces what a killed one left
        try:
            with open(part, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        stands = "; the earlier content is untouched" if path.exists() else ""
        raise OSError(f"{path} could not be written: {error.strerror or error}{stands}") from error


def require_writable(path: Path, flag: str = "place") -> None:
    """Raise BadInput naming the flag that gave the path, unless a file can be written there."""
    try:
        probe = hidden_sibling(path.resolve(), PROBE)
        if path.exists() and not path.is_file():
            raise BadInput(f"{path} is a folder or a device, and a file is meant; choose another {flag}")
        lowest = next(folder for folder in probe.parents if folder.exists())
        if not lowest.is_dir():
            raise BadInput(f"{path} cannot be made: {lowest} is a file; choose another {flag}")
        with folder_of(probe):
            write_atomically(probe, b"")  # does all that the file itself will need
            probe.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
        reason = getattr(error.__cause__ or error, "strerror", None) or error
        raise BadInput(f"{path} cannot be written: {reason}; choose another {flag}") from None
