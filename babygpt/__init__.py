"""Small GPTs that differ in one thing: how they know where their tokens stand.

`babygpt.names` lists what the notebooks use. It is imported when one of its names is first used, so that
`import babygpt`, `python -m babygpt --help` and the doctor need not wait for PyTorch.
"""

# Even Python 2 has to read this file, in order to refuse itself in one line: no annotations, ASCII only.
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    words = "babygpt needs Python 3.11 or newer, and %s is Python %s"
    sys.exit(words % (sys.executable, sys.version.split()[0]))  # an error would bring a traceback

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see; they would accept any name of `__getattr__`
    from babygpt.names import *  # noqa: F403

    __version__ = ""
else:
    from babygpt.lazy import __dir__, __getattr__  # noqa: F401
