"""Packages that babygpt needs, and the command that installs those that are missing."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DISTRIBUTION = "babygpt-course"
STRANGERS = "babygpt"  # the distribution of another project, whose package has the same import name
CLONE = Path(__file__).resolve().parent.parent  # a folder without pyproject.toml if only the wheel is here
DISTRIBUTIONS = {"PIL": "pillow"}  # modules whose distribution has quite another name


def requirements(extra: str = "") -> list[Requirement]:
    """Return what the distribution always needs, or what an extra adds.

    Raises importlib.metadata.PackageNotFoundError if the distribution is not installed.
    """
    needs = [Requirement(line) for line in metadata.requires(DISTRIBUTION) or []]
    marker = f'extra == "{extra}"' if extra else "None"
    return [need for need in needs if str(need.marker) == marker]


def is_clone() -> bool:
    """Whether babygpt is imported from a clone of the repository, and not from an installed wheel."""
    return (CLONE / "pyproject.toml").is_file()


def shell_line(words: Sequence[str]) -> str:
    """Return a command as it can be typed into a POSIX shell, or into PowerShell on Windows."""
    if os.name != "nt":
        return shlex.join(words)
    quoted = [word if re.fullmatch(r"[\w.:\\/=-]+", word) else f'"{word}"' for word in words]
    # Without &, PowerShell prints a quoted program name instead of running it.
    return ("& " if quoted[0].startswith('"') else "") + " ".join(quoted)


def install_command(extra: str = "", needs: Sequence[Requirement] = ()) -> str:
    """Return the command that installs what an extra adds, or what babygpt always needs.

    In an environment that `make` made, make repairs it. In another one pip installs the packages by name,
    because no package index has this distribution.

    needs  the packages to install, all of the extra by default
    """
    if is_clone() and Path(sys.prefix).resolve() == CLONE / ".venv" and shutil.which("make"):
        where = [] if Path.cwd() == CLONE else ["-C", str(CLONE)]
        return shell_line(["make", "-B", *where, "env"])  # -B: pyproject.toml has not changed
    packages = [f"{need.name}{need.specifier}" for need in needs or requirements(extra)]
    if is_clone():
        packages = ["-c", str(CLONE / "constraints.txt"), *packages]
    return pip_line("install", *packages)


def pip_line(verb: str, *words: str) -> str:
    """Return a command of pip for this Python, or of uv in an environment that uv made without pip."""
    if find_spec("pip") or not shutil.which("uv"):
        return shell_line([sys.executable, "-m", "pip", verb, *words])
    return shell_line(["uv", "pip", verb, "--python", sys.executable, *words])


def missing_package(error: ImportError) -> str | None:
    """Return in one line what to install where a declared package is missing; None for other errors."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    module = error.name.partition(".")[0]
    name = canonicalize_name(DISTRIBUTIONS.get(module, module))
    try:
        extras = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or ()
    except metadata.PackageNotFoundError:
        return None
    for extra in ("", *extras):
        needs = [need for need in requirements(extra) if canonicalize_name(need.name) == name]
        if needs:
            source = f", and comes with the extra `{extra}`" if extra else ""
            return f"{module} is not installed{source}: run `{install_command(extra, needs)}`"
    return None
