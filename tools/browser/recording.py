"""Motion of the dashboards on a page, from the changes that `Notebook.record` noted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Event = Mapping[str, Any]  # see `dashboard_runs`
OVER = ("stopped", "finished", "failed")
STEP = re.compile(r"\bstep ([\d,]+)")


@dataclass(frozen=True)
class DashboardRun:
    """Record of how one dashboard moved while its model trained.

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


def dashboard_runs(events: Sequence[Event]) -> list[DashboardRun]:
    """Return how each dashboard of a page moved, in their order, without those that never trained.

    events  from `Notebook.recorded`: t (milliseconds), dashboard, cell, words, alt, and the picture's digest
            if it is a new one
    """
    numbers = sorted({event["dashboard"] for event in events})
    by_dashboard = ([event for event in events if event["dashboard"] == number] for number in numbers)
    return [run for changes in by_dashboard if (run := _run_of(changes))]


def worst(runs: Sequence[DashboardRun]) -> dict[str, float]:
    """Return the worst of several dashboards in each respect. Raises ValueError if there is none."""
    if not runs:
        raise ValueError("no dashboard was seen to train")
    slow = ("first_picture_s", "longest_still_s", "longest_silence_s")
    found = {name: max(getattr(run, name) for run in runs) for name in slow}
    return found | {"pictures_per_s": min(run.pictures_per_s for run in runs)}


def _run_of(events: Sequence[Event]) -> DashboardRun | None:
    """Return the run in one dashboard's changes; None if its model never trained."""
    began = [e["t"] for e in events if e["words"].startswith("running") or _step_in(e["words"]) > 0]
    if not began:
        return None
    begin = began[0]
    end = next((e["t"] for e in events if e["t"] >= begin and e["words"].startswith(OVER)), events[-1]["t"])
    drawn = [event for event in events if event["picture"]]
    learned = [e["t"] for e in drawn if e["t"] >= begin and _pictured_step(e) > 0]
    pictures = _changes(drawn, "picture", begin, end)
    seconds = (end - begin) / 1000
    return DashboardRun(
        cell=events[0]["cell"],
        title=events[-1]["alt"].removeprefix("training: ").partition(":")[0],  # "training: v5: ..." is v5
        steps=max(_step_in(event["words"]) for event in events if event["t"] <= end),
        seconds=round(seconds, 2),
        pictures=len({event["picture"] for event in drawn if event["t"] <= end}),
        first_picture_s=round(((learned or [end])[0] - begin) / 1000, 2),
        pictures_per_s=round(len(pictures) / seconds, 2) if seconds else 0.0,
        longest_still_s=_longest_gap(begin, pictures, end),
        longest_silence_s=_longest_gap(begin, _changes(events, "words", begin, end), end),
    )


def _changes(events: Sequence[Event], key: str, begin: float, end: float) -> list[float]:
    """Return when something became another than in the event before, after one moment and up to another."""
    before, moments = None, list[float]()
    for event in events:
        if event[key] != before and begin < event["t"] <= end:
            moments.append(event["t"])
        before = event[key]
    return moments


def _longest_gap(begin: float, moments: Sequence[float], end: float) -> float:
    """Return the longest time between two moments, in seconds; all in milliseconds, in order."""
    return round(max(b - a for a, b in pairwise([begin, *moments, end])) / 1000, 2)


def _step_in(words: str) -> int:
    """Return the number after "step" in a dashboard's words; 0 if there is none."""
    found = STEP.search(words)
    return int(found[1].replace(",", "")) if found else 0


def _pictured_step(event: Event) -> int:
    """Return after which step a picture shows the model: by its titles, or else by the words beside it."""
    if "untrained" in event["alt"]:
        return 0
    return _step_in(event["alt"] if STEP.search(event["alt"]) else event["words"])
