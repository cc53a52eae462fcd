"""Small GPTs that differ in one thing: how they know where their tokens stand.

`babygpt.names` lists what the notebooks use. It is imported when one of its names is first used, so that
`import babygpt`, `python -m babygpt --help` and the doctor need not wait for PyTorch.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; they would accept any name of the function below
    from babygpt.names import *  # noqa: F403

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        """Import the notebooks' names, or a module of the package, when it is first used (PEP 562)."""
        if name == "__version__":
            from importlib import metadata  # most of the time that importing babygpt would take

            return metadata.version("babygpt")
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module 'babygpt' has no attribute {name!r}")
        if find_spec(f"babygpt.{name}"):  # babygpt_live and the like
            return import_module(f"babygpt.{name}")
        offered = {key: value for key, value in vars(import_module("babygpt.names")).items() if key[0] != "_"}
        if name == "__all__":
            return list(offered)
        if name not in offered:
            raise AttributeError(f"module 'babygpt' has no attribute {name!r}")
        return offered[name]


def __dir__() -> list[str]:
    """Return all names, imported yet or not."""
    return sorted({*globals(), *vars(import_module("babygpt.names")), "__version__"})
