"""Small GPTs that differ in one thing: how they know where their tokens stand.

A name of `__init__.pyi` is imported when it is first used, so that `import babygpt`, `--help` and the doctor
need not wait for PyTorch.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
