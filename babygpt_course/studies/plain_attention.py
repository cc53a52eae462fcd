"""Study of plain queries and keys: four models of the board without the norm that the course gives to both.

The course normalises q and k and doubles their scores, so that no score exceeds 2 √D. The papers on models
without positions do neither. Here q and k stay as their matrices make them, and scores are divided by √D
alone; everything else is as on the board. The board's own models train once more beside them, so that both
models of a pair come from one program on one machine.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
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
from babygpt_course.studies.board import WORLD, Rung, each_seed, evaluate
from babygpt_course.studies.clicks import MODELS, count_spelling, require_same_settings
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots

SCALE = StudySize(steps=600)  # as the board
BASE = "v4"
RIVALS = ("nope", "alibi", "v3")
VERSIONS_MEASURED = (BASE, *RIVALS)
PLAIN, NORMED = "plain", "normed"  # queries and keys
KIND_WORDS = {PLAIN: "plain", NORMED: "normalised"}
SETTINGS = ("device", "threads", "instructions", "steps", "block_size")  # that runs to be compared share
FRESH_KEYS = ("command", "minutes", "commit", "seeds", PLAIN, NORMED)


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


def make_trainer(scale: StudySize) -> Callable[..., dict[str, float | None]]:
    """Return a function that trains a model as the board does, and measures it likewise.

    It takes the title of the run, the version, PLAIN or NORMED for its queries and keys, the seed, and
    options of the encoding. It returns what `board.evaluate` does.
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    quiz = questions(corpus, block_size, scale.n_questions)
    config, rung = small_config(corpus, block_size), Rung(BASE, BASE)

    def train(
        title: str, version: str | type, kind: str, seed: int, **options: Any
    ) -> dict[str, float | None]:
        def build_kind(config: ModelConfig) -> LanguageModel:
            model = build(version, config, **options)
            return with_plain_attention(model) if kind == PLAIN else model

        objective, plan = rung.objective({False: corpus}, block_size), TrainConfig(scale.steps, seed=seed)
        model, _ = train_from_seed(build_kind, config, objective, plan, f"{title}, seed {seed}")
        return evaluate(rung, model, corpus, quiz)

    return train


def measure_plain(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train models of the board with plain and with normalised queries and keys, and measure them as it does.

    returns  settings, and for PLAIN and for NORMED: name -> what `board.evaluate` returns, one a seed
    """
    train = make_trainer(scale)

    def run(variant: tuple[str, str], seed: int) -> dict[str, float | None]:
        name, kind = variant
        return train(f"{name} {kind}", name, kind, seed)

    kinds = (PLAIN, NORMED)
    variants = [(name, kind) for name in VERSIONS_MEASURED for kind in kinds]
    finished = sweep(variants, scale.seeds, run, workers)
    return {
        **scale.settings(),
        **{
            kind: {name: finished[name, kind] for name in VERSIONS_MEASURED if (name, kind) in finished}
            for kind in kinds
        },
    }


def join_fresh(stored: Results, new: Results) -> Results:
    """Return stored results with runs from other seeds, which decide what the stored ones suggested.

    They come from `figures plain --seeds ... --only ...`.

    returns  the stored results and "fresh": command, minutes, commit, seeds, and the numbers
    Raises BadInput if the runs differ in anything but their seeds and the commit, or if they share a seed.
    """
    require_same_settings(stored, new, SETTINGS)
    if shared := sorted({*stored["seeds"]} & {*new["seeds"]}):
        raise BadInput(f"seeds {shared} are those of the stored runs, so they are not fresh")
    return {**stored, "fresh": {key: new[key] for key in FRESH_KEYS}}


# ---------------------------------------------------------------- of stored results


def effects_of_norm(block: Mapping[str, Any]) -> dict[str, Comparison]:
    """Return the loss without the norm minus that with it, by seed: name -> comparison.

    block  the stored results, or their "fresh" ones
    """
    return {
        name: compare(differences(row["1x"], block[NORMED][name]["1x"]), LEAST_LOSS)
        for name, row in block[PLAIN].items()
    }


def gaps_to_rope(results: Results) -> dict[str, tuple[Comparison, Comparison, Comparison]]:
    """Return each rival's loss minus RoPE's: name -> with the norm, without it, and the gap's change."""

    def gaps(kind: str, name: str) -> list[float]:
        return differences(results[kind][name]["1x"], results[kind][BASE]["1x"])

    pairs = {name: (gaps(NORMED, name), gaps(PLAIN, name)) for name in RIVALS}
    return {
        name: (compare(normed), compare(plain), compare(differences(plain, normed)))
        for name, (normed, plain) in pairs.items()
    }


def blocks_of(results: Results) -> dict[str, Mapping[str, Any]]:
    """Return the stored results, and the fresh ones if there are any, by what follows a model's name."""
    return {"": results, **({", fresh seeds": results["fresh"]} if "fresh" in results else {})}


def table(results: Results) -> str:
    """Return as Markdown what the norm changes in each model, and in each model's distance from RoPE."""
    heading = (
        "model",
        "loss with the norm",
        "loss without",
        "without minus with",
        "right answers with the norm, each seed",
        "right answers without",
        "names written with the norm, each seed",
        "names without",
    )
    rows = []
    for suffix, block in blocks_of(results).items():
        for name, comparison in effects_of_norm(block).items():
            both = [block[kind][name] for kind in (NORMED, PLAIN)]
            losses = [format_mean_sd(mean_sd(numbers["1x"])) for numbers in both]
            shares = [each_seed(numbers[key]) for key in ("roles", "whole") for numbers in both]
            rows.append((MODELS[name] + suffix, *losses, f"{comparison:+.3f}", *shares))
    gaps = [
        (MODELS[name], *(f"{comparison:+.3f}" for comparison in row), row[2].side)
        for name, row in gaps_to_rope(results).items()
    ]
    gap_heading = ("model minus RoPE", "with the norm", "without", "change", "the change is")
    head = (
        f"{table_head(results)} Losses in nats per character, right answers and names in per cent. "
        f"Pairs share their seed.\n\n"
    )
    return head + markdown(heading, rows) + "\n" + markdown(gap_heading, gaps)


def draw_plain(figure: Figure, results: Results) -> None:
    """Draw losses and names with plain queries and keys, and those with normalised ones as rings."""
    loss, names = figure.subplots(1, 2)

    def by_model(kind: str, key: str) -> dict[str, Sequence[float]]:
        return {
            MODELS[name] + suffix: numbers[key]
            for suffix, block in blocks_of(results).items()
            for name, numbers in block[kind].items()
        }

    normed, plain, _ = gaps_to_rope(results)["nope"]
    title = (
        f"NoPE is {plain.mean:.2f} nats above RoPE with plain q and k,\n"
        f"and {normed.mean:.2f} with normalised ones"
    )
    dots, rings = (by_model(kind, "1x") for kind in (PLAIN, NORMED))
    draw_seed_dots(loss, dots, title, "loss (nats per character; rings: with the norm)", rings=rings)
    written, normed_written = (by_model(kind, "whole") for kind in (PLAIN, NORMED))
    alibi, rope = (count_spelling(written[MODELS[name]]) for name in ("alibi", BASE))
    n = len(results["seeds"])
    title = f"With plain q and k ALiBi spells from\n{alibi} of {n} seeds, and RoPE from {rope}"
    label, span = "names written (%; rings: with the norm)", (-3.0, 103.0)
    draw_seed_dots(names, percent(written), title, label, None, span, percent(normed_written))


def draw_names(ax: Axes, block: Mapping[str, Any], title: str) -> None:
    """Draw the names that RoPE and ALiBi write with normalised and with plain queries and keys.

    block  the stored results, or their "fresh" ones
    """
    written = {
        f"{MODELS[name]}, {KIND_WORDS[kind]}": block[kind][name]["whole"]
        for name in (BASE, "alibi")
        for kind in (NORMED, PLAIN)
    }
    draw_seed_dots(ax, percent(written), title, "names written (%)", span=(-3.0, 103.0))
