"""The course that is taught with babygpt: exercises, museum of bugs, claims of the notes, studies."""

import babygpt  # noqa: F401  (it refuses a Python that is too old)
