"""The teacher's page: its table of minutes is what the exercises say, and its command runs."""

import importlib
import re
from pathlib import Path

from tests.exercises.test_all import LESSONS
from tests.test_lessons import TAKES

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")


def counted() -> dict[str, list[int]]:
    """Lesson -> minutes to read and guess, number of exercises, all their minutes, those of each level."""
    found = {}
    for lesson in LESSONS:
        module = importlib.import_module(f"babygpt.exercises.{lesson}")
        (name,) = re.findall(r"notebook (\d\d[ab]?)", module.__doc__)
        levels = [
            sum(e.minutes for e in module.EXERCISES if e.level == level)
            for level in ("warm-up", "core", "stretch")
        ]
        (text,) = (ROOT / "notebooks" / "src").glob(f"{name}_*.py")
        stated = TAKES.search(text.read_text(encoding="utf-8"))
        assert stated, name
        found[name] = [int(stated[1]), len(module.EXERCISES), sum(levels), *levels]
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
