"""Exercises of notebook 10: NTK-aware frequencies, YaRN, and an experiment that tests memory."""

import math
import random
import re
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings import sinusoidal
from babygpt.errors import BadInput
from babygpt_course.exercises.checks import Wrong, ask, ask_bool, ask_parts, require_equal, require_shape
from babygpt_course.exercises.compare import describe, difference
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, read_tasks

TASKS = read_tasks("lesson_10")


def uniform(draw: Generator, low: float, high: float) -> float:
    """Return a number from low to high, of two decimals, as it will be printed."""
    return round(low + (high - low) * float(torch.rand((), generator=draw)), 2)


def ntk_answer(head_dim: int, theta: float, factor: float) -> Tensor:
    """RoPE's frequencies (head_dim/2,) in radians per token, for texts `factor` times as long."""
    # Pair head_dim / 4 has the exponent -1/2, so the root of the base must grow by the factor.
    base = theta * factor**2
    return base ** (-torch.arange(0, head_dim, 2) / head_dim)


def compare_ntk(attempt: Any, draw: Generator, part: str) -> None:
    """Compare how many times slower the learner's pairs turn: the first, the one in the middle, or all."""
    for head_dim in (4, 8, 8, 16, 4 * integer(draw, 5, 20), 256):
        theta, s = float(integer(draw, 50, 50_000)), uniform(draw, 1.5, 16)
        what = f"head_dim {head_dim}, theta {theta:.0f}, factor {s:g}"
        got = require_shape(ask(attempt, head_dim, theta, s, what=what), what, (head_dim // 2,))
        slower, middle = sinusoidal.frequencies(head_dim, theta) / got, head_dim // 4
        expected = s ** (torch.arange(head_dim // 2) / middle)  # in equal ratios: 1 at first, s in the middle
        lessons = s ** (middle / (len(got) - 1))
        mistakes = {
            "That is position interpolation, which slows all of them": expected[-1],
            "Are these wavelengths? Frequencies are asked, in radians per token": 1 / (2 * math.pi),
            "It is as quick as it was": 1.0,
            "It has become quicker": 1 / s,
            "That is what `theta * factor` does: the exponent of this pair is not -1": s**0.5,
            "That is the lesson's base, which slows the last pair so much": lessons,
        }
        both = not difference(slower[[0, middle]], expected[[0, middle]], atol=1e-3)
        hint = ". These two pairs are right, but the ratio must be the same from pair to pair" if both else ""
        parts: dict[str, tuple[Any, str]] = {
            "first": (0, "the quickest pair is"),
            "middle": (middle, f"pair {middle} is"),
            "all": (slice(None), "pairs are"),
        }
        index, name = parts[part]
        require_equal(slower[index], expected[index], f"{what} {name} so many times slower:", mistakes, hint)


NTK = Exercise(
    TASKS["Choose a base for NTK-aware scaling"], each(compare_ntk, "first", "middle", "all"), ntk_answer
)


def yarn_answer(
    frequencies: Tensor, window: int, factor: float, fewest: float, most: float
) -> tuple[Tensor, float]:
    """YaRN's frequencies (P,) for texts `factor` times as long, and what it multiplies scores by."""
    turns = window * frequencies / (2 * math.pi)
    share = ((turns - fewest) / (most - fewest)).clamp(0, 1)
    # Queries and keys both get 1 + 0.1 ln(factor), and a score is a product of the two.
    return frequencies * (share + (1 - share) / factor), (1 + 0.1 * math.log(factor)) ** 2


def compare_yarn(attempt: Any, draw: Generator, low: float, high: float, scores: bool = False) -> None:
    """Compare how many times slower the learner's pairs turn, or the number that multiplies scores.

    low, high  limits of the pairs' turns in the window: 0 stands for no turn at all, 1 for `fewest` turns,
               2 for `most`, and 3 for three times `most`
    scores     whether to compare the number that multiplies scores, and not the pairs
    """
    for pairs in (1, 2, 5, 5, 64):  # in any order, unlike RoPE's
        window, s = integer(draw, 32, 4096), uniform(draw, 2, 16)
        fewest, more = uniform(draw, 0.5, 4), uniform(draw, 2, 30)
        marks = low + (high - low) * torch.rand(pairs, generator=draw, dtype=torch.float64)
        most = round(fewest + more, 2)
        turns = fewest * marks.clamp(max=1) + more * (marks - 1).clamp(0, 1) + 2 * most * (marks - 2).clamp(0)
        what = f"window {window}, factor {s:g}, fewest {fewest:g}, most {most:g}, "
        what += f"pairs that turn {describe(turns)} times in the window"
        arguments = turns * 2 * math.pi / window, window, s, fewest, most
        got, number = ask_parts(
            attempt, *arguments, what=what, expected="two things, the frequencies and a number"
        )
        ratio = arguments[0] / require_shape(got, what, (pairs,))
        if scores:
            once = 1 + 0.1 * math.log(s)
            mistakes: dict[str, Any] = {
                "Queries get it and keys get it; a score is a product of the two": once,
                "Attention becomes sharper, so scores grow": 1 / once**2,
                "ln is the natural logarithm, `math.log`": (1 + 0.1 * math.log10(s)) ** 2,
            }
            require_equal(number, once**2, f"factor {s:g} the scores' number", mistakes, atol=1e-5)
            continue
        share, share_by_radians, share_by_long_window = (
            (k * turns - fewest) / (most - fewest) for k in (1, 2 * math.pi, s)
        )
        by_logarithm = (turns / fewest).log() / math.log(most / fewest)
        true_share = share.clamp(0, 1)  # of the old frequency
        shares = {
            "You left them as they were": torch.ones_like(turns),
            "You slowed them by the whole factor": torch.zeros_like(turns),
            "Is your ramp the wrong way round? Pairs that turn often keep their frequency": 1 - true_share,
            "A turn is 2π radians": share_by_radians.clamp(0, 1),
            "Count turns in the window of training, not in the stretched one": share_by_long_window.clamp(
                0, 1
            ),
            "The share grows evenly with the turns, not with their logarithm": by_logarithm.clamp(0, 1),
            "A share is never below 0 or above 1": share,
        }
        mistakes = {sentence: 1 / (share + (1 - share) / s) for sentence, share in shares.items()}
        mistakes["Mix the frequencies, not the wavelengths"] = true_share + (1 - true_share) * s
        times = "they are so many times slower:"
        require_equal(ratio, 1 / (true_share + (1 - true_share) / s), f"{what} {times}", mistakes)


YARN = Exercise(
    TASKS["YaRN spares the quick pairs"],
    each(compare_yarn, (2.05, 3), (0.3, 0.9), (1.1, 1.9), (0, 3, True)),
    yarn_answer,
)

KEYS, DIGITS = "ABCDEFGH", "0123456789"
NOTE = re.compile(f"<([{KEYS}])([{DIGITS}])>")
SHORTEST = 12  # distance that is asked about: there is room for two notes in between
FIRST = 8  # characters at the beginning that some readers never forget
QUESTIONS = 200  # of the checker's own, to show how a reader answers


def forgets_answer(reader: Callable[[str], str], distance: int) -> bool:
    """Whether a reader has forgotten a digit that it was told `distance` characters ago."""
    right = 0
    for _ in range(100):
        key, earlier, later = random.sample("ABCDEFGH", 3)
        digit, earlier_digit, later_digit = random.sample("0123456789", 3)
        before = f"<{earlier}{earlier_digit}>" + "." * random.randrange(100)
        between = f"<{later}{later_digit}>".ljust(distance - 4, ".")
        right += reader(f"{before}<{key}{digit}>{between}[{key}") == digit
    return right < 60


Note = namedtuple("Note", "key digit back end")  # back: from the digit that is asked; end: in the text
ChooseDigit = Callable[[str, list[Note]], str]  # key and notes of a text -> the digit that a reader gives


def latest(keeps: Callable[[Note], bool] = bool, only: str = KEYS) -> ChooseDigit:
    """Return the digit last told of the key, out of the notes that a reader keeps, of some keys only."""
    return lambda key, notes: next(
        (n.digit for n in reversed(notes) if n.key == key and key in only and keeps(n)), ""
    )


def readers(kind: str, distance: int, chance: random.Random) -> dict[str, ChooseDigit]:
    """Return how readers choose a digit, given the key and the notes of a text; "" stands for a guess.

    kind  "remembers", "forgets", or "pretends": forgets, and is right on texts that are all alike
    """
    half, near, far, everything = distance // 2, distance - 2, distance + 2, latest()
    if kind == "remembers":
        most, guesses = f"{distance} characters back", "one that guesses once in 20 questions"
        return {
            "one that keeps everything": everything,
            f"one that reads {most}, no further": latest(lambda n: n.back <= distance),
            f"one that keeps what was told {most} or more": latest(lambda n: n.back >= distance),
            guesses: lambda key, notes: "" if chance.random() < 0.05 else everything(key, notes),
        }
    if kind == "forgets":
        window = f"one that forgets only what is {near} to {far} characters back"
        return {
            "one that only guesses": lambda key, notes: "",
            f"one that reads {half} characters back": latest(lambda n: n.back <= half),
            f"one that reads {distance - 1} characters back": latest(lambda n: n.back < distance),
            window: latest(lambda n: not near <= n.back <= far),
        }
    label = f"one that keeps the first {FIRST} characters of a text, and the last {half}"
    return {
        "one that gives the digit told last, whatever its key": lambda key, notes: notes[-1].digit,
        "one that gives the digit told first, whatever its key": lambda key, notes: notes[0].digit,
        label: latest(lambda n: n.end <= FIRST or n.back <= half),
        **{f"one that always says {digit}": partial(lambda digit, *_: digit, digit) for digit in DIGITS},
        **{f"one that knows the digit of {k} only": latest(only=k) for k in KEYS},
    }


def read(choose: ChooseDigit, chance: random.Random, text: str) -> str:
    """Answer as a reader that chooses a digit from the notes of a text, or guesses."""
    if not isinstance(text, str) or not re.search(rf"\[[{KEYS}]\Z", text):
        end = describe(text[-12:] if isinstance(text, str) else text)
        raise BadInput(f"a reader's text should end in [ and a key from A to H, as in '[C', not in {end}")
    notes = [Note(m[1], m[2], len(text) - m.start(2), m.end(2)) for m in NOTE.finditer(text)]
    return (choose(text[-1], notes) if notes else "") or chance.choice(DIGITS)


def evidence(reader: Callable[[str], str], distance: int, rng: random.Random) -> str:
    """Return how often a reader is right on the checker's own questions, and the shortest that it misses."""
    wrong = []
    for _ in range(QUESTIONS):
        key, *others = rng.sample(KEYS, 3)
        digit = rng.choice(DIGITS)
        before, between = (f"<{rival}{rng.choice(DIGITS)}>" for rival in others)
        text = f"{'.' * rng.randrange(60)}{before}<{key}{digit}>{between}{'.' * (distance - 8)}[{key}"
        if (answer := reader(text)) != digit:
            wrong.append((len(text), f"; asked {describe(text)} it says {answer}"))
    right = f"Of {QUESTIONS} questions of the checker it answers {QUESTIONS - len(wrong)} correctly"
    return right + (min(wrong, key=lambda pair: pair[0])[1] if len(wrong) >= QUESTIONS / 2 else "")


def listening(reader: Callable[[str], str], heard: list[str]) -> Callable[[str], str]:
    """Return a reader that keeps in `heard` the first text that it is asked, with its answer."""

    def listen(text: str) -> str:
        answer = reader(text)
        if not heard:
            heard.append(f"Your first text was {describe(text)}, and it said {answer}")
        return answer

    return listen


def judge(attempt: Any, draw: Generator, kind: str) -> None:
    """Raise Wrong for the first reader that the learner's experiment takes for what it is not."""
    for distance in (SHORTEST, integer(draw, 20, 40), integer(draw, 60, 300)):
        chance = dice(draw)
        for name, choose in readers(kind, distance, chance).items():
            what, reader, heard = f"{name} (distance {distance})", partial(read, choose, chance), list[str]()
            answer = ask_bool(attempt, listening(reader, heard), distance, what=what)
            if answer is (kind == "remembers"):
                verdict = f"you find that this one {'forgets' if answer else 'remembers'}: {what}"
                yours = [*heard, "You asked it nothing"][0]
                raise Wrong(f"{verdict}. {yours}. {evidence(reader, distance, dice(draw))}")


FORGETS = Exercise(
    TASKS["Test a reader's memory"],
    each(judge, "remembers", "forgets", "pretends"),
    forgets_answer,
    seconds=20.0,
)

EXERCISES = (NTK, YARN, FORGETS)
