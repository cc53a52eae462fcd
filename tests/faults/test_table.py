"""Every command has its row in the table, and does what the row says."""

import pytest

from tests.faults.harness import Faults, fresh
from tests.faults.outcome import contents, done
from tests.faults.table import TABLE, leaves


def test_every_command_of_the_shell_has_a_row():
    """A new command is tested by being there: say in the table how it is called small."""
    rows = [f"{command.words} " for command in TABLE.values()]
    assert [name for name in leaves() if not any(row.startswith(f"{name} ") for row in rows)] == []


@pytest.mark.parametrize("name", TABLE)
def test_a_row_says_what_a_command_writes_and_how_long_it_trains(whole, name):
    command, found = TABLE[name], whole(name)
    assert found.steps == command.steps * command.models
    assert bool(found.left) == bool(command.out)
    if command.out:
        assert command.file.as_posix() in found.left
    assert found.strangers == []  # no locks, and nothing half-written


def test_a_copy_of_a_process_does_what_a_fresh_one_does(whole, desk, tmp_path):
    """Else the table says nothing of `python -m babygpt`."""
    done(fresh(TABLE["train"].args(desk), tmp_path))
    assert contents(tmp_path) == whole("train").left


def test_a_copy_says_what_a_fresh_one_says(server, tmp_path):
    assert server.run(["nonsense"], tmp_path) == fresh(["nonsense"], tmp_path)


def test_a_signal_at_a_moment_comes_at_that_moment(server, desk, tmp_path):
    """Else nothing below is killed where it says."""
    steps = tmp_path / "steps"
    ended = server.run(
        TABLE["train"].args(desk), tmp_path, Faults(moments=[(1, "SIGKILL")], steps=str(steps))
    )
    assert (ended.status, steps.read_bytes(), sorted(p.name for p in tmp_path.iterdir())) == (
        -9,
        b"",
        ["steps"],
    )
