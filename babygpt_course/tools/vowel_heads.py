"""Vowel heads: what each head is worth for the second letter of a name, before and after a seed spells."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from babygpt_course.studies.results import Results
from babygpt_course.studies.spelling import (
    BEFORE,
    LETTERS,
    STAGES,
    VOWELS,
    find_reader,
    last_of,
    without_other,
    without_reader,
)
from babygpt_live import COLOURS, Axis, Choice, Curve, Explorer, Level, Panel
from babygpt_live.explorer import Control
from babygpt_live.panel import format_percent, name_ticks

LABELS = dict(
    zip(STAGES, (f"{BEFORE} steps before", "when it begins to spell", "at the last step"), strict=True)
)
PLACES = ("first", "second", "third", "last")


def vowel_heads(results: Results) -> Explorer:
    """Explore which heads write the second letter of a name, in each stored seed.

    A seed that does not spell is shown at the last step only.

    results  what `load_results("spelling")` reads
    """
    stages = dict(zip(results["seeds"], results["stages"], strict=True))
    labels = {
        f"{seed}: writes {format_percent(end['names'])}"
        f"{'' if 'click' in stages[seed] else ', last step only'}": seed
        for seed, end in last_of(results).items()
    }
    controls: list[Control] = [
        Choice("seed", list(labels.items())),
        Choice("stage", [(label, stage) for stage, label in LABELS.items()]),
    ]

    def measure(seed: int, stage: str) -> dict[str, Any]:
        return stages[seed].get(stage, stages[seed]["end"])

    return Explorer("vowel heads", measure, panels, controls, together=("seed", "stage"))


def panels(facts: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Show right second letters without each head, and where the head of layer 2 that reads them looks."""
    without, reader = 100 * np.array(facts["without"]), find_reader(facts)  # (L, H)
    layers, per_layer = without.shape
    names = [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(per_layer)]
    finding = (
        f"Without layer 2, head {reader + 1} {format_percent(without_reader(facts))} of the second letters "
        "are right; "
        f"without any other of this layer at least {format_percent(without_other(facts))}"
    )
    whole, chance = (
        Level(f"all heads: {format_percent(facts['second'])}", 100 * facts["second"]),
        100 / len(VOWELS),
    )
    heads = Axis("silent head (layer.head)", (-0.6, len(names) + 0.8), name_ticks(names))
    right = Axis("right second letters (%)", (0, 105), unit="%", digits=0)
    bars = Curve("", COLOURS["blue"], without.ravel(), np.arange(len(names), dtype=float), "bars")
    looks = 100 * np.array(facts["looks"][1][reader])
    letter = int(looks.argmax())
    gaze = (
        f"Layer 2, head {reader + 1} gives {looks[letter]:.0f}% of its weight to the {PLACES[letter]} letter"
    )
    letters = Axis("letter of the name in the story", (-0.6, LETTERS - 0.4), name_ticks(PLACES))
    share = Axis("attention (%)", (0, 105), unit="%", digits=0)
    step = f"Step {facts['step']:,}; the first letter of the answer is given."
    weights = Curve("", COLOURS["green"], looks, np.arange(LETTERS, dtype=float), "bars")
    return [
        Panel(finding, [whole, Level("chance", chance), bars], heads, right, step, width=1.3),
        Panel(gaze, [weights], letters, share, "When the second letter is to be written."),
    ]
