"""An output has one place on the page, leaves it when its cell is run again, and a still stands for it."""

import gc
import weakref

import pytest

from babygpt_live import Explorer, Slider
from babygpt_live import view as view_module
from babygpt_live.panel import Level, Panel
from babygpt_live.view import LiveOutput, Still

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """Set the cell and its run that display outputs; ignore outputs of other tests."""
    monkeypatch.setattr(LiveOutput, "on_display", weakref.WeakSet())
    here = [None]
    monkeypatch.setattr(view_module, "current_cell", lambda: here[0])

    def stand(*cell):
        here[0] = cell or None

    return stand


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """Collect all outputs: their data, and how they are to be shown."""
    outputs = []
    monkeypatch.setattr(view_module, "show", lambda data, **how: outputs.append((data, how)))
    return outputs


def make():
    def panels(n, values):
        return [Panel(f"level {n} <b>", [Level("", n)])]

    return Explorer("levels", lambda n: n, panels, [Slider("n", 1, 0, 10)])


def show(explorer):
    explorer._ipython_display_()
    return explorer


def test_a_cell_that_is_run_again_closes_the_outputs_it_left_and_no_others(place):
    place("cell a", "run 1")
    hidden, first, second = make(), show(make()), show(make())
    place("cell b", "run 2")
    elsewhere = show(make())
    place()  # a front end that does not name its cells
    nameless = show(make())
    place("cell a", "run 3")
    now = show(make())
    outputs = (hidden, first, second, elsewhere, nameless, now)
    assert [output.comm is None for output in outputs] == [False, True, True, False, False, False]
    first.n = 5  # a closed one may still be moved


def test_an_output_shown_again_stays_open(place):
    """Show it in a later run of its own cell, and in another cell, which becomes its cell."""
    place("cell a", "run 1")
    explorer = show(make())
    for cell in (("cell a", "run 2"), ("cell b", "run 3")):
        place(*cell)
        show(explorer)
    place("cell a", "run 4")
    show(make())
    assert explorer.comm is not None


def test_an_output_is_dropped_when_its_cell_runs_again(place):
    place("cell a", "run 1")
    ref = weakref.ref(show(make()).output)
    place("cell a", "run 2")
    now = show(make())
    gc.collect()
    assert ref() is None
    assert list(LiveOutput.on_display) == [now.output]


def test_a_front_end_that_names_its_cells_gets_a_still_copy_of_its_own(place, published):
    place("cell a", "run 1")
    explorer = show(make())
    (widgets, _), (still, how) = published
    name = explorer.output.name
    assert widgets == {WIDGET: widgets[WIDGET], "text/plain": ""}  # its own text might hold a guess
    assert widgets[WIDGET]["model_id"] == explorer.model_id
    assert set(still) == {"text/html", "text/plain"}
    assert f'class="babygpt-still still-{name}"' in still["text/html"]
    assert f"body:has(.{name}) :is(.still-{name}" in still["text/html"]
    assert name in explorer._dom_classes  # The widget hides the still by this class.
    assert 'alt="explorer: levels: level 1 &lt;b&gt;"' in still["text/html"]
    assert how["display_id"] == name


def test_any_other_front_end_gets_widget_and_still_copy_in_one_output(published):
    explorer = show(make())
    ((data, how),) = published
    assert set(data) == {WIDGET, "image/svg+xml", "text/plain"}
    assert data["image/svg+xml"].startswith("<svg")
    assert how["metadata"]["image/svg+xml"]["alt"] == "explorer: levels: level 1 <b>"
    assert data["text/plain"] == repr(explorer) == "<explorer: levels>"


def test_a_wide_still_scrolls_on_a_narrow_page():
    assert "min-width: 650px" in (html := Still(b"x", "image/png", "words", 1000).html())
    assert "overflow-x: auto" in html
