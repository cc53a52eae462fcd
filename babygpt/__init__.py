"""Small GPTs that differ in one thing: how they know where their tokens stand.

These are the names that the notebooks use. Each is imported when it is first used, so that `import babygpt`
and `python -m babygpt --help` need not wait for PyTorch.
"""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see
    from babygpt.config import ModelConfig as ModelConfig
    from babygpt.config import TrainConfig as TrainConfig
    from babygpt.data import CharTokenizer as CharTokenizer
    from babygpt.data import load_corpus as load_corpus
    from babygpt.metrics import attention_weights as attention_weights
    from babygpt.metrics import loss_by_position as loss_by_position
    from babygpt.metrics import role_accuracy as role_accuracy
    from babygpt.models.versions import build as build
    from babygpt.objectives import Branches as Branches
    from babygpt.objectives import NextToken as NextToken
    from babygpt.positions import Positions as Positions
    from babygpt.sampling import generate as generate
    from babygpt.training import follow as follow
    from babygpt.training import train as train

    __version__: str

# The imports above as text, so that each name is listed once: name -> module that defines it.
OWN_TEXT = Path(__file__).read_text("utf-8")
MODULES = {m[2]: m[1] for m in re.finditer(r"^    from (\S+) import (\w+) as", OWN_TEXT, re.MULTILINE)}
__all__ = list(MODULES)

if not TYPE_CHECKING:  # a type checker that saw this would accept any name

    def __getattr__(name: str) -> Any:
        """Import a name of MODULES, or a module of the package, when it is first used (PEP 562)."""
        if name == "__version__":
            from importlib import metadata  # most of the time that importing babygpt would take

            return metadata.version("babygpt")
        if name in MODULES:
            return getattr(import_module(MODULES[name]), name)
        if not name.startswith("_") and find_spec(f"babygpt.{name}"):  # babygpt.plots and the like
            return import_module(f"babygpt.{name}")
        raise AttributeError(f"module 'babygpt' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names, imported yet or not."""
    return sorted({*globals(), *MODULES, "__version__"})
