"""RoPE with a kernel and without: loss near and far, right answers, and which distances K keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, Gaussian
from babygpt.experiments.results import Results
from babygpt.experiments.roles_and_lengths import questions
from babygpt.experiments.sweep import SEEDS, by_measurement, small_config, sweep, train_from_seed
from babygpt.metrics.inspection import kernel_values, reach
from babygpt.metrics.next_token import loss_by_position, role_accuracy
from babygpt.models.base import LanguageModel
from babygpt.objectives import NextToken

VERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "v4": ("v4", {}),
    "v5": ("v5", {}),
    "v5 fixed": ("v5", {"learnable": False}),
    "v5-absolute": ("v5-absolute", {}),
    "v5-absolute fixed": ("v5-absolute", {"learnable": False}),
    "alibi": ("alibi", {}),
}  # name -> version and options; fixed as in the note, whose kernel no gradient reaches
ON_FULL = ("v4", "v5", "v5 fixed")
WORLD, FULL = "plain-tales", "tales"
NUMBERS = ("alpha1", "alpha2", "sigma1", "sigma2")


def train_variant(
    name: str, corpus: Corpus, block_size: int, steps: int, seed: int
) -> tuple[LanguageModel, float]:
    """Train a small model of one of VERSIONS: the model, and its loss on the whole validation text."""
    version, options = VERSIONS[name]
    config, plan = small_config(corpus, block_size), TrainConfig(steps=steps, seed=seed)
    objective, title = NextToken(corpus, block_size), f"{corpus.name} {name}"
    model, records = train_from_seed(version, config, objective, plan, title, **options)
    return model, float(records[-1].val_loss or 0.0)


def kernel_numbers(encoding: Gaussian) -> dict[str, float]:
    """A kernel's weights and widths, and where it falls below 1/2 and 1/100 of K(0), in tokens."""
    numbers = {name: round(float(getattr(encoding, name)), 4) for name in NUMBERS}
    return {**numbers, "half": reach(encoding, 0.5), "hundredth": reach(encoding, 0.01)}


def relative_kernel(numbers: Mapping[str, float], furthest: int) -> np.ndarray:
    """K at 0 to `furthest` tokens, as a share of K(0): (furthest + 1,).

    numbers  what `kernel_numbers` returns
    """
    alphas, sigmas = ((numbers[f"{kind}1"], numbers[f"{kind}2"]) for kind in ("alpha", "sigma"))
    values = kernel_values(Gaussian(2, alphas, sigmas, learnable=False), furthest)
    return values / values[0]


def evaluate(model: LanguageModel, corpus: Corpus, n_questions: int) -> dict[str, Any]:
    """Loss at every position up to four windows, right answers, and the kernel if one was trained."""
    block_size = model.config.block_size
    asked = questions(corpus, block_size, n_questions)
    found: dict[str, Any] = {
        "loss": loss_by_position(model, corpus.val, 4 * block_size),
        "accuracy": role_accuracy(model, corpus.tokenizer, asked),
    }
    if isinstance(model.encoding, Gaussian) and list(model.encoding.parameters()):
        found["kernel"] = kernel_numbers(model.encoding)
    return found


def measure_gaussian(
    versions: Sequence[str] = tuple(VERSIONS),
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 300,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 400,
) -> Results:
    """Train every version on the plain tales, and those of ON_FULL on the full tales too.

    returns  settings; "val_loss": corpus -> version -> one number a seed; of the models of the plain
             tales "loss": version -> mean over seeds at each position up to 4 x block_size, "far":
             version -> mean over the last block_size of them, one number a seed, "accuracy": version ->
             one number a seed, "kernel": version -> `kernel_numbers`, one a seed; "start":
             `kernel_numbers` before training
    """
    corpora = {name: load_corpus(name, n_chars) for name in (WORLD, FULL)}

    def run(variant: tuple[str, str], seed: int) -> dict[str, Any]:
        world, version = variant
        model, loss = train_variant(version, corpora[world], block_size, steps, seed)
        more = evaluate(model, corpora[world], n_questions) if world == WORLD else {}
        return {"val_loss": loss, **more}

    found = sweep([*((WORLD, v) for v in versions), *((FULL, v) for v in ON_FULL)], seeds, run)
    val_loss: dict[str, dict[str, list[float]]] = {WORLD: {}, FULL: {}}
    for (world, version), measured in found.items():
        val_loss[world][version] = measured["val_loss"]
    of_plain = by_measurement({v: found[WORLD, v] for v in versions}, "loss", "accuracy", "kernel")
    losses = {version: np.array(seeds) for version, seeds in of_plain["loss"].items()}
    return {
        **{"steps": steps, "seeds": list(seeds), "block_size": block_size, "val_loss": val_loss},
        "start": kernel_numbers(Gaussian(2, ALPHAS, SIGMAS)),
        "loss": {v: rounded(each.mean(axis=0)) for v, each in losses.items()},
        "far": {v: rounded(each[:, -block_size:].mean(axis=1)) for v, each in losses.items()},
        "accuracy": of_plain["accuracy"],
        "kernel": of_plain["kernel"],
    }


def rounded(values: np.ndarray) -> list[float]:
    """Numbers with four digits after the point, as they are stored."""
    return [round(float(x), 4) for x in values]


def draw_gaussian(figure: Figure, results: Results) -> None:
    """Loss by position, the trained kernels, and right answers, over three seeds."""
    loss, kernels, roles = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 1.2))
    curves = {name: np.array(losses) for name, losses in results["loss"].items()}
    far, right = ({v: np.mean(seeds) for v, seeds in results[key].items()} for key in ("far", "accuracy"))
    title = f"Four times longer: v4 {far['v4']:.2f}, v5 {far['v5']:.2f}, v5 fixed {far['v5 fixed']:.2f}"
    plots.draw_by_position(loss, curves, results["block_size"], title)
    loss.legend(fontsize=9, loc="upper left")
    furthest = 2 * results["block_size"]
    trained = {
        v: np.array([relative_kernel(k, furthest) for k in seeds]) for v, seeds in results["kernel"].items()
    }
    half = {v: np.mean([kernel["half"] for kernel in seeds]) for v, seeds in results["kernel"].items()}
    title = f"Trained, K halves in {half['v5']:.0f} tokens or in {half['v5-absolute']:.0f}"
    plots.draw_kernels(kernels, trained, relative_kernel(results["start"], furthest), title)
    title = f"Who did it? v4 {right['v4']:.0%}, v5 {right['v5']:.0%}, v5 fixed {right['v5 fixed']:.0%}"
    plots.draw_accuracy_bars(roles, results["accuracy"], title)
    roles.tick_params(axis="x", labelsize=9, rotation=20)
