"""Fixtures that several tests share: small models with random weights, and a small text. Seed 0 always."""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pytest
import torch
from hypothesis import settings
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt.config import ModelConfig
from babygpt.data.batches import BranchBatch, interleave
from babygpt.data.corpus import Corpus, from_grammar
from babygpt.data.grammar import Grammar
from babygpt.encodings import Encoding
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions

settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=40)
settings.load_profile("same")


class Posterior(LanguageModel):
    """Exact model of texts of T tokens: the chances of each token, given those that are not MASK.

    joint  (V, ..., V)  the probability of each text, T times V tokens; MASK is token V
    """

    causal = False

    def __init__(self, joint: torch.Tensor) -> None:
        super().__init__(ModelConfig(joint.shape[0] + 1, block_size=joint.dim()), Encoding())
        self.anywhere = torch.nn.Parameter(torch.zeros(()))
        self.joint = joint

    def forward(self, idx: torch.Tensor, positions=None, cache=None) -> torch.Tensor:
        rows, which = idx.unique(dim=0, return_inverse=True)
        return torch.stack([self.answer(row) for row in rows])[which]

    def answer(self, row: torch.Tensor) -> torch.Tensor:
        """Return logits, (T,) -> (T, V + 1); MASK gets one that would win if MASK could be chosen."""
        joint = self.joint
        for place, token in enumerate(row.tolist()):
            if token < len(self.joint):
                only = torch.zeros(len(self.joint), dtype=torch.float64)
                only[token] = 1.0
                joint = joint * only.view([-1 if d == place else 1 for d in range(joint.dim())])
        chances = [joint.movedim(place, 0).reshape(len(joint), -1).sum(dim=1) for place in range(len(row))]
        logits = torch.stack(chances).log()
        return torch.cat([logits, torch.full((len(row), 1), 50.0, dtype=torch.float64)], dim=1)


SHAPE = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


def draw(seed: int = 0) -> torch.Generator:
    """Return a generator of its own for a test that draws random numbers."""
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C reach this process: one that was started in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@torch.no_grad()
def _wake(model: LanguageModel) -> LanguageModel:
    draw = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        spread = 1.0 if "embedding" in name or "table" in name else p.shape[-1] ** -0.5
        if name.startswith("encoding.") and ".log_" in name:  # A kernel keeps its wide reach.
            p.add_(0.1 * torch.randn(p.shape, generator=draw))
        else:
            p.normal_(std=spread, generator=draw)
    return model


@pytest.fixture(scope="session")
def wake() -> Callable[[LanguageModel], LanguageModel]:
    """Fill every parameter with noise: a fresh Transformer gives equal logits for every text."""
    return _wake


@pytest.fixture(scope="session")
def awake() -> Callable[..., LanguageModel]:
    """Make a small model of a version whose logits depend on every visible token."""

    def make(version: str, options: dict[str, Any] | None = None, **shape: int) -> LanguageModel:
        config = ModelConfig(**{**asdict(SHAPE), **shape})
        return _wake(build(version, config, **(options or {}))).eval()

    return make


@pytest.fixture(scope="session")
def text() -> Callable[..., torch.Tensor]:
    """Draw random token ids: (B, T) for two numbers, (T,) for one."""

    def make(*size: int, vocab_size: int = SHAPE.vocab_size) -> torch.Tensor:
        draw = torch.Generator().manual_seed(0)
        return torch.randint(vocab_size, size, generator=draw)

    return make


@pytest.fixture(scope="session")
def standing() -> Callable[..., Positions]:
    """Return positions at these times, in the form that a version takes.

    For parallel texts this is text 0; for a model that fills in, every third token is MASK.
    """

    def make(version: str, time: torch.Tensor) -> Positions:
        branch = torch.zeros_like(time) if VERSIONS[version].branches else None
        return Positions(time, branch, time % 3 == 1 if VERSIONS[version].masks else None)

    return make


@pytest.fixture(scope="session")
def one_text(standing: Callable[..., Positions]) -> Callable[..., Positions]:
    """Return positions of one text, one after the other, in the form that a version takes."""

    def make(version: str, n: int, start: int = 0) -> Positions:
        return standing(version, torch.arange(start, start + n))

    return make


@pytest.fixture(scope="session")
def woven(text: Callable[..., torch.Tensor]) -> Callable[..., BranchBatch]:
    """Draw random texts in one sequence: a number of tokens of each, the first ones at these times."""

    def make(lengths: Sequence[int] = (5, 9, 3), offsets: Sequence[int] = (1, 0, 4)) -> BranchBatch:
        sizes = [length + 1 for length in lengths]
        return interleave(text(sum(sizes)).split(sizes), offsets)

    return make


@pytest.fixture(scope="session")
def small_grammar() -> Grammar:
    """Build a grammar of two facts about two people; only the order of the names gives the answer."""
    return Grammar(
        words={"name": ("ann", "bob", "eve"), "verb": ("met", "hid")},
        rules={
            "story": (
                "{name.a} {verb} {name.b}. who {verb}? {name.a!b}.",
                "{name.a} {verb} {name.b}. {verb} who? {name.b!a}.",
            )
        },
    )


@pytest.fixture(scope="session")
def small_corpus(small_grammar: Grammar) -> Corpus:
    """Return about 9000 characters of the small grammar's stories to learn from, 1000 to measure on."""
    return from_grammar("small", small_grammar, n_chars=9_000)


@pytest.fixture(scope="session")
def small_masked_corpus(small_grammar: Grammar) -> Corpus:
    """Return the same text as `small_corpus`, with a MASK token."""
    return from_grammar("small", small_grammar, n_chars=9_000, with_mask=True)


@pytest.fixture(scope="session")
def posterior() -> Callable[..., LanguageModel]:
    """Make the exact model of a distribution over short texts; by default a random one."""

    def make(vocab_size: int = 3, length: int = 3) -> LanguageModel:
        draw = torch.Generator().manual_seed(0)
        weights = torch.randn([vocab_size] * length, generator=draw, dtype=torch.float64)
        return Posterior((1.5 * weights).exp() / (1.5 * weights).exp().sum())

    return make
