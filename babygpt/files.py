"""Files that are written whole or not at all, and by one process at a time.

A link is followed: what it points to is written, and the link stays.
"""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec
from uuid import uuid4

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from babygpt.errors import BadInput

PART, LOCK, PROBE = ".babygpt-part", ".babygpt-lock", ".babygpt-probe"
LONGEST_NAME = 220  # bytes; file systems hold 255, and our endings need some
TRIES = 20  # at making a folder that somebody else removes
Arguments = ParamSpec("Arguments")
PATIENCE = 60.0  # seconds for another process that writes a file just now: it takes a moment
POLL_SECONDS = 0.05  # between two looks at a lock that is waited for


class InUse(BadInput):
    """Another process writes this file.

    holder  what that process says of itself
    """

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is being written by {holder}; wait for it, or choose another place")
        self.holder = holder


def hidden_name(path: Path, ending: str) -> str:
    """The name of a hidden file beside another; for a very long name its digest stands."""
    name = os.fsencode(path.name)
    short = path.name if len(name) <= LONGEST_NAME else hashlib.sha256(name).hexdigest()
    return f".{short}{ending}"


def again_if_folders_vanish(act: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Try some times: another process that is refused here may just remove folders that it had made."""

    @wraps(act)
    def again(*given: Arguments.args, **named: Arguments.kwargs) -> None:
        for _ in range(TRIES - 1):
            with suppress(FileNotFoundError, FileExistsError):
                return act(*given, **named)
        act(*given, **named)

    return again


# ---------------------------------------------------------------- one writer


@contextmanager
def claim(path: Path, wait: float = 0.0) -> Iterator[None]:
    """Be the only process that writes a file while the context lasts. The lock dies with its process.

    What dead processes have left half-written beside the file is removed. So is, at the end, a folder that
    was made for the file and holds nothing.

    wait  seconds to wait at most for another process that holds the file
    Raises `InUse` if another process still does, and OSError if no lock can be made there.
    """
    target = followed(path)
    note = target.parent / hidden_name(target, LOCK)
    lock = FileLock(note, mode=0o666, thread_local=False)  # on a shared folder, anybody may try it
    missing = [folder for folder in target.parents if not folder.exists()]
    try:
        acquire(lock, target, wait)
        remove_leftovers(target)
        with signed(lock, note):
            yield
    except Timeout:
        raise InUse(path, read_holder(note)) from None
    finally:
        lock.release()
        remove_empty(missing)


@contextmanager
def signed(lock: BaseFileLock, note: Path) -> Iterator[None]:
    """A context in which a lock's file says who holds it; at its end it is removed, if it is still ours.

    Before the release: who waits for it notices, and makes a new one. A file that stands for a lock where the
    system has none says so by itself, and goes with the release.
    """
    if isinstance(lock, SoftFileLock):
        yield
        return
    with suppress(OSError):  # a full disk, on which the training itself may find room
        note.write_text(this_process(), encoding="utf-8")
    own = identity(note)
    try:
        yield
    finally:
        if own is not None and own == identity(note):  # else somebody has removed ours, and it is another's
            with suppress(OSError):  # Windows removes no open file
                note.unlink()


def identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from all others while it is open; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@again_if_folders_vanish
def acquire(lock: FileLock, target: Path, wait: float) -> None:
    """Take the lock of a file, in a folder that is made if need be. Raises Timeout if another has it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=wait, poll_interval=POLL_SECONDS, blocking=wait > 0)
    except PermissionError:
        note = Path(lock.lock_file)
        raise BadInput(
            f"{target} is locked for another user, by {read_holder(note)}; should that be gone, remove {note}"
        ) from None


def followed(path: Path) -> Path:
    """The file that a path means, with links followed. Raises BadInput if they lead in a circle."""
    try:
        return path.resolve()
    except RuntimeError:  # what pathlib makes of it
        raise BadInput(f"{path} cannot be written: its links lead in a circle") from None


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of these folders, inner ones first, that hold nothing."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def this_process() -> str:
    """What is told of this process to others that want to write the same file."""
    return f"process {os.getpid()} on {platform.node()} since {time.strftime('%d %B, %H:%M:%S')}"


def read_holder(note: Path) -> str:
    """What the process that holds a lock says of itself."""
    with suppress(OSError, UnicodeError):
        if said := note.read_text(encoding="utf-8").strip():
            return said
    return "another process"


def remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they wrote this file left beside it; claim it first."""
    for name in path.parent.glob(glob.escape(hidden_name(path, ".")) + f"{'[0-9a-f]' * 8}{PART}"):
        name.unlink(missing_ok=True)


# ---------------------------------------------------------------- writing


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it.

    A new file gets the permissions that the user's umask leaves; one that is replaced keeps its own.
    Raises OSError naming the path if the disk is full, or the folder may not be written to; what stood there
    before stands there still.
    """
    try:
        target = followed(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.parent / hidden_name(target, f".{uuid4().hex[:8]}{PART}")
        try:
            with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as file:
                if target.exists():
                    os.chmod(part, stat.S_IMODE(target.stat().st_mode))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        stands = "; what stood there before is untouched" if path.exists() else ""
        raise OSError(f"{path} could not be written: {error.strerror or error}{stands}") from error


def require_writable(path: Path, named: Path | None = None) -> None:
    """Raise BadInput unless a file can be written there: one with a name as long comes and goes.

    named  what the error names; by default the file
    """
    try:
        target = followed(path)
        if target.is_dir():
            raise BadInput(f"{path} is a folder, and a file is meant")
        if target.exists() and not target.is_file():
            raise BadInput(f"{path} is a device or a pipe, and a file is meant")
        existing = next(folder for folder in target.parents if folder.exists())
        if not existing.is_dir():
            raise BadInput(f"{named or path} cannot be made: {existing} is a file")
        missing = [folder for folder in target.parents if not folder.exists()]
        try:
            write_probe(target)
        finally:
            remove_empty(missing)
    except OSError as error:
        raise BadInput(f"{named or path} cannot be written: {error.strerror or error}") from None


@again_if_folders_vanish
def write_probe(target: Path) -> None:
    """Write an empty file beside a target, move it to a name as long as the target's, and remove it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unique = f"{PROBE}-{uuid4().hex[:8]}"
    part, probe = target.parent / unique, target.parent / unique.ljust(len(os.fsencode(target.name)), "-")
    try:
        part.touch(exist_ok=False)
        part.rename(probe)
    finally:
        for path in {part, probe}:
            with suppress(OSError):
                path.unlink()
