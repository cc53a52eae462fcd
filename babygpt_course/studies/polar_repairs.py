"""Study of note 000's gate: the loss after each of its repairs, that of its rivals, and of fixed phases."""

import math
from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import nn

from babygpt import ModelConfig, TrainConfig, build, load_corpus
from babygpt.experiments.paired import by_measurement, compare, differences, table_head
from babygpt.experiments.sweep import StudySize, Workers, small_config, sweep, train_from_seed
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import MaskedDiffusion
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots

REPAIRS = {
    "v7-polar": "as written",
    "v7-exact": "exact phase",
    "v7-random": "random phase",
    "v7-last": "gates after the norm",
    "v7-keys": "α on keys only",
    "v7-quadrature": "quadrature",
    "v7": "learned phase",
}  # in the order of the walk; each has the repairs before it
SIGNS = {"one side": (1, 1, 1, 1), "both sides": (1, 1, -1, -1)}  # of each head's fixed phase
WITHOUT_ALPHA = {"v7-keys, α = 1": "v7-keys", "v7, α = 1": "v7"}
LABELS = {
    **REPAIRS,
    **{"one side": "fixed phase, one side", "both sides": "fixed phase, both sides"},
    **{"v7-keys, α = 1": "α on keys only, α = 1", "v7, α = 1": "learned phase, α = 1"},
    **{"v7-nope": "no encoding", "v7-rope": "RoPE", "v7-pope": "PoPE"},
}
COMPARED = (
    ("v7-exact", "v7-polar"),
    ("v7-random", "v7-exact"),
    ("v7-last", "v7-random"),
    ("v7-keys", "v7-last"),
    ("v7-keys, α = 1", "v7-keys"),
    ("v7-keys, α = 1", "v7-random"),
    ("v7-quadrature", "v7-keys"),
    ("one side", "v7-quadrature"),
    ("both sides", "v7-quadrature"),
    ("v7", "v7-quadrature"),
    ("v7", "both sides"),
    ("v7, α = 1", "v7"),
    ("v7-rope", "v7-polar"),
    ("v7-rope", "v7"),
    ("v7-pope", "v7"),
    ("v7-pope", "v7-rope"),
)  # each with the one that it is held against
SCALE = StudySize()


def with_phases(model: LanguageModel, signs: Sequence[int]) -> LanguageModel:
    """Give each head of a v7 so many times 45 degrees as the phase of all its channels, and fix it there."""
    turns = torch.tensor(signs, dtype=torch.float32)[:, None].expand(-1, model.config.head_dim)
    model.encoding.delta = nn.Parameter(math.pi / 4 * turns, requires_grad=False)
    return model


def fixed_phases(config: ModelConfig, signs: Sequence[int]) -> LanguageModel:
    """Build a v7 whose phases do not learn."""
    return with_phases(build("v7", config), signs)


def measure_polar(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train every arm of LABELS on the plain tales with the same windows and masks, from several seeds.

    returns  settings; "val_loss": arm -> nats for each masked character, one a seed
    """
    corpus = load_corpus("plain-tales", scale.n_chars, with_mask=True)
    config, objective = small_config(corpus, scale.block_size), MaskedDiffusion(corpus, scale.block_size)

    def run(arm: str, seed: int) -> dict[str, Any]:
        version = partial(fixed_phases, signs=SIGNS[arm]) if arm in SIGNS else WITHOUT_ALPHA.get(arm, arm)
        options, plan = {"alpha": 1.0} if arm in WITHOUT_ALPHA else {}, TrainConfig(scale.steps, seed=seed)
        _, history = train_from_seed(version, config, objective, plan, f"{arm}, seed {seed}", **options)
        return {"val_loss": round(float(history[-1].val_loss or 0.0), 4)}

    return {**scale.settings(), **by_measurement(sweep(LABELS, scale.seeds, run, workers))}


def gaps(results: Results) -> dict[tuple[str, str], list[float]]:
    """Return the loss of one arm minus that of another, one a seed, for the pairs in COMPARED."""
    loss = results["val_loss"]
    found = [pair for pair in COMPARED if all(arm in loss for arm in pair)]
    return {(a, b): differences(loss[a], loss[b]) for a, b in found}


def draw_polar(figure: Figure, results: Results) -> None:
    """Draw the loss of each arm, and what one arm gains over another: a dot a seed."""
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.0))
    loss, gained_by = results["val_loss"], gaps(results)
    rows = {LABELS[arm]: seeds for arm, seeds in loss.items()}
    title = "As written {:.2f}, repaired {:.2f}, RoPE {:.2f}"
    means = [mean(loss[arm]) for arm in ("v7-polar", "v7", "v7-rope")]
    label = "loss of masked characters (nats)"
    draw_seed_dots(left, rows, title.format(*means), label, means=True)
    steps = (("v7-quadrature", "v7-keys"), ("v7", "v7-quadrature"))
    gained = [-mean(gained_by[pair]) for pair in steps]
    title = "The sine gains {:.2f} nats, the learned phase {:.2f}".format(*gained)
    pairs = {f"{LABELS[a]} − {LABELS[b]}": seeds for (a, b), seeds in gained_by.items()}
    draw_seed_dots(right, pairs, title, "difference (nats), paired by seed", {"no difference": 0.0})


def table(results: Results) -> str:
    """Return a Markdown table of all comparisons, with what the rule decides."""
    rows = []
    for (a, b), seeds in gaps(results).items():
        found = compare(seeds)
        rows.append((LABELS[a], LABELS[b], f"{found:+.3f}", found.side))
    heading = ("arm", "against", "difference (nats)", "decided")
    return f"{table_head(results)}\n\n{markdown(heading, rows)}"
