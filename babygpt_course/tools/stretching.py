"""Explorer of a trained model that reads beyond its window, its pairs of channels slowed by a factor."""

import copy
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from babygpt.encodings import Encoding, Rotary
from babygpt.errors import BadInput
from babygpt.metrics.losses import loss_by_position, position_matched_losses
from babygpt.models.transformer import Transformer
from babygpt_course.studies.stretching import METHODS, stretched
from babygpt_live import COLOURS, Axis, Curve, Level, Panel
from babygpt_live.explorer import Choice, Control, Explorer, Slider
from babygpt_live.panel import Mark

MOST = 8  # the largest factor
BLOCK = 32  # tokens whose losses make one point
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


def panels(measurement: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Show the tokens that each pair of channels takes for a turn, and the loss along a long text."""
    (first, last), (inside, window, reach) = measurement["span"], measurement["marks"]
    before, after, new = measurement["before"], measurement["after"], measurement["new"]
    length = float(measurement["position"][-1] + measurement["position"][0])
    pair, turns = np.arange(len(before)), np.isfinite(after)  # a pair that does not turn has no dot
    trained_angles, new_angles = turns & ~new, turns & new
    slowest = length / window * before.max()
    speeds: list[Mark] = [
        Level("window of training", window),
        Curve("trained", COLOURS["grey"], before, pair, "rings"),
        Curve("angles seen", COLOURS["blue"], after[trained_angles], pair[trained_angles], "dots"),
        Curve("angles never seen", COLOURS["red"], after[new_angles], pair[new_angles], "dots"),
    ]
    x = Axis("pair of channels", (-0.8, len(before) - 0.2), digits=0)
    label = "tokens for a turn, powers of ten"
    y = Axis(label, (float(before.min()) / 2, 3 * float(slowest)), log=True, digits=None)
    title = f"Up to {reach}, new angles: {new.sum()} of {len(new)} pairs"
    pairs = Panel(title, speeds, x, y)
    colours = {"as it is": COLOURS["grey"], "stretched": COLOURS["green"]}
    curves = measurement["curves"].items()
    read: list[Mark] = [
        Level(f"the last {window} alone: {inside:.2f}", inside),
        Level(f"trained up to {window}", window, "x"),
        Level(f"read up to {reach}", reach, "x", COLOURS["green"]),
        *(Curve(name, colours[name], losses, measurement["position"], "marked") for name, losses in curves),
    ]
    x = Axis("position (tokens)", (0.0, length), digits=0)
    y = Axis("loss (nats per character)", (0.0, measurement["top"]))
    means = ", ".join(f"{loss:.2f} {name}" for name, loss in measurement["means"].items())
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
        turns, now = window / before, reach / after  # turns of each pair; less than one leaves angles unseen
        losses = {"as it is": losses_of("none", 1), "stretched": losses_of(method, factor)}
        return {
            "before": before,
            "after": after,
            "new": (turns < 1) & (now > turns * (1 + 1e-9)),
            "curves": {name: block_means(token_losses) for name, token_losses in losses.items()},
            "position": BLOCK * (np.arange(length // BLOCK) + 0.5),
            "means": {name: float(token_losses[first:reach].mean()) for name, token_losses in losses.items()},
            "span": (first, reach),  # tokens of the means: all that the factor adds
            "marks": (float(inside.mean()), window, reach),
            "top": top,  # The top of all methods' curves keeps the axis still.
        }

    controls: list[Control] = [
        Choice("method", [(label, name) for name, label in LABELS.items()]),
        Slider("factor", 4, 1, MOST, "factor"),
    ]
    return Explorer("stretching", measure, panels, controls, together=("method", "factor"))
