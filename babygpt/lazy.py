"""Attributes of `babygpt` that are imported when they are first used (PEP 562)."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    """Import the version, one of the notebooks' names, or a module of the package."""
    if name == "__version__":
        from importlib import metadata  # most of the time that importing babygpt would take

        from babygpt.packages import DISTRIBUTION

        return metadata.version(DISTRIBUTION)
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'babygpt' has no attribute {name!r}")
    if find_spec(f"babygpt.{name}"):  # babygpt.plots and the like
        return import_module(f"babygpt.{name}")
    offered = {key: value for key, value in vars(import_module("babygpt.names")).items() if key[0] != "_"}
    if name == "__all__":
        return list(offered)
    if name not in offered:
        raise AttributeError(f"module 'babygpt' has no attribute {name!r}")
    return offered[name]


def __dir__() -> list[str]:
    """Return all names of `babygpt`, imported yet or not."""
    return sorted({*vars(sys.modules["babygpt"]), *vars(import_module("babygpt.names")), "__version__"})
