"""What the tests of the live lab share: a small model, an objective that a test can hold back, an Axes."""

import threading

import pytest
import torch
from matplotlib.figure import Figure

from babygpt.config import ModelConfig
from babygpt.models.versions import build
from babygpt.objectives import NextToken

LONG = 60  # seconds; nothing here takes that long unless it hangs
BLOCK = 16


@pytest.fixture(autouse=True)
def soon_at_rest(monkeypatch):
    """A painter's thread that stays for a second would be waited for at the end of every test."""
    monkeypatch.setattr("babygpt.live.painter.IDLE_SECONDS", 0.02)


@pytest.fixture
def one_thread(monkeypatch):
    """Sums are the same to the last bit only with the same number of threads."""
    monkeypatch.setattr("babygpt.live.run.background_threads", lambda: 1)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Gated(NextToken):
    """Every batch waits for a ticket, so a test can stand between any two steps."""

    def __init__(self, corpus):
        super().__init__(corpus, BLOCK)
        self.arrived, self.tickets = threading.Semaphore(0), threading.Semaphore(0)

    def batch(self, batch_size, generator):
        self.arrived.release()
        assert self.tickets.acquire(timeout=LONG)
        return super().batch(batch_size, generator)

    def reach(self, step):
        """Let the run go on until it draws the batch of this step, counted from its present one."""
        for _ in range(step - 1):
            assert self.arrived.acquire(timeout=LONG)
            self.tickets.release()
        assert self.arrived.acquire(timeout=LONG)

    def let_go(self):
        self.tickets.release(10_000)


class Listening(Gated):
    """Remembers a number of the encoding in every step."""

    def __init__(self, corpus, name):
        super().__init__(corpus)
        self.name, self.heard = name, []

    def loss(self, model, batch):
        self.heard.append(getattr(model.encoding, self.name))
        return super().loss(model, batch)


@pytest.fixture
def gated(small_corpus):
    objective = Gated(small_corpus)
    yield objective
    objective.let_go()


@pytest.fixture
def listen(small_corpus):
    """Make an objective that listens to a number, by name."""
    made = []

    def make(name):
        made.append(Listening(small_corpus, name))
        return made[-1]

    yield make
    for objective in made:
        objective.let_go()


@pytest.fixture
def make(small_corpus):
    """A fresh model of a version, always with the same weights."""

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


@pytest.fixture
def ax():
    return Figure().subplots()
