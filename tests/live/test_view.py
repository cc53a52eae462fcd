"""A view is painted by one thread, has one place on the page, and leaves it when its cell is run again."""

import gc
import threading
import weakref
from base64 import b64decode, b64encode
from io import BytesIO
from types import SimpleNamespace

import pytest
from matplotlib.lines import Line2D
from PIL import Image

from babygpt.live import Explorer, Slider
from babygpt.live import view as view_module
from babygpt.live.canvas import Canvas
from babygpt.live.view import Page, View
from babygpt.plots.artists import find_artist, horizontal_line

LONG = 60  # seconds; nothing here takes that long unless it hangs


class Easel(View):
    """View whose painting waits for the test, and which shows the number that it began with."""

    def __init__(self):
        self.number, self.painted, self.threads = -1, [], set()
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.may_end.set()
        super().__init__("easel", [], Canvas([1.0], 1.0))
        self.may_end.clear()
        self.number, self.painted = 0, []
        assert self.begun.acquire(timeout=LONG)

    def draw(self):
        self.painted.append(self.number)
        self.threads.add(threading.current_thread().name)
        self.begun.release()
        assert self.may_end.wait(LONG)


@pytest.fixture
def easel():
    easel = Easel()
    yield easel
    easel.may_end.set()
    assert easel.wait(LONG)


def test_several_wakes_cause_one_painting_that_begins_after_the_last(easel):
    assert easel.wait(LONG)  # nothing is painted unless asked for
    easel.wake()
    assert easel.begun.acquire(timeout=LONG)  # the first painting has begun and waits
    for easel.number in range(1, 101):
        easel.wake()
    assert not easel.wait(timeout=0.01)
    assert not easel.begun.acquire(timeout=0.1)
    easel.may_end.set()
    assert easel.wait(LONG)
    assert easel.painted == [0, 100]


def test_one_thread_paints_all_views(easel):
    other = Easel()
    for view in (easel, other):
        view.may_end.set()
        view.wake()
    assert easel.wait(LONG)
    assert other.wait(LONG)
    (painter,) = (easel.threads | other.threads) - {threading.current_thread().name}
    assert painter.startswith("babygpt painter")


# ---------------------------------------------------------------- a view's place on the page

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """Set the cell and its run that display views; ignore views of other tests."""
    monkeypatch.setattr(View, "on_display", weakref.WeakSet())
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
    def draw(ax, n):
        horizontal_line(ax, "level", n)

    return Explorer("levels", lambda n: n, draw, [Slider("n", 1, 0, 10)], height=2)


def show(view):
    view._ipython_display_()
    return view


def closed(view):
    """Return whether all of a view's widgets are closed; never only some of them."""
    widgets = [view.root, *view.root.children, *view.controls.values()]
    gone = {widget.comm is None for widget in widgets}
    assert len(gone) == 1
    return gone.pop()


def level(view):
    assert view.wait(LONG)
    assert view.error is None
    return view.canvas.axes[0].lines[0].get_ydata()[0]


def test_a_cell_that_is_run_again_closes_the_views_it_left_and_no_others(place):
    place("cell a", "run 1")
    hidden, one, other = make(), show(make()), show(make())
    place("cell b", "run 2")
    elsewhere = show(make())
    place()  # a front end that does not name its cells
    nameless = show(make())
    place("cell a", "run 3")
    now = show(make())
    views = (hidden, one, other, elsewhere, nameless, now)
    assert [closed(view) for view in views] == [False, True, True, False, False, False]
    one.controls["n"].value = 5  # a closed view may still be moved
    assert level(one) == 5


def test_a_view_shown_again_stays_open(place):
    """Show it in a later run of its own cell, and in another cell, which becomes its cell."""
    place("cell a", "run 1")
    view = show(make())
    for cell in (("cell a", "run 2"), ("cell b", "run 3")):
        place(*cell)
        show(view)
    place("cell a", "run 4")
    show(make())
    assert not closed(view)


def test_a_view_is_dropped_when_its_cell_runs_again(place):
    place("cell a", "run 1")
    ref = weakref.ref(show(make()))
    place("cell a", "run 2")
    now = show(make())
    gc.collect()
    assert ref() is None
    assert list(View.on_display) == [now]


def test_a_front_end_that_names_its_cells_gets_a_still_copy_of_its_own(place, published):
    place("cell a", "run 1")
    view = show(make())
    (widgets, _), (still, how) = published
    assert widgets == {WIDGET: widgets[WIDGET], "text/plain": ""}  # its own text might hold a guess
    assert widgets[WIDGET]["model_id"] == view.root.model_id
    assert set(still) == {"text/html", "text/plain"}
    assert f'class="babygpt-still still-{view.name}"' in still["text/html"]
    assert f"body:has(.{view.name}) :is(.still-{view.name}" in still["text/html"]
    assert view.name in view.root._dom_classes  # by which the widget hides it
    view.controls["n"].value = 7
    assert view.wait(LONG)
    view.resting.join(LONG)  # at rest the copy is the live picture
    data, how = published[-1]
    assert how == {"display_id": view.name, "update": True, "metadata": {}}
    assert b64encode(view.image.value).decode() in data["text/html"]
    view.image.alt = '"><script>'
    show(view)
    assert 'alt="&quot;&gt;&lt;script&gt;"' in published[-1][0]["text/html"]


def test_any_other_front_end_gets_widget_and_still_copy_in_one_output(published):
    view = show(make())
    ((data, how),) = published
    assert set(data) == {WIDGET, "image/png", "text/plain"}
    assert b64decode(data["image/png"]) == view.image.value
    assert how["metadata"]["image/png"]["alt"] == view.image.alt != ""
    assert data["text/plain"] == repr(view) == "<explorer: levels>"
    grid, message, image, *_ = view.root.children
    assert (list(grid.children)[:-1], message, image) == ([view.controls["n"]], view.message, view.image)


def test_a_page_that_sends_its_width_gets_a_picture_for_it(monkeypatch):
    monkeypatch.setattr(Page, "last_size", [])
    view = make()
    view.page.size = [700, 2.0]
    assert view.wait(LONG)
    assert Image.open(BytesIO(view.image.value)).width == 1400
    assert Image.open(BytesIO(make().image.value)).width == 1400  # the next one begins with it


def test_reset_puts_every_control_back():
    view = make()
    view.controls["n"].value = 9
    view.reset()
    assert level(view) == 1
    assert find_artist(view.canvas.axes[0], Line2D, "level") is not None


def test_the_cell_is_known_if_the_front_end_names_it(monkeypatch):
    monkeypatch.undo()
    header = {"header": {"msg_id": "1"}}
    for parent, cell in (
        ({"metadata": {"cellId": "a"}, **header}, ("a", "1")),
        ({"metadata": {}, **header}, None),
        ({}, None),
    ):
        shell = SimpleNamespace(get_parent=lambda parent=parent: parent)
        monkeypatch.setattr(view_module, "get_ipython", lambda shell=shell: shell)
        assert view_module.current_cell() == cell
    for shell in (object(), None):  # IPython without a kernel, and no IPython
        monkeypatch.setattr(view_module, "get_ipython", lambda shell=shell: shell)
        assert view_module.current_cell() is None
