"""Past the window: RoPE as it is and stretched in four ways, and its rivals, all trained on windows of 64.

Loss and memory are asked apart. What reading further changes is measured on the same characters
(`position_matched_change`); what was told far back is asked for outright (`recall_by_distance`), for a model
that forgets loses nothing on text that needs no memory.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, recall_corpus
from babygpt.data.recall import USUAL, Spacing
from babygpt.encodings import Encoding
from babygpt.metrics import recall_by_distance
from babygpt.metrics.next_token import position_matched_change
from babygpt.models.stretching import METHODS, stretched, with_encoding
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.objectives import NextToken, Objective, RandomPositions
from babygpt.objectives.random_positions import draw_positions
from babygpt.positions import Positions
from babygpt.training import finish, train
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import SEEDS, small_config, sweep

BLOCK = 64  # characters in a window of training
FACTORS = (2, 4, 8)  # how many windows are read
TUNED = 4  # the factor of what is fine-tuned
DISTANCES = {1: (24, 48), 2: (48, 96), 4: (48, 192), 8: (48, 192, 384)}  # windows -> from told to asked
KERNEL_AT = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # distances at which biases are stored
LONGEST = 16 * BLOCK  # positions that random ones are drawn from: twice as many as are read at most
FINE_RATE = 0.3  # of the learning rates of training: the peak of fine-tuning


@dataclass(frozen=True)
class Arm:
    """One way to train a model on short windows.

    version  of `build`
    options  of its encoding
    longest  positions are drawn at random from so many; 0 for 0, 1, 2, ...
    times    how many times the plan's steps it is trained for
    """

    version: str
    options: dict[str, Any] = field(default_factory=dict)
    longest: int = 0
    times: int = 1


ARMS: dict[str, Arm] = {
    "v4": Arm("v4"),
    "nope": Arm("nope"),
    "v4-nope": Arm("v4-nope", {"every": 2}),  # of two layers the second has no code
    "partial": Arm("partial", {"share": 0.25}),
    "random positions": Arm("v4", longest=LONGEST),
    "alibi": Arm("alibi"),
    "xpos": Arm("xpos", {"scale_base": BLOCK / 2}),  # half a window, as in the paper
    "t5": Arm("t5", {"n_buckets": 16, "furthest": BLOCK // 2}),  # each bucket is met in training
    "t5, 128": Arm("t5"),  # as published: what is beyond the window has buckets of its own, never trained
    "kerple-log": Arm("kerple-log"),
    "kerple-power": Arm("kerple-power"),
    "fire": Arm("fire"),
    "v5": Arm("v5"),
    **{f"{name}, longer": Arm(name, times=4) for name in ("v4", "alibi", "kerple-log", "fire", "v5")},
}


@dataclass(frozen=True)
class Plan:
    """The sizes of the study; smaller ones make a trial run.

    steps      of training, on windows of BLOCK
    fine       steps of fine-tuning, at TUNED windows with as many characters a step
    n_chars    characters of training text
    n_windows  long windows whose loss is measured, one position in eight of each
    n_recalls  windows that ask for a digit, for each distance
    """

    steps: int = 400
    fine: int = 60
    n_chars: int = 400_000
    n_windows: int = 32
    n_recalls: int = 128


class AtRandomPositions(Encoding):
    """Another encoding, whose tokens stand at positions drawn from a longer range, in order.

    encoding  does all the rest
    length    tokens that there are at most
    longest   positions that are drawn from
    """

    def __init__(self, encoding: Encoding, length: int, longest: int) -> None:
        super().__init__()
        self.encoding = encoding
        self.drawn = draw_positions(1, length, longest, torch.Generator().manual_seed(0))[0]

    def transform_qk(self, q, k, positions):  # type: ignore[no-untyped-def]
        return self.encoding.transform_qk(q, k, Positions(self.drawn[positions.time]))


def with_notes(plan: Plan, windows: int = 1) -> Corpus:
    """The text: tales with notes, what is told asked for within so many windows."""
    furthest = USUAL.furthest + (windows - 1) * BLOCK
    return recall_corpus(plan.n_chars, Spacing(USUAL.nearest, furthest, USUAL.rate))


def train_model(model: Transformer, objective: Objective, plan: TrainConfig, title: str) -> Transformer:
    """Train a model in place, and return it."""
    finish(train(model, objective, plan), plan.steps, title)
    return model


def trained_arm(name: str, plan: Plan, seed: int) -> Transformer:
    """One of ARMS, trained from a seed."""
    arm, corpus = ARMS[name], with_notes(plan)
    torch.manual_seed(seed)
    model = build(arm.version, small_config(corpus, BLOCK), **arm.options)
    assert isinstance(model, Transformer)
    objective = RandomPositions(corpus, BLOCK, arm.longest) if arm.longest else NextToken(corpus, BLOCK)
    how = TrainConfig(arm.times * plan.steps, seed=seed)
    return train_model(model, objective, how, f"{name}, seed {seed}")


def fine_tuned(model: Transformer, method: str, plan: Plan, seed: int) -> Transformer:
    """A copy of a model, stretched to TUNED windows and trained on for a while.

    method  one of METHODS, at the new length; but what was dropped is recalibrated at the old length, as its
            paper has it. "control" leaves RoPE as it is and trains on at the old length.
    """
    own = copy.deepcopy(stretched(model, "none" if method == "control" else method, TUNED))
    windows = 1 if method in ("control", "drop") else TUNED
    rates = TrainConfig()
    how = TrainConfig(
        plan.fine,
        batch_size=rates.batch_size // windows,
        lr_matrix=FINE_RATE * rates.lr_matrix,
        lr_other=FINE_RATE * rates.lr_other,
        seed=seed,
    )
    objective = NextToken(with_notes(plan, windows), windows * BLOCK)
    return train_model(own, objective, how, f"{method}, fine-tuned")


# ---------------------------------------------------------------- measuring


def recall_at(model: Transformer, corpus: Corpus, windows: int, n: int) -> dict[str, float]:
    """Share of right digits at some distances, asked at the end of so many windows; chance is 0.1."""
    asked = DISTANCES[windows]
    right = recall_by_distance(model, corpus.tokenizer, asked, n=n, length=windows * BLOCK).accuracy
    return {str(d): round(float(share), 4) for d, share in zip(asked, right, strict=True)}


def measure_model(
    model: Transformer, corpus: Corpus, plan: Plan, factors: Sequence[int], within: Transformer
) -> dict[str, Any]:
    """What is asked of one model.

    factors  how many windows it reads at most
    within   the model whose loss, in one window, the long text's is compared with
    returns  "loss" in windows of BLOCK; "change": windows -> nats that reading them changes, on the same
             characters; "recall": windows -> `recall_at`
    """
    return {
        "loss": round(NextToken(corpus, BLOCK).validate(model), 4),
        "change": {
            str(n): round(
                position_matched_change(model, corpus.val, n * BLOCK, plan.n_windows, within=within)[0], 4
            )
            for n in factors
        },
        "recall": {str(n): recall_at(model, corpus, n, plan.n_recalls) for n in (1, *factors)},
    }


def measure_drawn(model: Transformer, corpus: Corpus, plan: Plan) -> dict[str, Any]:
    """The same of a model that is asked at random positions, as it was trained."""
    found: dict[str, Any] = {"loss": 0.0, "change": {}, "recall": {}}
    for n in (1, *FACTORS):
        drawn = with_encoding(model, AtRandomPositions(model.encoding, n * BLOCK, LONGEST), BLOCK)
        inside = with_encoding(model, AtRandomPositions(model.encoding, BLOCK, LONGEST), BLOCK)
        one = measure_model(drawn, corpus, plan, [n] if n > 1 else [], inside)
        found["loss"] = one["loss"] if n == 1 else found["loss"]
        found["change"] |= one["change"]
        found["recall"][str(n)] = one["recall"][str(n)]
    return found


def kernels(encoding: Encoding) -> list[list[float]]:
    """What an encoding adds to scores at KERNEL_AT, less what it adds at 0: a row for each head, or none."""
    with torch.inference_mode():
        bias = encoding.score_bias(Positions.arange(1, KERNEL_AT[-1]), Positions.arange(KERNEL_AT[-1] + 1))
    if bias is None:
        return []
    by_distance = bias.reshape(-1, KERNEL_AT[-1] + 1).flip(-1)[:, list(KERNEL_AT)]
    return [[round(float(x), 4) for x in row] for row in by_distance - by_distance[:, :1]]


def stretches_of(model: Transformer, corpus: Corpus, plan: Plan, seed: int) -> dict[str, Any]:
    """What becomes of a trained v4 under each method, before and after fine-tuning.

    returns  "ntk 4": measured with the frequencies of four windows; "ntk tuned": fine-tuned at TUNED windows
    """
    found: dict[str, Any] = {}
    for method in METHODS:
        for factor in FACTORS:
            longer = stretched(model, method, factor)
            one = measure_model(longer, corpus, plan, [factor], model)
            found[f"{method} {factor}"] = one
    for method in ("control", *METHODS):
        tuned = fine_tuned(model, method, plan, seed)
        found[f"{method} tuned"] = measure_model(tuned, corpus, plan, FACTORS, model)
    return found


def measure_stretch(seeds: Sequence[int] = SEEDS, plan: Plan = Plan()) -> Results:
    """Train every arm from every seed, stretch and fine-tune the v4, and ask each what it loses and recalls.

    returns  settings; "runs": name -> one `measure_model` a seed, for the arms, for what `stretches_of` makes
             of v4, and for "random positions, drawn"; "kernels": arm -> `kernels`, one a seed
    """
    corpus = with_notes(plan)

    def run(name: str, seed: int) -> dict[str, Any]:
        model = trained_arm(name, plan, seed)
        found: dict[str, dict[str, Any]] = {
            "runs": {name: measure_model(model, corpus, plan, FACTORS, model)}
        }
        if ARMS[name].longest:
            found["runs"]["random positions, drawn"] = measure_drawn(model, corpus, plan)
        if name == "v4":
            found["runs"] |= stretches_of(model, corpus, plan, seed)
        if kernel := kernels_of_model(model):
            found["kernels"] = {name: kernel}
        return found

    found = sweep(ARMS, seeds, run)
    board: dict[str, dict[str, list[Any]]] = {"runs": {}, "kernels": {}}
    for measured in found.values():
        for part, each in measured.items():
            for one in each:
                for name, value in one.items():
                    board[part].setdefault(name, []).append(value)
    settings = {"seeds": list(seeds), "steps": plan.steps, "fine": plan.fine, "block_size": BLOCK}
    return {**settings, "fine_rate": FINE_RATE, "kernel_at": list(KERNEL_AT), **board}


def kernels_of_model(model: Transformer) -> list[list[float]]:
    """`kernels` of a model whose layers share one encoding; none of one that has an encoding for each."""
    shared = model.encoding.of_layer(0) is model.encoding
    return kernels(model.encoding) if shared else []
