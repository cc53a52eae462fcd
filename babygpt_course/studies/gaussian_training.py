"""Study of RoPE with and without a Gaussian kernel, trained for few and for many steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import NextToken, TrainConfig, load_corpus, metrics, plots
from babygpt.data.corpus import Corpus
from babygpt.encodings.base import Encoding, distances
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, Gaussian
from babygpt.errors import BadInput
from babygpt.metrics.inspection import attention_weights, kernel_values, reach
from babygpt.models.stretching import with_encoding
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_kernels, draw_seed_lines, draw_seed_points
from babygpt_course.studies.sweep import Scale, Workers, questions, small_config, sweep, train_from_seed

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
NUMBERS = ("alpha1", "alpha2", "sigma1", "sigma2")
BEYOND = 20  # tokens; half of the answers are further back
DISTANCES = (4, 8, 12, 16, 20, 24, 28, 32, 48, 63)
SCALE = Scale(steps=1200)  # and a quarter; each run is one of its own, whose learning rate falls to 0


def rounded(values: Sequence[float] | np.ndarray) -> list[float]:
    """Return numbers with four digits after the point, as they are stored."""
    return [round(float(x), 4) for x in values]


def short_sighted(model: Transformer, distance: int) -> Transformer:
    """Return the model with attention limited: no head sees further back than `distance` tokens.

    returns  a model that shares all weights with the first, which is left as it is. Through L layers a
             token may still hear of what stands L times as far, if a token between passes it on.
    Raises ValueError for a distance below 0.
    """
    if distance < 0:
        raise BadInput(f"distance ({distance}) must be at least 0 tokens")
    other = with_encoding(model, model.encoding)

    def hidden(queries: Positions, keys: Positions, unbiased: bool) -> Tensor:
        far = distances(queries, keys).abs().unsqueeze(-3) > distance  # (B|, 1, Tq, Tk)
        mask = model.hidden(queries, keys, unbiased=False)  # no mask of attention's own, which knows no `far`
        mask = torch.zeros(far.shape, device=far.device) if mask is None else mask
        return mask.masked_fill(far, -torch.inf)

    other.hidden = hidden  # type: ignore[method-assign]
    return other


def cost_of_hiding(
    model: Transformer, ids: Tensor, distances: Sequence[int], length: int, n_windows: int = 64
) -> np.ndarray:
    """Measure how much the loss rises when tokens further back than a distance are hidden.

    ids        (N,)  text
    distances  each in tokens; one of length - 1 hides nothing
    length     tokens in a window; the loss is the mean over its second half
    n_windows  windows, evenly over the text, the same for every distance
    returns    (len(distances),)  nats per token; 0 where the model did not use what is hidden
    Raises ValueError for a distance below 0, and as `loss_by_position` does.
    """

    def second_half(seen: Transformer) -> float:
        return float(metrics.loss_by_position(seen, ids, length, n_windows)[length // 2 :].mean())

    whole = second_half(model)
    return np.array([second_half(short_sighted(model, distance)) - whole for distance in distances])


def train_variant(
    variant: tuple[str, dict[str, Any]], corpus: Corpus, steps: int, seed: int
) -> tuple[Transformer, float]:
    """Train a small model: the model, and its loss on the whole validation text.

    variant  version and options, such as one of VERSIONS
    """
    version, options = variant
    config, plan = small_config(corpus, SCALE.block_size), TrainConfig(steps=steps, seed=seed)
    objective, title = NextToken(corpus, SCALE.block_size), f"{corpus.name} {version} {options or ''} {steps}"
    model, records = train_from_seed(version, config, objective, plan, title, **options)
    assert isinstance(model, Transformer)
    return model, round(float(records[-1].val_loss or 0.0), 5)


def kernel_numbers(encoding: Gaussian) -> dict[str, float]:
    """Return a kernel's weights and widths, and where it falls below 1/2 and 1/100 of K(0), in tokens."""
    numbers = {name: round(float(getattr(encoding, name)), 4) for name in NUMBERS}
    return {**numbers, "half": reach(encoding, 0.5), "hundredth": reach(encoding, 0.01)}


def kernels_of(encoding: Encoding) -> list[dict[str, float]]:
    """Return `kernel_numbers` of every kernel that was trained: layer by layer, and head by head."""
    found = []
    for one in encoding.modules():
        if isinstance(one, Gaussian) and list(one.parameters()):
            logs = (one.get(name).detach().exp() for name in ("log_alphas", "log_sigmas"))
            pairs = zip(*(x.reshape(-1, 2).tolist() for x in logs), strict=True)
            found += [kernel_numbers(Gaussian(2, alphas, sigmas)) for alphas, sigmas in pairs]
    return found


def relative_kernel(numbers: Mapping[str, float], furthest: int) -> np.ndarray:
    """Return K at 0 to `furthest` tokens, as a share of K(0): (furthest + 1,).

    numbers  what `kernel_numbers` returns
    """
    alphas, sigmas = ((numbers[f"{kind}1"], numbers[f"{kind}2"]) for kind in ("alpha", "sigma"))
    values = kernel_values(Gaussian(2, alphas, sigmas, learnable=False), furthest)
    return values / values[0]


def evaluate_reading(model: Transformer, corpus: Corpus, asked: list[Any]) -> dict[str, Any]:
    """Measure a model of the plain tales.

    returns  "loss" at every position up to four windows, "far" its mean over the last of them, "accuracy"
    """
    block_size = model.config.block_size
    loss = metrics.loss_by_position(model, corpus.val, 4 * block_size)
    right = metrics.role_accuracy(model, corpus.tokenizer, asked)
    far = float(loss[-block_size:].mean())
    return {"loss": rounded(loss), "far": round(far, 4), "accuracy": round(right, 4)}


def far_attention(
    model: Transformer, ids: Tensor, beyond: int, length: int, n_windows: int = 16
) -> tuple[np.ndarray, float]:
    """Measure the share of attention that falls on tokens more than a distance back, head by head.

    ids        (N,)  text
    beyond     the distance, in tokens
    length     tokens in a window; the queries of its second half count
    returns    (n_layer, n_head) shares, 0 to 1; and the share of attention that is the same on every token
    """
    starts = torch.linspace(0, len(ids) - length, n_windows).long()
    far = np.tri(length, length, -beyond - 1, dtype=bool)  # query m, key n: n < m - beyond
    shares = []
    for at in starts:  # window by window: the weights of all of them may not fit
        weights = np.where(far, attention_weights(model, ids[at : at + length]), 0.0)  # (L, H, T, T)
        shares.append(weights.sum(axis=-1)[..., length // 2 :])
    even = (far.sum(axis=-1) / np.arange(1, length + 1))[length // 2 :]
    return np.stack(shares).mean(axis=(0, -1)), float(even.mean())


def evaluate_memory(model: Transformer, corpus: Corpus, asked: list[Any]) -> dict[str, Any]:
    """Measure how far back a model reads.

    returns  "near" and "beyond", right answers to questions whose name is at most, or more than, BEYOND back;
             "hiding": `cost_of_hiding` at DISTANCES; "attention": `far_attention` beyond BEYOND
    """
    block_size, right = model.config.block_size, {}
    for name, further in (("near", False), ("beyond", True)):
        some = [q for q in asked if (q.distance > BEYOND) == further]
        right[name] = round(metrics.role_accuracy(model, corpus.tokenizer, some), 4)
    attention = far_attention(model, corpus.val, BEYOND, block_size)[0]
    hiding = rounded(cost_of_hiding(model, corpus.val, DISTANCES, block_size))
    return {**right, "hiding": hiding, "attention": [rounded(layer) for layer in attention]}


def kernel_runs(long: int) -> list[tuple[str, str, int]]:
    """Return the world, version and steps of every run of a seed; short ones take a quarter of the long."""
    short = long // 4
    plain = [(WORLD, v, short) for v in (*RACED, *ONLY_SHORT)]
    plain += [(WORLD, v, long) for v in (*RACED, *ONLY_LONG)]
    return [*plain, *((FULL, v, short) for v in RACED)]


def measure_gaussian(workers: Workers, scale: Scale = SCALE) -> Results:
    """Train RACED for few steps and for many, the others for one of these.

    returns  settings; "plain": steps -> version -> measurement -> one value a seed: "val_loss",
             `evaluate_reading`, `kernels_of` if one was trained, and of long runs `evaluate_memory`; "full":
             steps -> version -> "val_loss"; "start": `kernel_numbers` before training; "even": the share of
             far tokens
    """
    corpora = {name: load_corpus(name, scale.n_chars) for name in (WORLD, FULL)}
    asked = questions(corpora[WORLD], scale.block_size, scale.n_questions)

    def run(variant: tuple[str, str, int], seed: int) -> dict[str, Any]:
        world, version, n = variant
        model, loss = train_variant(VERSIONS[version], corpora[world], n, seed)
        found = {"val_loss": loss, "kernel": kernels_of(model.encoding)}
        if world == WORLD:
            found |= evaluate_reading(model, corpora[world], asked)
        return found | (evaluate_memory(model, corpora[world], asked) if n == scale.steps else {})

    board: dict[str, dict[str, Any]] = {WORLD: {}, FULL: {}}
    for (world, version, n), found in sweep(kernel_runs(scale.steps), scale.seeds, run, workers).items():
        if "loss" in found:  # only their mean over seeds, in blocks of eight positions
            found["loss"] = rounded(np.mean(found["loss"], axis=0).reshape(-1, 8).mean(axis=1))
        if not any(found["kernel"]):
            del found["kernel"]
        board[world].setdefault(str(n), {})[version] = found
    # of all tokens that a query in the second half of a window may see, the share beyond BEYOND
    size = scale.block_size
    even = np.tri(size, size, -BEYOND - 1).sum(axis=1) / np.arange(1, size + 1)
    return {
        **{"seeds": list(scale.seeds), "block_size": scale.block_size, "beyond": BEYOND},
        **{"distances": list(DISTANCES), "even": round(float(even[size // 2 :].mean()), 4)},
        "start": kernel_numbers(Gaussian(2, ALPHAS, SIGMAS)),
        **{"plain": board[WORLD], "full": board[FULL]},
    }


# ---------------------------------------------------------------- of stored results


def race(
    results: Results, board: Results, key: str = "val_loss", on_board: str = "1x"
) -> dict[int, dict[str, list[float]]]:
    """Return a number of RACED after the short runs, after those of the board, and after the long ones.

    board          results of `measure_ladder`, which trains the same models on the same text
    key, on_board  name of the number in either results; by default the loss, in nats per character
    returns        steps -> version -> one a seed
    """
    found = {int(n): {v: each[v][key] for v in RACED} for n, each in results["plain"].items()}
    found[board["steps"]] = {v: board["board"][v][on_board] for v in RACED}
    return dict(sorted(found.items()))


def behind_v4(losses: dict[int, dict[str, list[float]]]) -> dict[int, dict[str, list[float]]]:
    """Return loss less that of v4 from the same seed: steps -> version -> nats, one a seed that both had."""
    gaps: dict[int, dict[str, list[float]]] = {}
    for n, each in losses.items():
        pairs = {v: zip(seeds, each["v4"], strict=False) for v, seeds in each.items() if v != "v4"}
        gaps[n] = {v: rounded([x - y for x, y in both]) for v, both in pairs.items()}
    return gaps


def seeds_ahead(losses: dict[int, dict[str, list[float]]], version: str) -> dict[int, str]:
    """Return in how many seeds a version's loss is below v4's: steps -> such as "2 of 3"."""
    found = {n: each[version] for n, each in behind_v4(losses).items()}
    return {n: f"{sum(gap < 0 for gap in gaps)} of {len(gaps)}" for n, gaps in found.items()}


def longest(results: Results) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the most steps, and what was measured after them."""
    return max(results["plain"].items(), key=lambda item: int(item[0]))


def draw_gaussian(figure: Figure, results: Results) -> None:
    """Draw loss beside v4's, answers, the cost of hiding the past; attention, loss by position, kernels."""
    panels = (draw_race, draw_answers, draw_hiding, draw_attention, draw_reading, draw_trained)
    for draw, ax in zip(panels, figure.subplots(2, 3).flat, strict=True):
        draw(ax, results)


def draw_race(ax: Axes, results: Results) -> None:
    """Draw loss less v4's after runs of each length, those of the board among them, a point a seed."""
    losses = race(results, load_results("ladder"))
    ahead = ", ".join(seeds_ahead(losses, "v5 fixed").values())
    groups = {f"{n} steps": found for n, found in behind_v4(losses).items()}
    title = f"v5 fixed is ahead of v4 in {ahead} seeds"
    draw_seed_points(ax, groups, title, "", "loss less v4's (nats)")
    ax.axhline(0.0, color="black", lw=1, ls="--")


def draw_answers(ax: Axes, results: Results) -> None:
    """Draw right answers after runs of each length, a point a seed."""
    found = race(results, load_results("ladder"), "accuracy", "roles")
    groups = {f"{n} steps": shares for n, shares in found.items()}
    draw_seed_points(ax, groups, "Who did it? Right answers", "", "share of right answers")
    ax.axhline(0.5, color="black", lw=1, ls="--")


def draw_hiding(ax: Axes, results: Results) -> None:
    """Draw the cost of hiding what is further back from each model, a line a seed."""
    steps, board = longest(results)
    cost = {v: np.array(board[v]["hiding"]) for v in (*RACED, "alibi") if v in board}
    title = f"After {steps} steps: the cost of hiding what is further back"
    labels = "hidden beyond (tokens)", "nats per character"
    draw_seed_lines(ax, results["distances"], cost, title, *labels)


def draw_attention(ax: Axes, results: Results) -> None:
    """Draw attention to far tokens against the cost of hiding them, a point a model."""
    steps, board = longest(results)
    at, beyond = results["distances"].index(results["beyond"]), results["beyond"]
    points: list[tuple[float, float]] = []
    for name, found in board.items():
        share, cost = np.array(found["attention"]).mean(axis=(1, 2)), np.array(found["hiding"])[:, at]
        ax.plot(share, cost, "o", color=plots.ENCODING_COLOURS.get(name), ms=7, alpha=0.75, label=name)
        points += zip(share, cost, strict=True)
    ax.axvline(results["even"], color="black", lw=1, ls="--")
    least, worth = max(points, key=lambda point: point[1] / point[0])
    title = f"{least:.0%} of a model's attention, worth {worth:.2f} nats, after {steps} steps"
    label = f"attention beyond {beyond} tokens (dashed: spread evenly)"
    plots.artists.set_labels(ax, title, label, "cost of hiding it (nats)")
    ax.legend(fontsize=9)


def draw_reading(ax: Axes, results: Results) -> None:
    """Draw loss by position up to four windows, each version after its longest training."""
    last: dict[str, dict[str, Any]] = {}
    for n in sorted(results["plain"], key=int):
        last |= results["plain"][n]
    curves = {v: np.repeat(last[v]["loss"], 8) for v in last if v not in ONLY_LONG[1:]}
    far = {v: np.mean(found["far"]) for v, found in last.items()}
    title = f"Four times longer: v4 {far['v4']:.2f}, v5 {far['v5']:.2f}, v5 fixed {far['v5 fixed']:.2f}"
    plots.draw_by_position(ax, curves, results["block_size"], title)
    ax.legend(fontsize=9, loc="upper left")


def draw_trained(ax: Axes, results: Results) -> None:
    """Draw every kernel that the longest training made: of all seeds, layers and heads."""
    _, board = longest(results)
    named = {v: [k for seed in each["kernel"] for k in seed] for v, each in board.items() if "kernel" in each}
    furthest = results["block_size"]
    curves = {v: np.array([relative_kernel(k, furthest) for k in each]) for v, each in named.items()}
    halves = [k["half"] for each in named.values() for k in each]
    title = f"Trained, K halves in {min(halves)} to {max(halves)} tokens"
    draw_kernels(ax, curves, relative_kernel(results["start"], furthest), title)
