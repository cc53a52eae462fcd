"""What is wrong with what somebody asked for, told apart from faults of our own."""

from __future__ import annotations


class BadInput(ValueError):
    """A value that cannot be used; the message names it and what would be right.

    Every check of input in the package raises this. The shell shows it in one line; any other ValueError
    is a fault of babygpt, and shows its traceback.
    """
