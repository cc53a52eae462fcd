"""One thread paints, for all who ask, and is gone when there is nothing to paint."""

import threading

import pytest

from babygpt.live.painter import Painter

LONG = 60  # seconds; nothing here takes that long unless it hangs


class Easel:
    """A painting that takes as long as the test wants, and remembers what was true when it began."""

    def __init__(self):
        self.truth, self.painted, self.threads = 0, [], []
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.lock, self.at_work, self.most = threading.Lock(), 0, 0
        self.rests = 0
        self.painter = Painter(self.paint, self.on_idle)

    def on_idle(self):
        self.rests += 1

    def paint(self):
        with self.lock:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        self.threads.append(threading.current_thread())
        self.painted.append(self.truth)
        self.begun.release()
        assert self.may_end.wait(LONG)
        with self.lock:
            self.at_work -= 1


@pytest.fixture
def easel():
    easel = Easel()
    yield easel
    easel.may_end.set()
    assert easel.painter.wait(LONG)


def test_nothing_is_painted_that_nobody_asked_for(easel):
    assert easel.painter.wait(LONG)
    assert easel.painted == []
    assert easel.painter.thread is None


def test_a_wake_returns_while_the_painting_goes_on(easel):
    easel.painter.wake()
    assert easel.begun.acquire(timeout=LONG)
    assert easel.threads != [threading.current_thread()]
    assert not easel.painter.wait(timeout=0.01)


def test_wakes_that_pile_up_are_one_painting_that_begins_after_the_last(easel):
    easel.painter.wake()
    assert easel.begun.acquire(timeout=LONG)  # the first painting has begun and waits
    for easel.truth in range(1, 101):
        easel.painter.wake()
    easel.may_end.set()
    assert easel.painter.wait(LONG)
    assert easel.painted == [0, 100]


def test_no_painting_begins_while_another_is_at_work(easel):
    easel.painter.wake()
    assert easel.begun.acquire(timeout=LONG)
    for _ in range(20):
        easel.painter.wake()
    assert not easel.begun.acquire(timeout=0.3)
    easel.may_end.set()
    assert easel.painter.wait(LONG)
    assert easel.most == 1


def test_who_rests_waits_for_what_was_asked_during_a_painting(easel):
    easel.painter.wake()
    assert easel.begun.acquire(timeout=LONG)
    easel.truth = 1
    easel.painter.wake()
    easel.may_end.set()
    assert easel.painter.wait(LONG)
    assert easel.painted[-1] == 1


def test_after_a_quiet_moment_no_thread_is_left(easel):
    easel.may_end.set()
    for n in range(1, 4):
        easel.painter.wake()
        assert easel.painter.wait(LONG)
        easel.threads[-1].join(LONG)
        assert easel.painter.thread is None
        assert easel.rests == n
    assert len(easel.painted) == len(set(easel.threads)) == 3


def test_between_wakes_that_follow_each_other_nobody_rests(easel, monkeypatch):
    monkeypatch.setattr("babygpt.live.painter.IDLE_SECONDS", LONG)
    easel.may_end.set()
    for _ in range(5):
        easel.painter.wake()
        assert easel.painter.wait(LONG)
    assert len(set(easel.threads)) == 1
    assert easel.rests == 0
    monkeypatch.setattr("babygpt.live.painter.IDLE_SECONDS", 0.01)
    easel.painter.wake()


def test_a_wake_while_it_comes_to_rest_is_painted(easel):
    easel.may_end.set()

    def wake_once():
        if easel.truth == 0:
            easel.truth = 1
            easel.painter.wake()

    easel.painter.on_idle = wake_once
    easel.painter.wake()
    easel.begun.acquire(timeout=LONG)
    assert easel.begun.acquire(timeout=LONG)
    assert easel.painter.wait(LONG)
    assert easel.painted == [0, 1]


def test_a_painter_at_work_does_not_keep_python_from_ending(easel):
    easel.painter.wake()
    assert easel.begun.acquire(timeout=LONG)
    assert easel.threads[0].daemon


def test_a_wake_from_within_a_painting_asks_for_another(easel):
    easel.may_end.set()
    paint = easel.paint

    def paint_twice():
        if not easel.painted:
            easel.painter.wake()
        paint()

    easel.painter.paint = paint_twice
    easel.painter.wake()
    assert easel.painter.wait(LONG)
    assert len(easel.painted) == 2


@pytest.mark.survives("two hundred slider moves from several threads", "the picture is that of the last one")
def test_two_hundred_wakes_from_several_threads_end_with_the_last_value(easel):
    easel.may_end.set()
    begin = threading.Barrier(5)

    def move():
        begin.wait(LONG)
        for _ in range(40):
            with easel.lock:
                easel.truth += 1
            easel.painter.wake()

    movers = [threading.Thread(target=move) for _ in range(5)]
    for mover in movers:
        mover.start()
    for mover in movers:
        mover.join(LONG)
    assert easel.painter.wait(LONG)
    assert easel.painted[-1] == 200
    assert easel.painted == sorted(easel.painted)
    assert easel.most == 1
    assert len(easel.painted) <= 201


@pytest.mark.parametrize("where", ["paint", "on_idle"])
def test_nobody_waits_for_ever_for_a_painter_that_is_gone(where, monkeypatch):
    gone = []
    monkeypatch.setattr(threading, "excepthook", lambda told: gone.append(told.exc_type))

    def fail():
        raise KeyboardInterrupt

    painter = Painter(**{"paint": lambda: None, "on_idle": lambda: None} | {where: fail})
    for _ in range(2):  # and the next wake finds another one
        painter.wake()
        assert painter.wait(LONG)
        for thread in threading.enumerate():
            if thread.name == "babygpt painter":
                thread.join(LONG)
    assert gone == 2 * [KeyboardInterrupt]
    assert isinstance(painter.error, KeyboardInterrupt)


def test_nobody_waits_for_a_painter_that_could_not_begin(easel, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(
            threading.Thread, "start", lambda thread: (_ for _ in ()).throw(RuntimeError("no thread"))
        )
        with pytest.raises(RuntimeError, match="no thread"):
            easel.painter.wake()
    assert easel.painter.wait(LONG)
    easel.may_end.set()
    easel.painter.wake()  # as soon as there can be one
    assert easel.painter.wait(LONG)
    assert easel.painted == [0]
    assert easel.painter.error is None
