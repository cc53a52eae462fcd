"""Ours against plain ones: equal means for both, ratios of medians, tuning with equally many runs."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from babygpt.data.corpus import from_text
from babygpt.objectives import MaskedDiffusion
from benchmarks import recipe
from benchmarks.racing import Recipe, describe

RESULTS = Path(recipe.__file__).parent / "results"
CORPUS = from_text("abc", "abcdefgh" * 300)
MASKED = from_text("abc", "abcdefgh" * 300, with_mask=True)


def small(recipes: dict[str, Recipe]) -> dict[str, Recipe]:
    """The same recipes, for models and runs that take no time."""
    return {name: replace(one, n_layer=1, n_embd=16, steps=20) for name, one in recipes.items()}


def test_next_token_is_raced_by_every_recipe() -> None:
    found = recipe.compare(recipe.next_token_race(CORPUS, 9.0, 16), small(recipe.NEXT_RECIPES), (1, 2))
    assert set(found["runs"]) == {"ours", "pairs", *recipe.RIVALS}
    assert all(len(runs) == 2 for runs in found["runs"].values())
    assert found["all_reached"]
    assert {f"ratio_{rival}" for rival in recipe.RIVALS} == found.keys() & found["with_pairs"].keys()


def test_diffusion_is_raced_by_every_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "MaskedDiffusion", partial(MaskedDiffusion, val_windows=64))
    found = recipe.compare(recipe.diffusion_race(MASKED, 0.0, 16), small(recipe.DIFFUSION_RECIPES), (1,))
    assert not found["all_reached"]
    assert all(runs[0]["steps"] == 20 for runs in found["runs"].values())


def test_a_ratio_is_the_median_of_what_each_seed_says() -> None:
    seconds = {"ours": (1.0, 2.0, 1.0), "published": (10.0, 10.0, 20.0), "same_shape": (4.0, 4.0, 4.0)}
    seconds["tuned"] = (3.0, 3.0, 3.0)
    runs = {name: [{"seconds": one} for one in each] for name, each in seconds.items()}
    assert recipe.ratios(runs, "ours") == {
        "ratio_published": 10.0,
        "ratio_same_shape": 4.0,
        "ratio_tuned": 3.0,
    }


@pytest.mark.parametrize("recipes", [recipe.NEXT_RECIPES, recipe.DIFFUSION_RECIPES])
def test_the_rival_has_our_shape_and_only_the_published_one_another(recipes: dict[str, Recipe]) -> None:
    shapes = {name: (one.n_layer, one.n_embd) for name, one in recipes.items()}
    assert shapes["ours"] == shapes["pairs"] == shapes["same_shape"] == shapes["tuned"] != shapes["published"]
    assert recipes["same_shape"].rate == recipes["published"].rate == 1e-3


def made_up(monkeypatch: pytest.MonkeyPatch, best_rate: float, needs: int) -> None:
    """Let runs reach the target if they have this rate, and at least so many steps."""

    def run(recipes, race, seed, title):
        one = recipes["it"]
        reached = one.rate == best_rate and one.steps >= needs
        val = 1.0 if reached else 2.0 + abs(one.rate - best_rate)
        return {"it": {"steps": one.steps, "val": val, "seconds": float(one.steps), "reached": reached}}

    monkeypatch.setattr(recipe, "run_race", run)


@pytest.mark.parametrize(("needs", "steps"), [(150, 200), (300, 340), (120, 140)])
def test_tuning_finds_the_best_rate_and_the_shortest_length(monkeypatch, needs: int, steps: int) -> None:
    made_up(monkeypatch, 0.005, needs)
    start = Recipe("plain", 1, 16, 200 if needs < 300 else 260, 0.01, None)
    found = recipe.tune(
        recipe.next_token_race(CORPUS, 1.5, 16), start, rates=(0.5, 1.0, 2.0), lengths=(0.7, 1.3)
    )
    assert (found["best"]["rate"], found["best"]["steps"]) == (0.005, steps)
    assert len(found["runs"]) == 5


def test_both_rates_are_tuned_together() -> None:
    assert recipe.with_rates(Recipe("ours", 1, 16, 20, 0.04, 0.02), 0.5) == Recipe(
        "ours", 1, 16, 20, 0.02, 0.01
    )
    assert recipe.with_rates(Recipe("plain", 1, 16, 20, 0.04), 0.5).rate_other is None


@pytest.mark.parametrize("name", ["ours", "pairs", "tuned"])
def test_who_was_tuned_races_as_it_was_tuned_and_with_as_many_runs_as_the_others(name: str) -> None:
    tuned = json.loads((RESULTS / f"tune_recipe_{name}.json").read_text("utf-8"))
    assert tuned["best"] == describe(recipe.NEXT_RECIPES[name])
    assert len(tuned["runs"]) == len(recipe.RATES) + len(recipe.LENGTHS)
