"""Errors of the user, as opposed to bugs of babygpt."""


class BadInput(ValueError):
    """A value that cannot be used; the message names it and what would be right.

    Every check of input in the package raises this. The shell shows it in one line. Any other ValueError is a
    bug of babygpt, and shows its traceback.
    """
