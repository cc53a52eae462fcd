"""Watches: a measurement repeated while a model trains, and how it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.data.stories import Question
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.encodings.gaussian import Gaussian
from babygpt.encodings.polar import Gated
from babygpt.errors import BadInput
from babygpt.live.explorer import format_number
from babygpt.metrics.answers import role_accuracy
from babygpt.metrics.inspection import (
    attention_weights,
    bigram_table,
    gates_of,
    kernel_values,
    phases_of,
    position_votes,
)
from babygpt.metrics.parallel_texts import code_similarity, layer_similarity, parallel_loss
from babygpt.plots import artists
from babygpt.positions import Positions
from babygpt.sampling.diffusion import fill_in

HOLE = "_"  # typed by a learner for MASK; each is one character to be filled in
Frames = Sequence[tuple[int, Any]]  # a step, and the measurement after it


@dataclass(frozen=True)
class Watch:
    """Measurement between steps, before the first and after the last among them.

    measure  takes the model and returns what `draw` draws; it runs in the trainer's thread
    draw     takes an Axes, the frames so far, the run's title and its number of steps
    times    how often, at even distances over the run; at fixed steps, so that a rerun has the same frames
    width    of its Axes, relative to that of the loss
    height   of its Axes, inches; the dashboard is as high as the highest
    """

    measure: Callable[[Any], Any]
    draw: Callable[[Axes, Frames, str, int], None]
    times: int = 40
    width: float = 1.0
    height: float = 3.3

    def steps(self, total: int) -> set[int]:
        """Return the steps after which it measures; 0 is before the first."""
        return {round(i * total / self.times) for i in range(self.times + 1)}


# ------------------------------------------------------------ predictions


def roles(tokenizer: CharTokenizer, questions: Sequence[Question], times: int = 8) -> Watch:
    """Watch the share of right answers. Two dozen questions take about as long as a step of training."""

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        steps, accuracies = np.array(frames).T  # (n,) each
        labels = (f"{accuracies[-1]:.0%} of the answers are right", "step", "right (%; dashed: chance)")
        spans = (0.0, float(total)), (0.0, 105.0)
        plots.draw_curves(ax, steps, {title: 100 * accuracies}, *labels, *spans, marker="o", ms=4)
        artists.horizontal_line(ax, "mark", 50, color="black", lw=1, ls="--")

    return Watch(lambda model: role_accuracy(model, tokenizer, questions), draw, times)


def next_characters(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """Watch v1's table: the probabilities of the next character after every character."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, table = frames[-1]
        finding = f"After {step} steps the most certain row predicts a character with {table.max():.0%}"
        plots.draw_matrix(ax, table, finding, "next character", "this character", marks, top=1.0)

    return Watch(bigram_table, draw, times, width=1.3, height=4.2)


def votes(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """Watch the votes of v2's positions: a column for each position, a row for each next character."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, found = frames[-1]
        finding = f"After {step} steps a position votes with up to {found.max():.1f} nats"
        plots.draw_matrix(ax, found.T, finding, "position (tokens)", "next character", diverging=True, top=4)
        artists.set_ticks(ax.yaxis, range(len(marks)), marks, labelsize=8)

    return Watch(position_votes, draw, times, width=1.4, height=4.2)


# ------------------------------------------------------------ attention


def encode_text(tokenizer: CharTokenizer, text: str) -> Tensor:
    """Encode a text: (T,) token ids. Raises BadInput if it is empty or has an unknown character."""
    if not text:
        raise BadInput("the text to look at is empty; it needs at least 1 character")
    return tokenizer.encode(text)


def heads(tokenizer: CharTokenizer, text: str, times: int = 40) -> Watch:
    """Watch the attention weights of every layer and head on one text, for models that have attention.

    The head that has changed most since before the first step is shown large, with the text along its sides.

    Raises BadInput if the text is empty or holds a character that the tokenizer does not know.
    """
    idx, letters = encode_text(tokenizer, text), plots.visible(text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = (np.asarray(weights, np.float32) for _, weights in (frames[0], frames[-1]))
        moved = np.abs(now - first).sum(axis=-1).mean(axis=-1) / 2  # (L, H), shares of 1
        layer, head = np.unravel_index(int(moved.argmax()), moved.shape)
        change = f" changed most: {moved.max():.0%} of its attention since step 0"
        words = change if len(frames) > 1 else " is shown large, before training"
        finding = f"Layer {layer + 1}, head {head + 1}{words}"
        plots.draw_attention_heads(ax, now, letters, (int(layer), int(head)), finding)

    return Watch(lambda model: attention_weights(model, idx).astype(np.float16), draw, times, 2.2, 3.8)


def kernel(furthest: int = 64, times: int = 40) -> Watch:
    """Watch the Gaussian kernel of a model in training: K now, beside K before the first step.

    furthest  distance up to which it is drawn, in tokens
    Measuring raises BadInput if the model's encoding has no kernel.
    """

    def measure(model: Any) -> np.ndarray:
        if not isinstance(model.encoding, Gaussian):
            raise BadInput(f"{type(model.encoding).__name__} has no kernel to watch; v5 has one")
        return kernel_values(model.encoding, furthest)  # (furthest + 1,)

    def half_distance(shares: np.ndarray) -> str:
        above = int((shares >= 0.5).sum())  # a kernel never rises
        return f"in {above} tokens" if above <= furthest else f"beyond {furthest} tokens"

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = (values / values[0] for _, values in (frames[0], frames[-1]))
        before, halved = half_distance(first), half_distance(now)
        finding = f"K halves {halved}"
        if before != halved:
            finding += f", at first {before.removesuffix(' tokens')}"
        labels = (finding, "distance (tokens)", "K, as a share of K at distance 0")
        spans = (0.0, float(furthest)), (0.0, 1.3)  # with room for the legend
        colours = {"at first": plots.COLOURS["grey"], "now": plots.COLOURS["red"]}
        curves, x = {"at first": first, "now": now}, np.arange(furthest + 1)
        plots.draw_curves(ax, x, curves, *labels, *spans, "upper right", 2, colours)

    return Watch(measure, draw, times)


# ------------------------------------------------------------ parallel texts


def branch_similarity(tokenizer: CharTokenizer, text: str, n: int = 4, times: int = 20) -> Watch:
    """Watch the similarity of n branches that hold the same text: of their codes, and after every layer.

    It is the cosine, averaged over all pairs of branches.

    Raises BadInput if the text is empty or holds a character that the tokenizer does not know.
    """
    idx = encode_text(tokenizer, text)

    def measure(model: Any) -> np.ndarray:
        return np.concatenate([code_similarity(model, n)[None], layer_similarity(model, idx, n)])

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        alike = np.array([squares[:, ~np.eye(n, dtype=bool)].mean(axis=1) for _, squares in frames]).T
        names = ["codes", "input", *(f"after layer {i + 1}" for i in range(len(alike) - 2))]
        labels = (f"The branches are {alike[-1, -1]:.0%} alike after the last layer", "step", "cosine")
        low = min(0.9, np.floor(10 * alike.min()) / 10)
        spans = (0.0, float(total)), (float(low), float(1.3 - 0.3 * low))  # with room for the legend
        steps = np.array([step for step, _ in frames])
        plots.draw_curves(ax, steps, dict(zip(names, alike, strict=True)), *labels, *spans, "upper right", 2)

    return Watch(measure, draw, times, width=1.2)


def interference(ids: Tensor, length: int, n: int = 2, n_texts: int = 24, times: int = 10) -> Watch:
    """Watch the gap: the loss of texts with n - 1 others beside them, less that of the same texts alone.

    ids      (N,)  validation text
    length   tokens of each text
    n_texts  how many; two dozen take about as long as a step of training
    """

    def measure(model: Any) -> tuple[float, float]:
        alone, beside = (parallel_loss(model, ids, k, length, n_texts) for k in (1, n))
        return alone, beside

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        steps = np.array([step for step, _ in frames])
        gap = np.array([beside - alone for _, (alone, beside) in frames])
        finding = f"Among {n} texts, each loses {abs(gap[-1]):.2f} nats {'less' if gap[-1] < 0 else 'more'}"
        plots.draw_gap(ax, steps, gap, finding, total, marker="o", ms=4)

    return Watch(measure, draw, times)


# ------------------------------------------------------------ diffusion


def encode_masked(tokenizer: CharTokenizer, text: str) -> Tensor:
    """Encode a text in which every _ (or ░) stands for a MASK token: (1, T) token ids.

    A tokenizer that knows _ as a character encodes it as that; then only ░ is a hole.

    Raises BadInput if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    if tokenizer.mask_id is None:
        raise BadInput("the tokenizer has no MASK token: load the corpus with_mask=True")
    holes = MASK if HOLE in tokenizer.ids else HOLE + MASK
    hollow = torch.tensor([char in holes for char in text], dtype=torch.bool)
    if not hollow.any():
        raise BadInput(f"{text!r} has no hole: write {holes[0]} for each character to be found")
    filler = tokenizer.characters[0]  # any character will do: its token is masked below
    ids = tokenizer.encode("".join(filler if char in holes else char for char in text))
    return ids.masked_fill(hollow, tokenizer.mask_id)[None]


def gates(times: int = 40, length: int = 32) -> Watch:
    """Watch the gates of a model's keys, before any norm: a row for each position.

    The last four of every sixteen positions are MASK. If each head has gates of its own, the head is drawn
    whose phases have moved furthest.

    length  positions
    Measuring raises BadInput if the model's encoding has no gates.
    """
    masked = torch.arange(length) % 16 >= 12
    positions = Positions(torch.arange(length), masked=masked[None])

    @torch.inference_mode()
    def measure(model: Any) -> tuple[np.ndarray, np.ndarray, float | None]:
        encoding, device = model.encoding, next(model.parameters()).device
        values = gates_of(encoding, positions.to(device)).cpu().numpy()  # (H or 1, T, channels)
        phases = phases_of(encoding)  # (H or 1, D) radians
        angles = np.zeros((len(values), 0)) if phases is None else phases.cpu().numpy().copy()
        alpha = encoding.alpha if isinstance(encoding, Gated) else None  # factor of MASK tokens
        return values.astype(np.float16), angles, alpha

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        (_, first, _), (values, now, alpha) = frames[0][1], frames[-1][1]
        moved = np.abs(now - first).max(axis=-1, initial=0.0)  # (H or 1,) radians
        head = int(moved.argmax())
        whose = f"Head {head + 1}'s phases" if len(moved) > 1 else "Phases"
        change = f"{whose} moved by {moved[head]:.2f} rad"
        finding = change if now.size else "No phase to learn: the gates stay"
        shown = values[head].astype(np.float32)
        both = shown.shape[-1] > now.shape[-1]  # an encoding without phases has sines too
        mark = "MASK" if alpha is None else f"MASK\n× {format_number(alpha)}"
        across = "channel: cosines, then sines" if both else "channel"
        plots.draw_gates(ax, shown, masked.numpy(), finding, across, mark)

    return Watch(measure, draw, times, width=1.25, height=3.6)


def filled_text(tokenizer: CharTokenizer, text: str, times: int = 40, columns: int = 24) -> Watch:
    """Watch a text with holes as the model fills it in, each time anew, always the likeliest character.

    text     with a _ for each hole
    columns  characters in a row
    Raises BadInput if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    idx = encode_masked(tokenizer, text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, filled = frames[-1]
        given = (filled.when[0] == 0).cpu()
        confidence = filled.confidence[0].cpu().masked_fill(given, torch.nan).numpy()
        finding = f"After {step} steps the model is {np.nanmean(confidence):.0%} sure of its characters"
        letters = tokenizer.decode(filled.tokens[0])
        note = "white: given · colour: written, and how sure"
        plots.draw_text(ax, letters, confidence, finding, note, columns, given=given.numpy())

    return Watch(lambda model: fill_in(model, idx, temperature=0), draw, times, width=1.4)
