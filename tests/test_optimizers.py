"""Every weight has one optimizer, and every step its rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig, TrainConfig
from babygpt.models.versions import VERSIONS, build
from babygpt.optimizers import optimizers, schedule

PLAN = TrainConfig(steps=6, batch_size=4, warmup=2, seed=0)
SHAPE = ModelConfig(vocab_size=12, block_size=24, n_layer=2, n_head=2, n_embd=32)


@pytest.mark.parametrize("version", VERSIONS)
def test_hidden_matrices_go_to_muon_and_the_rest_to_adamw(version: str) -> None:
    model = build(version, SHAPE)
    kinds = {
        id(p): type(optimizer).__name__
        for optimizer in optimizers(model, PLAN)
        for group in optimizer.param_groups
        for p in group["params"]
    }
    given_out = [id(p) for o in optimizers(model, PLAN) for g in o.param_groups for p in g["params"]]
    assert sorted(given_out) == sorted(id(p) for p in model.parameters())  # each to one, once
    for name, p in model.named_parameters():
        assert kinds[id(p)] == ("Muon" if name.startswith("blocks.") else "AdamW"), name


@given(
    steps=st.integers(1, 500),
    warmup=st.integers(0, 600),
    final_lr=st.floats(0, 1),
    data=st.data(),
)
def test_schedule_stays_within_its_bounds(
    steps: int, warmup: int, final_lr: float, data: st.DataObject
) -> None:
    config = TrainConfig(steps=steps, warmup=warmup, final_lr=final_lr)
    step = data.draw(st.integers(0, steps - 1))
    share = schedule(step, config)
    assert 0 < share <= 1
    if step >= warmup:
        assert share >= final_lr
        assert step == 0 or schedule(step - 1, config) >= share or step == warmup


def test_schedule_rises_then_falls_to_its_end() -> None:
    config = TrainConfig(steps=100, warmup=10, final_lr=0.1)
    shares = [schedule(n, config) for n in range(100)]
    top = shares.index(max(shares))
    assert top in (9, 10)
    assert shares[: top + 1] == sorted(shares[: top + 1])
    assert shares[top:] == sorted(shares[top:], reverse=True)
    assert shares[0] == pytest.approx(0.1, rel=0.02)
    assert shares[-1] == pytest.approx(0.1, abs=0.01)
    halves = np.diff(shares[10:])
    assert np.allclose(halves, halves[0])  # in a straight line
