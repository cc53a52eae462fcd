"""Exhibits of the museum of bugs: small models with a few wrong lines each, and their labels.

The loss of every one falls. `promises.py` measures what it breaks.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Rotary, Sinusoidal
from babygpt.encodings.rotary import angles, rotate_pairs
from babygpt.encodings.sinusoidal import sinusoid
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Attention, Block, Context, Transformer
from babygpt.positions import Positions

# ---------------------------------------------------------------- a healthy model


class Specimen(Transformer):
    """A causal Transformer that finds the positions of its tokens itself; the last token id is padding."""

    def positions(self, idx: Tensor, n_read: int) -> Positions:
        """Return the positions of tokens (B, T) that follow `n_read` others.

        Padding is not counted. It gets a position after all tokens, where no token may look.
        """
        real = idx != self.config.vocab_size - 1
        if bool(real.all()):
            return Positions.arange(idx.shape[1], n_read, idx.device)
        return Positions((real.cumsum(dim=-1) - 1).masked_fill(~real, idx.shape[1]))

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        if positions is None:
            positions = self.positions(idx, self.n_read(cache) if cache else 0)
        return super().forward(idx, positions, cache)

    def n_read(self, cache: KVCache) -> int:
        """Return how many tokens were read before, those that the cache has dropped among them."""
        return 0 if cache.positions is None else int(cache.positions.time.max()) + 1


def rotary_specimen(
    config: ModelConfig, encoding: type[Rotary] = Rotary, model: type[Specimen] = Specimen
) -> Specimen:
    """Build a model with RoPE; healthy, unless it is given another encoding or model."""
    return model(config, encoding(config.head_dim))


def sinusoidal_specimen(
    config: ModelConfig, encoding: type[Sinusoidal] = Sinusoidal, model: type[Specimen] = Specimen
) -> Specimen:
    """Build a model with the table of sines and cosines; healthy, unless it is given another part."""
    return model(config, encoding(config.n_embd))


# ---------------------------------------------------------------- encodings that are wrong


class AlongHeads(Rotary):
    """RoPE for queries of shape (B, T, H, D), given queries of shape (B, H, T, D)."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        time = torch.arange(q.shape[1], device=q.device)
        angle = angles(time, q.shape[-1], self.theta)[:, None]  # (H, 1, D / 2)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


class MixedLayouts(Rotary):
    """Angles laid out for pairs (i, i + D/2), rotation of the pairs (2i, 2i + 1)."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        half = angles(positions.time, q.shape[-1], self.theta)  # (T, D / 2)
        angle = torch.cat((half, half), dim=-1)  # (T, D)

        def rotate(x: Tensor) -> Tensor:
            turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
            return (x * angle.cos() + turned * angle.sin()).to(x.dtype)

        return rotate(q), rotate(k)


class LostMinus(Rotary):
    """RoPE that turns (a, b) into (a cos + b sin, b cos + a sin)."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        half = angles(positions.time, q.shape[-1], self.theta)  # (T, D / 2)
        angle = half.repeat_interleave(2, dim=-1)  # (T, D)

        def rotate(x: Tensor) -> Tensor:
            turned = torch.stack((x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
            return (x * angle.cos() + turned * angle.sin()).to(x.dtype)

        return rotate(q), rotate(k)


class ShortNumbers(Rotary):
    """RoPE whose positions have the type of everything else in the model: bfloat16."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = angles(positions.time.bfloat16(), q.shape[-1], self.theta)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


class Clamped(Rotary):
    """RoPE with a table of 32 rows, the last of which serves all positions beyond it."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = angles(positions.time.clamp(max=31), q.shape[-1], self.theta)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


class AbsoluteKernel(Rotary):
    """RoPE times K(m), where m is the position of the token."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = angles(positions.time, q.shape[-1], self.theta)
        m2 = positions.time.double() ** 2
        kernel = 0.7 * torch.exp(-m2 / (2 * 5.0**2)) + 0.3 * torch.exp(-m2 / (2 * 20.0**2))
        kernel = (kernel if kernel.dim() == 1 else kernel[:, None])[..., None]  # (T, 1) or (B, 1, T, 1)
        return rotate_pairs(q, angle) * kernel.to(q), rotate_pairs(k, angle) * kernel.to(k)


class CosineAlone(Rotary):
    """Channel k of the token at position i times cos(i theta^(-k/D))."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gate = angles(positions.time, 2 * q.shape[-1], self.theta).cos().to(q)  # (T, D)
        return q * gate, k * gate


class Twice(Sinusoidal):
    """Code that the embedding adds, and the caller once more."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        x = super().embed(x, positions)
        return super().embed(x, positions)


class AlongBatch(Sinusoidal):
    """A code for inputs of shape (T, B, C), given inputs of shape (B, T, C)."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        time = torch.arange(x.shape[0], device=x.device)
        return x + sinusoid(time, self.n_embd, self.theta)[:, None].to(x.dtype)  # (B, 1, C)


class MissingColon(Sinusoidal):
    """Table read as table[T] where table[:T] was meant."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        time = torch.tensor(x.shape[1], device=x.device)
        return x + sinusoid(time, self.n_embd, self.theta).to(x.dtype)  # (C,)


# ---------------------------------------------------------------- models that are wrong


class RestartsInCache(Specimen):
    """Model that counts the tokens that it is given now, not those it has read."""

    def positions(self, idx: Tensor, n_read: int) -> Positions:
        return super().positions(idx, 0)


class CountsRows(Specimen):
    """Counts the tokens that the cache still holds, not those that were read."""

    def n_read(self, cache: KVCache) -> int:
        return cache.length


class OnePosition(Specimen):
    """After the prompt, all tokens of a call get the position of its first one."""

    def positions(self, idx: Tensor, n_read: int) -> Positions:
        if n_read == 0:
            return super().positions(idx, 0)
        return Positions(torch.full((idx.shape[1],), n_read, device=idx.device))


class CountsPadding(Specimen):
    """Model that hides padding, and counts it."""

    def positions(self, idx: Tensor, n_read: int) -> Positions:
        real = idx != self.config.vocab_size - 1
        if bool(real.all()):
            return super().positions(idx, n_read)
        time = torch.arange(idx.shape[1], device=idx.device).expand_as(idx)
        return Positions(time.masked_fill(~real, idx.shape[1]))


class OneTooMany(Specimen):
    """A mask with its diagonal one step too high."""

    def attn_masks(self, queries: Positions, keys: Positions) -> list[Tensor | None]:
        return super().attn_masks(Positions(queries.time + 1), keys)


class Unscaled(Attention):
    """Attention that forgets to divide its scores by the root of the head's width."""

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().qkv(x, context)
        return q * q.shape[-1] ** 0.5, k, v


class WithoutScale(Specimen):
    """A model with `Unscaled` in every block, which begins with the weights of the healthy one."""

    def __init__(self, config: ModelConfig, encoding: Encoding) -> None:
        super().__init__(config, encoding)
        for block in self.modules():
            if isinstance(block, Block):
                block.attention.__class__ = Unscaled  # the weights stay, the arithmetic changes


# ---------------------------------------------------------------- labels

Make = Callable[..., Specimen]  # given a ModelConfig
SHAPE = ModelConfig(12, block_size=32, n_layer=2, n_head=2, n_embd=32)  # Every promise is measured on it.


@dataclass(frozen=True)
class Exhibit:
    """Exhibit: a model with a bug, and its label.

    name     what it is called
    does     what the code does, in a sentence
    unseen   why the bug stays unnoticed, in a sentence
    part     the wrong encoding or model; None if nothing is wrong
    met      where it was met
    healthy  makes the model without it
    shown    the code that is shown, if it is not that of `part`
    """

    name: str
    does: str
    unseen: str
    part: type[Any] | None
    met: Sequence[str] = field(default=(), hash=False)
    healthy: Make = rotary_specimen
    shown: type[Any] | None = None

    @cached_property
    def make(self) -> Make:
        """Makes a model with it."""
        if self.part is None:
            return self.healthy
        kind = "model" if issubclass(self.part, Specimen) else "encoding"
        return partial(self.healthy, **{kind: self.part})

    @property
    def thing(self) -> Any:
        """The class or function whose source is shown."""
        return self.shown or self.part or self.healthy

    def plaque(self) -> str:
        """Return its two sentences and where it was met, as Markdown."""
        where = f" Met in: {'; '.join(map(link, self.met))}." if self.met else ""
        return f"**{self.name}**: {self.does} {self.unseen}{where}"


def link(place: str) -> str:
    """Return one of the pages where an exhibit was met, as Markdown."""
    address, _, remark = place.partition(", ")
    if address.count("/") != 3:
        return place
    _, repository, kind, number = address.split("/")
    what = {"issues": "issue", "pull": "pull request"}[kind]
    return f"[{repository}, {what} {number}{remark and ', ' + remark}](https://github.com/{address})"


PARTS: dict[str, dict[str, Any]] = {
    "nothing wrong": {"part": None},
    "wrong axis": {"part": AlongHeads},
    "mixed layouts": {"part": MixedLayouts},
    "a lost minus": {"part": LostMinus},
    "positions in bfloat16": {"part": ShortNumbers},
    "silent clamp": {"part": Clamped},
    "kernel of the position": {"part": AbsoluteKernel},
    "the sine left out": {"part": CosineAlone},
    "codes added twice": {"part": Twice, "healthy": sinusoidal_specimen},
    "codes along the batch": {"part": AlongBatch, "healthy": sinusoidal_specimen},
    "one code for all": {"part": MissingColon, "healthy": sinusoidal_specimen},
    "cache restarts": {"part": RestartsInCache},
    "rows counted": {"part": CountsRows},
    "one position for a call": {"part": OnePosition},
    "padding counted": {"part": CountsPadding, "healthy": sinusoidal_specimen},
    "mask off by one": {"part": OneTooMany},
    "dropped scale": {"part": WithoutScale, "shown": Unscaled},
}
LABELS = tomllib.loads((files(__package__) / "exhibits.toml").read_text(encoding="utf-8"))["exhibits"]
EXHIBITS = tuple(Exhibit(**label, **PARTS[label["name"]]) for label in LABELS)
