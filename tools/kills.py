"""Kill every command that trains at random moments, go on until it is done, and compare.

    python -m tools.kills --kills 200 --pairs 20

A kill is SIGKILL, SIGTERM, SIGHUP, or Ctrl-C up to three times, at a random moment: anywhere, in training, as
a file changes, or after so many seconds, from outside. Lost is a step that was or should have been saved, and
had to be made again. What differs from an undisturbed run is anything in the files that are left in the end.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

import click

from tests.faults.harness import Faults, Server, serving
from tests.faults.outcome import Whole, disturb, make_desk, undisturbed
from tests.faults.pairs import faults_of, random_part, together
from tests.faults.table import TABLE, TRAINS

SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")  # as often as they stand here
PAIR = ("", "SIGKILL", "SIGINT")


class Course:
    """All that kills share: the process that forks, what commands read, and undisturbed runs."""

    def __init__(self, server: Server, folder: Path, seed: int) -> None:
        self.server, self.folder, self.draw = server, folder, random.Random(seed)
        self.desk, self.made = folder / "desk", 0
        self.desk.mkdir()
        make_desk(server, self.desk)
        self.wholes: dict[str, tuple[Whole, float]] = {}

    def place(self) -> Path:
        """A new folder."""
        self.made += 1
        path = self.folder / str(self.made)
        path.mkdir()
        return path

    def whole(self, name: str) -> tuple[Whole, float]:
        """A command undisturbed, and the seconds that it takes."""
        if name not in self.wholes:
            start, whole = time.monotonic(), undisturbed(self.server, TABLE[name], self.desk, self.place())
            self.wholes[name] = whole, time.monotonic() - start
        return self.wholes[name]

    def kill(self, name: str) -> tuple[str, Faults]:
        """A random signal at a random moment of a command."""
        (whole, seconds), signal = self.whole(name), self.draw.choice(SIGNALS)
        times = self.draw.randint(1, 3) if signal == "SIGINT" else 1
        where = self.draw.choice(("all", "training", "files", "outside"))
        if where == "outside":
            waits = [self.draw.uniform(0, seconds), *(self.draw.uniform(0, 0.1) for _ in range(times - 1))]
            return signal, Faults(later=[(wait, signal) for wait in waits])
        first = whole.moment(self.draw, where)
        return signal, Faults(moments=[(first + self.draw.randint(1, 300) * i, signal) for i in range(times)])


def kill_once(course: Course, name: str) -> tuple[Counter[str], int, list[str]]:
    """Kill a command up to three times, and go on until it is done.

    returns  the signals that ended it or were heard, the steps that were lost, and what is wrong
    """
    command, (whole, _), log = TABLE[name], course.whole(name), course.folder / "steps"
    log.unlink(missing_ok=True)
    kills = [course.kill(name) for _ in range(course.draw.randint(1, 3))]
    faults = [fault for _, fault in kills]
    try:
        ended, wrong = disturb(course.server, command, course.desk, course.place(), whole, faults, log)
    except Exception as error:  # whatever cannot be read, or hangs
        return Counter(kills[0][:1]), 0, [repr(error)]
    sent = Counter(signal for (signal, _), one in zip(kills, ended, strict=False) if one.status)
    allowed = sum((command.every if signal == "SIGKILL" else command.lost) * n for signal, n in sent.items())
    return sent, max(0, len(log.read_bytes()) - whole.steps - allowed), wrong


def kill_all(course: Course, kills: int) -> int:
    """Kill the commands in turn until that many kills were felt; tell what became of them.

    returns  how many runs lost something or differed
    """
    felt: dict[str, Counter[str]] = {name: Counter() for name in TRAINS}
    bad = total = 0
    for name in cycle(TRAINS):
        sent, lost, wrong = kill_once(course, name)
        felt[name] += sent
        if lost or wrong:
            bad += 1
            click.echo(f"{name}, {dict(sent)}: {lost} steps lost; {'; '.join(wrong)}")
        total = sum(count.total() for count in felt.values())
        if total >= kills:
            break
    for name, count in felt.items():
        told = ", ".join(f"{n} {signal}" for signal, n in sorted(count.items()))
        click.echo(f"{name}: {count.total()} kills ({told})")
    click.echo(f"{total} kills: {bad} lost something or differed")
    return bad


def pair_all(course: Course, pairs: int) -> int:
    """Run pairs of comparisons at once; tell, and return, how many lost, doubled or changed a run."""
    whole, bad = course.whole("compare encodings")[0], 0
    for _ in range(pairs):
        parts, folder = [random_part(course.draw, whole, PAIR) for _ in range(2)], course.place()
        ended = together(course.server, parts, course.draw.uniform(0, 0.3), course.desk, folder)
        if wrong := faults_of(parts, ended, folder, whole):
            bad += 1
            click.echo(f"{parts}: {'; '.join(wrong)}")
    click.echo(f"{pairs} pairs of comparisons: {bad} lost, doubled or changed a run")
    return bad


@click.command()
@click.option("--kills", default=200, show_default=True, help="over all commands that train")
@click.option("--pairs", default=20, show_default=True, help="of comparisons at once on one folder")
@click.option("--seed", default=0, show_default=True, help="of the moments and signals")
def main(kills: int, pairs: int, seed: int) -> None:
    """Kill every command that trains, and let comparisons meet; exit status 1 if anything is lost."""
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        course = Course(server, Path(folder), seed)
        if kill_all(course, kills) + pair_all(course, pairs):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
