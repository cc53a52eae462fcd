"""Every weight has one optimizer, and every step its rate."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build
from babygpt.training.optimizers import optimizers, require_moments, schedule
from babygpt.training.uncompiled import AdamW

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


def test_adamw_is_torchs_own_to_the_last_bit() -> None:
    def trained(kind: type[torch.optim.Optimizer]) -> torch.Tensor:
        torch.manual_seed(0)
        p = torch.nn.Parameter(torch.randn(5, 3))
        optimizer = kind([p], lr=0.1, betas=(0.9, 0.95), weight_decay=0.1, fused=True)  # type: ignore[call-arg]
        for _ in range(4):
            optimizer.zero_grad()
            p.square().sum().backward()
            optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        return p.detach()

    assert torch.equal(trained(AdamW), trained(torch.optim.AdamW))


CHANGES = {
    "another kind": lambda x: x.double(),
    "whole numbers": lambda x: x.long(),
    "another shape": lambda x: x[None],
    "nan": lambda x: torch.full_like(x, torch.nan),
    "a list": lambda x: x.tolist(),
}


@pytest.mark.survives(
    "moments of another shape, kind or of no numbers in a checkpoint", "they are refused by their name"
)
@pytest.mark.parametrize("change", CHANGES)
def test_moments_that_are_none_are_named(change: str) -> None:
    model = torch.nn.ModuleDict({"blocks": torch.nn.Linear(3, 2), "head": torch.nn.Linear(2, 1)})
    for optimizer in optimizers(model, TrainConfig()):
        model["head"](model["blocks"](torch.ones(1, 3))).sum().backward()
        optimizer.step()
        moments = optimizer.state_dict()["state"]
        require_moments(optimizer, moments, 1)
        for name, value in moments[0].items():
            changed = moments | {0: moments[0] | {name: CHANGES[change](value)}}
            with pytest.raises(BadInput, match=rf"^{name} of parameter 0 "):
                require_moments(optimizer, changed, 1)


def test_the_first_step_does_not_load_the_compiler_stack() -> None:
    """It takes 1.5 s on an idle machine, in which a first run would stand still."""
    script = """
import sys, torch
from babygpt import ModelConfig, TrainConfig, build
from babygpt.data.corpus import load_corpus
from babygpt.objectives import NextToken
from babygpt.training import Training
corpus = load_corpus("tales", 5_000)
model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 8, n_layer=1, n_head=1, n_embd=8))
before = set(sys.modules)
training = Training(model, NextToken(corpus, 8), TrainConfig(steps=2, batch_size=2))
assert len(list(training.steps())) == 2
training.restore(training.state())
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before} & {"sympy"}),
      "torch._dynamo" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]
