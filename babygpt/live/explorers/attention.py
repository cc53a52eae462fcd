"""What the heads of a trained model look at, on a sentence that the learner types."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.data.tokenizer import CharTokenizer
from babygpt.live.controls import Choice, Control, Line, Slider
from babygpt.live.explorer import Explorer
from babygpt.measure.attention import attention_weights
from babygpt.models.transformer import Transformer

MOST = 256  # letters of a sentence: each head has as many times as many weights


def draw(ax: Axes, found: dict[str, Any]) -> None:
    """One head's weights, with the letters along both sides."""
    weights: np.ndarray = found["weights"]
    before = weights.diagonal(-1).mean() if len(weights) > 1 else 0.0
    title = (
        f"Layer {found['layer']}, head {found['head']}: {before:.0%} of the weight is on the letter before"
    )
    labels = ("letter looked at", "letter that looks")
    plots.draw_matrix(ax, weights, title, *labels, ticks=plots.visible(found["text"]), top=1.0)


def number(name: str, n: int) -> Control:
    """A control for one of n things; with one alone there is nothing to slide."""
    return Slider(name, 1, 1, n) if n > 1 else Choice(name, (1,))


def attention(model: Transformer, tokenizer: CharTokenizer, text: str) -> Explorer:
    """Type a sentence, and see what each head looks at.

    The model is copied as it is now: what is shown does not change while it trains on.

    model      with attention, trained or not
    tokenizer  its characters
    text       what stands in the field at first
    Raises ValueError if the text is empty, too long, or holds a character that the tokenizer does not know.
    """
    model = copy.deepcopy(model)

    def measure(text: str, layer: int, head: int) -> dict[str, Any]:
        if not text:
            raise ValueError("type a sentence; there is nothing to look at")
        if len(text) > MOST:
            raise ValueError(f"{len(text)} letters are more than the picture has room for: {MOST}")
        weights = attention_weights(model, tokenizer.encode(text))[layer - 1, head - 1]
        return {"weights": weights, "text": text, "layer": layer, "head": head}

    controls: list[Control] = [
        number("layer", model.config.n_layer),
        number("head", model.config.n_head),
        Line("text", text, "sentence"),
    ]
    return Explorer("attention", measure, draw, controls, size=(8.0, 6.4))
