"""View of a published model: what one of its heads looks at, on a sentence that the reader types."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from babygpt.errors import BadInput
from babygpt.metrics.inspection import attention_weights
from babygpt_course.real.model import RealModel
from babygpt_course.real.tokenizer import RealTokenizer
from babygpt_live.explorer import Explorer, Line, Slider
from babygpt_live.panel import Axis, Cells, Panel, format_percent
from babygpt_live.style import visible

MOST_TOKENS = 32  # more names do not fit beside the picture


def attention(
    model: RealModel, tokenizer: RealTokenizer, text: str, layer: int = 1, head: int = 1
) -> Explorer:
    """Explore what each head looks at; the model runs again only for another sentence.

    text         in the field at first
    layer, head  shown at first, counted from 1
    Raises BadInput if the text is empty or has too many tokens.
    """

    @lru_cache(maxsize=1)  # a slider that moves asks for the same sentence
    def weights_on(text: str) -> tuple[list[str], np.ndarray]:
        if not text:
            raise BadInput("type a sentence; there is nothing to look at")
        idx = tokenizer.encode(text)
        if len(idx) > MOST_TOKENS:
            raise BadInput(f"{len(idx)} tokens are too many for the picture: at most {MOST_TOKENS}")
        return names(tokenizer.pieces(text)), attention_weights(model, idx)

    def measure(text: str, layer: int, head: int) -> tuple[list[str], np.ndarray]:
        tokens, weights = weights_on(text)
        return tokens, weights[layer - 1, head - 1]

    controls = [
        Line("text", text, "sentence"),
        Slider("layer", layer, 1, model.config.n_layer),
        Slider("head", head, 1, model.config.n_head),
    ]
    return Explorer("attention", measure, head_panels, controls, together=("layer", "head"))


def names(pieces: list[str]) -> list[str]:
    """Return tokens as they are shown along a picture: without the space before a word."""
    return ["".join(visible(piece.removeprefix(" ") or piece)) for piece in pieces]


def head_panels(weights_on_text: tuple[list[str], np.ndarray], values: Mapping[str, Any]) -> list[Panel]:
    """Show the attention of one head as a matrix, and say on which kinds of tokens it lies."""
    tokens, weights = weights_on_text
    later = weights[2:]  # For the second token, the token before is the first token, too.
    first, before = (later[:, 0].mean(), weights.diagonal(-1)[1:].mean()) if len(later) else (0.0, 0.0)
    title = (
        f"Layer {values['layer']}, head {values['head']}: {format_percent(first)} of the attention is on "
        f"the first token, and {format_percent(before)} on the token before"
    )
    reading = "“{row}” gives {value} of its attention to “{column}”"
    cells = Cells(weights, 1.0, reading=reading, rows=tokens, columns=tokens, label="share of attention")
    x, y = Axis("token looked at", ticks=()), Axis("token that looks", ticks=list(enumerate(tokens)))
    return [Panel(title, [cells], x, y, width=1.5)]
