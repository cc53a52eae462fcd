"""What a learner sees of a run: buttons, words and pictures that follow it, and leave nothing behind."""

import base64
import gc
import sys
import threading
import time
import weakref
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from babygpt import live, plots
from babygpt.config import TrainConfig
from babygpt.live import Watch
from babygpt.live.run import Run, State
from babygpt.live.trainer import Trainer
from babygpt.live.view import View
from babygpt.models.base import LanguageModel
from babygpt.objectives import NextToken
from babygpt.plots.artists import find_artist
from babygpt.training import replay
from babygpt.training import train as plain_train

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16
PLAN = TrainConfig(steps=12, batch_size=4, warmup=2, seed=0)
FLOORS = {"floor": 0.5}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """All that is displayed, in its order; views show themselves as in IPython, with nobody at the front."""
    seen = []
    monkeypatch.setattr(
        sys.modules["babygpt.live.view"], "show", lambda data, **how: seen.append((data, how))
    )
    monkeypatch.setattr(sys.modules["babygpt.live.trainer"], "display", lambda view: view._ipython_display_())
    return seen


def start(model, objective, **more):
    return live.train(model, objective, PLAN, **{"title": "v4", "floors": FLOORS} | more)


def settle():
    """Wait until the threads of all runs have ended, and of the painters that they woke."""
    while left := [thread for thread in threading.enumerate() if thread.name.startswith("babygpt")]:
        left[0].join(LONG)
        assert not left[0].is_alive()


def until(true):
    deadline = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def trainers():
    """The threads that train; one whose run is over may take a moment to end."""
    return {thread for thread in threading.enumerate() if isinstance(thread, Trainer)}


def wait_for_state(run, state):
    """Wait until the run is in this state and its panel has painted that."""
    until(lambda: run.state is state and run.panel.painter.wait(0.1) and run.panel.shown_state is state)
    return run.panel


def curve(run):
    return find_artist(run.panel.canvas.axes[0], Line2D, run.title)


# ---------------------------------------------------------------- buttons


def test_while_a_run_is_on_it_can_be_paused_and_stopped(make, gated):
    run = start(make(), gated)
    gated.reach(3)
    panel = wait_for_state(run, State.RUNNING)
    assert (panel.pause.description, panel.pause.disabled, panel.stop.disabled) == ("pause", False, False)
    assert panel.replay.disabled
    assert "running" in panel.status.value


def test_the_pause_button_pauses_and_then_resumes(make, gated):
    run = start(make(), gated)
    gated.reach(3)
    wait_for_state(run, State.RUNNING)
    run.panel.pause.click()
    gated.let_go()
    panel = wait_for_state(run, State.PAUSED)
    assert (panel.pause.description, panel.pause.disabled, panel.stop.disabled) == ("resume", False, False)
    assert panel.bar.value == len(run.history) == 3
    assert "paused" in panel.status.value
    assert "step 3 of 12" in panel.status.value
    panel.pause.click()
    assert len(run.result()) == PLAN.steps
    assert panel.pause.description == "pause"


def test_the_stop_button_stops(make, gated):
    run = start(make(), gated)
    gated.reach(3)
    run.panel.stop.click()
    gated.let_go()
    assert len(run.result()) == 3
    panel = wait_for_state(run, State.STOPPED)
    assert panel.pause.disabled
    assert panel.stop.disabled
    assert panel.bar.bar_style == "warning"


def test_when_a_run_is_over_there_is_nothing_to_press(make, objective):
    run = start(make(), objective)
    run.result()
    panel = run.panel
    assert panel.pause.disabled
    assert panel.stop.disabled
    assert panel.stop_others.layout.display == "none"
    assert (panel.bar.value, panel.bar.max, panel.bar.bar_style) == (12, 12, "success")
    last = run.history[-1]
    for part in ("finished", "step 12 of 12", f"loss {last.loss:.3f}", f"validation {last.val_loss:.3f}"):
        assert part in panel.status.value


def test_a_run_that_waits_offers_to_stop_the_one_before_it(make, objective, gated):
    first = start(make(), gated, title="one")
    gated.reach(2)
    second = start(make(), objective, title="two")
    panel = second.panel
    assert panel.stop_others.layout.display != "none"
    assert panel.stop_others.description == "stop one, start this one"
    assert panel.pause.disabled
    assert not panel.stop.disabled
    assert "waiting" in panel.status.value
    panel.stop_others.click()
    gated.let_go()
    assert len(second.result()) == PLAN.steps
    assert panel.stop_others.layout.display == "none"
    assert (first.state, len(first.result())) == (State.STOPPED, 2)


def test_the_third_offers_to_stop_both_before_it(make, objective, gated):
    first = start(make(), gated, title="one")
    gated.reach(2)
    second = start(make(), objective, title="two")
    third = start(make(), objective, title="three")
    assert third.panel.stop_others.description == "stop one and two, start this one"
    third.panel.stop_others.click()
    gated.let_go()
    assert len(third.result()) == PLAN.steps
    assert [len(run.result()) for run in (first, second)] == [2, 0]


def test_a_run_with_none_before_it_offers_to_stop_nothing(make, objective, monkeypatch):
    monkeypatch.setattr(Trainer, "start", lambda trainer: None)  # the moment before it begins
    run = start(make(), objective)
    assert run.state is State.WAITING
    assert run.panel.stop_others.layout.display == "none"


# ---------------------------------------------------------------- pictures


def test_at_the_end_the_picture_shows_every_step(make, objective):
    run = start(make(), objective)
    history = run.result()
    steps, mean = plots.running_mean([step.loss for step in history], 10)
    np.testing.assert_allclose(curve(run).get_xydata(), np.stack([steps, mean], axis=1))
    assert f"{mean[-1]:.2f} nats at step 12" in run.panel.canvas.axes[0].get_title(loc="left")
    assert find_artist(run.panel.canvas.axes[0], Line2D, "floor floor") is not None
    assert run.panel.canvas.axes[0].get_xlim() == (0, 12)


def test_a_run_without_floors_has_a_picture_too(make, objective):
    run = live.train(make(), objective, PLAN)
    assert len(run.result()) == PLAN.steps
    assert len(curve(run).get_xdata()) == 12


def test_the_picture_is_that_of_the_canvas(make, objective):
    run = start(make(), objective)
    run.result()
    shown = np.asarray(Image.open(BytesIO(run.panel.image.value)))
    np.testing.assert_array_equal(shown, np.asarray(run.panel.canvas.agg.buffer_rgba()))


@pytest.fixture
def looks():
    """A watch that counts its looks, and the frames that it was last told to draw."""
    told = []

    def draw(ax, frames, title, total):
        told[:] = frames
        assert (title, total) == ("v4", 12)

    return live.Watch(lambda model: threading.current_thread().name, draw, times=4), told


def test_the_replay_slider_shows_the_run_as_it_was(make, objective, looks):
    watch, told = looks
    run = start(make(), objective, watches=[watch])
    history, panel = run.result(), run.panel
    assert not panel.replay.disabled
    assert panel.replay.value == 12
    assert [step for step, _ in told] == [0, 3, 6, 9, 12]
    for upto, frames in ((7, [0, 3, 6]), (0, [0]), (11, [0, 3, 6, 9]), (12, [0, 3, 6, 9, 12])):
        panel.replay.value = upto
        assert panel.painter.wait(LONG)
        assert panel.error is None
        steps, mean = plots.running_mean([step.loss for step in history[:upto]], 10)
        np.testing.assert_allclose(curve(run).get_xydata(), np.stack([steps, mean], axis=1))
        assert [step for step, _ in told] == frames
        title = panel.canvas.axes[0].get_title(loc="left")
        assert title.endswith(f"step {upto}" if upto else "untrained")


def test_a_run_on_pause_can_be_looked_back_on_and_goes_on_from_where_it_was(make, gated, looks):
    watch, told = looks
    run = start(make(), gated, watches=[watch])
    gated.reach(7)
    run.pause()
    gated.let_go()
    panel = wait_for_state(run, State.PAUSED)
    assert (panel.replay.disabled, panel.replay.value) == (False, 7)
    panel.replay.value = 4
    assert panel.painter.wait(LONG)
    assert [step for step, _ in told] == [0, 3]
    run.resume()
    assert len(run.result()) == PLAN.steps
    assert panel.replay.value == 12
    assert [step for step, _ in told] == [0, 3, 6, 9, 12]


def test_the_untrained_model_is_looked_at_in_the_cell_and_the_trained_one_where_it_trains(
    make, objective, looks
):
    watch, told = looks
    start(make(), objective, watches=[watch]).result()
    names = [name for _, name in told]
    assert names == [threading.current_thread().name] + 4 * ["babygpt trainer v4"]


def test_every_watch_has_its_axes(make, objective, small_corpus):
    heads = [live.heads(small_corpus.tokenizer, "ann met", times) for times in (3, 4)]
    run = start(make(), objective, watches=heads)
    run.result()
    panel = run.panel
    assert panel.error is None
    assert len(panel.canvas.axes) == 3
    for ax in panel.canvas.axes[1:]:
        assert ax.images
        assert ax.get_title(loc="left").startswith("Layer 1, head")


@pytest.fixture
def clocked(make, objective, monkeypatch):
    """A panel at rest, the times at which it wants to be painted, and the clock it reads."""
    run = start(make(), objective)
    run.result()
    wakes, now = [], [1000.0]
    monkeypatch.setattr(run.panel.painter, "wake", lambda: wakes.append(now[0]))
    monkeypatch.setattr("babygpt.live.dashboard.time", SimpleNamespace(monotonic=lambda: now[0]))
    run.panel.next_picture = 0.0
    return run, wakes, now


def test_pictures_are_made_now_and_then_or_when_they_must_be(clocked):
    run, wakes, now = clocked
    run.panel.draw_seconds = 0.0
    for tick in range(40):
        now[0] = 1000 + tick / 8
        run.panel.update(at_once=False)
    assert 5 <= len(wakes) <= 10
    assert min(np.diff(wakes)) >= 0.5
    before = len(wakes)
    for _ in range(3):
        run.panel.update(at_once=True)
    assert len(wakes) == before + 3


def test_costly_pictures_are_made_less_often_and_never_stand_still_for_long(clocked):
    run, wakes, now = clocked
    for cost, pause in ((0.001, 0.5), (0.026, 0.65), (9.0, 0.7)):  # of one picture, and to the next, seconds
        wakes.clear()
        run.panel.draw_seconds, run.panel.next_picture = cost, 0.0
        for _ in range(1000):
            now[0] += 0.01
            run.panel.update(at_once=False)
        np.testing.assert_allclose(np.diff(wakes), pause, atol=0.011)


def test_bar_and_words_follow_five_times_a_second_whatever_a_picture_costs(clocked):
    run, _, now = clocked
    told = []
    run.panel.status.observe(lambda change: told.append(now[0]), names="value")
    run.panel.draw_seconds, run.panel.next_text = 9.0, 0.0
    for tick in range(500):
        now[0] += 0.01
        run.history.append(replace(run.history[-1], loss=tick))  # something to tell
        run.panel.update(at_once=False)
    np.testing.assert_allclose(np.diff(told), 0.2, atol=0.011)
    assert len(told) >= 24


def test_what_takes_long_the_first_time_is_done_before_the_first_step(make, gated):
    run = start(make(), gated)
    gated.reach(1)  # it draws the first batch
    assert run.panel.canvas.laid_out
    assert run.panel.image.value


# ---------------------------------------------------------------- the result


def test_the_result_takes_the_place_of_the_first_picture(make, objective, shown):
    run = start(make(), objective)
    run.result()
    (first, how), (last, again) = shown
    assert how["display_id"] == again["display_id"] == run.panel.name
    assert again["update"]
    assert last["text/plain"] == repr(run.panel) == "<training: v4>"  # the same on every machine
    assert base64.b64decode(last["image/png"], validate=True) == run.panel.image.value
    for data in (first, last):  # a front end that does not tell its cells apart keeps its widgets
        assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == run.panel.root.model_id


def test_the_picture_is_described_by_its_titles(make, objective):
    run = start(make(), objective)
    run.result()
    title = run.panel.canvas.axes[0].get_title(loc="left")
    assert run.panel.image.alt == f"training: v4: {title}"
    assert run.panel.image.announcement == "training: v4: finished"


class Broken(NextToken):
    def loss(self, model, batch):
        raise TypeError("'<' not supported between <b> and <i>")


def test_an_error_is_named_in_the_status_line(make, small_corpus, shown):
    run = start(make(), Broken(small_corpus, BLOCK))
    with pytest.raises(TypeError) as caught:
        run.result()
    assert caught.value is run.error
    panel = run.panel
    assert "failed" in panel.status.value
    assert "TypeError" in panel.status.value
    assert panel.bar.bar_style == "danger"
    assert panel.pause.disabled
    assert panel.stop.disabled
    assert "image/png" in shown[-1][0]


def test_an_error_with_angle_brackets_can_be_read(make, small_corpus):
    """The status line is HTML, where <b> and <i> would vanish."""
    run = start(make(), Broken(small_corpus, BLOCK))
    with pytest.raises(TypeError):
        run.result()
    assert "&lt;b&gt;" in run.panel.status.value
    assert "<i>" not in run.panel.status.value


@pytest.mark.survives(
    "a dashboard that cannot be drawn", "the model trains on; the cell that waits says what went wrong"
)
def test_a_picture_that_fails_is_an_error_where_one_waits_for_the_run(make, objective, shown, monkeypatch):
    error = ZeroDivisionError("no picture")

    def draw(ax, frames, title, total):
        if len(frames) == 5:
            raise error

    run = start(make(), objective, watches=[live.Watch(lambda model: 0, draw, times=4)])
    with pytest.raises(ZeroDivisionError) as caught:
        run.result()
    assert caught.value is error
    assert "no picture" in run.panel.message.value
    assert len(run.history) == PLAN.steps  # training itself went well
    assert "image/png" in shown[-1][0]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_picture_is_told_and_interrupts_nobody_else(make, objective, kind):
    def draw(ax, frames, title, total):
        if len(frames) == 5:
            raise kind

    run = start(make(), objective, watches=[live.Watch(lambda model: 0, draw, times=4)])
    with pytest.raises(RuntimeError, match=f"{kind.__name__} while drawing"):
        run.result()
    assert kind.__name__ in run.panel.message.value
    assert len(run.history) == PLAN.steps


@pytest.mark.parametrize("where", ["paint", "on_idle"])
def test_an_interrupt_anywhere_in_the_painter_ends_the_waiting_and_is_told(make, gated, monkeypatch, where):
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    run = start(make(), gated)
    gated.reach(3)
    assert run.panel.painter.wait(LONG)

    def fail():
        raise KeyboardInterrupt

    monkeypatch.setattr(run.panel.painter, where, fail)
    gated.let_go()
    assert run.wait(LONG)
    painter = run.panel.painter  # the run is over: nothing wakes it any more
    until(lambda: painter.thread is None and painter.error is not None)
    with pytest.raises(RuntimeError, match="KeyboardInterrupt while drawing"):
        run.result()


def test_a_first_picture_that_fails_is_an_error_of_the_cell_and_nothing_trains(make, objective):
    def draw(ax, frames, title, total):
        raise ZeroDivisionError("no picture")

    before = trainers()
    with pytest.raises(ZeroDivisionError):
        start(make(), objective, watches=[live.Watch(lambda model: 0, draw)])
    assert trainers() <= before


# ---------------------------------------------------------------- controls


def test_a_knob_steers_and_the_run_can_be_repeated(make, objective, gated):
    model, again = make("alibi"), make("alibi")
    run = start(model, gated, controls=[live.Scale("steepness", 1.0, 0.1, 10.0, "steepness")])
    gated.reach(3)
    run.panel.controls["steepness"].value = 10.0
    gated.let_go()
    history = run.result()
    assert [step.changed for step in history] == 3 * [{}] + [{"steepness": 10.0}] + 8 * [{}]
    assert model.encoding.steepness == 10
    repeated = list(plain_train(again, objective, PLAN, replay(history)))
    assert [step.loss for step in repeated] == [step.loss for step in history]
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), again.parameters(), strict=True))


def test_a_knob_of_whole_numbers_can_be_turned_twice(make, gated):
    run = start(make("v4"), gated, controls=[live.Slider("theta", 100, 10, 1000)])
    gated.reach(2)
    run.panel.controls["theta"].value = 200
    gated.tickets.release()
    gated.reach(2)
    run.panel.controls["theta"].value = 300
    gated.let_go()
    assert [step.changed["theta"] for step in run.result() if step.changed] == [200, 300]


def test_a_knob_follows_what_somebody_else_sets_and_does_not_set_it_again(make, gated):
    run = start(make("v4"), gated, controls=[live.Scale("theta", 10_000.0, 10.0, 1e6)])
    gated.reach(2)
    run.steer("theta", 510.0)
    gated.let_go()
    history = run.result()
    assert run.panel.controls["theta"].value == 501  # its stop beside that
    assert [step.changed for step in history if step.changed] == [{"theta": 510.0}]


def test_a_knob_does_not_go_back_to_where_a_hand_has_just_taken_it_from(make, gated):
    run = start(make("v4"), gated, controls=[live.Slider("theta", 100, 10, 1000)])
    gated.reach(2)
    for value in (200, 300):
        run.panel.controls["theta"].value = value
        gated.tickets.release()
        assert gated.arrived.acquire(timeout=LONG)
    assert run.panel.controls["theta"].value == 300
    gated.let_go()
    assert [s.changed["theta"] for s in run.result() if s.changed] == [200, 300]


def test_what_a_knob_cannot_set_is_said_and_the_run_goes_on(make, gated):
    run = start(make("v4"), gated, controls=[live.Slider("theta", 100, 0, 1000)])
    gated.reach(2)
    run.panel.controls["theta"].value = 0  # a base is above 0
    assert "theta" in run.panel.message.value
    gated.let_go()
    assert not any(step.changed for step in run.result())


@pytest.mark.parametrize(("version", "name"), [("v4", "steepness"), ("nope", "theta"), ("v3", "n_embd")])
def test_a_knob_that_names_no_number_is_refused_before_anything_is_shown(
    make, objective, shown, version, name
):
    before = trainers()
    with pytest.raises(ValueError, match=f"no number called '{name}'"):
        start(make(version), objective, controls=[live.Slider(name, 1, 0, 2)])
    assert shown == []
    assert trainers() <= before


# ---------------------------------------------------------------- leaving nothing behind


def forget():
    settle()
    gc.collect()


def test_a_run_that_nobody_names_closes_its_controls_and_leaves_its_picture(make, objective):
    run = start(make(), objective, controls=[live.Scale("theta", 100.0, 10.0, 1000.0)])
    run.result()
    panel = run.panel
    controls = [panel.pause, panel.stop, panel.stop_others, panel.replay, *panel.controls.values()]
    picture = panel.image.value
    ref = weakref.ref(run)
    forget()
    assert all(widget.comm is not None for widget in controls)  # a run with a name keeps them
    del run
    forget()
    assert ref() is None
    assert all(widget.comm is None for widget in controls)
    assert all(widget.comm is not None for widget in (panel.root, panel.image, panel.status, panel.bar))
    assert panel.image.value == picture
    panel.painter.wake()  # somebody moves what is on the page all the same
    assert panel.painter.wait(LONG)
    assert panel.error is None


def test_a_run_that_trains_lives_on_without_a_name(make, gated):
    run = start(make(), gated)
    gated.reach(2)
    ref, panel = weakref.ref(run), run.panel
    del run
    gc.collect()
    assert ref() is not None
    assert panel.pause.comm is not None
    gated.let_go()
    settle()
    gc.collect()
    assert ref() is None


def megabytes():
    """Memory that this process has in use, where the system tells."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def alive():
    """How many there are of what a run is made of, in all of this process."""
    forget()
    kinds = (LanguageModel, Run, View, Figure, torch.optim.Optimizer, Trainer)
    found = dict.fromkeys(kinds, 0)
    for kind in map(type, gc.get_objects()):
        for one in kinds:
            found[one] += issubclass(kind, one)
    return {**found, "threads": threading.active_count(), "pyplot": len(plt.get_fignums())}


@pytest.fixture
def go(make, objective, small_corpus, shown):
    """A run of a cell in a notebook: a new model under a new dashboard, to its end."""

    def train(n=1):
        for i in range(n):
            watch = live.heads(small_corpus.tokenizer, "ann met bob", times=3)
            run = start(make(), objective, watches=[watch])
            run.result()
            shown.clear()
            if i % 5 == 4:
                gc.collect()  # what only waits to be collected is no leak, but it fills memory
        return run

    return train


@pytest.mark.survives(
    "50 trainings in one notebook, one after the other",
    "memory stays where it was after the fifth, give or take 25 MB",
)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory in use is read from /proc")
def test_fifty_runs_leave_no_more_than_one(go):
    """As in a notebook: the same names, again and again."""
    run = go(5)
    before, memory = alive(), megabytes()
    run = go(45)
    assert alive() == before
    assert run is not None
    assert megabytes() - memory < 25  # one canvas alone has 3


@pytest.mark.parametrize("keep", ["panel", "history and model", "figure"])
def test_what_a_run_leaves_behind_is_found(go, make, objective, keep):
    """The test above can fail: each of these is a leak."""
    run, kept = go(), []
    before = alive()
    kept.append({"panel": run.panel, "history and model": make(), "figure": run.panel.canvas.figure}[keep])
    run = go()
    assert alive() != before
    assert run.panel is not kept[0]


def followed():
    gc.collect()
    return len(gc.get_objects())


def repaint(run, n):
    """Let a run's dashboard be drawn so often; how many objects became more."""
    before = followed()
    for _ in range(n):
        run.panel.refresh()
    return followed() - before


@pytest.mark.survives(
    "hundreds of pictures of one dashboard", "the last one has taken the place of all others"
)
def test_three_hundred_pictures_leave_no_more_than_one(go):
    run = go()
    repaint(run, 3)
    assert repaint(run, 300) < 300  # less than an object a picture


def test_pictures_that_pile_up_are_found(make, objective):
    """The test above can fail: here every picture adds a line to those before."""
    heap = Watch(lambda model: 0, lambda ax, frames, title, total: ax.plot([0, 1], gid="line"), times=2)
    run = start(make(), objective, watches=[heap])
    run.result()
    assert repaint(run, 30) > 300
