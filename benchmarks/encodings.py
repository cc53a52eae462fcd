"""What each encoding adds to the time of a training step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build
from babygpt.training import Step, train
from benchmarks.step import fixed_size_objective
from benchmarks.timing import quartiles, require_rounds, time_in_rounds

AIM = 0.1  # an encoding may add a tenth of a step
MEASURED = tuple(name for name in VERSIONS if name not in ("v1", "v2"))  # those have another body
BASELINE, MASKED_BASELINE = "nope", "v7-nope"


def measure_encodings(
    versions: Sequence[str] = MEASURED,
    rounds: int = 60,
    batch_size: int = 12,
    block_size: int = 64,
    n_chars: int = 50_000,
    **shape: int,
) -> dict[str, Any]:
    """Measure how much longer a step is with an encoding than without, in the same body on the same windows.

    Each version and its baseline, which has no encoding, take their steps side by side. A version with
    branches reads two texts at once, and so does its baseline. `nope` is its own baseline, and shows how
    exact all this is.

    versions    of MEASURED
    rounds      how many steps of each are timed
    batch_size  windows in a batch
    block_size  tokens in a window
    n_chars     characters of tales to train on
    shape       fields of ModelConfig other than the usual ones
    returns     "added", the share of a step that each adds: the median over the rounds, with "quartiles";
                "step_ms"; and "above", those that add more than the "aim"
    Raises BadInput for another version, or rounds below 1.
    """
    if wrong := [version for version in versions if version not in MEASURED]:
        raise BadInput(f"version ({wrong[0]}) must be one of {', '.join(MEASURED)}")
    require_rounds(rounds)
    texts = {masks: load_corpus("tales", n_chars, with_mask=masks) for masks in (False, True)}
    plan = TrainConfig(rounds + 3, batch_size)  # it never comes to its end, where it would be validated
    tasks = {}
    for version in versions:
        text = texts[VERSIONS[version].masks]
        for role, built in (("baseline", baseline_of(version)), ("self", version)):
            steps = start_training(built, version, text, block_size, plan, **shape)
            tasks[f"{version} {role}"] = partial(next, steps)
    seconds = time_in_rounds(tasks, rounds, "rounds")
    return {
        **{"batch_size": batch_size, "block_size": block_size, "turns": rounds},  # as stored so far
        **describe_times({v: (seconds[f"{v} baseline"], seconds[f"{v} self"]) for v in versions}),
    }


def baseline_of(version: str) -> str:
    """Return the version with the same body and no encoding."""
    return MASKED_BASELINE if VERSIONS[version].masks else BASELINE


def start_training(
    built: str, version: str, text: Corpus, block_size: int, plan: TrainConfig, **shape: int
) -> Iterator[Step]:
    """Begin to train one version on another version's objective; two steps, which warm up, are made."""
    torch.manual_seed(plan.seed)
    model = build(built, ModelConfig(text.tokenizer.vocab_size, block_size, **shape))
    steps = train(model, fixed_size_objective(version, text, block_size), plan)
    next(steps), next(steps)
    return steps


def describe_times(seconds: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[str, Any]:
    """Return the part of `measure_encodings`' result that follows from times.

    seconds  version -> those of its baseline and its own, round by round
    """
    added = {
        version: [round(q, 3) for q in quartiles([own / base - 1.0 for base, own in zip(*both, strict=True)])]
        for version, both in seconds.items()
    }
    return {
        "aim": AIM,
        "added": {version: median for version, (_, median, _) in added.items()},
        "quartiles": {version: [low, high] for version, (low, _, high) in added.items()},
        "step_ms": {version: round(1e3 * quartiles(own)[1], 2) for version, (_, own) in seconds.items()},
        "above": [version for version, (_, median, _) in added.items() if median > AIM],
    }
