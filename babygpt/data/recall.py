"""Tales with notes in them: `<7>` tells a digit, and `[7]` asks for it a known distance later.

There are three kinds of values: digits, asked for in `[7]`; capitals, in `{K}`; Greek letters, in `(α)`. The
bracket says which kind is asked for, and the answer is the last value of that kind.

The loss on tales hardly tells a model that remembers from one that forgets: most of what a character depends
on stands close by. Here the 7 of `[7]` depends on one place alone, so many characters before. The value told
is drawn evenly from the ten of its kind, and nobody can be surer of it than ln 10 nats; the value asked
follows from what was told, so a reader who remembers loses 0 nats on it. When a note comes, and of which
kind, is drawn as well; what that costs a reader is not computed, and so this text has no floor. Without its
notes it is a text of the plain tales: a note may stand anywhere, within a word too.

One look is enough for an answer, from the bracket to the last value of its kind. With keys that share their
values, `<C7>` and `[C7]`, a head must find the key, and another must have brought along what stands beside
it, which takes small models longer to learn.

Source: the task is associative recall, as in Ba et al. 2016, arXiv:1610.06258, section 4.1, with distances.
"""

from __future__ import annotations

import random
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from babygpt.config import require_countable
from babygpt.data import tales
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput

VALUES = {"[": "0123456789", "{": "KLMNOPQRST", "(": "αβγδεζηθικ"}  # the bracket that asks -> ten values
CLOSING = {"[": "]", "{": "}", "(": ")"}
NOTE = 3  # characters of a note


@dataclass(frozen=True)
class Spacing:
    """How far apart what is told and what is asked stand, and how many notes there are.

    nearest   smallest distance from a value that is told to where it is asked, in characters
    furthest  largest distance; 52 fits into a window of 64 with both notes, at most of the places
    rate      chance that a note is told before a character, if a kind is free and there is room
    Raises ValueError for a nearest below the length of a note, a furthest below it, or a rate that is none.
    """

    nearest: int = 8
    furthest: int = 52
    rate: float = 0.12

    def __post_init__(self) -> None:
        if self.nearest < NOTE:
            raise BadInput(f"nearest ({self.nearest}) must be at least {NOTE}, the characters of a note")
        if self.furthest < self.nearest:
            raise BadInput(f"furthest ({self.furthest}) must be at least nearest ({self.nearest})")
        if not 0 <= self.rate <= 1:
            raise BadInput(f"rate ({self.rate}) must lie between 0 and 1")


USUAL = Spacing()


def told(value: str) -> str:
    """The note that tells a value: <7>."""
    return f"<{value}>"


def asked(kind: str, value: str) -> str:
    """The note that asks for a value of a kind, and has the answer in it: [7].

    kind  the bracket that asks for it, one of VALUES
    """
    return f"{kind}{value}{CLOSING[kind]}"


def alphabet() -> list[str]:
    """Every character of a text with notes, sorted: the same whatever the distances."""
    brackets = "".join([*CLOSING, *CLOSING.values(), told("")])
    return sorted({*tales.plain().alphabet(), *brackets, *"".join(VALUES.values())})


def weave(
    tale: str, rng: random.Random, spacing: Spacing = USUAL, planned: MutableMapping[int, str] | None = None
) -> str:
    """Put notes into a tale, all of whose characters stay as they are.

    tale     text without notes
    planned  place in the woven text -> the note that begins there; places at least 3 apart. Nothing of the
             kinds that are asked for in it is told elsewhere before.
    returns  the tale, each value that is told in it asked once, unless the tale ends before
    """
    left = dict(planned or {})
    pieces, at = [], 0
    for char in tale:
        while note := left.pop(at, None) or _told_at(at, left, rng, spacing):
            pieces.append(note)
            at += len(note)
        pieces.append(char)
        at += 1
    return "".join(pieces)


def _told_at(at: int, left: dict[int, str], rng: random.Random, spacing: Spacing) -> str | None:
    """A note that tells a value at this place, if one comes, with its asking put among those `left`.

    The distance is drawn evenly; where the asking would meet another note, nothing is told.
    """
    if rng.random() >= spacing.rate:
        return None
    later = at + rng.randint(spacing.nearest, spacing.furthest)
    free = sorted(VALUES.keys() - {note[0] for note in left.values()})
    if not free or any(abs(place - start) < NOTE for place in left for start in (at, later)):
        return None
    kind = rng.choice(free)
    value = rng.choice(VALUES[kind])
    left[later] = asked(kind, value)
    return told(value)


def write(n_chars: int, seed: int, spacing: Spacing = USUAL) -> str:
    """Write a text with notes of n_chars characters; the same seed gives the same text."""
    return weave(tales.plain().write(n_chars, seed), random.Random(seed), spacing)[:n_chars]


class RecallWindows(NamedTuple):
    """Windows that end where a value is asked.

    tokens   (n, T)   token ids, the last that of the bracket: "... ["
    values   (n, 10)  token ids of the values of that kind
    answers  (n,)     which of these was told, 0 to 9
    """

    tokens: Tensor
    values: Tensor
    answers: Tensor


def recall_windows(
    tokenizer: CharTokenizer,
    distance: int,
    n: int = 256,
    length: int | None = None,
    seed: int = 2,
    spacing: Spacing = USUAL,
    is_told: bool = True,
) -> RecallWindows:
    """Windows of text in which one value is told, and asked at the end, exactly `distance` characters later.

    All else is as in the text for training, only that nothing else is told of the kind that is asked.

    distance  from the value told to the value asked, in characters; it may exceed the spacing's furthest
    n         windows; the same seed draws the same ones
    length    tokens of a window, so that the asking stands at the same place whatever the distance;
              distance + 1 if None, and then the note that tells begins the window
    seed      of tales and notes
    is_told   False leaves the note out: the control, in which nobody can do better than 1 in 10
    Raises ValueError for a distance below the length of a note, or a length too short for it.
    """
    length = distance + 1 if length is None else length
    require_countable("n", n)
    if distance < NOTE:
        raise BadInput(f"distance ({distance}) must be at least {NOTE}, the characters of a note")
    if length < distance + 1:
        raise BadInput(
            f"length ({length}) must be at least distance + 1 ({distance + 1}), to hold both notes"
        )
    rng = random.Random(seed)
    before = spacing.furthest + NOTE  # characters after which the notes are as frequent as anywhere
    tale = tales.plain().write(64 * (before + length), seed)
    rows = []
    for _ in range(n):
        kind, answer = rng.choice(sorted(VALUES)), rng.randrange(10)
        start, at = rng.randrange(len(tale) - before - length), before + length - 1
        notes = {at: asked(kind, VALUES[kind][answer])}
        if is_told:
            notes[at - distance] = told(VALUES[kind][answer])
        text = weave(tale[start : start + before + length], rng, spacing, notes)[before : before + length]
        rows.append((tokenizer.encode(text), tokenizer.encode(VALUES[kind]), torch.tensor(answer)))
    return RecallWindows(*(torch.stack(column) for column in zip(*rows, strict=True)))
