"""What a solution needs besides itself, to be pasted into a notebook."""

from __future__ import annotations

import ast
import builtins
import sys
from types import ModuleType
from typing import Any


def needed_imports(text: str, home: str) -> list[str]:
    """The import lines without which some code raises a NameError.

    text  the source of a function or class
    home  the name of the module in which it stands
    """
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    there = vars(sys.modules[home])
    wanted = (name for name in names if name in there and not hasattr(builtins, name))
    return sorted(import_line(name, there[name], home) for name in wanted)


def import_line(name: str, value: Any, home: str) -> str:
    """The line that imports what is called `name` in the module `home`."""
    if isinstance(value, ModuleType):
        parent, _, last = value.__name__.rpartition(".")
        return f"from {parent} import {last}" if parent else f"import {value.__name__}"
    source = getattr(value, "__module__", None)
    if getattr(sys.modules.get(str(source)), name, None) is not value:
        source = home  # of an alias, which does not know where it was made
    return f"from {source} import {name}"
