"""How the dashboards of a page moved: from the changes that `Notebook.record` noted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

Event = Mapping[str, Any]  # see `dashboard_runs`
OVER = ("stopped", "finished", "failed")
STEP = re.compile(r"\bstep ([\d,]+)")


@dataclass(frozen=True)
class DashboardRun:
    """How one dashboard moved while its model trained.

    cell               which of the notebook's code cells it stands under, the first being 0
    title              what is training, as far as the page tells
    steps              that the run made
    seconds            from the first "running" to the end
    pictures           how many different ones had come by the end
    first_picture_s    seconds from the first "running" to a picture of a model after a step; `seconds` if
                       there is none
    pictures_per_s     from the first "running" to the end
    longest_still_s    longest time without a new picture between the two
    longest_silence_s  longest time without new words between the two
    """

    cell: int
    title: str
    steps: int
    seconds: float
    pictures: int
    first_picture_s: float
    pictures_per_s: float
    longest_still_s: float
    longest_silence_s: float

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())


def dashboard_runs(events: Sequence[Event]) -> list[DashboardRun]:
    """How each dashboard of a page moved, in their order; those that never trained are left out.

    events  from `Notebook.recorded`: t (milliseconds), dashboard, cell, words, alt, and the picture's digest
            if it is a new one
    """
    numbers = sorted({event["dashboard"] for event in events})
    by_dashboard = ([event for event in events if event["dashboard"] == number] for number in numbers)
    return [run for changes in by_dashboard if (run := _run_of(changes))]


def worst(runs: Sequence[DashboardRun]) -> dict[str, float]:
    """The worst of several dashboards in each respect. Raises ValueError if there is none."""
    if not runs:
        raise ValueError("no dashboard was seen to train")
    longest = ("longest_still_s", "longest_silence_s")
    return {
        "first_picture_s": max(run.first_picture_s for run in runs),
        "pictures_per_s": min(run.pictures_per_s for run in runs),
        **{name: max(getattr(run, name) for run in runs) for name in longest},
    }


def _run_of(events: Sequence[Event]) -> DashboardRun | None:
    """The run in one dashboard's changes; None if its model never trained."""
    running = [event for event in events if _is_running(event["words"])]
    if not running:
        return None
    begin = running[0]["t"]
    end = next((e["t"] for e in events if e["t"] >= begin and e["words"].startswith(OVER)), events[-1]["t"])
    drawn = [event for event in events if event["picture"]]
    learned = [e["t"] for e in drawn if e["t"] >= begin and _pictured_step(e) > 0]
    new = [event["t"] for event in _new_pictures(drawn) if begin < event["t"] <= end]
    new_words = [now["t"] for before, now in pairwise(events) if now["words"] != before["words"]]
    seconds = (end - begin) / 1000
    return DashboardRun(
        cell=events[0]["cell"],
        title=events[-1]["alt"].removeprefix("training: ").partition(":")[0],  # "training: v5: ..." is v5
        steps=max(_steps_in(event["words"]) for event in events if event["t"] <= end),
        seconds=round(seconds, 2),
        pictures=len({event["picture"] for event in drawn if event["t"] <= end}),
        first_picture_s=round(((learned or [end])[0] - begin) / 1000, 2),
        pictures_per_s=round(len(new) / seconds, 2) if seconds else 0.0,
        longest_still_s=_longest_gap(begin, new, end),
        longest_silence_s=_longest_gap(begin, [t for t in new_words if begin < t <= end], end),
    )


def _new_pictures(drawn: Sequence[Event]) -> Iterator[Event]:
    """Those pictures that differ from the one before."""
    before = None
    for event in drawn:
        if event["picture"] != before:
            yield event
        before = event["picture"]


def _longest_gap(begin: float, moments: Sequence[float], end: float) -> float:
    """The longest time between two moments, in seconds; all in milliseconds, in order."""
    return round(max(b - a for a, b in pairwise([begin, *moments, end])) / 1000, 2)


def _is_running(words: str) -> bool:
    """Whether a run says that it is running, or has made a step without saying so."""
    return words.startswith("running") or _steps_in(words) > 0


def _steps_in(words: str) -> int:
    """The number after "step" in a dashboard's words; 0 if there is none."""
    found = STEP.search(words)
    return int(found[1].replace(",", "")) if found else 0


def _pictured_step(event: Event) -> int:
    """After which step a picture shows the model: as its titles say, or else the words beside it."""
    if "untrained" in event["alt"]:
        return 0
    return _steps_in(event["alt"] if STEP.search(event["alt"]) else event["words"])
