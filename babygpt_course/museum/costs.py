"""Cost of each bug of the museum in training, from several seeds; stored, since measuring takes minutes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from babygpt.data.corpus import load_corpus
from babygpt.device import hardware
from babygpt.experiments.paired import UNDECIDED, compare
from babygpt.experiments.sweep import SEEDS
from babygpt.tables import Table
from babygpt_course.museum.exhibits import EXHIBITS
from babygpt_course.museum.museum import Museum

STORED = Path(__file__).with_name("costs.json")
LAST = 10  # steps at the end whose losses are averaged


def ending(losses: Sequence[float]) -> float:
    """Return the mean loss of the last steps of a training."""
    return sum(losses[-LAST:]) / len(losses[-LAST:])


def measure_costs(museums: Sequence[Museum]) -> dict[str, Any]:
    """Train every exhibit and its healthy twin in museums of different seeds.

    returns  steps and seeds; "ends" and "twins": exhibit -> `ending` of it and of its twin, one per seed
    """
    losses = {e.name: [round(ending(m.losses(e.make)), 4) for m in museums] for e in EXHIBITS}
    twin_losses = {e.name: [round(ending(m.losses(e.healthy)), 4) for m in museums] for e in EXHIBITS}
    seeds, steps = [museum.seed for museum in museums], museums[0].plan.steps
    return {"steps": steps, "seeds": seeds, "ends": losses, "twins": twin_losses}


def write_costs(seeds: Sequence[int] = SEEDS, path: Path = STORED) -> None:
    """Measure and store them, about two minutes of one core."""
    corpus = load_corpus()
    costs = {**hardware(), **measure_costs([Museum(corpus, seed) for seed in seeds])}
    path.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")


def load_costs(path: Path = STORED) -> dict[str, Any]:
    """Return the stored result of `measure_costs`."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def cost_differences(costs: dict[str, Any]) -> dict[str, list[float]]:
    """Return by how much each exhibit's training ends higher than its twin's: exhibit -> nats per seed."""
    pairs = {name: zip(losses, costs["twins"][name], strict=True) for name, losses in costs["ends"].items()}
    return {name: [a - b for a, b in pair] for name, pair in pairs.items()}


def effect(gaps: Sequence[float]) -> str:
    """Return what a bug does to the loss: "higher", "lower", "the same curve" or "undecided"."""
    if not any(gaps):
        return "the same curve"
    return {"above": "higher", "below": "lower"}.get(compare(gaps).side, UNDECIDED)


def cost_table(costs: dict[str, Any]) -> Table:
    """Return the exhibits by their cost, the highest first: mean, range over the seeds, and `effect`."""
    rows = [
        (name, str(compare(d)), effect(d))
        for name, d in sorted(cost_differences(costs).items(), key=lambda item: -sum(item[1]))
    ]
    return Table(("exhibit", "ends higher by (nats)", "by the rule of 08"), rows, stable=3)
