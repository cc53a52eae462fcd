"""What can be known of the next character in a window that begins anywhere in a text.

Such a window has missed the beginning of a story. Whoever reads it, however clever, must guess in which
story it is, at which place, and what names were told before. Here the guess is made exactly: all places of
all stories are kept, each with its probability, and every character removes those that it refutes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator

import numpy as np

from babygpt.data.grammar import START_RULE, Grammar
from babygpt.data.stories import END, Rule, Slot
from babygpt.errors import BadInput
from babygpt_course.studies.window_floor.guesses import (
    Bound,
    Frame,
    Guess,
    Spelling,
    begun_inside,
    end_shown,
    names_in,
    probability,
    with_pools,
    without_template,
    word_shown,
)

Callers = dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[float, Frame | None]]]  # of (rule, names)
REMEMBERED = 3  # characters: the guesses after so many are kept, because many windows begin alike


class MidStory:
    """Reads windows that begin anywhere in a grammar's text, and says how probable each character was."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.spelling = {kind: Spelling(words) for kind, words in grammar.words.items()}
        self.sizes = {kind: len(words) for kind, words in grammar.words.items()}
        self._first = self._starts()
        self._remembered: dict[str, tuple[float, list[Guess]]] = {}

    def losses(self, window: str) -> np.ndarray:
        """-log p of each character after the first, given the window before it and nothing else.

        window   (T,)  characters of running text: stories, each with a line end after it
        returns  (T - 1,)  nats
        Raises ValueError for a window that no text of this grammar holds.
        """
        guesses: list[Guess] = []
        found = []
        for at in range(len(window)):
            p, guesses = self._read(guesses, window[: at + 1])
            found.append(-math.log(p))
        return np.array(found[1:])

    def _read(self, guesses: list[Guess], text: str) -> tuple[float, list[Guess]]:
        """The chance of a text's last character, and the guesses after it; their probabilities sum to 1."""
        if text in self._remembered:
            return self._remembered[text]
        before = guesses if len(text) > 1 else self._first
        after = [guess for one in before for guess in self._after(one, text[-1])]
        chances = [probability(guess, self.spelling) for guess in after]
        p = math.fsum(chances)
        if p <= 0:
            raise BadInput(f"no text of this grammar holds {text!r}")
        some = [g._replace(weight=g.weight / p) for g, q in zip(after, chances, strict=True) if q > 0]
        if len(text) <= REMEMBERED:
            self._remembered[text] = p, some
        return p, some

    # ---- where a window may begin --------------------------------------------------------------

    def _starts(self) -> list[Guess]:
        """Every place of every story, each as often as it comes in a long text.

        A template that many others call is entered once for all that know the same names.
        """
        share = 1 / self.grammar.expected_length()
        callers: Callers = {(START_RULE, ()): [(share, None)]}
        found, depth = [Guess(share, None)], 0
        while callers:
            later: Callers = defaultdict(list)
            for (rule, names), some in callers.items():
                templates, total = self.grammar.templates[rule], sum(share for share, _ in some)
                parents = tuple((share / total, frame) for share, frame in some if frame is not None)
                for template in templates:
                    frame = Frame(template, 0, {slot: slot for slot in names}, parents, depth)
                    found += self._starts_in(frame, total / len(templates), later)
            callers, depth = later, depth + 1
        return found

    def _starts_in(self, frame: Frame, share: float, later: Callers) -> Iterator[Guess]:
        """The places in a template; the rules that it calls are put down in `later`."""
        for at, item in enumerate(frame.template):
            frame = frame._replace(at=at)
            if isinstance(item, Rule):
                later[item.name, tuple(sorted(names_in(frame.bound)))].append((share, frame))
                continue
            start = with_pools(Guess(share, frame), self.sizes)
            if isinstance(item, str):
                yield from (start._replace(read=item[:place]) for place in range(len(item)))
                continue
            yield start
            slot = item.kind, item.var
            number: Hashable = slot if item.kind == "name" else (*slot, frame.depth)
            frame = frame._replace(bound={slot: number, **frame.bound})
            yield begun_inside(Guess(share, frame), item, self.sizes)

    # ---- one character more --------------------------------------------------------------------

    def _after(self, guess: Guess, char: str) -> Iterator[Guess]:
        """The ways to read one more character."""
        text, read = guess.text(), guess.read + char
        if guess.frame is None:
            if char == END:
                yield from self._enter(Guess(guess.weight, None), START_RULE)
        elif text is None:
            yield from self._after_unknown(guess, read)
        elif read == text:
            yield from self._next(guess)
        elif text.startswith(read):
            yield guess._replace(read=read)

    def _after_unknown(self, guess: Guess, read: str) -> Iterator[Guess]:
        """The ways to go on in a word that the window has not shown yet, or to end it here."""
        assert guess.frame is not None
        slot = guess.frame.template[guess.frame.at]
        assert isinstance(slot, Slot)
        known = self.spelling[slot.kind]
        if read in (known.goes_on if guess.inside else known.longer):
            yield guess._replace(read=read)
        if guess.inside and read in known.ends:
            yield from self._next(end_shown(guess, slot, known.ends[read]))
        elif not guess.inside and read in known.words:
            whole = word_shown(guess, slot, read, len(known.words))
            yield from self._next(whole) if whole is not None else ()

    def _next(self, guess: Guess) -> Iterator[Guess]:
        """Go on to the item after the one that was read, out of templates that end and into rules."""
        frame = guess.frame
        assert frame is not None
        if frame.at + 1 < len(frame.template):
            frame = frame._replace(at=frame.at + 1)
            item, guess = frame.template[frame.at], guess._replace(frame=frame, read="")
            yield from self._enter(guess, item.name) if isinstance(item, Rule) else [guess]
            return
        guess = without_template(guess, frame)
        if not frame.parents:
            yield guess._replace(frame=None, read="")
        for share, parent in frame.parents:
            back = guess._replace(frame=parent, weight=guess.weight * share)
            yield from self._next(with_pools(back, self.sizes))

    def _enter(self, guess: Guess, rule: str) -> Iterator[Guess]:
        """The guess at the beginning of each template of a rule."""
        caller, templates = guess.frame, self.grammar.templates[rule]
        bound: Bound = {} if caller is None else names_in(caller.bound)
        parents, depth = ((), 0) if caller is None else (((1.0, caller),), caller.depth + 1)
        for template in templates:
            frame, first = Frame(template, 0, bound, parents, depth), template[0]
            begun = guess._replace(frame=frame, weight=guess.weight / len(templates))
            yield from self._enter(begun, first.name) if isinstance(first, Rule) else [begun]
