"""The dashboard of a run: buttons, words and pictures follow it, and leave nothing behind."""

import base64
import ctypes
import gc
import sys
import threading
import time
from dataclasses import replace
from io import BytesIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from babygpt import live, plots
from babygpt.config import TrainConfig
from babygpt.live.run import Run, State
from babygpt.live.view import View
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import NextToken
from babygpt.plots.artists import find_artist

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16
PLAN = TrainConfig(steps=12, batch_size=4, warmup=2, seed=0)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """Collect all outputs in order; views show themselves as in IPython without a front end."""
    outputs = []
    module = sys.modules["babygpt.live.view"]
    monkeypatch.setattr(module, "show", lambda data, **how: outputs.append((data, how)))
    monkeypatch.setattr(sys.modules["babygpt.live.dashboard"], "display", lambda it: it._ipython_display_())
    return outputs


def start(model, objective, **more):
    return live.train(model, objective, PLAN, **{"title": "v4", "floors": {"floor": 0.5}} | more)


def wait_for_state(run, state):
    """Wait until the run is in this state and its panel has painted that."""
    deadline = time.monotonic() + LONG
    while not (run.state is state and run.panel.wait(0.1) and run.panel.image.announcement.endswith(state)):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return run.panel


def curve(run):
    return find_artist(run.panel.canvas.axes[0], Line2D, run.title)


def title(run):
    return run.panel.canvas.axes[0].get_title(loc="left")


# ---------------------------------------------------------------- buttons


def test_buttons_and_words_follow_a_run_through_its_life(make, gated):
    run = start(make(), gated)
    gated.reach(3)
    panel = wait_for_state(run, State.RUNNING)
    assert (panel.pause.description, panel.pause.disabled, panel.stop.disabled) == ("pause", False, False)
    assert (panel.replay.disabled, panel.replay.layout.visibility) == (True, "hidden")
    panel.pause.click()
    gated.let_go()
    wait_for_state(run, State.PAUSED)
    assert (panel.pause.description, panel.pause.disabled, panel.stop.disabled) == ("resume", False, False)
    assert panel.bar.value == len(run.history) == 3
    assert "<b>paused</b> · step 3 of 12" in panel.status.value
    panel.pause.click()
    *_, last = history = run.result()
    assert (panel.pause.description, panel.pause.disabled, panel.stop.disabled) == ("pause", True, True)
    assert (panel.bar.value, panel.bar.max, panel.bar.bar_style) == (12, 12, "success")
    for part in (
        "finished",
        "step 12 of 12",
        f"loss {np.mean([step.loss for step in history[2:]]):.3f}",
        f"validation {last.val_loss:.3f}",
    ):
        assert part in panel.status.value
    assert panel.image.announcement == "training: v4: finished"


def test_the_stop_button_stops(make, gated):
    run = start(make(), gated)
    gated.reach(3)
    run.panel.stop.click()
    gated.let_go()
    assert len(run.result()) == 3
    panel = wait_for_state(run, State.STOPPED)
    assert (panel.pause.disabled, panel.stop.disabled, panel.bar.bar_style) == (True, True, "warning")


def test_a_waiting_run_offers_to_stop_those_before_it(make, objective, gated):
    first = start(make(), gated, title="one")
    gated.reach(2)
    second = start(make(), objective, title="two")
    third = start(make(), objective, title="three")
    assert first.panel.stop_others.layout.display == "none"
    assert second.panel.stop_others.description == "stop one, start this one"
    assert second.panel.status.value.startswith("<b>waiting</b> for one · step 0 of 12")
    panel = third.panel
    assert "<b>waiting</b> for one and two · " in panel.status.value
    assert panel.stop_others.description == "stop one and two, start this one"
    assert (panel.stop_others.layout.display, panel.pause.disabled, panel.stop.disabled) == ("", True, False)
    panel.stop_others.click()
    gated.let_go()
    assert all(run.wait(LONG) for run in (first, second, third))
    assert [len(run.history) for run in (first, second, third)] == [2, 0, PLAN.steps]
    assert panel.stop_others.layout.display == "none"
    assert " for " not in panel.status.value


# ---------------------------------------------------------------- pictures


@pytest.fixture
def recorded():
    """Build a watch that remembers its measurements and the frames of its last drawing."""
    drawn = []

    def draw(ax, frames, title, total):
        drawn[:] = frames
        assert (title, total) == ("v4", 12)

    return live.Watch(lambda model: threading.current_thread().name, draw, times=4), drawn


def test_the_last_picture_shows_every_step_and_takes_the_place_of_the_first(make, objective, published):
    run = start(make(), objective)
    steps, mean = plots.running_mean([step.loss for step in run.result()], 10)
    panel, ax = run.panel, run.panel.canvas.axes[0]
    np.testing.assert_allclose(curve(run).get_xydata(), np.stack([steps, mean], axis=1))
    assert f"{mean[-1]:.2f} nats at step 12" in title(run)
    assert find_artist(ax, Line2D, "floor floor") is not None
    assert ax.get_xlim() == (0, 12)
    assert panel.image.alt == f"training: v4: {title(run)}"
    shown = np.asarray(Image.open(BytesIO(panel.image.value)))
    np.testing.assert_array_equal(shown, np.asarray(panel.canvas.agg.buffer_rgba()))
    (first, how), (last, again) = published
    assert how["display_id"] == again["display_id"] == panel.name
    assert again["update"]
    assert last["text/plain"] == repr(panel) == "<training: v4>"  # equal on every machine
    assert base64.b64decode(last["image/png"], validate=True) == panel.image.value
    for data in (first, last):  # a front end that does not name its cells keeps its widgets
        assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == panel.root.model_id


def test_the_replay_slider_rewinds_a_run_that_is_over_or_paused(make, gated, recorded):
    watch, drawn = recorded
    run = start(make(), gated, watches=[watch])
    gated.reach(7)
    run.pause()
    gated.let_go()
    panel = wait_for_state(run, State.PAUSED)
    assert (panel.replay.disabled, panel.replay.value) == (False, 7)
    assert panel.replay.layout.visibility == "visible"
    panel.replay.value = 4
    assert panel.wait(LONG)
    assert [step for step, _ in drawn] == [0, 3]
    run.resume()
    history = run.result()
    assert panel.replay.value == 12
    for upto, frames in ((12, [0, 3, 6, 9, 12]), (7, [0, 3, 6]), (0, [0])):
        panel.replay.value = upto
        assert panel.wait(LONG)
        assert panel.error is None
        steps, mean = plots.running_mean([step.loss for step in history[:upto]], 10)
        np.testing.assert_allclose(curve(run).get_xydata(), np.stack([steps, mean], axis=1))
        assert [step for step, _ in drawn] == frames
        assert title(run).endswith(f"step {upto}" if upto else "untrained")


def test_a_steered_run_is_drawn_over_its_baseline_with_the_gap_below(make, objective, gated):
    untouched = start(make(), objective)
    losses = [step.loss for step in untouched.result()]
    run = start(make(), gated, title="steered", baseline=untouched)
    gated.reach(4)
    run.steer("theta", 5.0)
    gated.let_go()
    gap, upper = np.subtract([step.loss for step in run.result()], losses), run.panel.canvas.axes[0]
    grey = find_artist(upper, Line2D, "v4 (baseline)")
    np.testing.assert_allclose(grey.get_ydata(), plots.running_mean(losses, 10)[1])
    np.testing.assert_allclose(find_artist(run.panel.canvas.below, Line2D, "gap").get_ydata(), gap)
    assert set(gap[:4]) == {0.0}  # until the knob moves
    assert [word.get_text() for word in upper.texts] == ["theta 5"]
    assert f"Now {abs(gap[-10:].mean()):.2f} nats" in run.panel.image.alt


def test_every_watch_has_its_axes(make, objective, small_corpus):
    heads = [live.heads(small_corpus.tokenizer, "ann met", times) for times in (3, 4)]
    panel = start(make(), objective, watches=heads).panel
    assert panel.canvas.laid_out  # the first picture takes long: it is drawn before the first step
    assert len(panel.canvas.axes) == 3
    for ax in panel.canvas.axes[1:]:
        assert ax.get_title(loc="left").startswith("Layer 1, head")


def test_bar_and_words_follow_five_times_a_second_and_pictures_less_often(make, objective, monkeypatch):
    run = start(make(), objective)
    run.result()
    wakes, texts, now = [], [], [1000.0]
    monkeypatch.setattr(run.panel, "wake", lambda: wakes.append(now[0]))
    monkeypatch.setattr("babygpt.live.dashboard.time", SimpleNamespace(monotonic=lambda: now[0]))
    run.panel.status.observe(lambda change: texts.append(now[0]), names="value")
    run.panel.next_text = run.panel.next_picture = 0.0
    for tick in range(500):
        now[0] += 0.01
        run.history.append(replace(run.history[-1], loss=tick))
        run.panel.update(at_once=False)
    np.testing.assert_allclose(np.diff(texts), 0.2, atol=0.011)
    np.testing.assert_allclose(np.diff(wakes), 0.6, atol=0.011)
    assert len(texts) >= 24
    before = len(wakes)
    for _ in range(3):
        run.panel.update(at_once=True)
    assert len(wakes) == before + 3


def test_the_progress_of_validation_shows_in_words_and_pictures(make, small_corpus, monkeypatch):
    for seconds in ("TEXT_SECONDS", "PICTURE_SECONDS"):
        monkeypatch.setattr(f"babygpt.live.dashboard.{seconds}", 0.0)
    seen = []

    class Validated(NextToken):
        def losses(self, model, batch):
            if torch.is_inference_mode_enabled():
                (run,) = Run.unfinished
                assert run.panel.wait(LONG)
                seen.append((title(run), run.panel.status.value))
            return super().losses(model, batch)

    start(make(), Validated(small_corpus, BLOCK)).result()
    counts = ["0 of 65", "64 of 65"]
    assert [name for name, _ in seen] == [f"v4: {count} validation windows read" for count in counts]
    assert all(f"validating {n} windows" in status for (_, status), n in zip(seen, counts, strict=True))


# ---------------------------------------------------------------- errors


class Broken(NextToken):
    def loss(self, model, batch):
        raise TypeError("'<' not supported between <b> and <i>")


def test_an_error_is_named_in_the_status_line(make, small_corpus, published):
    run = start(make(), Broken(small_corpus, BLOCK))
    with pytest.raises(TypeError):
        run.result()
    panel = run.panel
    assert "<b>failed</b>" in panel.status.value
    assert "TypeError: &#x27;&lt;&#x27; not supported between &lt;b&gt;" in panel.status.value
    assert (panel.bar.bar_style, panel.pause.disabled, panel.stop.disabled) == ("danger", True, True)
    assert "image/png" in published[-1][0]


def test_a_picture_that_fails_is_an_error_in_the_cell_that_waits(make, objective):
    def draw(ax, frames, title, total):
        if len(frames) == 5:
            raise SystemExit("no picture")

    run = start(make(), objective, watches=[live.Watch(lambda model: 0, draw, times=4)])
    with pytest.raises(SystemExit):
        run.result()
    assert "no picture" in run.panel.message.value
    assert len(run.history) == PLAN.steps


def test_a_first_picture_that_fails_is_an_error_of_the_cell_and_nothing_trains(make, objective):
    def draw(ax, frames, title, total):
        raise ZeroDivisionError("no picture")

    with pytest.raises(ZeroDivisionError):
        start(make(), objective, watches=[live.Watch(lambda model: 0, draw)])
    assert Run.unfinished == []


# ---------------------------------------------------------------- controls


def test_a_slider_steers_the_run(make, gated):
    run = start(make(), gated, controls=[live.Slider("theta", 100, 0, 1000)])
    theta = run.panel.controls["theta"]
    gated.reach(2)
    theta.value = 200
    gated.tickets.release()
    gated.reach(2)
    run.steer("theta", 300.0)  # moves the slider
    assert theta.value == 300
    theta.value = 0  # a base is above 0
    assert "theta" in run.panel.message.value
    gated.let_go()
    changed = {step.step: step.changed["theta"] for step in run.result() if step.changed}
    assert changed == {3: 200, 5: 300}
    assert theta.disabled


@pytest.mark.parametrize(("version", "name"), [("v4", "steepness"), ("nope", "theta"), ("v3", "n_embd")])
def test_a_slider_without_a_number_is_refused_before_it_is_shown(make, objective, published, version, name):
    with pytest.raises(ValueError, match=f"no number called '{name}'"):
        start(make(version), objective, controls=[live.Slider(name, 1, 0, 2)])
    assert published == []


# ---------------------------------------------------------------- memory leaks


def forget():
    """Wait until the threads of runs and of still copies have ended, and collect what is left."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer) or thread.name.startswith("babygpt trainer"):
            thread.join(LONG)
            assert not thread.is_alive()
    gc.collect()


def alive():
    """Count the objects that a run consists of, in this process."""
    forget()
    kinds = (LanguageModel, Run, View, Figure, torch.optim.Optimizer)
    found = dict.fromkeys(kinds, 0)
    for kind in map(type, gc.get_objects()):
        for one in kinds:
            found[one] += issubclass(kind, one)
    return {**found, "threads": threading.active_count(), "pyplot": len(plt.get_fignums())}


def megabytes():
    """Return the memory in use, in MB, after glibc has returned its free memory to the system."""
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.fixture
def go(make, objective, small_corpus, published, monkeypatch):
    """Run a cell of a notebook n times: a new model under a new dashboard, to its end."""
    runs = count()

    def train(n=1):
        for _ in range(n):
            cell = ("cell", str(next(runs)))
            monkeypatch.setattr("babygpt.live.view.current_cell", lambda cell=cell: cell)
            watch = live.heads(small_corpus.tokenizer, "ann met bob", times=3)
            run = start(make(), objective, watches=[watch])
            run.result()
            published.clear()
        return run

    return train


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory in use is read from /proc")
def test_twenty_runs_leave_no_more_than_one(go):
    run = go(5)
    before, memory = alive(), megabytes()
    run = go(15)
    assert alive() == before
    assert run is not None
    assert megabytes() - memory < 25  # one canvas alone has 3
    assert (kept := go()) is not run
    assert alive() != before  # a second run that is kept is counted
    assert kept.panel.root.comm is not None


def test_a_hundred_pictures_leave_no_more_than_one(go):
    run = go()
    run.panel.refresh()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(100):
        run.panel.refresh()
    gc.collect()
    assert len(gc.get_objects()) - before < 100  # less than an object a picture


# ---------------------------------------------------------------- the reader's own figures

FIGURES = 10
OFTEN = 10  # pictures of the run, at least, while the reader draws


def readers_figure(number):
    """Return the pixels of one of many figures, drawn with pyplot and saved, as readers do."""
    figure, ax = plt.subplots(figsize=(1 + number % 2, 1), dpi=50)
    draw = np.random.default_rng(number)
    if number % 2:
        ax.plot(draw.random(50).cumsum(), label="curve $x^2$")
        ax.legend()
    else:
        figure.colorbar(ax.imshow(draw.random((6, 6)) - 0.5), ax=ax)
    file = BytesIO()
    figure.savefig(file, format="raw")
    plt.close(figure)
    return file.getvalue()


@pytest.fixture
def alone():
    """Draw the reader's figures without any run."""
    matplotlib.rcdefaults()  # a reader with a style of their own
    return [readers_figure(number) for number in range(FIGURES)]


@pytest.fixture
def painted(alone, make, gated):
    """Return a list that grows with every picture of a run, which is redrawn all the time."""
    watch = live.Watch(lambda model: np.eye(5), lambda ax, frames, *_: ax.imshow(frames[-1][1]), times=1)
    run = start(make(), gated, watches=[watch])
    gated.reach(4)
    pictures, refresh = [], run.panel.refresh

    def refresh_again():
        refresh()
        pictures.append(run.panel.image.value)
        time.sleep(0.01)  # the reader's turn
        run.panel.wake()

    run.panel.refresh = refresh_again
    run.panel.wake()
    yield pictures
    run.panel.refresh = refresh
    gated.let_go()
    assert len(run.result()) == PLAN.steps


def test_a_run_changes_none_of_the_readers_figures(alone, painted):
    number = 0
    while number < FIGURES or len(painted) < OFTEN:
        assert readers_figure(number % FIGURES) == alone[number % FIGURES], number
        number += 1


def test_a_readers_settings_stay_while_a_run_is_drawn(painted):
    before, size = dict(matplotlib.rcParams), 0
    while len(painted) < OFTEN:
        size = size % 30 + 1
        matplotlib.rcParams["font.size"] = size
        assert dict(matplotlib.rcParams) == {**before, "font.size": size}
