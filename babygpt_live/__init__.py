"""Live lab: numbers in, pictures out, for a model that trains or has trained.

A name is imported when it is first used, so that a script that only draws with Matplotlib needs no widgets.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
