"""Several texts in one sequence: what each branch code costs, leaks, and carries over to more branches."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.experiments.roles import SEEDS
from babygpt.metrics.branches import company_loss, leakage
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.objectives import Branches
from babygpt.training import finish, train

BLOCK_SIZE, LENGTH, STRIDE, BAND = 64, 48, 128, 12
ASKED = (2, 4, 8)  # branches that every model is measured with
NUMBERS = ("alone", *(f"gap {n}" for n in ASKED), "leak", "leak, isolated")  # of every run
Stage = tuple[
    int, int, int, int | None
]  # steps, fewest and most branches, and how many numbers they draw from
Code = tuple[str, dict[str, Any]]  # a version, and what is chosen of its encoding
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


def make(corpus: Corpus, code: Code, seed: int) -> Transformer:
    """An untrained model of the experiment's size: 2 layers, 4 heads, width 96."""
    torch.manual_seed(seed)
    config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE, n_layer=2, n_head=4, n_embd=96)
    model = build(code[0], config, **code[1])
    assert isinstance(model, Transformer)
    return model


def teach(model: Transformer, corpus: Corpus, stages: Sequence[Stage], seed: int, title: str = "") -> None:
    """Train a model in stages, at most 12 texts a step (with up to eight branches, 10.6 on average)."""
    for steps, low, high, numbers in stages:
        objective = Branches(corpus, BLOCK_SIZE, (low, high), LENGTH, numbers)
        finish(train(model, objective, TrainConfig(steps=steps, seed=seed)), steps, title)


def examine(model: Transformer, corpus: Corpus) -> dict[str, float]:
    """What a trained model loses alone and in company, and what leaks, with and without isolation.

    returns  "alone", "gap 2", "gap 4", "gap 8", "leak", "leak, isolated"; nats per character
    """
    alone = company_loss(model, corpus.val, 1, LENGTH)
    found = {"alone": alone}
    for n in ASKED:
        found[f"gap {n}"] = company_loss(model, corpus.val, n, LENGTH) - alone
    for name, model.isolated in (("leak, isolated", True), ("leak", False)):
        found[name] = leakage(model, corpus.val, 2, LENGTH)
    return {name: round(value, 5) for name, value in found.items()}


def strided(code: Code, stride: int) -> Code:
    """The same code at another stride, its table long enough for eight branches."""
    version, options = code
    longer = {"max_positions": 8 * stride} if "max_positions" in options else {}
    return version, {**options, "stride": stride, **longer}


def gaps(results: dict[str, Any], trained: str) -> dict[str, dict[str, list[float]]]:
    """Of stored results: code -> number of branches -> gap of each seed, for one way of training."""
    shown = {
        run.partition(": ")[2]: found
        for run, found in results["runs"].items()
        if run.startswith(f"{trained}: ")
    }
    return {code: {str(n): found[f"gap {n}"] for n in ASKED} for code, found in shown.items()}


def summary(results: dict[str, Any], run: str, keys: Sequence[str] = NUMBERS) -> tuple[str, ...]:
    """Of stored results: the name of a run, and mean ± standard deviation over its seeds of each number."""
    found = results["runs"][run]
    return (run, *(f"{mean(found[key]):.3f} ± {stdev(found[key]):.3f}" for key in keys))


def table(results: dict[str, Any]) -> str:
    """All stored runs as a Markdown table, with the command that made them and the time it took."""
    told = f"`{results['command']}`, {results['minutes']:.0f} minutes; nats per character, "
    told += f"mean ± standard deviation over {len(results['seeds'])} seeds, {results['steps']} steps"
    rows = [("trained on: code", *NUMBERS), ("---",) * (len(NUMBERS) + 1)]
    rows += [summary(results, run) for run in results["runs"]]
    return "\n".join([told, "", *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def plans(steps: int) -> dict[str, tuple[Code, list[Stage]]]:
    """Every run by name, "what: of which": its code, and the stages it is trained in."""
    runs: dict[str, tuple[Code, list[Stage]]] = {}
    for name, code in CODES.items():
        runs[f"up to eight: {name}"] = (code, [(steps, 1, 8, None)])
        runs[f"two: {name}"] = (code, [(steps, 2, 2, None)])
        if name in ANY_NUMBERS:
            runs[f"two of eight numbers: {name}"] = (code, [(steps, 2, 2, 8)])
        if "stride" in code[1] and "band" not in code[1]:
            for stride in STRIDES:
                runs[f"stride {stride}: {name}"] = (strided(code, stride), [(steps, 2, 2, None)])
        if name in WARMED:
            runs[f"four: {name}"] = (code, [(steps, 4, 4, None)])
            runs[f"four, warmed up: {name}"] = (
                code,
                [(steps // 2, 1, 1, None), (steps - steps // 2, 4, 4, None)],
            )
    return runs


def branches(
    steps: int = 400, seeds: Sequence[int] = SEEDS, n_chars: int = 400_000, only: str = ""
) -> dict[str, Any]:
    """Train and examine every run of `plans` from every seed.

    only     a piece of the names of the runs that are wanted; "" for all
    returns  settings, and {"runs": name -> {"alone": one number a seed, "gap 2": ..., "leak": ...}}
    """
    corpus = load_corpus("plain-tales", n_chars)
    runs: dict[str, dict[str, list[float]]] = {}
    for name, (code, stages) in plans(steps).items():
        if only not in name:
            continue
        found = []
        for seed in seeds:
            model = make(corpus, code, seed)
            teach(model, corpus, stages, seed, f"{name}, seed {seed}")
            found.append(examine(model, corpus))
        runs[name] = {key: [one[key] for one in found] for key in found[0]}
    settings = {"steps": steps, "seeds": list(seeds), "block_size": BLOCK_SIZE, "length": LENGTH}
    return {**settings, "floor": corpus.floor, "runs": runs}
