"""Two recipes race to the same loss; three encodings end after the same steps."""

import math
from functools import partial

from babygpt.data.corpus import from_text
from babygpt.objectives import MaskedDiffusion
from benchmarks import race, recipes

CORPUS = from_text("abc", "abcdefgh" * 300)
MASKED = from_text("abc", "abcdefgh" * 300, with_mask=True)


def test_a_run_stops_counting_when_the_target_is_reached(monkeypatch):
    monkeypatch.setattr(recipes, "BLOCK_SIZE", 16)
    got = recipes.recipe(CORPUS, target=0.5, steps=40, plain_steps=60)
    assert got["ours_val"] <= 0.5
    assert got["ours_steps"] < 40
    assert got["plain_s"] > 0
    assert got["both_reached"] == (got["plain_val"] <= 0.5)


def test_diffusion_runs_two_recipes(monkeypatch):
    monkeypatch.setattr(recipes, "BLOCK_SIZE", 16)
    monkeypatch.setattr(race, "TURNS", 2)
    monkeypatch.setattr(recipes, "MaskedDiffusion", partial(MaskedDiffusion, val_windows=256))
    got = recipes.diffusion(MASKED, target=0.0, steps=30, plain_steps=20)
    assert set(got) == set(recipes.recipe(CORPUS, target=9.0, steps=2, plain_steps=2))
    assert (got["ours_steps"], got["plain_steps"], got["both_reached"]) == (30, 20, False)
    assert got["ours_val"] < math.log(8) - 0.1  # where both begin
    assert got["plain_val"] > got["ours_val"]  # it is still warming up


def test_polar_keeps_a_loss_for_every_seed(monkeypatch):
    monkeypatch.setattr(recipes, "BLOCK_SIZE", 16)
    monkeypatch.setattr(recipes.MaskedDiffusion, "validate", lambda objective, model: 1.5)  # takes longest
    got = recipes.polar(MASKED, 2, ("v7", "v7-rope"), seeds=(1, 2))
    assert got == {"v7": [1.5, 1.5], "v7-rope": [1.5, 1.5]}


def test_both_have_one_shape_if_told(monkeypatch):
    monkeypatch.setattr(recipes, "BLOCK_SIZE", 16)
    told = {}
    for same in (False, True):
        got = recipes.recipe(CORPUS, target=9.0, steps=20, plain_steps=20, same_shape=same)
        told[same] = (got["ours_shape"], got["plain_shape"])
    assert told == {
        False: ("2 layers, 64 wide", "4 layers, 128 wide"),
        True: ("4 layers, 128 wide", "4 layers, 128 wide"),
    }
