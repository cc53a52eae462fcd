"""The loop of every study: each variant trained from each seed, and measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import Objective
from babygpt.training import Step, finish, train
from babygpt_course.studies.spread import Engine, Finished, Runs, in_turn

SEEDS = (1337, 2027, 9001)
Variant = TypeVar("Variant", bound=Hashable)
# Makes the runs of every sweep, by name. A study's functions need not know where, and whether anew.
ENGINE: ContextVar[Engine] = ContextVar("engine", default=in_turn)


def sweep(
    variants: Iterable[Variant], seeds: Iterable[int], run: Callable[[Variant, int], Mapping[str, Any]]
) -> dict[Variant, dict[str, list[Any]]]:
    """Make one run for every variant and seed: all variants of a seed before the next seed.

    Inside `kept_runs` a run that was made before is not made again. Inside `made_by` runs are made side by
    side: `run` must then leave nothing behind but what it returns.

    variants  names of what is compared
    run       trains a variant from a seed, and returns what it measured, by name
    returns   variant -> name of the measurement -> one value a seed
    """
    found: dict[Variant, dict[str, list[Any]]] = {variant: {} for variant in variants}
    wanted = [(variant, seed) for seed in seeds for variant in found]
    made = dict(ENGINE.get()({run_name(*one): partial(run, *one) for one in wanted}))
    for variant, seed in wanted:  # in this order, whoever was first
        for measurement, value in made[run_name(variant, seed)].items():
            found[variant].setdefault(measurement, []).append(value)
    return found


def run_name(variant: Hashable, seed: int) -> str:
    """What a run is called, where it is kept and in what is said of it."""
    return f"{variant!r}, seed {seed}"


@contextmanager
def made_by(engine: Engine) -> Iterator[None]:
    """A context in which an engine makes the runs of every sweep; see `experiments.spread`."""
    token = ENGINE.set(engine)
    try:
        yield
    finally:
        ENGINE.reset(token)


@contextmanager
def kept_runs(path: Path) -> Iterator[None]:
    """A context in which every sweep writes down each run as soon as it is made, and goes on from there.

    path  of the file, which is removed at the end; `claim` it first
    Raises BadInput if the file was begun by other code than this, or holds something else.
    """
    kept, engine = read_kept(path), ENGINE.get()

    def keep(runs: Runs) -> Finished:
        with closing(engine({name: run for name, run in runs.items() if name not in kept})) as finished:
            for name, measured in finished:
                # as it will be read again, so that both ways lead to the same numbers
                kept[name] = json.loads(json.dumps(dict(measured), default=np.ndarray.tolist))
                write_atomically(path, json.dumps({"code": code_digest(), "runs": kept}).encode())
        yield from ((name, dict(kept[name])) for name in runs)

    with made_by(keep):
        yield
    path.unlink(missing_ok=True)


def read_kept(path: Path) -> dict[str, Any]:
    """The runs in a file of `kept_runs`, by name; none if there is no such file."""
    if not path.exists():
        return {}
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        code, runs = stored["code"], dict(stored["runs"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise BadInput(f"{path} does not hold the runs of an unfinished study: move it away") from None
    if code != code_digest():
        raise BadInput(f"{path} holds runs made by another babygpt: move it away to begin anew")
    return runs


@cache
def code_digest() -> str:
    """SHA-256 of this package's code: runs of other code are not to be mixed with its own."""
    total, package = hashlib.sha256(), Path(__file__).resolve().parent.parent
    for path in sorted(package.rglob("*.py")):
        total.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return total.hexdigest()


def by_measurement(found: Mapping[Variant, Mapping[str, Any]], *names: str) -> dict[str, dict[Variant, Any]]:
    """Turn what `sweep` returns inside out: name of the measurement -> variant -> one value a seed.

    names  of the measurements wanted; a variant that lacks one is left out of it
    """
    return {name: {v: each[name] for v, each in found.items() if name in each} for name in names}


def small_config(corpus: Corpus, block_size: int) -> ModelConfig:
    """The shape of the models that most studies train: 2 layers, 4 heads, width 96."""
    return ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)


def train_from_seed(
    version: str,
    config: ModelConfig,
    objective: Objective,
    plan: TrainConfig,
    title: str = "",
    **options: Any,
) -> tuple[LanguageModel, list[Step]]:
    """Build a version and train it to the end, with the plan's seed for its weights and its batches.

    title    before the progress bar; the version by default
    options  of the version's encoding
    returns  the model, on the CPU, and the records of all steps
    Raises KeyboardInterrupt if the run was interrupted.
    """
    torch.manual_seed(plan.seed)
    model = build(version, config, **options)
    return model, finish(train(model, objective, plan), plan.steps, title or version)
