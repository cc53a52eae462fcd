"""Two at once: one writes and the other is told; comparisons share the work."""

import time

import psutil
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.faults.harness import Faults
from tests.faults.outcome import contents, done, strangers
from tests.faults.pairs import COMPARISON, Part, faults_of, together
from tests.faults.table import FOREVER, TABLE


@pytest.fixture
def suspended(server, desk, whole, tmp_path):
    """Start a command that is suspended in training, and wait until it is."""

    def start(name, folder, log):
        within_a_step = whole(name).training[0] + 5
        faults = Faults(moments=[(within_a_step, "SIGSTOP")], steps=str(log))
        running = server.start(TABLE[name].args(desk), folder, TABLE[name].faults(faults))
        end = time.monotonic() + 60
        while psutil.Process(running.process).status() != psutil.STATUS_STOPPED:
            assert running.poll() is None, running.wait()
            assert time.monotonic() < end
            time.sleep(0.005)
        return running

    return start


WAYS = {
    "train": [[], ["--resume"], ["--overwrite"]],
    "pretrain": [[], ["--resume"]],
    "compare generation": [[], ["--overwrite"], ["--output", "another.json"]],
    "compare stretch": [[], ["--overwrite"]],
    "figures": [[]],
}


@pytest.mark.parametrize(("name", "more"), [(name, more) for name, ways in WAYS.items() for more in ways])
@pytest.mark.survives(
    "a second command writes what another one writes just now, running or suspended (Ctrl-Z)",
    "the second is told at once which process has it and since when; the first ends undisturbed",
)
def test_the_second_is_told(server, desk, whole, suspended, tmp_path, name, more):
    folder, log, command = tmp_path / "work", tmp_path / "steps", TABLE[name]
    folder.mkdir()
    first = suspended(name, folder, tmp_path / "first")
    words = [*command.args(desk, steps=FOREVER), *more]
    second = server.run(words, folder, command.faults(Faults(steps=str(log))))
    assert (second.status, log.read_bytes()) == (1, b""), second
    assert f"process {first.process} " in second.err
    assert "since" in second.err
    assert len(second.err.splitlines()) == 1
    first.send("SIGCONT")
    done(first.wait())
    assert contents(folder) == whole(name).left
    assert strangers(command, folder) == []


@pytest.mark.parametrize("fate", ["SIGCONT", "SIGKILL"])
@pytest.mark.survives(
    "a comparison joins another one on the same folder, which is suspended and continued, or killed",
    "the second makes what the first does not, waits for the rest, and takes it over from the dead",
)
def test_a_second_comparison_shares_the_work(server, desk, whole, suspended, tmp_path, fate):
    folder, log = tmp_path / "work", tmp_path / "steps"
    folder.mkdir()
    first = suspended("compare encodings", folder, log)
    second = server.start(COMPARISON.args(desk), folder, COMPARISON.faults(Faults(steps=str(log))))
    end = time.monotonic() + 60
    while "made by process" not in second.written()[0] and time.monotonic() < end:
        time.sleep(0.01)
    assert f"made by process {first.process}" in second.written()[0]
    first.send(fate)
    done(second.wait())
    assert first.wait().status == (0 if fate == "SIGCONT" else -9)
    assert contents(folder) == whole("compare encodings").left
    assert strangers(COMPARISON, folder) == []
    again = 0 if fate == "SIGCONT" else COMPARISON.every
    assert len(log.read_bytes()) <= whole("compare encodings").steps + again


some = {"min_size": 1, "max_size": 2, "unique": True}
parts = st.builds(
    Part,
    st.lists(st.sampled_from(["rope", "polar"]), **some),
    st.lists(st.sampled_from([1, 2]), **some),
    st.integers(1, 4_000),
    st.sampled_from(["", "SIGKILL", "SIGINT"]),
)
EVERYTHING = (["rope", "polar"], [1, 2])


@pytest.mark.survives(
    "two comparisons at once on one folder, of the same runs or of others, one stopped or both",
    "every run is made and stored once, and is what it would be alone",
)
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(one=parts, other=parts, delay=st.floats(0, 0.3))
@example(one=Part(*EVERYTHING), other=Part(*EVERYTHING), delay=0.0)
def test_two_comparisons(server, desk, whole, tmp_path_factory, one, other, delay):
    folder = tmp_path_factory.mktemp("pair")
    ended = together(server, [one, other], delay, desk, folder)
    assert faults_of([one, other], ended, folder, whole("compare encodings")) == []
