"""Masks: what each layer of a trained model may read, and what the model then answers."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from babygpt.data.stories import Questions
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Encoding, PerLayer
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions
from babygpt_live import Axis, Cells, Choice, Explorer, Panel, Trials, visible
from babygpt_live.explorer import Control
from babygpt_live.panel import name_ticks

READS = {
    "earlier": "itself and earlier letters",
    "all": "all letters",
    "later": "itself and later letters of the story",
}
RIGHT = Axis("right answers", (0, 100), unit="%", digits=0)
TWICE = Axis("pairs with one name twice", (0, 100), unit="%", digits=0)


class Mask(Encoding):
    """Mask of one layer, as a term of its scores.

    reads  a key of READS: what a letter may read. With "later", letters after the story read earlier ones
    story  number of letters of the story, at the start of the text
    """

    def __init__(self, reads: str, story: int) -> None:
        super().__init__()
        self.reads, self.story = reads, story

    def allowed(self, length: int) -> Tensor:
        """Return which letter, a row, may read which: (length, length)."""
        table = torch.ones(length, length, dtype=torch.bool)
        if self.reads != "all":
            table = table.tril()
        if self.reads == "later":
            table[: self.story, : self.story] = table[: self.story, : self.story].T.clone()
        return table

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        table = self.allowed(len(keys)).to(keys.time.device)
        return torch.zeros(1, *table.shape, device=table.device).masked_fill(~table, -torch.inf)


def masks(
    model: Transformer, tokenizer: CharTokenizer, questions: Questions, reads: Sequence[str] = tuple(READS)
) -> Explorer:
    """Explore what a trained model answers if its layers may read other letters than in training.

    model      causal, without a position encoding; the weights stay as they are
    tokenizer  its characters
    questions  pairs of a story and its mirror; each story ends with the first full stop
    reads      keys of READS that a reader may choose, "earlier" first
    """
    story = questions[0].prompt.index(".")
    names = [f"layer_{n + 1}" for n in range(model.config.n_layer)]
    weights = {name: weight.detach().clone() for name, weight in model.state_dict().items()}

    @cache
    def measured(*chosen: str) -> list[float]:
        changed = Transformer(model.config, PerLayer([Mask(kind, story) for kind in chosen]), causal=False)
        changed.load_state_dict(weights)
        return answer_shares(changed, tokenizer, questions)

    def measure(**chosen: str) -> tuple[list[float], list[float]]:
        """Return what `answer_shares` does with the masks of training, and with these masks."""
        return measured(*["earlier"] * len(names)), measured(*(chosen[name] for name in names))

    options = [(READS[kind], kind) for kind in reads]
    controls: list[Control] = [
        Choice(name, options, f"{name.replace('_', ' ')}: each letter reads") for name in names
    ]
    draw = partial(panels, questions[0].prompt, story, len(questions))
    return Explorer("masks", measure, draw, controls, together=names)


@torch.inference_mode()
def answer_shares(model: Transformer, tokenizer: CharTokenizer, questions: Questions) -> list[float]:
    """Return shares in percent: of right answers (a tie counts half), of pairs that get one name twice."""
    gaps = []  # nats by which the right name is preferred to the other one
    for q in questions:
        logits = model(tokenizer.encode(q.prompt)[None])[0, -1]
        gaps.append(logits[tokenizer.ids[q.answer]] - logits[tokenizer.ids[q.rival]])
    sides = torch.stack(gaps).round(decimals=3).sign()  # blind models differ by rounding
    twice = sides[::2] == -sides[1::2]
    return [50 + 50 * float(sides.double().mean()), 100 * float(twice.double().mean())]


def panels(
    prompt: str, story: int, n: int, scores: tuple[list[float], list[float]], values: Mapping[str, Any]
) -> list[Panel]:
    """Compare the answers with those of the trained masks, and show the mask of each layer."""
    trained, now = scores
    changed = [
        f"{name.replace('_', ' ')}: {READS[reads]}" for name, reads in values.items() if reads != "earlier"
    ]
    rows = {"the masks of training": (trained, dict.fromkeys(values, "earlier"))}
    rows["; ".join(changed) or "the masks of training"] = (now, dict(values))
    numbers, settings = zip(*rows.values(), strict=True)
    title = f"{now[0]:.0f}% of {n} answers are right; {now[1]:.0f}% of the pairs get one name twice"
    pictures = [
        Panel(title, [Trials([RIGHT, TWICE], list(rows), numbers, settings, "each letter reads")], width=1.6)
    ]
    marks = visible(prompt)
    ticks = name_ticks(marks)
    for name, reads in values.items():
        table = Mask(reads, story).allowed(len(marks)).numpy().astype(float)
        cells = Cells(table, 1.0, 0.0, "“{row}” reads “{column}”: {value}", marks, marks, label="1: is read")
        x, y = Axis("letter that is read", ticks=ticks), Axis("letter that reads", ticks=ticks)
        pictures.append(
            Panel(f"{name.replace('_', ' ').title()}: each letter reads {READS[reads]}", [cells], x, y)
        )
    return pictures
