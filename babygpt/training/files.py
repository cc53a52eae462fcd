"""Files that are written whole or not at all."""

from __future__ import annotations

import glob
import os
import tempfile
from pathlib import Path

PART = ".babygpt-part"  # the ending of a file that is still being written


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it.

    Raises OSError naming the path if the disk is full, or the folder may not be written to; what stood there
    before stands there still.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
        try:
            os.chmod(name, 0o644)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        stands = "; what stood there before is untouched" if path.exists() else ""
        raise OSError(f"{path} could not be written: {error.strerror or error}{stands}") from error


def remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they wrote this file left beside it.

    Nobody else may be writing the file meanwhile: what they have written so far would be gone.
    """
    for name in path.parent.glob(f".{glob.escape(path.name)}.????????{PART}"):
        name.unlink(missing_ok=True)
