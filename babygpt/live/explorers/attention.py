"""What the heads of a trained model look at, on a sentence that the learner types."""

from __future__ import annotations

import copy
from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.live.controls import Choice, Control, Line, Slider
from babygpt.live.explorer import Explorer
from babygpt.metrics.inspection import attention_weights
from babygpt.models.transformer import Transformer

MOST = 256  # letters of a sentence: each head has as many times as many weights


def draw(heads: Axes, row: Axes, found: dict[str, Any]) -> None:
    """Draw one head with the letters along both sides, all heads beside it, and what one letter looks at."""
    layer, head, letter = found["chosen"]
    weights: np.ndarray = found["weights"][layer, head]
    before = weights.diagonal(-1).mean() if len(weights) > 1 else 0.0
    name = f"Layer {layer + 1}, head {head + 1}"
    title = f"{name}: {before:.0%} of the weight is on the letter before"
    letters = plots.visible(found["text"])
    plots.draw_attention_heads(heads, found["weights"], letters, (layer, head), title)
    most = int(weights[letter].argmax())
    finding = f"Letter {letter + 1}, “{letters[letter]}”: {weights[letter, most]:.0%} on “{letters[most]}”"
    plots.draw_attention_row(row, weights[letter], letters, finding)


def number_from_1(name: str, n: int) -> Control:
    """Make a control for a number from 1 to n; where n is 1 there is nothing to slide."""
    return Slider(name, 1, 1, n) if n > 1 else Choice(name, (1,))


def attention(model: Transformer, tokenizer: CharTokenizer, text: str) -> Explorer:
    """Explore what each head looks at, on a sentence that the learner types.

    The model is copied as it is now: what is shown does not change while it trains on. It runs again only
    for another sentence. A letter beyond the end of the sentence is its last one.

    model      with attention, trained or not
    tokenizer  its characters
    text       what stands in the field at first
    Raises BadInput if the text is empty, too long, or holds a character that the tokenizer does not know.
    """
    model = copy.deepcopy(model)

    @lru_cache(maxsize=8)
    def weights_of(text: str) -> np.ndarray:
        return attention_weights(model, tokenizer.encode(text))

    def measure(text: str, layer: int, head: int, letter: int) -> dict[str, Any]:
        if not text:
            raise BadInput("type a sentence; there is nothing to look at")
        if len(text) > MOST:
            raise BadInput(f"{len(text)} letters are too many for the picture: at most {MOST}")
        chosen = layer - 1, head - 1, min(letter, len(text)) - 1
        return {"weights": weights_of(text), "text": text, "chosen": chosen}

    last = min(len(text), MOST)
    controls: list[Control] = [
        Line("text", text, "sentence"),
        Slider("letter", max(1, last), 1, max(2, last), "letter that looks"),
        number_from_1("layer", model.config.n_layer),
        number_from_1("head", model.config.n_head),
    ]
    together = [("layer", "head", "letter")]
    explorer = Explorer("attention", measure, draw, controls, (2.3, 1), 4.0, together)
    explorer.controls["text"].observe(partial(limit_to_text, explorer.controls["letter"]), names="value")
    return explorer


def limit_to_text(letter: Any, change: Any) -> None:
    """Let the slider of letters end where the sentence does."""
    letter.max = max(2, min(len(change["new"]), MOST))
