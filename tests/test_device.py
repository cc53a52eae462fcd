"""The fastest device at hand, and arithmetic that suits it."""

import pytest
import torch

from babygpt.device import mixed_precision, pick_device


@pytest.mark.parametrize(
    ("cuda", "mps", "picked"),
    [
        (True, True, "cuda"),
        (True, False, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ],
)
def test_cuda_comes_before_mps_before_cpu(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, picked: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert pick_device().type == picked


def test_what_is_picked_can_be_used() -> None:
    device = pick_device()
    assert torch.ones(3, device=device).sum().item() == 3.0


def test_cpu_keeps_full_precision() -> None:
    x = torch.randn(8, 8)
    exact = x @ x
    with mixed_precision(torch.device("cpu")):
        assert torch.equal(x @ x, exact)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_multiplies_in_bfloat16() -> None:
    x = torch.randn(8, 8, device="cuda")
    with mixed_precision(x.device):
        assert (x @ x).dtype == torch.bfloat16
