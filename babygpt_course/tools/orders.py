"""Orders: what a name costs a model that fills in, in each order in which its letters can be written."""

import copy
from collections.abc import Mapping
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import torch

from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import denoise, mask_token_id
from babygpt_live import COLOURS, Axis, Choice, Curve, Explorer, Level, Panel
from babygpt_live.explorer import Control
from babygpt_live.panel import Mark

N = 4  # letters of a name
WAYS = {" ".join(str(i + 1) for i in way): way for way in permutations(range(N))}  # the first: left to right
Found = tuple[str, np.ndarray]  # letters of a name, and (orders, N) nats of each letter, as they are written


def orders(model: LanguageModel, tokenizer: CharTokenizer, texts: Mapping[str, str]) -> Explorer:
    """Choose the order in which a name is written, and see what it costs in this order and in all others.

    model      trained by masked diffusion; it is copied
    tokenizer  its characters
    texts      label -> text with a name of four letters in brackets
    Raises BadInput for a text without such a name.
    """
    for text in texts.values():
        if text.find("]") - text.find("[") != N + 1:
            raise BadInput(f"a text should have a name of {N} letters in brackets: {text!r}")
    frozen = copy.deepcopy(model).eval()
    measure_name = cache(lambda where: measure(frozen, tokenizer, texts[where]))
    controls: list[Control] = [
        Choice("way", list(WAYS), "order of the letters"),
        Choice("where", list(texts), "name"),
    ]
    return Explorer(
        "orders", lambda where, way: measure_name(where), panels, controls, together=("way", "where")
    )


@torch.inference_mode()
def measure(model: LanguageModel, tokenizer: CharTokenizer, text: str) -> Found:
    """Ask a model for the letters of the name in brackets, with each set of them hidden, and add up."""
    first, name = text.index("["), text[text.index("[") + 1 : text.index("]")]
    hidden = torch.tensor(list(product((False, True), repeat=N)))  # (16, N)
    idx, span = tokenizer.encode(text.replace("[", "").replace("]", "")), slice(first, first + N)
    idx = idx.to(next(model.parameters()).device).repeat(len(hidden), 1)
    letters = idx[:, span].clone()
    idx[:, span] = letters.masked_fill(hidden.to(idx.device), mask_token_id(model))
    losses = -denoise(model, idx)[:, span].log_softmax(dim=-1).gather(-1, letters[..., None])[..., 0]
    table = dict(zip(map(tuple, hidden.tolist()), losses.tolist(), strict=True))

    def cost(way: tuple[int, ...], step: int) -> float:  # all that are not written before it are hidden
        return table[tuple(i in way[step:] for i in range(N))][way[step]]

    return name, np.array([[cost(way, step) for step in range(N)] for way in WAYS.values()])


def panels(measurement: Found, values: Mapping[str, Any]) -> list[Panel]:
    """Show the steps of the chosen order, and what the name costs in all orders."""
    (name, steps), chosen = measurement, list(WAYS).index(values["way"])
    costs, letters = steps.sum(axis=1), [name[i] for i in WAYS[values["way"]]]
    mean, low, high = -np.log(np.exp(-costs).mean()), costs.min(), costs.max()
    title = f"Written in the order {', '.join(letters)}, the name costs {costs[chosen]:.2f} nats"
    finding = f"The {len(costs)} orders cost {low:.2f} to {high:.2f} nats; −log of their mean p is {mean:.2f}"
    rank = costs.argsort(kind="stable").argsort(kind="stable") + 1.0
    ticks = [(i, f"{i + 1}: {letter}") for i, letter in enumerate(letters)]
    letter, name_cost = (
        Axis(f"cost of the {quantity} (nats)", (bottom, top))
        for quantity, bottom, top in (
            ("letter", 0.0, max(3.5, 1.05 * steps.max())),
            ("name", max(0.0, low - 0.5), high + 0.5),
        )
    )
    bars = Curve("", COLOURS["blue"], steps[chosen], look="bars")
    dots: list[Mark] = [
        Level("cost: −log of the mean p", float(mean)),
        Level("NELBO: mean of −log p", float(costs.mean()), colour=COLOURS["grey"]),
        Curve("one order", COLOURS["sky"], costs, rank, "dots"),
        Curve("left to right", COLOURS["green"], costs[:1], rank[:1], "dots"),
        Curve("the chosen order", COLOURS["red"], costs[[chosen]], rank[[chosen]], "rings"),
    ]
    sees = "A letter sees the text on both sides and the letters of the name that were written before it."
    x = Axis("orders, the cheapest first", (0.0, len(costs) + 1.0), digits=0)
    return [
        Panel(title, [bars], Axis("step and letter", (-0.5, N - 0.5), ticks), letter, sees),
        Panel(finding, dots, x, name_cost, width=1.3),
    ]
