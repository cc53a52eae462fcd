"""Live lab: numbers in, pictures out, for a model that trains or has trained.

A name of `__init__.pyi` is imported when it is first used, so that a script that only draws with Matplotlib
needs no widgets.
"""

from typing import Any

import lazy_loader

WIDGETS = {"anywidget", "ipywidgets", "IPython", "traitlets"}
import_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used; say what to install where a library of widgets is missing."""
    try:
        return import_name(name)
    except ModuleNotFoundError as missing:
        if missing.name not in WIDGETS:
            raise
        from babygpt.packages import install_command

        source = f"babygpt_live.{name} draws with widgets, which come with the extra `lab`"
        raise ImportError(f"{source}: run `{install_command('lab')}`") from missing
