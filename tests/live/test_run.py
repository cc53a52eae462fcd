"""A run in the background is the same run, and can be paused, stopped, steered and waited for."""

import gc
import math
import sys
import threading
import weakref
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import babygpt_live as live
from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.objectives import Branches, NextToken
from babygpt.training import replay, train
from babygpt_course import explorers
from babygpt_live import Watch
from babygpt_live.run import Run, State

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16
PLAN = TrainConfig(steps=8, batch_size=4, warmup=2, seed=0)

pytestmark = pytest.mark.usefixtures("one_thread")


class Listener:
    """Dashboard that only remembers the states of its run."""

    def __init__(self, run):
        self.run, self.states, self.change = run, [], threading.Condition()
        run.dashboard = self
        run.listeners.append(self.update)

    def update(self, at_once):
        with self.change:
            if self.states[-1:] != [self.run.state]:
                self.states.append(self.run.state)
                self.change.notify_all()

    def wait_for(self, state):
        with self.change:
            assert self.change.wait_for(lambda: state in self.states, LONG)


@pytest.fixture
def start():
    """Train in the background; stop unfinished runs at the end."""
    begun = []

    def begin(model, objective, plan=PLAN, title="model", watches=()):
        run = Run(model, objective, plan, title, watches)
        Listener(run)
        begun.append((run, objective))
        run.start_after(list(Run.unfinished))
        return run

    yield begin
    for run, objective in begun:
        run.stop()
        if hasattr(objective, "let_go"):
            objective.let_go()
        assert run.wait(LONG)


def curve(history):
    return [(s.step, s.loss, s.lr, s.tokens, s.val_loss, s.changed) for s in history]


def weights(model):
    return {name: p.detach().clone() for name, p in model.state_dict().items()}


def same(state, twin):
    return all(torch.equal(p, twin[name]) for name, p in state.items())


# ---------------------------------------------------------------- equality with `train`


@pytest.mark.parametrize("version", ["v2", "v4"])
def test_a_background_run_equals_a_run_in_the_foreground(make, objective, start, version):
    plan = replace(PLAN, eval_every=3)
    in_background, plain = make(version), make(version)
    run = start(in_background, objective, plan, watches=[Watch(objective.validate, lambda *_: None, times=4)])
    expected = list(train(plain, objective, plan))
    assert curve(run.result()) == curve(expected)
    assert same(weights(in_background), weights(plain))
    for ours, theirs in zip(run.history, expected, strict=True):
        assert ours.snapshot.keys() == theirs.snapshot.keys()
        assert all(np.array_equal(ours.snapshot[name], theirs.snapshot[name]) for name in theirs.snapshot)


def test_watches_measure_when_they_are_due_and_change_nothing(make, objective, start):
    often = Watch(lambda model: model.head.weight.detach().clone(), lambda *_: None, times=4)
    rarely = Watch(lambda model: 1, lambda *_: None, times=2)
    run = start(make(), objective, watches=[often, rarely])
    history = run.result()
    assert [step for step, _ in run.frames[often]] == [0, 2, 4, 6, 8]
    assert [step for step, _ in run.frames[rarely]] == [0, 4, 8]
    assert curve(history) == curve(train(make(), objective, PLAN))
    for step, weight in run.frames[often]:
        model = make()
        list(islice(train(model, objective, PLAN), step))
        assert torch.equal(weight, model.head.weight)


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_takes_half_the_cores_and_gives_them_back(make, small_corpus, start, monkeypatch, fails):
    monkeypatch.setattr("babygpt_live.run.cpu_count", lambda: 4)
    torch.set_num_threads(3)
    thread_counts = set()

    class Looking(NextToken):
        def loss(self, model, batch):
            thread_counts.add(torch.get_num_threads())
            if fails:
                raise ValueError
            return super().loss(model, batch)

    assert start(make(), Looking(small_corpus, BLOCK)).wait(LONG)
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join(LONG)
    assert thread_counts == {2}
    assert (torch.get_num_threads(), later) == (3, [3])


def test_a_run_that_is_over_keeps_its_records_and_not_its_model(make, objective, start):
    model = make()
    ref = weakref.ref(model)
    run = start(model, objective, title="v4")
    assert len(run.result()) == PLAN.steps
    assert repr(run) == "<v4: finished, 8 of 8 steps>"
    assert run.dashboard.states == [State.PREPARING, State.RUNNING, State.FINISHED]
    del model
    for thread in threading.enumerate():
        if thread.name.startswith("babygpt trainer"):
            thread.join(LONG)
    gc.collect()
    assert ref() is None


# ---------------------------------------------------------------- pause, stop, wait


def test_a_paused_run_makes_no_step_until_it_is_resumed(make, objective, gated, start):
    model = make()
    run = start(model, gated)
    gated.reach(3)
    run.pause()
    gated.let_go()
    run.dashboard.wait_for(State.PAUSED)
    assert len(run.history) == 3
    before = weights(model)
    assert not gated.arrived.acquire(timeout=0.2)  # no fourth batch, though there are tickets
    assert not run.wait(0.01)
    assert same(weights(model), before)
    run.resume()
    assert curve(run.result()) == curve(train(make(), objective, PLAN))
    assert run.dashboard.states[2:] == [State.PAUSED, State.RUNNING, State.FINISHED]


def test_a_stopped_run_keeps_the_model_and_the_records(make, objective, gated, start):
    model, expected = make(), make()
    run = start(model, gated)
    gated.reach(4)
    run.stop()
    run.pause()  # too late: else `result` would wait for ever
    gated.let_go()
    history = run.result()
    assert run.state is State.STOPPED
    *first, last = islice(train(expected, objective, PLAN), 4)
    assert curve(history) == curve([*first, replace(last, val_loss=objective.validate(expected))])
    assert same(weights(model), weights(expected))


def test_an_interrupt_of_the_waiting_does_not_interrupt_the_run(make, gated, start, monkeypatch):
    run = start(make(), gated, title="v4")
    with monkeypatch.context() as press:
        press.setattr(run, "wait", lambda timeout: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt) as caught:
            run.result()
    (line,) = caught.value._render_traceback_()  # IPython shows it instead of a traceback
    assert "v4 trains on" in line
    gated.let_go()
    assert len(run.result()) == PLAN.steps


# ---------------------------------------------------------------- errors


class Broken(NextToken):
    """Objective whose fourth batch has no loss."""

    def __init__(self, corpus, error):
        super().__init__(corpus, BLOCK)
        self.error, self.drawn = error, 0

    def loss(self, model, batch):
        self.drawn += 1
        if self.drawn == 4:
            raise self.error
        return super().loss(model, batch)


def test_an_error_in_the_objective_is_raised_in_the_cell_that_waits(make, small_corpus, start):
    error = ZeroDivisionError("no loss")
    run = start(make(), Broken(small_corpus, error))
    with pytest.raises(ZeroDivisionError) as caught:
        run.result()
    assert caught.value is run.error is error
    assert len(run.history) == 3
    assert run.dashboard.states == [State.PREPARING, State.RUNNING, State.FAILED]


def test_a_model_or_watch_that_does_not_fit_is_an_error_of_the_cell(make, objective, small_corpus):
    small = build("v4", ModelConfig(vocab_size=5, block_size=BLOCK, n_layer=1, n_head=2, n_embd=16))
    with pytest.raises(BadInput, match=r"vocab_size \(5\)"):
        live.train(small, objective, PLAN, "small")
    heads = explorers.heads(small_corpus.tokenizer, "ann")
    with pytest.raises(BadInput, match="has no attention"):
        live.train(make("v1"), objective, PLAN, "v1", watches=[heads])
    assert Run.unfinished == []


def test_a_model_in_training_is_not_measured_from_outside(make, gated, objective, monkeypatch):
    """Let its second run and its first measurement wait for the model that the first run leaves."""
    monkeypatch.setattr(sys.modules["babygpt_live.dashboard"], "display", lambda _: None)
    model = make()
    watch = Watch(lambda m: (threading.current_thread(), m.head.weight.detach().clone()), lambda *_: None)
    first = live.train(model, gated, PLAN, "first")
    gated.reach(3)
    second = live.train(model, objective, PLAN, "second", watches=[watch])
    assert second.frames[watch] == []
    gated.let_go()
    assert first.wait(LONG)
    assert second.wait(LONG)
    measured_in, weight = second.frames[watch][0][1]
    assert measured_in.name == "babygpt trainer second"
    again = make()
    list(train(again, objective, PLAN))
    assert torch.equal(weight, again.head.weight)


# ---------------------------------------------------------------- one run at a time


def test_no_two_runs_train_at_the_same_time(make, small_corpus, gated, start):
    """Include a run after one that was stopped, and after one that failed."""
    order = []

    class Counting(NextToken):
        def loss(self, model, batch):
            order.append(id(self))
            return super().loss(model, batch)

    first = start(make(), gated)
    gated.reach(2)
    broken = start(make(), Broken(small_corpus, ValueError()))
    objectives = [Counting(small_corpus, BLOCK) for _ in range(2)]
    runs = [start(make(), each) for each in objectives]
    runs[1].pause()  # has no effect while it waits
    assert not runs[1].wait(0.1)
    assert [run.state for run in (broken, *runs)] == 3 * [State.WAITING]
    first.stop()
    gated.let_go()
    assert [len(run.result()) for run in runs] == 2 * [PLAN.steps]
    assert (first.state, broken.state) == (State.STOPPED, State.FAILED)
    assert order == [id(each) for each in objectives for _ in range(PLAN.steps)]  # first come, first served


def test_a_waiting_run_can_be_stopped_and_has_one_record_of_the_untrained_model(make, gated, start):
    model = make()
    before = weights(model)
    first = start(make(), gated)
    gated.reach(2)
    second = start(model, gated)
    second.stop()
    (record,) = second.result()
    assert (record.step, len(second.history)) == (0, 0)
    assert record.val_loss == pytest.approx(math.log(model.config.vocab_size), abs=0.5)
    assert second.dashboard.states == [State.STOPPED]
    assert same(weights(model), before)
    assert first.state is State.RUNNING


# ---------------------------------------------------------------- steering


@pytest.mark.parametrize(("version", "name", "value"), [("alibi", "steepness", 9.0), ("v4", "theta", 3.0)])
def test_a_steered_number_holds_from_the_next_step_and_the_run_can_be_repeated(
    make, objective, gated, start, version, name, value
):
    model, again = make(version), make(version)
    gated.name, first = name, getattr(model.encoding, name)
    run = start(model, gated)
    gated.reach(2)
    run.steer(name, 7.0)  # a slider passes many values; the last one counts
    run.steer(name, value)
    gated.tickets.release()
    gated.reach(3)
    run.steer(name, value / 2)
    gated.let_go()
    history = run.result()
    assert gated.heard == 2 * [first] + 3 * [value] + 3 * [value / 2]
    assert {s.step: s.changed for s in history if s.changed} == {3: {name: value}, 6: {name: value / 2}}
    assert curve(train(again, objective, PLAN, replay(history))) == curve(history)
    assert same(weights(again), weights(model))


def test_an_impossible_steering_is_an_error_of_the_cell_and_the_run_goes_on(make, objective, gated, start):
    run, model = start(make("v5"), gated), make("v5")
    gated.reach(2)
    for name in model.encoding.steerable():
        with pytest.raises(BadInput, match=name):
            run.steer(name, math.nan)
    with pytest.raises(BadInput, match="no number called 'thetta'"):
        run.steer("thetta", 500.0)
    gated.let_go()
    assert curve(run.result()) == curve(train(model, objective, PLAN))
    run.steer("thetta", math.nan)  # the run is over: no effect


@pytest.mark.parametrize(("most", "stride"), [((1, 8), 4682), ((2, 2), 32768)])
def test_a_stride_that_leaves_a_text_without_a_row_is_an_error_of_the_cell(make, small_corpus, most, stride):
    run = Run(make("v6"), Branches(small_corpus, BLOCK, most, length=4), PLAN, "v6")
    with pytest.raises(BadInput, match=rf"stride \({stride}\).* branch {most[1] - 1} would have no row"):
        run.steer("stride", stride)
    run.steer("stride", stride - 1)
    run.train_after([])
    assert run.history[0].changed == {"stride": stride - 1}
    assert run.state is State.FINISHED


def test_the_watches_measure_a_steered_model_at_once(make, gated, start):
    watch = Watch(lambda model: model.encoding.theta, lambda *_: None, times=1)  # due at first and at last
    run = start(make("v4"), gated, watches=[watch])
    gated.reach(3)
    run.steer("theta", 500.0)
    gated.let_go()
    run.result()
    assert run.frames[watch] == [(0, 10_000.0), (4, 500.0), (8, 500.0)]


# ---------------------------------------------------------------- loops of others


def test_a_loop_records_its_steps_in_their_order_and_no_more_than_planned():
    run = live.LoopRun("line", 2)
    with pytest.raises(BadInput, match=r"line cannot record step 2: step 1 of 2 comes next"):
        run.record(2, 1.0, None)
    for step in run.steps():
        run.record(step, 0.5 * step, None)
    assert [(record.step, record.loss) for record in run.history] == [(1, 0.5), (2, 1.0)]
    with pytest.raises(BadInput, match=r"step 3: no step of 2 comes next"):
        run.record(3, 1.0, None)
    with pytest.raises(BadInput, match="no number 'theta'"):
        run.steer("theta", 1.0)
    assert (run.state, run.wait(0)) == (State.FINISHED, True)


def test_the_first_loss_is_told_at_once_and_later_ones_as_they_are_due():
    run, notes = live.LoopRun("line", 3), []
    run.listeners.append(lambda at_once: notes.append((len(run.history), at_once)))
    for step in run.steps():
        run.record(step, 1.0, None)
    assert notes == [(0, True), (1, True), (2, False), (3, False), (3, True)]


def test_a_loop_waits_through_a_pause_and_ends_before_its_next_step():
    run, steps = live.LoopRun("line", 9, [Watch(lambda model: model, lambda *_: None, times=3)]), []
    listener = Listener(run)

    def loop():
        run.measure_untrained("untrained")
        for step in run.steps():
            run.record(step, 1.0, f"after {step}")
            steps.append(step)
            if step == 4:
                run.pause()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    listener.wait_for(State.PAUSED)
    assert steps == [1, 2, 3, 4]
    run.stop()
    assert run.wait(LONG)
    thread.join(LONG)
    assert listener.states == [State.RUNNING, State.PAUSED, State.STOPPED]
    assert list(run.frames.values()) == [[(0, "untrained"), (3, "after 3")]]
    assert steps == [1, 2, 3, 4]


def test_a_started_loop_that_raises_fails_and_result_raises_its_error():
    run = live.LoopRun("line", 9)
    listener = Listener(run)

    def loop(run, model):
        for step in run.steps():
            run.record(step, 1 / (3 - step), model)  # no third step

    run.start(loop, None)
    with pytest.raises(ZeroDivisionError) as caught:
        run.result()
    assert caught.value is run.error
    assert listener.states == [State.RUNNING, State.FAILED]
    assert len(run.history) == 2
    with pytest.raises(BadInput, match="line has begun: make a new LoopRun"):
        run.start(loop, None)


@pytest.mark.parametrize(("last", "state"), [(4, State.STOPPED), (9, State.FINISHED)])
def test_a_started_loop_is_over_when_it_returns(last, state):
    run, saved = live.LoopRun("line", 9), threading.Event()

    def loop(run, model):
        for step in run.steps():
            run.record(step, 1.0, model)
            if step == last:
                break
        assert saved.wait(LONG)

    run.start(loop, None)
    run.wait_for_step(last)
    assert not run.wait(0.05)
    assert run.state is State.RUNNING
    saved.set()
    assert len(run.result()) == last
    assert run.state is state


def test_a_loop_gets_the_last_value_of_each_number_that_was_steered():
    run = live.LoopRun(
        "line", 3, [Watch(lambda model: 1, lambda *_: None, times=1)], numbers=["rate", "decay"]
    )
    for step in run.steps():
        if step == 2:
            for name, value in (("rate", 0.1), ("decay", 1), ("rate", 0.2)):
                run.steer(name, value)
        run.record(step, 1.0, None, run.steering())
    assert [record.changed for record in run.history] == [{}, {"rate": 0.2, "decay": 1}, {}]
    assert run.steered == {"rate": 0.2, "decay": 1}
    assert [[step for step, _ in frames] for frames in run.frames.values()] == [[2, 3]]
    for value in (math.nan, math.inf):
        with pytest.raises(BadInput, match=r"rate .* must be finite"):
            run.steer("rate", value)
    with pytest.raises(BadInput, match="no number 'theta' to set; it has rate, decay"):
        run.steer("theta", 1.0)
    with pytest.raises(BadInput, match="no number 'theta'"):
        live.show_dashboard(run, controls=[live.Slider("theta", 1, 0, 2)])


def test_pauses_of_a_loop_do_not_count_as_training(monkeypatch):
    run, now = live.LoopRun("line", 2), [100.0]
    monkeypatch.setattr("babygpt_live.run.time", SimpleNamespace(monotonic=lambda: now[0]))

    def resume_later():
        now[0] += 3600.0

    for step in run.steps():
        now[0] += 2.0
        run.record(step, 1.0, None)
        run.pause()
        monkeypatch.setattr(run._going, "wait", resume_later)
    assert [record.seconds for record in run.history] == [2.0, 4.0]
