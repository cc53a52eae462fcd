"""Optimizers: each weight has one, and every step has its rate."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from babygpt.config import ModelConfig, TrainConfig
from babygpt.models.versions import VERSIONS, build
from babygpt.training.optimizers import PRECISION, AdamW, Muon, optimizers, orthogonal, schedule

PLAN = TrainConfig(steps=6, batch_size=4, warmup=2, seed=0)
SHAPE = ModelConfig(vocab_size=12, block_size=24, n_layer=2, n_head=2, n_embd=32)


@pytest.mark.parametrize("version", VERSIONS)
def test_hidden_matrices_go_to_muon_and_the_rest_to_adamw(version: str) -> None:
    model = build(version, SHAPE)
    kinds = {
        id(p): type(optimizer).__name__ for optimizer in optimizers(model, PLAN) for p in optimizer.params
    }
    given_out = [id(p) for o in optimizers(model, PLAN) for p in o.params]
    assert sorted(given_out) == sorted(id(p) for p in model.parameters())  # each to one, once
    for name, p in model.named_parameters():
        assert kinds[id(p)] == ("Muon" if name.startswith("blocks.") else "AdamW"), name


@given(steps=st.integers(1, 500), warmup=st.integers(0, 600), final_lr=st.floats(0, 1), data=st.data())
def test_schedule_stays_within_its_bounds(steps: int, warmup: int, final_lr: float, data: st.DataObject):
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
    """Leave one parameter without a gradient in the second step, and begin with one that has none."""
    ours, theirs = ([nn.Parameter(m.detach().clone()) for m in matrices()] for _ in range(2))
    options = {"lr": 0.1, "weight_decay": 0.1}
    pair = [
        (AdamW(ours, **options), ours),
        (torch.optim.AdamW(theirs, betas=(0.9, 0.95), fused=True, **options), theirs),
    ]
    for step in range(4):
        for optimizer, params in pair:
            give_gradients(params, step)
            params[step % 2].grad = None
            optimizer.step()
    for own, reference in zip(ours, theirs, strict=True):
        assert torch.equal(own, reference)


def test_the_first_step_does_not_load_the_compiler_stack() -> None:
    """Keep out the compiler stack: it takes 1.5 s to load, which would delay the first run."""
    script = """
import sys, torch
from babygpt import ModelConfig, TrainConfig, build
from babygpt.data.corpus import load_corpus
from babygpt.objectives import NextToken
from babygpt.training import Training
from babygpt.training.saved_run import restore, training_state
corpus = load_corpus("tales", 5_000)
model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 8, n_layer=1, n_head=1, n_embd=8))
before = set(sys.modules)
training = Training(model, NextToken(corpus, 8), TrainConfig(steps=2, batch_size=2))
assert len(list(training.steps())) == 2
restore(training, training_state(training))
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before} & {"sympy"}),
      "torch._dynamo" in sys.modules)
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["False"]


# ---------------------------------------------------------------- Muon

MATRICES = ((8, 8), (8, 32), (8, 8), (32, 8), (12, 8))


def matrices() -> list[nn.Parameter]:
    draw = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=draw)) for shape in MATRICES]


def give_gradients(params: list[nn.Parameter], seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    for p in params:
        p.grad = torch.randn(p.shape, generator=draw)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_muon_moves_matrices_as_that_of_pytorch(weight_decay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare in PyTorch's own precision."""
    monkeypatch.setitem(PRECISION, "cpu", torch.bfloat16)
    ours, theirs = matrices(), matrices()
    options = {"lr": 0.1, "weight_decay": weight_decay}
    pair = [(Muon(ours, **options), ours), (torch.optim.Muon(theirs, momentum=0.95, **options), theirs)]
    for step in range(4):
        for optimizer, params in pair:
            give_gradients(params, step)
            optimizer.step()
    for own, reference, start in zip(ours, theirs, matrices(), strict=True):
        assert (own - start).abs().max() > 0.05
        torch.testing.assert_close(own, reference, atol=2e-3, rtol=0)  # bfloat16 sums in another order


def test_a_processor_orthogonalizes_in_float32_close_to_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    random = torch.randn(3, 24, 96, generator=torch.Generator().manual_seed(0))
    precise = orthogonal(random)
    assert precise.dtype == torch.float32
    monkeypatch.setitem(PRECISION, "cpu", torch.bfloat16)
    rounded = orthogonal(random)
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(precise, rounded.float(), atol=2e-2, rtol=0)


@pytest.mark.parametrize("shape", [(24, 24), (24, 96), (96, 24)])
def test_orthogonalizing_equalizes_all_directions_and_turns_none(shape: tuple[int, int]) -> None:
    random = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    got = orthogonal(random).double()
    u, s, vh = torch.linalg.svd(random, full_matrices=False)
    shares = u.mT @ got @ vh.mT  # diagonal where the singular vectors are the same
    sizes = shares.diagonal(dim1=-2, dim2=-1)
    large = s > 0.02 * s.amax(dim=-1, keepdim=True)
    assert (sizes[large] > 0.6).all()
    assert (sizes < 1.25).all()
    assert (shares - torch.diag_embed(sizes)).abs().max() < 0.05


def test_a_matrix_without_a_gradient_stays_and_no_gradient_at_all_gives_no_nan() -> None:
    params = matrices()
    give_gradients(params, 0)
    params[0].grad = None
    params[3].grad = torch.zeros_like(params[3])
    Muon(params, lr=0.1).step()
    for n, (p, start) in enumerate(zip(params, matrices(), strict=True)):
        assert torch.equal(p, start) == (n in (0, 3)), n
