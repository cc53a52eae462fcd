"""A trained model made to read further than its window: the same weights under another encoding."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from babygpt.encodings import Encoding, Interpolated, NTKAware, PerLayer, Rotary, YaRN
from babygpt.encodings.scaling import require_factor
from babygpt.errors import BadInput
from babygpt.models.transformer import Transformer

Stretch = Callable[[Rotary, int, float], Encoding]  # a trained RoPE, the new window, the factor -> its heir

METHODS: dict[str, Stretch] = {
    "none": lambda rope, block_size, factor: rope,
    "interpolation": lambda rope, block_size, factor: Interpolated(rope.head_dim, factor, rope.theta),
    "ntk": lambda rope, block_size, factor: NTKAware(rope.head_dim, factor, rope.theta),
    "yarn": lambda rope, block_size, factor: YaRN(rope.head_dim, block_size, factor, rope.theta),
    "drop": lambda rope, block_size, factor: Encoding(),
}


def with_encoding(model: Transformer, encoding: Encoding, block_size: int | None = None) -> Transformer:
    """The same model under another encoding; all weights are shared with the first, which stays as it is.

    block_size  the new model's window; that of the first by default
    Raises ValueError for a `PerLayer` of another number of layers.
    """
    encoding.require_layers(model.config.n_layer)
    other = copy.copy(model)
    other._modules = dict(model._modules)
    other.encoding = encoding
    other.config = replace(model.config, block_size=block_size or model.config.block_size)
    return other


def stretched(model: Transformer, method: str, factor: float) -> Transformer:
    """A model trained with RoPE, ready for texts `factor` times as long as its window; nothing is trained.

    All weights are shared: before fine-tuning it, take a `copy.deepcopy`, or the first model learns too.

    method   "none" to read on as it is, "interpolation", "ntk", "yarn", or "drop" for no code at all
             (DroPE, Gelberg et al. 2025, arXiv:2512.12167, which trains a little more after that)
    factor   at least 1
    returns  a model whose window is `factor` times as long, rounded down
    Raises ValueError for another method, a factor below 1, and a model without RoPE.
    """
    if method not in METHODS:
        raise BadInput(f"method ({method}) must be one of {', '.join(METHODS)}")
    require_factor(factor)
    require_rope(model.encoding)
    block_size = int(model.config.block_size * factor)
    encoding = stretched_encoding(model.encoding, METHODS[method], block_size, factor)
    return with_encoding(model, encoding, block_size)


def stretched_encoding(encoding: Encoding, stretch: Stretch, block_size: int, factor: float) -> Encoding:
    """What becomes of an encoding: of RoPE its heir; layers without a code stay as they are."""
    if isinstance(encoding, PerLayer):
        return PerLayer([stretched_encoding(one, stretch, block_size, factor) for one in encoding.all()])
    return stretch(encoding, block_size, factor) if isinstance(encoding, Rotary) else encoding


def require_rope(encoding: Encoding) -> None:
    """Raise a ValueError unless it is RoPE itself, in all layers, or in some and none in the others."""
    layers = encoding.all() if isinstance(encoding, PerLayer) else [encoding]
    other = next((one for one in layers if type(one) not in (Rotary, Encoding)), None)
    if other is not None or not any(type(one) is Rotary for one in layers):
        found = "a model without a code" if other is None else type(other).__name__
        raise BadInput(
            f"{found} cannot be stretched: the methods change RoPE's frequencies, "
            "so the model must be a v4, or have RoPE in some layers and no code in the others"
        )
