"""A run in the background is the same run, and can be paused, stopped, steered and waited for."""

import gc
import math
import queue
import sys
import threading
import weakref
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from babygpt import live
from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.live import Watch
from babygpt.live.run import Run, State
from babygpt.live.trainer import Trainer
from babygpt.models.versions import build
from babygpt.objectives import Branches, NextToken
from babygpt.training import replay, train

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16
PLAN = TrainConfig(steps=8, batch_size=4, warmup=2, seed=0)


pytestmark = pytest.mark.usefixtures("one_thread")


class Listener:
    """A panel that only remembers the states it was told of."""

    def __init__(self, run):
        self.run, self.states, self.prepared, self.finished = run, queue.Queue(), 0, 0
        self.last = None
        run.panel = self

    def update(self, at_once):
        if at_once and self.run.state is not self.last:
            self.last = self.run.state
            self.states.put(self.last)

    def prepare(self):
        self.prepared += 1

    def finish(self, seconds):
        self.finished += 1
        return True

    def until(self, state):
        while self.states.get(timeout=LONG) is not state:
            pass

    def all(self):
        return [self.states.get_nowait() for _ in range(self.states.qsize())]


@pytest.fixture
def start():
    """Begin to train in the background; whatever is left at the end is stopped."""
    begun = []

    def begin(model, objective, plan=PLAN, title="model", watches=()):
        run = Run(model, objective, plan, title, watches)
        trainer = Trainer(run)
        Listener(run)
        begun.append((run, trainer, objective))
        trainer.start()
        return run

    yield begin
    for run, trainer, objective in begun:
        run.stop()
        if hasattr(objective, "let_go"):
            objective.let_go()
        trainer.join(LONG)
        assert not trainer.is_alive()


def curve(history):
    return [(s.step, s.loss, s.lr, s.tokens, s.val_loss, s.changed) for s in history]


def weights(model):
    return {name: p.detach().clone() for name, p in model.state_dict().items()}


def same(one, other):
    return all(torch.equal(p, other[name]) for name, p in one.items())


# ---------------------------------------------------------------- the same run


@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v4", "learned", "alibi"])
def test_a_run_in_the_background_is_the_same_run(make, objective, start, version):
    plan = TrainConfig(steps=8, batch_size=4, warmup=2, seed=0, eval_every=3)
    live, plain = make(version), make(version)
    run = start(live, objective, plan, watches=[Watch(objective.validate, lambda *_: None, times=4)])
    expected = list(train(plain, objective, plan))
    assert curve(run.result()) == curve(expected)
    assert run.state is State.FINISHED
    assert same(weights(live), weights(plain))
    for ours, theirs in zip(run.history, expected, strict=True):
        assert ours.snapshot.keys() == theirs.snapshot.keys()
        assert all(np.array_equal(ours.snapshot[name], theirs.snapshot[name]) for name in theirs.snapshot)


def test_global_random_numbers_are_neither_used_nor_set(make, objective, gated, start):
    """A cell that samples while a model trains must not change the run, nor be changed by it."""
    quiet = list(train(make(), objective, PLAN))
    before = torch.random.get_rng_state()
    run = start(make(), gated)
    for _ in range(PLAN.steps):
        gated.reach(1)
        assert torch.equal(torch.random.get_rng_state(), before)
        torch.rand(7)  # somebody else's sample
        before = torch.random.get_rng_state()
        gated.tickets.release()
    assert curve(run.result()) == curve(quiet)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_watches_look_when_they_are_due_and_change_nothing(make, objective, start):
    looks = Watch(lambda model: model.head.weight.detach().clone(), lambda *_: None, times=4)
    rarely = Watch(lambda model: 1, lambda *_: None, times=2)
    run = start(make(), objective, watches=[looks, rarely])
    history = run.result()
    assert [step for step, _ in run.frames[looks]] == [0, 2, 4, 6, 8]
    assert [step for step, _ in run.frames[rarely]] == [0, 4, 8]
    steps = train(make(), objective, PLAN)
    assert curve(history) == curve(steps)
    for step, seen in run.frames[looks]:
        model = make()
        list(islice(train(model, objective, PLAN), step))
        assert torch.equal(seen, model.head.weight)


def test_the_number_of_threads_is_what_it_was(make, objective, start, monkeypatch):
    monkeypatch.setattr("babygpt.live.run.background_threads", lambda: 2)
    seen = []

    class Looking(type(objective)):
        def loss(self, model, batch):
            seen.append(torch.get_num_threads())
            return super().loss(model, batch)

    objective.__class__ = Looking
    start(make(), objective).result()
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join(LONG)
    assert set(seen) == {2}
    assert (torch.get_num_threads(), later) == (1, [1])


def test_a_run_that_is_over_keeps_its_records_and_not_its_model(make, objective, start):
    model = make()
    ref = weakref.ref(model)
    run = start(model, objective)
    assert len(run.result()) == PLAN.steps
    del model
    for thread in threading.enumerate():
        if isinstance(thread, Trainer):
            thread.join(LONG)
    gc.collect()
    assert ref() is None


def test_a_run_says_what_it_is_and_how_far_it_came(make, objective, start):
    run = start(make(), objective, title="v4")
    run.result()
    assert repr(run) == "<v4: finished, 8 of 8 steps>"


def test_its_life_goes_from_running_to_its_end(make, objective, start):
    run = start(make(), objective)
    run.result()
    assert run.panel.all() == [State.PREPARING, State.RUNNING, State.FINISHED]
    assert (run.panel.prepared, run.panel.finished) == (1, 1)
    assert [state for state in State if state.over] == [State.STOPPED, State.FINISHED, State.FAILED]


# ---------------------------------------------------------------- pause and stop


def test_a_pause_pauses_until_it_is_over(make, objective, gated, start):
    model = make()
    run = start(model, gated)
    gated.reach(3)
    run.pause()
    gated.let_go()
    run.panel.until(State.PAUSED)
    assert len(run.history) == 3
    there = weights(model)
    assert not gated.arrived.acquire(timeout=0.3)  # no fourth batch, though there are tickets
    assert not run.wait(0.01)
    assert len(run.history) == 3
    assert same(weights(model), there)
    run.resume()
    assert curve(run.result()) == curve(train(make(), objective, PLAN))
    assert run.panel.all() == [State.RUNNING, State.FINISHED]


def test_a_pause_taken_back_in_time_is_none(make, gated, start):
    run = start(make(), gated)
    gated.reach(2)
    run.pause()
    run.resume()
    gated.let_go()
    assert len(run.result()) == PLAN.steps
    assert run.panel.all() == [State.PREPARING, State.RUNNING, State.FINISHED]


def test_a_stop_keeps_the_model_and_the_records(make, objective, gated, start):
    model, expected = make(), make()
    run = start(model, gated)
    gated.reach(4)
    run.stop()
    gated.let_go()
    history = run.result()
    assert run.state is State.STOPPED
    *first, last = islice(train(expected, objective, PLAN), 4)
    assert curve(history) == curve([*first, replace(last, val_loss=objective.validate(expected))])
    assert same(weights(model), weights(expected))
    assert history is run.history


def test_a_run_on_pause_can_be_stopped(make, gated, start):
    run = start(make(), gated)
    gated.reach(2)
    run.pause()
    gated.let_go()
    run.panel.until(State.PAUSED)
    run.stop()
    assert len(run.result()) == 2
    assert run.panel.all() == [State.STOPPED]


def test_who_presses_pause_after_stop_has_stopped(make, gated, start):
    """Both before the step on its way is over; otherwise `result()` would wait for ever."""
    run = start(make(), gated)
    gated.reach(2)
    run.stop()
    run.pause()
    gated.let_go()
    stopped = run.wait(20)
    run.resume()  # where it was not, so that the test ends
    assert stopped
    assert len(run.result()) == 2


def test_a_pause_after_the_end_changes_nothing(make, objective, start):
    run = start(make(), objective)
    run.result()
    run.pause()
    run.stop()
    assert run.state is State.FINISHED
    assert len(run.result()) == PLAN.steps


def test_a_stop_in_the_last_step_finishes_the_run(make, gated, start):
    run = start(make(), gated)
    gated.reach(PLAN.steps)
    run.stop()
    gated.let_go()
    assert len(run.result()) == PLAN.steps
    assert run.state is State.FINISHED


@pytest.mark.survives(
    "the kernel is interrupted while a cell waits for a run", "the waiting ends, the run goes on"
)
def test_who_interrupts_the_waiting_does_not_interrupt_the_run(make, gated, start, monkeypatch):
    run = start(make(), gated, title="v4")
    with monkeypatch.context() as press:
        press.setattr(run, "wait", lambda timeout: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt) as caught:
            run.result()
    (line,) = caught.value._render_traceback_()  # what IPython shows instead of a page
    assert "v4 trains on" in line
    assert run.panel.finished == 0
    gated.let_go()
    assert len(run.result()) == PLAN.steps


# ---------------------------------------------------------------- when it goes wrong


class Broken(NextToken):
    """The fourth batch has no loss."""

    def __init__(self, corpus, error):
        super().__init__(corpus, BLOCK)
        self.error, self.drawn = error, 0

    def loss(self, model, batch):
        self.drawn += 1
        if self.drawn == 4:
            raise self.error
        return super().loss(model, batch)


@pytest.mark.survives("an error in the thread that trains", "it is raised in the cell that waits for the run")
def test_an_error_in_the_objective_is_raised_where_one_waits_for_the_run(make, small_corpus, start):
    error = ZeroDivisionError("no loss")
    run = start(make(), Broken(small_corpus, error))
    with pytest.raises(ZeroDivisionError) as caught:
        run.result()
    assert caught.value is error
    assert run.error is error
    assert run.state is State.FAILED
    assert len(run.history) == 3
    assert run.panel.all() == [State.PREPARING, State.RUNNING, State.FAILED]
    assert run.panel.finished == 1  # the picture is shown all the same


def test_an_error_in_a_watch_is_raised_where_one_waits_for_the_run(make, objective, start):
    error, looked = KeyError("lost"), []

    def look(model):
        looked.append(model)
        if len(looked) == 3:
            raise error

    watch = Watch(look, lambda *_: None, times=4)
    run = start(make(), objective, watches=[watch])
    with pytest.raises(KeyError) as caught:
        run.result()
    assert caught.value is error
    assert run.state is State.FAILED
    assert len(run.history) == 4
    assert [step for step, _ in run.frames[watch]] == [0, 2]


@pytest.mark.survives(
    "a KeyboardInterrupt in a watch, or anywhere else in a thread of a run",
    "the run ends, and the cell that waits for it says so",
)
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_watch_is_told_where_one_waits_and_interrupts_nobody_else(
    make, objective, start, kind
):
    looked = []

    def look(model):
        looked.append(model)
        if len(looked) == 3:
            raise kind

    run = start(make(), objective, watches=[Watch(look, lambda *_: None, times=4)], title="v4")
    with pytest.raises(RuntimeError, match=f"{kind.__name__} while v4 trained"):
        run.result()
    assert run.state is State.FAILED


def test_an_interrupt_while_a_run_waits_for_another_ends_it_too(make, objective, gated, start, monkeypatch):
    start(make(), gated)
    gated.reach(1)

    def interrupt(run, other):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "_wait_for", interrupt)
    second = start(make(), objective)
    assert second.wait(LONG)
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        second.result()


def test_a_model_that_is_trained_elsewhere_is_an_error_where_one_waits_for_the_run(
    make, objective, gated, start
):
    model = make()
    plain = threading.Thread(target=lambda: list(train(model, gated, PLAN)))
    plain.start()
    gated.reach(2)  # it stands within a step
    run = start(model, objective)
    with pytest.raises(BadInput, match="trained in another thread"):
        run.result()
    gated.let_go()
    plain.join(LONG)
    assert not plain.is_alive()


@pytest.mark.survives(
    "a live training of a model too small for the text's vocabulary", "an error of the cell that asks for it"
)
def test_a_model_that_does_not_know_all_tokens_is_an_error_of_the_cell(objective):
    small = build("v4", ModelConfig(vocab_size=5, block_size=BLOCK, n_layer=1, n_head=2, n_embd=16))
    with pytest.raises(BadInput, match=r"vocab_size \(5\)"):
        live.train(small, objective, PLAN, "small")
    assert not [thread for thread in threading.enumerate() if isinstance(thread, Trainer)]


def test_a_watch_that_cannot_look_at_the_model_is_an_error_of_the_cell(make, objective):
    def look(model):
        raise ValueError("has no attention")

    with pytest.raises(ValueError, match="has no attention"):
        live.train(make("v1"), objective, PLAN, "v1", watches=[Watch(look, lambda *_: None)])
    assert not [thread for thread in threading.enumerate() if isinstance(thread, Trainer)]


def test_a_model_that_is_training_is_not_looked_at_from_outside(make, gated, small_corpus, monkeypatch):
    """Its second run waits, and so must the first look: it sees the model as the first run left it."""
    monkeypatch.setattr(sys.modules["babygpt.live.trainer"], "display", lambda _: None)
    model, gate = make(), gated
    watch = Watch(lambda m: (threading.current_thread(), m.head.weight.detach().clone()), lambda *_: None)
    first = live.train(model, gate, PLAN, "first")
    gate.reach(3)
    second = live.train(model, NextToken(small_corpus, BLOCK), PLAN, "second", watches=[watch])
    assert second.frames[watch] == []
    gate.let_go()
    first.wait(LONG)
    second.wait(LONG)
    looked_in, seen = second.frames[watch][0][1]
    assert isinstance(looked_in, Trainer)
    again = make()
    list(train(again, NextToken(small_corpus, BLOCK), PLAN))
    assert torch.equal(seen, again.head.weight)


@pytest.mark.survives(
    "a learning rate so high that the loss becomes nan", "the run ends at that step, and says what to try"
)
def test_a_loss_that_is_not_finite_says_what_to_try(make, objective, start):
    run = start(make(), objective, TrainConfig(steps=20, lr_other=1e30, lr_matrix=1e30, warmup=0))
    with pytest.raises(FloatingPointError, match="lr_matrix"):
        run.result()


def test_after_an_error_the_number_of_threads_is_what_it_was(make, small_corpus, start, monkeypatch):
    monkeypatch.setattr("babygpt.live.run.background_threads", lambda: 2)
    run = start(make(), Broken(small_corpus, ValueError()))
    assert run.wait(LONG)
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join(LONG)
    assert later == [1]


# ---------------------------------------------------------------- one at a time


def test_a_second_run_waits_for_the_first_and_then_trains(make, objective, gated, start):
    model = make()
    first = start(make(), gated)
    gated.reach(2)
    second = start(model, objective)
    assert not second.wait(0.3)
    assert second.state is State.WAITING
    assert second.history == []
    gated.let_go()
    assert len(first.result()) == PLAN.steps
    assert curve(second.result()) == curve(train(make(), objective, PLAN))


def test_a_second_run_trains_when_the_first_was_stopped_or_failed(make, small_corpus, gated, start):
    first = start(make(), gated)
    gated.reach(2)
    broken = start(make(), Broken(small_corpus, ValueError()))
    third = start(make(), NextToken(small_corpus, BLOCK))
    first.stop()
    gated.let_go()
    assert len(third.result()) == PLAN.steps
    assert (first.state, broken.state, third.state) == (State.STOPPED, State.FAILED, State.FINISHED)


def test_a_run_that_waits_can_be_stopped_and_has_made_no_step(make, gated, start):
    model = make()
    before = weights(model)
    first = start(make(), gated)
    gated.reach(2)
    second = start(model, gated)
    second.stop()
    assert second.result() == []
    assert second.state is State.STOPPED
    assert second.panel.all() == [State.STOPPED]
    assert same(weights(model), before)
    assert first.state is State.RUNNING
    gated.let_go()
    assert len(first.result()) == PLAN.steps


def test_a_pause_of_a_run_that_waits_does_not_keep_it_from_training(make, objective, gated, start):
    start(make(), gated)
    gated.reach(2)
    second = start(make(), objective)
    second.pause()
    gated.let_go()
    assert len(second.result()) == PLAN.steps


@pytest.mark.survives("four runs started at once", "they train one after the other")
def test_no_two_runs_train_at_the_same_time(make, small_corpus, start):
    count, at_work, most, order = threading.Lock(), [0], [0], []

    class Counting(NextToken):
        def loss(self, model, batch):
            with count:
                at_work[0] += 1
                most[0] = max(most[0], at_work[0])
                order.append(id(self))
            try:
                torch.randn(200, 200, generator=torch.Generator()).mm(torch.ones(200, 200))
                return super().loss(model, batch)
            finally:
                with count:
                    at_work[0] -= 1

    objectives = [Counting(small_corpus, BLOCK) for _ in range(4)]
    runs = [start(make(), each) for each in objectives]
    for run in runs:
        assert len(run.result()) == PLAN.steps
    assert most == [1]
    assert order == [id(each) for each in objectives for _ in range(PLAN.steps)]  # first come, first served


def test_a_trainer_that_is_just_ending_is_nobody_to_wait_for(make, objective, start, monkeypatch):
    """Its run is over, the thread not quite: so it is right after `result()`."""
    start(make(), objective).result()
    ended = Trainer(Run(make(), objective, PLAN, "model"))
    ended.watched_run.stop()
    ended.start()
    ended.join(LONG)
    monkeypatch.setattr("babygpt.live.trainer.threading.enumerate", lambda: [ended])
    assert Trainer(Run(make(), objective, PLAN, "model")).earlier == []


# ---------------------------------------------------------------- steering


@pytest.fixture
def listening(listen):
    return listen("steepness")


def test_a_number_that_is_steered_holds_from_a_later_step_on(make, listening, start):
    run = start(make("alibi"), listening)
    listening.reach(3)
    run.steer("steepness", 2.0)
    run.steer("steepness", 3.0)  # a slider passes many values; the last one counts
    listening.let_go()
    history = run.result()
    assert listening.heard == [1, 1, 1, 3, 3, 3, 3, 3]
    assert [step.changed for step in history] == [{}, {}, {}, {"steepness": 3.0}, {}, {}, {}, {}]


@pytest.mark.parametrize(("version", "name", "value"), [("alibi", "steepness", 9.0), ("v4", "theta", 3.0)])
def test_a_steered_run_can_be_repeated_to_the_last_bit(make, objective, listen, start, version, name, value):
    model, again = make(version), make(version)
    listening = listen(name)
    run = start(model, listening)
    listening.reach(2)
    run.steer(name, value)
    listening.tickets.release()
    listening.reach(3)
    run.steer(name, value / 2)
    listening.let_go()
    history = run.result()
    assert [s.step for s in history if s.changed] == [3, 6]
    assert curve(train(again, objective, PLAN, replay(history))) == curve(history)
    assert same(weights(again), weights(model))
    plain = list(train(make(version), objective, PLAN))
    assert [s.loss for s in plain[:2]] == [s.loss for s in history[:2]]
    assert plain[-1].loss != history[-1].loss


def test_what_was_steered_while_a_run_waited_holds_from_its_first_step(make, gated, listening, start):
    start(make(), gated)
    gated.reach(1)
    second = start(make("alibi"), listening)
    second.steer("steepness", 5.0)
    gated.let_go()
    listening.let_go()
    assert second.result()[0].changed == {"steepness": 5.0}
    assert set(listening.heard) == {5.0}


WRONG = [math.nan, math.inf, 1e13, 10**5000, "500", None, True, [1.0], 1j]


@pytest.mark.survives(
    "a running model steered by a wrong name or value", "an error of the cell that steers; the run goes on"
)
@pytest.mark.parametrize("version", ["v3", "v4", "v5", "v5-absolute", "alibi"])
def test_what_cannot_be_steered_is_an_error_of_who_asks_and_the_run_goes_on(
    make, objective, gated, start, version
):
    run, model = start(make(version), gated), make(version)
    gated.reach(2)
    for name in model.encoding.steerable():
        for value in WRONG:
            with pytest.raises(BadInput, match=name):
                run.steer(name, value)
    with pytest.raises(BadInput, match="no number called 'thetta'"):
        run.steer("thetta", 500.0)
    gated.let_go()
    assert curve(run.result()) == curve(train(model, objective, PLAN))
    run.steer("thetta", math.nan)  # over: nobody hears it


@pytest.mark.parametrize(("most", "stride"), [((1, 8), 4682), ((2, 2), 32768)])
def test_a_stride_that_would_leave_a_text_without_a_row_is_an_error_of_who_asks(
    make, small_corpus, start, most, stride
):
    run = Run(make("v6"), Branches(small_corpus, BLOCK, most, length=4), PLAN, "v6")
    with pytest.raises(BadInput, match=rf"stride \({stride}\).* branch {most[1] - 1} would have no row"):
        run.steer("stride", stride)
    run.steer("stride", stride - 1)
    run.train_after([])
    assert run.history[0].changed == {"stride": stride - 1}
    assert run.state is State.FINISHED


def test_a_turn_is_measured_at_once(make, gated, start):
    """The watch is due before the first step and after the last; the turn before the fourth adds a look."""
    watch = Watch(lambda model: model.encoding.theta, lambda *_: None, times=1)
    run = start(make("v4"), gated, watches=[watch])
    gated.reach(3)
    run.steer("theta", 500.0)
    gated.let_go()
    run.result()
    assert run.frames[watch] == [(0, 10_000.0), (4, 500.0), (8, 500.0)]


def test_who_waits_for_a_step_goes_on_when_it_is_made_or_the_run_is_over(make, gated, start):
    run = start(make(), gated)
    gated.reach(4)
    run.wait_for_step(3)
    assert len(run.history) == 3
    gated.let_go()
    run.wait_for_step(1000)
    assert run.state is State.FINISHED
