"""The teacher's page: its table of minutes is what the exercises say, and its command runs."""

import re
from pathlib import Path

from tests.test_lessons import TAKES, exercises_of, lesson
from tests.test_notebooks import NOTEBOOKS, read

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")


def counted() -> dict[str, list[int]]:
    """Lesson -> minutes to read and guess, number of exercises, all their minutes, those of each level."""
    found = {}
    for path in NOTEBOOKS:
        if not (exercises := exercises_of(lesson(path))):
            continue
        levels = [
            sum(e.minutes for e in exercises if e.level == level) for level in ("warm-up", "core", "stretch")
        ]
        stated = TAKES.search(read(path).cells[0].source)
        assert stated, path
        found[lesson(path)] = [int(stated[1]), len(exercises), sum(levels), *levels]
    return found


def test_minutes_are_those_of_the_exercises():
    rows = re.findall(r"^\| (\d\d[ab]?) ((?:\| \d+ )+)\|$", PAGE, flags=re.M)
    assert {name: [int(n) for n in re.findall(r"\d+", numbers)] for name, numbers in rows} == counted()
    assert [name for name, _ in rows] == sorted(counted())


def test_the_command_that_prints_solutions_runs(capsys):
    (command,) = re.findall(r'^\.venv/bin/python -c "(.+)"$', PAGE, flags=re.M)
    exec(command, {})
    printed = capsys.readouterr().out
    assert "Half-split RoPE (core" in printed
    assert "def " in printed
    assert " object at 0x" not in printed
