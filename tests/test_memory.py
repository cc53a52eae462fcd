"""Whether something fits into memory, told before it is taken."""

import psutil
import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.memory import device_memory, require_memory, require_memory_for_model, require_memory_to_train
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.training import train

SHAPE = ModelConfig(11, block_size=16, n_layer=3, n_head=2, n_embd=16)


@pytest.fixture
def memory(monkeypatch):
    """Give the machine so many bytes of memory."""
    return lambda size: monkeypatch.setattr("babygpt.memory.device_memory", lambda device: size)


def held(model):
    """The bytes of a model's blocks and of the two tables that every model has."""
    common = [p for name, p in model.named_parameters() if not name.startswith("encoding.")]
    return sum(p.numel() * p.element_size() for p in common if p.ndim == 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_needs_what_its_matrices_take(version, memory):
    size = held(build(version, SHAPE))
    blocks = VERSIONS[version].blocks
    memory(size)
    require_memory_for_model(SHAPE, blocks)
    memory(size - 1)
    with pytest.raises(ValueError, match=r"n_layer 3, n_embd 16 .* GB of memory"):
        require_memory_for_model(SHAPE, blocks)


def test_no_model_is_made_for_which_there_is_no_room(memory):
    memory(1000)
    with pytest.raises(ValueError, match="need at least"):
        build("v4", SHAPE)


def test_training_needs_room_for_weights_gradients_moments_and_the_stream(memory):
    model = build("v4", SHAPE)
    weights = sum(p.numel() for p in model.parameters())
    stream = 5 * SHAPE.block_size * SHAPE.n_embd * SHAPE.n_layer
    memory(4 * (3 * weights + stream))
    require_memory_to_train(model, SHAPE, TrainConfig(batch_size=5))
    with pytest.raises(ValueError, match=r"batches of 6 windows \(batch_size\)"):
        require_memory_to_train(model, SHAPE, TrainConfig(batch_size=6))


def test_a_batch_without_room_is_refused_before_the_first_step(small_corpus):
    V = small_corpus.tokenizer.vocab_size
    model = build("v4", ModelConfig(V, block_size=16, n_layer=1, n_head=2, n_embd=16))
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(ValueError, match="10000000000000 windows"):
        next(train(model, NextToken(small_corpus, 16), TrainConfig(batch_size=10**13)))
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))


def test_the_memory_is_that_of_the_machine():
    assert device_memory(torch.device("cpu")) == psutil.virtual_memory().total


def test_all_of_it_may_be_asked_for_and_no_more():
    there = device_memory(torch.device("cpu"))
    require_memory("zeros", there)
    with pytest.raises(ValueError, match=r"zeros need at least .* GB of memory; there are "):
        require_memory("zeros", there + 1)


def test_a_number_that_no_float_holds_is_told_too():
    with pytest.raises(ValueError, match=r"zeros need at least 1\.000e\+391 GB"):
        require_memory("zeros", 10**400)
