"""Races to a loss: equal means for ours and the plain recipe, each run on its own clock."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import train
from benchmarks import racing, recipe
from benchmarks.plain_gpt import PlainGPT
from benchmarks.racing import Race, Recipe, describe, run_race

MARGIN = 0.02  # nats; the final loss of ours differs by more between seeds, and by 0.006 between processors
RESULTS = Path(recipe.__file__).parent / "results"
CORPUS = from_text("abc", "abcdefgh" * 300)
OURS, PLAIN = Recipe("v4", 1, 16, 40, 0.04, 0.02), Recipe("plain", 1, 16, 60, 0.01)
TINY = ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=16)


def race(target: float) -> Race:
    bodies = {"v4": partial(build, "v4"), "plain": PlainGPT}
    return Race(bodies, NextToken(CORPUS, 16), CORPUS.tokenizer.vocab_size, 16, 12, target)


# ---------------------------------------------------------------- one run


def test_a_run_in_a_race_equals_the_run_alone() -> None:
    """Show that taking turns changes only the clock: our run equals `train`, with its seed and momentum."""
    runs = run_race({"plain": PLAIN, "ours": OURS}, race(target=0.0), seed=1)
    torch.manual_seed(1)
    model = build("v4", ModelConfig(CORPUS.tokenizer.vocab_size, 16, n_layer=1, n_head=4, n_embd=16))
    plan = TrainConfig(40, 12, lr_matrix=0.04, lr_other=0.02, seed=1)
    last = list(train(model, NextToken(CORPUS, 16), plan))[-1]
    assert runs["ours"]["val"] == round(last.val_loss, 4)
    assert {name: (run["steps"], run["reached"]) for name, run in runs.items()} == {
        "plain": (60, False),
        "ours": (40, False),
    }
    changed = run_race({"ours": replace(OURS, momentum=0.7)}, race(target=0.0), seed=1)
    assert changed["ours"]["val"] != runs["ours"]["val"]


def test_only_training_is_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(racing.time, "process_time", lambda: now[0])
    steps = racing.make_steps

    def slow_steps(*args):
        for step in steps(*args):
            now[0] += 1.0
            yield step

    def slow_validation(model):
        now[0] += 100.0
        return 9.0

    monkeypatch.setattr(racing, "make_steps", slow_steps)
    here = race(0.0)
    monkeypatch.setattr(here.objective, "validate", slow_validation)
    assert run_race({"ours": OURS}, here, seed=1)["ours"]["seconds"] == OURS.steps


# ---------------------------------------------------------------- models


def test_the_plain_model_is_causal_sees_order_and_is_initialised_as_gpt_2() -> None:
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(50, 64, n_layer=8, n_head=4, n_embd=64)).double()
    idx = torch.arange(8)
    assert invariants.causal(model, idx).holds
    assert not invariants.order_blind(model, idx).holds
    assert model.head.weight is model.token_embedding.weight
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            assert not p.any(), name
        elif p.ndim > 1:
            added = name.endswith(("out_proj.weight", "linear2.weight"))
            assert p.std().item() == pytest.approx(0.005 if added else 0.02, rel=0.1), name  # 0.02 / sqrt(16)


# ---------------------------------------------------------------- our recipe against the others


def small(recipes: dict[str, Recipe]) -> dict[str, Recipe]:
    """Replace models and runs by small ones that take no time, and keep the recipes."""
    return {name: replace(original, n_layer=1, n_embd=16, steps=20) for name, original in recipes.items()}


def test_every_recipe_runs_in_either_race(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = recipe.compare(recipe.next_token_race(CORPUS, 9.0, 16), small(recipe.NEXT_RECIPES), (1, 2))
    assert set(comparison["runs"]) == {"ours", *recipe.RIVALS}
    assert comparison["reached"] == dict.fromkeys(comparison["runs"], 2)
    assert {f"ratio_{rival}" for rival in recipe.RIVALS} <= comparison.keys()
    monkeypatch.setattr(recipe, "MaskedDiffusion", partial(MaskedDiffusion, val_windows=64))
    masked = from_text("abc", "abcdefgh" * 300, with_mask=True)
    comparison = recipe.compare(recipe.diffusion_race(masked, 0.0, 16), small(recipe.DIFFUSION_RECIPES), (1,))
    assert comparison["reached"] == dict.fromkeys(comparison["runs"], 0)
    assert comparison["ratio_tuned"] is None  # ours did not come there: nothing is to be said of the others
    assert all(runs[0]["steps"] == 20 for runs in comparison["runs"].values())


def test_a_ratio_is_the_median_over_seeds() -> None:
    seconds = {"ours": (1.0, 2.0, 1.0), "published": (10.0, 10.0, 20.0), "same_shape": (4.0, 4.0, 4.0)}
    seconds["tuned"] = (3.0, 3.0, 3.0)
    runs = {
        name: [{"seconds": duration, "reached": True} for duration in each] for name, each in seconds.items()
    }
    expected = {"ratio_published": 10.0, "ratio_same_shape": 4.0, "ratio_tuned": 3.0}
    runs["tuned"][0]["reached"] = False  # a rival that gave up has taken at least as long
    assert recipe.ratios(runs) == expected
    runs["ours"][2]["reached"] = False
    assert recipe.ratios(runs) == dict.fromkeys(expected)


@pytest.mark.parametrize("name", list(recipe.RACES))
def test_stored_races_use_these_recipes_and_equal_tuning_budgets(name: str) -> None:
    raced = recipe.RACES[name][1]
    stored = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    del stored["recipes"]["pairs"]  # raced beside the others, and given up
    assert stored["recipes"] == {each: describe(definition) for each, definition in raced.items()}
    for rival in ("ours", "tuned"):
        tuned = json.loads((RESULTS / f"tune_{name}_{rival}.json").read_text("utf-8"))
        assert tuned["best"] == describe(raced[rival])
        assert len(tuned["runs"]) == 10
    shapes = {each: (definition.n_layer, definition.n_embd) for each, definition in raced.items()}
    assert shapes["ours"] == shapes["same_shape"] == shapes["tuned"] != shapes["published"]


def test_the_benchmark_page_claims_the_ratio_only_if_ours_reaches_the_target_with_a_margin() -> None:
    stored = json.loads((RESULTS / "recipe.json").read_text("utf-8"))
    margin = stored["target"] - max(run["val"] for run in stored["runs"]["ours"])
    page = (RESULTS.parents[1] / "docs" / "benchmarks.md").read_text("utf-8")
    claims = f"**{stored['ratio_tuned']:.1f} times**" in page
    assert claims is (margin > MARGIN)
    assert claims is not ("We claim no ratio" in page)
