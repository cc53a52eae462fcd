"""Watches of what attention looks at: all heads on one text, and the Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings.gaussian import Gaussian
from babygpt.errors import BadInput
from babygpt.live.watches.watch import Frames, Watch, encode_text
from babygpt.metrics.inspection import attention_weights, kernel_values


def heads(tokenizer: CharTokenizer, text: str, times: int = 40) -> Watch:
    """Watch the attention weights of every layer and head on one text, for models that have attention.

    The head that has changed most since before the first step is shown large, with the text along its sides.

    Raises BadInput if the text is empty or holds a character that the tokenizer does not know.
    """
    idx, letters = encode_text(tokenizer, text), plots.visible(text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = (np.asarray(weights, np.float32) for _, weights in (frames[0], frames[-1]))
        moved = attention_moved(first, now)
        layer, head = np.unravel_index(int(moved.argmax()), moved.shape)
        name = f"Layer {layer + 1}, head {head + 1}"
        finding = f"{name} moved most: {moved.max():.0%} of its attention"
        finding = finding if len(frames) > 1 else f"{name}, and all heads, before training"
        plots.draw_attention_heads(ax, now, letters, (int(layer), int(head)), finding)

    return Watch(lambda model: attention_weights(model, idx).astype(np.float16), draw, times, 2.2, 3.8)


def attention_moved(first: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return the share of each head's attention that has moved: (L, H, T, T) each -> (L, H), 0 to 1."""
    share: np.ndarray = np.abs(now - first).sum(axis=-1).mean(axis=-1) / 2
    return share


def kernel(furthest: int = 64, times: int = 40) -> Watch:
    """Watch the Gaussian kernel of a model in training: K now, beside K before the first step.

    Where each head has one, the largest share of K(0) that any head keeps at a distance is drawn.

    furthest  distance up to which it is drawn, in tokens
    Raises BadInput if furthest is below 1; measuring raises one if the model's encoding has no kernel.
    """
    if furthest < 1:
        raise BadInput(f"furthest ({furthest}) must be at least 1 token")

    def measure(model: Any) -> np.ndarray:
        if not isinstance(model.encoding, Gaussian):
            raise BadInput(f"{type(model.encoding).__name__} has no kernel to watch; v5 has one")
        values = kernel_values(model.encoding, furthest)  # (F + 1,) or (H, F + 1)
        return values if values.ndim == 1 else (values / values[:, :1]).max(axis=0)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = (values / values[0] for _, values in (frames[0], frames[-1]))
        was, halved = half_distance(first, furthest), half_distance(now, furthest)
        finding = f"K halves {halved}" + (
            "" if was == halved else f", at first {was.removesuffix(' tokens')}"
        )
        labels = (finding, "m (tokens)", "K(m), as a share of K(0)")
        plots.draw_before_and_after(ax, np.arange(furthest + 1), first, now, *labels)

    return Watch(measure, draw, times)


def half_distance(shares: np.ndarray, furthest: int) -> str:
    """Say at which distance a kernel that never rises has fallen to half of what it is at 0.

    shares  (furthest + 1,)  K as a share of K(0)
    """
    above = int((shares >= 0.5).sum())
    return f"in {above} tokens" if above <= furthest else f"beyond {furthest} tokens"
