"""Races to a loss: equal means for ours and the plain recipe, each run on its own clock."""

import json
import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.experiments import paired
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import train
from benchmarks import racing, recipe
from benchmarks.plain_gpt import PlainGPT
from benchmarks.racing import Race, Recipe, describe, run_race

RESULTS = Path(recipe.__file__).parent / "results"
PROCESSORS = {"AVX2": "AVX2", "DEFAULT": "no vector instructions"}
ROWS = {
    "ours": "v4 as it is taught, 500 steps",
    "shift": "v4 with token shift, 360 steps",
    "tuned": "the tuned GPT-2, 1,900 steps",
    "tuned_shift": "the same with token shift, 1,400 steps",
}
CORPUS = from_text("abc", "abcdefgh" * 300)
OURS, PLAIN = Recipe("v4", 1, 16, 40, 0.04, 0.02), Recipe("plain", 1, 16, 60, 0.01)
TINY = ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=16)


def stored_races(name: str) -> list[dict[str, Any]]:
    """Return the stored races of a name, on this project's processor and as on an older one."""
    paths = (RESULTS / f"{name}.json", RESULTS / "older_processor" / f"{name}.json")
    return [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]


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
    comparison = recipe.race_recipes(
        recipe.next_token_race(CORPUS, 9.0, 16), small(recipe.NEXT_RECIPES), (1, 2)
    )
    assert comparison["reached"] == dict.fromkeys(recipe.NEXT_RECIPES, 2)
    assert set(comparison["ratios"]["shift"]) == {"tuned", "tuned_shift"}
    monkeypatch.setattr(recipe, "MaskedDiffusion", partial(MaskedDiffusion, val_windows=64))
    masked = from_text("abc", "abcdefgh" * 300, with_mask=True)
    comparison = recipe.race_recipes(
        recipe.diffusion_race(masked, 0.0, 16), small(recipe.DIFFUSION_RECIPES), (1,)
    )
    assert comparison["reached"] == dict.fromkeys(recipe.DIFFUSION_RECIPES, 0)
    assert all(runs[0]["steps"] == 20 for runs in comparison["runs"].values())


def test_a_ratio_is_a_geometric_mean_over_seeds_with_its_interval() -> None:
    seconds = {"ours": (1.0, 2.0, 1.0), "shift": (1.0, 1.0, 1.0), "tuned": (4.0, 4.0, 16.0)}
    runs = {
        name: [{"seconds": duration, "reached": True} for duration in each] for name, each in seconds.items()
    }
    runs["tuned"][0]["reached"] = False  # a rival that gave up has taken at least as long
    ratio = recipe.ratios(runs, "ours")["tuned"]
    assert ratio["mean"] == round(128 ** (1 / 3), 2)
    half = paired.critical_t(3) * stdev(math.log(x) for x in (4, 2, 16)) / math.sqrt(3)
    assert ratio["high"] == pytest.approx(128 ** (1 / 3) * math.exp(half), rel=0.01)
    assert ratio["low"] == pytest.approx(128 ** (1 / 3) / math.exp(half), abs=0.01)
    runs["ours"][2]["reached"] = False
    assert recipe.ratios(runs, "ours") == {"tuned": None}
    assert recipe.ratios(runs, "shift")["tuned"]["mean"] == round(256 ** (1 / 3), 2)


@pytest.mark.parametrize("name", list(recipe.RACES))
def test_stored_races_use_these_recipes_and_equal_tuning_budgets(name: str) -> None:
    raced = recipe.RACES[name][1]
    for stored in stored_races(name):
        stored["recipes"].pop("pairs", None)  # raced beside the others, and given up
        assert stored["recipes"] == {each: describe(raced[each]) for each in stored["recipes"]}
    assert stored_races(name)[0]["runs"].keys() - {"pairs"} == raced.keys()
    for rival in ("ours", "tuned"):
        tuned = json.loads((RESULTS / f"tune_{name}_{rival}.json").read_text("utf-8"))
        longer = replace(raced[rival], steps=tuned["best"]["steps"])
        assert tuned["best"] == describe(longer)  # one seed chose the steps, and others need more
        assert len(tuned["runs"]) == 10


def test_the_races_to_a_loss_are_run_from_fresh_seeds_on_two_instruction_sets() -> None:
    races = stored_races("recipe")
    assert len({race["machine"]["instructions"] for race in races}) == 2
    for race in races:
        assert len(race["seeds"]) == 8
        assert not set(race["seeds"]) & {1337, 2027, 9001, *range(21, 24), *range(31, 36)}  # seen before


def test_the_benchmark_page_has_the_rows_of_the_stored_races() -> None:
    page = (RESULTS.parents[1] / "docs" / "benchmarks.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (\d) of 8 \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    expected = []
    for race in stored_races("recipe"):
        for name, runs in race["runs"].items():
            words, ratios = ROWS[name], race["ratios"].get(name, {})
            losses = f"{min(run['val'] for run in runs):.3f} to {max(run['val'] for run in runs):.3f}"
            ratio = ratios.get("tuned")
            interval = f"{ratio['mean']:.1f} ({ratio['low']:.1f} to {ratio['high']:.1f})" if ratio else "–"
            processor = PROCESSORS[race["machine"]["instructions"]]
            expected.append((processor, words, str(race["reached"][name]), losses, interval))
    assert rows == expected
