"""Study of plain queries and keys: four models of the board without the norm that the course gives to both.

The course normalises q and k and doubles their scores, so that no score exceeds 2 √D. The papers on models
without positions do neither. Here q and k stay as their matrices make them, and scores are divided by √D
alone; everything else is as on the board.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import TrainConfig, load_corpus
from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.experiments.paired import (
    LEAST_LOSS,
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
from babygpt.models.transformer import Attention, Context
from babygpt.models.versions import build
from babygpt.tables import markdown
from babygpt_course.studies.board import KNOWN, WORLD, Rung, each_seed, evaluate
from babygpt_course.studies.clicks import MODELS
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_seed_dots

SCALE = StudySize(steps=600)  # as the board
BASE = "v4"
RIVALS = ("nope", "alibi", "v3")
VERSIONS_MEASURED = (BASE, *RIVALS)


class PlainAttention(Attention):
    """Attention with q and k as their matrices make them, and scores q k / sqrt(D)."""

    sharpness = 1.0

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Compute queries, keys and values as they meet: (B, T, C) -> 3 x (B, H, T, D)."""
        B, T, C = x.shape
        projected = (x @ self.matrix().T).view(B, T, 3 * self.n_head, C // self.n_head).transpose(1, 2)
        q, k, v = projected.chunk(3, dim=1)  # (B, H, T, D)
        q, k = context.encoding.transform_qk(q, k, context.positions)
        return q, k, v


def with_plain_attention(model: LanguageModel) -> LanguageModel:
    """Replace every attention layer of a model by a plain one with the same weights, and return the model.

    Raises BadInput for a model without attention layers.
    """
    blocks = list(getattr(model, "blocks", ()))
    if not blocks:
        raise BadInput(f"{type(model).__name__} has no attention, whose queries could be left as they are")
    with torch.random.fork_rng(devices=[]):  # Weights drawn in vain leave the seed's numbers as they are.
        for block in blocks:
            plain = PlainAttention(model.config)
            plain.load_state_dict(block.attention.state_dict())
            block.attention = plain
    return model


def measure_plain(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train models of the board with plain queries and keys, and measure them as the board does.

    returns  settings, and {"board": name -> what `board.evaluate` returns, one a seed}
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    quiz = questions(corpus, block_size, scale.n_questions)
    config = small_config(corpus, block_size)

    def run(name: str, seed: int) -> dict[str, float | None]:
        def build_plain(config: ModelConfig) -> LanguageModel:
            return with_plain_attention(build(name, config))

        rung, plan = Rung(name, name), TrainConfig(scale.steps, seed=seed)
        objective = rung.objective({False: corpus}, block_size)
        model, _ = train_from_seed(build_plain, config, objective, plan, f"{name} plain, seed {seed}")
        return evaluate(rung, model, corpus, quiz)

    return {**scale.settings(), "board": sweep(VERSIONS_MEASURED, scale.seeds, run, workers)}


# ---------------------------------------------------------------- of stored results


def normed_losses(results: Results, name: str, key: str = "1x") -> list[float]:
    """Return the board's numbers of one model for the seeds of this study.

    Raises BadInput if the board lacks one of these seeds.
    """
    ladder = load_results("ladder")
    by_seed = dict(zip(ladder["seeds"], ladder["board"][name][key], strict=True))
    if missing := [seed for seed in results["seeds"] if seed not in by_seed]:
        raise BadInput(f"the board has no seed {', '.join(map(str, missing))}, which this study would pair")
    return [by_seed[seed] for seed in results["seeds"]]


def effects_of_norm(results: Results) -> dict[str, Comparison]:
    """Return the loss without the norm minus that with it, by seed: name -> comparison."""
    return {
        name: compare(differences(row["1x"], normed_losses(results, name)), LEAST_LOSS)
        for name, row in results["board"].items()
    }


def gaps_to_rope(results: Results) -> dict[str, tuple[Comparison, Comparison, Comparison]]:
    """Return each rival's loss minus RoPE's: name -> with the norm, without it, and the gap's change."""
    board, gaps = results["board"], {}
    for name in RIVALS:
        normed = differences(normed_losses(results, name), normed_losses(results, BASE))
        plain = differences(board[name]["1x"], board[BASE]["1x"])
        gaps[name] = (compare(normed), compare(plain), compare(differences(plain, normed)))
    return gaps


def table(results: Results) -> str:
    """Return as Markdown what the norm changes in each model, and in each model's distance from RoPE."""
    heading = (
        "model",
        "loss with the norm",
        "loss without",
        "without minus with",
        "right answers, each seed",
    )
    rows = []
    for name, comparison in effects_of_norm(results).items():
        losses = (normed_losses(results, name), results["board"][name]["1x"])
        cells = [format_mean_sd(mean_sd(seeds)) for seeds in losses]
        answers = each_seed(results["board"][name]["roles"])
        rows.append((MODELS[name], *cells, f"{comparison:+.3f}", answers))
    gaps = [
        (MODELS[name], *(f"{comparison:+.3f}" for comparison in row), row[2].side)
        for name, row in gaps_to_rope(results).items()
    ]
    gap_heading = ("model minus RoPE", "with the norm", "without", "change", "the change is")
    head = (
        f"{table_head(results)} Losses in nats per character; those with the norm are the board's, "
        f"from the same seeds. Right answers of each seed, in per cent.\n\n"
    )
    return head + markdown(heading, rows) + "\n" + markdown(gap_heading, gaps)


def draw_plain(figure: Figure, results: Results) -> None:
    """Draw losses and right answers with plain queries and keys, and the board's as rings."""
    loss, answers = figure.subplots(1, 2)
    board: Mapping[str, Mapping[str, Sequence[Any]]] = results["board"]
    normed, plain, _ = gaps_to_rope(results)["nope"]
    title = (
        f"NoPE is {plain.mean:.2f} nats above RoPE with plain q and k,\n"
        f"and {normed.mean:.2f} with normalised ones"
    )
    dots = {MODELS[name]: row["1x"] for name, row in board.items()}
    rings = {MODELS[name]: normed_losses(results, name) for name in board}
    draw_seed_dots(loss, dots, title, "loss (nats per character; rings: with the norm)", rings=rings)
    shares = {MODELS[name]: row["roles"] for name, row in board.items()}
    normed_shares = {MODELS[name]: normed_losses(results, name, "roles") for name in board}
    n = sum(share >= KNOWN for share in board["nope"]["roles"])
    title = f"NoPE answers from {n} of {len(results['seeds'])} seeds without the norm"
    label, span = "right answers (%; rings: with the norm)", (-3.0, 103.0)
    draw_seed_dots(answers, percent(shares), title, label, {"chance": 50.0}, span, percent(normed_shares))
