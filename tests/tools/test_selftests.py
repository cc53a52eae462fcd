"""Self-tests: five questions, answers that fold out and name the tempting one; each fault is seen."""

from pathlib import Path

import jupytext
import pytest

from tools.selftests import is_selftest, problems, questions, without_answers

ROOT = Path(__file__).resolve().parents[2]
ONE = """\
**{n}.** What does v1 look at?

- a) the present token
- b) all tokens so far

<details><summary>Answer</summary>

**{right}.** Its table has *one* row for each token. Tempting is *{other}*: it is what a GPT does.

</details>
"""


def question(n: int, right: str = "a") -> str:
    return ONE.format(n=n, right=right, other="b" if right == "a" else "a")


def selftest(*rights: str) -> str:
    return "\n".join(["## Self-test\n", *(question(n, right) for n, right in enumerate(rights, 1))])


GOOD = selftest("a", "b", "b", "a", "a")
CELLS = [
    (path.stem, cell.source)
    for path in sorted((ROOT / "notebooks" / "src").glob("*.py"))
    for cell in jupytext.read(path, fmt="py:percent").cells
    if cell.cell_type == "markdown" and is_selftest(cell.source)
]


def test_the_selftests_of_the_notebooks_are_well_made():
    assert {name: found for name, source in CELLS if (found := problems(source))} == {}


def test_a_good_one_passes():
    assert is_selftest(GOOD)
    assert problems(GOOD) == []
    assert "".join(q.right for q in questions(GOOD)) == "abbaa"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (question(5), "", "questions [1, 2, 3, 4], not 1 to 5"),
        ("**4.**", "**7.**", "questions [1, 2, 3, 7, 5], not 1 to 5"),
        ("- b) all tokens so far\n", "", "question 1: choices ['a']"),
        ("- b) all", "- c) all", "question 1: choices ['a', 'c']"),
        ("**a.** Its", "Its", "begins with none of the letters"),
        ("**a.** Its", "**c.** Its", "begins with none of the letters"),
        ("Tempting is *b*: it", "It", "names no wrong choice"),
        ("</summary>\n\n", "</summary>\n", "5 <details>, of which 4"),
        ("\n\n</details>", "\n</details>", "5 <details>, of which 4"),
        ("<summary>Answer</summary>\n", "\n", "0 answers that fold out"),
    ],
)
def test_a_faulty_one_is_seen(old: str, new: str, told: str):
    assert old in GOOD
    assert told in "\n".join(problems(GOOD.replace(old, new, 1)))


def test_a_question_may_be_open_and_in_one_line():
    line = "2. *Is v1 blind?* <details><summary>Answer</summary>Not **proven**.</details>\n"
    source = f"{GOOD.replace(question(2, 'b'), line)}\n## Further reading\n\n1. A <details>book</details>\n"
    assert problems(source) == []
    assert questions(source)[1].folds == ["Not **proven**."]
    plain = without_answers(source)
    assert "2. *Is v1 blind?*\n" in plain
    assert "1. A <details>book</details>" in plain
    assert problems(source.replace("Not **proven**.", ""))
    assert problems(source.replace("Not **proven**.", "Not\nproven."))


def test_one_letter_for_all_is_seen():
    assert problems(selftest("a", "a", "a", "a", "a")) == ["every right answer is 'a'"]


def test_the_answers_can_be_taken_out():
    plain = without_answers(GOOD)
    assert "Answer" not in plain
    assert "Tempting" not in plain
    assert [(q.number, len(q.choices)) for q in questions(plain)] == [(n, 2) for n in range(1, 6)]
