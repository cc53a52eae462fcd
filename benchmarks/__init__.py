"""Benchmarks of training and of sliders that answer. `python -m benchmarks` lists what can be measured."""

import babygpt  # noqa: F401  (it refuses a Python that is too old)
