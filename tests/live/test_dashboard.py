"""The dashboard of a run: the page learns every number, buttons and dials act, and nothing is left behind."""

import gc
import sys
import threading
import time
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import babygpt_live as live
from babygpt.config import TrainConfig
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import NextToken
from babygpt_course import explorers
from babygpt_live.dashboard import BLOCK as LOSSES
from babygpt_live.dashboard import DashboardWidget, baseline_colour, loss_panel, loss_span, status_words
from babygpt_live.panel import Axis, Curve, Level, Panel, unpack
from babygpt_live.run import Run, State
from babygpt_live.view import LiveOutput

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16
PLAN = TrainConfig(steps=12, batch_size=4, warmup=2, seed=0)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """Collect all outputs in order; dashboards show themselves as in IPython without a front end."""
    outputs = []
    module = sys.modules["babygpt_live.view"]
    monkeypatch.setattr(module, "show", lambda data, **how: outputs.append((data, how)))
    monkeypatch.setattr(sys.modules["babygpt_live.dashboard"], "display", lambda it: it._ipython_display_())
    return outputs


class Model:
    """The page's model of a widget: what it was told, until it asks for what it lacks.

    lost  the numbers of messages that never arrive
    """

    def __init__(self, page, lost=()):
        self.page, self.lost, self.told = page, set(lost), count()
        self.state, self.arrived = page.get_state(), 0
        page.send_state = self.hear

    def hear(self, parts):
        if next(self.told) not in self.lost:
            self.state |= parts
            self.arrived += 1

    def losses(self):
        """Return the losses that are known without a gap, and whether these are all."""
        steps_done, losses = self.state["head"]["made"], []
        while len(losses) < steps_done and (block := self.state.get(f"loss{len(losses) // LOSSES}")):
            fresh = unpack(block)[len(losses) % LOSSES :]
            if not len(fresh):
                break
            losses += list(fresh)
        return losses, len(losses) == steps_done

    def frames(self, watch=0):
        """Return the measurements of a watch that are known without a gap, and whether these are all."""
        there, frames = self.state["head"]["frames"][watch], []
        while (frame := self.state.get(f"frame{watch}_{len(frames)}")) is not None:
            frames.append(frame)
        return frames, len(frames) == there


def start(model, objective, plan=PLAN, **more):
    return live.train(model, objective, plan, **{"title": "v4", "floors": {"floor": 0.5}} | more)


def order(run, do, **more):
    """Send a command as the page does."""
    run.dashboard.obey(None, {"do": do, "number": run.dashboard.heard + 1, **more}, [])


def wait_for_state(run, state):
    deadline = time.monotonic() + LONG
    while run.state is not state:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return run.dashboard.head()


def watching(panel, times=4):
    return live.Watch(lambda model: threading.current_thread().name, panel, times)


def steps_panel(frames, title, total):
    steps = np.array([step for step, _ in frames], float)
    return Panel(
        f"{len(frames)} frames", [Curve("n", "red", steps)], Axis("step", (0, total)), over_steps=True
    )


def levels_panel(frames, title, total):
    return Panel(f"after {frames[-1][0]}", [Level("", len(frames))])


# ---------------------------------------------------------------- what the page knows


@pytest.mark.parametrize("lost", [(), range(0, 10_000, 3), range(5, 10_000)])
def test_the_page_knows_every_number_at_the_end_whatever_it_missed(make, objective, monkeypatch, lost):
    """Drop every third message, or all but five, and let the page ask once at the end."""
    monkeypatch.setattr("babygpt_live.dashboard.BLOCK", 5)
    monkeypatch.setitem(globals(), "LOSSES", 5)
    watches = [watching(steps_panel), watching(levels_panel, times=6)]
    run = start(make(), objective, watches=watches, controls=[live.Slider("theta", 100, 1, 1000)])
    model = Model(run.dashboard.page, lost)
    run.result()
    model.lost = set()
    whole = model.losses()[1] and model.frames(0)[1] and model.frames(1)[1]
    if not (whole and model.state["head"]["over"]):
        assert lost
        order(run, "resend")
    losses, whole = model.losses()
    assert whole
    np.testing.assert_allclose(losses, [step.loss for step in run.history], rtol=1e-6)
    for watch, steps in ((0, [0, 3, 6, 9, 12]), (1, [0, 2, 4, 6, 8, 10, 12])):
        frames, whole = model.frames(watch)
        assert whole
        assert [frame["step"] for frame in frames] == steps
    assert [frame["title"] for frame in model.frames(0)[0]] == [f"{n} frames" for n in range(1, 6)]
    np.testing.assert_array_equal(unpack(model.state["panel0"]["marks"][0]["y"]), [0, 3, 6, 9, 12])
    assert [frame["panel"]["title"] for frame in model.frames(1)[0]][::3] == [
        "after 0",
        "after 6",
        "after 12",
    ]
    assert model.state["head"]["state"] == "finished"


def test_a_new_page_gets_all_that_is_known_at_once(make, gated):
    run = start(make(), gated, watches=[watching(levels_panel)])
    gated.reach(7)
    model = Model(run.dashboard.page)  # A page that is reloaded during the training starts like this.
    assert len(model.losses()[0]) == 6
    assert model.losses()[1]
    assert model.frames()[1]
    gated.let_go()
    run.result()
    assert model.losses() == (pytest.approx([step.loss for step in run.history], rel=1e-6), True)


def test_messages_leave_twenty_times_a_second_on_average_and_at_once_where_it_matters(
    make, objective, monkeypatch
):
    run = start(make(), objective)
    run.result()
    times_sent, now = [], [1000.0]
    monkeypatch.setattr(run.dashboard.page, "send_state", lambda parts: times_sent.append(now[0]))
    monkeypatch.setattr(
        "babygpt_live.dashboard.time", SimpleNamespace(monotonic=lambda: now[0], time=time.time)
    )
    run.dashboard.due = 0.0
    for _ in range(300):  # steps of 34 ms: every one, or every second one
        now[0] += 0.034
        run.dashboard.update(at_once=False)
    assert len(times_sent) == pytest.approx(300 * 0.034 * 20, abs=2)
    before = len(times_sent)
    for _ in range(3):
        run.dashboard.update(at_once=True)
    assert len(times_sent) == before + 3


def finished(make, objective):
    run = start(make(), objective)
    run.result()
    return run


# ---------------------------------------------------------------- buttons, words and dials


def test_buttons_and_words_follow_a_run_through_its_life(make, gated):
    run = start(make(), gated)
    gated.reach(3)
    assert wait_for_state(run, State.RUNNING)["state"] == "running"
    order(run, "pause")
    gated.let_go()
    head = wait_for_state(run, State.PAUSED)
    assert (head["made"], head["over"]) == (3, False)
    assert (head["words"], head["device"]) == ("paused", f"trains on {run.device.type}")
    order(run, "resume")
    *_, last = run.result()
    head = run.dashboard.head()
    assert (head["state"], head["over"], head["heard"]) == ("finished", True, 2)
    assert head["words"] == f"finished · validation {last.val_loss:.3f} · {last.seconds:.0f} s"


@pytest.mark.parametrize(("device", "words"), [(None, ""), (torch.device("meta"), "trains on meta")])
def test_only_a_device_that_is_known_is_named(device, words):
    run = live.LoopRun("line", 4, device=device)
    live.show_dashboard(run)
    assert (status_words(run, ""), run.dashboard.head()["device"]) == ("waiting", words)


def test_a_waiting_run_offers_to_stop_those_before_it(make, objective, gated):
    first = start(make(), gated, title="one")
    gated.reach(2)
    second, third = (start(make(), objective, title=title) for title in ("two", "three"))
    heads = [run.dashboard.head() for run in (first, second, third)]
    assert [head["offer"] for head in heads] == [
        "",
        "stop one, start this one",
        "stop one and two, start this one",
    ]
    assert heads[1]["words"] == "waiting for one"
    order(third, "stop_earlier")
    gated.let_go()
    assert all(run.wait(LONG) for run in (first, second, third))
    assert [len(run.history) for run in (first, second, third)] == [2, 0, PLAN.steps]
    assert third.dashboard.head()["offer"] == ""


def test_a_dial_and_a_cell_steer_the_run_and_both_moves_are_recorded(make, gated):
    run = start(make(), gated, controls=[live.Slider("theta", 100, 0, 1000, "θ (base)")])
    gated.reach(2)
    order(run, "steer", name="theta", value=200)
    gated.tickets.release()
    gated.reach(2)
    run.steer("theta", 300.0)
    assert run.dashboard.head()["values"] == {"theta": 300.0}
    order(run, "steer", name="theta", value=0)  # a base is above 0
    assert "theta" in run.dashboard.head()["problem"]
    gated.let_go()
    changed = {step.step: step.changed["theta"] for step in run.result() if step.changed}
    assert changed == {3: 200, 5: 300}
    assert run.dashboard.moves() == [(3, "θ 200"), (5, "θ 300")]  # further apart than names need
    order(run, "steer", name="theta", value=400)  # over: it is ignored
    assert run.dashboard.head()["problem"] == ""


def test_close_moves_are_one_mark_with_the_last_value_of_each_dial():
    run = live.LoopRun("line", 120, numbers=["rate", "decay"])
    live.show_dashboard(run, controls=[live.Slider("rate", 1, 0, 9, "η (rate)")])
    moves = {20: {"rate": 1.0}, 22: {"decay": 2.0}, 29: {"rate": 3.0}, 30: {"decay": 4.0}}
    for step in run.steps():
        run.record(step, 1.0, None, moves.get(step, {}))
    assert run.dashboard.moves() == [(20, "η 3, decay 2"), (30, "decay 4")]


@pytest.mark.parametrize(("version", "name"), [("v4", "steepness"), ("nope", "theta"), ("v3", "n_embd")])
def test_a_dial_without_a_number_is_refused_before_it_is_shown(make, objective, published, version, name):
    with pytest.raises(ValueError, match=f"no number called '{name}'"):
        start(make(version), objective, controls=[live.Slider(name, 1, 0, 2)])
    assert published == []


def test_the_dashboard_shows_the_progress_of_validation(make, small_corpus):
    heads = []

    class Validated(NextToken):
        def losses(self, model, batch):
            if torch.is_inference_mode_enabled():
                (run,) = Run.unfinished
                heads.append(run.dashboard.head())
            return super().losses(model, batch)

    start(make(), Validated(small_corpus, BLOCK)).result()
    counts = ["0 of 65", "64 of 65"]
    assert [head["reading"] for head in heads] == [f"v4: {n} validation windows read" for n in counts]
    assert all(f"validating {n} windows" in head["words"] for head, n in zip(heads, counts, strict=True))


# ---------------------------------------------------------------- losses as panels


def test_panels_of_losses_hold_the_run_its_baseline_floors_and_moves(make, objective, gated):
    untouched = finished(make, objective)
    watches = [watching(steps_panel), watching(levels_panel)]
    run = start(make(), gated, title="steered", baseline=untouched, watches=watches)
    gated.reach(4)
    run.steer("theta", 5.0)
    gated.let_go()
    losses, before = ([step.loss for step in finished_run.result()] for finished_run in (run, untouched))
    panel, over_steps, over_levels = run.dashboard.panels()
    (grey, raw, smooth), levels = panel.marks[:3], panel.marks[3:]
    steps, mean = live.running_mean(losses, 10)
    np.testing.assert_allclose(grey.y, live.running_mean(before, 10)[1])
    np.testing.assert_allclose(raw.y, losses)
    np.testing.assert_allclose([smooth.x, smooth.y], [steps, mean])
    assert [(level.name, level.at, level.axis) for level in levels] == [
        ("floor 0.5", 0.5, "y"),
        ("theta 5 from step 5", 5, "x"),
    ]
    assert panel.title == f"steered: the loss is {mean[-1]:.2f} nats at step 12"
    assert (grey.colour, smooth.colour) == (live.COLOURS["grey"], live.COLOURS["blue"])
    assert panel.x.span == (0, 12)
    assert smooth.name == "steered, mean of 10 steps"
    gap = panel.below
    for marked in (gap, over_steps):
        assert marked.marks[-1] == Level("", 5, "x")
    assert over_levels.marks == [Level("", 6)]  # its x counts no steps
    np.testing.assert_allclose(gap.marks[0].y, mean - live.running_mean(before, 10)[1])
    assert set(gap.marks[0].y[:4]) == {0.0}  # until the dial moves
    assert gap.title == "less than 0.01 nats from v4"
    first = loss_panel(run.dashboard, 0)
    assert (first.title, first.below.title) == (
        "steered is untrained: each step adds its loss here",
        "gap to v4 (nats)",
    )
    run.title = "nope"  # grey itself; then the baseline has the colour of its encoding
    colours = [mark.colour for mark in run.dashboard.panels()[0].marks[:3:2]]
    assert colours == [live.ENCODING_COLOURS["v4"], live.ENCODING_COLOURS["nope"]]


@pytest.mark.parametrize(
    ("levels", "mean", "span"),
    [
        ([3.4, 0.5], [3.3, 2.0, 0.7], (0, 3.5)),  # a language model, as it should be
        ([3.4, 0.5], [3.9, 2.0, np.nan], (0, 4.0)),
        ([3.4, 0.5], [], (0, 3.5)),
        ([3.4, 0.5], [3.3] * 20 + [41.0], (0, 45)),
        ([0.0], [-1.4, -2.9], (-3, 0)),
        ([0.0], [0.0013, 0.0002], (0, 0.0015)),
        ([0.0], [9.0, 1e-9], (0, 9.5)),
        ([0.0], [0.0, 0.0], (0, 0.5)),
        ([0.0], [np.nan], (0, 0.5)),
    ],
)
def test_the_axis_of_losses_reaches_all_of_them(levels, mean, span):
    assert loss_span(levels, np.array(mean)) == pytest.approx(span)


@pytest.mark.parametrize(
    ("unit", "loss", "finding"),
    [
        ("mean squared error", 0.123, "0.12 mean squared error"),
        ("nats per character", 2.5, "2.50 nats"),
        ("", 0.00123, "0.00123"),
        ("", 1.234e-14, "1.23e−14"),
        ("", -1.5, "−1.50"),
        ("", np.nan, "nan"),
    ],
)
def test_the_finding_on_a_loss_has_its_whole_unit_and_digits_that_say_something(unit, loss, finding):
    run = live.LoopRun("line", 4, unit=unit)
    live.show_dashboard(run)
    for step in run.steps():
        run.record(step, loss, None)
    panel = loss_panel(run.dashboard, 4)
    assert panel.title == f"line: the loss is {finding} at step 4"


@pytest.mark.parametrize(
    ("title", "baseline", "colour"),
    [
        ("v4", "nope", live.ENCODING_COLOURS["nope"]),
        ("v4", "v4", live.COLOURS["grey"]),
        ("nope", "nope", live.COLOURS["blue"]),
        ("steered", "v4", live.COLOURS["grey"]),
    ],
)
def test_a_baseline_has_another_colour_than_the_run(title, baseline, colour):
    assert baseline_colour(title, baseline) == colour


def test_the_page_has_the_losses_that_a_baseline_makes_after_the_dashboard_is_shown():
    before, run = live.LoopRun("first", 9), live.LoopRun("second", 3)
    first_steps = before.steps()
    before.record(next(first_steps), 5.0, None)
    run.baseline = before
    live.show_dashboard(run)
    model = Model(run.dashboard.page)
    assert "before" not in model.state
    for step in run.steps():
        before.record(next(first_steps), 5.0 - step, None)
        run.record(step, 1.0, None)
    for state in (model.state, run.dashboard.recording()):
        np.testing.assert_array_equal(unpack(state["before"]), [5, 4, 3, 2])
    assert [unpack(run.dashboard.facts["baseline"]["losses"]), run.dashboard.facts["baseline"]["total"]] == [
        5,
        9,
    ]


def test_the_last_still_shows_the_end_and_takes_the_place_of_the_first(make, objective, published):
    run = start(make(), objective)
    run.result()
    (first, how), (last, again) = published
    assert how["display_id"] == again["display_id"] == run.dashboard.name
    assert again["update"]
    assert last["text/plain"] == repr(run.dashboard) == "<training: v4>"  # equal on every machine
    assert "untrained" in first["image/svg+xml"]
    assert "at step 12" in last["image/svg+xml"]
    assert "nats at step 12" in again["metadata"]["image/svg+xml"]["alt"]
    for data in (first, last):  # a front end that does not name its cells keeps its widgets
        shown = data["application/vnd.jupyter.widget-view+json"]
        assert shown["model_id"] == run.dashboard.root.model_id


# ---------------------------------------------------------------- errors


class Broken(NextToken):
    def loss(self, model, batch):
        raise TypeError("'<' not supported between <b> and <i>")


def test_an_error_is_named_in_the_words(make, small_corpus, published):
    run = start(make(), Broken(small_corpus, BLOCK))
    with pytest.raises(TypeError):
        run.result()
    head = run.dashboard.head()
    assert (head["state"], head["over"]) == ("failed", True)
    assert "TypeError: '<' not supported between <b>" in head["words"]
    assert "image/svg+xml" in published[-1][0]


def test_a_panel_that_fails_is_an_error_in_the_cell_that_waits_and_the_run_goes_on(
    make, objective, published
):
    def panel(frames, title, total):
        if len(frames) == 5:
            raise ZeroDivisionError("no panel")
        return levels_panel(frames, title, total)

    run = start(make(), objective, watches=[watching(panel)])
    with pytest.raises(ZeroDivisionError):
        run.result()
    assert len(run.history) == PLAN.steps
    assert run.dashboard.head()["state"] == "finished"
    assert "at step 12" in published[-1][0]["image/svg+xml"]


def test_the_page_names_a_panel_that_fails_while_a_loop_of_others_goes_on():
    def panel(frames, title, total):
        if len(frames) == 2:
            raise ZeroDivisionError("no panel")
        return levels_panel(frames, title, total)

    run = live.LoopRun("line", 4, [watching(panel, times=2)])
    run.measure_untrained(None)
    live.show_dashboard(run)
    model = Model(run.dashboard.page)
    for step in run.steps():
        run.record(step, 1.0, None)
    with pytest.raises(ZeroDivisionError):
        order(run, "pause")  # an answer to a command does not take the error away
    assert model.state["head"]["problem"] == "a panel failed: ZeroDivisionError: no panel"
    with pytest.raises(ZeroDivisionError):
        run.result()


def test_a_first_panel_that_fails_is_an_error_of_the_cell_and_nothing_trains(make, objective):
    def panel(frames, title, total):
        raise ZeroDivisionError("no panel")

    with pytest.raises(ZeroDivisionError):
        start(make(), objective, watches=[watching(panel)])
    assert Run.unfinished == []


# ---------------------------------------------------------------- memory leaks


def alive():
    """Count the objects that a run consists of, in this process, after the threads of runs have ended."""
    for thread in threading.enumerate():
        if thread.name.startswith("babygpt trainer"):
            thread.join(LONG)
            assert not thread.is_alive()
    gc.collect()
    kinds = (LanguageModel, Run, LiveOutput, DashboardWidget, torch.optim.Optimizer)
    counts = dict.fromkeys(kinds, 0)
    for kind in map(type, gc.get_objects()):
        for base in kinds:
            counts[base] += issubclass(kind, base)
    return {**counts, "threads": threading.active_count()}


@pytest.fixture
def go(make, objective, small_corpus, published, monkeypatch):
    """Run a cell of a notebook n times: a new model under a new dashboard, to its end."""
    runs = count()

    def train(n=1):
        for _ in range(n):
            cell = ("cell", str(next(runs)))
            monkeypatch.setattr("babygpt_live.view.current_cell", lambda cell=cell: cell)
            watch = explorers.heads(small_corpus.tokenizer, "ann met bob", times=3)
            run = start(make(), objective, watches=[watch])
            run.result()
            published.clear()
        return run

    return train


def test_twenty_runs_leave_no_more_than_one(go):
    run = go(5)
    before = alive()
    run = go(15)
    assert alive() == before
    assert (second := go()) is not run
    assert alive() != before  # a second run that is kept is counted
    assert second.dashboard.root.comm is not None


def test_a_run_waits_for_its_reader_nowhere(make, objective):
    """Tell from the trainer's thread, so that a cell that holds the main thread holds no message."""
    run = start(make(), objective)
    threads = []
    tell = run.dashboard.page.send_state
    run.dashboard.page.send_state = lambda parts: (
        threads.append(threading.current_thread().name),
        tell(parts),
    )
    run.result()
    assert {name.startswith("babygpt trainer") for name in threads} == {True}
