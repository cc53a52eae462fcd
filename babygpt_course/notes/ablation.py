"""Train versions of masked diffusion at equal budget, over seeds: `python -m babygpt compare encodings`.

All variants of one seed see the same batches with the same masks, so their losses are paired. Each run is
saved while it trains and stored when it ends: the same command continues an interrupted comparison. One
process at a time works in a folder; a second one is refused.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.config import SAVE_EVERY, ModelConfig, TrainConfig, require_positive, setting, settle_numbers
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.files import file_lock, write_atomically
from babygpt.metrics.denoising import nelbo
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.saved_run import SavedRun, go_on
from babygpt_course.notes.comparison_report import Run, load_runs, with_statistics
from babygpt_course.studies.results import Results


@dataclass(frozen=True)
class AblationConfig:
    """Length of each training run and how often it is validated; the flags of note 000."""

    max_iters: int = setting(3000, "optimizer steps of each run")
    eval_interval: int = setting(300, "steps between validation losses")
    eval_iters: int = setting(100, "validation batches: the same windows and masks for every run")

    def __post_init__(self) -> None:
        settle_numbers(self)
        require_positive(self, "max_iters", "eval_interval", "eval_iters")


class FixedBatches(MaskedDiffusion):
    """Masked diffusion, validated on windows at random places that are the same for every run."""

    def val_starts(self, generator: torch.Generator) -> Tensor:
        """Return where the validation windows begin: (n_windows,)."""
        return torch.randint(len(self.val) - self.block_size + 1, (self.val_windows,), generator=generator)


@dataclass(frozen=True)
class Ablation:
    """Settings that all variants and seeds share.

    corpus      with a MASK token
    model       shape of the models
    training    batch size and learning rates; each run sets its seed, `config` the steps
    config      the flags of note 000
    folder      where results, pictures and weights go
    save_every  steps between checkpoints of a run
    """

    corpus: Corpus
    model: ModelConfig
    training: TrainConfig
    config: AblationConfig
    folder: Path
    save_every: int = SAVE_EVERY

    @property
    def results_path(self) -> Path:
        """Path of the stored results."""
        return self.folder / "ablation_results.json"

    @property
    def val_windows(self) -> int:
        """Number of windows that every run is validated on."""
        return self.config.eval_iters * self.training.batch_size

    def weights_path(self, variant: str, seed: int) -> Path:
        """Return the path of a run's weights."""
        return self.folder / "weights" / "ablation" / f"{variant}_seed{seed}.safetensors"

    def checkpoint(self, variant: str, seed: int) -> Checkpoint | None:
        """Read what an earlier call left of a run, finished or not; None without a file.

        Raises BadInput, naming the file, if it belongs to another run.
        """
        path = self.weights_path(variant, seed)
        if not path.exists():
            return None
        saved = checkpoints.load(path)
        for name, value in self.about(variant, seed).items():
            if saved.info.get(name) != value:
                raise BadInput(f"{path} is of another run (its {name} differs) than this one; move it away")
        return saved

    def plan(self, seed: int) -> TrainConfig:
        """Return the training configuration of a seed."""
        flags = self.config
        return replace(self.training, steps=flags.max_iters, eval_every=flags.eval_interval, seed=seed)

    def settings(self) -> dict[str, Any]:
        """Return all settings that two runs must share to be comparable, by the names of their flags."""
        chosen = {**asdict(self.config), **asdict(self.model), **asdict(self.training)}
        left = {name: v for name, v in chosen.items() if name not in ("seed", "steps", "eval_every")}
        return {"corpus": self.corpus.name, "text": self.corpus.fingerprint(), **left}

    def about(self, variant: str, seed: int) -> dict[str, Any]:
        """Return the description of a run that its checkpoint stores."""
        return {**self.settings(), "variant": variant, "train": asdict(self.plan(seed))}


# ---------------------------------------------------------------- names


def version_of(variant: str) -> str:
    """Return the version that a variant's short name stands for: v7-rope for rope, v7 for v7."""
    return variant if variant == "v7" else f"v7-{variant}"


def parse_variant(name: str) -> str:
    """Return the short name of a variant that is given as rope, v7-rope or v7.

    Raises BadInput if no version of masked diffusion has this name.
    """
    known = {version.removeprefix("v7-"): version for version, made in VERSIONS.items() if made.masks}
    if name not in (*known, *known.values()):
        raise BadInput(f"variant ({name}) must be one of {', '.join(known)}")
    return name.removeprefix("v7-")


# ---------------------------------------------------------------- results on disk


def stored_results(ablation: Ablation) -> Results:
    """Return the results in the folder, or results without runs if there are none.

    Raises BadInput naming the flag and both values if the stored runs used other flags.
    """
    path, ours = ablation.results_path, ablation.settings()
    if not path.exists():
        about = {"settings": ours, "val_windows": ablation.val_windows, "floor": ablation.corpus.floor}
        return {**about, "runs": []}
    results = load_runs(path)
    theirs = results["settings"]
    if theirs.get("text") != ours["text"]:
        where = f"--corpus ({ours['corpus']}) is not the text of {path} ({theirs.get('corpus')})"
        raise BadInput(f"{where}; choose another --out-dir")
    for name in ours.keys() - {"corpus", "text"}:
        if theirs.get(name) != ours[name]:
            what = f"--{name.replace('_', '-')} ({ours[name]}) is not that of {path} ({theirs.get(name)})"
            raise BadInput(f"{what}; choose another --out-dir")
    return results


# ---------------------------------------------------------------- running


def run_ablation(
    ablation: Ablation,
    variants: Sequence[str],
    seeds: Sequence[int],
    tell: Callable[[str], None] = print,
    command: str = "",
) -> Results:
    """Train every variant from every seed, seed by seed, and store each run as soon as it ends.

    variants  names; one that occurs twice is trained once
    tell      receives a line about each run that was finished before or continues
    command   stored with each run
    returns   the results, including the runs of earlier calls
    Raises KeyboardInterrupt if a run was interrupted, after saving it. Raises BadInput if the folder holds
    results of other flags or a file of another origin, or if another process works there.
    """
    names = [parse_variant(name) for name in variants]
    wanted = list(dict.fromkeys((name, seed) for seed in seeds for name in names))
    if not wanted:
        raise BadInput(f"{len(seeds)} seeds and {len(names)} variants: at least one of each is needed")
    for name in names:
        prepare(ablation, name, seeds[0])  # refuses what cannot be trained before anything is written
    with file_lock(ablation.results_path):
        results = stored_results(ablation)
        finished = {(run["variant"], run["seed"]) for run in results["runs"]}
        for name, seed in wanted:  # refuses a file of the user's now, not after an hour
            if (name, seed) not in finished:
                ablation.checkpoint(name, seed)
        for name, seed in wanted:
            if (name, seed) in finished:
                tell(f"{name}, seed {seed}: finished before")
                continue
            results["runs"].append({**run_one(ablation, name, seed, tell), "command": command})
            results = with_statistics(results, ablation.weights_path(name, seed))
            text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
            write_atomically(ablation.results_path, text.encode())
    return load_runs(ablation.results_path)


def prepare(ablation: Ablation, variant: str, seed: int) -> Training:
    """Return a training before its first step."""
    objective = FixedBatches(ablation.corpus, ablation.model.block_size, ablation.val_windows)
    torch.manual_seed(seed)
    model = build(version_of(variant), ablation.model).to(pick_device())
    return Training(model, objective, ablation.plan(seed))


def run_one(ablation: Ablation, variant: str, seed: int, tell: Callable[[str], None] = print) -> Run:
    """Train a variant from a seed, or continue its run, and return the row to store.

    Raises KeyboardInterrupt if the run was interrupted; its checkpoint stays.
    """
    path, saved = ablation.weights_path(variant, seed), ablation.checkpoint(variant, seed)
    weights = path.relative_to(ablation.folder).as_posix()
    if saved and saved.training is None:  # killed after training, before the row was stored
        row = saved.info.get("run")
        return {**row, "weights": weights} if isinstance(row, dict) else {}
    if saved:
        tell(f"{variant}, seed {seed}: goes on after step {saved.info['steps_done']}")
    training = prepare(ablation, variant, seed)
    tokenizer, about = ablation.corpus.tokenizer, ablation.about(variant, seed)
    run = SavedRun(path, version_of(variant), training, tokenizer, about, resume="the same command goes on")
    if saved:
        go_on(run, saved)
    if not run.train(ablation.save_every, f"{variant}, seed {seed}"):
        raise KeyboardInterrupt
    named = {"variant": variant, "version": run.version, "seed": seed}
    measured = run.complete(lambda: {"run": {**named, **measure(ablation, run)}})
    return {**measured["run"], "weights": weights}


def measure(ablation: Ablation, run: SavedRun) -> Run:
    """Return the losses of a trained run, its time and its device."""
    bound, error = nelbo(run.training.model, ablation.corpus.val)
    return {
        "val_loss": run.curve[-1][1],
        "curve": run.curve,
        "seconds_per_step": run.training.seconds / run.training.step,
        "nelbo": bound,
        "nelbo_se": error if np.isfinite(error) else None,
        "minutes": round(run.training.seconds / 60, 2),
        "device": str(run.training.device),
    }
