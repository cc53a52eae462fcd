"""A training that is stopped goes on with --resume, and ends as if nothing had happened."""

import time

import psutil
import pytest

from tests.faults.conftest import contents, run_here, training_words

KILLS = [  # in a step, and before or after a change of a file: the first six while the folder is probed
    *(f"signal_at_step({step}, 'SIGKILL')" for step in (6, 1, 8)),
    *(f"signal_at_change({nth}, 'SIGKILL')" for nth in (1, 3, 6, 7, 9, 10, 11)),
]
FAULTS = [  # what is planted, the exit status, and whether one line names the signal and the saved step
    *((plants, {-9}, "") for plants in KILLS),
    ("signal_at_step(5, 'SIGTERM')", {143}, "ended by SIGTERM: the checkpoint of step 5 stands at"),
    ("signal_at_step(5, 'SIGHUP')", {129}, "ended by SIGHUP: the checkpoint of step 5 stands at"),
    ("signal_at_step(5, 'SIGINT')", {0}, ""),
    ("signal_at_change(7, 'SIGINT')", {0, 130}, ""),
    ("signal.signal(signal.SIGHUP, signal.SIG_IGN); signal_at_step(5, 'SIGHUP')", {0}, ""),  # nohup
]
BY_DAY = {KILLS[0], "signal_at_step(5, 'SIGTERM')", "signal_at_step(5, 'SIGINT')"}


@pytest.mark.parametrize(
    ("plants", "statuses", "says"),
    [pytest.param(*fault, marks=[] if fault[0] in BY_DAY else [pytest.mark.slow]) for fault in FAULTS],
)
def test_a_stopped_run_resumes(start, desk, undisturbed, tmp_path, plants, statuses, says):
    """Repeat no step, except after a kill: then no more than lie between two checkpoints."""
    log, folder, words = tmp_path / "steps", tmp_path / "work", training_words(desk)
    first = start(folder, *words, plants=f"log_steps({str(log)!r}); {plants}")
    _, err = first.communicate(timeout=120)
    assert first.returncode in statuses
    assert says in err
    assert "Traceback" not in err
    if first.returncode != 0 or contents(folder) != undisturbed:
        more = ["--resume"] if any(folder.glob("*.safetensors")) else []
        second = start(folder, *words, *more, plants=f"log_steps({str(log)!r})")
        _, err = second.communicate(timeout=120)
        assert second.returncode == 0, err
    assert contents(folder) == undisturbed
    steps = len(log.read_bytes())
    assert steps <= 8 + 2 + 1 if -9 in statuses else steps == 8  # the step of a kill was begun, too


def test_a_second_writer_is_refused_by_the_name_of_the_first(start, desk, undisturbed, tmp_path):
    """Suspend the first writer meanwhile (Ctrl-Z), and let it finish afterwards."""
    words, folder = training_words(desk), tmp_path / "work"
    first = start(folder, *words, plants="signal_at_step(3, 'SIGSTOP')")
    end = time.monotonic() + 60
    while psutil.Process(first.pid).status() != psutil.STATUS_STOPPED:
        assert first.poll() is None, first.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    for more in ("--resume", "--overwrite"):
        second = run_here(*words, "--out", folder / "m.safetensors", more)
        assert second.exit_code == 1
        assert f"is being written by process {first.pid} on" in second.output
    first.send_signal(18)  # SIGCONT
    _, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert contents(folder) == undisturbed
