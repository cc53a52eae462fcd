"""While a run trains and is drawn, the reader's own figures and settings are what they are without one."""

import time
from io import BytesIO

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from babygpt import live
from babygpt.config import TrainConfig

FIGURES = 40
OFTEN = 10  # pictures of the run, at least, while the reader draws


def bars(ax, draw):
    ax.bar(list("abc"), draw.random(3))
    ax.set_title("bars")


def curves(ax, draw):
    for i in range(3):
        ax.plot(draw.random(200).cumsum(), "-o"[i % 2], label=f"curve {i}")
    ax.legend()


def matrix(ax, draw):
    ax.figure.colorbar(ax.imshow(draw.random((6, 6)) - 0.5), ax=ax)


def cloud(ax, draw):
    ax.scatter(*draw.random((2, 50)), c=draw.random(50))
    ax.set_xlabel("$x^2$")
    ax.annotate("here", (0.5, 0.5), (0.1, 0.9), arrowprops={"arrowstyle": "->"})


def counts(ax, draw):
    ax.hist(draw.standard_normal(100), hatch="/")
    ax.set_yscale("log")


KINDS = (bars, curves, matrix, cloud, counts)


def readers_figure(number):
    """The pixels of one of many different figures, drawn as people do: with pyplot, into a file."""
    figure, ax = plt.subplots(figsize=(1 + number % 2, 1), dpi=50)
    KINDS[number % len(KINDS)](ax, np.random.default_rng(number))
    file = BytesIO()
    figure.savefig(file, format="raw")
    plt.close(figure)
    return file.getvalue()


@pytest.fixture
def painted(monkeypatch, make, gated):
    """A list that grows with every picture of a run, which is drawn again as soon as it is drawn."""
    monkeypatch.setattr("babygpt.live.trainer.display", lambda view: None)
    watch = live.Watch(lambda model: np.eye(5), lambda ax, frames, *_: ax.imshow(frames[-1][1]), times=1)
    run = live.train(make(), gated, TrainConfig(steps=8, batch_size=4), "v4", watches=[watch])
    gated.reach(4)
    pictures, refresh = [], run.panel.refresh

    def refresh_again():
        refresh()
        pictures.append(run.panel.image.value)
        time.sleep(0.01)  # the reader's turn
        run.panel.painter.wake()

    with monkeypatch.context() as busy:
        busy.setattr(run.panel, "refresh", refresh_again)
        run.panel.painter.wake()
        yield pictures
    gated.let_go()
    assert len(run.result()) == 8


@pytest.fixture(scope="module")
def alone():
    """The reader's figures without any run."""
    return [readers_figure(number) for number in range(FIGURES)]


@pytest.mark.survives(
    "figures of your own, drawn while a run trains", "each is pixel for pixel what it is without the run"
)
def test_a_readers_figures_are_what_they_are_without_a_run(alone, painted):
    number = 0
    while number < FIGURES or len(painted) < OFTEN:
        assert readers_figure(number % FIGURES) == alone[number % FIGURES], number
        number += 1


@pytest.mark.survives("Matplotlib's settings changed while a run trains", "they stay as you set them")
def test_a_readers_settings_stay_while_a_run_is_drawn(painted):
    before = dict(matplotlib.rcParams)
    size = 0
    with matplotlib.rc_context():
        while len(painted) < OFTEN:
            size = size % 30 + 1
            matplotlib.rcParams["font.size"] = size
            assert dict(matplotlib.rcParams) == {**before, "font.size": size}
