"""What a learner saw of the runs on a page: from the changes that `lab.Notebook.record` noted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

OVER = ("stopped", "finished", "failed")
STEP = re.compile(r"\bstep ([\d,]+)")


@dataclass(frozen=True)
class Seen:
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


def seen(events: Sequence[Mapping[str, Any]]) -> list[Seen]:
    """What each dashboard of a page showed, in their order; those that never trained are left out.

    events  from `lab.Notebook.recorded`: t (milliseconds), dashboard, cell, words, alt, and the picture's
            digest if it is a new one
    """
    numbers = sorted({event["dashboard"] for event in events})
    stories = ([event for event in events if event["dashboard"] == number] for number in numbers)
    return [found for story in stories if (found := _told(story))]


def worst(all_seen: Sequence[Seen]) -> dict[str, float]:
    """The worst of several dashboards in each respect. Raises ValueError if there is none."""
    if not all_seen:
        raise ValueError("no dashboard was seen to train")
    most = ("longest_still_s", "longest_silence_s")
    return {
        "first_picture_s": max(one.first_picture_s for one in all_seen),
        "pictures_per_s": min(one.pictures_per_s for one in all_seen),
        **{name: max(getattr(one, name) for one in all_seen) for name in most},
    }


def _told(story: Sequence[Mapping[str, Any]]) -> Seen | None:
    """One dashboard's story, told from its changes; None if it has no running part."""
    at_work = [event for event in story if _runs(event["words"])]
    if not at_work:
        return None
    begin = at_work[0]["t"]
    end = next((e["t"] for e in story if e["t"] >= begin and e["words"].startswith(OVER)), story[-1]["t"])
    drawn = [event for event in story if event["picture"]]
    learned = [e["t"] for e in drawn if e["t"] >= begin and _step(e) > 0]
    new = [event["t"] for event in _new(drawn) if begin < event["t"] <= end]
    said = [now["t"] for before, now in pairwise(story) if now["words"] != before["words"]]
    seconds = (end - begin) / 1000
    return Seen(
        cell=story[0]["cell"],
        title=_title(story),
        steps=max(_made(event["words"]) for event in story if event["t"] <= end),
        seconds=round(seconds, 2),
        pictures=len({event["picture"] for event in drawn if event["t"] <= end}),
        first_picture_s=round(((learned or [end])[0] - begin) / 1000, 2),
        pictures_per_s=round(len(new) / seconds, 2) if seconds else 0.0,
        longest_still_s=_longest(begin, new, end),
        longest_silence_s=_longest(begin, [t for t in said if begin < t <= end], end),
    )


def _new(drawn: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Those pictures that differ from the one before."""
    before = None
    for event in drawn:
        if event["picture"] != before:
            yield event
        before = event["picture"]


def _longest(begin: float, moments: Sequence[float], end: float) -> float:
    """The longest time between two moments, in seconds; all in milliseconds, in order."""
    return round(max(b - a for a, b in pairwise([begin, *moments, end])) / 1000, 2)


def _runs(words: str) -> bool:
    """Whether a run says that it is running, or has made a step without saying so."""
    return words.startswith("running") or _made(words) > 0


def _made(words: str) -> int:
    """The steps that words speak of."""
    found = STEP.search(words)
    return int(found[1].replace(",", "")) if found else 0


def _step(event: Mapping[str, Any]) -> int:
    """After which step a picture shows the model: as its titles say, or else the words beside it."""
    if "untrained" in event["alt"]:
        return 0
    return _made(event["alt"] if STEP.search(event["alt"]) else event["words"])


def _title(story: Sequence[Mapping[str, Any]]) -> str:
    """What is training: "training: v5: ..." is v5."""
    return story[-1]["alt"].removeprefix("training: ").partition(":")[0]
