"""A view has one place on the page, and leaves it when its cell is run again."""

import gc
import weakref

import pytest
from matplotlib.lines import Line2D

from babygpt.artists import drawn, level
from babygpt.live import Explorer, Slider
from babygpt.live import view as view_module
from babygpt.live.canvas import Canvas
from babygpt.live.view import View


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """Set the cell and the run of it that views are displayed in; views of other tests play no part."""
    monkeypatch.setattr(View, "on_display", weakref.WeakSet())
    here = [None]
    monkeypatch.setattr(view_module, "cell", lambda: here[0])

    def stand(cell, run):
        here[0] = cell and (cell, run)

    return stand


def make():
    def draw(ax, n):
        level(ax, "level", n)

    return Explorer("levels", lambda n: n, draw, [Slider("n", 1, 0, 10)], size=(2, 2))


def show(view):
    view._repr_mimebundle_()
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
    assert view.shown_in == ("cell b", "run 3")
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
    assert view.painter.rest(60)
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
    assert view.painter.rest(60)
    assert view.error is None
    assert set(drawn(view.canvas.axes[0], Line2D, "level").get_ydata()) == {5}


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
    assert view_module.cell() == told


def test_a_view_that_does_not_say_what_it_draws_is_told_so():
    view = View("nothing", [], Canvas((1,), (2, 2)))
    view.painter.wake()
    assert view.painter.rest(60)
    assert isinstance(view.error, TypeError)
    assert "View does not say what it draws" in view.message.value
