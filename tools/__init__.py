"""Tools that make and check the course, and drive it in a headless browser."""

import babygpt  # noqa: F401  (it refuses a Python that is too old)
