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
from matplotlib import rc_params_from_file
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbval.plugin import IPyNbFile, metadata_tags

from babygpt_live import STYLE
from tools.comparison import IGNORED, OutputComparison, compared_text, output_differences
from tools.notebooks import ANSWER, FOLDED, KERNEL, SVG, WIDGET

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
    """Refuse stderr, widgets, SVG, and metadata but the kernel's name, the tags, and what folds an answer."""
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
        wrong += [f"cell {number}: stores {kind}" for kind in sorted(kinds & {WIDGET, SVG})]
    return wrong


def with_trained_dashboards(nb: NotebookNode) -> list[str]:
    """Require that the description of a dashboard's picture names the step at which it was taken."""
    dashboards = [o for o in outputs(nb) if o.get("data", {}).get("text/plain", "").startswith("<training:")]
    words = [o.metadata.get("image/png", {}).get("alt", "") for o in dashboards]
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
    return [f"cell {number} differs" for number, (cell, text_cell) in pairs if cell != text_cell]


# ---------------------------------------------------------------- the notebooks of the course


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_tidy_and_in_step_with_its_text(path: Path):
    nb = read(path)
    assert {check.__name__: wrong for check in CHECKS if (wrong := check(nb))} == {}
    assert out_of_step(path) == []


def menu(caption: str) -> list[str]:
    """Return the notebooks under a heading of the book's menu, in order."""
    index = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    return re.findall(r"^notebooks/(.+)$", index.split(f":caption: {caption}")[1].split("```")[0], flags=re.M)


def question_of(name: str) -> str:
    """Return the question of a lesson, which is the first bold line of its first text."""
    text = read(ROOT / "notebooks" / f"{name}.ipynb").cells[0].source
    return re.findall(r"^\*\*(.+)\*\*$", text, flags=re.M)[0]


def test_sources_menu_and_readme_list_the_same_notebooks_and_questions():
    names, way, trips = [path.stem for path in NOTEBOOKS], menu("The way"), menu("Side trips")
    assert sorted(path.stem for path in (ROOT / "notebooks" / "src").glob("*.py")) == names
    assert sorted(way + trips) == names
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^|]*\(notebooks/([^)/]+)\.ipynb\) \| (.+) \|$", readme, flags=re.M)
    assert rows == [(name, question_of(name)) for name in way]
    listed = readme.split("**Side trips**")[1].split("\n\n")[0]
    assert re.findall(r"\(notebooks/([^)/]+)\.ipynb\)", listed) == trips


# ---------------------------------------------------------------- what nbval compares


def cell_of(*tags: str, **data: str) -> NotebookNode:
    """Return a code cell with one output, MIME type with "_" for "/" -> text."""
    bundle = {kind.replace("_", "/"): text for kind, text in data.items()}
    return new_code_cell(outputs=[new_output("display_data", data=bundle)], metadata={"tags": list(tags)})


@pytest.mark.parametrize(
    ("stored", "new", "alike"),
    [
        (
            {"text_plain": "✓ kept", "text_html": "9.5e-07"},
            {"text_plain": "✓ kept", "text_html": "1.1e-06"},
            True,
        ),
        ({"text_plain": "✓ kept", "image_png": "aa"}, {"text_plain": "✓ kept", "image_png": "bb"}, True),
        ({"text_plain": "✓ kept", "text_html": "1"}, {"text_plain": "✗ broken", "text_html": "1"}, False),
        (
            {"text_plain": "source", "text_markdown": "a = 1"},
            {"text_plain": "source", "text_markdown": "a = 2"},
            False,
        ),
    ],
)
def test_text_is_compared_and_html_and_pictures_are_not(stored, new, alike):
    assert (output_differences(cell_of(**stored), cell_of(**new).outputs) == []) is alike
    assert output_differences(cell_of(IGNORED, **stored), cell_of(**new).outputs) == []


def test_nbval_uses_this_comparison(pytestconfig: pytest.Config, request: pytest.FixtureRequest):
    collector = IPyNbFile.from_parent(request.session, path=NOTEBOOKS[0])
    pytestconfig.hook.pytest_collectstart(collector=collector)
    assert collector.skip_compare == OutputComparison.parent.skip_compare


# A number as Python writes it below 1e-4, such as 9.5e-07. A limit is written as 1e-4.
NOISY = re.compile(r"\d(?:\.\d+)?e-\d\d\b")


def noisy_numbers(nb: NotebookNode) -> dict[int, list[str]]:
    """Return numbers in compared outputs that look like rounding noise: index of a cell -> texts."""
    return {
        index: NOISY.findall(text) for index, cell in enumerate(nb.cells) if (text := compared_text(cell))
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_compared_output_holds_rounding_noise(path: Path):
    assert {index: numbers for index, numbers in noisy_numbers(read(path)).items() if numbers} == {}
    without_text = [
        o.data.keys() for o in outputs(read(path)) if o.get("data") and "text/plain" not in o.data
    ]
    assert without_text == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("off by 9.5e-07 here", ["9.5e-07"]),
        ("1e-16", ["1e-16"]),
        ("below 1e-4, allowed 1e-6", []),
        ("0.000007", []),
    ],
)
def test_rounding_noise_is_recognised(text: str, numbers: list[str]):
    nb = new_notebook(cells=[cell_of(text_plain=text), cell_of(IGNORED, text_plain=text)])
    assert noisy_numbers(nb) == {0: numbers}


def test_pictures_of_a_cell_have_the_look_of_the_course():
    assert rc_params_from_file(ROOT / "notebooks" / "matplotlibrc", use_default_template=False) == STYLE
