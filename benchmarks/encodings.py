"""What each encoding adds to the time of a training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build
from babygpt.training import Step, train
from benchmarks.step import suited
from benchmarks.turns import in_turn, middle, require_turns

AIM = 0.1  # an encoding may add a tenth of a step
MEASURED = tuple(name for name in VERSIONS if name not in ("v1", "v2"))  # those have another body
BARE, BARE_MASKED = "nope", "v7-nope"


def encodings(
    versions: Sequence[str] = MEASURED,
    turns: int = 60,
    batch_size: int = 12,
    block_size: int = 64,
    n_chars: int = 50_000,
    **shape: int,
) -> dict[str, Any]:
    """How much longer a training step is with an encoding than without, in the same body on the same windows.

    Each version and a bare twin, which has no encoding, take their steps side by side. A version with
    branches reads two texts at once, and so does its twin. `nope` is its own twin, and shows how exact all
    this is.

    versions    of MEASURED
    turns       how many steps of each are timed
    batch_size  windows in a batch
    block_size  tokens in a window
    n_chars     characters of tales to train on
    shape       another body than the usual one
    returns     "added", the share of a step that each adds: the median over the turns, with "quartiles";
                "step_ms"; and "above", those that add more than the "aim"
    Raises ValueError for another version, or turns below 1.
    """
    if wrong := [version for version in versions if version not in MEASURED]:
        raise BadInput(f"version ({wrong[0]}) must be one of {', '.join(MEASURED)}")
    require_turns(turns)
    texts = {masks: load_corpus("tales", n_chars, with_mask=masks) for masks in (False, True)}
    ways = {}
    for version in versions:
        text = texts[VERSIONS[version].masks]
        for role, made in (("twin", bare(version)), ("self", version)):
            plan = TrainConfig(turns + 3, batch_size)  # never to its end, where it would be validated
            ways[f"{version} {role}"] = partial(next, steps(made, version, text, block_size, plan, **shape))
    took = in_turn(ways, turns, "turns")
    return {
        **{"batch_size": batch_size, "block_size": block_size, "turns": turns},
        **summary({v: (took[f"{v} twin"], took[f"{v} self"]) for v in versions}),
    }


def bare(version: str) -> str:
    """The model of the same body that has no encoding."""
    return BARE_MASKED if VERSIONS[version].masks else BARE


def steps(
    made: str, version: str, text: Corpus, block_size: int, plan: TrainConfig, **shape: int
) -> Iterator[Step]:
    """Train one model on what another version is trained on; the first two steps, which warm up, are made."""
    torch.manual_seed(plan.seed)
    model = build(made, ModelConfig(text.tokenizer.vocab_size, block_size, **shape))
    run = train(model, suited(version, text, block_size), plan)
    next(run), next(run)
    return run


def summary(took: dict[str, tuple[list[float], list[float]]]) -> dict[str, Any]:
    """What `encodings` tells of times: version -> seconds of its twin and of itself, turn by turn."""
    spread = {
        version: [round(q, 3) for q in middle([own / twin - 1.0 for twin, own in zip(*pair, strict=True)])]
        for version, pair in took.items()
    }
    return {
        "aim": AIM,
        "added": {version: median for version, (_, median, _) in spread.items()},
        "quartiles": {version: [low, high] for version, (low, _, high) in spread.items()},
        "step_ms": {version: round(1e3 * middle(own)[1], 2) for version, (_, own) in took.items()},
        "above": [version for version, (_, median, _) in spread.items() if median > AIM],
    }
