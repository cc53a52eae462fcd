"""Tests of each notebook as a lesson: guesses apart from outcomes, exercises, minutes.

A check returns what is wrong with a notebook, in words.
"""

import ast
import importlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from nbformat import NotebookNode

from babygpt_course.exercises import Exercise
from tests.course.exercises.test_all import EXERCISES, LESSONS
from tests.test_docs import long_sentences
from tests.test_notebooks import NOTEBOOKS, code_cells, code_lines, menu, read
from tools.graders import find_tasks
from tools.notebooks import ANSWER, ROOT

MOST = 75  # minutes to read and guess, until the exercises begin
WORDS = 80  # A minute reads this many words,
LINES = 6  # and this many lines of code.
GUESS = 1.5  # minutes
PICTURE = 0.6  # minutes
OFF = 0.2  # how far the stated minutes may be from the counted ones, as a share
TAKES = re.compile(
    r"\*\*Takes:\*\* about .+? to run on two cores, and by our estimate (\d+) minutes to read and guess\."
    r"(?: The exercises take about (\d+) minutes(?:, and those marked \*stretch\* take (\d+) more)?\.)?"
)


def lesson(path: Path) -> str:
    """Return the number of a lesson, as in 03a."""
    return path.stem.split("_")[0]


def exercises_of(number: str) -> list[Exercise]:
    """Return the exercises that belong to a lesson; none for 04c and the museum, which are one whole each."""
    for name in LESSONS:
        module = importlib.import_module(f"babygpt_course.exercises.{name}")
        if re.search(rf"notebook {number}\b", module.__doc__):
            return list(module.EXERCISES)
    return []


# ---------------------------------------------------------------- guesses


def guesses(nb: NotebookNode) -> dict[str, int]:
    """Return the names that predictions are kept under, and the number of the cell that asks."""
    cell_numbers = {}
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            cell_numbers |= dict.fromkeys(re.findall(r"^(\w+) = predict\(", cell.source, flags=re.M), number)
    return cell_numbers


def with_guesses_apart(nb: NotebookNode) -> list[str]:
    """Require that no assert gives an answer away before its outcome, and that outputs are folded."""
    wrong = []
    for name, question_cell in guesses(nb).items():
        outcome_cells = [
            n for n, cell in enumerate(nb.cells) if f"{name}.compare(" in cell.source and n > question_cell
        ]
        if len(outcome_cells) != 1:
            wrong.append(f"{name} is compared {len(outcome_cells)} times")
            continue
        last = ast.unparse(ast.parse(source := nb.cells[outcome_cells[0]].source).body[-1])
        if not last.startswith(f"{name}.compare(") and f"display({name}.compare(" not in source:
            wrong.append(f"{name}: the outcome is compared, and not shown")
        for cell in (
            cell for cell in nb.cells[question_cell + 1 : outcome_cells[0] + 1] if cell.cell_type == "code"
        ):
            before = cell.source.split(f"{name}.compare(")[0]
            if re.search(r"^\s*assert ", before, flags=re.M):
                wrong.append(f"{name}: an assert stands before the outcome")
            if cell.outputs and ANSWER not in cell.metadata.get("tags", []):
                wrong.append(f"{name}: an output up to the outcome is not folded: {cell.source[:50]!r}")
    return wrong


def with_every_guess_kept(nb: NotebookNode) -> list[str]:
    """Require a name for each question, and a tally that counts them."""
    words = sum("**Predict.**" in cell.source for cell in nb.cells if cell.cell_type == "markdown")
    wrong = [f"{words} predictions are asked for in words and kept nowhere"] if words else []
    cell_numbers = guesses(nb)
    unnamed = sum(cell.source.count("predict(") for cell in code_cells(nb)) - len(cell_numbers)
    wrong += [f"{unnamed} predictions have no name of their own"] if unnamed else []
    tallies = [n for n, cell in enumerate(nb.cells) if "tally()" in cell.source]
    if len(tallies) != 1 or tallies[0] < max(cell_numbers.values(), default=0):
        wrong.append("there should be one tally, after the last prediction")
    return wrong


# ---------------------------------------------------------------- minutes and exercises


def with_minutes(nb: NotebookNode, exercises: Sequence[Exercise] = ()) -> list[str]:
    """Compare the minutes stated at the top with those that can be counted."""
    stated = TAKES.search(nb.cells[0].source)
    if not stated:
        return [f"the first cell should say {TAKES.pattern}"]
    reading, core, stretch = (int(minutes or 0) for minutes in stated.groups())
    counted = minutes_to_read(nb)
    wrong = [f"it takes {counted:.0f} minutes to read and guess; {MOST} at most"] if counted > MOST else []
    if abs(reading - counted) > OFF * counted:
        wrong.append(f"{reading} minutes are stated to read and guess, and {counted:.0f} counted")
    for minutes, levels in ((core, ("warm-up", "core")), (stretch, ("stretch",))):
        theirs = sum(exercise.minutes for exercise in exercises if exercise.level in levels)
        if minutes != theirs:
            wrong.append(f"{minutes} minutes are stated for {' and '.join(levels)}, and {theirs} add up")
    return wrong


def minutes_to_read(nb: NotebookNode) -> float:
    """Estimate the minutes to read a lesson and to guess, up to its exercises."""
    total = 0.0
    for cell in nb.cells:
        if cell.cell_type == "markdown" and re.match(r"## (Exercises|Recap)\b", cell.source):
            break
        if cell.cell_type == "markdown":
            total += len(cell.source.split()) / WORDS
        else:
            total += code_lines(cell) / LINES + GUESS * cell.source.count("predict(")
            total += PICTURE * sum("image/png" in str(output.get("data", {})) for output in cell.outputs)
    return total


def with_exercises(nb: NotebookNode, exercises: list[Exercise]) -> list[str]:
    """Require all exercises of the lesson, in order: the task, the learner's cell, the check."""
    tasks = find_tasks(nb)
    names, required = [task.exercise.name for task in tasks], [e.name for e in exercises]
    wrong = [] if names == required else [f"it sets {names}, and not {required}"]
    shown = [cell.source.strip() for cell in code_cells(nb)]
    wrong += [f"the task of {t.called} is not shown" for t in tasks if t.called not in shown]
    checked = [(task, "\n".join(str(o.get("data", {})) for o in task.check.outputs)) for task in tasks]
    wrong += [f"{task.called} is stored solved" for task, text in checked if "Not yet" not in text]
    return wrong


# ---------------------------------------------------------------- the lessons of the course


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_lesson_keeps_guesses_apart_and_agrees_with_its_exercises(path: Path):
    nb, exercises = read(path), exercises_of(lesson(path))
    wrong = [*with_guesses_apart(nb), *with_every_guess_kept(nb)]
    assert [*wrong, *with_minutes(nb, exercises), *with_exercises(nb, exercises)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_sentences_of_a_lesson_are_short(path: Path):
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    if exercises_of(lesson(path)):
        tasks = ROOT / "babygpt_course" / "exercises" / f"lesson_{lesson(path)}.md"
        texts.append(tasks.read_text(encoding="utf-8"))
    assert long_sentences("\n\n".join(texts)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_has_few_cells_of_code_and_few_asserts(path: Path):
    code = code_cells(read(path))
    asserts = sum(cell.source.count("assert ") for cell in code)
    assert (len(code) <= 40, asserts <= 10) == (True, True), (len(code), asserts)


def test_all_lessons_but_the_tour_and_the_museum_have_three_exercises_or_more():
    few = {lesson(path): len(exercises_of(lesson(path))) for path in NOTEBOOKS}
    assert [number for number, n in few.items() if n < 3] == ["04c", "09"]
    assert sum(few.values()) == len(EXERCISES)


# ---------------------------------------------------------------- the way


def stated_minutes(path: Path) -> int:
    """Return the minutes to read and guess that a lesson states."""
    stated = TAKES.search(read(path).cells[0].source)
    assert stated, path
    return int(stated[1])


def hours_in_words(minutes: int) -> str:
    """Return minutes as hours, to the half hour: "4½ hours"."""
    halves = round(minutes / 30)
    number = f"{halves // 2 or ''}{'½' * (halves % 2)}"
    return "half an hour" if number == "½" else f"{number} hour{'s' * (halves > 2)}"


def test_heads_of_the_way_say_which_page_they_are_and_what_is_left():
    way = [ROOT / "notebooks" / f"{name}.ipynb" for name in menu("The way")]
    minutes = [stated_minutes(path) for path in way[:-1]]  # the last lesson is taken at leisure
    for number, path in enumerate(way[:-1]):
        left = hours_in_words(sum(minutes[number:]))
        line = f"*The way, page {number + 1} of {len(way)}. Left to read: about {left}.*"
        assert line in read(path).cells[0].source, path.stem
    assert f"*The way, page {len(way)} of {len(way)}, at your leisure.*" in read(way[-1]).cells[0].source


@pytest.mark.parametrize("name", menu("Side trips"))
def test_heads_of_side_trips_say_after_which_page_they_can_be_read(name: str):
    after = "00" if name < "03" else "04c"
    line = f"*A side trip after {after}, complete in itself.*"
    assert line in read(ROOT / "notebooks" / f"{name}.ipynb").cells[0].source


@pytest.mark.parametrize(("minutes", "words"), [(20, "half an hour"), (61, "1 hour"), (284, "4½ hours")])
def test_minutes_are_said_as_hours(minutes: int, words: str):
    assert hours_in_words(minutes) == words


# ---------------------------------------------------------------- the teacher's page

TEACHING = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")


def counted() -> dict[str, list[int]]:
    """Return each lesson's minutes to read and guess, exercises, their minutes, and those of each level."""
    by_lesson = {}
    for path in NOTEBOOKS:
        if not (exercises := exercises_of(lesson(path))):
            continue
        kinds = ("warm-up", "core", "stretch")
        levels = [sum(e.minutes for e in exercises if e.level == kind) for kind in kinds]
        by_lesson[lesson(path)] = [stated_minutes(path), len(exercises), sum(levels), *levels]
    return by_lesson


def test_minutes_are_those_of_the_exercises():
    rows = re.findall(r"^\| (\d\d[ab]?) ((?:\| \d+ )+)\|$", TEACHING, flags=re.M)
    assert {name: [int(n) for n in re.findall(r"\d+", numbers)] for name, numbers in rows} == counted()
    assert [name for name, _ in rows] == sorted(counted())


def test_the_command_that_prints_solutions_runs(capsys):
    (command,) = re.findall(r'^\.venv/bin/python -c "(.+)"$', TEACHING, flags=re.M)
    exec(command, {})
    printed = capsys.readouterr().out
    assert "Half-split RoPE (core" in printed
    assert "def " in printed
    assert " object at 0x" not in printed
