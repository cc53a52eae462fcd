"""A screen that is closed, full, or read by nobody: no reason to stop training, nor for a traceback."""

import os

import pytest

from tests.faults.harness import Faults
from tests.faults.outcome import contents
from tests.faults.table import PRINTS, TABLE, WRITES

BROKEN = {
    "closed": {"closed": [0, 1, 2]},
    "full": {"stdout": "/dev/full", "stderr": "/dev/full"},
    "unread": {"stdout": "unread", "stderr": "unread"},
    "stdout closed": {"closed": [1]},
    "stdout full": {"stdout": "/dev/full"},
    "stdout unread": {"stdout": "unread"},
    "stderr full": {"stderr": "/dev/full"},
}
ALL = ["closed", "full", "unread"]
EITHER = [how for how in BROKEN if how not in ALL]


@pytest.fixture
def broken(server, desk, tmp_path):
    """Run a command with one of these streams."""

    def run(name, how):
        reader, writer = os.pipe()
        os.close(reader)
        faults = Faults(**{key: writer if value == "unread" else value for key, value in BROKEN[how].items()})
        ended = server.run(TABLE[name].args(desk), tmp_path, TABLE[name].faults(faults))
        os.close(writer)
        return ended

    return run


@pytest.mark.parametrize("how", ALL)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.survives(
    "the screen of a command that trains is closed (>&-), full, or a pipe that nobody reads any more",
    "it goes silent, trains on and saves all that it would have saved",
)
def test_training_goes_on(broken, whole, tmp_path, name, how):
    ended = broken(name, how)
    assert ended.status == 0, ended
    assert contents(tmp_path) == whole(name).left


@pytest.mark.parametrize("how", EITHER)
@pytest.mark.parametrize("name", PRINTS)
@pytest.mark.survives(
    "what a command prints cannot be printed: its stdout is closed, full, or read by nobody",
    "no traceback; one line if it is full, silence if nobody reads",
)
def test_a_text_that_cannot_be_printed(broken, name, how):
    ended = broken(name, how)
    assert "Traceback" not in ended.err, ended
    assert "Exception" not in ended.err, ended
    if how == "stdout full":
        assert ended.status == 1
        assert "No space left" in ended.line
    else:
        assert "Error" not in ended.err
    if how == "stderr full":
        assert ended.status == 0
