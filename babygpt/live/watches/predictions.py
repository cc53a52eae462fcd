"""Watches of what a model predicts: answers to questions, and the tables of v1 and v2."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from babygpt import plots
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.live.watches.watch import Frames, Watch
from babygpt.metrics.answers import role_accuracy
from babygpt.metrics.inspection import bigram_table, position_votes


def roles(tokenizer: CharTokenizer, questions: Sequence[Question], times: int = 8) -> Watch:
    """Watch the share of right answers. Two dozen questions take about as long as a step of training."""

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        steps, accuracies = [step for step, _ in frames], [right for _, right in frames]
        now = f"Who did it? {accuracies[-1]:.0%} right"
        plots.draw_accuracy_curves(ax, {title: (steps, accuracies)}, now, total)

    return Watch(lambda model: role_accuracy(model, tokenizer, questions), draw, times)


def next_characters(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """Watch v1's table: for every character its probabilities of the next one."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, table = frames[-1]
        finding = f"What may follow, after {step} steps"
        plots.draw_matrix(ax, table, finding, "next character", "this character", marks, top=1.0)

    return Watch(bigram_table, draw, times, width=1.3, height=4.2)


def votes(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """Watch what v2's positions vote for: a column for each position, a row for each next character."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, found = frames[-1]
        finding = f"Votes after {step} steps (nats)"
        plots.draw_matrix(ax, found.T, finding, "position (tokens)", "next character", diverging=True, top=4)
        plots.label_rows(ax, marks)

    return Watch(position_votes, draw, times, width=1.4, height=4.2)
