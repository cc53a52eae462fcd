"""Small GPTs that differ in one thing: how they know where their tokens stand.

A name of `__init__.pyi` is imported when it is first used, so that `import babygpt`, `--help` and the doctor
need not wait for PyTorch.
"""

# Even Python 2 has to read this file, in order to refuse itself in one line: no annotations, ASCII only.
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    words = "babygpt needs Python 3.11 or newer, and %s is Python %s"
    sys.exit(words % (sys.executable, sys.version.split()[0]))  # an error would bring a traceback

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
