"""The lab starts without what only later cells need, and the first cell shows a line at once."""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
# They draw figures, read pictures, download, lock files, read checkpoints, compile, or run commands.
LATER = {"matplotlib", "PIL", "pooch", "filelock", "safetensors", "torch._dynamo", "sympy", "click"}
LAB = "import babygpt_live as live; live.train, live.Explorer, live.Watch, live.Run"


def modules_after(script: str) -> set[str]:
    """Return the modules that a new interpreter has imported after a script."""
    script += "\nimport sys; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.splitlines()[-1].split())


def first_cell(name: str) -> ast.Module:
    """Return the first code cell of a notebook."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", nbformat.NO_CONVERT)
    return ast.parse(next(cell.source for cell in notebook.cells if cell.cell_type == "code"))


def imports(cell: ast.Module) -> str:
    """Return the imports of a cell."""
    return "\n".join(ast.unparse(node) for node in cell.body if isinstance(node, ast.Import | ast.ImportFrom))


def test_the_lab_needs_no_pytorch_before_its_first_name_is_used() -> None:
    assert not modules_after("import babygpt_live") & {"torch", "numpy", "anywidget", "IPython"}


def test_the_lab_imports_no_library_before_it_is_needed() -> None:
    modules = modules_after(LAB)
    assert {"torch", "anywidget"} <= modules
    assert not modules & LATER


@pytest.mark.parametrize("name", ["00_start_here", "12_the_case_is_closed"])
def test_a_first_cell_that_draws_no_figure_imports_no_library_for_later_cells(name: str) -> None:
    cell = imports(first_cell(name))
    assert "babygpt_live" in cell
    assert not modules_after(cell) & LATER


def test_the_first_cell_of_the_course_shows_a_line_before_pytorch_is_imported() -> None:
    first, *rest = first_cell("00_start_here").body
    assert ast.unparse(first).startswith("print(")
    assert "import torch" in ast.unparse(ast.Module(rest, []))
    assert "torch" not in modules_after(ast.unparse(first))
