"""A lesson in a real browser: a guess made with the keyboard, a folded answer, an exercise solved."""

from collections.abc import Iterator

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from nbformat.v4 import new_output
from playwright.sync_api import Browser, Locator, expect

from tools.browser.notebook import Notebook
from tools.browser.server import notebook_text, serve_notebooks
from tools.notebooks import fold

SETUP, ASK, NUMBER, MEASURE, TELL, SEES, STUB, CHECK, DRAW, HINT, TALLY = range(11)
CELLS = (
    "from babygpt_course.exercises import lesson_06 as branches\n"
    "from babygpt_course.predictions import predict, tally",
    'first = predict("Which is longer?", ["a mile", "a kilometre", "neither"])\nfirst',
    'second = predict("By how much?", low=0, high=100, unit="%")\nsecond',
    'print("it is", 1609, "metres")\nfirst.compare("a mile")',
    "second.compare(61)",
    "branches.SEES",
    "def sees(query, key, isolated):\n    return False",
    "branches.SEES.check(sees)",
    "branches.SEES.draw(sees)",
    "branches.SEES.hint()",
    "tally()",
)
SOLVED = """\
def sees(query, key, isolated):
    own = query[1] == key[1]
    if isolated:
        return own and key[0] <= query[0]
    return key[0] < query[0] or (own and key[0] == query[0])"""
GRAVE = ("serious", "critical")


@pytest.fixture
def notebook(browser: Browser) -> Iterator[Notebook]:
    """Open the lesson as it is stored: run, and the answer folded."""
    stored = nbformat.reads(notebook_text(*CELLS), as_version=4)
    for cell in stored.cells:
        cell.outputs = [new_output("stream", name="stdout", text="it is 1609 metres\n")]
    fold(stored.cells[MEASURE])
    with (
        serve_notebooks({"lesson.ipynb": nbformat.writes(stored)}) as address,
        Notebook(browser, address, "lesson.ipynb", (1280, 3000)) as opened,
    ):
        yield opened


def cell(notebook: Notebook, index: int) -> Locator:
    return notebook.page.locator(".jp-Notebook .jp-CodeCell").nth(index)


def output(notebook: Notebook, index: int) -> Locator:
    return cell(notebook, index).locator(".jp-OutputArea-output").first


def test_an_answer_is_folded_until_its_cell_is_run(notebook: Notebook):
    expect(output(notebook, TELL)).to_be_visible()  # is not folded, and shows what is stored
    expect(output(notebook, MEASURE)).to_be_hidden()
    expect(cell(notebook, MEASURE).locator(".jp-Cell-outputWrapper")).not_to_contain_text("metres")
    notebook.run(SETUP, ASK, MEASURE)
    expect(output(notebook, MEASURE)).to_be_visible()
    expect(cell(notebook, MEASURE)).to_contain_text("It came out: a mile. No guess was made")


def test_a_guess_by_keyboard_is_compared_and_counted_but_not_stored(notebook: Notebook):
    page = notebook.page
    notebook.run(SETUP, ASK, NUMBER)
    expect(page.locator(".babygpt-words")).to_have_count(2)
    assert not any(words.is_visible() for words in page.locator(".babygpt-words").all())
    violations = Axe().run(page, {"include": [[".babygpt-guess"]]}).response["violations"]
    assert [
        (violation["id"], violation["help"]) for violation in violations if violation["impact"] in GRAVE
    ] == []
    page.get_by_role("radio", name="a mile", exact=True).focus()
    page.keyboard.press("ArrowDown")  # The arrow chooses the next answer.
    page.keyboard.press("ArrowUp")
    expect(cell(notebook, ASK)).to_contain_text("Kept.")
    page.keyboard.press("Tab")
    cell(notebook, NUMBER).get_by_role("textbox", name="Your guess").focus()
    page.keyboard.type("sixty")
    page.keyboard.press("Enter")
    expect(cell(notebook, NUMBER)).to_contain_text("This should be a number from 0% to 100%")
    page.keyboard.press("Control+A")
    page.keyboard.type("87.5 %")
    page.keyboard.press("Enter")
    expect(cell(notebook, NUMBER)).to_contain_text("Kept.")
    notebook.run(MEASURE, TELL, TALLY)
    expect(cell(notebook, MEASURE)).to_contain_text("You guessed: a mile. It came out: a mile. ✓")
    expect(cell(notebook, TELL)).to_contain_text("You guessed: 87.5%. It came out: 61%. ✗ (26.5 points away)")
    expect(cell(notebook, TALLY)).to_contain_text("1 of 2 guesses were right")
    notebook.save()
    saved = str([stored["outputs"] for stored in notebook.cells()])
    assert "61%" in saved
    assert "87.5" not in saved
    assert "You guessed" not in saved
    notebook.reopen()  # The notebook gets a new kernel.
    notebook.run(SETUP, ASK, TALLY)
    expect(cell(notebook, ASK)).to_contain_text("Kept.")
    expect(page.get_by_role("radio", name="a mile", exact=True)).to_be_checked()


def test_an_exercise_is_solved_after_a_hint_and_the_difference_goes(notebook: Notebook):
    notebook.run(SETUP, SEES, STUB, CHECK, DRAW, HINT)
    expect(cell(notebook, SEES)).to_contain_text("Several texts share one sequence")
    expect(cell(notebook, CHECK)).to_contain_text("Not yet: 2 of 3 to go.")
    expect(cell(notebook, HINT)).to_contain_text("1 of 2: There are three cases")
    expect(cell(notebook, DRAW).locator("img")).to_be_visible()
    before = cell(notebook, DRAW).locator("img").get_attribute("src")
    notebook.replace_cell(STUB, SOLVED)
    notebook.run(STUB, CHECK, DRAW)
    expect(cell(notebook, CHECK)).to_contain_text("Solved.")
    assert cell(notebook, DRAW).locator("img").get_attribute("src") != before
