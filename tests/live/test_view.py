"""A view has one place on the page, and leaves it when its cell is run again."""

import gc
import threading
import weakref
from base64 import b64decode, b64encode
from io import BytesIO

import pytest
from matplotlib.lines import Line2D
from PIL import Image

from babygpt.live import Explorer, Slider
from babygpt.live import view as view_module
from babygpt.live.canvas import Canvas
from babygpt.live.view import Picture, View
from babygpt.plots.artists import find_artist, horizontal_line


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """Set the cell and the run of it that views are displayed in; views of other tests play no part."""
    monkeypatch.setattr(View, "on_display", weakref.WeakSet())
    here = [None]
    monkeypatch.setattr(view_module, "current_cell", lambda: here[0])

    def stand(cell, run):
        here[0] = cell and (cell, run)

    return stand


def make():
    def draw(ax, n):
        horizontal_line(ax, "level", n)

    return Explorer("levels", lambda n: n, draw, [Slider("n", 1, 0, 10)], height=2)


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """All outputs that views make: their data, and how they are to be shown."""
    seen = []
    monkeypatch.setattr(view_module, "show", lambda data, **how: seen.append((data, how)))
    return seen


def show(view):
    view._ipython_display_()
    return view


def closed(view):
    """Whether all of a view's widgets are gone, or none; nothing between."""
    widgets = [view.root, view.message, view.image, *view.root.children, *view.controls.values()]
    gone = {widget.comm is None for widget in widgets}
    assert len(gone) == 1
    return gone.pop()


@pytest.mark.survives(
    "a cell with an explorer is run again and again", "the view it left is closed, and no other"
)
def test_a_cell_that_is_run_again_closes_the_view_it_left_and_no_other(place):
    place("cell a", "run 1")
    before = show(make())
    place("cell b", "run 2")
    elsewhere = show(make())
    place("cell a", "run 3")
    now = show(make())
    assert [closed(view) for view in (before, elsewhere, now)] == [True, False, False]
    place("cell a", "run 4")
    show(make())
    assert [closed(view) for view in (elsewhere, now)] == [False, True]


def test_two_views_of_one_run_of_a_cell_stand_beside_each_other(place):
    place("cell a", "run 1")
    first, second = show(make()), show(make())
    assert not closed(first)
    place("cell a", "run 2")
    show(make())
    assert closed(first)
    assert closed(second)


def test_a_view_shown_again_stays_open(place):
    """In a later run of its own cell, and in another cell, which is then its place."""
    place("cell a", "run 1")
    view = show(make())
    place("cell a", "run 2")
    show(view)
    place("cell b", "run 3")
    show(view)
    place("cell a", "run 4")
    show(make())
    assert view.cell == ("cell b", "run 3")
    assert not closed(view)


def test_where_no_front_end_names_its_cells_nothing_is_closed(place):
    place(None, None)
    first, second = show(make()), show(make())
    place("cell a", "run 1")
    show(make())
    assert not closed(first)
    assert not closed(second)


def test_what_was_never_displayed_is_not_closed(place):
    place("cell a", "run 1")
    hidden = make()
    place("cell a", "run 2")
    show(make())
    assert not closed(hidden)


def test_a_view_that_nobody_names_is_not_kept(place):
    place("cell a", "run 1")
    view = show(make())
    assert view.painter.wait(60)
    ref = weakref.ref(view)
    view.close()
    del view
    gc.collect()
    assert ref() is None
    assert len(View.on_display) == 0


def test_a_closed_view_may_still_be_moved(place):
    view = show(make())
    view.close()
    view.controls["n"].value = 5
    assert view.painter.wait(60)
    assert view.error is None
    assert set(find_artist(view.canvas.axes[0], Line2D, "level").get_ydata()) == {5}


WIDGET = "application/vnd.jupyter.widget-view+json"


def test_a_front_end_that_names_its_cells_gets_widgets_and_a_still_copy_apart(place, published):
    place("cell a", "run 1")
    view = show(make())
    (live, _), (still, how) = published
    assert live[WIDGET]["model_id"] == view.root.model_id
    assert set(still) == {"text/html", "text/plain"}
    assert f'data-babygpt="{view.name}"' in still["text/html"]
    assert view.image.still == view.name == how["display_id"]  # by which the live picture hides it
    assert b64encode(view.image.value).decode() in still["text/html"]


def test_any_other_reader_gets_both_in_one(place, published):
    place(None, None)
    view = show(make())
    ((data, how),) = published
    assert set(data) == {WIDGET, "image/png", "text/plain"}
    assert b64decode(data["image/png"]) == view.image.value
    assert how["metadata"]["image/png"]["alt"] == view.image.alt != ""


def test_at_rest_the_still_copy_is_what_the_live_picture_shows(place, published):
    place("cell a", "run 1")
    view = show(make())
    view.controls["n"].value = 7
    view.painter.thread.join(60)
    data, how = published[-1]
    assert how == {"display_id": view.name, "update": True, "metadata": {}}
    assert b64encode(view.image.value).decode() in data["text/html"]
    assert len(published) == 3


def test_the_still_copy_says_what_it_shows_and_cannot_break_out_of_its_words(place, published):
    place("cell a", "run 1")
    view = make()
    view.image.alt = '"><script>'
    show(view)
    assert 'alt="&quot;&gt;&lt;script&gt;"' in published[-1][0]["text/html"]


def test_a_page_that_tells_its_room_gets_a_picture_for_it(monkeypatch):
    monkeypatch.setattr(Picture, "last_size", (0, 0.0))
    view = make()
    with view.image.hold_trait_notifications():
        view.image.cell_width, view.image.ratio = 700, 2.0
    assert view.painter.wait(60)
    assert Image.open(BytesIO(view.image.value)).width == 1400
    assert Image.open(BytesIO(make().image.value)).width == 1400  # the next one begins with it


def test_what_the_page_tells_and_what_it_is_shown_do_not_cross(monkeypatch):
    """Two threads that set traits of one widget at once may lose a change: it is never sent."""
    picture, sent = Picture(), []
    monkeypatch.setattr(
        picture, "send_state", lambda key=None: sent.extend([key] if isinstance(key, str) else key or ())
    )
    inside, go_on = threading.Event(), threading.Event()
    picture.observe(lambda _: (inside.set(), go_on.wait(60)), names="cell_width")
    page = threading.Thread(target=picture.set_state, args=({"cell_width": 500},))
    page.start()
    assert inside.wait(60)
    painter = threading.Thread(target=picture.tell, kwargs={"alt": "words"})
    painter.start()
    painter.join(0.2)
    assert (painter.is_alive(), picture.alt) == (True, "")  # it waits for its turn
    go_on.set()
    for thread in (page, painter):
        thread.join(60)
    assert "alt" in sent


def test_reset_puts_every_control_back():
    view = make()
    view.controls["n"].value = 9
    view.reset()
    assert view.controls["n"].value == 1
    assert view.painter.wait(60)
    assert set(find_artist(view.canvas.axes[0], Line2D, "level").get_ydata()) == {1}


class Shell:
    """What the kernel tells of the message it is working on."""

    def __init__(self, parent):
        self.parent = parent

    def get_parent(self):
        return self.parent


@pytest.mark.parametrize(
    ("shell", "told"),
    [
        (Shell({"metadata": {"cellId": "a"}, "header": {"msg_id": "1"}}), ("a", "1")),
        (Shell({"metadata": {}, "header": {"msg_id": "1"}}), None),
        (Shell({}), None),
        (object(), None),
        (None, None),
    ],
    ids=["a front end that names its cells", "one that does not", "no message", "IPython", "Python"],
)
def test_the_cell_is_known_where_the_front_end_tells(shell, told, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(view_module, "get_ipython", lambda: shell)
    assert view_module.current_cell() == told


def test_a_view_that_does_not_say_what_it_draws_is_told_so():
    view = View("nothing", [], Canvas((1,), 2))
    view.painter.wake()
    assert view.painter.wait(60)
    assert isinstance(view.error, TypeError)
    assert "View does not say what it draws" in view.message.value
