"""The exhibits of the museum of bugs: each a few lines of code that run, train, and are wrong.

Every specimen is a small model whose loss falls. What it breaks is measured in `evidence.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.encodings import Rotary, Sinusoidal
from babygpt.encodings.rotary import angles, rotate_pairs
from babygpt.encodings.sinusoidal import sinusoid
from babygpt.models.base import KVCache
from babygpt.models.transformer import Attention, Block, Context, Transformer
from babygpt.positions import Positions

# ---------------------------------------------------------------- a healthy model, and its three organs


class Reader(Transformer):
    """A causal Transformer that finds out itself where its tokens stand; the last token id is padding."""

    def places(self, idx: Tensor, read: int) -> Positions:
        """Where tokens stand that come after `read` others: (B, T) ids -> positions.

        Padding is not counted, and stands after everything else, where no token may look.
        """
        real = idx != self.config.vocab_size - 1
        if bool(real.all()):
            return Positions.arange(idx.shape[1], read, idx.device)
        return Positions((real.cumsum(dim=-1) - 1).masked_fill(~real, idx.shape[1]))

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        if positions is None:
            positions = self.places(idx, cache.length if cache else 0)
        return super().forward(idx, positions, cache)


def rotary(config: ModelConfig) -> Reader:
    """A healthy model with RoPE."""
    return Reader(config, Rotary(config.head_dim))


def sinusoidal(config: ModelConfig) -> Reader:
    """A healthy model with the fixed table of sines and cosines."""
    return Reader(config, Sinusoidal(config.n_embd))


# ---------------------------------------------------------------- encodings that are wrong


class AlongHeads(Rotary):
    """RoPE for queries of shape (B, T, H, D), given queries of shape (B, H, T, D)."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        place = torch.arange(q.shape[1], device=q.device)
        angle = angles(place, q.shape[-1], self.theta)[:, None]  # (H, 1, D / 2)
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
    """(a, b) becomes (a cos + b sin, b cos + a sin)."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        half = angles(positions.time, q.shape[-1], self.theta)  # (T, D / 2)
        angle = half.repeat_interleave(2, dim=-1)  # (T, D)

        def rotate(x: Tensor) -> Tensor:
            turned = torch.stack((x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
            return (x * angle.cos() + turned * angle.sin()).to(x.dtype)

        return rotate(q), rotate(k)


class ShortNumbers(Rotary):
    """Positions take the type of everything else in the model: bfloat16."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = angles(positions.time.bfloat16(), q.shape[-1], self.theta)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


class Clamped(Rotary):
    """Angles come from a table, and the last row serves whatever lies beyond it."""

    def __init__(self, head_dim: int, rows: int) -> None:
        super().__init__(head_dim)
        self.rows = rows

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        known = positions.time.clamp(max=self.rows - 1)
        angle = angles(known, q.shape[-1], self.theta)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


class KernelOfThePlace(Rotary):
    """RoPE times K(m), where m is the place of the token."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = angles(positions.time, q.shape[-1], self.theta)
        m2 = positions.time.double() ** 2
        kernel = 0.7 * torch.exp(-m2 / (2 * 5.0**2)) + 0.3 * torch.exp(-m2 / (2 * 20.0**2))
        kernel = (kernel if kernel.dim() == 1 else kernel[:, None])[..., None]  # (T, 1) or (B, 1, T, 1)
        return rotate_pairs(q, angle) * kernel.to(q), rotate_pairs(k, angle) * kernel.to(k)


class CosineAlone(Rotary):
    """Channel k of the token at place i times cos(i theta^(-k/D))."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = angles(positions.time, 2 * q.shape[-1], self.theta)  # (T, D), an angle for each channel
        gate = angle.cos().to(q)
        return q * gate, k * gate


class Twice(Sinusoidal):
    """The code is added by the embedding, and once more by the caller."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        x = super().embed(x, positions)
        return super().embed(x, positions)


class AlongBatch(Sinusoidal):
    """A code for inputs of shape (T, B, C), given inputs of shape (B, T, C)."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        place = torch.arange(x.shape[0], device=x.device)
        return x + sinusoid(place, self.n_embd, self.theta)[:, None].to(x.dtype)  # (B, 1, C)


class MissingColon(Sinusoidal):
    """table[T] was written where table[:T] was meant."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        place = torch.tensor(x.shape[1], device=x.device)
        return x + sinusoid(place, self.n_embd, self.theta).to(x.dtype)  # (C,)


# ---------------------------------------------------------------- models that are wrong around a right one


class RestartsInCache(Reader):
    """Counts the tokens that it is given now, not those it has read."""

    def places(self, idx: Tensor, read: int) -> Positions:
        return super().places(idx, 0)


class CountsPadding(Reader):
    """Hides padding, and counts it."""

    def places(self, idx: Tensor, read: int) -> Positions:
        real = idx != self.config.vocab_size - 1
        if bool(real.all()):
            return super().places(idx, read)
        time = torch.arange(idx.shape[1], device=idx.device).expand_as(idx)
        return Positions(time.masked_fill(~real, idx.shape[1]))


class OneTooMany(Reader):
    """A mask with its diagonal one step too high."""

    def attn_masks(self, queries: Positions, keys: Positions) -> list[Tensor | None]:
        return super().attn_masks(Positions(queries.time + 1), keys)


class Unscaled(Attention):
    """Attention that forgets to divide its scores by the root of the head's width."""

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().qkv(x, context)
        return q * q.shape[-1] ** 0.5, k, v


def without_scale(config: ModelConfig) -> Reader:
    """A model with RoPE, and `Unscaled` in every block, beginning with the weights of the healthy one."""
    model = rotary(config)
    with torch.random.fork_rng(devices=[]):
        for block in (part for part in model.modules() if isinstance(part, Block)):
            unscaled = Unscaled(config)
            unscaled.load_state_dict(block.attention.state_dict())
            block.attention = unscaled
    return model
