"""Self-tests: five questions, with answers that fold out and explain a wrong choice; faults are detected."""

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
import pytest

from tools.selftests import is_selftest, section

ROOT = Path(__file__).resolve().parents[2]
ONE = """\
**{n}.** What does v1 look at?

- a) the present token
- b) all tokens so far

<details><summary>Answer</summary>

**{right}.** Its table has *one* row for each token. Tempting is *{other}*: it is what a GPT does.

</details>
"""
QUESTIONS = 5
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
    folds    the folded text, beginning with the right letter
    """

    number: int
    choices: dict[str, str]
    folds: list[str]

    @property
    def right(self) -> str:
        """The letter of the right answer; empty where the fold does not begin with one."""
        found = re.match(r"\*\*([a-z])\.\*\* \S", self.folds[0]) if self.folds else None
        return found[1] if found else ""


def questions(source: str) -> list[Question]:
    """Return the questions of a self-test, in order."""
    _, *parts = NUMBER.split(section(source))
    found = []
    for starred, plain, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        folds = [block or line for block, line in FOLD.findall(text)]
        found.append(Question(int(starred or plain), dict(CHOICE.findall(text)), folds))
    return found


def problems(source: str) -> list[str]:
    """Return the faults of a self-test, in words; an empty list if there are none."""
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


def selftest(rights: str) -> str:
    asked = [ONE.format(n=n, right=r, other="b" if r == "a" else "a") for n, r in enumerate(rights, 1)]
    return "\n".join(["## Self-test\n", *asked])


GOOD = selftest("abbaa")


def test_the_selftests_of_the_notebooks_have_no_fault():
    found = {
        path.stem: problems(cell.source)
        for path in sorted((ROOT / "notebooks" / "src").glob("*.py"))
        for cell in jupytext.read(path, fmt="py:percent").cells
        if cell.cell_type == "markdown" and is_selftest(cell.source)
    }
    assert len(found) > 10
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("**4.**", "**7.**", "questions [1, 2, 3, 7, 5], not 1 to 5"),
        ("- b) all tokens so far\n", "", "question 1: choices ['a']"),
        ("**a.** Its", "**c.** Its", "begins with none of the letters"),
        ("Tempting is *b*: it", "It", "names no wrong choice"),
        ("</summary>\n\n", "</summary>\n", "5 <details>, of which 4"),
        ("<summary>Answer</summary>\n", "\n", "0 answers that fold out"),
    ],
)
def test_each_fault_of_a_selftest_is_detected(old: str, new: str, message: str):
    assert problems(GOOD) == []
    assert message in "\n".join(problems(GOOD.replace(old, new, 1)))
    assert problems(selftest("aaaaa")) == ["every right answer is 'a'"]


def test_a_question_may_be_open():
    line = "2. *Is v1 blind?* <details><summary>Answer</summary>Not **proven**.</details>\n"
    source = GOOD.replace(ONE.format(n=2, right="b", other="a"), line)
    assert problems(source) == []
    assert questions(source)[1].folds == ["Not **proven**."]
