"""Tests of the device that is picked, and of the number of threads."""

import os
from collections.abc import Callable, Iterator

import joblib
import pytest
import torch

from babygpt.device import pick_device, use_allowed_threads


def test_cuda_comes_before_mps_before_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BABYGPT_DEVICE", raising=False)
    for here in (["cuda", "mps"], ["cuda"], ["mps"], ["cpu"]):
        monkeypatch.setattr(torch.cuda, "is_available", lambda here=here: "cuda" in here)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda here=here: "mps" in here)
        assert pick_device().type == here[0]


def test_a_device_that_is_named_is_picked_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setenv("BABYGPT_DEVICE", "cpu")
    assert pick_device().type == "cpu"
    for wrong in ("cuda", "gpu", "cpu:1"):
        monkeypatch.setenv("BABYGPT_DEVICE", wrong)
        with pytest.raises(ValueError, match=rf"BABYGPT_DEVICE \({wrong}\) must be one of .*: mps, cpu$"):
            pick_device()


# ---------------------------------------------------------------- threads


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Return PyTorch's number of threads after the limit, on a machine of some cores with a quota."""
    before = torch.get_num_threads()

    def have(now: int, cores: int, quota: int, **variables: str) -> int:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.setenv(name, variables.get(name, ""))
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
        monkeypatch.setattr(joblib, "cpu_count", lambda: quota)
        torch.set_num_threads(now)
        use_allowed_threads()
        return torch.get_num_threads()

    yield have
    torch.set_num_threads(before)


def test_torch_keeps_the_quota_or_the_choice_of_the_user(threads: Callable[..., int]) -> None:
    assert threads(8, cores=8, quota=1) == 1
    assert threads(8, cores=16, quota=3) == 3  # 8 cores that run two threads each
    assert threads(24, cores=32, quota=1) == 1  # 8 cores that run two threads each, and 16 that run one
    assert threads(4, cores=7, quota=1) == 1
    assert threads(4, cores=8, quota=6) == 4  # it is never made more
    assert threads(3, cores=8, quota=1) == 3
    assert threads(8, cores=8, quota=1, OMP_NUM_THREADS="8") == 8
    assert threads(8, cores=8, quota=1, MKL_NUM_THREADS="8") == 8
