"""Motion of the dashboards on a page, from the drawings that `Notebook.record` noted."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

Drawing = Mapping[str, Any]  # t, ms, at, state, reading, made, frames: see `dashboard_runs`
OVER = ("stopped", "finished", "failed")
MORE_IS_BETTER = ("losses_per_s", "measurements_per_s", "drawings_per_s")
LESS_IS_BETTER = ("longest_still_s", "shown_after_ms", "kb_per_s", "redraw_ms", "ready_s", "first_loss_ms")


@dataclass(frozen=True)
class DashboardRun:
    """Record of how one dashboard moved while its model trained: from the first "running" drawn to the end.

    cell             which of the notebook's code cells it stands under, the first being 0
    title            what is training
    steps            that the run made
    seconds          of the training, with its validations
    losses_per_s     drawings with a new loss
    measurements_per_s  drawings with a new measurement, of the watch that measures most often
    drawings_per_s   drawings, whether something is new on them or not
    longest_still_s  longest time without a new loss, a new measurement, or newly counted validation windows
    shown_after_ms   median time from the end of a step to the frame that shows it
    kb_per_s         of messages to all widgets of the page
    redraw_ms        median time that JavaScript takes for a drawing
    ready_s          from the start of its cell to the drawing that says "getting ready", if that is known;
                     of the first dashboard of a cell only, because a later one waits for an earlier run
    first_loss_ms    from the end of step 1, or of the first step that was told, to the frame that shows it
    """

    cell: int
    title: str
    steps: int
    seconds: float
    losses_per_s: float
    measurements_per_s: float | None
    drawings_per_s: float
    longest_still_s: float
    shown_after_ms: float
    kb_per_s: float
    redraw_ms: float
    ready_s: float | None
    first_loss_ms: float


def dashboard_runs(recorded: Mapping[str, Any]) -> list[DashboardRun]:
    """Return how each dashboard of a page moved, in their order, without those that never trained.

    recorded  "messages": when each message to a widget came, and its bytes; "boards": for each dashboard
              cell, title, watches, when its cell started, and drawings. Of a drawing: t, when its frame
              ended; ms that it took; and what was known then: at, when the kernel told it; state; reading,
              the words on a validation; made, the number of losses; frames, the number of measurements of
              each watch. All times in ms since 1970.
    """
    all_runs = (_run_of(board, recorded["messages"]) for board in recorded["boards"])
    runs = [run for run in all_runs if run]
    firsts = {run.cell: run for run in reversed(runs)}
    return [run if run is firsts[run.cell] else replace(run, ready_s=None) for run in runs]


def worst(runs: Sequence[DashboardRun]) -> dict[str, float]:
    """Return the worst of several dashboards in each respect. Raises ValueError if there is none."""
    if not runs:
        raise ValueError("no dashboard was seen to train")
    extremes = dict[str, float]()
    for name in (*MORE_IS_BETTER, *LESS_IS_BETTER):
        numbers = [number for run in runs if (number := getattr(run, name)) is not None]
        if numbers:
            extremes[name] = min(numbers) if name in MORE_IS_BETTER else max(numbers)
    return extremes


def _run_of(board: Mapping[str, Any], messages: Sequence[tuple[float, int]]) -> DashboardRun | None:
    """Return the run of one dashboard; None if no loss was drawn while its model trained."""
    drawings: list[Drawing] = board["drawings"]
    running = [i for i, drawing in enumerate(drawings) if drawing["state"] == "running" or drawing["made"]]
    if not running:
        return None
    first = running[0]
    last = next((i for i, drawing in enumerate(drawings) if drawing["state"] in OVER), len(drawings) - 1)
    begin, end = drawings[first]["t"], drawings[last]["t"]
    if end <= begin:
        return None
    seconds, pairs = (end - begin) / 1000, list(pairwise(drawings[first : last + 1]))
    losses = [now for before, now in pairs if now["made"] > before["made"]]
    if not losses:
        return None
    ages = [drawing["t"] - drawing["at"] for drawing in losses]
    counts = [
        [drawing["frames"][i] for drawing in drawings[first : last + 1]] for i in range(board["watches"])
    ]
    watches = [sum(b > a for a, b in pairwise(count)) for count in counts]
    news = [now["t"] for before, now in pairs if _facts(now) != _facts(before)]
    ready = [drawing["t"] for drawing in drawings if drawing["state"] != "waiting"]
    sizes = [size for t, size in messages if begin <= t <= end]
    return DashboardRun(
        cell=board["cell"],
        title=board["title"],
        steps=drawings[last]["made"],
        seconds=round(seconds, 2),
        losses_per_s=round(len(losses) / seconds, 2),
        measurements_per_s=round(max(watches) / seconds, 2) if watches else None,
        drawings_per_s=round(len(pairs) / seconds, 2),
        longest_still_s=round(max(b - a for a, b in pairwise([begin, *news, end])) / 1000, 2),
        shown_after_ms=round(statistics.median(ages), 1),
        kb_per_s=round(sum(sizes) / 1000 / seconds, 1),
        redraw_ms=round(statistics.median(drawing["ms"] for drawing in drawings[first : last + 1]), 2),
        ready_s=round((ready[0] - board["started"]) / 1000, 2) if board["started"] else None,
        first_loss_ms=round(ages[0], 1),
    )


def _facts(drawing: Drawing) -> tuple[Any, ...]:
    """Return what is new on a drawing if it differs from that of the one before."""
    return drawing["made"], tuple(drawing["frames"]), drawing["reading"]
