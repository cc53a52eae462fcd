"""Whoever stops a command, and whenever: the same command goes on, and ends as if nobody had stopped it."""

import random

import pytest

from tests.faults.table import TABLE, TRAINS


@pytest.mark.parametrize("where", ["all", "files"])
@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.survives(
    "kill -9 at a random moment of any command that trains, also while it writes",
    "what was saved stands; the same command, to some with --resume, ends as if nothing had happened",
)
def test_killed(stopped, whole, name, where):
    """No more steps are made twice than lie between two checkpoints."""
    moment = whole(name).moment(random.Random(f"{name} {where}"), where)
    ended, steps = stopped(name, moments=[(moment, "SIGKILL")])
    assert ended.status == -9
    assert steps <= whole(name).steps + TABLE[name].every, moment


@pytest.mark.parametrize(("signal", "status"), [("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.survives(
    "the system asks a command that trains to end (SIGTERM), or its terminal goes (SIGHUP)",
    "it saves the last step that was made, says so in one line and ends; the same command goes on, "
    "compare stretch from its beginning",
)
def test_asked_to_end(stopped, whole, name, signal, status):
    """Not a step that was made whole is made again."""
    moment = whole(name).moment(random.Random(f"{name} {signal}"), "training")
    ended, steps = stopped(name, moments=[(moment, signal)])
    assert ended.status == status, ended
    assert signal in ended.line, ended
    assert steps <= whole(name).steps + TABLE[name].lost, moment


@pytest.mark.parametrize("name", ["train", "figures"])
def test_a_hang_up_under_nohup_is_not_heard(stopped, whole, name):
    moment = whole(name).moment(random.Random(name), "training")
    ended, steps = stopped(name, moments=[(moment, "SIGHUP")], ignored=["SIGHUP"])
    assert (ended.status, steps) == (0, whole(name).steps)


@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.survives(
    "Ctrl-C in training",
    "train and pretrain save and measure what was learned, the others save it and say so; all go on, "
    "compare stretch from its beginning",
)
def test_interrupted_in_training(stopped, whole, name):
    moment = whole(name).moment(random.Random(f"{name} once"), "training")
    ended, steps = stopped(name, moments=[(moment, "SIGINT")])
    assert ended.status == TABLE[name].stopped, ended
    assert steps <= whole(name).steps + TABLE[name].lost, moment


@pytest.mark.parametrize(("name", "times"), [*((name, 2) for name in TRAINS), ("train", 3)])
@pytest.mark.survives(
    "Ctrl-C twice or three times at any moment, also while it saves or measures",
    "what was learned is saved, but of the copies that compare stretch trains",
)
def test_interrupted_however_often_and_whenever(stopped, whole, name, times):
    draw = random.Random(f"{name} {times}")
    first = whole(name).moment(draw, "files" if times == 2 else "all")
    moments = [(first + draw.randint(0, 300) * i, "SIGINT") for i in range(times)]
    ended, steps = stopped(name, moments=moments)
    assert ended.status in (0, 1, 130, -2), ended
    assert steps <= whole(name).steps + TABLE[name].lost, moments
