"""Study of a lookup task that needs what and where: which letter stands next to another letter?"""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

import babygpt_live as live
from babygpt import ModelConfig, Positions, TrainConfig, build
from babygpt.data.batches import IGNORED
from babygpt.device import portions
from babygpt.encodings import PoPE
from babygpt.encodings.polar import cos_sin
from babygpt.experiments.sweep import FIRST_SEEDS, OTHER_SEEDS, StudySize, Workers, sweep, train_with_curve
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.objectives.objective import Batch, Objective, next_token_losses
from babygpt_course.studies.results import Results

# Small enough for a minute a model: only neighbours are asked for, and some strings are short.
TASK = {"letters": 8, "shortest": 3, "longest": 6, "furthest": 1, "questions": 8}
LABELS = {"pope": "PoPE", "signed": "no softplus", "v4": "RoPE", "v3": "sinusoidal"}
RATES = (0.001, 0.003, 0.01, 0.02)  # of lr_other, tried by every arm
TUNING_SEED = 7  # of those runs; no reported run has it, as the rates were chosen to suit it
EVERY = 50  # steps between two points of a curve
SOLVED = 0.9  # share of right answers from which a seed has learned the task
SCALE = StudySize(steps=1000, seeds=(*FIRST_SEEDS, *(seed for seed in OTHER_SEEDS if seed != TUNING_SEED)))


class Lookup(Objective):
    """Objective: find the letters that stand a given number of positions left or right of other ones.

    A row is a string of different letters, and then questions: one of the letters and a shift. The answer is
    the letter at that shift from it. The string begins after some blanks, so that no position means anything
    by itself. Tokens: letters 0 to `letters` - 1, then the blank, then the shifts from -furthest to furthest
    without 0.

    letters    size of the alphabet
    shortest   fewest letters of a string
    longest    most letters of a string, at most `letters`
    furthest   largest shift, below `shortest`
    questions  how many a row has
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534, section 4 (indirect indexing).
    """

    def __init__(
        self, letters: int = 20, shortest: int = 6, longest: int = 10, furthest: int = 3, questions: int = 6
    ) -> None:
        self.letters, self.shortest, self.longest, self.furthest = letters, shortest, longest, furthest
        self.questions, self.blank = questions, letters
        self.vocab_size = letters + 1 + 2 * furthest
        self.block_size = longest + 2 * questions

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw rows: (B, T) tokens, and (B, T) targets, IGNORED where no question ends."""

        def draw(low: Tensor, high: Tensor) -> Tensor:  # whole numbers, both ends included
            return low + (torch.rand(high.shape, generator=generator) * (high - low + 1)).long()

        longest, far, many = self.longest, self.furthest, (batch_size, self.questions)
        letters = torch.rand(batch_size, self.letters, generator=generator).argsort(dim=1)[:, :longest]
        first = longest - draw(torch.tensor(self.shortest), torch.full((batch_size, 1), longest))
        step = draw(torch.tensor(0), torch.full(many, 2 * far - 1))  # which of the shifts
        shift = step - far + (step >= far)
        position = draw(first + (-shift).clamp(min=0), longest - 1 - shift.clamp(min=0))
        text = letters.masked_fill(torch.arange(longest) < first, self.blank)
        asked = torch.stack([letters.gather(1, position), self.blank + 1 + step], dim=-1).flatten(1)
        idx = torch.cat([text, asked], dim=1)
        targets = torch.full_like(idx, IGNORED)
        targets[:, longest + 1 :: 2] = letters.gather(1, position + shift)
        return idx, targets

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        return next_token_losses(model, batch)

    def held_out(self, n: int = 512) -> Batch:
        """Return rows that are always the same, drawn from a seed that no training uses."""
        return self.batch(n, torch.Generator().manual_seed(2**31))

    def val_batches(self) -> list[Batch]:
        return [self.held_out()]

    @torch.inference_mode()
    def accuracy(self, model: LanguageModel) -> float:
        """Return the share of right answers on held-out rows; a guess among n letters is right in 1/n."""
        idx, targets = self.held_out()
        some = portions(model, idx.to(next(model.parameters()).device))
        answers = torch.cat([model(rows).argmax(dim=-1).cpu() for (rows,) in some])
        asked = targets != IGNORED
        return float((answers == targets)[asked].float().mean())


class SignedPoPE(PoPE):
    """PoPE without softplus: q and k keep their signs, and content may turn a wave by half a period.

    Arguments are those of `PoPE`.
    """

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        return cos_sin(q, wave), cos_sin(k, self.key_wave(wave))


def train_lookup(name: str, task: Lookup, rate: float, steps: int, seed: int) -> list[float]:
    """Train "signed" or a version: its share of right answers every EVERY steps.

    rate  of AdamW (lr_other); that of Muon is the course's
    """
    config = ModelConfig(task.vocab_size, task.block_size, n_layer=2, n_head=2, n_embd=64)
    torch.manual_seed(seed)
    if name == "signed":
        model: LanguageModel = Transformer(config, SignedPoPE(config.n_head, config.head_dim))
    else:
        model = build(name, config)
    plan = TrainConfig(steps, batch_size=32, lr_other=rate, seed=seed)
    curve, _ = train_with_curve(model, task, plan, f"{name}, seed {seed}", EVERY, task.accuracy)
    return [round(share, 4) for share in curve]


def measure_lookup(
    workers: Workers,
    scale: StudySize = SCALE,
    names: Sequence[str] = tuple(LABELS),
    rates: Sequence[float] = RATES,
) -> Results:
    """Tune the learning rate of each model alike, train it from fresh seeds at its best, and ask it.

    names    of LABELS, or other versions that read from left to right
    scale    steps, a multiple of EVERY; seeds of the reported runs, as each rate is tried from TUNING_SEED
    returns  settings; "guess": share of right answers of a guess among the string's other letters; "grid":
             name -> rate -> share at the end; "rate": name -> the best of them; "accuracy": name -> share at
             the end, one a seed; "curves": name -> for each seed, a share every EVERY steps
    """
    task = Lookup(**TASK)

    def run(arm: tuple[str, float], seed: int) -> dict[str, list[float]]:
        return {"curve": train_lookup(arm[0], task, arm[1], scale.steps, seed)}

    tried = sweep([(name, rate) for name in names for rate in rates], [TUNING_SEED], run, workers)
    grid = {name: {rate: tried[name, rate]["curve"][0][-1] for rate in rates} for name in names}
    best = {name: max(rates, key=found.__getitem__) for name, found in grid.items()}
    found = sweep(best.items(), scale.seeds, run, workers)
    curves = {name: each["curve"] for (name, _), each in found.items()}
    return {
        **{"task": TASK, "steps": scale.steps, "every": EVERY},
        **{"seeds": list(scale.seeds), "tuning_seed": TUNING_SEED},
        **{"guess": guess_accuracy(task), "guess_any": guess_accuracy(task, asked_too=True)},
        "grid": {name: {str(rate): share for rate, share in g.items()} for name, g in grid.items()},
        "rate": best,
        "accuracy": {name: [curve[-1] for curve in every] for name, every in curves.items()},
        "curves": curves,
    }


def guess_accuracy(task: Lookup, asked_too: bool = False) -> float:
    """Return the share of right answers of an even guess among the string's letters, on the held-out rows.

    asked_too  whether the letter that is asked about is guessed as well; it is never the answer
    """
    idx, targets = task.held_out()
    letters = (idx[:, : task.longest] != task.blank).sum(dim=1) - int(not asked_too)
    asked = (targets != IGNORED).sum(dim=1)
    return round(float((asked / letters).sum() / asked.sum()), 4)


def who_learned(results: Results) -> str:
    """Return a title: how many seeds of each model have learned the task, or the highest share of all."""
    found = {LABELS.get(name, name): seeds for name, seeds in results["accuracy"].items()}
    solved = {name: sum(share >= SOLVED for share in seeds) for name, seeds in found.items()}
    if not any(solved.values()):
        return f"No model learns it: {max(max(seeds) for seeds in found.values()):.0%} at best"
    counts = ", ".join(f"{name} {n}" for name, n in solved.items())
    return f"Learned: {counts} of {max(len(seeds) for seeds in found.values())} seeds"


def draw_lookup(figure: Figure, results: Results) -> None:
    """Draw right answers at each learning rate that was tried; and in training at the best, a line a seed."""
    tried, way = figure.subplots(1, 2, width_ratios=(1.0, 1.4), sharey=True)
    steps = [results["every"] * (i + 1) for i in range(results["steps"] // results["every"])]
    for (name, grid), colour in zip(results["grid"].items(), live.COLOURS.values(), strict=False):
        label, best = LABELS.get(name, name), results["rate"][name]
        tried.plot([float(rate) for rate in grid], [100 * x for x in grid.values()], "o-", color=colour)
        tried.plot(best, 100 * grid[str(best)], "o", ms=12, mfc="none", color=colour)
        seeds = 100 * np.array(results["curves"][name])
        way.plot(steps, seeds.T, color=colour, label=[label] + ["_"] * (len(seeds) - 1))
        way.plot([steps[-1]] * len(seeds), seeds[:, -1], "o", color=colour, clip_on=False)
    tried.set_xscale("log")
    tried.set(title="Every rate, from one seed (ring: the best)", xlabel="learning rate of AdamW")
    tried.set_ylabel("right answers (%)")
    way.set(title=who_learned(results), xlim=(0, results["steps"]))
    way.set_xlabel("step, at the best rate; a line for each fresh seed")
    for ax in (tried, way):
        ax.axhline(100 * results["guess"], color="black", lw=1, ls="--", zorder=2.5)
        ax.set_ylim(0, 112)
    way.annotate("guess", (0, 100 * results["guess"]), (0, 3), textcoords="offset points")
    way.legend(loc="upper left")
