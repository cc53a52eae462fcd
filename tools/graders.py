"""Marks of nbgrader and otter-grader in a notebook, written without either.

nbgrader reads `metadata.nbgrader` of a cell, schema version 3, and replaces what stands between
`### BEGIN SOLUTION` and `### END SOLUTION` (nbgrader/preprocessors/clearsolutions.py, nbgraderformat/v3.py).
otter assign reads raw cells that open and close a question, its solution and its tests, and replaces what
stands between `# BEGIN SOLUTION` and `# END SOLUTION` (docs/otter_assign/notebook_format.rst, format v1).
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_raw_cell

from babygpt_course.exercises import Exercise

POINTS = {"warm-up": 1, "core": 2, "stretch": 3}


@dataclass
class Task:
    """An exercise as it stands in a notebook.

    exercise  with its solution
    called    the exercise as the check calls it, such as "start.STORY"
    answer    the name that the learner fills
    own       the learner's cell
    check     the cell that checks it
    """

    exercise: Exercise
    called: str
    answer: str
    own: NotebookNode
    check: NotebookNode

    @property
    def name(self) -> str:
        """A name of letters, digits and hyphens, for either grader."""
        return re.sub(r"[^a-z0-9]+", "-", self.exercise.name.lower()).strip("-")

    @property
    def points(self) -> int:
        return POINTS.get(self.exercise.level, 1)


def statements(cell: NotebookNode) -> list[ast.stmt]:
    """Return the statements of a code cell; none for one that is no plain Python."""
    try:
        return ast.parse(cell.source).body if cell.cell_type == "code" else []
    except SyntaxError:
        return []


def exercises_imported(nb: NotebookNode) -> dict[str, Any]:
    """Return what a notebook imports from babygpt_course.exercises: name -> exercise or module."""
    names: dict[str, Any] = {}
    for statement in (s for cell in nb.cells for s in statements(cell)):
        text = ast.unparse(statement)
        if isinstance(statement, ast.Import | ast.ImportFrom) and "babygpt_course.exercises" in text:
            exec(text, names)
    return names


def find_tasks(nb: NotebookNode) -> list[Task]:
    """Return the exercises of a notebook, in order. Raises ValueError for one without a cell to answer in."""
    names, tasks = exercises_imported(nb), dict[str, Task]()
    for number, cell in enumerate(nb.cells):
        match statements(cell)[-1:]:
            case [ast.Expr(ast.Call(ast.Attribute(thing, "check"), [ast.Name(answer)], []))]:
                exercise = resolve(thing, names)
                if exercise is None or exercise.name in tasks:
                    continue
                own = [
                    earlier_cell
                    for earlier_cell in nb.cells[:number]
                    if defined_in(earlier_cell, answer) is not None
                ]
                if not own:
                    raise ValueError(f"no cell before its check fills {answer!r}, of {exercise.name!r}")
                tasks[exercise.name] = Task(exercise, ast.unparse(thing), answer, own[-1], cell)
    return list(tasks.values())


def resolve(expression: ast.expr, names: dict[str, Any]) -> Exercise | None:
    """Return the exercise that an expression such as `start.STORY` or `STORY` names; None if it is none."""
    candidate = None
    match expression:
        case ast.Name(name):
            candidate = names.get(name)
        case ast.Attribute(ast.Name(module), name):
            candidate = getattr(names.get(module), name, None)
    return candidate if isinstance(candidate, Exercise) else None


def defined_in(cell: NotebookNode, name: str) -> ast.stmt | None:
    """Return the last statement of a cell that gives a name its value: a function, class or assignment."""
    for statement in reversed(statements(cell)):
        match statement:
            case ast.FunctionDef(name=n) | ast.ClassDef(name=n) if n == name:
                return statement
            case ast.Assign(targets=[ast.Name(n)]) | ast.AnnAssign(target=ast.Name(n)) if n == name:
                return statement
    return None


# ------------------------------------------------------------ the solution, between two marks


def solved_cell(task: Task, begin: str, end: str) -> str:
    """Return the learner's cell with the solution in it, between two marks.

    A function keeps its own head and docstring; of the solution it gets the body. Anything else is replaced.
    """
    statement = defined_in(task.own, task.answer)
    assert statement is not None
    lines = task.own.source.splitlines()
    before, after = lines[: statement.lineno - 1], lines[statement.end_lineno :]
    if isinstance(statement, ast.FunctionDef) and (body := solution_body(task)):
        documented = ast.get_docstring(statement) is not None
        first = statement.body[0]
        stop = first.end_lineno if documented else first.lineno - 1
        head = lines[statement.lineno - 1 : stop]
        middle = [*head, *indent("\n".join([begin, body, end]), " " * first.col_offset).splitlines()]
    else:
        middle = [begin, whole(task), end]
    return "\n".join([*before, *middle, *after])


def solution_body(task: Task) -> str:
    """Return the body of a solution that is a function, after its imports; empty for others."""
    if not callable(task.exercise.answer):
        return ""
    text = task.exercise.solution().text
    *imports, statement = ast.parse(text).body
    if not isinstance(statement, ast.FunctionDef):
        return ""
    first = statement.body[1 if ast.get_docstring(statement) is not None else 0]
    body = dedent("\n".join(text.splitlines()[first.lineno - 1 : statement.end_lineno]))
    return "\n".join([*map(ast.unparse, imports), body])


def whole(task: Task) -> str:
    """Return the solution as a statement that fills the learner's name."""
    if not callable(task.exercise.answer):
        return f"{task.answer} = {task.exercise.answer!r}"
    text = str(task.exercise.solution().text).rstrip()
    name = getattr(ast.parse(text).body[-1], "name", task.answer)
    return text if name == task.answer else f"{text}\n\n\n{task.answer} = {name}"


def with_last_line(task: Task, last: str) -> str:
    """Return the check's cell with another last line."""
    lines = task.check.source.splitlines()
    return "\n".join([*lines[: statements(task.check)[-1].lineno - 1], last])


# ------------------------------------------------------------ the two graders


def for_nbgrader(nb: NotebookNode, tasks: list[Task], _: str) -> None:
    """Make a notebook a source of nbgrader, in place: `nbgrader generate_assignment` makes the class's."""
    for task in tasks:
        task.own.source = solved_cell(task, "### BEGIN SOLUTION", "### END SOLUTION")
        report = f"report = {task.called}.check({task.answer})\nassert report.solved, report"
        task.check.source = with_last_line(task, report)
        common = {"schema_version": 3, "task": False}
        own = {"grade_id": task.name, "grade": False, "solution": True, "locked": False}
        check = {"grade_id": f"check-{task.name}", "grade": True, "solution": False, "locked": True}
        task.own.metadata["nbgrader"] = NotebookNode(common | own)
        task.check.metadata["nbgrader"] = NotebookNode(common | check, points=task.points)


def for_otter(nb: NotebookNode, tasks: list[Task], stem: str) -> None:
    """Make a notebook a master of otter assign, in place: raw cells around solutions and tests."""
    around: dict[str, tuple[list[str], list[str]]] = {}
    for task in tasks:
        task.own.source = solved_cell(task, "# BEGIN SOLUTION", "# END SOLUTION")
        task.check.source = with_last_line(task, f"{task.called}.check({task.answer}).solved")
        opened = f"# BEGIN QUESTION\nname: {task.name}\npoints: {task.points}"
        around[task.own.id] = [opened, "# BEGIN SOLUTION"], ["# END SOLUTION"]
        around[task.check.id] = ["# BEGIN TESTS"], ["# END TESTS", "# END QUESTION"]
    cells = [new_raw_cell(f"# ASSIGNMENT CONFIG\nname: {stem}\nexport_cell: false")]
    for cell in nb.cells:
        before, after = around.get(cell.id, ([], []))
        cells += [*map(new_raw_cell, before), cell, *map(new_raw_cell, after)]
    nb.cells = cells


GRADERS: dict[str, Callable[[NotebookNode, list[Task], str], None]] = {
    "nbgrader": for_nbgrader,
    "otter": for_otter,
}
