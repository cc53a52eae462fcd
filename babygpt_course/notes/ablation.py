"""Encodings of masked diffusion at equal budget, over seeds: `python -m babygpt compare encodings`.

Every run is saved while it trains and written down as soon as it is over, so an ablation that was interrupted
goes on where it stopped. Two processes with one folder share the work: whoever claims a run makes it, and the
other makes the next. To refuse the second would be simpler; but two terminals have two cores. All variants of
one seed see the same batches with the same masks, so their losses are paired.
"""

from __future__ import annotations

import json
import time
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
from babygpt.files import InUse, file_lock, require_writable, write_atomically
from babygpt.memory import require_memory
from babygpt.metrics.diffusion import nelbo
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion
from babygpt.training import Training
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.saved_run import SavedRun, go_on, load_own
from babygpt_course.notes.report import Run, aggregate, load_runs
from babygpt_course.studies.results import Results

RESULTS = "ablation_results.json"
POLL_SECONDS = 0.5  # between two looks at runs that others make


@dataclass(frozen=True)
class AblationConfig:
    """How long every variant is trained, and how often it is measured; the flags of note 000."""

    max_iters: int = setting(3000, "optimizer steps of each run")
    eval_interval: int = setting(300, "steps between validation losses")
    eval_iters: int = setting(100, "validation batches: the same windows and masks for every run")

    def __post_init__(self) -> None:
        settle_numbers(self)
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
        """Where the results are stored."""
        return self.folder / RESULTS

    def weights_path(self, variant: str, seed: int) -> Path:
        """Where the weights of a run are stored."""
        return self.folder / "weights" / "ablation" / f"{variant}_seed{seed}.safetensors"

    def plan(self, seed: int) -> TrainConfig:
        """How a run is trained."""
        flags = self.config
        return replace(self.training, steps=flags.max_iters, eval_every=flags.eval_interval, seed=seed)

    def about(self, name: str, seed: int) -> dict[str, Any]:
        """What the checkpoint of a run says of it."""
        settings = self.settings()
        named = {"corpus": settings.pop("corpus"), "text": settings.pop("text"), "variant": name}
        return {**named, "train": asdict(self.plan(seed)), "settings": settings}

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
        about = {"settings": ours, "val_windows": windows, "floor": ablation.corpus.floor}
        return {**about, "asked": [], "runs": []}
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


def store(ablation: Ablation, asked: Sequence[tuple[str, int]] = (), run: Run | None = None) -> None:
    """Add what was asked for, or a run, to the results; whole or not at all.

    asked  variants and seeds, in an order that the runs keep, whoever finishes first
    """
    with file_lock(ablation.results_path, wait=60):
        results = stored_results(ablation)  # anew: somebody else may have added to them
        known = [tuple(one) for one in results.get("asked", ())]
        before = len(known)
        more = named(results["runs"] + ([run] if run else []))
        known += [one for one in more + list(asked) if one not in known]
        if run is None and len(known) == before:
            return
        runs = sorted(results["runs"] + ([run] if run else []), key=lambda one: known.index(named([one])[0]))
        results |= {"asked": known, "runs": runs, **aggregate(runs)}
        text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
        write_atomically(ablation.results_path, text.encode())


def named(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """The variant and the seed of each run."""
    return [(run["variant"], run["seed"]) for run in runs]


def is_stored(ablation: Ablation, name: str, seed: int) -> bool:
    """Whether the results hold a run."""
    return (name, seed) in named(stored_results(ablation)["runs"])


def own_checkpoint(ablation: Ablation, name: str, seed: int) -> Checkpoint | None:
    """What was saved of a run of this ablation, or None. Raises BadInput if another file stands there."""
    return load_own(ablation.weights_path(name, seed), version_of(name), ablation.about(name, seed))


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
    tell      is given a line about each run that is left out, resumed, or made by somebody else
    command   noted with each run
    returns   the results, with those of earlier calls and of other processes: every run that was asked for
    Raises KeyboardInterrupt if a run was interrupted, all that was learned being saved; BadInput if there
    are results made with other flags, or a file of another origin where a run's weights go.
    """
    names = [parse_variant(name) for name in variants]
    require_distinct("variants", names)
    require_distinct("seeds", seeds)
    for name in names:
        prepare(ablation, name, seeds[0])  # what cannot be trained is refused before anything is written
    wanted = [(name, seed) for seed in seeds for name in names]
    look_around(ablation, wanted, tell)
    store(ablation, wanted)
    holders: dict[tuple[str, int], str] = {}
    while left := [one for one in wanted if not is_stored(ablation, *one)]:
        if not sum(make_unless_held(ablation, *one, holders, tell, command) for one in left):
            time.sleep(POLL_SECONDS)  # all that is left is made by others
    return stored_results(ablation)


def look_around(ablation: Ablation, wanted: Sequence[tuple[str, int]], tell: Callable[[str], None]) -> None:
    """Tell what is finished already. Raises BadInput for what cannot be written, or is not to be replaced."""
    for path in (ablation.results_path, *(ablation.weights_path(*one) for one in wanted)):
        require_writable(path)
    for name, seed in wanted:
        if is_stored(ablation, name, seed):
            gone = "" if ablation.weights_path(name, seed).exists() else ", though its weights are gone"
            tell(f"{name}, seed {seed}: finished before{gone}")
        else:
            own_checkpoint(ablation, name, seed)  # a file of the user's is refused now


def make_unless_held(
    ablation: Ablation,
    name: str,
    seed: int,
    holders: dict[tuple[str, int], str],
    tell: Callable[[str], None],
    command: str,
) -> bool:
    """Make a run and store it; False if another process makes it, which is told once: see `holders`."""
    try:
        with file_lock(ablation.weights_path(name, seed)):
            if not is_stored(ablation, name, seed):
                store(ablation, run={**run_one(ablation, name, seed, tell), "command": command})
            return True
    except InUse as error:
        if holders.get((name, seed)) != error.holder:
            tell(f"{name}, seed {seed}: made by {error.holder}")
        holders[name, seed] = error.holder
        return False


def prepare(ablation: Ablation, name: str, seed: int, saved: Checkpoint | None = None) -> Training:
    """A training at its beginning, of a new model, or of the one in a checkpoint."""
    plan, shape = ablation.plan(seed), ablation.model
    objective = FixedBatches(ablation.corpus, shape.block_size, ablation.config.eval_iters, plan.batch_size)
    torch.manual_seed(seed)
    model = saved.model if saved else build(version_of(name), shape)
    return Training(model.to(pick_device()), objective, plan)


def run_one(ablation: Ablation, name: str, seed: int, tell: Callable[[str], None] = print) -> Run:
    """Train a variant from a seed, or go on where it stopped, and return what is stored of the run.

    Raises KeyboardInterrupt if the run was interrupted: its checkpoint stands.
    """
    path, saved = ablation.weights_path(name, seed), own_checkpoint(ablation, name, seed)
    if saved and saved.training is None:  # killed before it was written down
        return {**saved.info["run"], "weights": path.relative_to(ablation.folder).as_posix()}
    if saved:
        tell(f"{name}, seed {seed}: goes on after step {saved.info['steps_done']}")
    training, version = prepare(ablation, name, seed, saved), version_of(name)
    tokenizer, about = ablation.corpus.tokenizer, ablation.about(name, seed)
    run = SavedRun(path, version, training, tokenizer, about, resume="the same command goes on")
    if saved:
        go_on(run, saved)
    if not run.train(ablation.save_every, f"{name}, seed {seed}"):
        raise KeyboardInterrupt
    named = {"variant": name, "version": version, "seed": seed}
    measured = run.complete(lambda: {"run": {**named, **measure(ablation, run)}})
    return {**measured["run"], "weights": path.relative_to(ablation.folder).as_posix()}


def measure(ablation: Ablation, run: SavedRun) -> Run:
    """The losses of a trained run, and what its training took."""
    training = run.training
    bound, error = nelbo(training.model, ablation.corpus.val)
    return {
        "val_loss": run.curve[-1][1],
        "curve": run.curve,
        "seconds_per_step": run.seconds_per_step(),
        "nelbo": bound,
        "nelbo_se": error if np.isfinite(error) else None,
        "minutes": round(training.seconds / 60, 2),
        "device": str(training.device),
    }
