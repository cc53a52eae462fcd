"""Stills in a JupyterLab that has never trusted a notebook: its signature database is empty."""

import io
from collections.abc import Iterator
from contextlib import contextmanager

import nbformat
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from babygpt_live.panel import Curve, Panel
from babygpt_live.still import draw_still
from tools.browser.notebook import Notebook
from tools.browser.raster import rasterise
from tools.browser.server import ROOT, notebook_text, serve_notebooks
from tools.notebooks import PNG

WORDS, STEPS = "<training: v4>", [3.0, 2.0, 1.0]
EXPLORER = """
import babygpt_live as live
from babygpt_live.panel import Curve, Panel
panels = lambda n, values: [Panel("always alike", [Curve("c", "red", [1.0, 2.0, 3.0])])]
live.Explorer("still", lambda n: n, panels, [live.Slider("n", 1, 0, 9)])
"""


@contextmanager
def untrusted(browser: Browser, text: str) -> Iterator[Notebook]:
    """Open a notebook, given as the text of its file, in a JupyterLab of its own."""
    with serve_notebooks({"a.ipynb": text}) as address, Notebook(browser, address, "a.ipynb") as notebook:
        yield notebook


def picture(notebook: Notebook, cell: int) -> Locator:
    return notebook.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea-output img")


def drawn_width(image: Locator) -> int:
    """Return the width of the picture's file in pixels; 0 if the page could not read it."""
    expect(image).to_be_visible()
    width: int = image.evaluate("async image => { await image.decode(); return image.naturalWidth; }")
    return width


def test_the_first_lesson_shows_its_picture_before_anything_runs(browser: Browser):
    text = (ROOT / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8")
    cells = nbformat.reads(text, as_version=4).cells
    first = next(
        i for i, cell in enumerate(cells) if any(PNG in o.get("data", {}) for o in cell.get("outputs", []))
    )
    assert WORDS in str(cells[first].outputs)
    with untrusted(browser, text) as notebook:
        assert drawn_width(picture(notebook, first)) > 600
        expect(notebook.page.locator(".jp-Notebook .jp-Cell").nth(first)).not_to_contain_text(WORDS)


def test_a_notebook_that_a_reader_saved_shows_its_picture_elsewhere(browser: Browser):
    with untrusted(browser, notebook_text(EXPLORER)) as notebook:
        notebook.run_all()
        saved = nbformat.reads(notebook_text(EXPLORER), as_version=4)
        saved.cells[0].outputs = nbformat.from_dict(notebook.cells()[0]["outputs"])
    with untrusted(browser, nbformat.writes(saved)) as notebook:
        assert drawn_width(picture(notebook, 0)) > 300


def test_a_still_as_png_has_the_size_and_the_colours_of_the_svg(browser: Browser):
    svg, _, width = draw_still([Panel("a line", [Curve("c", "red", STEPS)])])
    (png,) = rasterise(browser, [svg])
    image = Image.open(io.BytesIO(png)).convert("RGB")
    assert image.width == width
    assert image.getpixel((1, image.height - 1)) == (255, 255, 255)
    assert any(red > 180 and green < 150 > blue for _, (red, green, blue) in image.getcolors(1 << 24) or [])
