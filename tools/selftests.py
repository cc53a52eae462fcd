"""The self-test at the end of a notebook: five questions whose answers fold out.

It is Markdown and no widget, so that it works without a kernel: on a web page, on paper, in a notebook that
was never run. It stores nothing, and its words are there for search and for screen readers.

    ## Self-test

    **1.** What does v1 look at?

    - a) the present token
    - b) all tokens so far

    <details><summary>Answer</summary>

    **a.** Its table has a row for each token, and no other input. Tempting is *b*: …

    </details>

A question without choices is an open one. Its number and fold may then be those of a list, all in one line:

    2. Is a causal model blind to order? <details><summary>Answer</summary>No: …</details>
"""

from __future__ import annotations

import re
from dataclasses import dataclass

QUESTIONS = 5
HEADING = re.compile(r"^#+ Self-test\s*$", flags=re.M)
NUMBER = re.compile(r"^(?:\*\*(\d+)\.\*\*|(\d+)\.) ", flags=re.M)
CHOICE = re.compile(r"^- ([a-z])\) (.+)$", flags=re.M)
# Markdown inside needs an empty line after the summary, and one before the end, or all of it in one line.
FOLD = re.compile(
    r"<details><summary>Answer</summary>(?:\n\n(.+?)\n\n|([^\n]+))</details>$", flags=re.M | re.S
)


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
        if len(self.choices) == 1 or "".join(self.choices) != letters:
            found.append(f"choices {list(self.choices)}; there should be a), b) and so on")
        if len(self.folds) != 1:
            found.append(f"{len(self.folds)} answers that fold out; there should be 1")
        elif not self.choices:
            pass
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
    starts = list(NUMBER.finditer(text := section(source)))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    parts = [text[start.end() : end] for start, end in zip(starts, ends, strict=True)]
    return [
        Question(int(start[1] or start[2]), dict(CHOICE.findall(part)), folds(part))
        for start, part in zip(starts, parts, strict=True)
    ]


def section(source: str) -> str:
    """What stands between the heading of a self-test and the next heading."""
    text = HEADING.split(source, maxsplit=1)[-1]
    return re.split(r"^#+ ", text, maxsplit=1, flags=re.M)[0]


def folds(text: str) -> list[str]:
    """The texts that fold out."""
    return [block or line for block, line in FOLD.findall(text)]


def problems(source: str) -> list[str]:
    """What is wrong with a self-test, in words; nothing if all is well."""
    asked = questions(source)
    numbers = [question.number for question in asked]
    found = [] if numbers == list(range(1, QUESTIONS + 1)) else [f"questions {numbers}, not 1 to {QUESTIONS}"]
    found += [problem for question in asked for problem in question.problems()]
    rights = [question.right for question in asked if question.choices]
    if len(rights) > 1 and len(set(rights)) == 1:
        found.append(f"every right answer is {rights[0]!r}")
    number, good = section(source).count("<details"), len(folds(section(source)))
    if number != good:
        found.append(
            f"{number} <details>, of which {good} have empty lines around their text, or are one line"
        )
    return found


def without_answers(source: str) -> str:
    """A self-test whose answers are gone, for a class."""
    kept = section(source)
    return source.replace(kept, re.sub(r"\s*<details>.*?</details>[ \t]*", "", kept, flags=re.S))
