"""tools/handout.py: no output and no solution gets into a class's folder, and graders find their marks."""

import ast
import inspect
import json
import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.course.exercises.test_all import EXERCISES
from tools import handout
from tools.graders import Task, find_tasks, solved
from tools.handout import main

ROOT = Path(__file__).resolve().parents[2]
ASKED = "## Self-test\n\n**1.** Why?\n\n- a) so\n- b) no"
SELFTEST = f"{ASKED}\n\n<details><summary>Answer</summary>\n\n**a.** So.\n\n</details>"
IMPORTS = """\
from babygpt_course.exercises import lesson_01 as bag_of_tokens
from babygpt_course.exercises.lesson_01 import BIGRAM_LOSS"""
OWN = '''\
import math

def bigram_loss(text):
    """Nats per prediction."""
    return 0.0

LEFT = math.inf'''
TEXTS = 'mine = ("", "")'


def code(source: str, *tags: str):
    output = new_output("stream", name="stdout", text="SEEN\n")
    return new_code_cell(source, outputs=[output], execution_count=1, metadata={"tags": list(tags)})


def toy():
    """A notebook with two exercises, a solution that is shown, and a link."""
    cells = [
        new_markdown_cell(
            "See [stream](../docs/glossary.md#stream), [01](01_b.ipynb), [x](https://x.org/y)."
        ),
        code(IMPORTS),
        code("BIGRAM_LOSS"),
        code(OWN, "nbval-ignore-output", "ours"),
        new_markdown_cell("A word between them."),
        code("bigram_loss('aab')\nBIGRAM_LOSS.check(bigram_loss)"),
        code("BIGRAM_LOSS.hint()"),
        code("# BIGRAM_LOSS.solution() shows one way"),
        code("BIGRAM_LOSS.solution()"),
        code("secret = 42", "solution"),
        code(TEXTS),
        code("bag_of_tokens.CERTAIN_TEXT.check(mine)"),
        code("BIGRAM_LOSS.check(bigram_loss)"),
        new_markdown_cell(SELFTEST),
    ]
    return new_notebook(cells=cells, metadata={"kernelspec": handout.KERNEL, "widgets": {}})


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """A course of two notebooks."""
    root = tmp_path / "course"
    (root / "notebooks").mkdir(parents=True)
    (root / "docs").mkdir()
    (root / "docs" / "glossary.md").write_text("### Stream\n", encoding="utf-8")
    nbformat.write(toy(), root / "notebooks" / "00_a.ipynb")
    nbformat.write(new_notebook(cells=[code("1")]), root / "notebooks" / "01_b.ipynb")
    monkeypatch.setattr(handout, "ROOT", root)
    return root


def tool(*arguments) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def made(folder: Path) -> nbformat.NotebookNode:
    nb = nbformat.read(folder / "notebooks" / "00_a.ipynb", as_version=4)
    nbformat.validate(nb)
    return nb


def sources(nb: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in nb.cells]


# ---------------------------------------------------------------- the plain handout


def test_a_handout_has_no_outputs_and_no_solutions(course: Path, tmp_path: Path):
    done = tool(tmp_path / "class")
    assert done.exit_code == 0, done.output
    assert "2 notebooks and 1 other files" in done.output
    nb = made(tmp_path / "class")
    assert "SEEN" not in json.dumps(nb)
    assert all(not c.outputs and c.execution_count is None for c in nb.cells if c.cell_type == "code")
    assert nb.metadata == {"kernelspec": handout.KERNEL}
    assert [c.metadata for c in nb.cells if c.metadata] == [{"tags": ["ours"]}]
    gone = {"BIGRAM_LOSS.solution()", "secret = 42"}
    assert [s for s in sources(toy()) if s not in sources(nb)] == sorted(gone)
    assert "BEGIN SOLUTION" not in json.dumps(nb)


def test_what_notebooks_link_to_comes_along(course: Path, tmp_path: Path):
    tool(tmp_path / "class")
    assert (tmp_path / "class" / "docs" / "glossary.md").read_text(encoding="utf-8") == "### Stream\n"


def test_some_notebooks_can_be_named(course: Path, tmp_path: Path):
    assert "1 notebooks and 0" in tool(tmp_path / "class", "01_b").output
    assert "no notebook 09" in tool(tmp_path / "other", "09").output
    assert not (tmp_path / "other").exists()
    (course / "notebooks" / "src").mkdir()
    (course / "notebooks" / "src" / "02_c.py").write_text("", encoding="utf-8")
    assert "make notebooks NAMES='02_c'" in tool(tmp_path / "other", "02_c").output
    assert tool(tmp_path / "other").exit_code == 0


def test_answers_of_selftests_can_be_left_out(course: Path, tmp_path: Path):
    tool(tmp_path / "with")
    tool(tmp_path / "without", "--no-answers")
    assert "**a.** So." in made(tmp_path / "with").cells[-1].source
    assert made(tmp_path / "without").cells[-1].source == ASKED


def test_nothing_is_overwritten_unless_asked(course: Path, tmp_path: Path):
    folder = tmp_path / "class"
    tool(folder)
    mine = folder / "notebooks" / "00_a.ipynb"
    mine.write_text("a student's work", encoding="utf-8")
    (folder / "marks.txt").write_text("kept", encoding="utf-8")
    refused = tool(folder)
    assert refused.exit_code == 1
    assert "00_a.ipynb" in refused.output
    assert "--overwrite" in refused.output
    assert mine.read_text(encoding="utf-8") == "a student's work"
    assert tool(folder, "--overwrite").exit_code == 0
    assert made(folder).cells
    assert (folder / "marks.txt").read_text(encoding="utf-8") == "kept"


def test_a_part_that_is_there_keeps_all_from_being_written(course: Path, tmp_path: Path):
    tool(tmp_path / "class", "01_b")
    assert tool(tmp_path / "class").exit_code == 1
    assert not (tmp_path / "class" / "notebooks" / "00_a.ipynb").exists()


def test_the_course_itself_is_refused(course: Path):
    before = (course / "notebooks" / "00_a.ipynb").read_bytes()
    done = tool(course, "--overwrite")
    assert "the course itself" in done.output
    assert (course / "notebooks" / "00_a.ipynb").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_told_in_one_line(course: Path, tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = tool(tmp_path / "file" / "class")
    assert done.exit_code == 1
    assert "cannot write" in done.output
    assert "Traceback" not in done.output


# ---------------------------------------------------------------- marks for graders


def test_nbgrader_finds_what_its_schema_asks_for(course: Path, tmp_path: Path):
    assert tool(tmp_path / "source", "--grader", "nbgrader").exit_code == 0
    marked = [c for c in made(tmp_path / "source").cells if "nbgrader" in c.metadata]
    marks = [dict(c.metadata.nbgrader) for c in marked]
    common = {"schema_version": 3, "task": False}
    name = "same-characters-no-doubt-and-much-doubt"
    assert marks[0] == {
        **common,
        "grade_id": "a-loss-by-counting",
        "grade": False,
        "solution": True,
        "locked": False,
    }
    assert marks[1] == {
        **common,
        "grade_id": "check-a-loss-by-counting",
        "grade": True,
        "solution": False,
        "locked": True,
        "points": 2,
    }
    assert [mark["grade_id"] for mark in marks[2:]] == [name, f"check-{name}"]
    assert all(re.fullmatch(r"[A-Za-z0-9_\-]+", mark["grade_id"]) for mark in marks)
    assert "### BEGIN SOLUTION" in marked[0].source
    assert "SEEN" not in json.dumps(marked)


def test_a_check_for_nbgrader_fails_where_the_exercise_is_not_solved(course: Path, tmp_path: Path):
    tool(tmp_path / "source", "--grader", "nbgrader")
    nb = made(tmp_path / "source")
    imports, own, check = nb.cells[1].source, nb.cells[3].source, nb.cells[5].source
    names: dict = {}
    exec(f"from collections import Counter\nfrom itertools import pairwise\n{imports}", names)
    exec(own, names)
    exec(check, names)
    assert names["LEFT"] == float("inf")
    exec(OWN, names)
    with pytest.raises(AssertionError, match="Not yet"):
        exec(check, names)


def test_otter_finds_its_raw_cells_in_order(course: Path, tmp_path: Path):
    assert tool(tmp_path / "source", "--grader", "otter").exit_code == 0
    nb = made(tmp_path / "source")
    raw = [c.source.splitlines()[0] for c in nb.cells if c.cell_type == "raw"]
    question = ["QUESTION", "SOLUTION", "SOLUTION", "TESTS", "TESTS", "QUESTION"]
    turns = ["BEGIN", "BEGIN", "END", "BEGIN", "END", "END"]
    one = [f"# {turn} {part}" for turn, part in zip(turns, question, strict=True)]
    assert raw == ["# ASSIGNMENT CONFIG", *one, *one]
    assert nb.cells[0].source == "# ASSIGNMENT CONFIG\nname: 00_a\nexport_cell: false"
    at = sources(nb).index("# BEGIN TESTS") + 1
    assert nb.cells[at].source == "bigram_loss('aab')\nBIGRAM_LOSS.check(bigram_loss).solved"
    begins = next(s for s in sources(nb) if s.startswith("# BEGIN QUESTION"))
    assert begins == "# BEGIN QUESTION\nname: a-loss-by-counting\npoints: 2"


def test_an_exercise_without_a_cell_to_answer_in_is_told(course: Path, tmp_path: Path):
    path = course / "notebooks" / "00_a.ipynb"
    nb = nbformat.read(path, as_version=4)
    del nb.cells[3]
    nbformat.write(nb, path)
    done = tool(tmp_path / "source", "--grader", "otter")
    assert done.exit_code == 1
    assert "00_a.ipynb: no cell before its check fills 'bigram_loss'" in done.output
    assert tool(tmp_path / "class").exit_code == 0


def in_a_notebook(exercise) -> Task:
    """An exercise with its stub in a cell, and the cell that checks it."""
    if inspect.isfunction(exercise.answer):
        source = f'def mine{inspect.signature(exercise.answer)}:\n    """To do."""\n    return None\n'
    elif callable(exercise.stub):
        source = inspect.getsource(exercise.stub).replace(exercise.stub.__name__, "mine", 1)
    else:
        source = f"mine = {exercise.stub!r}"
    own, check = new_code_cell(source), new_code_cell("E.check(mine)")
    return Task(exercise, "E", "mine", own, check)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
@pytest.mark.parametrize(("begin", "end"), [("### BEGIN SOLUTION", "### END SOLUTION")])
def test_every_solution_fits_between_two_marks(exercise, begin: str, end: str):
    task = in_a_notebook(exercise)
    text = solved(task, begin, end)
    made = [s for s in ast.parse(text).body if not isinstance(s, ast.Import | ast.ImportFrom)]
    names = [getattr(s, "name", None) or s.targets[0].id for s in made]
    assert names[-1] == "mine"
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count(begin) == lines.count(end) == 1
    assert lines[-1] == end or not callable(exercise.answer)
    emptied = re.sub(rf"(?m)^( *){begin}\n(?:.*\n)*? *{end}", r"\1raise NotImplementedError()", text)
    assert ast.parse(emptied)
    assert len(emptied) < len(text)


def test_tasks_of_the_course_have_different_names():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        names = [task.name for task in find_tasks(nbformat.read(path, as_version=4))]
        assert len(set(names)) == len(names)


def test_every_link_of_the_real_handout_leads_somewhere(tmp_path: Path):
    assert tool(tmp_path / "class").exit_code == 0
    for path in (tmp_path / "class" / "notebooks").glob("*.ipynb"):
        nb = nbformat.read(path, as_version=4)
        text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
        links = re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", text)
        assert [link for link in links if not (path.parent / link).exists()] == []
