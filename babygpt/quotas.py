"""What a container or a batch system allows this process: the control groups of Linux, version 1 and 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MACHINE = Path("/")


def core_limits(root: Path = MACHINE) -> dict[str, float]:
    """The cores there are and that this process may use: for the machine, its own and its container's limit.

    root     the folder in which proc and sys are
    returns  words that follow "cores" -> how many; for the machine the words are empty
    """
    found: dict[str, float] = {"": os.cpu_count() or 1, " (those this process is bound to)": bound_cores()}
    folders = [*group_folders("cpu", root)]
    if quotas := [quota for folder in folders if (quota := core_quota(folder)) is not None]:
        found[" (this container's quota)"] = min(quotas)
    listed = [processors_of(folder) for folder in group_folders("cpuset", root)]
    if counts := [count for text in listed if (count := count_processors(text)) is not None]:
        found[" (this container's processors)"] = min(counts)
    return found


def memory_limits(root: Path = MACHINE) -> list[int]:
    """The limits of memory of the groups that this process is in, in bytes; "max" is no limit.

    Above memory.high a process is not ended but slowed until it stands still, so that it counts as a limit.

    root  the folder in which proc and sys are
    """
    found = [read(folder / name) for folder in group_folders("memory", root) for name in MEMORIES]
    return [int(text) for text in found if text.isdecimal()]


def available_cores(root: Path = MACHINE) -> int:
    """How many threads may compute at once. Of a quota of 2.5 cores it is 2, for a third would hold up all.

    root  the folder in which proc and sys are
    """
    return max(1, int(min(core_limits(root).values())))


def bound_cores() -> int:
    """The cores that the system lets this process run on, whatever share of their time it has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---------------------------------------------------------------- the files

CPUSETS = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")  # of 2, of 1, what was wished
MEMORIES = ("memory.max", "memory.high", "memory.limit_in_bytes")  # of version 2 twice, of 1


def group_folders(controller: str, root: Path) -> Iterator[Path]:
    """The folders of the groups that limit this process, its own first, then upwards to the top.

    In a container the upper groups, or even its own, may lie out of sight: not all of these folders exist.

    controller  cpu, cpuset or memory, as version 1 calls it; in version 2 a group has all of them
    root        the folder in which proc and sys are
    """
    for line in read(root / "proc/self/cgroup").splitlines():
        controllers, _, group = line.partition(":")[2].partition(":")
        tops = [controller] if controller in controllers.split(",") else []
        parts = [part for part in PurePosixPath(group).parts if part not in ("/", "..")]
        for top in tops if controllers else ["", "unified"]:  # unified: version 2 beside version 1
            for depth in range(len(parts), -1, -1):
                yield root.joinpath("sys/fs/cgroup", top, *parts[:depth])


def core_quota(folder: Path) -> float | None:
    """The cores that a group's share of time comes to, such as 1.5; None if it has no such limit."""
    words = read(folder / "cpu.max").split()
    words = words or [read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
    if len(words) != 2 or not all(word.isdecimal() and int(word) for word in words):
        return None  # "max", -1, or nothing
    return int(words[0]) / int(words[1])


def processors_of(folder: Path) -> str:
    """The list of processors that a group has, or, where that is not told, the one that it was to have."""
    return next((text for name in CPUSETS if (text := read(folder / name))), "")


def count_processors(listed: str) -> int | None:
    """How many processors a list such as "0-3,8" names: 5. None if it names none, or is no such list."""
    ends = [part.split("-") for part in listed.split(",")]
    if not all(len(pair) < 3 and all(end.isdecimal() for end in pair) for pair in ends):
        return None
    counts = [int(pair[-1]) - int(pair[0]) + 1 for pair in ends]
    return sum(counts) if min(counts) > 0 else None


def read(path: Path) -> str:
    """What a file says, without the space around it; empty if there is none, or it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
