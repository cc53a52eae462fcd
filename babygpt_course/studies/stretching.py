"""Reading beyond the window: give a trained model another encoding, and explore how it then reads."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from babygpt.encodings import Encoding, Interpolated, NTKAware, PerLayer, Rotary, YaRN
from babygpt.encodings.rotary_variants import FACTOR
from babygpt.errors import BadInput
from babygpt.metrics.losses import loss_by_position, position_matched_losses
from babygpt.models.transformer import Transformer
from babygpt_live import COLOURS, Axis, Curve, Level, Panel
from babygpt_live.explorer import Choice, Control, Explorer, Slider
from babygpt_live.panel import Mark

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
    other = copy.copy(model)
    other._modules = dict(model._modules)  # or the next line would change the first model too
    other.encoding = encoding
    other.config = replace(model.config, block_size=block_size or model.config.block_size)
    return other


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
    FACTOR.checked("factor", factor)
    encoding, block_size = model.encoding, int(model.config.block_size * factor)
    layers = encoding.all() if isinstance(encoding, PerLayer) else [encoding]
    other = next((one for one in layers if type(one) not in (Rotary, Encoding)), None)
    if other is not None or not any(type(one) is Rotary for one in layers):
        found = "a model without an encoding" if other is None else type(other).__name__
        raise BadInput(
            f"{found} cannot be stretched: the methods change RoPE's frequencies, "
            "so the model must be a v4, or have RoPE in some layers and no encoding in the others"
        )
    new = [METHODS[method](one, block_size, factor) if isinstance(one, Rotary) else one for one in layers]
    return with_encoding(model, PerLayer(new) if isinstance(encoding, PerLayer) else new[0], block_size)


# ---------------------------------------------------------------- the explorer

MOST, BLOCK = 8, 32  # the largest factor; tokens whose losses make one point
WINDOWS = 6  # texts of 8 windows, read for each move: of a small model, in a tenth of a second
LABELS = {
    "yarn": "YaRN",
    "ntk": "NTK-aware",
    "interpolation": "position interpolation",
    "none": "as it is",
    "drop": "no encoding at all (DroPE)",
}


def wavelengths(encoding: Encoding, n_pairs: int) -> np.ndarray:
    """Return how many tokens each pair of channels takes for a turn: (n_pairs,), infinite without RoPE."""
    if not isinstance(encoding, Rotary):
        return np.full(n_pairs, math.inf)
    return (2 * math.pi / encoding.frequencies()).numpy()


def block_means(losses: np.ndarray) -> np.ndarray:
    """Return means of BLOCK losses each, without the rest at the end: (T,) -> (T // BLOCK,)."""
    return losses[: len(losses) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)


def panels(found: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Show the tokens that each pair of channels takes for a turn, and the loss along a long text."""
    (first, last), (inside, window, reach) = found["span"], found["marks"]
    before, after, new = found["before"], found["after"], found["new"]
    length = float(found["position"][-1] + found["position"][0])
    pair, turns = np.arange(len(before)), np.isfinite(after)  # a pair that does not turn has no dot
    seen, unseen = turns & ~new, turns & new
    slowest = length / window * before.max()
    speeds: list[Mark] = [
        Level("window of training", window),
        Curve("trained", COLOURS["grey"], before, pair, "rings"),
        Curve("angles seen", COLOURS["blue"], after[seen], pair[seen], "dots"),
        Curve("angles never seen", COLOURS["red"], after[unseen], pair[unseen], "dots"),
    ]
    x = Axis("pair of channels", (-0.8, len(before) - 0.2), digits=0)
    label = "tokens for a turn, powers of ten"
    y = Axis(label, (float(before.min()) / 2, 3 * float(slowest)), log=True, digits=None)
    title = f"Up to {reach}, new angles: {new.sum()} of {len(new)} pairs"
    pairs = Panel(title, speeds, x, y)
    colours = {"as it is": COLOURS["grey"], "stretched": COLOURS["green"]}
    curves = found["curves"].items()
    read: list[Mark] = [
        Level(f"the last {window} alone: {inside:.2f}", inside),
        Level(f"trained up to {window}", window, "x"),
        Level(f"read up to {reach}", reach, "x", COLOURS["green"]),
        *(Curve(name, colours[name], losses, found["position"], "marked") for name, losses in curves),
    ]
    x = Axis("position (tokens)", (0.0, length), digits=0)
    y = Axis("loss (nats per character)", (0.0, found["top"]))
    means = ", ".join(f"{loss:.2f} {name}" for name, loss in found["means"].items())
    title = f"Tokens {first + 1} to {last}: {means}"
    return [pairs, Panel(title, read, x, y, width=1.4)]


def explore_stretching(model: Transformer, ids: Tensor) -> Explorer:
    """Explore how a trained v4 reads up to eight times its window, its pairs slowed by a factor.

    Nothing is trained. Each curve is a mean over the same WINDOWS texts, and is computed once.

    model  with RoPE in all layers, trained or not
    ids    (N,)  text that it has not seen, longer than 8 windows
    Raises BadInput for another encoding, or a text too short.
    """
    if type(model.encoding) is not Rotary:
        raise BadInput(f"{type(model.encoding).__name__} cannot be stretched: a v4 has RoPE in every layer")
    model = copy.deepcopy(model)
    window = model.config.block_size
    length = MOST * window
    before = wavelengths(model.encoding, model.config.head_dim // 2)
    _, inside, _ = position_matched_losses(model, ids, length, WINDOWS, every=4)

    @cache
    def losses_of(method: str, factor: int) -> np.ndarray:  # (length,)
        return loss_by_position(stretched(model, method, factor), ids, length, WINDOWS)

    top = 1.1 * float(max(block_means(losses_of(method, MOST)).max() for method in METHODS))

    def measure(method: str, factor: int) -> dict[str, Any]:
        reach = factor * window
        first = window if factor > 1 else 0
        after = wavelengths(stretched(model, method, factor).encoding, len(before))
        turns, now = window / before, reach / after  # of each pair; less than one leaves angles unseen
        losses = {"as it is": losses_of("none", 1), "stretched": losses_of(method, factor)}
        return {
            "before": before,
            "after": after,
            "new": (turns < 1) & (now > turns * (1 + 1e-9)),
            "curves": {name: block_means(values) for name, values in losses.items()},
            "position": BLOCK * (np.arange(length // BLOCK) + 0.5),
            "means": {name: float(values[first:reach].mean()) for name, values in losses.items()},
            "span": (first, reach),  # tokens of the means: all that the factor adds
            "marks": (float(inside.mean()), window, reach),
            "top": top,  # of the curves of all methods
        }

    controls: list[Control] = [
        Choice("method", [(label, name) for name, label in LABELS.items()]),
        Slider("factor", 4, 1, MOST, "factor"),
    ]
    return Explorer("stretching", measure, panels, controls, together=("method", "factor"))
