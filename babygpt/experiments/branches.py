"""Several texts in one sequence: what each branch code costs, leaks, and carries over to more branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.experiments.results import Results
from babygpt.experiments.sweep import SEEDS, small_config, sweep
from babygpt.metrics.branches import leakage, parallel_loss
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.objectives import Branches
from babygpt.tables import format_mean_sd, markdown, mean_sd
from babygpt.training import finish, train

BLOCK_SIZE, LENGTH, STRIDE, BAND = 64, 48, 128, 12
COUNTS = (2, 4, 8)  # branches that every model is measured with
NUMBERS = ("alone", *(f"gap {n}" for n in COUNTS), "leak", "leak, isolated")  # of every run
Code = tuple[str, dict[str, Any]]  # a version, and options of its encoding
CODES: dict[str, Code] = {
    "none": ("v6-none", {}),
    "Fourier": ("v6", {"stride": STRIDE}),
    "Fourier, learnable": ("v6", {"stride": STRIDE, "learnable": True, "max_positions": 8 * STRIDE}),
    "Fourier, RoPE's band": ("v6", {"stride": STRIDE, "band": BAND}),
    "2-D RoPE": ("v6-rope2d", {"stride": STRIDE}),
    "learned": ("v6-learned", {}),
    "random": ("v6-random", {}),
}
STRIDES = (1, 8, 1024)  # and STRIDE, which the table has already
WARMED = ("Fourier", "2-D RoPE")
ANY_NUMBERS = ("Fourier", "2-D RoPE", "learned", "random")


class Phase(NamedTuple):
    """Some steps of training on samples of so many branches.

    numbers  how many branch numbers a sample draws its own from; None for as many as it has branches
    """

    steps: int
    fewest: int
    most: int
    numbers: int | None = None


def build_model(corpus: Corpus, code: Code, seed: int) -> Transformer:
    """An untrained model of the experiment's size, with weights drawn from a seed."""
    torch.manual_seed(seed)
    model = build(code[0], small_config(corpus, BLOCK_SIZE), **code[1])
    assert isinstance(model, Transformer)
    return model


def train_phases(
    model: Transformer, corpus: Corpus, phases: Sequence[Phase], seed: int, title: str = ""
) -> None:
    """Train a model in phases, at most 12 texts a step (with up to eight branches, 10.6 on average)."""
    for steps, fewest, most, numbers in phases:
        objective = Branches(corpus, BLOCK_SIZE, (fewest, most), LENGTH, numbers)
        finish(train(model, objective, TrainConfig(steps=steps, seed=seed)), steps, title)


def evaluate(model: Transformer, corpus: Corpus) -> dict[str, float]:
    """What a trained model loses alone and in company, and what leaks, with and without isolation.

    returns  "alone", "gap 2", "gap 4", "gap 8", "leak", "leak, isolated"; nats per character
    """
    alone = parallel_loss(model, corpus.val, 1, LENGTH)
    found = {"alone": alone}
    for n in COUNTS:
        found[f"gap {n}"] = parallel_loss(model, corpus.val, n, LENGTH) - alone
    for name, model.isolated in (("leak, isolated", True), ("leak", False)):
        found[name] = leakage(model, corpus.val, 2, LENGTH)
    return {name: round(value, 5) for name, value in found.items()}


def with_stride(code: Code, stride: int) -> Code:
    """The same code at another stride, its table long enough for eight branches."""
    version, options = code
    longer = {"max_positions": 8 * stride} if "max_positions" in options else {}
    return version, {**options, "stride": stride, **longer}


def plans(steps: int) -> dict[str, tuple[Code, list[Phase]]]:
    """Every run by name, "what: of which": its code, and the phases it is trained in."""
    two, half = [Phase(steps, 2, 2)], steps // 2
    runs: dict[str, tuple[Code, list[Phase]]] = {}
    for name, code in CODES.items():
        runs[f"up to eight: {name}"] = (code, [Phase(steps, 1, 8)])
        runs[f"two: {name}"] = (code, two)
        if name in ANY_NUMBERS:
            runs[f"two of eight numbers: {name}"] = (code, [Phase(steps, 2, 2, 8)])
        if "stride" in code[1] and "band" not in code[1]:
            for stride in STRIDES:
                runs[f"stride {stride}: {name}"] = (with_stride(code, stride), two)
        if name in WARMED:
            runs[f"four: {name}"] = (code, [Phase(steps, 4, 4)])
            runs[f"four, warmed up: {name}"] = (code, [Phase(half, 1, 1), Phase(steps - half, 4, 4)])
    return runs


def measure_branches(
    steps: int = 400, seeds: Sequence[int] = SEEDS, n_chars: int = 400_000, only: str = ""
) -> Results:
    """Train and evaluate every run of `plans` from every seed.

    only     a piece of the names of the runs that are wanted; "" for all
    returns  settings, and {"runs": name -> {"alone": one number a seed, "gap 2": ..., "leak": ...}}
    """
    corpus, planned = load_corpus("plain-tales", n_chars), plans(steps)

    def run(name: str, seed: int) -> dict[str, float]:
        code, phases = planned[name]
        model = build_model(corpus, code, seed)
        train_phases(model, corpus, phases, seed, f"{name}, seed {seed}")
        return evaluate(model, corpus)

    runs: dict[str, dict[str, list[float]]] = {}
    for name in planned:
        if only in name:
            runs |= sweep((name,), seeds, run)
    settings = {"steps": steps, "seeds": list(seeds), "block_size": BLOCK_SIZE, "length": LENGTH}
    return {**settings, "floor": corpus.floor, "runs": runs}


# ---------------------------------------------------------------- of stored results


def gaps(results: Results, trained: str) -> dict[str, dict[str, list[float]]]:
    """The interference gaps of one way of training: code -> number of branches -> gap of each seed.

    trained  what the runs' names begin with, such as "two"
    """
    of_code = {
        name.removeprefix(f"{trained}: "): found
        for name, found in results["runs"].items()
        if name.startswith(f"{trained}: ")
    }
    return {code: {str(n): found[f"gap {n}"] for n in COUNTS} for code, found in of_code.items()}


def table_row(results: Results, run: str, keys: Sequence[str] = NUMBERS) -> tuple[str, ...]:
    """The name of a run, and mean ± standard deviation over its seeds of each number."""
    found = results["runs"][run]
    return (run, *(format_mean_sd(mean_sd(found[key])) for key in keys))


def markdown_table(results: Results) -> str:
    """All runs as a Markdown table, with the command that made them and the time it took."""
    head = f"`{results['command']}`, {results['minutes']:.0f} minutes; nats per character, "
    head += f"mean ± standard deviation over {len(results['seeds'])} seeds, {results['steps']} steps\n\n"
    rows = [table_row(results, run) for run in results["runs"]]
    return head + markdown(("trained on: code", *NUMBERS), rows)


def draw_branches(figure: Figure, results: Results) -> None:
    """What company costs under each branch code: where it was trained, and where it was not."""
    titles = {
        "up to eight": "Trained on 1 to 8 branches: every code works",
        "two": "Trained on 2: added codes fail at 4, turning later",
    }
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, (trained, title) in zip(axes, titles.items(), strict=True):
        plots.draw_gaps(ax, gaps(results, trained), title)
