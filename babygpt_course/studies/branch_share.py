"""Study of how a head's pairs are shared among branch, time and row, with 2 to 32 texts in a sequence."""

from __future__ import annotations

from statistics import mean

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import plots
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.encodings import Fourier, Rotary, Rotary2D
from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import rotate_pairs
from babygpt.encodings.sinusoidal import frequencies, high_precision
from babygpt.errors import BadInput
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.models.transformer import Transformer
from babygpt.objectives import Branches
from babygpt.positions import Positions
from babygpt.tables import format_mean_sd, markdown, mean_sd
from babygpt.training import finish, train
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, in_turn, small_config, sweep

BLOCK_SIZE, LENGTH, TEXTS, STRIDE = 40, 32, 16, 128  # shorter texts than in `branches`: sixteen share a row
COUNTS = (2, 8, 16)  # texts in a sequence, in training
READ = (1, 2, 8, 16, 32)  # texts in a sequence, when a trained model is measured
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
FEW = (0.0, 0.5, 1.0)  # of the shares, where the layout of the row is compared
MIXED = "1 to 8 texts"
SCALE = Scale(steps=200)


class RowRotary(Encoding):
    """RoPE by the position in the interleaved row; of the slowest pairs, branch and time turn every second.

    This is what "2-D RoPE" is in parallelmind: its ratio is the share of pairs that leave the row, not of
    those that turn with the branch. It needs the whole row at once, so it cannot be read with a cache.

    head_dim  channels of a head, even
    ratio     share of the pairs that leave the row, between 0 and 1; a half pair is rounded up
    theta     base of the frequencies
    stride    distance between neighbouring branches, in positions
    Raises BadInput for a ratio outside 0 to 1.
    Source: github.com/Fzkuji/parallelmind, Interleaved2DRoPE in src/model/columnar.py.
    """

    for_branches = True

    def __init__(self, head_dim: int, ratio: float, theta: float = 10_000.0, stride: float = STRIDE) -> None:
        super().__init__()
        if not 0 <= ratio <= 1:
            raise BadInput(f"ratio ({ratio}) must lie between 0 and 1")
        pairs = len(frequencies(head_dim, theta))
        chosen = int(ratio * pairs + 0.5)
        self.coordinates = [0] * (pairs - chosen) + [1 + i % 2 for i in range(chosen)]
        self.theta, self.stride = float(theta), float(stride)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        if positions.branch is None:
            raise BadInput("RowRotary needs positions.branch: which text each token belongs to")
        time = high_precision(positions.time)
        row = torch.arange(len(positions), device=time.device).expand_as(time)
        turns = torch.stack([row.to(time), positions.branch * self.stride, time], dim=-1)  # (B|, T, 3)
        angle = turns[..., self.coordinates] * frequencies(q.shape[-1], self.theta).to(time)  # (B|, T, D/2)
        angle = angle if positions.time.dim() == 1 else angle[:, None]
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


def build_arm(arm: str, config: ModelConfig) -> Transformer:
    """Return an untrained model of an arm: "share 0.25", "row 1", "Fourier", or "isolated".

    "share 0" has no pair for the branch: it is the model without a code. "share 1" has none for time.
    """
    C, D = config.n_embd, config.head_dim
    encodings: dict[str, Encoding] = {"Fourier": Fourier(D, C, stride=STRIDE), "isolated": Rotary(D)}
    encodings |= {f"share {x:g}": Rotary2D(D, x, stride=STRIDE) for x in SHARES}
    encodings |= {f"row {x:g}": RowRotary(D, x) for x in FEW}
    return Transformer(config, encodings[arm], isolated=arm == "isolated")


def share_plans() -> dict[str, tuple[str, tuple[int, int]]]:
    """Return every run by name, "16 texts: share 0.5": its arm, and the fewest and most texts of a row."""
    shares = [f"share {x:g}" for x in SHARES]
    runs = {f"{n} texts: {arm}": (arm, (n, n)) for n in COUNTS for arm in (*shares, "Fourier")}
    runs["8 texts: isolated"] = ("isolated", (8, 8))
    mixed = [f"{kind} {x:g}" for kind in ("share", "row") for x in FEW]
    return runs | {f"{MIXED}: {arm}": (arm, (1, 8)) for arm in mixed}


def measure_branch_share(workers: Workers = in_turn, scale: Scale = SCALE, only: str = "") -> Results:
    """Train every run of `share_plans` from every seed on as many texts a step; read few and many with it.

    only     a piece of the names of the runs that are wanted; "" for all
    returns  settings, and {"runs": name -> number of texts in a sequence -> nats per character, one a seed}
    """
    corpus = load_corpus("plain-tales", scale.n_chars)
    config, planned = small_config(corpus, BLOCK_SIZE), share_plans()

    def run(name: str, seed: int) -> dict[str, float]:
        arm, n_branches = planned[name]
        torch.manual_seed(seed)
        model, objective = build_arm(arm, config), Branches(corpus, BLOCK_SIZE, n_branches, LENGTH)
        plan = TrainConfig(scale.steps, TEXTS, seed=seed)
        finish(train(model, objective, plan), plan.steps, f"{name}, seed {seed}")
        return {str(n): round(parallel_loss(model, corpus.val, n, LENGTH), 5) for n in READ}

    settings = {"steps": scale.steps, "seeds": list(scale.seeds), "block_size": BLOCK_SIZE, "length": LENGTH}
    runs = sweep([name for name in planned if only in name], scale.seeds, run, workers)
    return {**settings, "texts": TEXTS, "floor": corpus.floor, "runs": runs}


def losses_by_share(results: Results, n: int) -> dict[float, list[float]]:
    """Return the loss of each share among as many texts as it was trained with, n of COUNTS: one a seed."""
    return {x: results["runs"][f"{n} texts: share {x:g}"][str(n)] for x in SHARES}


def cost_of_many(results: Results, arm: str, n: int = READ[-1]) -> list[float]:
    """Return the loss among n texts, minus that among 8, of an arm trained on one to eight: one a seed."""
    found = results["runs"][f"{MIXED}: {arm}"]
    return [many - eight for many, eight in zip(found[str(n)], found["8"], strict=True)]


def table(results: Results) -> str:
    """Return all runs as a Markdown table, with the command that made them and the time it took."""
    head = f"`{results['command']}`, {results['minutes']:.0f} minutes; nats per character among so many "
    head += f"texts, mean ± standard deviation over {len(results['seeds'])} seeds, "
    head += f"{results['steps']} steps\n\n"
    rows = [
        (name, *(format_mean_sd(mean_sd(found[str(n)])) for n in READ))
        for name, found in results["runs"].items()
    ]
    return head + markdown(("trained on: code", *(str(n) for n in READ)), rows)


def draw_branch_share(figure: Figure, results: Results) -> None:
    """Draw loss by the share that turns with the branch; and by texts read, of models trained on few."""
    left, right = figure.subplots(1, 2)
    losses = {f"{n} texts": np.array(list(losses_by_share(results, n).values())).T for n in COUNTS}
    none, half, every = (mean(losses_by_share(results, COUNTS[-1])[x]) for x in FEW)
    title = (
        f"Among {COUNTS[-1]}: {half:.2f} half and half, {none:.2f} without branch, {every:.2f} without time"
    )
    percent = [round(100 * x) for x in SHARES]
    plots.draw_seed_curves(left, percent, losses, title, "loss among as many as trained with (nats)")
    apart = mean(results["runs"]["8 texts: isolated"]["8"])
    left.axhline(apart, color="black", lw=1, ls="--", label="isolated")
    left.set_xlabel("pairs of a head that turn with the branch (%)")
    left.legend()
    mixed = {name: each for name, each in results["runs"].items() if name.startswith(MIXED)}
    curves = {name.split(": ")[1]: np.array([each[str(n)] for n in READ]).T for name, each in mixed.items()}
    costs = [f"{arm} {mean(cost_of_many(results, arm)):+.2f}" for arm in ("row 0", "row 1", "share 0.5")]
    title = f"From 8 to {READ[-1]} texts: {', '.join(costs)}"
    plots.draw_seed_curves(right, READ, curves, title, f"loss, trained on {MIXED} (nats)")
    right.set_xscale("log", base=2)
    right.set_xticks(READ, [str(n) for n in READ])
    right.set_xlabel("texts in a sequence")
