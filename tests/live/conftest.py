"""Fixtures for tests of the live lab: a small model, an objective that a test can hold back."""

import threading

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.models.versions import build
from babygpt.objectives import NextToken

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16


@pytest.fixture
def one_thread():
    """Use one thread of PyTorch: with another number of threads, sums differ in the last bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Gated(NextToken):
    """Objective whose batches wait for tickets, so that a test can act between any two steps.

    heard  one of the encoding's numbers in every step, if a `name` is set
    """

    def __init__(self, corpus):
        super().__init__(corpus, BLOCK)
        self.arrived, self.tickets = threading.Semaphore(0), threading.Semaphore(0)
        self.name, self.heard = "", []

    def batch(self, batch_size, generator):
        self.arrived.release()
        assert self.tickets.acquire(timeout=LONG)
        return super().batch(batch_size, generator)

    def loss(self, model, batch):
        if self.name:
            self.heard.append(getattr(model.encoding, self.name))
        return super().loss(model, batch)

    def reach(self, step):
        """Let the run continue until it draws the batch of this step, counted from its present one."""
        for _ in range(step - 1):
            assert self.arrived.acquire(timeout=LONG)
            self.tickets.release()
        assert self.arrived.acquire(timeout=LONG)

    def let_go(self):
        self.tickets.release(10_000)


@pytest.fixture
def gated(small_corpus):
    objective = Gated(small_corpus)
    yield objective
    objective.let_go()


@pytest.fixture
def make(small_corpus):
    """Make a fresh model of a version, always with the same weights."""

    def fresh(version="v4"):
        draw = torch.random.get_rng_state()
        torch.manual_seed(0)
        V = small_corpus.tokenizer.vocab_size
        model = build(version, ModelConfig(V, block_size=BLOCK, n_layer=1, n_head=2, n_embd=16))
        torch.random.set_rng_state(draw)
        return model

    return fresh


@pytest.fixture
def objective(small_corpus):
    return NextToken(small_corpus, BLOCK)
