"""Reading beyond the window: give a trained model another encoding of positions, and train nothing."""

import copy
from collections.abc import Callable
from dataclasses import replace

from babygpt.encodings import Encoding, Interpolated, NTKAware, PerLayer, Rotary, YaRN
from babygpt.encodings.rotary_variants import FACTOR
from babygpt.errors import BadInput
from babygpt.models.transformer import Transformer

Stretch = Callable[[Rotary, int, float], Encoding]  # a trained RoPE, the new window, the factor -> a new one

METHODS: dict[str, Stretch] = {
    "none": lambda rope, block_size, factor: rope,
    "interpolation": lambda rope, block_size, factor: Interpolated(rope.head_dim, factor, rope.theta),
    "ntk": lambda rope, block_size, factor: NTKAware(rope.head_dim, factor, rope.theta),
    "yarn": lambda rope, block_size, factor: YaRN(rope.head_dim, block_size, factor, rope.theta),
    "drop": lambda rope, block_size, factor: Encoding(),
}


def with_encoding(model: Transformer, encoding: Encoding, block_size: int | None = None) -> Transformer:
    """Return the model under another encoding. It shares all weights with the first, which stays as it is.

    block_size  the new model's window; that of the first by default
    """
    view = copy.copy(model)
    view._modules = dict(model._modules)  # Otherwise the next line would change the first model, too.
    view.encoding = encoding
    view.config = replace(model.config, block_size=block_size or model.config.block_size)
    return view


def stretched(model: Transformer, method: str, factor: float) -> Transformer:
    """Return a model trained with RoPE, ready for texts `factor` times as long as its window. Train nothing.

    All weights are shared: take a `copy.deepcopy` before fine-tuning, or the first model learns too.

    method   "none" to read on as it is, "interpolation", "ntk", "yarn", or "drop" for no encoding at all
             (DroPE, Gelberg et al. 2025, arXiv:2512.12167, which trains a little more after that)
    factor   at least 1
    returns  a model whose window is `factor` times as long, rounded down
    Raises BadInput for another method, a factor below 1, and a model without RoPE.
    """
    if method not in METHODS:
        raise BadInput(f"method ({method}) must be one of {', '.join(METHODS)}")
    FACTOR.valid("factor", factor)
    encoding, block_size = model.encoding, int(model.config.block_size * factor)
    layers = encoding.all() if isinstance(encoding, PerLayer) else [encoding]
    misfit = next((layer for layer in layers if type(layer) not in (Rotary, Encoding)), None)
    if misfit is not None or not any(type(layer) is Rotary for layer in layers):
        kind = "a model without an encoding" if misfit is None else type(misfit).__name__
        raise BadInput(
            f"{kind} cannot be stretched: the methods change RoPE's frequencies, "
            "so the model must be a v4, or have RoPE in some layers and no encoding in the others"
        )
    stretched_layers = [
        METHODS[method](layer, block_size, factor) if isinstance(layer, Rotary) else layer for layer in layers
    ]
    return with_encoding(
        model,
        PerLayer(stretched_layers) if isinstance(encoding, PerLayer) else stretched_layers[0],
        block_size,
    )
