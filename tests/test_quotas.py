"""What control groups allow, read from made-up files: version 1, version 2, both at once, and nonsense."""

import os

import pytest

from babygpt import quotas
from babygpt.quotas import available_cores, core_limits, count_processors, memory_limits

QUOTA, PROCESSORS = " (this container's quota)", " (this container's processors)"
HYBRID = "4:memory:/a\n2:cpu,cpuacct:/a\n0::/a"  # version 1 limits, version 2 only names


@pytest.fixture
def root(tmp_path):
    """Make a folder with this in proc/self/cgroup, and with these files under sys/fs/cgroup."""

    def made(group, files):
        content = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
        for name, text in {"proc/self/cgroup": group, **content}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return made


@pytest.fixture
def machine(monkeypatch):
    """A machine of 64 cores, to all of which this process is bound, unless told otherwise."""
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(quotas, "bound_cores", lambda: 64)


# ---------------------------------------------------------------- memory


MEMORY = {  # what stands in /proc/self/cgroup, what under /sys/fs/cgroup, and the limit that follows
    "version 2": ("0::/user/job", {"user/job/memory.max": "3000", "memory.max": "max"}, 3000),
    "a group above": ("0::/user/job", {"user/job/memory.max": "max", "user/memory.max": "2000"}, 2000),
    "the tightest": (
        "0::/a/b",
        {"a/b/memory.max": "3000", "a/memory.max": "2000", "memory.max": "4000"},
        2000,
    ),
    "slowed above": ("0::/a", {"a/memory.max": "3000", "a/memory.high": "2500"}, 2500),
    "seen from inside": ("0::/docker/abc", {"memory.max": "1000"}, 1000),
    "above what is seen": ("0::/../../job", {"job/memory.max": "1000"}, 1000),
    "version 1": ("3:cpu:/\n2:hugetlb,memory:/a", {"memory/a/memory.limit_in_bytes": "1500\n"}, 1500),
    "both": (HYBRID, {"memory/a/memory.limit_in_bytes": "1500", "unified/a/cgroup.procs": "1"}, 1500),
    "beside version 1": ("1:name=systemd:/\n0::/a", {"unified/a/memory.max": "1500"}, 1500),
    "none": ("0::/a", {"a/memory.max": "max"}, None),
    "another controller": ("2:cpu:/a", {"memory/a/memory.limit_in_bytes": "9", "memory.max": "9"}, None),
}


@pytest.mark.parametrize("case", MEMORY)
def test_the_memory_of_a_group(case, root):
    *made, limit = MEMORY[case]
    assert min(memory_limits(root(*made)), default=None) == limit


# ---------------------------------------------------------------- cores


V1 = {"cpu/a/cpu.cfs_quota_us": "150000", "cpu/a/cpu.cfs_period_us": "50000", "cpu/cpu.cfs_quota_us": "-1"}
CORES = {  # what stands in /proc/self/cgroup, what under /sys/fs/cgroup, the limits, and the threads
    "version 2": ("0::/a", {"a/cpu.max": "200000 100000\n"}, {QUOTA: 2}, 2),
    "a group above": ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "100000 100000"}, {QUOTA: 1}, 1),
    "the tightest": ("0::/a/b", {"a/b/cpu.max": "800000 100000", "a/cpu.max": "30000 10000"}, {QUOTA: 3}, 3),
    "seen from inside": ("0::/docker/abc", {"cpu.max": "400000 100000"}, {QUOTA: 4}, 4),
    "one and a half": ("0::/a", {"a/cpu.max": "150000 100000"}, {QUOTA: 1.5}, 1),
    "almost three": ("0::/a", {"a/cpu.max": "299000 100000"}, {QUOTA: 2.99}, 2),
    "half a core": ("0::/a", {"a/cpu.max": "50000 100000"}, {QUOTA: 0.5}, 1),
    "more than there are": ("0::/a", {"a/cpu.max": "9900000 100000"}, {QUOTA: 99}, 64),
    "version 1": ("2:cpuacct,cpu:/a", V1, {QUOTA: 3}, 3),
    "both": (HYBRID, {**V1, "unified/a/cgroup.procs": "1"}, {QUOTA: 3}, 3),
    "beside version 1": ("1:name=systemd:/\n0::/a", {"unified/a/cpu.max": "5 1"}, {QUOTA: 5}, 5),
    "processors": ("0::/a", {"a/cpuset.cpus.effective": "0-3,8\n"}, {PROCESSORS: 5}, 5),
    "other processors than wished": (
        "0::/a",
        {"a/cpuset.cpus": "0-1", "a/cpuset.cpus.effective": "4-11"},
        {PROCESSORS: 8},
        8,
    ),
    "processors, 1": (
        "7:cpuset:/a",
        {"cpuset/a/cpuset.cpus": "0,2", "cpuset/cpuset.cpus": "0-63"},
        {PROCESSORS: 2},
        2,
    ),
    "processors and a quota": (
        "0::/a",
        {"a/cpuset.cpus.effective": "0-7", "a/cpu.max": "250000 100000"},
        {QUOTA: 2.5, PROCESSORS: 8},
        2,
    ),
    "max": ("0::/a", {"a/cpu.max": "max 100000", "a/cpuset.cpus": "\n"}, {}, 64),
    "version 1, none": ("2:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, {}, 64),
    "another controller": ("2:cpuset,cpuacct:/a", V1, {}, 64),
}


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("case", CORES)
def test_the_cores_of_a_group(case, root):
    group, files, limits, threads = CORES[case]
    made = root(group, files)
    assert {words: most for words, most in core_limits(made).items() if "container" in words} == limits
    assert available_cores(made) == threads


NONSENSE = {
    "empty": ("", {}),
    "no words": (
        "nonsense\n:::\n\n2\n0::/a",
        {"a/cpu.max": "a lot", "a/memory.max": "much", "a/cpuset.cpus": "all"},
    ),
    "no text": ("0::/a", dict.fromkeys(("a/cpu.max", "a/memory.max", "a/cpuset.cpus"), b"\xff \xff")),
    "no period": ("0::/a", {"a/cpu.max": "100000 0", "cpu.max": "100000"}),
    "a folder": ("0::/a", {"a/cpu.max/file": "1 1", "a/memory.max/file": "1"}),
    "no files": ("0::/a", {}),
}


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("case", NONSENSE)
@pytest.mark.survives(
    "control groups that say nonsense, or nothing", "they count as no limit: what the system has may be used"
)
def test_nonsense_is_no_limit(case, root):
    made = root(*NONSENSE[case])
    assert (memory_limits(made), available_cores(made)) == ([], 64)


def test_a_system_without_groups_has_no_limit(tmp_path):
    assert (memory_limits(tmp_path), available_cores(tmp_path)) == ([], quotas.bound_cores())


def test_a_process_bound_to_few_cores_has_no_more(machine, root, monkeypatch):
    monkeypatch.setattr(quotas, "bound_cores", lambda: 3)
    assert available_cores(root("0::/a", {"a/cpu.max": "800000 100000"})) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs a system that binds processes")
def test_the_binding_is_the_systems_own():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("listed", "count"),
    [("0", 1), ("0-3,8", 5), ("2-2,5-6", 3), ("10-15", 6), ("", None), ("3-1", None), ("0-", None)]
    + [(wrong, None) for wrong in ("-1", "1-2-3", "0,,2", "a-b", "0 1")],
)
def test_a_list_of_processors_is_counted(listed, count):
    assert count_processors(listed) == count
