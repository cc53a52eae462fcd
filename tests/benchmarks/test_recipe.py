"""Two recipes race to the same loss; three encodings end after the same steps."""

import math
from functools import partial

import pytest

from babygpt.data.corpus import from_text
from babygpt.objectives import MaskedDiffusion
from benchmarks import recipe

CORPUS = from_text("abc", "abcdefgh" * 300)
MASKED = from_text("abc", "abcdefgh" * 300, with_mask=True)


@pytest.fixture(autouse=True)
def _short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "BLOCK_SIZE", 16)


def test_a_run_stops_counting_when_the_target_is_reached():
    got = recipe.compare_next_token(CORPUS, target=0.5, steps=40, plain_steps=60)
    assert got["ours_val"] <= 0.5
    assert got["ours_steps"] < 40
    assert got["plain_s"] > 0
    assert got["both_reached"] == (got["plain_val"] <= 0.5)


def test_diffusion_runs_two_recipes(monkeypatch):
    monkeypatch.setattr(recipe, "ROUNDS", 2)
    monkeypatch.setattr(recipe, "MaskedDiffusion", partial(MaskedDiffusion, val_windows=256))
    got = recipe.compare_diffusion(MASKED, target=0.0, steps=30, plain_steps=20)
    assert set(got) == set(recipe.compare_next_token(CORPUS, target=9.0, steps=2, plain_steps=2))
    assert (got["ours_steps"], got["plain_steps"], got["both_reached"]) == (30, 20, False)
    assert got["ours_val"] < math.log(8) - 0.1  # where both begin
    assert got["plain_val"] > got["ours_val"]  # it is still warming up


def test_polar_has_a_loss_for_every_seed(monkeypatch):
    monkeypatch.setattr(recipe.MaskedDiffusion, "validate", lambda objective, model: 1.5)  # takes longest
    got = recipe.compare_polar(MASKED, 2, ("v7", "v7-rope"), seeds=(1, 2))
    assert got == {"v7": [1.5, 1.5], "v7-rope": [1.5, 1.5]}


@pytest.mark.parametrize(("same", "ours"), [(False, "2 layers, 64 wide"), (True, "4 layers, 128 wide")])
def test_both_have_one_shape_if_asked(same: bool, ours: str):
    got = recipe.compare_next_token(CORPUS, target=9.0, steps=20, plain_steps=20, same_shape=same)
    assert (got["ours_shape"], got["plain_shape"]) == (ours, "4 layers, 128 wide")
