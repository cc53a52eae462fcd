"""Sweep of a study: train each variant from each seed, measure it, and keep the finished runs in a file."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from babygpt.config import ModelConfig, TrainConfig, require_seed
from babygpt.data.corpus import QUESTION_SEED, Corpus
from babygpt.device import pick_device
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.experiments.paired import Variant
from babygpt.files import is_left_behind, write_atomically
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import encoding_name, installed_encodings, is_file_and_class, source_key
from babygpt.models.versions import VersionName, build, require_version
from babygpt.objectives import Objective
from babygpt.training import Step, follow, train

FIRST_SEEDS = (1337, 2027, 9001, 4711, 31, 17)  # a first look, which decides nothing
LATER_SEEDS = (1001, 1002, 1003, 1004, 1005, 1006)
SEEDS = (*FIRST_SEEDS, *LATER_SEEDS)  # the default of a study
# Seeds that decide what the data suggested. They are unused, and docs/predictions.md names each use first.
CONFIRMING_SEEDS = tuple(range(2001, 2013))
# More seeds for studies in which some seeds learn a task and others do not.
OTHER_SEEDS = (7, 42, 99, 123, 271, 314, 577, 811)
MORE_SEEDS = (*FIRST_SEEDS, *OTHER_SEEDS, *LATER_SEEDS)
Point = TypeVar("Point")  # one measurement of a curve
RunNumbers = Mapping[str, Any]  # what a run measured, by name
RunFunction = Callable[[], RunNumbers]
Runs = Mapping[str, RunFunction]
# Workers make runs, and yield the name and the numbers of each one, in any order.
Workers = Callable[[Runs], Iterator[tuple[str, RunNumbers]]]


class FailedRuns(BadInput):
    """Error at the end of a sweep, in which some runs failed and all others are finished.

    errors  name of each run that failed -> its error
    """

    def __init__(self, errors: Mapping[str, BaseException]) -> None:
        self.errors = dict(errors)
        name, error = next(iter(self.errors.items()))
        more = f" (and {len(self.errors) - 1} more failed)" if len(self.errors) > 1 else ""
        super().__init__(f"{name} failed, and the same command makes it again: {error!r}{more}")


@dataclass(frozen=True)
class StudySize:
    """Size of a study; a smaller one makes a trial run.

    steps        training steps of each run
    seeds        seeds of each variant
    n_chars      characters of the corpus, at least
    n_questions  questions that a model is asked
    block_size   characters in a window
    """

    steps: int = 400
    seeds: tuple[int, ...] = SEEDS
    n_chars: int = 400_000
    n_questions: int = 400
    block_size: int = 64

    def settings(self) -> dict[str, Any]:
        """Return the settings that studies store beside their numbers."""
        return {"steps": self.steps, "seeds": list(self.seeds), "block_size": self.block_size}


def in_turn(runs: Runs) -> Iterator[tuple[str, RunNumbers]]:
    """Make one run after the other in this process; the first error ends the sweep."""
    for name, run in runs.items():
        yield name, run()


def in_turn_to_the_end(runs: Runs) -> Iterator[tuple[str, RunNumbers]]:
    """Make one run after the other in this process; raise FailedRuns at the end if any of them failed."""
    errors: dict[str, BaseException] = {}
    for name, run in runs.items():
        try:
            numbers = run()
        except Exception as error:
            errors[name] = error
        else:
            yield name, numbers
    if errors:
        raise FailedRuns(errors)


def sweep(
    variants: Iterable[Variant],
    seeds: Iterable[int],
    run: Callable[[Variant, int], RunNumbers],
    workers: Workers = in_turn,
) -> dict[Variant, dict[str, list[Any]]]:
    """Make one run for every variant and seed: all variants of a seed before the next seed.

    variants  names of what is compared
    run       trains a variant from a seed, and returns what it measured, by name
    workers   make the runs: `in_turn`, those of `workers.py`, or `keep_runs` around one of them; a
              run that they leave out is left out of the result
    returns   variant -> name of the measurement -> one value a seed
    """
    variants, seeds = list(variants), list(seeds)
    for seed in seeds:
        require_seed("seeds", seed)
    keys = variant_keys(variants)
    runs = {f"{keys[v]}, seed {seed}": partial(run, v, seed) for seed in seeds for v in variants}
    finished = dict(workers(runs))
    results: dict[Variant, dict[str, list[Any]]] = {}
    for variant in variants:
        names = [f"{keys[variant]}, seed {seed}" for seed in seeds]
        rows = [finished[name] for name in names if name in finished]
        if rows:
            results[variant] = {name: [row[name] for row in rows] for name in rows[0]}
    return results


def variant_keys(variants: Iterable[Variant]) -> dict[Variant, str]:
    """Return the name of each variant in the names of runs.

    For an encoding from outside it holds the digest of its file, so that a changed one resumes no old runs.
    """
    keys, installed = dict[Variant, str](), installed_encodings()
    for variant in variants:
        named: Any = variant
        is_class = isinstance(variant, type) and issubclass(variant, Encoding)
        own = (
            require_version(named).own if is_class or is_file_and_class(named) or named in installed else None
        )
        keys[variant] = f"{encoding_name(own)} ({source_key(own)})" if own else repr(variant)
    return keys


def keep_runs(
    path: Path, workers: Workers = in_turn, only: str = "", packages: Sequence[Path] = ()
) -> Workers:
    """Return workers that store each run as soon as it is finished, and do not repeat a stored run.

    path  of the file; the caller locks it, and removes it when all is stored
    only  regular expression; runs in whose name it is not found are left out
    packages  folders of more code than babygpt's that decides what a run measures
    Raises BadInput if the runs in the file were made by other code, if it holds something else, and for text
    that is no regular expression.
    """
    try:
        pattern = re.compile(only)
    except re.error as error:
        raise BadInput(f"--only ({only}) is no regular expression: {error}") from None
    stored_runs: dict[str, RunNumbers] = {}
    if path.exists():
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            code, stored_runs = stored["code"], dict(stored["runs"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            raise BadInput(f"{path} does not hold the runs of an unfinished study: move it away") from None
        if not all(isinstance(run, dict) and run and is_number(run) for run in stored_runs.values()):
            raise BadInput(f"{path} holds a run that is no table of numbers: move it away to begin anew")
        if code != code_digest(*packages):
            raise BadInput(f"{path} holds runs made by another babygpt: move it away to begin anew")

    def make(runs: Runs) -> Iterator[tuple[str, RunNumbers]]:
        runs = {name: run for name, run in runs.items() if pattern.search(name)}
        missing = {name: run for name, run in runs.items() if name not in stored_runs}
        with closing(workers(missing)) as finished:  # type: ignore[type-var]
            for name, numbers in finished:
                # A run goes through JSON, so that it reads the same whether it was just made or stored.
                stored_runs[name] = json.loads(json.dumps(dict(numbers), default=np.ndarray.tolist))
                content = {"code": code_digest(*packages), "runs": stored_runs}
                write_atomically(path, json.dumps(content).encode())
        # A run that failed is missing where workers kept its error to themselves.
        yield from ((name, stored_runs[name]) for name in runs if name in stored_runs)

    return make


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number or missing, or a list or table of such values."""
    if isinstance(value, dict | list):
        return all(map(is_number, value.values() if isinstance(value, dict) else value))
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


@cache
def code_digest(*packages: Path) -> str:
    """Return the SHA-256 of all code of babygpt and other packages, so that runs of other code do not mix."""
    total = hashlib.sha256()
    for package in (Path(__file__).parents[1], *packages):
        paths = {path.relative_to(package.parent): path for path in package.rglob("*.py")}
        for inside in sorted(paths):
            if not is_left_behind(inside):
                total.update(inside.as_posix().encode() + paths[inside].read_bytes())
    return total.hexdigest()


# ---------------------------------------------------------------- one run


def finish(steps: Iterator[Step], total: int, title: str = "") -> list[Step]:
    """Run a training loop behind a progress bar to its end, for a measurement that needs all of it.

    returns   all records; the arguments are those of `follow`
    Raises KeyboardInterrupt if the run was interrupted.
    """
    history = follow(steps, total, title, leave=False, kept="this run is not kept")
    if len(history) < total:
        raise KeyboardInterrupt(f"{title} ended after {len(history)} of {total} steps")
    return history


def small_config(corpus: Corpus, block_size: int) -> ModelConfig:
    """Return the shape of the models that most studies train: 2 layers, 4 heads, width 96."""
    return ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)


def questions(corpus: Corpus, block_size: int, n: int) -> list[Any]:
    """Return the n *who* questions that all models are asked, none longer than a window.

    Raises BadInput for a corpus that asks none.
    """
    if corpus.grammar is None:
        raise BadInput(f"{corpus.name} asks no who questions; tales and tales-zh do")
    return corpus.grammar.questions(n, QUESTION_SEED, block_size)


def train_from_seed(
    version: VersionName | Callable[[ModelConfig], LanguageModel],
    config: ModelConfig,
    objective: Objective,
    plan: TrainConfig,
    title: str = "",
    **options: Any,
) -> tuple[LanguageModel, list[Step]]:
    """Build a model and train it to the end, with the plan's seed for its weights and its batches.

    version  name or class of a version, or a function that builds the model
    title    before the progress bar
    options  of the version's encoding
    returns  the model, on the best device, and the records of all steps
    Raises KeyboardInterrupt if the run was interrupted.
    """
    torch.manual_seed(plan.seed)
    if isinstance(version, str | type):
        title = title or require_version(version).name
        model = build(version, config, **options)
    else:
        model = version(config)
    model.to(pick_device())
    return model, finish(train(model, objective, plan), plan.steps, title or str(version))


def train_with_curve(
    model: LanguageModel,
    objective: Objective,
    plan: TrainConfig,
    title: str,
    every: int,
    measure: Callable[[LanguageModel], Point],
) -> tuple[list[Point], list[Step]]:
    """Train a model to the end, and measure it every `every` steps.

    returns  the measurements, and the records of all steps
    """
    model.to(pick_device())
    curve: list[Point] = []

    def measured_steps() -> Iterator[Step]:
        for step in train(model, objective, plan):
            if step.step % every == 0:
                curve.append(measure(model))
            yield step

    return curve, finish(measured_steps(), plan.steps, title)
