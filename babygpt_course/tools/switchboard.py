"""Switchboard: heads of a trained model to switch off, and what the model then answers and loses."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.metrics import greedy_answers, role_accuracy
from babygpt.metrics.inspection import Head, attention_layers, without_heads
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import cross_entropy
from babygpt_course.explorers.switches import Switchboard, Switches
from babygpt_live import Axis, Panel, Trials, visible

Measured = Mapping[Axis, float | str]  # quantity -> its value, or a text
Measure = Callable[[Any], Measured]
FEW = 8  # heads of which a recording has all pairs
WHOLE = "none: the whole model"
NOTE = "The line across each bar is the whole model. A head that is off writes 0."
RIGHT = Axis("right answers", (0, 100), unit="%", digits=0)
SPELLED = Axis("names spelled", (0, 100), unit="%", digits=0)
LOSS = Axis("loss", (0, 2), unit=" nats")


def switchboard(
    model: LanguageModel,
    measure: Measure,
    heads: Iterable[Head] | None = None,
    shades: Sequence[Sequence[float]] | None = None,
    kinds: str | Sequence[Sequence[str]] = "",
) -> Switchboard:
    """Explore what a model loses without some of its heads: a reader switches them off and on.

    model    with attention; it is copied unless its weights are frozen (`model.requires_grad_(False)`)
    measure  takes the model and returns quantities and their values, those that matter most first. It runs
             whenever the reader has switched a head, so keep it below a second; `asked` makes one
    heads    that a recording has switched off, each alone and, of eight or fewer, in pairs; by default all
             of a model that has no more
    shades   (n_layer, n_head) from 0 to 1: colours of the switches, such as the attention to one token
    kinds    what a shade measures, such as "on the token before": one text, or one for each head
    Raises BadInput for a model without attention, an unknown head, shades or kinds of another shape; and
    whatever `measure` raises for the whole model.
    """
    layers, per_layer = len(attention_layers(model)), model.config.n_head
    every = [(layer, head) for layer in range(layers) for head in range(per_layer)]
    alone = list(heads) if heads is not None else every if len(every) <= FEW else []
    options = [(), *((head,) for head in alone), *(combinations(alone, 2) if len(alone) <= FEW else ())]
    frozen = not any(weight.requires_grad for weight in model.parameters())
    frozen_model = model if frozen else copy.deepcopy(model)

    @cache
    def measured(off: tuple[Head, ...]) -> Measured:
        with without_heads(frozen_model, off):
            return measure(frozen_model)

    def measure_both(off: Sequence[Head]) -> tuple[Measured, Measured]:
        return measured(()), measured(tuple(sorted(set(off))))

    label = "Click a head to switch it off"
    label += ". The fuller its colour, the more attention it gives:" if shades is not None else ""
    grid = Switches("off", layers, per_layer, label, "layer", "head", shades, kinds, options)
    return Switchboard("switchboard", measure_both, partial(panels, per_layer), [grid], together=("off",))


def names_of(off: Iterable[Head], per_layer: int) -> str:
    """Return the names of some heads: "layer 1, heads 2 and 4; all of layer 2"."""
    layers: dict[int, list[str]] = {}
    for layer, head in sorted(set(off)):
        layers.setdefault(layer + 1, []).append(str(head + 1))
    parts = []
    for layer, heads in layers.items():
        names = f"heads {', '.join(heads[:-1])} and {heads[-1]}" if len(heads) > 1 else f"head {heads[0]}"
        parts.append(f"all of layer {layer}" if len(heads) == per_layer > 1 else f"layer {layer}, {names}")
    return "; ".join(parts)


def panels(per_layer: int, measurements: tuple[Measured, Measured], values: Mapping[str, Any]) -> list[Panel]:
    """Compare the whole model with what is left of it, in words and in a table."""
    (whole, present), off = measurements, sorted(set(values["off"]))
    names, rows = [WHOLE], [tuple(whole.values())]
    settings: list[dict[str, Any]] = [{"off": []}]
    numbers = [axis for axis, number in whole.items() if not isinstance(number, str)] or list(whole)
    finding = "All heads are on: " + ", ".join(f"{axis.label} {axis.write(whole[axis])}" for axis in numbers)
    if off:
        names, settings = [WHOLE, names_of(off, per_layer)], [*settings, {"off": off}]
        rows.append(tuple(present.values()))
        words = [(axis.label, axis.write(whole[axis]), axis.write(present[axis])) for axis in numbers]
        changes = [f"{label} {before} → {after}" for label, before, after in words if before != after]
        finding = f"Without {names[1]}: {', '.join(changes) or 'none of these numbers changes'}"
    mark = Trials(list(whole), names, rows, settings, "heads that are off")
    return [Panel(finding, [mark], note=NOTE, width=1.8)]


def asked(tokenizer: CharTokenizer, questions: Sequence[Question], windows: Tensor) -> Measure:
    """Return what to measure of a small model: its answers to some questions, and a loss.

    questions  a hundred, say; the first one's answer is shown in full
    windows    (N, T + 1) token ids, of which the loss is the mean
    returns    for `switchboard`: shares of right answers and of names spelled to their end, percent; the
               loss, nats per character; and what the model writes after the first question
    """

    @torch.inference_mode()
    def measure(model: LanguageModel) -> Measured:
        written = greedy_answers(model, tokenizer, questions)
        spelled = [text == q.answer for text, q in zip(written, questions, strict=True)]
        ids = windows.to(next(model.parameters()).device)
        return {
            RIGHT: 100 * role_accuracy(model, tokenizer, questions),
            SPELLED: 100 * sum(spelled) / len(spelled),
            LOSS: float(cross_entropy(model(ids[:, :-1]), ids[:, 1:]).mean()),
            Axis(questions[0].prompt.strip()): "".join(visible(written[0])),
        }

    return measure
