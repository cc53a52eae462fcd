"""Budgets of lines and files of each folder, so that the packages stay small."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {"_build", ".jupyter_cache", "__pycache__"}
RACE = ("book/race", "tools/book/race.py")  # the models that train in the page
BUDGETS = {  # folders -> lines, files
    ("babygpt",): (11_000, 92),
    ("babygpt_course",): (10_500, 65),
    ("tests",): (22_000, 148),
    ("tools", "book", "benchmarks"): (5_000, 50),
    RACE: (900, 6),
}
ENDS = (".py", ".js", ".css", ".c")


def code_files(place: str) -> set[Path]:
    """Return the code files of a folder, or a file alone."""
    inside = [ROOT / place, *(ROOT / place).rglob("*")]
    return {path for path in inside if path.suffix in ENDS and not SKIPPED & set(path.parts)}


@pytest.mark.parametrize(("folders", "budget"), BUDGETS.items(), ids=lambda value: str(value[0]))
def test_the_folder_keeps_its_budget(folders: tuple[str, ...], budget: tuple[int, int]) -> None:
    files = set().union(*map(code_files, folders))
    if folders != RACE:
        files -= set().union(*map(code_files, RACE))
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    assert files
    assert lines <= budget[0], f"{lines} lines in {folders}"
    assert len(files) <= budget[1], f"{len(files)} files in {folders}"


def test_no_file_name_occurs_more_than_twice_in_the_packages() -> None:
    names = [path.name for folder in ("babygpt", "babygpt_course") for path in code_files(folder)]
    often = {name: names.count(name) for name in names if name != "__init__.py" and names.count(name) > 2}
    assert often == {}
