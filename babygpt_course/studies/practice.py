"""Study of practice since 2024 in models of four layers: where rotation is left out, and token shift.

Published models leave out rotation in every fourth layer (SmolLM3, Llama 4) or in the slow pairs of a layer
(Gemma 4), or let each token carry the one before it (Canon layers). All four read the corpus of the board.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import TrainConfig, load_corpus
from babygpt.config import ModelConfig
from babygpt.experiments.paired import (
    LEAST_LOSS,
    LEAST_SHARE,
    Comparison,
    compare,
    differences,
    format_mean_sd,
    mean_sd,
    percent,
    table_head,
)
from babygpt.experiments.sweep import StudySize, Workers, questions, small_config, sweep, train_from_seed
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt.tables import markdown
from babygpt_course.studies.board import WORLD, Rung, each_seed, evaluate
from babygpt_course.studies.first_token import shares_of_windows
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots

SCALE = StudySize(steps=600)  # as the board
LAYERS = 4
BASE = "RoPE in every layer"
ARMS: dict[str, Callable[[ModelConfig], LanguageModel]] = {
    BASE: lambda config: build("v4", config),
    "NoPE in every fourth": lambda config: build("v4", config, layers=("v4", "v4", "v4", "nope")),
    "a quarter of the pairs": lambda config: build("partial", config, share=0.25),
    "token shift": lambda config: build("v4-shift", config),
}
SOURCES = {
    "NoPE in every fourth": "arXiv:2501.18795",
    "a quarter of the pairs": "arXiv:2410.06205",
    "token shift": "arXiv:2305.13048",
}
NUMBERS = {"1x": LEAST_LOSS, "past": LEAST_LOSS, "roles": LEAST_SHARE, "whole": LEAST_SHARE}


def measure_practice(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train models of four layers, and measure each as the board does, with the weight on its first token.

    returns  settings, and {"arms": arm -> what `board.evaluate` and, under "first", `first_token_shares`
             return, one a seed}
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    quiz = questions(corpus, block_size, scale.n_questions)
    config = replace(small_config(corpus, block_size), n_layer=LAYERS)
    rung = Rung(BASE, "v4")

    def run(name: str, seed: int) -> dict[str, Any]:
        plan, title = TrainConfig(scale.steps, seed=seed), f"{name}, seed {seed}"
        objective = rung.objective({False: corpus}, block_size)
        model, _ = train_from_seed(ARMS[name], config, objective, plan, title)
        first = shares_of_windows(model, corpus.val)["first"]
        return {**evaluate(rung, model, corpus, quiz), "first": first}

    return {**scale.settings(), "layers": LAYERS, "arms": sweep(ARMS, scale.seeds, run, workers)}


# ---------------------------------------------------------------- of stored results


def against_rope(results: Results) -> dict[str, dict[str, Comparison]]:
    """Return each arm's numbers minus those of RoPE in every layer: arm -> number -> comparison."""
    base = results["arms"][BASE]
    return {
        name: {key: compare(differences(arm[key], base[key]), least) for key, least in NUMBERS.items()}
        for name, arm in results["arms"].items()
        if name != BASE
    }


def table(results: Results) -> str:
    """Return as Markdown what each arm measures, and by how much it differs from RoPE in every layer."""
    heading = (
        "four layers",
        "loss",
        "change past the window",
        "right answers (%)",
        "whole names (%)",
        "weight on the first token (%)",
    )
    rows = [
        (
            name,
            *(format_mean_sd(mean_sd(arm[key])) for key in ("1x", "past")),
            *(each_seed(arm[key]) for key in ("roles", "whole")),
            f"{100 * mean(arm['first']):.1f}",
        )
        for name, arm in results["arms"].items()
    ]
    gap_heading = ("minus RoPE in every layer", "source", "loss", "past the window", "answers", "whole names")
    gaps = [
        (name, SOURCES[name], *(f"{comparison:+.3f}, {comparison.side}" for comparison in row.values()))
        for name, row in against_rope(results).items()
    ]
    head = (
        f"{table_head(results)} Losses in nats per character. Change past the window: four windows far, "
        "minus the same targets within one window. Answers and names of each seed, the highest first.\n\n"
    )
    return head + markdown(heading, rows) + "\n" + markdown(gap_heading, gaps)


def finding(results: Results, number: str) -> str:
    """Return in words which arms are decided to lie above or below RoPE in every layer."""
    sides: dict[str, list[str]] = {}
    for name, row in against_rope(results).items():
        sides.setdefault(row[number].side, []).append(name)
    parts = [f"{side} RoPE: {', '.join(sides[side])}" for side in ("above", "below") if side in sides]
    return "; ".join(parts) or "nothing is decided"


def draw_practice(figure: Figure, results: Results) -> None:
    """Draw the loss, the change past the window, and right answers with whole names as rings."""
    loss, past, answers = figure.subplots(1, 3)
    arms: Mapping[str, Mapping[str, Any]] = results["arms"]
    by_number = {key: {name: arm[key] for name, arm in arms.items()} for key in NUMBERS}
    draw_seed_dots(loss, by_number["1x"], f"Loss: {finding(results, '1x')}", "loss (nats per character)")
    draw_past(past, results)
    title = f"Names written: {finding(results, 'whole')}"
    label, span = "right answers (%; rings: names written)", (-3.0, 103.0)
    shares, rings = (percent(by_number[key]) for key in ("roles", "whole"))
    draw_seed_dots(answers, shares, title, label, {"chance": 50.0}, span, rings)


def draw_past(ax: Axes, results: Results) -> None:
    """Draw how the loss changes past the window."""
    changes = {name: arm["past"] for name, arm in results["arms"].items()}
    title = f"Past the window: {finding(results, 'past')}"
    draw_seed_dots(ax, changes, title, "change in four windows (nats per character)", {"": 0.0})
