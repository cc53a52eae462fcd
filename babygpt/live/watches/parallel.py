"""Watches of a model of parallel texts: how alike its branches look, and how much they interfere."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.data.tokenizer import CharTokenizer
from babygpt.live.watches.watch import Frames, Watch, encode_text
from babygpt.metrics.branches import code_similarity, layer_similarity, parallel_loss


def branch_similarity(tokenizer: CharTokenizer, text: str, n: int = 4, times: int = 20) -> Watch:
    """Watch how alike n branches that hold the same text look: their codes, and the stream after every layer.

    Raises BadInput if the text is empty or holds a character that the tokenizer does not know.
    """
    idx = encode_text(tokenizer, text)

    def measure(model: Any) -> np.ndarray:
        return np.concatenate([code_similarity(model, n)[None], layer_similarity(model, idx, n)])

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, squares = frames[-1]
        names = ["codes", "input", *(f"layer {i + 1}" for i in range(len(squares) - 2))]
        last = squares[-1][~np.eye(n, dtype=bool)].mean()
        finding = f"After {step} steps: {last:.0%} alike in the last layer"
        plots.draw_similarities(ax, squares, names, finding)

    return Watch(measure, draw, times, width=1.6, height=3.7)


def interference(ids: Tensor, length: int, n: int = 2, n_texts: int = 24, times: int = 10) -> Watch:
    """Watch the loss of the same texts alone, and with n - 1 others beside them.

    ids      (N,)  validation text
    length   tokens of each text
    n_texts  how many; two dozen take about as long as a step of training
    """
    names = ("alone", f"among {n}")

    def measure(model: Any) -> tuple[float, float]:
        alone, beside = (parallel_loss(model, ids, k, length, n_texts) for k in (1, n))
        return alone, beside

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        steps = np.array([step for step, _ in frames])
        curves = {name: np.array([losses[i] for _, losses in frames]) for i, name in enumerate(names)}
        gap = curves[names[1]][-1] - curves[names[0]][-1]
        labels = (f"Interference gap: {gap:+.2f} nats", "step", "loss (nats per character)")
        top = float(np.ceil(max(curve.max() for curve in curves.values())))
        plots.draw_curves(ax, steps, curves, *labels, (0.0, float(total)), (0.0, top), "upper right")

    return Watch(measure, draw, times)
