"""Recordings of runs and of explorers of trained models: all that the kernel would tell the page."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from babygpt.errors import BadInput
from babygpt_live.dashboard import Dashboard
from babygpt_live.explorer import Explorer
from tools.book.live_parts import pack

MOST = 200  # combinations of an explorer's controls, about: of its longest slider fewer stops are kept
FRAMES = 25  # most frames of a watch, where all have more bytes than
LARGE = 30_000


def record_run(dashboard: Dashboard) -> dict[str, Any]:
    """Return a run that is over, from its untrained model to its last step.

    returns  title; "module" of the page that draws it; "words" on what only the notebook can do; "data", as
             `pack` returns them
    """
    state = dashboard.recording()
    for i, n in enumerate(state["head"]["frames"]):
        frames = [state.pop(f"frame{i}_{k}") for k in range(n)]
        if n > FRAMES and len(pack(frames)) > LARGE:
            frames = [frames[round(j * (n - 1) / (FRAMES - 1))] for j in range(FRAMES)]
        state |= {f"frame{i}_{k}": frame for k, frame in enumerate(frames)}
        state["head"]["frames"][i] = len(frames)
    words = "Recorded. In the notebook you see it while the model trains, and can pause it."
    if dashboard.labels:
        words += f" There you can move {' and '.join(dashboard.labels.values())} meanwhile."
    return {"title": dashboard.run.title, "module": "dashboard", "words": words, "data": pack(state)}


def record_explorer(explorer: Explorer) -> dict[str, Any]:
    """Return an explorer with its answers to all combinations of the controls that it names in `together`.

    explorer  as it stands: a page shows that at first. Controls that only the page needs are kept, the others
              left out
    returns   as `record_run` does
    """
    facts, values = {control["name"]: control for control in explorer.controls}, explorer.values()
    names = [name for name in explorer.together if name in explorer.asked and "text" not in facts[name]]
    stops = {name: facts[name].get("stops") or facts[name]["options"] for name in names}
    if sliders := [name for name in names if "stops" in facts[name]]:
        longest = max(sliders, key=lambda name: len(stops[name]))
        every, all_stops = math.ceil(math.prod(map(len, stops.values())) / MOST), stops[longest]
        stops[longest] = sorted({*all_stops[::every], all_stops[-1], values[longest]})
        facts[longest] = {**facts[longest], "stops": stops[longest]}
    answers = [
        ask(explorer, dict(zip(names, settings, strict=True)))
        for settings in itertools.product(*stops.values())
    ]
    left_out = [name for name in explorer.asked if name not in names]
    still = ", ".join(f"{facts.pop(name)['label']} = {values[name]}" for name in left_out)
    state = {"title": explorer.title, "controls": list(facts.values()), "together": names, "answers": answers}
    state |= {name: values[name] for name in facts}
    words = f"these move too: {still}" if still else "it measures whatever you choose"
    words = " ".join(f"Recorded. In the notebook {words}.".split())
    return {"title": explorer.title, "module": explorer.module.stem, "words": words, "data": pack(state)}


def ask(explorer: Explorer, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an explorer answers for some values, or the problem with them."""
    try:
        return {**explorer.answer(**values), "asked": values}
    except BadInput as refused:
        return {"asked": values, "problem": str(refused)}
