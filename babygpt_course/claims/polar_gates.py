"""What the claims of note 000 are measured on: random scores, small models, and one without errors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, GatesLast
from babygpt.encodings.polar import ALPHA
from babygpt.models.base import KVCache, LanguageModel
from babygpt.models.transformer import norm, score_scale
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt.sampling import by_confidence, fill_in

HEAD_DIM, LENGTH = 32, 64
LETTERS = 12  # vocabulary of the small models, MASK among them


def random_scores(encoding: Encoding, masked: Tensor, n: int = 256) -> Tensor:
    """Scores between the tokens of n random texts, as the body would compare them: (n, T, T)."""
    draw, T = torch.Generator().manual_seed(0), len(masked)
    q, k = norm(torch.randn(2, n, 1, T, HEAD_DIM, generator=draw))
    q, k = encoding.transform_qk(q, k, Positions(torch.arange(T), masked=masked))
    return (q @ k.mT * score_scale(torch.empty(HEAD_DIM)))[:, 0].detach()


def attention_to_masked(encoding: Encoding) -> float:
    """Share of the attention that goes to MASK tokens where every other token is one."""
    masked = torch.arange(LENGTH) % 2 == 0
    weights = random_scores(encoding, masked).softmax(dim=-1)
    return float(weights[..., masked].sum(dim=-1).mean())


def small_model(version: str, alpha: float = ALPHA, per_layer: bool = False) -> tuple[LanguageModel, Tensor]:
    """An untrained model with random weights, its phase at 0, and a text for it: the same ones always.

    per_layer  whether each of its two layers has a phase of its own
    """
    config = ModelConfig(LETTERS, LENGTH, n_layer=2, n_head=2, n_embd=2 * HEAD_DIM)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build(version, config, per_layer=per_layer, alpha=alpha)
        for name, p in model.named_parameters():
            if name.startswith("encoding."):
                nn.init.zeros_(p)
            else:
                nn.init.normal_(p, std=p.shape[-1] ** -0.5)
        idx = torch.randint(LETTERS - 1, (LENGTH,))
    return model, idx


def bare_gate() -> GatesLast:
    """A gate without the norm, which RoPE needs as well; its phases are always the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return GatesLast(HEAD_DIM)


def channel_dependence(encoding: Encoding) -> Tensor:
    """Whether a channel of a query counts in a channel of the placed query: (placed channels, channels)."""
    positions = Positions(torch.tensor([5]), masked=torch.zeros(1, dtype=torch.bool))

    def placed(q: Tensor) -> Tensor:
        return encoding.transform_qk(q.view(1, 1, 1, -1), q.view(1, 1, 1, -1), positions)[0].flatten()

    q = torch.randn(HEAD_DIM, generator=torch.Generator().manual_seed(0))
    slopes: Tensor = torch.func.jacrev(placed)(q)
    return slopes != 0


def multiplications(encoding: Encoding) -> float:
    """Multiplications that a query, a key and their score take, for each channel of a head."""
    table = channel_dependence(encoding)
    return (2 * int(table.sum()) + len(table)) / HEAD_DIM


def wave_angles() -> Tensor:
    """How far the wave of each channel has come at each place of a window: (T, D), radians."""
    return torch.arange(LENGTH)[:, None] * 10_000 ** (-torch.arange(HEAD_DIM).double() / HEAD_DIM)


def phase_errors(phi: float) -> tuple[Tensor, Tensor]:
    """Mean square errors against cos(iω + φ), of cos(iω) cos φ and of no phase at all: (D,) each."""
    wave, angle = wave_angles(), torch.tensor(phi, dtype=torch.float64)
    exact, product = (wave + angle).cos(), wave.cos() * angle.cos()
    return (product - exact).square().mean(dim=0), (wave.cos() - exact).square().mean(dim=0)


class OneLetterModel(LanguageModel):
    """Knows texts that are one letter over and over, either of two: its answers are the exact ones."""

    causal = False

    def __init__(self, length: int) -> None:
        super().__init__(ModelConfig(3, length), Encoding())
        self.sure = nn.Parameter(torch.tensor(40.0))

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        seen = torch.stack([(idx == letter).any(dim=1) for letter in range(3)], dim=-1)  # (B, 3)
        return (self.sure * seen)[:, None].expand(*idx.shape, 3)


def inconsistent_share(threshold: float, length: int = 8, n: int = 1000) -> float:
    """Share of texts with both letters in them, written by a model that knows there are none."""
    model, holes = OneLetterModel(length), torch.full((n, length), 2)
    tokens = fill_in(
        model, holes, by_confidence(threshold), generator=torch.Generator().manual_seed(0)
    ).tokens
    return float((tokens != tokens[:, :1]).any(dim=1).float().mean())
