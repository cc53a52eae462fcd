"""Self-tests: five questions, answers that fold out and name the tempting one; each fault is seen."""

from pathlib import Path

import jupytext
import pytest

from tools.selftests import is_selftest, problems, questions

ROOT = Path(__file__).resolve().parents[2]
ONE = """\
**{n}.** What does v1 look at?

- a) the present token
- b) all tokens so far

<details><summary>Answer</summary>

**{right}.** Its table has *one* row for each token. Tempting is *{other}*: it is what a GPT does.

</details>
"""


def selftest(rights: str) -> str:
    asked = [ONE.format(n=n, right=r, other="b" if r == "a" else "a") for n, r in enumerate(rights, 1)]
    return "\n".join(["## Self-test\n", *asked])


GOOD = selftest("abbaa")


def test_the_selftests_of_the_notebooks_are_well_made():
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
def test_a_faulty_one_is_seen(old: str, new: str, message: str):
    assert problems(GOOD) == []
    assert message in "\n".join(problems(GOOD.replace(old, new, 1)))
    assert problems(selftest("aaaaa")) == ["every right answer is 'a'"]


def test_a_question_may_be_open():
    line = "2. *Is v1 blind?* <details><summary>Answer</summary>Not **proven**.</details>\n"
    source = GOOD.replace(ONE.format(n=2, right="b", other="a"), line)
    assert problems(source) == []
    assert questions(source)[1].folds == ["Not **proven**."]
