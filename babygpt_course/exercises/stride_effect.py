"""An exercise of notebook 06: an experiment that tells whether the stride matters."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from random import Random
from typing import Any

from torch import Generator

from babygpt.errors import BadInput
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, ask
from babygpt_course.exercises.compare import difference, shown, truth
from babygpt_course.exercises.draws import dice

Train = Callable[[int, int, int], float]  # stride, seed, steps -> loss
NEAR, FAR, EFFECT = 1, 128, 0.06  # the two strides, and what a model that minds pays at the nearer
RUNS, MACHINES = 60, 24  # that may be trained for one answer, and models that are asked about
LUCK_OF_SEED, LUCK_OF_RUN = 0.3, 0.04  # nats, at most, up or down


def stride_matters_stub(train: Callable) -> bool:
    """Whether models that `train(stride, seed, steps)` trains lose more at stride 1 than at stride 128."""
    return train(1, 0, 400) > train(128, 1, 400)


def stride_matters_answer(train: Callable) -> bool:
    """Whether models that `train(stride, seed, steps)` trains lose more at stride 1 than at stride 128."""
    more = [train(1, seed, 400) - train(128, seed, 400) for seed in range(20)]  # only the stride varies
    return sum(more) / len(more) > 0.03  # half of what it would be


class Trainer:
    """Gives losses as training would, of models that mind the stride or do not; the luck is drawn.

    runs  (stride, seed, steps) of what was trained, in order
    """

    def __init__(self, rng: Random, minds: bool) -> None:
        self.key, self.effect = rng.random(), EFFECT if minds else 0.0
        self.runs: list[tuple[int, int, int]] = []

    def __call__(self, stride: Any, seed: Any, steps: Any) -> float:
        for name, value in (("stride", stride), ("seed", seed), ("steps", steps)):
            least = 0 if name == "seed" else 1
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise BadInput(f"{name} ({shown(value)}) should be a whole number, such as 128, 0, 400")
        if len(self.runs) >= RUNS:
            raise BadInput(f"all {RUNS} runs are used up")
        stride, seed, steps = int(stride), int(seed), int(steps)
        self.runs.append((stride, seed, steps))
        nearness = max(0.0, 1 - stride / FAR) / (1 - NEAR / FAR)
        luck = self._luck(LUCK_OF_SEED, seed) + self._luck(LUCK_OF_RUN, stride, seed, steps)
        return 1.0 + 60 / steps + self.effect * nearness + luck

    def _luck(self, most: float, *of: int) -> float:
        """A number from -most to most, the same whenever the same is asked for."""
        return Random(f"{self.key} {of}").uniform(-most, most)


def like_with_like(attempt: Any, draw: Generator) -> None:
    """Look at what was trained: both strides, from the same seeds, for the same steps."""
    runs = trained(attempt, Trainer(dice(draw), minds=True))[1]
    seeds, steps = ([{run[at] for run in runs if run[0] == s} for s in (NEAR, FAR)] for at in (1, 2))
    if not all(seeds):
        strides = sorted({run[0] for run in runs})
        raise Wrong(f"trained at strides {strides}; should be: at {NEAR} and at {FAR}, to compare the two")
    if steps[0] != steps[1]:
        raise Wrong(
            f"stride {NEAR} was trained for {said(steps[0])} steps and {FAR} for {said(steps[1])}: "
            "which of the two makes the loss?"
        )
    if seeds[0] != seeds[1]:
        raise Wrong(
            f"stride {NEAR} was trained from seeds {said(seeds[0])} and {FAR} from {said(seeds[1])}: "
            "one set may have been luckier"
        )


def said(numbers: set[int]) -> str:
    """Some numbers in order, a few of them."""
    ordered = sorted(numbers)
    return ", ".join(map(str, ordered[:4])) + (", …" if len(ordered) > 4 else "")


def trained(attempt: Any, train: Trainer) -> tuple[bool, list[tuple[int, int, int]]]:
    """Let an attempt train: what it says, and what it trained. Raises Wrong if it says neither yes nor no."""
    runs: list[tuple[int, int, int]] = []

    def kept(stride: int, seed: int, steps: int) -> float:
        loss = train(stride, seed, steps)
        runs.append(train.runs[-1])
        return loss

    got = truth(raw := ask(attempt, kept, what="a model"))
    if got is None:
        raise Wrong(f"{difference(raw, True).split(';')[0]}; should be True or False")
    if not runs:
        raise Unusable("it trained nothing")
    return got, runs


def judged(attempt: Any, draw: Generator, minds: bool) -> None:
    """Ask about many models that all mind, or all do not."""
    rng = dice(draw)
    for number in range(1, MACHINES + 1):
        got, runs = trained(attempt, Trainer(rng, minds))
        if got != minds:
            does = f"loses {EFFECT} nats more at stride {NEAR}" if minds else "loses the same at any stride"
            raise Wrong(f"model {number} of {MACHINES} {does}, and came out: {got}{why(runs)}")


def why(runs: list[tuple[int, int, int]]) -> str:
    """What may have gone wrong, by what was trained."""
    pairs = len({run[1:] for run in runs if run[0] == NEAR} & {run[1:] for run in runs if run[0] == FAR})
    if pairs == 0:
        return ". No two runs differ in the stride alone"
    if pairs < 15:
        return f". {pairs} pair{'s' if pairs > 1 else ''} of runs may all have been lucky; train more seeds"
    return ". Does it look at the mean over all pairs, and ask whether that is nearer to 0.06 or to 0?"


def those_that_mind(attempt: Any, draw: Generator) -> None:
    judged(attempt, draw, minds=True)


def those_that_do_not(attempt: Any, draw: Generator) -> None:
    judged(attempt, draw, minds=False)


STRIDE_MATTERS = Exercise(
    name="Does the stride matter?",
    task=(
        "Design the experiment. `train(stride, seed, steps)` trains a model and gives its loss; the same "
        "three numbers give the same loss again. You may train 60 times. Write `stride_matters(train)`: "
        "whether these models lose more at stride 1 than at stride 128, `True` or `False`. Some models lose "
        "0.06 nats more there, the others nothing. Seeds differ by far more than that, and even two runs "
        "from one seed differ by up to 0.08 through luck. Decide first what you vary, what you hold, and how "
        "often you repeat it. (`train` is made up, so that you need not wait; 100 to 1000 steps are fine.)"
    ),
    level="core",
    minutes=12,
    checks=(
        Check("like is compared with like", like_with_like),
        Check(f"{MACHINES} models that mind the stride", those_that_mind),
        Check(f"{MACHINES} models that do not", those_that_do_not),
    ),
    hints=(
        "Which two runs differ in the stride, and in nothing else?",
        "For one seed, `train(1, seed, 400) - train(128, seed, 400)` is part stride, part luck; and the mean "
        "of luck is 0.",
        "Take the mean over 20 seeds, and ask whether it is nearer to 0.06 or to 0.",
    ),
    stub=stride_matters_stub,
    answer=stride_matters_answer,
)
