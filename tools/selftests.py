"""The self-test at the end of a notebook: five questions whose answers fold out.

It is Markdown and no widget, so that it works without a kernel: on a web page, on paper, in a notebook that
was never run. `<details>` opens with the keyboard, and its words are there for search and screen readers.

    ## Self-test

    **1.** What does v1 look at?

    - a) the present token
    - b) all tokens so far

    <details><summary>Answer</summary>

    **a.** Its table has a row for each token, and no other input. Tempting is *b*: …

    </details>
"""

from __future__ import annotations

import re
from dataclasses import dataclass

QUESTIONS = 5
HEADING = re.compile(r"^#+ Self-test\s*$", flags=re.M)
NUMBER = re.compile(r"^\*\*(\d+)\.\*\* ", flags=re.M)
CHOICE = re.compile(r"^- ([a-z])\) (.+)$", flags=re.M)
# Markdown inside needs an empty line after the summary, and one before the end.
FOLD = re.compile(r"^<details><summary>Answer</summary>\n\n(.*?)\n\n</details>$", flags=re.M | re.S)


@dataclass(frozen=True)
class Question:
    """One question of a self-test.

    number   as written
    choices  letter -> text
    folds    what folds out: one text, beginning with the right letter
    """

    number: int
    choices: dict[str, str]
    folds: list[str]

    @property
    def right(self) -> str:
        """The letter of the right answer; empty where the fold does not begin with one."""
        found = re.match(r"\*\*([a-z])\.\*\* \S", self.folds[0]) if self.folds else None
        return found[1] if found else ""

    def problems(self) -> list[str]:
        """What is wrong with the question, in words."""
        found = []
        letters = "abcdefgh"[: len(self.choices)]
        if len(self.choices) < 2 or "".join(self.choices) != letters:
            found.append(f"choices {list(self.choices)}; there should be a), b) and so on")
        if len(self.folds) != 1:
            found.append(f"{len(self.folds)} answers that fold out; there should be 1")
        elif self.right not in self.choices:
            found.append("its answer begins with none of the letters, as in **a.** Because …")
        elif not any(f"*{letter}*" in self.folds[0] for letter in self.choices if letter != self.right):
            found.append("its answer names no wrong choice, as in Tempting is *b*: …")
        return [f"question {self.number}: {problem}" for problem in found]


def is_selftest(source: str) -> bool:
    """Whether a Markdown cell holds a self-test."""
    return bool(HEADING.search(source))


def questions(source: str) -> list[Question]:
    """The questions of a self-test, in order."""
    parts = NUMBER.split(source[HEADING.search(source).end() :])[1:]  # type: ignore[union-attr]
    return [
        Question(int(number), dict(CHOICE.findall(text)), FOLD.findall(text))
        for number, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def problems(source: str) -> list[str]:
    """What is wrong with a self-test, in words; nothing if all is well."""
    asked = questions(source)
    numbers = [question.number for question in asked]
    found = [] if numbers == list(range(1, QUESTIONS + 1)) else [f"questions {numbers}, not 1 to {QUESTIONS}"]
    found += [problem for question in asked for problem in question.problems()]
    if len(asked) > 1 and len({question.right for question in asked}) == 1:
        found.append(f"every right answer is {asked[0].right!r}")
    if (folds := source.count("<details")) != (good := len(FOLD.findall(source))):
        found.append(f"{folds} <details>, of which {good} have empty lines around their text")
    return found


def without_answers(source: str) -> str:
    """A self-test whose answers are gone, for a class."""
    return re.sub(r"\n*<details>.*?</details>[ \t]*", "", source, flags=re.S)
