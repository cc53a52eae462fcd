"""Run every test that plants a fault, and write the table of what was survived into docs/robustness.md.

    python -m tools.faults            run the tests, then write the table
    python -m tools.faults --no-run   only write it, from the markers

A test says what it does to babygpt, and what happens then:

    @pytest.mark.survives("kill -9 at a random moment", "the run goes on from its last checkpoint")

The table is written only if every one of these tests passes; where one is skipped, that is an error too.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "robustness.md"
MARKER = "pytest.mark.survives"
BEGIN, END = "<!-- faults: made by `make faults` from the tests -->", "<!-- end of faults -->"


@dataclass(frozen=True)
class Fault:
    """A fault that a test plants.

    file     of the test, from the root, with / in it
    test     its name
    done     what is done to babygpt
    happens  what happens then
    """

    file: str
    test: str
    done: str
    happens: str


def faults(root: Path = ROOT) -> list[Fault]:
    """All that the tests' markers say, file by file from top to bottom.

    Raises ValueError for a marker that does not say two things in plain strings, or a fault named twice.
    """
    paths = sorted((root / "tests").rglob("test_*.py"), key=lambda path: path.as_posix())
    found = [fault for path in paths for fault in marked(path, path.relative_to(root).as_posix())]
    twice = [done for done, times in Counter(fault.done for fault in found).items() if times > 1]
    if twice:
        raise ValueError(f"two tests say that they survive the same: {twice[0]!r}")
    return found


def marked(path: Path, name: str) -> Iterator[Fault]:
    """The faults of one file. A string in two pieces is one string to Python, and here."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in (mark for mark in node.decorator_list if ast.unparse(mark).startswith(MARKER)):
            said = [getattr(x, "value", None) for x in getattr(mark, "args", [])]
            words = [x for x in said if isinstance(x, str) and x.strip()]
            if len(said) != 2 or len(words) != 2:
                raise ValueError(f"{name}, {node.name}: survives(done, happens) takes two strings")
            yield Fault(name, node.name, *words)


def table(found: list[Fault]) -> str:
    """The table of docs/robustness.md, between its two comments; its links lead from docs/ to the tests."""
    rows = [f"| {cell(f.done)} | {cell(f.happens)} | [{Path(f.file).name}](../{f.file}) |" for f in found]
    return "\n".join(
        [BEGIN, "", "| what is done to it | what happens | tested in |", "|---|---|---|", *rows, "", END]
    )


def cell(text: str) -> str:
    """A text that may stand in a table, its first letter a capital."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain[:1].upper() + plain[1:]


def between(page: str) -> str:
    """The part of docs/robustness.md that is made here, its two comments included.

    Raises ValueError unless both comments are there once.
    """
    for comment in (BEGIN, END):
        if (times := page.count(comment)) != 1:
            raise ValueError(f"{PAGE.name} should hold {comment!r} once, and does {times} times")
    return page[page.index(BEGIN) : page.index(END) + len(END)]


class Outcomes:
    """What became of each test that was run, all its parameters together: a pytest plugin."""

    def __init__(self) -> None:
        self.worst: dict[tuple[str, str], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            file, name = report.nodeid.split("::")
            key = file, name.split("[")[0]
            order = ("passed", "skipped", "failed")
            self.worst[key] = max(self.worst.get(key, "passed"), report.outcome, key=order.index)


def run(found: list[Fault]) -> list[str]:
    """Run the tests, and say in a line each which did not pass."""
    seen = Outcomes()
    names = [f"{ROOT / fault.file}::{fault.test}" for fault in found]
    pytest.main(["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *names], plugins=[seen])
    became = {(f.file, f.test): seen.worst.get((f.file, f.test), "not run") for f in found}
    return [f"{file}::{test}: {what}" for (file, test), what in became.items() if what != "passed"]


@click.command()
@click.option("--no-run", is_flag=True, help="write the table without running the tests")
def main(no_run: bool) -> None:
    """Run the tests that plant faults, and write the table."""
    found, before = faults(), PAGE.read_text(encoding="utf-8")
    made = before.replace(between(before), table(found))
    if not no_run and (left := run(found)):
        raise click.ClickException(f"{PAGE.name} is as it was; not passed:\n" + "\n".join(left))
    PAGE.write_text(made, encoding="utf-8")
    click.echo(f"{len(found)} faults in {PAGE.name}")


if __name__ == "__main__":
    main()
