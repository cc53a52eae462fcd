"""RoPE with a kernel and without, trained for a short time and a long one, and how far back it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, Gaussian
from babygpt.metrics.answers import role_accuracy
from babygpt.metrics.horizon import cost_of_hiding, far_attention
from babygpt.metrics.inspection import kernel_values, reach
from babygpt.metrics.next_token import loss_by_position
from babygpt.models.transformer import Transformer
from babygpt.objectives import NextToken
from babygpt_course.studies.results import Results
from babygpt_course.studies.roles_and_lengths import questions
from babygpt_course.studies.sweep import SEEDS, small_config, sweep, train_from_seed

VERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "v4": ("v4", {}),
    "v5": ("v5", {}),
    "v5 fixed": ("v5", {"learnable": False}),
    "alibi": ("alibi", {}),
    "v5 per head": ("v5", {"n_head": 4}),
    "v5 per layer": ("v5", {"per_layer": True}),
    "v5-absolute": ("v5-absolute", {}),
    "v5-absolute fixed": ("v5-absolute", {"learnable": False}),
}  # name -> version and options; fixed as in the note, whose kernel no gradient reaches
WORLD, FULL = "plain-tales", "tales"
RACED = ("v4", "v5", "v5 fixed")  # in short runs and in long ones, and in short ones on the full tales
ONLY_SHORT, ONLY_LONG = ("v5-absolute", "v5-absolute fixed"), ("alibi", "v5 per head", "v5 per layer")
SHORT, LONG = 300, 1200  # steps; each run is one of its own, whose learning rate falls to 0
NUMBERS = ("alpha1", "alpha2", "sigma1", "sigma2")
BEYOND = 20  # tokens; half of the answers stand further back
DISTANCES = (4, 8, 12, 16, 20, 24, 28, 32, 48, 63)


def train_variant(
    variant: tuple[str, dict[str, Any]], corpus: Corpus, block_size: int, steps: int, seed: int
) -> tuple[Transformer, float]:
    """Train a small model: the model, and its loss on the whole validation text.

    variant  version and options, such as one of VERSIONS
    """
    version, options = variant
    config, plan = small_config(corpus, block_size), TrainConfig(steps=steps, seed=seed)
    objective, title = NextToken(corpus, block_size), f"{corpus.name} {version} {options or ''} {steps}"
    model, records = train_from_seed(version, config, objective, plan, title, **options)
    assert isinstance(model, Transformer)
    return model, round(float(records[-1].val_loss or 0.0), 5)


def kernel_numbers(encoding: Gaussian) -> dict[str, float]:
    """A kernel's weights and widths, and where it falls below 1/2 and 1/100 of K(0), in tokens."""
    numbers = {name: round(float(getattr(encoding, name)), 4) for name in NUMBERS}
    return {**numbers, "half": reach(encoding, 0.5), "hundredth": reach(encoding, 0.01)}


def kernels_of(encoding: Encoding) -> list[dict[str, float]]:
    """`kernel_numbers` of every kernel that was trained: layer by layer, and head by head."""
    found = []
    for one in encoding.modules():
        if isinstance(one, Gaussian) and list(one.parameters()):
            logs = (one.get(name).detach().exp() for name in ("log_alphas", "log_sigmas"))
            pairs = zip(*(x.reshape(-1, 2).tolist() for x in logs), strict=True)
            found += [kernel_numbers(Gaussian(2, alphas, sigmas)) for alphas, sigmas in pairs]
    return found


def relative_kernel(numbers: Mapping[str, float], furthest: int) -> np.ndarray:
    """K at 0 to `furthest` tokens, as a share of K(0): (furthest + 1,).

    numbers  what `kernel_numbers` returns
    """
    alphas, sigmas = ((numbers[f"{kind}1"], numbers[f"{kind}2"]) for kind in ("alpha", "sigma"))
    values = kernel_values(Gaussian(2, alphas, sigmas, learnable=False), furthest)
    return values / values[0]


def evaluate(model: Transformer, corpus: Corpus, n_questions: int) -> dict[str, Any]:
    """What is asked of every model of the plain tales.

    returns  "loss" at every position up to four windows, "far" its mean over the last of them, "accuracy"
    """
    block_size = model.config.block_size
    loss = loss_by_position(model, corpus.val, 4 * block_size)
    right = role_accuracy(model, corpus.tokenizer, questions(corpus, block_size, n_questions))
    return {
        "loss": rounded(loss),
        "far": round(float(loss[-block_size:].mean()), 4),
        "accuracy": round(right, 4),
    }


def memory_of(model: Transformer, corpus: Corpus, n_questions: int) -> dict[str, Any]:
    """How far back a model reads.

    returns  "near" and "beyond", right answers where the name stands at most, or more than, BEYOND back;
             "hiding": `cost_of_hiding` at DISTANCES; "attention": `far_attention` beyond BEYOND
    """
    block_size = model.config.block_size
    asked = questions(corpus, block_size, n_questions)
    near, beyond = ([q for q in asked if (q.distance > BEYOND) == further] for further in (False, True))
    right = {"near": near, "beyond": beyond}
    return {
        **{name: round(role_accuracy(model, corpus.tokenizer, some), 4) for name, some in right.items()},
        "hiding": rounded(cost_of_hiding(model, corpus.val, DISTANCES, block_size)),
        "attention": [rounded(layer) for layer in far_attention(model, corpus.val, BEYOND, block_size)[0]],
    }


def runs(short: int, long: int) -> list[tuple[str, str, int]]:
    """World, version and steps of every run of a seed."""
    plain = [(WORLD, v, short) for v in (*RACED, *ONLY_SHORT)] + [
        (WORLD, v, long) for v in (*RACED, *ONLY_LONG)
    ]
    return [*plain, *((FULL, v, short) for v in RACED)]


def measure_gaussian(
    seeds: tuple[int, ...] = SEEDS,
    short: int = SHORT,
    long: int = LONG,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 400,
) -> Results:
    """Train RACED for a short time and for a long one, the others for one of these.

    returns  settings; "unfinished": runs left out, of the last seeds; "plain": steps -> version ->
             measurement -> one value a seed: "val_loss", what `evaluate` returns, `kernels_of` where one was
             trained, and of long runs `memory_of`; "full": steps -> version -> "val_loss"; "start":
             `kernel_numbers` before training; "even": the share of far tokens
    """
    corpora = {name: load_corpus(name, n_chars) for name in (WORLD, FULL)}

    def run(variant: tuple[str, str, int], seed: int) -> dict[str, Any]:
        world, version, n = variant
        model, loss = train_variant(VERSIONS[version], corpora[world], block_size, n, seed)
        found = {"val_loss": loss, "kernel": kernels_of(model.encoding)}
        if world == WORLD:
            found |= evaluate(model, corpora[world], n_questions)
        return found | (memory_of(model, corpora[world], n_questions) if n == long else {})

    found = sweep(runs(short, long), seeds, run)
    board: dict[str, dict[str, Any]] = {WORLD: {}, FULL: {}}
    for (world, version, n), measured in found.items():
        board[world].setdefault(str(n), {})[version] = thinned(measured)
    settings = {
        "seeds": list(seeds),
        "unfinished": [],
        "block_size": block_size,
        "beyond": BEYOND,
        "distances": list(DISTANCES),
    }
    more = {"even": even_share(block_size), "start": kernel_numbers(Gaussian(2, ALPHAS, SIGMAS))}
    return {**settings, **more, "plain": board[WORLD], "full": board[FULL]}


def even_share(block_size: int) -> float:
    """The share of far tokens among all that a query in the second half of a window may see."""
    far = np.tri(block_size, block_size, -BEYOND - 1).sum(axis=1) / np.arange(1, block_size + 1)
    return round(float(far[block_size // 2 :].mean()), 4)


def thinned(measured: dict[str, list[Any]]) -> dict[str, Any]:
    """The same, of the losses by position only their mean over seeds, in blocks of eight positions."""
    if "loss" in measured:
        mean = np.array(measured["loss"]).mean(axis=0)
        measured["loss"] = rounded(mean.reshape(-1, 8).mean(axis=1))
    return measured if any(measured["kernel"]) else {k: v for k, v in measured.items() if k != "kernel"}


def rounded(values: Sequence[float] | np.ndarray) -> list[float]:
    """Numbers with four digits after the point, as they are stored."""
    return [round(float(x), 4) for x in values]


def race(results: Results, board: Results) -> dict[int, dict[str, list[float]]]:
    """Losses of RACED after the short runs, after those of the board, and after the long ones.

    board    results of `measure_ladder`, which trains the same models on the same text
    returns  steps -> version -> nats per character, one a seed
    """
    found = {int(n): {v: each[v]["val_loss"] for v in RACED} for n, each in results["plain"].items()}
    found[board["steps"]] = {v: board["board"][v]["1x"] for v in RACED}
    return dict(sorted(found.items()))


def behind_v4(losses: dict[int, dict[str, list[float]]]) -> dict[int, dict[str, list[float]]]:
    """Loss less that of v4 from the same seed: steps -> version -> nats, one a seed that both had."""

    def gaps(one: list[float], other: list[float]) -> list[float]:
        return rounded([x - y for x, y in zip(one, other, strict=False)])

    return {n: {v: gaps(x, each["v4"]) for v, x in each.items() if v != "v4"} for n, each in losses.items()}


def seeds_ahead(losses: dict[int, dict[str, list[float]]], version: str) -> dict[int, str]:
    """In how many seeds a version's loss is below v4's: steps -> such as "2 of 3"."""
    found = {n: np.array(each[version]) for n, each in behind_v4(losses).items()}
    return {n: f"{int((gaps < 0).sum())} of {len(gaps)}" for n, gaps in found.items()}
