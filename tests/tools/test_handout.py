"""tools/handout.py: no output and no solution gets into a class's folder, and graders find their marks."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result

from tools import handout
from tools.graders import find_tasks
from tools.handout import main
from tools.selftests import is_selftest

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_bag_of_tokens"


def tool(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def notebooks(folder: Path) -> list[nbformat.NotebookNode]:
    nbs = [nbformat.read(path, as_version=4) for path in sorted((folder / "notebooks").glob("*.ipynb"))]
    for nb in nbs:
        nbformat.validate(nb)
    return nbs


def sources(nb: nbformat.NotebookNode, kind: str) -> list[str]:
    return [cell.source for cell in nb.cells if cell.cell_type == kind]


def test_a_handout_has_no_outputs_or_solutions_and_includes_linked_files(tmp_path: Path):
    assert tool(tmp_path).exit_code == 0
    for course, nb in zip(notebooks(ROOT), notebooks(tmp_path), strict=True):
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        assert all(not cell.outputs and cell.execution_count is None for cell in code)
        assert nb.metadata == {"kernelspec": handout.KERNEL}
        assert not [cell for cell in nb.cells if set(cell.metadata) - {"tags"}]
        gone = [source for source in sources(course, "code") if source not in sources(nb, "code")]
        assert all(".solution()" in source for source in gone)
        assert not re.search(r"^[^#\n]*\.solution\(\)", "\n".join(sources(nb, "code")), flags=re.M)
        links = re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", "\n".join(sources(nb, "markdown")))
        assert [link for link in links if not (tmp_path / "notebooks" / link).exists()] == []


@pytest.mark.parametrize("names", [(), (LESSON,)], ids=["all", "one"])
def test_every_link_of_a_handout_leads_to_a_file_of_it(tmp_path: Path, names: tuple[str, ...]):
    assert tool(tmp_path, *names).exit_code == 0
    texts = {page: page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.md")}
    for path in (tmp_path / "notebooks").glob("*.ipynb"):
        nb = nbformat.read(path, as_version=4)
        texts[path] = "\n".join(sources(nb, "markdown"))
    assert len(texts) > 2
    for page, text in texts.items():
        plain = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", text)
        links = re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", plain)
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_students_get_what_they_need_to_set_up_and_teachers_of_graders_do_not(tmp_path: Path):
    tool(tmp_path / "class", LESSON)
    tool(tmp_path / "source", LESSON, "--grader", "otter")
    (wheel,) = (tmp_path / "class").glob("*.whl")
    page = (tmp_path / "class" / "README.md").read_text(encoding="utf-8")
    assert f'-c constraints.txt "./{wheel.name}[lab]"' in page
    assert (tmp_path / "class" / "constraints.txt").read_bytes() == (ROOT / "constraints.txt").read_bytes()
    assert [path.name for path in (tmp_path / "source").iterdir() if path.is_file()] == []


def test_answers_of_selftests_can_be_left_out(tmp_path: Path):
    for folder, options in (("with", []), ("without", ["--no-answers"])):
        assert tool(tmp_path / folder, LESSON, *options).output.startswith("1 notebooks and ")
        (nb,) = notebooks(tmp_path / folder)
        (selftest,) = filter(is_selftest, sources(nb, "markdown"))
        assert len(re.findall(r"^(?:\*\*\d\.\*\*|\d\.) ", selftest, flags=re.M)) == 5
        assert ("<details>" in selftest) is (folder == "with")


def test_files_are_overwritten_only_with_the_flag_and_the_course_never(tmp_path: Path):
    tool(tmp_path, LESSON)
    mine = tmp_path / "notebooks" / f"{LESSON}.ipynb"
    mine.write_text("a student's work", encoding="utf-8")
    refused = tool(tmp_path)  # a part that is there keeps all from being written
    assert refused.exit_code == 1
    assert f"{LESSON}.ipynb" in refused.output
    assert mine.read_text(encoding="utf-8") == "a student's work"
    assert {path.name for path in mine.parent.iterdir()} == {mine.name, "matplotlibrc"}
    assert tool(tmp_path, LESSON, "--overwrite").exit_code == 0
    assert notebooks(tmp_path)[0].cells
    assert "the course itself" in tool(ROOT, LESSON, "--overwrite").output


def test_every_notebook_matches_the_schema_of_nbgrader(tmp_path: Path):
    assert tool(tmp_path, "--grader", "nbgrader").exit_code == 0
    number = 0
    for course, nb in zip(notebooks(ROOT), notebooks(tmp_path), strict=True):
        names = [task.name for task in find_tasks(course)]
        marked = [cell for cell in nb.cells if "nbgrader" in cell.metadata]
        marks = [dict(cell.metadata.nbgrader) for cell in marked]
        assert len({mark["grade_id"] for mark in marks}) == len(marks) == 2 * len(names)
        for cell, mark in zip(marked, marks, strict=True):
            assert re.fullmatch(r"[A-Za-z0-9_\-]+", mark["grade_id"])
            assert (mark["schema_version"], mark["task"]) == (3, False)
            assert mark["solution"] is not mark["grade"]
            assert mark["solution"] is not mark["locked"]
            if mark["solution"]:  # it can be emptied, and is Python before and after
                marker = r"(?m)^( *)### BEGIN SOLUTION\n(?:.*\n)*? *### END SOLUTION"
                emptied, cuts = re.subn(marker, r"\1raise NotImplementedError()", cell.source)
                assert cuts == 1
                assert ast.parse(cell.source)
                assert ast.parse(emptied)
            else:
                assert mark["points"] in (1, 2, 3)
        number += len(names)
    assert number > 30


def test_a_check_for_nbgrader_fails_where_the_exercise_is_not_solved(tmp_path: Path):
    tool(tmp_path, LESSON, "--grader", "nbgrader")
    (nb,) = notebooks(tmp_path)
    task = find_tasks(nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", as_version=4))[0]
    own, check = [
        cell.source for cell in nb.cells if task.name in cell.metadata.get("nbgrader", {}).get("grade_id", "")
    ]
    lines = "\n".join(sources(nb, "code")).splitlines()
    imports = "\n".join(line for line in lines if line.startswith(("import ", "from ")))
    names: dict = {}
    for source in (imports, own, check, task.own.source):
        exec(source, names)
    with pytest.raises(AssertionError, match="Not yet"):
        exec(check, names)


def test_otter_finds_its_raw_cells_in_order(tmp_path: Path):
    assert tool(tmp_path, LESSON, "--grader", "otter").exit_code == 0
    (nb,) = notebooks(tmp_path)
    raw = sources(nb, "raw")
    turns = ["BEGIN QUESTION", "BEGIN SOLUTION", "END SOLUTION", "BEGIN TESTS", "END TESTS", "END QUESTION"]
    tasks = find_tasks(nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", as_version=4))
    assert [source.splitlines()[0] for source in raw[1:]] == [f"# {turn}" for turn in turns] * len(tasks)
    assert raw[1] == f"# BEGIN QUESTION\nname: {tasks[0].name}\npoints: {tasks[0].points}"
