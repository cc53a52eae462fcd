"""Our recipe of training against a plain one, and against the same plain one at its best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

from babygpt.data.corpus import Corpus, load_corpus
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from benchmarks.pairs import build_with_pairs
from benchmarks.plain_gpt import PlainGPT
from benchmarks.racing import ROUNDS, Bodies, Race, Recipe, describe, run_race

BLOCK_SIZE, NEXT_BATCH, DIFFUSION_BATCH = 64, 12, 16
RATES, LENGTHS, TUNING_SEED = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0), (0.7, 0.85, 1.15, 1.3), 7
RIVALS = ("published", "same_shape", "tuned")
# For a loss that is no record, a small model that makes many steps beats a large one (`shapes`). Rates and
# lengths of "ours", "pairs" and "tuned" are what `tune` found with equally many runs for each.
NEXT_RECIPES = {
    "ours": Recipe("ours", 2, 64, 560, 0.028, 0.014),
    "pairs": Recipe("pairs", 2, 64, 360, 0.03, 0.07),
    "published": Recipe("plain", 4, 128, 2000, 0.001),
    "same_shape": Recipe("plain", 2, 64, 8000, 0.001),
    "tuned": Recipe("plain", 2, 64, 2600, 0.0084),
}
DIFFUSION_RECIPES = {
    "ours": Recipe("ours", 3, 64, 1160, 0.02, 0.02),
    "pairs": Recipe("pairs", 3, 64, 800, 0.02, 0.04),
    "published": Recipe("plain", 4, 128, 2400, 0.001),
    "same_shape": Recipe("plain", 3, 64, 8000, 0.001),
    "tuned": Recipe("plain", 3, 64, 3000, 0.006),
}


def next_token_race(corpus: Corpus, target: float, block_size: int = BLOCK_SIZE) -> Race:
    """v4, v4 with pairs, and a plain GPT-2, to a loss of the whole validation part of a text.

    target  nats per character
    """
    ours, pairs = partial(build, "v4"), partial(build_with_pairs, "v4")
    bodies: Bodies = {"ours": ours, "pairs": pairs, "plain": PlainGPT}
    vocab_size, objective = corpus.tokenizer.vocab_size, NextToken(corpus, block_size)
    return Race(bodies, objective, vocab_size, block_size, NEXT_BATCH, target)


def diffusion_race(corpus: Corpus, target: float, block_size: int = BLOCK_SIZE) -> Race:
    """Masked diffusion with RoPE, by our recipe and by the plain one, to a mean loss over masked tokens.

    The plain recipe trains our body, for PyTorch's own layers have no RoPE.

    corpus  the text, with a MASK token; the loss is of 60 x 64 windows of its validation part, or of all if
            there are more, with a rate for each window and masks fixed by a seed
    target  nats
    """
    ours, pairs = partial(build, "v7-rope"), partial(build_with_pairs, "v7-rope")
    bodies: Bodies = {"ours": ours, "pairs": pairs, "plain": ours}
    vocab_size, objective = corpus.tokenizer.vocab_size, MaskedDiffusion(corpus, block_size)
    return Race(bodies, objective, vocab_size, block_size, DIFFUSION_BATCH, target)


RACES = {  # name -> makes it, who runs in it, whether its text has a MASK token
    "recipe": (next_token_race, NEXT_RECIPES, False),
    "diffusion": (diffusion_race, DIFFUSION_RECIPES, True),
}


def prepare(name: str, corpus: str, target: float) -> tuple[Race, dict[str, Recipe]]:
    """One of the RACES over the text of this name, and the recipes that run in it."""
    make, recipes, with_mask = RACES[name]
    return make(load_corpus(corpus, with_mask=with_mask), target), recipes


def compare(race: Race, recipes: Mapping[str, Recipe], seeds: Sequence[int]) -> dict[str, Any]:
    """Race recipes from several seeds, and how many times as long as ours the plain ones took.

    recipes  "ours", "pairs" and the RIVALS, each by its name
    returns  target, seeds, "recipes"; "runs": for each what `run_race` returns, one for each seed;
             "ratio_published", "ratio_same_shape", "ratio_tuned": medians over the seeds, and the same
             "with_pairs"; "all_reached": where a plain one did not, its true ratio is larger
    """
    found = [run_race(recipes, race, seed) for seed in seeds]
    runs = {name: [one[name] for one in found] for name in recipes}
    return {
        "target": race.target,
        "seeds": list(seeds),
        "recipes": {name: describe(recipe) for name, recipe in recipes.items()},
        "runs": runs,
        **ratios(runs, "ours"),
        "with_pairs": ratios(runs, "pairs"),
        "all_reached": all(run["reached"] for each in runs.values() for run in each),
    }


def ratios(runs: Mapping[str, Sequence[Mapping[str, Any]]], ours: str) -> dict[str, float]:
    """How many times the seconds of one recipe each rival took: the median over the seeds."""
    by_seed = {
        rival: [
            theirs["seconds"] / mine["seconds"] for theirs, mine in zip(runs[rival], runs[ours], strict=True)
        ]
        for rival in RIVALS
    }
    return {f"ratio_{rival}": round(median(each), 2) for rival, each in by_seed.items()}


# ---------------------------------------------------------------- as many runs for each


def tune(
    race: Race,
    recipe: Recipe,
    seed: int = TUNING_SEED,
    rates: Sequence[float] = RATES,
    lengths: Sequence[float] = LENGTHS,
) -> dict[str, Any]:
    """Look for the rate and the length with which a recipe is quickest at the target.

    First it is run with every rate, then with the best rate in every length. The seed is none of those that
    are raced.

    rates    shares of the recipe's peak learning rates
    lengths  shares of its steps
    returns  "runs": what every run came to; "best": the recipe that was quickest, or came closest
    """
    tried: list[tuple[Recipe, dict[str, Any]]] = []

    def attempt(one: Recipe) -> None:
        tried.append((one, run_race({"it": one}, race, seed, f"{one.rate:g}, {one.steps} steps")["it"]))

    for share in rates:
        attempt(with_rates(recipe, share))
    best = min(tried, key=quickest)[0]
    for share in lengths:
        attempt(replace(best, steps=round(best.steps * share / ROUNDS) * ROUNDS))
    runs = [{"rate": one.rate, "of": one.steps, **found} for one, found in tried]
    return {"runs": runs, "best": describe(min(tried, key=quickest)[0])}


def with_rates(recipe: Recipe, share: float) -> Recipe:
    """A recipe with all its rates multiplied."""
    other = None if recipe.rate_other is None else float(f"{recipe.rate_other * share:.3g}")
    return replace(recipe, rate=float(f"{recipe.rate * share:.3g}"), rate_other=other)


def quickest(tried: tuple[Recipe, Mapping[str, Any]]) -> tuple[bool, float]:
    """Sorts runs: first those that reached the target, by their seconds, then the others by their loss."""
    run = tried[1]
    return not run["reached"], run["seconds"] if run["reached"] else run["val"]
