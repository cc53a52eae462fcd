"""All matrices of a shape at once, and each as if it were alone."""

import pytest
import torch
from torch import nn

from babygpt.training.muon import Muon, orthogonal

SHAPES = ((8, 8), (8, 32), (8, 8), (32, 8), (12, 8))


def matrices() -> list[nn.Parameter]:
    draw = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=draw)) for shape in SHAPES]


def give_gradients(params: list[nn.Parameter], seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    for p in params:
        p.grad = torch.randn(p.shape, generator=draw)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_it_moves_matrices_as_pytorchs_own_does(weight_decay: float) -> None:
    ours, theirs = matrices(), matrices()
    options = {"lr": 0.1, "weight_decay": weight_decay, "momentum": 0.9}
    pair = [(Muon(ours, **options), ours), (torch.optim.Muon(theirs, **options), theirs)]
    for step in range(4):
        for optimizer, params in pair:
            give_gradients(params, step)
            optimizer.step()
    for one, other, start in zip(ours, theirs, matrices(), strict=True):
        assert (one - start).abs().max() > 0.05
        torch.testing.assert_close(one, other, atol=2e-3, rtol=0)  # bfloat16 sums in another order


@pytest.mark.parametrize("shape", [(24, 24), (24, 96), (96, 24)])
def test_every_direction_counts_alike_and_none_is_turned(shape: tuple[int, int]) -> None:
    given = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    got = orthogonal(given).double()
    u, s, vh = torch.linalg.svd(given, full_matrices=False)
    shares = u.mT @ got @ vh.mT  # diagonal where the singular vectors are the same
    sizes = shares.diagonal(dim1=-2, dim2=-1)
    kept = s > 0.02 * s.amax(dim=-1, keepdim=True)
    assert (sizes[kept] > 0.6).all()
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


def test_what_is_no_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Muon moves matrices; a parameter of shape \(3,\) is none"):
        Muon([nn.Parameter(torch.zeros(3))], lr=0.1)


def test_it_goes_on_from_a_saved_state() -> None:
    ways = []
    for stopped in (False, True):
        params = matrices()
        optimizer = Muon(params, lr=0.1)
        for step in range(4):
            if stopped and step == 2:
                state = optimizer.state_dict()
                optimizer = Muon(params, lr=0.1)
                optimizer.load_state_dict(state)
            give_gradients(params, step)
            optimizer.step()
        ways.append(params)
    assert all(torch.equal(one, other) for one, other in zip(*ways, strict=True))
