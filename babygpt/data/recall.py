"""Tales with notes in them: `<7>` tells a digit, and `[7]` asks for it a known distance later.

There are three kinds of values: digits, asked for in `[7]`; capitals, in `{K}`; Greek letters, in `(α)`. The
bracket says which kind is asked for, and the answer is the last value of that kind.

The loss on tales hardly shows whether a model remembers, because most characters depend on others close by.
The 7 of `[7]` depends on one position alone, a known number of characters before. A value that is told is
drawn evenly from the ten of its kind: its loss is ln 10 nats at best. A value that is asked for follows from
the text, so a model that remembers loses 0 nats on it. This text has no floor, because the entropy of the
notes' positions is not computed. Without its notes it is a text of the plain tales: a note may stand
anywhere, also within a word.

One attention step is enough for an answer, from the bracket to the last value of its kind. With keys that
share their values, `<C7>` and `[C7]`, the model would have to combine two steps, and small models need longer
to learn that.

Source: the task is associative recall, as in Ba et al. 2016, arXiv:1610.06258, section 4.1, with distances.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from babygpt.data import tales
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput

# Ten values for each bracket that asks. No two kinds share a value, so that one attention step answers.
VALUES = {"[": "0123456789", "{": "KLMNOPQRST", "(": "αβγδεζηθικ"}
CLOSING = {"[": "]", "{": "}", "(": ")"}
NOTE = 3  # characters of a note


@dataclass(frozen=True)
class Spacing:
    """The distances between telling a value and asking for it, and the number of notes.

    nearest   smallest distance from the value told to the value asked for, in characters
    furthest  largest distance; with 52, both notes mostly fit into a window of 64
    rate      chance that a note begins before a character, if a kind is free and there is room
    """

    nearest: int = 8
    furthest: int = 52
    rate: float = 0.12


USUAL = Spacing()


def alphabet() -> list[str]:
    """Return every character of a text with notes, sorted. It does not depend on the spacing."""
    brackets = [*CLOSING, *CLOSING.values(), "<", ">"]
    return sorted({*tales.plain().alphabet(), *brackets, *"".join(VALUES.values())})


def weave(
    tale: str, rng: random.Random, spacing: Spacing = USUAL, planned: Mapping[int, str] | None = None
) -> str:
    """Put notes into a tale. Its own characters stay as they are.

    tale     text without notes
    planned  position in the woven text -> the note that begins there; positions at least 3 apart. Until then
             no other note tells a value of the kinds that they ask for.
    returns  the tale, in which every value told is asked for once, unless the tale ends before
    """
    pending = dict(planned or {})
    pieces, position = [], 0
    for char in tale:
        while True:  # several notes may stand before one character of the tale
            if position in pending:
                note = pending.pop(position)
            else:
                pair = _draw_pair(position, pending, rng, spacing)
                if pair is None:
                    break
                note, later, question = pair
                pending[later] = question
            pieces.append(note)
            position += len(note)
        pieces.append(char)
        position += 1
    return "".join(pieces)


def _draw_pair(
    position: int, pending: Mapping[int, str], rng: random.Random, spacing: Spacing
) -> tuple[str, int, str] | None:
    """Draw a note that tells a value at this position, and the note that asks for it later.

    The distance is drawn evenly.

    pending  position -> the note that will begin there
    returns  the first note, the position of the second, and the second; None if no note begins here, or if
             either would meet one of `pending`
    """
    if rng.random() >= spacing.rate:
        return None
    later = position + rng.randint(spacing.nearest, spacing.furthest)
    free = sorted(VALUES.keys() - {note[0] for note in pending.values()})  # sorted: sets have no fixed order
    if not free or any(abs(taken - start) < NOTE for taken in pending for start in (position, later)):
        return None
    kind = rng.choice(free)
    value = rng.choice(VALUES[kind])
    return f"<{value}>", later, f"{kind}{value}{CLOSING[kind]}"


def write_recall_text(n_chars: int, seed: int, spacing: Spacing = USUAL) -> str:
    """Write a text with notes, n_chars characters long. The same seed gives the same text."""
    return weave(tales.plain().write(n_chars, seed), random.Random(seed), spacing)[:n_chars]


class RecallWindows(NamedTuple):
    """Windows that end where a value is asked for.

    tokens   (n, T)   token ids; the last is that of the bracket: "... ["
    values   (n, 10)  token ids of the values of that kind
    answers  (n,)     the number of the right one, 0 to 9
    older    (n, k)   the numbers of those told before it
    """

    tokens: Tensor
    values: Tensor
    answers: Tensor
    older: Tensor


def recall_windows(
    tokenizer: CharTokenizer,
    distance: int,
    n: int = 256,
    length: int | None = None,
    seed: int = 2,
    spacing: Spacing = USUAL,
    is_told: bool = True,
    older: Sequence[int] = (),
) -> RecallWindows:
    """Return windows that tell one value and ask for it at the end, exactly `distance` characters later.

    The rest is like the text for training, but only notes of `older` tell other values of the same kind.

    distance  from the value told to the value asked for, in characters; it may exceed the spacing's furthest
    n         number of windows; the same seed draws the same ones
    length    tokens of a window, so that the question has the same position at every distance; None for
              distance + 1, and then the window begins with the note that tells the value
    seed      of tales and notes
    is_told   False leaves that note out: a control, in which 1 in 10 is the best that any model can do
    older     distances in characters from that note back to earlier notes, which tell other values
    Raises BadInput for a distance below the length of a note, or a length too short for all notes.
    """
    furthest = distance + max(older, default=0)
    length = furthest + 1 if length is None else length
    if distance < NOTE:
        raise BadInput(f"distance ({distance}) must be at least {NOTE}, the characters of a note")
    if length < furthest + 1:
        raise BadInput(f"length ({length}) must be at least {furthest + 1}, to hold all notes")
    rng = random.Random(seed)
    before = spacing.furthest + NOTE  # text before the window, until notes are as frequent as anywhere
    tale = tales.plain().write(64 * (before + length), seed)
    rows = []
    for _ in range(n):
        kind, answer = rng.choice(sorted(VALUES)), rng.randrange(10)
        start = rng.randrange(len(tale) - before - length)
        question = before + length - 1  # the position where the value is asked for
        notes = {question: f"{kind}{VALUES[kind][answer]}{CLOSING[kind]}"}
        others = rng.sample([number for number in range(10) if number != answer], len(older))
        tellings = [*zip(older, others, strict=True), *([(0, answer)] if is_told else [])]
        notes |= {question - distance - back: f"<{VALUES[kind][number]}>" for back, number in tellings}
        text = weave(tale[start : start + before + length], rng, spacing, notes)[before : before + length]
        numbers = torch.tensor(answer), torch.tensor(others, dtype=torch.long)
        rows.append((tokenizer.encode(text), tokenizer.encode(VALUES[kind]), *numbers))
    return RecallWindows(*(torch.stack(column) for column in zip(*rows, strict=True)))
