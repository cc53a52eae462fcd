"""Study of RoPE with and without a Gaussian kernel, trained for few and for many steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

import babygpt_live as live
from babygpt import NextToken, TrainConfig, build, load_corpus, metrics
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.encodings.base import Encoding, distances
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, Gaussian
from babygpt.errors import BadInput
from babygpt.experiments.paired import compare, differences
from babygpt.experiments.sweep import StudySize, Workers, finish, questions, small_config, sweep
from babygpt.metrics.inspection import kernel_values, reach
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions
from babygpt.training import Step, train
from babygpt.training.optimizers import schedule
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_kernels, draw_seed_lines, draw_seed_points
from babygpt_course.studies.stretching import with_encoding

VERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "v4": ("v4", {}),
    "v5": ("v5", {}),
    "v5 fixed": ("v5", {"learnable": False}),
    "v5 late": ("v5", {}),
    "v5 slow": ("v5", {}),
    "alibi": ("alibi", {}),
    "v5-absolute fixed": ("v5-absolute", {"learnable": False}),
}  # name -> version and options; fixed as in the note, whose kernel no gradient reaches
WORLD = "plain-tales"
FULL = "tales"
RACED = ("v4", "v5", "v5 fixed")  # after every number of steps; those of the middle are on the board
LATE = "v5 late"  # K is trained from a later step on.
SLOW = "v5 slow"  # K is trained from the start, at a lower rate.
FORMULA = "v5-absolute fixed"
NUMBERS = ("alpha1", "alpha2", "sigma1", "sigma2")
BEYOND = 20  # tokens; half of the answers are further back
DISTANCES = (4, 8, 12, 16, 20, 24, 28, 32, 48, 63)
ANSWERS = 0.9  # share of right answers from which a seed counts as one that answers
# The short runs take a quarter of these steps. Each run is one of its own: its learning rate falls to 0.
SCALE = StudySize(steps=1200)


def round_series(values: Sequence[float] | np.ndarray) -> list[float]:
    """Return numbers with four digits after the point, as they are stored."""
    return [round(float(x), 4) for x in values]


def limit_sight(model: Transformer, distance: int) -> Transformer:
    """Return the model with attention limited: no head sees further back than `distance` tokens.

    returns  a model that shares all weights with the first, which is left as it is. Through L layers a
             token may still hear of what stands L times as far, if a token between passes it on.
    Raises BadInput for a distance below 0.
    """
    if distance < 0:
        raise BadInput(f"distance ({distance}) must be at least 0 tokens")
    limited = with_encoding(model, model.encoding)

    def attn_masks(queries: Positions, keys: Positions) -> list[Tensor | None]:
        far = distances(queries, keys).abs().unsqueeze(-3) > distance  # (B|, 1, Tq, Tk)
        # With a copy of the positions, no mask means that all is visible, never attention's own causal mask.
        unmasked = Positions(queries.time, queries.branch, queries.masked)
        nothing = torch.zeros(far.shape, device=far.device, dtype=model.head.weight.dtype)
        masks = model.attn_masks(unmasked, keys)
        return [(nothing if mask is None else mask).masked_fill(far, -torch.inf) for mask in masks]

    limited.attn_masks = attn_masks  # type: ignore[method-assign]
    return limited


def cost_of_hiding(
    model: Transformer, ids: Tensor, distances: Sequence[int], length: int, n_windows: int = 64
) -> np.ndarray:
    """Measure how much the loss rises when tokens further back than a distance are hidden.

    ids        (N,)  text
    distances  each in tokens; one of length - 1 hides nothing
    length     tokens in a window; the loss is the mean over its second half
    n_windows  windows, evenly over the text, the same for every distance
    returns    (len(distances),)  nats per token; 0 where the model did not use what is hidden
    Raises BadInput for a distance below 0, and as `loss_by_position` does.
    """

    def second_half(reader: Transformer) -> float:
        return float(metrics.loss_by_position(reader, ids, length, n_windows)[length // 2 :].mean())

    whole = second_half(model)
    return np.array([second_half(limit_sight(model, distance)) - whole for distance in distances])


def late_starts(long: int) -> dict[int, int]:
    """Return when the kernel of LATE starts to be trained: steps of the run -> step.

    In the short run the learning rate is low by then. In the long one the rates that are left add up to
    those of a whole short run.
    """
    return {long // 4: long // 6, long: long // 2}


def slow_share(steps: int, start: int) -> float:
    """Return the share of a run's learning rates, summed over its steps, that follows a step."""
    rates = [schedule(step, TrainConfig(steps=steps)) for step in range(steps)]
    return sum(rates[start:]) / sum(rates)


def with_kernel(steps: Iterator[Step], encoding: Encoding, start: int, share: float) -> Iterator[Step]:
    """Train the encoding's numbers from a step on only, or at a lower rate.

    steps     training loop of the encoding's model
    start     steps during which the numbers stay as they are and no optimizer sees a gradient of theirs
    share     of each change that is kept, 0 to 1
    returns   the same records
    """
    numbers = list(encoding.parameters())
    for p in numbers:
        p.requires_grad_(start == 0)
    before = [p.detach().clone() for p in numbers]
    for step in steps:
        for old, p in zip(before, numbers, strict=True):
            with torch.no_grad():
                p.copy_(old.lerp_(p, share))
            p.requires_grad_(step.step >= start)
        yield step


def train_variant(name: str, corpus: Corpus, steps: int, seed: int, long: int) -> tuple[Transformer, float]:
    """Train a small model: the model, and its loss on the whole validation text.

    name  one of VERSIONS
    long  steps of the longest run, on which `late_starts` depends
    """
    version, options = VERSIONS[name]
    plan = TrainConfig(steps=steps, seed=seed)
    torch.manual_seed(seed)
    model = build(version, small_config(corpus, SCALE.block_size), **options).to(pick_device())
    assert isinstance(model, Transformer)
    start = late_starts(long)[steps] if name in (LATE, SLOW) else 0
    share = slow_share(steps, start) if name == SLOW else 1.0
    run = train(model, NextToken(corpus, SCALE.block_size), plan)
    run = with_kernel(run, model.encoding, start if name == LATE else 0, share)
    records = finish(run, steps, f"{corpus.name} {name} {steps}")
    return model, round(float(records[-1].val_loss or 0.0), 5)


def kernel_numbers(encoding: Gaussian) -> dict[str, float]:
    """Return a kernel's weights and widths, and where it falls below 1/2 and 1/100 of K(0), in tokens."""
    numbers = {name: round(float(getattr(encoding, name)), 4) for name in NUMBERS}
    return {**numbers, "half": reach(encoding, 0.5), "hundredth": reach(encoding, 0.01)}


def kernels_of(encoding: Encoding) -> list[dict[str, float]]:
    """Return `kernel_numbers` of the kernel, if it was trained."""
    is_trained = any(True for _ in encoding.parameters())
    return [kernel_numbers(encoding)] if isinstance(encoding, Gaussian) and is_trained else []


def relative_kernel(numbers: Mapping[str, float], furthest: int) -> np.ndarray:
    """Return K at 0 to `furthest` tokens, as a share of K(0): (furthest + 1,).

    numbers  what `kernel_numbers` returns
    """
    alphas, sigmas = ((numbers[f"{kind}1"], numbers[f"{kind}2"]) for kind in ("alpha", "sigma"))
    values = kernel_values(Gaussian(2, alphas, sigmas, learnable=False), furthest)
    return values / values[0]


def evaluate_reading(model: Transformer, corpus: Corpus, quiz: list[Any]) -> dict[str, Any]:
    """Measure a model of the plain tales.

    returns  "loss" at every position up to four windows, "far" its mean over the last of them, "accuracy"
    """
    block_size = model.config.block_size
    loss = metrics.loss_by_position(model, corpus.val, 4 * block_size)
    right = metrics.role_accuracy(model, corpus.tokenizer, quiz)
    far = float(loss[-block_size:].mean())
    return {"loss": round_series(loss), "far": round(far, 4), "accuracy": round(right, 4)}


def evaluate_memory(model: Transformer, corpus: Corpus, quiz: list[Any]) -> dict[str, Any]:
    """Measure how far back a model reads.

    returns  "near" and "beyond", right answers to questions whose name is at most, or more than, BEYOND back;
             "hiding": `cost_of_hiding` at DISTANCES
    """
    right = {}
    for name, further in (("near", False), ("beyond", True)):
        group = [q for q in quiz if (q.distance > BEYOND) == further]
        right[name] = round(metrics.role_accuracy(model, corpus.tokenizer, group), 4)
    hiding = cost_of_hiding(model, corpus.val, DISTANCES, model.config.block_size)
    return {**right, "hiding": round_series(hiding)}


def kernel_runs(long: int) -> list[tuple[str, str, int]]:
    """Return the world, version and steps of every run of a seed."""
    plain = [(WORLD, v, long // 4) for v in (*RACED, LATE, SLOW, FORMULA)]
    plain += [(WORLD, v, long) for v in (*RACED, LATE, "alibi")]
    return [*plain, *((FULL, v, long // 4) for v in ("v4", "v5 fixed"))]


def measure_gaussian(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train RACED and LATE for few steps and for many, the others for one of these.

    returns  settings; "plain": steps -> version -> measurement -> one value a seed: "val_loss",
             `evaluate_reading`, `kernels_of` if one was trained, and of long runs `evaluate_memory`; "full":
             steps -> version -> "val_loss"; "start": `kernel_numbers` before training; "late": `late_starts`
    """
    corpora = {name: load_corpus(name, scale.n_chars) for name in (WORLD, FULL)}
    quiz = questions(corpora[WORLD], scale.block_size, scale.n_questions)

    def run(variant: tuple[str, str, int], seed: int) -> dict[str, Any]:
        world, name, n = variant
        model, loss = train_variant(name, corpora[world], n, seed, scale.steps)
        numbers = {"val_loss": loss, "kernel": kernels_of(model.encoding)}
        if world == WORLD:
            numbers |= evaluate_reading(model, corpora[world], quiz)
        return numbers | (evaluate_memory(model, corpora[world], quiz) if n == scale.steps else {})

    board: dict[str, dict[str, Any]] = {WORLD: {}, FULL: {}}
    for (world, name, n), numbers in sweep(kernel_runs(scale.steps), scale.seeds, run, workers).items():
        if "loss" in numbers:  # only their mean over seeds, in blocks of eight positions
            numbers["loss"] = round_series(np.mean(numbers["loss"], axis=0).reshape(-1, 8).mean(axis=1))
        if not any(numbers["kernel"]):
            del numbers["kernel"]
        board[world].setdefault(str(n), {})[name] = numbers
    return {
        **{"seeds": list(scale.seeds), "block_size": scale.block_size, "beyond": BEYOND},
        **{"distances": list(DISTANCES), "late": late_starts(scale.steps)},
        "start": kernel_numbers(Gaussian(2, ALPHAS, SIGMAS)),
        **{"plain": board[WORLD], "full": board[FULL]},
    }


# ---------------------------------------------------------------- of stored results


def race(
    results: Results, board: Results, key: str = "val_loss", on_board: str = "1x"
) -> dict[int, dict[str, list[float]]]:
    """Return a number of RACED, LATE and SLOW after runs of each length, those of the board among them.

    board          results of `measure_ladder`, which trains RACED on the same text from the same seeds
    key, on_board  name of the number in either results; by default the loss, in nats per character
    returns        steps -> version -> one a seed
    """
    shown, middle = (*RACED, LATE, SLOW), board["steps"]
    numbers = {int(n): {v: each[v][key] for v in shown if v in each} for n, each in results["plain"].items()}
    numbers[middle] = {v: board["board"][v][on_board] for v in RACED}
    return dict(sorted(numbers.items()))


def behind(losses: dict[int, dict[str, list[float]]], rival: str = "v4") -> dict[int, dict[str, list[float]]]:
    """Return loss less a rival's from the same seed: steps -> version -> nats, one a seed."""
    return {
        n: {v: round_series(differences(seeds, each[rival])) for v, seeds in each.items() if v != rival}
        for n, each in losses.items()
    }


def count_answering(shares: Sequence[float]) -> str:
    """Return how many seeds answer, such as "5 of 6"."""
    return f"{sum(share > ANSWERS for share in shares)} of {len(shares)}"


def longest(results: Results) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the most steps, and what was measured after them."""
    return max(results["plain"].items(), key=lambda item: int(item[0]))


def draw_gaussian(figure: Figure, results: Results) -> None:
    """Draw losses, answers, reach of trained kernels; hiding the past, loss by position, kernels."""
    panels = (draw_race, draw_answer_shares, draw_reach, draw_hiding, draw_reading, draw_trained)
    for draw, ax in zip(panels, figure.subplots(2, 3).flat, strict=True):
        draw(ax, results)


def draw_race(ax: Axes, results: Results) -> None:
    """Draw loss less v4's after runs of each length, those of the board among them, a point a seed."""
    gaps = behind(race(results, load_results("ladder")))
    gap_by_steps = {n: compare(each["v5 fixed"]) for n, each in gaps.items()}
    title = "v5 fixed less v4: " + ", ".join(f"{gap.mean:+.2f} ({n})" for n, gap in gap_by_steps.items())
    draw_seed_points(ax, {f"{n} steps": each for n, each in gaps.items()}, title, "", "loss less v4's (nats)")
    ax.axhline(0.0, color="black", lw=1, ls="--")


def draw_answer_shares(ax: Axes, results: Results) -> None:
    """Draw right answers after runs of each length, a point a seed."""
    shares_by_steps = race(results, load_results("ladder"), "accuracy", "roles")
    groups = {f"{n} steps": shares for n, shares in shares_by_steps.items()}
    counts = ", ".join(count_answering(each["v5"]) for each in shares_by_steps.values())
    title = f"Who did it? v5 answers from {counts} seeds"
    draw_seed_points(ax, groups, title, "", "share of right answers")
    ax.axhline(0.5, color="black", lw=1, ls="--")


def draw_reach(ax: Axes, results: Results) -> None:
    """Draw where trained kernels fall below a hundredth, after runs of each length, a point a seed."""
    groups: dict[str, dict[str, list[float]]] = {}
    for n in sorted(results["plain"], key=int):
        trained = {v: x for v, x in results["plain"][n].items() if v in ("v5", LATE, SLOW)}
        groups[f"{n} steps"] = {v: [k["hundredth"] for (k,) in x["kernel"]] for v, x in trained.items()}
    start, late = results["start"]["hundredth"], results["late"]
    title = "v5 late: K trained from step " + " and ".join(f"{step} of {n}" for n, step in late.items())
    draw_seed_points(ax, groups, title, "", "K falls below 1/100 (tokens)")
    ax.axhline(start, color="black", lw=1, ls="--")


def draw_hiding(ax: Axes, results: Results) -> None:
    """Draw the cost of hiding what is further back from each model, a line a seed."""
    steps, board = longest(results)
    cost = {v: np.array(board[v]["hiding"]) for v in (*RACED, "alibi") if v in board}
    title = f"After {steps} steps: the cost of hiding what is further back"
    labels = "hidden beyond (tokens)", "nats per character"
    draw_seed_lines(ax, results["distances"], cost, title, *labels)


def draw_reading(ax: Axes, results: Results) -> None:
    """Draw mean loss by position up to four windows, each version after its longest training."""
    last = {v: (int(n), x) for n in sorted(results["plain"], key=int) for v, x in results["plain"][n].items()}
    shown = {v: last[v] for v in (*RACED, "alibi", FORMULA) if v in last}
    curves = {v: np.repeat(x["loss"], 8) for v, (_, x) in shown.items()}
    far = {v: np.mean(shown[v][1]["far"]) for v in RACED}
    title = f"At 4 windows: v4 {far['v4']:.2f}, v5 {far['v5']:.2f}, v5 fixed {far['v5 fixed']:.2f} nats"
    live.draw_by_position(ax, curves, results["block_size"], title)
    for line in ax.get_lines():  # not all were trained for as long
        if (name := str(line.get_label())) in shown:
            line.set_label(f"{name}, {shown[name][0]} steps")
    ax.legend(fontsize=9, loc="upper left")


def draw_trained(ax: Axes, results: Results) -> None:
    """Draw every kernel that the longest training made, a line a seed."""
    steps, board = longest(results)
    named = {v: [k for seed in each["kernel"] for k in seed] for v, each in board.items() if "kernel" in each}
    furthest = results["block_size"]
    curves = {v: np.array([relative_kernel(k, furthest) for k in each]) for v, each in named.items()}
    halves = " or ".join(map(str, sorted({k["half"] for k in named["v5"]})))
    title = f"After {steps} steps, K of v5 halves in {halves} tokens"
    draw_kernels(ax, curves, relative_kernel(results["start"], furthest), title)
