"""The plain recipe is the plain recipe: PyTorch's layers, causal, and able to learn."""

import math

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.data.corpus import from_text
from babygpt.experiments import bench
from babygpt.experiments.plain import PlainGPT, train_plain
from babygpt.objectives import NextToken

CORPUS = from_text("abc", "abcdefgh" * 300)


def test_the_plain_model_is_causal_and_knows_order():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(8, 16, n_layer=2, n_head=2, n_embd=16)).double()
    idx = torch.arange(8)
    assert invariants.causal(model, idx).holds
    assert not invariants.order_blind(model, idx).holds


def test_the_plain_recipe_learns():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=32))
    losses = [s.loss for s in train_plain(model, NextToken(CORPUS, 16), 400, 8, seed=0)]
    assert losses[0] == pytest.approx(2.08, abs=0.1)  # ln 8
    assert losses[-1] < 0.2


def test_a_run_stops_counting_when_the_target_is_reached(monkeypatch):
    monkeypatch.setattr(bench, "BLOCK_SIZE", 16)
    got = bench.recipe(CORPUS, target=0.5, steps=40, plain_steps=60)
    assert got["ours_val"] <= 0.5
    assert got["ours_steps"] < 40
    assert got["plain_s"] > 0
    assert got["both_reached"] == (got["plain_val"] <= 0.5)


MASKED = from_text("abc", "abcdefgh" * 300, with_mask=True)


def test_diffusion_runs_the_same_model_by_two_recipes(monkeypatch):
    monkeypatch.setattr(bench, "BLOCK_SIZE", 16)
    monkeypatch.setattr(bench, "TURNS", 2)
    got = bench.diffusion(MASKED, target=0.0, steps=30, plain_steps=20)
    assert set(got) == set(bench.recipe(CORPUS, target=9.0, steps=2, plain_steps=2))
    assert (got["ours_steps"], got["plain_steps"], got["both_reached"]) == (30, 20, False)
    assert got["ours_val"] < math.log(8) - 0.1  # where both begin
    assert got["plain_val"] > got["ours_val"]  # it is still warming up


def test_polar_keeps_a_loss_for_every_seed(monkeypatch):
    monkeypatch.setattr(bench, "BLOCK_SIZE", 16)
    monkeypatch.setattr(bench.MaskedDiffusion, "validate", lambda objective, model: 1.5)  # that takes longest
    got = bench.polar(MASKED, 2, ("v7", "v7-rope"), seeds=(1, 2))
    assert got == {"v7": [1.5, 1.5], "v7-rope": [1.5, 1.5]}
