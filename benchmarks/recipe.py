"""Our recipe of training against a plain one, and against the same plain one at its best."""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from babygpt.data.corpus import Corpus, load_corpus
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from benchmarks.plain_gpt import PlainGPT
from benchmarks.racing import Bodies, Race, Recipe, describe, run_race

BLOCK_SIZE, NEXT_BATCH, DIFFUSION_BATCH = 64, 12, 16
RIVALS = ("published", "same_shape", "tuned")
# For a loss that is no record, a small model that makes many steps beats a large one. "ours" and "tuned"
# are the best of ten runs each, all from one seed (results/tune_*.json).
NEXT_RECIPES = {
    "ours": Recipe("ours", 2, 64, 440, 0.0392, 0.0196, momentum=0.9),
    "published": Recipe("plain", 4, 128, 2000, 0.001),
    "same_shape": Recipe("plain", 2, 64, 8000, 0.001),
    "tuned": Recipe("plain", 2, 64, 1900, 0.01, betas=(0.9, 0.95)),
}
DIFFUSION_RECIPES = {
    "ours": Recipe("ours", 3, 64, 960, 0.0224, 0.0224),
    "published": Recipe("plain", 4, 128, 2400, 0.001),
    "same_shape": Recipe("plain", 3, 64, 8000, 0.001),
    "tuned": Recipe("plain", 3, 64, 2560, 0.0084, betas=(0.8, 0.95)),
}


def next_token_race(corpus: Corpus, target: float, block_size: int = BLOCK_SIZE) -> Race:
    """Race v4 and a plain GPT-2 to a loss of the whole validation part of a text.

    target  nats per character
    """
    bodies: Bodies = {"ours": partial(build, "v4"), "plain": PlainGPT}
    vocab_size, objective = corpus.tokenizer.vocab_size, NextToken(corpus, block_size)
    return Race(bodies, objective, vocab_size, block_size, NEXT_BATCH, target)


def diffusion_race(corpus: Corpus, target: float, block_size: int = BLOCK_SIZE) -> Race:
    """Race masked diffusion with RoPE, by our recipe and by the plain one, to a mean loss over masked tokens.

    The plain recipe trains our body, for PyTorch's own layers have no RoPE.

    corpus  the text, with a MASK token; the loss is of 60 x 64 windows of its validation part, or of all if
            there are more, with a rate for each window and masks fixed by a seed
    target  nats
    """
    bodies: Bodies = dict.fromkeys(("ours", "plain"), partial(build, "v7-rope"))
    vocab_size, objective = corpus.tokenizer.vocab_size, MaskedDiffusion(corpus, block_size)
    return Race(bodies, objective, vocab_size, block_size, DIFFUSION_BATCH, target)


RACES = {  # name -> makes it, who runs in it, whether its text has a MASK token
    "recipe": (next_token_race, NEXT_RECIPES, False),
    "diffusion": (diffusion_race, DIFFUSION_RECIPES, True),
}


def prepare(name: str, corpus: str, target: float) -> tuple[Race, dict[str, Recipe]]:
    """Make one of the RACES over the text of this name, and the recipes that run in it."""
    make, recipes, with_mask = RACES[name]
    return make(load_corpus(corpus, with_mask=with_mask), target), recipes


def compare(race: Race, recipes: Mapping[str, Recipe], seeds: Sequence[int]) -> dict[str, Any]:
    """Race recipes from several seeds, and how many times as long as ours the plain ones took.

    recipes  "ours" and the RIVALS, each by its name
    returns  target, seeds, "recipes"; "runs": for each what `run_race` returns, one for each seed;
             "ratio_published", "ratio_same_shape", "ratio_tuned": medians over the seeds; "reached": for
             each recipe, how many of its runs did; where a rival did not, its true ratio is larger
    """
    outcomes = [run_race(recipes, race, seed) for seed in seeds]
    runs = {name: [outcome[name] for outcome in outcomes] for name in recipes}
    return {
        "target": race.target,
        "seeds": list(seeds),
        "recipes": {name: describe(recipe) for name, recipe in recipes.items()},
        "runs": runs,
        **ratios(runs),
        "reached": {name: sum(run["reached"] for run in rounds) for name, rounds in runs.items()},
    }


def ratios(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, float | None]:
    """Return how many times our seconds each rival took: the median over the seeds.

    None if a run of ours did not reach the target: there is nothing to compare then.
    """
    medians: dict[str, float | None] = {f"ratio_{rival}": None for rival in RIVALS}
    if all(run["reached"] for run in runs["ours"]):
        for rival in RIVALS:
            pairs = zip(runs[rival], runs["ours"], strict=True)
            times = [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs]
            medians[f"ratio_{rival}"] = round(median(times), 2)
    return medians
