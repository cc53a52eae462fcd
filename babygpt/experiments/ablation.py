"""Encodings of masked diffusion at equal budget, over seeds: `python -m babygpt compare encodings`.

Every run is written down as soon as it is over, so an ablation that was interrupted goes on where it
stopped. All variants of one seed see the same batches with the same masks, so their losses are paired.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.config import ModelConfig, TrainConfig, require_positive, setting
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.report import Run, aggregate, load_runs
from babygpt.experiments.results import Results
from babygpt.experiments.sweep import sweep
from babygpt.memory import require_memory
from babygpt.metrics.diffusion import nelbo
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion
from babygpt.training import checkpoint as checkpoints
from babygpt.training import finish, train
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.files import write_atomically

RESULTS = "ablation_results.json"


@dataclass(frozen=True)
class AblationConfig:
    """How long every variant is trained, and how often it is measured; the flags of note 000."""

    max_iters: int = setting(3000, "optimizer steps of each run")
    eval_interval: int = setting(300, "steps between validation losses")
    eval_iters: int = setting(100, "validation batches: the same windows and masks for every run")

    def __post_init__(self) -> None:
        require_positive(self, "max_iters", "eval_interval", "eval_iters")


class FixedBatches(MaskedDiffusion):
    """Masked diffusion, measured on so many batches, drawn once from the validation text.

    n_batches   batches to measure on
    batch_size  windows of each
    The other arguments, and what is refused, are those of `MaskedDiffusion`.
    """

    def __init__(self, corpus: Corpus, block_size: int, n_batches: int, batch_size: int) -> None:
        windows = n_batches * batch_size
        require_memory(f"{n_batches} validation batches (eval_iters)", 8 * windows * block_size)
        super().__init__(corpus, block_size, windows)

    def val_starts(self, generator: torch.Generator) -> Tensor:
        """Where the validation windows begin: anywhere, always the same."""
        return torch.randint(len(self.val) - self.block_size + 1, (self.val_windows,), generator=generator)


@dataclass(frozen=True)
class Ablation:
    """What is the same for every variant and seed.

    corpus    with a MASK token
    model     the shape
    training  its seed, steps and eval_every are set by the runs and by `config`
    config    the flags of note 000
    folder    where everything goes
    """

    corpus: Corpus
    model: ModelConfig
    training: TrainConfig
    config: AblationConfig
    folder: Path

    @property
    def results_path(self) -> Path:
        """Where the results are stored."""
        return self.folder / RESULTS

    def weights_path(self, variant: str, seed: int) -> Path:
        """Where the weights of a run are stored."""
        return self.folder / "weights" / "ablation" / f"{variant}_seed{seed}.safetensors"

    def settings(self) -> dict[str, Any]:
        """All that must be the same for two runs to be compared, by the names of their flags."""
        chosen = {**asdict(self.config), **asdict(self.model), **asdict(self.training)}
        left = {name: v for name, v in chosen.items() if name not in ("seed", "steps", "eval_every")}
        return {"corpus": self.corpus.name, "text": self.corpus.fingerprint(), **left}


# ---------------------------------------------------------------- names


def short_name(version: str) -> str:
    """A version's name among the variants: v7-rope is rope, and v7 is v7."""
    return version.removeprefix("v7-")


def parse_variant(name: str) -> str:
    """The short name of a variant, given as rope, v7-rope, or v7.

    Raises BadInput if there is no such version, or it does not fill in masked tokens.
    """
    known = {short_name(v): v for v, made in VERSIONS.items() if made.masks}
    if name not in (*known, *known.values()):
        raise BadInput(f"variant ({name}) must be one of {', '.join(known)}")
    return short_name(name)


def version_of(name: str) -> str:
    """The version that a variant's short name means."""
    return name if name in VERSIONS and VERSIONS[name].masks else f"v7-{name}"


def require_distinct(name: str, values: Sequence[Any]) -> None:
    """Raise BadInput unless there is at least one value, and none twice."""
    if not values:
        raise BadInput(f"no {name}: at least 1 is needed")
    if twice := [v for i, v in enumerate(values) if v in values[:i]]:
        raise BadInput(f"{name} ({', '.join(map(str, values))}) name {twice[0]} twice")


# ---------------------------------------------------------------- results on disk


def stored_results(ablation: Ablation) -> Results:
    """The results that are in the folder already, or results without any run.

    Raises BadInput naming the flag and both values if they were made with other flags.
    """
    path, ours = ablation.results_path, ablation.settings()
    if not path.exists():
        windows = ablation.config.eval_iters * ablation.training.batch_size
        return {"settings": ours, "val_windows": windows, "floor": ablation.corpus.floor, "runs": []}
    results = load_runs(path)
    theirs = results["settings"]
    if theirs.get("text") != ours["text"]:
        where = f"--corpus ({ours['corpus']}) is not the text of {path} ({theirs.get('corpus')})"
        raise BadInput(f"{where}; choose another --out-dir")
    for name in ours:
        if name not in ("corpus", "text") and theirs.get(name) != ours[name]:
            raise BadInput(
                f"--{name.replace('_', '-')} ({ours[name]}) is not that of {path} "
                f"({theirs.get(name)}); choose another --out-dir"
            )
    return results


def store(ablation: Ablation, results: Results) -> None:
    """Write the results with their statistics, whole or not at all."""
    text = json.dumps({**results, **aggregate(results["runs"])}, indent=1, ensure_ascii=False)
    write_atomically(ablation.results_path, (text + "\n").encode())


# ---------------------------------------------------------------- running


def run_ablation(
    ablation: Ablation,
    variants: Sequence[str],
    seeds: Sequence[int],
    tell: Callable[[str], None] = print,
    command: str = "",
) -> Results:
    """Make every run that is not made yet, seed by seed, and store each as soon as it is over.

    variants  short names, each once
    seeds     each once
    tell      is given a line about each run that is left out or repeated
    command   noted with each run
    returns   the results, with those of earlier calls
    Raises KeyboardInterrupt if a run was interrupted, the finished ones being stored; BadInput if there
    are results made with other flags.
    """
    names = [parse_variant(name) for name in variants]
    require_distinct("variants", names)
    require_distinct("seeds", seeds)
    for name in names:
        build(version_of(name), ablation.model)  # what cannot be built is refused before the first run

    def run(name: str, seed: int) -> Run:
        results = stored_results(ablation)  # anew: somebody else may have added to them
        weights = ablation.weights_path(name, seed)
        if (name, seed) in {(run["variant"], run["seed"]) for run in results["runs"]}:
            gone = "" if weights.exists() else ", though its weights are gone"
            tell(f"{name}, seed {seed}: finished before{gone}")
            return {}
        if weights.exists():
            tell(f"{name}, seed {seed}: weights without a result, trained again")
        made = run_one(ablation, name, seed)
        results = stored_results(ablation)
        results["runs"].append({**made, "command": command})
        store(ablation, results)
        return {}  # the results are on disk

    sweep(names, seeds, run)
    return stored_results(ablation)


def run_one(ablation: Ablation, name: str, seed: int) -> Run:
    """Train a variant from a seed, write its weights, and return what is stored of the run."""
    flags, version, corpus = ablation.config, version_of(name), ablation.corpus
    plan = replace(ablation.training, steps=flags.max_iters, eval_every=flags.eval_interval, seed=seed)
    objective = FixedBatches(corpus, ablation.model.block_size, flags.eval_iters, plan.batch_size)
    torch.manual_seed(seed)
    model = build(version, ablation.model).to(pick_device())
    start = time.perf_counter()
    history = finish(train(model, objective, plan), plan.steps, f"{name}, seed {seed}", leave=True)
    curve = [(step.step, step.val_loss) for step in history if step.val_loss is not None]
    speed = float(median(np.diff([0.0, *(step.seconds for step in history)])))
    bound, error = nelbo(model, corpus.val)
    run: Run = {"variant": name, "version": version, "seed": seed}
    run |= {"val_loss": curve[-1][1], "curve": curve, "seconds_per_step": speed}
    run |= {"nelbo": bound, "nelbo_se": error if np.isfinite(error) else None}
    run |= {"minutes": round((time.perf_counter() - start) / 60, 2), "device": str(pick_device())}
    path = ablation.weights_path(name, seed)
    info = {"corpus": corpus.name, "train": asdict(plan), "steps_done": plan.steps, **run}
    checkpoints.save(path, Checkpoint(version, model, corpus.tokenizer, info), overwrite=True)
    return {**run, "weights": str(path.relative_to(ablation.folder))}
