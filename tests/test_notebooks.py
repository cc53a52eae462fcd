"""The stored notebooks: executed, tidy, and in step with their text.

Whether they run, and give what they store, is nbval's work (`make test`). A check is a function
that returns what is wrong with a notebook.
"""

import re
from itertools import zip_longest
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbformat import NotebookNode
from nbval.plugin import get_sanitize_patterns, metadata_tags

from tools.notebooks import ANSWER, FOLDED, KERNEL, WIDGET

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


# ---------------------------------------------------------------- parts of a cell


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that hold something."""
    return [cell for cell in nb.cells if cell.cell_type == "code" and cell.source.strip()]


def code_lines(cell: NotebookNode) -> int:
    """Return the lines of a code cell, without blank ones and comments."""
    lines = [line.strip() for line in cell.source.splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def outputs(nb: NotebookNode) -> list[NotebookNode]:
    """Return all outputs that the cells of a notebook store."""
    return [output for cell in nb.cells for output in cell.get("outputs", [])]


# ---------------------------------------------------------------- checks, which return [] without a fault


def executed_in_order(nb: NotebookNode) -> list[str]:
    counts = [cell.execution_count for cell in code_cells(nb)]
    expected = list(range(1, len(counts) + 1))
    return [] if counts == expected else [f"execution counts are {counts}: make notebooks"]


def without_errors(nb: NotebookNode) -> list[str]:
    return [f"{o.ename}: {o.evalue}" for o in outputs(nb) if o.output_type == "error"]


def without_debris(nb: NotebookNode) -> list[str]:
    """Refuse stderr, widgets, and metadata but the kernel's name, the tags, and what folds an answer."""
    wrong = [] if nb.metadata == {"kernelspec": KERNEL} else [f"metadata {nb.metadata}"]
    for number, cell in enumerate(nb.cells):
        wrong += [f"cell {number}: metadata {key}" for key in cell.metadata if key not in ("tags", "jupyter")]
        folds = FOLDED if ANSWER in cell.metadata.get("tags", []) else None
        wrong += [] if cell.metadata.get("jupyter") == folds else [f"cell {number}: folded or not: {folds}"]
        tells = folds and cell.outputs and cell.outputs[0].get("data") != {}  # beside the three dots
        wrong += [f"cell {number}: its first line can be seen though it is folded"] if tells else []
        streams = {output.get("name") for output in cell.get("outputs", [])}
        wrong += [f"cell {number}: stores stderr"] if "stderr" in streams else []
        kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
        wrong += [f"cell {number}: stores a widget"] if WIDGET in kinds else []
    return wrong


def with_trained_dashboards(nb: NotebookNode) -> list[str]:
    """Require that the description of a dashboard's picture names the step at which it was taken."""
    dashboards = [o for o in outputs(nb) if o.get("data", {}).get("text/plain", "").startswith("<training:")]
    words = [o.metadata.get("image/svg+xml", {}).get("alt", o.data.get("text/html", "")) for o in dashboards]
    return [f"a dashboard before a step: {w[:80]!r}" for w in words if not re.search("at step [1-9]", w)]


def with_known_tags(nb: NotebookNode) -> list[str]:
    """Refuse a misspelt nbval tag, which nbval would ignore without a word."""
    tags = {tag for cell in nb.cells for tag in cell.metadata.get("tags", [])}
    unknown = {tag for tag in tags if tag.startswith("nbval")} - metadata_tags.keys()
    return [f"no such tag: {tag}" for tag in sorted(unknown)]


CHECKS = [
    executed_in_order,
    without_errors,
    without_debris,
    with_trained_dashboards,
    with_known_tags,
]


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def cells_of(path: Path) -> list[tuple]:
    """Return type, source and tags of every cell in a notebook or in its text."""
    nb = jupytext.read(path, fmt="py:percent" if path.suffix == ".py" else "ipynb")
    return [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in nb.cells]


def out_of_step(notebook: Path) -> list[str]:
    """Return the places where a notebook and its text in src/ differ."""
    text = notebook.parent / "src" / f"{notebook.stem}.py"
    pairs = enumerate(zip_longest(cells_of(notebook), cells_of(text)))
    return [f"cell {number} differs" for number, (one, other) in pairs if one != other]


# ---------------------------------------------------------------- the notebooks of the course


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_tidy_and_in_step_with_its_text(path: Path):
    nb = read(path)
    assert {check.__name__: wrong for check in CHECKS if (wrong := check(nb))} == {}
    assert out_of_step(path) == []


def test_sources_and_the_readme_list_the_same_notebooks_and_questions():
    names = [path.stem for path in NOTEBOOKS]
    assert sorted(path.stem for path in (ROOT / "notebooks" / "src").glob("*.py")) == names
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^|]*\(notebooks/([^)/]+)\.ipynb\) \| (.+) \|$", readme, flags=re.M)
    found = [re.findall(r"^\*\*(.+)\*\*$", read(path).cells[0].source, flags=re.M)[0] for path in NOTEBOOKS]
    assert rows == list(zip(names, found, strict=True)) != []


# ---------------------------------------------------------------- patterns that nbval replaces


def sanitized(text: str) -> str:
    config = (ROOT / "tests" / "sanitize.cfg").read_text(encoding="utf-8")
    for regex, replacement in get_sanitize_patterns(config):
        text = re.sub(regex, replacement, text)
    return text


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("<Head object at 0x7f3a5c00a1d0>", "<Head object at 0x10a5c00a1>", True),
        ("trained in 3.2 s", "trained in 14 s", True),
        ("a forward pass: 120 µs", "a forward pass: 0.9 ms", True),
        ("at 1,204 steps/s", "at 87.5 steps/s", True),
        ("loss 1.886", "loss 1.887", False),
        ("300 steps", "320 steps", False),
        ("v3 says", "v4 says", False),
    ],
)
def test_nbval_ignores_times_and_compares_results(one: str, other: str, alike: bool):
    assert (sanitized(one) == sanitized(other)) is alike
