"""Training of versions of masked diffusion at equal budget: `python -m babygpt compare encodings`.

All variants of one seed see the same batches with the same masks, so their losses are paired. Each run is
stored when it ends, and the same command makes the next one. One process at a time works in a folder; a
second one is refused.
"""

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt.config import ModelConfig, TrainConfig, require_positive, setting
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.paired import UNDECIDED, compare, format_mean_sd, mean_sd
from babygpt.experiments.sweep import train_from_seed
from babygpt.files import file_lock, write_atomically
from babygpt.metrics.denoising import nelbo
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt_course.studies.figures import Study, draw_figure
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_bars, draw_seed_curves

DENOISERS = {version.removeprefix("v7-"): version for version, made in VERSIONS.items() if made.masks}
LOSSES = {  # of every run -> label of its axis
    "val_loss": "masked-token loss (nats per character)",
    "nelbo": "NELBO (nats per character)",
}
Run = dict[str, Any]


@dataclass(frozen=True)
class AblationConfig:
    """Length of each training run and how often it is validated; the flags of note 000."""

    max_iters: int = setting(3000, "optimizer steps of each run")
    eval_interval: int = setting(300, "steps between validation losses")
    eval_iters: int = setting(100, "validation batches: the same windows and masks for every run")

    def __post_init__(self) -> None:
        require_positive(self, "max_iters", "eval_interval", "eval_iters")


class FixedBatches(MaskedDiffusion):
    """Masked diffusion, validated on windows at random positions that are the same for every run."""

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
    """

    corpus: Corpus
    model: ModelConfig
    training: TrainConfig
    config: AblationConfig
    folder: Path

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

    def objective(self) -> FixedBatches:
        """Return the objective of a run before its first batch."""
        return FixedBatches(self.corpus, self.model.block_size, self.val_windows)

    def plan(self, seed: int) -> TrainConfig:
        """Return the training configuration of a seed."""
        flags = self.config
        return replace(self.training, steps=flags.max_iters, eval_every=flags.eval_interval, seed=seed)

    def settings(self) -> dict[str, Any]:
        """Return all settings that two runs must share to be comparable, by the names of their flags."""
        chosen = {**asdict(self.config), **asdict(self.model), **asdict(self.training)}
        left = {name: v for name, v in chosen.items() if name not in ("seed", "steps", "eval_every")}
        return {"corpus": self.corpus.name, "text": self.corpus.fingerprint(), **left}

    def stored_runs(self) -> list[Run]:
        """Return the runs that earlier calls stored in the folder.

        Raises BadInput if the file holds something else, or names a flag in which the runs differ from ours.
        """
        path, ours = self.results_path, self.settings()
        if not path.exists():
            return []
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            theirs, runs = dict(results["settings"]), list(results["runs"])
        except (OSError, ValueError, TypeError, LookupError):
            raise BadInput(f"{path} holds no results of a comparison; choose another --out-dir") from None
        for name in ours.keys() - {"corpus"}:
            if theirs.get(name) != ours[name]:
                shown = "corpus" if name == "text" else name
                differs = f"--{shown.replace('_', '-')} ({ours[shown]}) is not that of {path}"
                raise BadInput(f"{differs} ({theirs.get(shown)}); choose another --out-dir")
        return runs

    def results(self, runs: Sequence[Run]) -> Results:
        """Return what is stored of some runs: settings, runs, and their statistics."""
        about = {"settings": self.settings(), "val_windows": self.val_windows, "floor": self.corpus.floor}
        return {**about, "runs": runs, **aggregate(runs)}


def parse_variant(name: str) -> str:
    """Return the short name of a variant that is given as rope, v7-rope or v7.

    Raises BadInput if no version of masked diffusion has this name.
    """
    if name not in (*DENOISERS, *DENOISERS.values()):
        raise BadInput(f"variant ({name}) must be one of {', '.join(DENOISERS)}")
    return name.removeprefix("v7-")


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
    tell      receives a line about each run that was finished before
    command   stored with each run
    returns   the results, including the runs of earlier calls
    Raises KeyboardInterrupt if a run was interrupted. Raises BadInput if the folder holds results of other
    flags or weights of no stored run, or if another process works there.
    """
    names = [parse_variant(name) for name in variants]
    planned = list(dict.fromkeys((name, seed) for seed in seeds for name in names))
    if not planned:
        raise BadInput(f"{len(seeds)} seeds and {len(names)} variants: at least one of each is needed")
    for name in names:  # refuses what cannot be trained before anything is written
        Training(build(DENOISERS[name], ablation.model), ablation.objective(), ablation.plan(seeds[0]))
    with file_lock(ablation.results_path):
        runs = ablation.stored_runs()
        finished = {(run["variant"], run["seed"]) for run in runs}
        for variant, seed in planned:
            if (variant, seed) not in finished and (path := ablation.weights_path(variant, seed)).exists():
                raise BadInput(f"{path} exists already, and belongs to no stored run; move it away")
        for variant, seed in planned:
            if (variant, seed) in finished:
                tell(f"{variant}, seed {seed}: finished before")
                continue
            runs.append({**run_one(ablation, variant, seed), "command": command})
            text = json.dumps(ablation.results(runs), indent=1, ensure_ascii=False) + "\n"
            write_atomically(ablation.results_path, text.encode())
    return ablation.results(runs)


def run_one(ablation: Ablation, variant: str, seed: int) -> Run:
    """Train a variant from a seed, write its weights, and return the row to store: losses, time, device."""
    version, plan, path = DENOISERS[variant], ablation.plan(seed), ablation.weights_path(variant, seed)
    title = f"{variant}, seed {seed}"
    model, steps = train_from_seed(version, ablation.model, ablation.objective(), plan, title)
    curve = [[step.step, step.val_loss] for step in steps if step.val_loss is not None]
    bound, error = nelbo(model, ablation.corpus.val)
    info = {**ablation.settings(), "train": asdict(plan), "steps_done": len(steps), "curve": curve}
    checkpoints.save(path, model, ablation.corpus.tokenizer, info)
    return {
        **{"variant": variant, "version": version, "seed": seed},
        "weights": path.relative_to(ablation.folder).as_posix(),
        "val_loss": curve[-1][1],
        "curve": curve,
        "nelbo": bound,
        "nelbo_se": error if isfinite(error) else None,
        "seconds_per_step": steps[-1].seconds / len(steps),
        "minutes": round(steps[-1].seconds / 60, 2),
        "device": str(pick_device()),
    }


# ---------------------------------------------------------------- what follows


def by_variant(runs: Sequence[Run], measure: str) -> dict[str, dict[int, Any]]:
    """Return one measurement of all runs: variant -> seed -> value."""
    values: dict[str, dict[int, Any]] = {}
    for run in runs:
        values.setdefault(run["variant"], {})[run["seed"]] = run[measure]
    return values


def seed_summary(each: dict[int, float]) -> dict[str, float | None]:
    """Return "mean", "sd" and "n", the number of seeds."""
    return {**mean_sd(list(each.values())), "n": len(each)}


def paired_statistics(
    runs: Sequence[Run], name: str, base: str, measure: str = "val_loss"
) -> dict[str, Any] | None:
    """Return the difference name - base at every seed that both were trained from.

    returns  "mean", "sd", "n", and "each": seed -> difference; None if there is no such seed
    """
    losses = by_variant(runs, measure)
    each = {s: v - losses[base][s] for s, v in losses.get(name, {}).items() if s in losses.get(base, {})}
    return {**seed_summary(each), "each": each} if each else None


def aggregate(runs: Sequence[Run]) -> dict[str, Any]:
    """Return statistics of every variant, and paired differences from the variant that was run first."""
    first, *others = names = list(by_variant(runs, "seed"))
    measures = (*LOSSES, "seconds_per_step")
    variants = {n: {m: seed_summary(by_variant(runs, m)[n]) for m in measures} for n in names}
    paired = {f"{n} - {first}": {m: paired_statistics(runs, n, first, m) for m in LOSSES} for n in others}
    return {"variants": variants, "paired": {k: d for k, d in paired.items() if all(d.values())}}


def conclusion(runs: Sequence[Run], measure: str = "val_loss") -> str:
    """Say in one line which variant ends lowest, by how much, and whether the shared seeds decide it.

    The rule is `paired.compare` on the best and the second best, seed by seed.
    """
    losses = by_variant(runs, measure)
    shared = set.intersection(*(set(seeds) for seeds in losses.values()))
    means = {name: mean(seeds[s] for s in shared or seeds) for name, seeds in losses.items()}
    best, *others = sorted(means, key=lambda name: means[name])
    gap = paired_statistics(runs, others[0], best, measure) if others and shared else None
    if gap is None:
        return ", ".join(f"{name} ends at {value:.3f}" for name, value in means.items())
    ahead = compare(list(gap["each"].values()))
    word = UNDECIDED if ahead.side == UNDECIDED else "decided"
    return f"{others[0]} less {best}, the lowest: {ahead:+.4f}, {word}"


def report_lines(results: Results) -> list[str]:
    """Return the lines to print: one for each variant and paired difference, and the conclusion."""
    lines = []
    for name, stats in {**results["variants"], **results["paired"]}.items():
        loss, bound = (f"{format_mean_sd(stats[m], '.4f')} (n = {stats[m]['n']})" for m in LOSSES)
        pace = stats.get("seconds_per_step")
        after = f", {1000 * pace['mean']:.0f} ms a step" if pace else ", paired by seed"
        lines.append(f"{name}: masked-token validation loss {loss}, NELBO {bound} nats per character{after}")
    windows = f"{results['val_windows']} windows of {results['settings']['block_size']} characters"
    lines.append(f"validation loss on {windows}, NELBO on the whole validation text; mean ± sd over seeds")
    return [*lines, conclusion(results["runs"])]


def draw_validation_losses(figure: Figure, results: Results) -> None:
    """Draw the validation losses over steps."""
    runs = results["runs"]
    steps = [step for step, _ in runs[0]["curve"]]
    curves = {
        name: np.array([[loss for _, loss in curve] for curve in seeds.values()])
        for name, seeds in by_variant(runs, "curve").items()
    }
    draw_seed_curves(figure.subplots(), steps, curves, conclusion(runs), LOSSES["val_loss"])


def draw_bars(figure: Figure, results: Results) -> None:
    """Draw bars of the final losses and bounds."""
    for ax, (measure, label) in zip(figure.subplots(1, len(LOSSES)), LOSSES.items(), strict=True):
        losses = {name: list(each.values()) for name, each in by_variant(results["runs"], measure).items()}
        draw_seed_bars(ax, losses, textwrap.fill(conclusion(results["runs"], measure), 36), label)


PICTURES = {
    "val_loss_curve.png": Study(run_ablation, draw_validation_losses, (8.0, 4.6)),
    "summary_bars.png": Study(run_ablation, draw_bars, (10.0, 4.4)),
}


def draw_report(results: Results, folder: Path) -> list[Path]:
    """Draw both pictures of note 000, and return their paths."""
    for name, study in PICTURES.items():
        write_atomically(folder / name, draw_figure(study, results))
    return [folder / name for name in PICTURES]
