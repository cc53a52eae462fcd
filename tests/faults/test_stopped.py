"""A training that is stopped goes on with --resume, and ends as if nothing had happened."""

import subprocess
import time

import psutil
import pytest

from tests.faults.conftest import contents, training_words

slow = pytest.mark.slow


@pytest.fixture
def disturbed(start, desk, undisturbed, tmp_path):
    """Run a training into a fault and resume it: return exit status, stderr, and the steps of both."""

    def disturb(command: str, plants: str, **streams) -> tuple[int, str, int]:
        words, log, folder = training_words(command, desk), tmp_path / "steps", tmp_path / "work"
        first = start(folder, *words, plants=f"log_steps({str(log)!r}); {plants}", **streams)
        _, err = first.communicate(timeout=120)
        unfinished = first.returncode != 0 or contents(folder) != undisturbed(command)
        if unfinished:
            more = ["--resume"] if any(folder.glob("*.safetensors")) else []
            second = start(folder, *words, *more, plants=f"log_steps({str(log)!r})")
            _, later = second.communicate(timeout=120)
            assert second.returncode == 0, later
        assert contents(folder) == undisturbed(command)
        assert "Traceback" not in err
        return first.returncode, err, len(log.read_bytes())

    return disturb


@pytest.mark.parametrize(
    ("command", "plants"),
    [
        ("train", "signal_at_step(6, 'SIGKILL')"),
        *(
            pytest.param(command, f"signal_at_step({step}, 'SIGKILL')", marks=slow)
            for command, step in [("train", 1), ("train", 8), ("pretrain", 4)]
        ),
        *(
            pytest.param(command, f"signal_at_change({nth}, 'SIGKILL')", marks=slow)
            for command in ("train", "pretrain")
            for nth in (1, 3, 6, 7, 9, 10, 11)  # the first six while the folder is probed
        ),
    ],
)
def test_a_killed_run_resumes(disturbed, command, plants):
    """Repeat no more steps than lie between two checkpoints."""
    status, _, steps = disturbed(command, plants)
    assert status == -9
    assert steps <= 8 + 2 + 1  # the step at which it was killed was begun, too


@pytest.mark.parametrize(
    ("command", "name", "status"),
    [
        ("train", "SIGTERM", 143),
        pytest.param("train", "SIGHUP", 129, marks=slow),
        pytest.param("pretrain", "SIGTERM", 143, marks=slow),
    ],
)
def test_a_termination_signal_saves_the_step_and_gives_one_line(disturbed, command, name, status):
    """Expect the run to finish its step, save it, and print one line about it."""
    found, err, steps = disturbed(command, f"signal_at_step(5, {name!r})")
    assert (found, steps) == (status, 8)
    assert f"ended by {name}: the checkpoint of step 5 stands at" in err


@pytest.mark.parametrize("command", ["train", pytest.param("pretrain", marks=slow)])
def test_ctrl_c_stops_early_and_measures_the_trained_model(disturbed, command):
    status, _, steps = disturbed(command, "signal_at_step(5, 'SIGINT')")
    assert (status, steps) == (0, 8)


@slow
@pytest.mark.parametrize("plants", ["signal_while_measuring('SIGINT')", "signal_at_change(7, 'SIGINT')"])
def test_ctrl_c_while_it_measures_or_saves_loses_nothing(disturbed, plants):
    status, _, steps = disturbed("train", plants)
    assert status in (0, 130)
    assert steps == 8


@slow
def test_a_hang_up_under_nohup_is_ignored(disturbed):
    plants = "signal.signal(signal.SIGHUP, signal.SIG_IGN); signal_at_step(5, 'SIGHUP')"
    status, _, steps = disturbed("train", plants)
    assert (status, steps) == (0, 8)


@pytest.mark.parametrize("more", [[], pytest.param(["--overwrite"], marks=slow)])
def test_a_second_writer_is_refused_by_the_name_of_the_first(start, desk, undisturbed, run, tmp_path, more):
    """Suspend the first writer meanwhile (Ctrl-Z), and let it finish afterwards."""
    words, folder = training_words("train", desk), tmp_path / "work"
    first = start(folder, *words, plants="signal_at_step(3, 'SIGSTOP')")
    wait_until_suspended(first)
    second = run(*words, "--out", folder / "m.safetensors", *(more or ["--resume"]))
    assert second.exit_code == 1
    assert f"is being written by process {first.pid} on" in second.output
    first.send_signal(18)  # SIGCONT
    _, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert contents(folder) == undisturbed("train")


def wait_until_suspended(process: subprocess.Popen, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_training_leaves_only_its_checkpoint(undisturbed):
    assert list(undisturbed("train")) == ["m.safetensors"]
