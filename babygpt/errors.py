"""Errors of the user, as opposed to bugs of babygpt."""

from collections.abc import Iterable
from difflib import get_close_matches


class BadInput(ValueError):
    """A value that cannot be used; the message names it and what would be right.

    Every check of input in the package raises this. The shell shows it in one line. Any other ValueError is a
    bug of babygpt, and shows its traceback.
    """


def suggestion(word: object, names: Iterable[str], titles: Iterable[str] = ()) -> str:
    """Return "; did you mean v4?" for a name that nearly is one of `names`, or else the empty text.

    titles  other words for the names, in the same order: "RoPE" for v4
    """
    choices = list(names)
    spellings: dict[str, str] = {}
    # Two names may share a title; then the first of them is meant.
    for name, title in zip(choices, [*titles, *choices], strict=False):
        spellings.setdefault(title.casefold(), name)
    spellings |= {name.casefold(): name for name in choices}
    near = get_close_matches(str(word).casefold().strip(), spellings, n=1, cutoff=0.75)
    return f"; did you mean {spellings[near[0]]}?" if near else ""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its kind if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
