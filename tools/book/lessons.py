"""Runs of notebooks for the book, in fresh kernels: their outputs, and what was recorded meanwhile."""

import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tools.notebooks import ROOT, run_cells

# What a notebook's outputs depend on, besides its own text.
OWN = tuple(f"tools/book/{name}.py" for name in ("figure_titles", "recorder", "recording", "live_parts"))
SOURCES = ("babygpt", "babygpt_live", "babygpt_course", "constraints.txt", *OWN)
SKIPPED = (".", "__pycache__", "_build")
BEGIN = """\
from pathlib import Path
from tools.book.recorder import install
_recorder = install()"""
END = "_recorder.write(Path({facts!r}))"


@dataclass(frozen=True)
class Ran:
    """A notebook that was run for the book.

    name      without .ipynb
    notebook  with its outputs
    facts     what `Recorder.write` noted
    seconds   that it took; 0 if what an earlier build left could be used
    """

    name: str
    notebook: NotebookNode
    facts: dict[str, Any]
    seconds: float


def fingerprint(places: Sequence[str]) -> str:
    """Return what files and all files in some folders hold, as a short text.

    places  as paths from the root
    """
    digest = hashlib.sha256()
    for start in map(ROOT.joinpath, places):
        for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
            inside = path.relative_to(ROOT)
            if path.is_file() and not any(part.startswith(SKIPPED) for part in inside.parts):
                digest.update(inside.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def run(name: str, folder: Path) -> Ran:
    """Run a notebook, or take what an earlier build left of the same one.

    folder   where results lie: <name>.ipynb, <name>.json
    Raises CellExecutionError if a cell fails.
    """
    notebook, facts = folder / f"{name}.ipynb", folder / f"{name}.json"
    mark = fingerprint([*SOURCES, f"notebooks/src/{name}.py"])
    if notebook.exists() and facts.exists():
        record = json.loads(facts.read_text(encoding="utf-8"))
        if record["fingerprint"] == mark:
            return Ran(name, nbformat.read(notebook, as_version=4), record, 0.0)
    start = time.perf_counter()
    ran = execute(name, facts)
    seconds = time.perf_counter() - start
    noted = {**json.loads(facts.read_text(encoding="utf-8")), "fingerprint": mark}
    nbformat.write(ran, notebook)
    facts.write_text(json.dumps(noted), encoding="utf-8")
    return Ran(name, ran, noted, seconds)


def read_stored(name: str) -> Ran:
    """Return a notebook as it is stored, with nothing recorded."""
    nothing: dict[str, Any] = {kind: {} for kind in ("recorded", "formulas", "shown", "guesses", "outcomes")}
    return Ran(name, nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4), nothing, 0.0)


def execute(name: str, facts: Path) -> NotebookNode:
    """Run a notebook's cells between a cell that installs the recorder and one that has it write."""
    nb = read_stored(name).notebook
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    begin, end = new_code_cell(BEGIN), new_code_cell(END.format(facts=str(facts)))
    nb.cells = [begin, *nb.cells, end]
    run_cells(nb, ROOT / "notebooks", {"OMP_NUM_THREADS": "1"})
    nb.cells = nb.cells[1:-1]
    return nb


def run_all(names: list[str], folder: Path, workers: int) -> list[Ran]:
    """Run notebooks side by side, the largest first, and return them in their own order."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {name: (ROOT / "notebooks" / f"{name}.ipynb").stat().st_size for name in names}
    with ProcessPoolExecutor(workers) as pool:
        jobs = {name: pool.submit(run, name, folder) for name in sorted(names, key=lambda name: -sizes[name])}
        runs = []
        for name in names:
            notebook = jobs[name].result()
            click.echo(f"{name:<24} {f'{notebook.seconds:.0f} s' if notebook.seconds else 'as it was'}")
            runs.append(notebook)
    return runs
