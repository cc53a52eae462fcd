"""Counting the words that a window has not shown yet.

A window that begins mid-story has missed some words: they are bound to variables, all differ from one
another, and every way to choose them is equally likely. Nothing is drawn here: a `Pool` counts the ways.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Pool(NamedTuple):
    """Words of one kind that the window has missed, and that differ from all it has shown since.

    size    words of this kind
    used    those that the missed ones cannot be, because the window showed them
    hidden  how many words were missed
    ends    those that one more word may be, of which the window showed only the end; None without one
    left    how many of `ends` are not used
    lead    in how many ways that word can be chosen before the missed ones are: it differs from them too
    """

    size: int
    used: frozenset[str] = frozenset()
    hidden: int = 0
    ends: frozenset[str] | None = None
    left: int = 0
    lead: float = 0.0

    def ways(self) -> float:
        """In how many ways the missed words can be chosen, and the word that was seen in part."""
        free = self.size - len(self.used)
        chosen = math.perm(free, self.hidden)
        if self.ends is None:
            return chosen
        taken = (
            self.hidden * self.left / free if self.hidden else 0.0
        )  # of `ends`, by missed words, on average
        return chosen * (self.lead - taken)

    def show(self, word: str, avoided: bool) -> Pool:
        """The pool after the window has shown a word.

        avoided  whether the word seen in part is known to be another one
        """
        if word in self.used:
            return self
        among = self.ends is not None and word in self.ends
        lead = self.lead - (among and avoided)
        return self._replace(used=self.used | {word}, left=self.left - among, lead=lead)

    def complete(self, word: str) -> Pool:
        """The pool after the word seen in part was shown whole."""
        return self._replace(used=self.used | {word}, ends=None, left=0, lead=0.0)

    def forget(self) -> tuple[float, Pool]:
        """One missed word will never be shown: its ways to be chosen, and the pool without it."""
        free, rest = self.size - len(self.used), self._replace(hidden=self.hidden - 1)
        others = free - self.hidden  # words that none of the missed ones is
        if self.ends is None:
            return others + 1.0, rest
        if (
            others == 0
        ):  # then the missed words are all that are free, so it is known how many of `ends` they are
            return self.lead - self.left, rest._replace(ends=None, left=0, lead=0.0)
        return float(others), rest._replace(lead=((others + 1) * self.lead - self.left) / others)
