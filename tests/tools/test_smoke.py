"""tools/smoke.py goes to both ends of what pyproject.toml allows, and says what did not run there."""

import json
import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from packaging.specifiers import SpecifierSet

from babygpt.models.versions import VERSIONS
from tools import smoke

ROOT = Path(__file__).resolve().parents[2]
LADDER = {name for name in VERSIONS if re.fullmatch(r"v\d", name)}


def installed(*versions: tuple[int, int, int]) -> str:
    """What uv says of the Pythons that are installed."""
    parts = [dict(zip(("major", "minor", "patch"), version, strict=True)) for version in versions]
    return json.dumps([{"version_parts": p, "path": f"python{p['major']}.{p['minor']}"} for p in parts])


def test_the_oldest_python_is_the_bound_itself() -> None:
    oldest = smoke.pick_python("oldest", "uv")
    bound = SpecifierSet(smoke.requires_python())
    major, minor = map(int, oldest.split("."))
    assert bound.contains(oldest)
    assert not bound.contains(f"{major}.{minor - 1}")


def test_the_newest_python_is_the_newest_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "call", lambda _: installed((3, 11, 9), (3, 110, 0), (3, 12, 1)))
    assert smoke.pick_python("newest", "uv") == "python3.110"
    monkeypatch.setattr(smoke, "call", lambda _: installed())
    with pytest.raises(click.ClickException, match="no Python >="):
        smoke.pick_python("newest", "uv")


@pytest.mark.parametrize(("end", "resolution"), [("oldest", "lowest-direct"), ("newest", "highest")])
def test_versions_are_resolved_for_the_end_and_held_where_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str, resolution: str
) -> None:
    said: list[tuple[list[str], str]] = []
    monkeypatch.setattr(smoke, "pick_python", lambda *_: "3.x")
    monkeypatch.setattr(smoke, "call", lambda words, stdin="": said.append((words, stdin)))
    smoke.install(end, tmp_path, "uv", ("torch==9", "numpy==8"))
    (asked,) = [(words, stdin) for words, stdin in said if words[1:3] == ["pip", "compile"]]
    assert asked[0][asked[0].index("--resolution") + 1] == resolution
    assert asked[1].splitlines() == ["torch==9", "numpy==8"]


def test_every_version_of_the_ladder_and_a_notebook_are_tried() -> None:
    tried = dict(smoke.steps(Path("python"), "00_start_here"))
    assert set(tried) == {"doctor", *LADDER, "notebook 00_start_here"}
    assert (ROOT / "notebooks" / tried["notebook 00_start_here"][-1]).is_file()


def test_what_fails_is_told_and_the_rest_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(python: Path, notebook: str) -> list[tuple[str, list[str]]]:
        fails = "import sys; sys.exit('no such thing')"
        return [("a", [sys.executable, "-c", fails]), ("b", [sys.executable, "-c", "import babygpt"])]

    monkeypatch.setattr(smoke, "install", lambda *_: Path(sys.executable))
    monkeypatch.setattr(smoke, "steps", steps)
    done = CliRunner().invoke(smoke.main, ["newest"])
    assert done.exit_code == 1
    assert "no such thing" in done.output
    assert "| a | ✗ |" in done.output
    assert "| b | ✓ " in done.output


def test_a_table_has_a_column_for_each_end() -> None:
    table = smoke.table({"oldest": {"torch": "1", "v1": "✓"}, "newest": {"torch": "2"}})
    head = ["|  | oldest | newest |", "| --- | --- | --- |"]
    assert table.splitlines() == [*head, "| torch | 1 | 2 |", "| v1 | ✓ |  |"]
