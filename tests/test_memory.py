"""Memory: a run that cannot fit is refused early; a large one is read in portions, with equal numbers."""

import errno

import numpy as np
import psutil
import pytest
import torch

from babygpt import device as budget
from babygpt.config import ModelConfig, TrainConfig
from babygpt.device import portions, require_memory_to_train
from babygpt.metrics import exact_nelbo, loss_by_position, nelbo
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches, MaskedDiffusion, NextToken
from babygpt.training import train

SHAPE = ModelConfig(11, block_size=16, n_layer=3, n_head=2, n_embd=16)
CPU = torch.device("cpu")
GB = 10**9


@pytest.fixture
def memory(monkeypatch):
    """Give the machine this number of bytes of memory."""
    return lambda size: monkeypatch.setattr("babygpt.device.device_memory", lambda device: size)


# ---------------------------------------------------------------- refusals


def test_the_memory_is_the_machines_or_the_containers(monkeypatch, tmp_path):
    monkeypatch.setattr(budget, "LIMITS", ())
    assert budget.device_memory(CPU) == psutil.virtual_memory().total
    limits = {"memory.max": "2000000000\n", "high": "max\n"}
    for name, text in limits.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(budget, "LIMITS", [tmp_path / name for name in (*limits, "missing")])
    assert budget.device_memory(CPU) == 2 * GB


LARGE = {  # a version, its shape, windows of a batch, their length, and the gigabytes that do not do
    "logits": ("v1", {"vocab_size": 50_000, "n_embd": 8}, 64, 192, 4),
    "the stream": ("v4", {"n_embd": 64, "n_layer": 4}, 512, 4096, 15),
}


def test_a_batch_that_cannot_fit_is_refused_and_an_eighth_is_not(memory):
    for version, shape, rows, length, gigabytes in LARGE.values():
        model = build(version, ModelConfig(**{"vocab_size": 11, "n_head": 4, "n_layer": 1} | shape))
        plan = TrainConfig(batch_size=rows)
        memory(gigabytes * GB)
        with pytest.raises(ValueError, match="need at least"):
            require_memory_to_train(model, plan, length)
        require_memory_to_train(model, plan, length // 8)
        memory(1000 * GB)


def test_usual_sizes_fit_into_four_gigabytes(memory):
    memory(4 * GB)
    for shape in ({}, {"block_size": 256, "n_embd": 256, "n_layer": 6}):
        for version in ("v1", "v4", "v6", "v7"):
            model = build(version, ModelConfig(100, **shape))
            require_memory_to_train(model, TrainConfig(), 256)


def test_a_batch_without_room_is_refused_before_the_first_step(small_corpus):
    V = small_corpus.tokenizer.vocab_size
    model = build("v4", ModelConfig(V, block_size=16, n_layer=1, n_head=2, n_embd=16))
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(ValueError, match="10000000000000 windows"):
        next(train(model, NextToken(small_corpus, 16), TrainConfig(batch_size=10**13)))
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))


# ---------------------------------------------------------------- portions


MEASURED = {
    "NextToken": ("v5", lambda m, c: NextToken(c, 16).validate(m)),
    "MaskedDiffusion": ("v7", lambda m, c: MaskedDiffusion(c, 16, 90).validate(m)),
    "Branches": ("v6", lambda m, c: Branches(c, 16, (1, 3)).validate(m)),
    "loss_by_position": ("v4", lambda m, c: loss_by_position(m, c.val, 20)),
    "nelbo": ("v7", lambda m, c: nelbo(m, c.val)),
    "exact_nelbo": ("v7", lambda m, c: exact_nelbo(m, c.val[:6])),
}


@pytest.mark.parametrize("name", MEASURED)
def test_where_there_is_little_memory_windows_are_read_one_by_one(
    name, awake, small_corpus, small_masked_corpus, memory, monkeypatch
):
    """Compare with the numbers when all windows go together."""
    version, measure = MEASURED[name]
    corpus = small_masked_corpus if VERSIONS[version].masks else small_corpus
    model, rows = awake(version, vocab_size=corpus.tokenizer.vocab_size), []
    model.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    together = measure(model, corpus)
    assert max(rows) > 1
    rows.clear()
    monkeypatch.setattr(budget, "SMALL", 0)
    memory(1)
    one_by_one = measure(model, corpus)
    assert set(rows) == {1}
    np.testing.assert_allclose(one_by_one, together, rtol=1e-5)


def test_where_there_is_memory_all_rows_go_at_once(awake):
    """Include the largest batch that the course measures, so that no stored number depends on the machine."""
    model, idx = awake("v4", vocab_size=200, block_size=192, n_embd=128, n_layer=4), torch.zeros(64, 192)
    assert [len(rows) for (rows,) in portions(model, idx)] == [64]
    assert [len(rows) for (rows,) in portions(model, idx, at_most=24)] == [24, 24, 16]
    assert [len(rows) for (rows,) in portions(model, idx[:0])] == [0]


def test_scores_decide_how_many_long_rows_go_at_once(awake, memory):
    """Keep 17 matrices of (T, T) a row for sixteen heads and the mask, and 3 for two heads."""
    memory(2 * GB)
    idx = torch.zeros(64, 1024)
    few, many = (
        len(next(portions(awake("nope", vocab_size=11, block_size=1024, n_embd=32, n_head=n), idx))[0])
        for n in (2, 16)
    )
    assert few / many == pytest.approx(17 / 3, rel=0.3)


# ---------------------------------------------------------------- failed allocations


def test_a_failed_allocation_is_recognised_from_any_source():
    for allocate in (
        lambda: torch.empty(2**60, dtype=torch.uint8),
        lambda: np.empty(2**60, dtype=np.uint8),
        lambda: bytearray(2**62),
    ):
        with pytest.raises((RuntimeError, MemoryError)) as caught:
            allocate()
        assert budget.is_out_of_memory(caught.value)


def test_only_memory_errors_are_recognised():
    for error, expected in (
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("not enough memory: you tried to allocate 9 bytes."), True),  # PyTorch on Windows
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("zeros need at least 3 GB of memory; there are 1"), False),
    ):
        assert budget.is_out_of_memory(error) is expected, error
