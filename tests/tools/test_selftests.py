"""Self-tests: five questions, with answers that fold out and explain a wrong choice; faults are detected."""

import re
from pathlib import Path

import jupytext
import pytest

from tools.selftests import is_selftest, section

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"^(?:\*\*(\d+)\.\*\*|(\d+)\.) ", flags=re.M)
CHOICE = re.compile(r"^- ([a-z])\) .+$", flags=re.M)
# Markdown inside needs an empty line after the summary, and one before the end, or all of it in one line.
FOLD = re.compile(
    r"<details><summary>Answer</summary>(?:\n\n(.+?)\n\n|([^\n]+))</details>$", flags=re.M | re.S
)


def faults(source: str) -> list[str]:
    """Return the faults of a self-test, in words; an open question has no choices."""
    _, *parts = NUMBER.split(section(source))
    numbers, messages, rights = [a or b for a, b in zip(parts[::3], parts[1::3], strict=True)], [], []
    if numbers != list("12345"):
        messages.append(f"questions {numbers}")
    for number, text in zip(numbers, parts[2::3], strict=True):
        letters, folds = CHOICE.findall(text), [block or line for block, line in FOLD.findall(text)]
        right = re.match(r"\*\*([a-z])\.\*\* \S", folds[0]) if folds else None
        if len(folds) != 1 or text.count("<details") != 1:
            messages.append(f"{number}: {len(folds)} answers fold out")
        elif letters and (letters != list("abcdefgh"[: len(letters)]) or len(letters) == 1):
            messages.append(f"{number}: choices {letters}")
        elif letters and (not right or right[1] not in letters):
            messages.append(f"{number}: its answer begins with none of the letters")
        elif letters and not any(f"*{x}*" in folds[0] for x in letters if x != right[1]):
            messages.append(f"{number}: its answer names no wrong choice")
        elif right:
            rights.append(right[1])
    return messages or [f"every right answer is {rights[0]}"] * (len(rights) > 1 and len(set(rights)) == 1)


def test_the_selftests_of_the_notebooks_have_no_fault():
    by_lesson = {
        path.stem: faults(cell.source)
        for path in sorted((ROOT / "notebooks" / "src").glob("*.py"))
        for cell in jupytext.read(path, fmt="py:percent").cells
        if cell.cell_type == "markdown" and is_selftest(cell.source)
    }
    assert len(by_lesson) > 10
    assert {name: wrong for name, wrong in by_lesson.items() if wrong} == {}


def selftest(rights: str) -> str:
    question = "**{}.** Why?\n\n- a) one\n- b) two\n\n"
    question += "<details><summary>Answer</summary>\n\n**{}.** {}\n\n</details>\n"
    reasons = {"a": "Because *b* is wrong.", "b": "Because *a* is wrong."}
    return "## Self-test\n\n" + "\n".join(question.format(n, r, reasons[r]) for n, r in enumerate(rights, 1))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("**4.**", "**7.**", "questions"),
        ("- b) two\n", "", "choices ['a']"),
        ("**a.** Because", "**c.** Because", "begins with none of the letters"),
        ("*b* is", "it is", "names no wrong choice"),
        ("</summary>\n\n", "</summary>\n", "0 answers fold out"),
    ],
)
def test_each_fault_of_a_selftest_is_detected(old: str, new: str, fault: str):
    good = selftest("abbaa")
    assert faults(good) == []
    assert fault in faults(good.replace(old, new, 1))[0]
    assert faults(selftest("aaaaa")) == ["every right answer is a"]
