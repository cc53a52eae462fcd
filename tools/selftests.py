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


def is_selftest(source: str) -> bool:
    """Whether a Markdown cell holds a self-test."""
    return bool(HEADING.search(source))


def section(source: str) -> str:
    """Return what stands between the heading of a self-test and the next heading."""
    text = HEADING.split(source, maxsplit=1)[-1]
    return re.split(r"^#+ ", text, maxsplit=1, flags=re.M)[0]


def questions(source: str) -> list[Question]:
    """Return the questions of a self-test, in order."""
    _, *parts = NUMBER.split(section(source))
    found = []
    for starred, plain, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        folds = [block or line for block, line in FOLD.findall(text)]
        found.append(Question(int(starred or plain), dict(CHOICE.findall(text)), folds))
    return found


def problems(source: str) -> list[str]:
    """Return what is wrong with a self-test, in words; nothing if all is well."""
    asked, found = questions(source), list[str]()
    numbers = [question.number for question in asked]
    if numbers != list(range(1, QUESTIONS + 1)):
        found.append(f"questions {numbers}, not 1 to {QUESTIONS}")
    for question in asked:
        letters, name = list(question.choices), f"question {question.number}"
        if len(letters) == 1 or "".join(letters) != "abcdefgh"[: len(letters)]:
            found.append(f"{name}: choices {letters}; there should be a), b) and so on")
        if len(question.folds) != 1:
            found.append(f"{name}: {len(question.folds)} answers that fold out; there should be 1")
        elif letters and question.right not in letters:
            found.append(f"{name}: its answer begins with none of the letters, as in **a.** Because …")
        elif letters and not any(f"*{x}*" in question.folds[0] for x in letters if x != question.right):
            found.append(f"{name}: its answer names no wrong choice, as in Tempting is *b*: …")
    rights = [question.right for question in asked if question.choices]
    if len(rights) > 1 and len(set(rights)) == 1:
        found.append(f"every right answer is {rights[0]!r}")
    number, good = section(source).count("<details"), len(FOLD.findall(section(source)))
    if number != good:
        found.append(f"{number} <details>, of which {good} have empty lines around them, or are one line")
    return found


def without_answers(source: str) -> str:
    """Return a self-test without its answers, for a class."""
    kept = section(source)
    return source.replace(kept, re.sub(r"\s*<details>.*?</details>[ \t]*", "", kept, flags=re.S))
