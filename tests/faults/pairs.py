"""Two comparisons at once on one folder: what the tests and `tools/kills.py` do with them."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.faults.harness import Ended, Faults, Server
from tests.faults.outcome import Whole, contents, strangers
from tests.faults.table import TABLE

COMPARISON = TABLE["compare encodings"]


@dataclass(frozen=True)
class Part:
    """One of two comparisons.

    variants, seeds  of the runs it makes
    moment, signal   that it is stopped with at this moment; none if the signal is ""
    """

    variants: Sequence[str]
    seeds: Sequence[int]
    moment: int = 0
    signal: str = ""

    def args(self, desk: Path) -> list[str]:
        """What is typed: the table's words, with other variants and seeds."""
        words = COMPARISON.args(desk)
        words[words.index("--variants") + 1] = ",".join(self.variants)
        words[words.index("--seeds") + 1] = ",".join(map(str, self.seeds))
        return words

    def faults(self, log: Path) -> Faults:
        """The signal at its moment."""
        moments = [(self.moment, self.signal)] if self.signal else None
        return COMPARISON.faults(Faults(moments=moments, steps=str(log)))

    def runs(self) -> set[tuple[str, int]]:
        """Variant and seed of each."""
        return {(variant, seed) for variant in self.variants for seed in self.seeds}


def random_part(draw: random.Random, whole: Whole, signals: Sequence[str]) -> Part:
    """Some of the runs, and one of these signals at any moment."""
    variants, seeds = (
        draw.sample(names, draw.randint(1, len(names))) for names in (["rope", "polar"], [1, 2])
    )
    return Part(variants, seeds, draw.randint(1, whole.all), draw.choice(signals))


def together(server: Server, parts: Sequence[Part], delay: float, desk: Path, folder: Path) -> list[Ended]:
    """Run comparisons at once, the second so many seconds later, then each once more: how they ended."""
    log, started = folder.with_suffix(".steps"), []
    for part in parts:
        started.append(server.start(part.args(desk), folder, part.faults(log)))
        time.sleep(delay)
    ended = [one.wait() for one in started]
    calm = [replace(part, signal="") for part in parts]
    return ended + [server.run(part.args(desk), folder, part.faults(log)) for part in calm]


def faults_of(parts: Sequence[Part], ended: Sequence[Ended], folder: Path, whole: Whole) -> list[str]:
    """What is not as it should be after `together`: runs lost, doubled, or other than undisturbed ones."""
    found = [str(one) for one in ended[len(parts) :] if one.status]
    for part, one in zip(parts, ended, strict=False):
        expected = {"": (0,), "SIGKILL": (-9, 0), "SIGINT": (1, 0, 130, -2)}[part.signal]
        if one.status not in expected or "Traceback" in one.err:
            found.append(f"{part} ended so: {one}")
    wanted = sorted(set().union(*(part.runs() for part in parts)))
    stored = json.loads((folder / COMPARISON.file).read_text())["runs"]
    if sorted((run["variant"], run["seed"]) for run in stored) != wanted:
        found.append(f"wanted {wanted}, stored {[(run['variant'], run['seed']) for run in stored]}")
    steps, again = (
        COMPARISON.steps * len(wanted),
        COMPARISON.every * sum(p.signal == "SIGKILL" for p in parts),
    )
    if (made := len(folder.with_suffix(".steps").read_bytes())) > steps + again:
        found.append(f"{made} steps were made, of {steps} that are needed")
    left, reference = contents(folder), whole.left
    expected_runs = {key(run): run for run in reference[COMPARISON.file.as_posix()]["runs"]}
    for run in left[COMPARISON.file.as_posix()]["runs"]:
        path = f"{COMPARISON.out}/{run['weights']}"
        if run != expected_runs[key(run)] or left.get(path) != reference[path]:
            found.append(f"{key(run)} is not as it would be undisturbed")
    return [*found, *(f"{name} was left" for name in strangers(COMPARISON, folder))]


def key(run: dict[str, Any]) -> tuple[str, int]:
    """Variant and seed of a run."""
    return run["variant"], run["seed"]
