"""Watches of one version each: what its panel shows while it trains."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.data.stories import Question
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.encodings.gaussian import Gaussian
from babygpt.encodings.polar import Gated
from babygpt.encodings.rotary import Rotary, angles_at
from babygpt.errors import BadInput
from babygpt.metrics.answers import role_accuracy, whole_answer_accuracy
from babygpt.metrics.inspection import (
    attention_weights,
    bigram_table,
    gates_of,
    kernel_values,
    phases_of,
    position_votes,
)
from babygpt.metrics.parallel_texts import code_similarity, cosines, layer_similarity, parallel_loss
from babygpt.positions import Positions
from babygpt.sampling.diffusion import Choose, fill_in
from babygpt_live.explorer import format_number
from babygpt_live.panel import (
    Arcs,
    Axis,
    Cells,
    Curve,
    Heads,
    Level,
    Mark,
    Panel,
    Words,
    format_percent,
    name_ticks,
)
from babygpt_live.style import COLOURS, ENCODING_COLOURS, visible
from babygpt_live.watch import Frames, Watch, steps_axis

HOLE = "_"  # typed by a learner for MASK; each is one character to be filled in


def after(step: float) -> str:
    """Return the words with which a finding names its step."""
    return f"After {step:.0f} steps" if step else "Before training"


# ------------------------------------------------------------ predictions


def roles(
    tokenizer: CharTokenizer, questions: Sequence[Question], times: int = 8, written: bool = False
) -> Watch:
    """Watch the share of right answers. Two dozen questions take about as long as a step of training.

    written  whether to watch the share of names that are written letter by letter, too
    """

    def measure(model: Any) -> float | tuple[float, float]:
        right = role_accuracy(model, tokenizer, questions)
        return (right, whole_answer_accuracy(model, tokenizer, questions)) if written else right

    def panel(frames: Frames, title: str, total: int) -> Panel:
        steps = np.array([step for step, _ in frames], float)
        right, *names = np.array([np.atleast_1d(shares) for _, shares in frames], float).T  # (n,) each
        colour = ENCODING_COLOURS.get(title, COLOURS["blue"])
        marks: list[Mark] = [Level("chance", 50.0), Curve(title, colour, 100 * right, steps, "marked")]
        ticks = [(float(tick), str(tick)) for tick in (0, 25, 50, 75, 100)]
        label = "right answers, and names written (%)" if written else "right answers (%)"
        y = Axis(label, (0.0, 105.0), ticks, unit="%", digits=0)
        finding = f"{after(steps[-1])} {format_percent(right[-1])} of the answers are right"
        for name_shares in names:
            marks.append(Curve("names written", COLOURS["red"], 100 * name_shares, steps, "marked"))
            finding += f", and {format_percent(name_shares[-1])} of the names are written"
        return Panel(finding, marks, steps_axis(total), y, over_steps=True)

    return Watch(measure, panel, times)


MOST_MARKS = 32  # marks that fit below cells
MOST_ROWS = 16  # names of rows that fit beside them


def next_characters(tokenizer: CharTokenizer, times: int = 150) -> Watch:
    """Watch v1's table: the probabilities of the next character after every character."""
    marks = visible(tokenizer.characters)
    x = Axis("next character", ticks=name_ticks(marks, MOST_MARKS))
    y = Axis("this character", ticks=name_ticks(marks, MOST_ROWS))
    reading = "“{column}” follows “{row}” with {value}%"

    def panel(frames: Frames, title: str, total: int) -> Panel:
        step, table = frames[-1]
        finding = (
            f"{after(step)} the most certain row predicts a character with {format_percent(table.max())}"
        )
        cells = Cells(
            100 * table, high=100.0, reading=reading, rows=marks, columns=marks, label="probability (%)"
        )
        return Panel(finding, [cells], x, y, width=1.3)

    return Watch(bigram_table, panel, times)


def votes(tokenizer: CharTokenizer, times: int = 150) -> Watch:
    """Watch the votes of v2's positions: a column for each position, a row for each next character."""
    marks = visible(tokenizer.characters)
    x, y = Axis("position (tokens)"), Axis("next character", ticks=name_ticks(marks, MOST_ROWS))
    reading = "position {column} votes for “{row}” with {value} nats"

    def panel(frames: Frames, title: str, total: int) -> Panel:
        step, vote_matrix = frames[-1]
        finding = f"{after(step)} a position votes with up to {vote_matrix.max():.1f} nats"
        cells = Cells(vote_matrix.T, 4.0, -4.0, reading, marks, label="vote (nats)")
        return Panel(finding, [cells], x, y, width=1.4)

    return Watch(position_votes, panel, times)


# ------------------------------------------------------------ waves and clocks


def position_codes(length: int = 64, times: int = 20) -> Watch:
    """Watch the codes that v3 adds at its positions: a column for each. Below, how alike the middle one is.

    length  positions
    Measuring raises BadInput if the model's encoding adds nothing to the tokens.
    """
    middle = length // 2
    reading = "position {column}, channel {row}: {value}"

    @torch.inference_mode()
    def measure(model: Any) -> np.ndarray:
        device, width = next(model.parameters()).device, model.config.n_embd
        zeros, positions = torch.zeros(1, length, width, device=device), Positions.arange(length, 0, device)
        codes = model.encoding.embed(zeros, positions)[0].cpu()  # (length, C)
        if not codes.any():
            raise BadInput(f"{type(model.encoding).__name__} adds no code to a position; v3 does")
        return codes.numpy()

    def panel(frames: Frames, title: str, total: int) -> Panel:
        step, codes = frames[-1]
        likeness = cosines(torch.as_tensor(codes))[middle].numpy()  # (length,)
        finding = f"{after(step)} neighbours are alike with cosine {likeness[middle + 1]:.2f}"
        largest = max(1.0, float(np.abs(codes).max()))
        rows = [str(channel) for channel in range(codes.shape[1])]
        cells = Cells(codes.T, largest, -largest, reading, rows, label="code")
        curve = Curve(f"cosine with position {middle}", COLOURS["blue"], likeness)
        y = Axis("cosine", (float(min(0.0, np.floor(10 * likeness.min()) / 10)), 1.0))
        below = Panel("", [curve], Axis("", (-0.5, length - 0.5)), y)
        return Panel(finding, [cells], Axis("position (tokens)"), Axis("channel"), width=1.25, below=below)

    return Watch(measure, panel, times)


def clocks(tokenizer: CharTokenizer, text: str, times: int = 100) -> Watch:
    """Watch the hands of RoPE over the distance, and below them how far back each layer looks on one text.

    A hand is a pair of channels. Its cosine is that of the angle between a query and a key. A share is the
    part of a layer's attention that letters give to those so far back: a mean over heads and letters.

    Raises BadInput if the text is empty or holds a character that the tokenizer does not know.
    Measuring raises BadInput if the model's encoding is not RoPE.
    """
    idx = encode_text(tokenizer, text)
    reading = "hand {row}, {column} back: cosine {value}"

    def measure(model: Any) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(model.encoding, Rotary):
            raise BadInput(f"{type(model.encoding).__name__} has no clocks to watch; v4 has")
        hands = angles_at(torch.arange(len(idx)), model.encoding.frequencies()).cos()  # (T, D / 2)
        weights = attention_weights(model, idx).mean(axis=1)  # (L, T, T)
        back = [np.trace(weights, -distance, 1, 2) / len(idx) for distance in range(len(idx))]
        return hands.numpy(), np.stack(back, axis=1)  # (T, D / 2) and (L, T)

    def panel(frames: Frames, title: str, total: int) -> Panel:
        step, (hands, shares) = frames[-1]
        means = shares @ np.arange(len(idx))  # (L,) tokens
        looks = [f"layer {i + 1} looks {mean:.1f} tokens back" for i, mean in enumerate(means)]
        finding = f"{after(step)} {', and '.join(looks)}"
        rows = [str(hand) for hand in range(hands.shape[1])]
        cells = Cells(hands.T, 1.0, -1.0, reading, rows, label="cosine of a hand's angle")
        palette = [COLOURS[name] for name in ("blue", "orange", "green", "sky", "grey")]
        curves = [Curve(f"layer {i + 1}", palette[i % len(palette)], share) for i, share in enumerate(shares)]
        y = Axis("share", (0.0, float(np.ceil(10 * shares.max()) / 10)))
        below = Panel("", curves, Axis("", (-0.5, len(idx) - 0.5)), y)
        return Panel(finding, [cells], Axis("distance (tokens)"), Axis("hand"), width=1.25, below=below)

    return Watch(measure, panel, times)


# ------------------------------------------------------------ attention


def encode_text(tokenizer: CharTokenizer, text: str) -> Tensor:
    """Encode a text: (T,) token ids. Raises BadInput if it is empty or has an unknown character."""
    if not text:
        raise BadInput("the text to look at is empty; it needs at least 1 character")
    return tokenizer.encode(text)


def heads(tokenizer: CharTokenizer, text: str, times: int = 100, answer: str = "") -> Watch:
    """Watch the attention weights of every layer and head on one text, for models that have attention.

    One head is shown large, with the text along its sides and with arcs from the last letter over the text:
    that which looks most from there at the answer, or else that which has changed most since the first step.

    answer  part of the text, such as the name that a question asks for; a model that answers looks at the
            first letter of it
    Raises BadInput if the text is empty, holds a character that the tokenizer does not know, or has no such
    answer.
    """
    idx, letters = encode_text(tokenizer, text), visible(text)
    x, y = Axis("letter looked at"), Axis("letter that looks")
    place = text.find(answer)
    if place < 0:
        raise BadInput(f"the text {text!r} does not contain the answer {answer!r}")

    def panel(frames: Frames, title: str, total: int) -> Panel:
        first, now = (np.asarray(weights, np.float32) for _, weights in (frames[0], frames[-1]))
        step = frames[-1][0]
        if answer:
            shares = now[:, :, -1, place]  # (L, H), of the last letter's attention
            words = f"looks most at the answer: {format_percent(shares.max())} on its “{letters[place]}”"
            template = f"Layer {{layer}}, head {{head}}: {{share}} on the answer's “{letters[place]}”"
        else:
            shares = np.abs(now - first).sum(axis=-1).mean(axis=-1) / 2  # (L, H), shares of 1
            since = f"of its attention in {step} steps"
            words = f"changed most: {format_percent(shares.max())} {since}"
            template = f"Layer {{layer}}, head {{head}} changed {{share}} {since}"
            if not step:
                words = "is shown large, before training"
                template = "Layer {layer}, head {head}, before training"
        layer, head = divmod(int(shares.argmax()), shares.shape[1])
        begin = "Before training, layer" if answer and not step else "Layer"
        finding = f"{begin} {layer + 1}, head {head + 1} {words}"
        squares = Heads(now, letters, (layer, head), template, shares)
        colour = ENCODING_COLOURS.get(title, COLOURS["blue"])
        arcs = Arcs(letters, now[layer, head, -1], len(letters) - 1, colour)
        return Panel(finding, [squares, arcs], x, y, width=1.5)

    return Watch(lambda model: attention_weights(model, idx).astype(np.float16), panel, times)


def kernel(furthest: int = 64, times: int = 150) -> Watch:
    """Watch the Gaussian kernel of a model in training: K now, beside K before the first step.

    furthest  distance up to which it is drawn, in tokens
    Measuring raises BadInput if the model's encoding has no kernel.
    """
    x = Axis("distance (tokens)", (0.0, float(furthest)), digits=0)
    y = Axis("K: how much a key so far away counts")

    def measure(model: Any) -> np.ndarray:
        if not isinstance(model.encoding, Gaussian):
            raise BadInput(f"{type(model.encoding).__name__} has no kernel to watch; v5 has one")
        return kernel_values(model.encoding, furthest)  # (furthest + 1,)

    def half_distance(shares: np.ndarray) -> str:
        above = int((shares >= 0.5).sum())  # a kernel never rises
        return f"in {above} tokens" if above <= furthest else f"beyond {furthest} tokens"

    def panel(frames: Frames, title: str, total: int) -> Panel:
        first, now = (curve / curve[0] for _, curve in (frames[0], frames[-1]))
        before, halved = half_distance(first), half_distance(now)
        finding = f"{after(frames[-1][0])} the kernel K halves {halved}"
        if before != halved:
            finding += f", at first {before.removesuffix(' tokens')}"
        curves = [Curve("at first", COLOURS["grey"], first), Curve("now", COLOURS["red"], now)]
        return Panel(finding, curves, x, y)

    return Watch(measure, panel, times)


# ------------------------------------------------------------ parallel texts


def branch_similarity(tokenizer: CharTokenizer, text: str, n: int = 4, times: int = 100) -> Watch:
    """Watch the similarity of n branches that hold the same text: of their codes, and after every layer.

    It is the cosine, averaged over all pairs of branches.

    Raises BadInput if the text is empty or holds a character that the tokenizer does not know.
    """
    idx = encode_text(tokenizer, text)

    def measure(model: Any) -> np.ndarray:
        squares = np.concatenate([code_similarity(model, n)[None], layer_similarity(model, idx, n)])
        means: np.ndarray = squares[:, ~np.eye(n, dtype=bool)].mean(axis=1)
        return means  # These are the means of codes, of the input, and after each layer.

    def panel(frames: Frames, title: str, total: int) -> Panel:
        steps, cosines = np.array([step for step, _ in frames]), np.array([means for _, means in frames]).T
        names = ["codes", "input", *(f"after layer {i + 1}" for i in range(len(cosines) - 2))]
        palette = [COLOURS[name] for name in ("blue", "orange", "green", "sky", "grey")]  # not those of gaps
        colours = [palette[i % len(palette)] for i in range(len(names))]
        marks = [Curve(*curve, steps) for curve in zip(names, colours, cosines, strict=True)]
        finding = f"{after(steps[-1])} the branches leave the last layer with cosine {cosines[-1, -1]:.2f}"
        y = Axis("cosine", (float(min(0.9, np.floor(10 * cosines.min()) / 10)), 1.0))
        return Panel(finding, marks, steps_axis(total), y, over_steps=True)

    return Watch(measure, panel, times)


def interference(ids: Tensor, length: int, n: int = 2, n_texts: int = 24, times: int = 10) -> Watch:
    """Watch the gap: the loss of texts with n - 1 others beside them, less that of the same texts alone.

    ids      (N,)  validation text
    length   tokens of each text
    n_texts  how many; two dozen take about as long as a step of training
    """

    def measure(model: Any) -> float:
        alone, beside = (parallel_loss(model, ids, k, length, n_texts) for k in (1, n))
        return beside - alone

    def panel(frames: Frames, title: str, total: int) -> Panel:
        steps, gap = np.array(frames, float).T  # (n,) each
        low, high = np.floor(20 * gap.min(initial=-0.02)) / 20, np.ceil(20 * gap.max(initial=0.02)) / 20
        size = f"{abs(gap[-1]):.2f}"
        loss = f"{size} nats {'less' if gap[-1] < 0 else 'more'} than alone"
        if size == "0.00":
            loss = "as much as alone (to 0.01 nats)"
        finding = f"{after(steps[-1])} each of {n} texts loses {loss}"
        marks: list[Mark] = [Level("no gap", 0.0), Curve("gap", COLOURS["pink"], gap, steps, "marked")]
        y = Axis("gap (nats)", (float(low), float(high)), unit=" nats")
        return Panel(finding, marks, steps_axis(total), y, over_steps=True)

    return Watch(measure, panel, times)


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


def gates(times: int = 150, length: int = 32) -> Watch:
    """Watch the gates of a model's keys, before any norm: a row for each position. Phases are drawn below.

    The last four of every sixteen positions are MASK. If each head has gates of its own, the head is drawn
    whose phases have moved furthest.

    length  positions
    Measuring raises BadInput if the model's encoding has no gates.
    """
    masked = torch.arange(length) % 16 >= 12
    positions = Positions(torch.arange(length), masked=masked[None])
    edges = np.flatnonzero(np.diff(masked.numpy(), prepend=False, append=False)).tolist()
    boxes = list(zip(edges[::2], edges[1::2], strict=True))  # (first, behind the last) of each run of MASK
    middles = [(begin + end - 1) / 2 for begin, end in boxes]
    free = [i for i in range(0, length, 8) if all(abs(i - middle) > length / 12 for middle in middles)]
    rows = [f"{i} (MASK)" if hidden else str(i) for i, hidden in enumerate(masked)]
    reading = "position {row}, channel {column}: {value}"

    @torch.inference_mode()
    def measure(model: Any) -> tuple[np.ndarray, np.ndarray, float | None]:
        encoding, device = model.encoding, next(model.parameters()).device
        activations = gates_of(encoding, positions.to(device)).cpu().numpy()  # (H or 1, T, channels)
        phases = phases_of(encoding)  # (H or 1, D) radians
        angles = np.zeros((len(activations), 0)) if phases is None else phases.cpu().numpy().copy()
        alpha = encoding.alpha if isinstance(encoding, Gated) else None  # factor of MASK tokens
        return activations.astype(np.float16), angles, alpha

    def panel(frames: Frames, title: str, total: int) -> Panel:
        (_, first, _), (step, (activations, now, alpha)) = frames[0][1], frames[-1]
        phase_changes = np.abs(now - first).max(axis=-1, initial=0.0)  # (H or 1,) radians
        head = int(phase_changes.argmax())
        owner = f"head {head + 1}'s phases" if len(phase_changes) > 1 else "the phases"
        change = f"{after(step)} {owner} have moved by at most {phase_changes[head]:.2f} rad"
        if not step:
            change = "Before training the phases are where they begin"
        finding = change if now.size else "No phase to learn: the gates stay"
        has_sines = activations.shape[-1] > now.shape[-1]  # an encoding without phases has sines too
        mark = "MASK" if alpha is None else f"MASK × {format_number(alpha)}"
        ticks = [*((middle, mark) for middle in middles), *((float(i), str(i)) for i in free)]
        x = Axis("channel: cosines, then sines" if has_sines else "channel")
        y = Axis("position (tokens)", ticks=ticks)
        cells = Cells(activations[head], 1.0, -1.0, reading, rows, boxes=boxes, label="gate")
        lower = phases_panel(first[head], now[head], activations.shape[-1]) if now.size else None
        return Panel(finding, [cells], x, y, width=1.25, below=lower)

    return Watch(measure, panel, times)


def phases_panel(first: np.ndarray, now: np.ndarray, channels: int) -> Panel:
    """Show the phases of one head, each below the columns of its gates.

    first, now  (D,) radians, before the first step and now
    channels    columns: D, or 2D for cosines and then sines
    """
    curves = [
        Curve(name if begin == 0 else "", COLOURS[colour], phases, begin + np.arange(len(now)))
        for name, colour, phases in (("at first", "grey", first), ("now", "red", now))
        for begin in range(0, channels, len(now))
    ]
    end = max(0.2, np.ceil(10 * np.abs([first, now]).max()) / 10)
    y = Axis("phase (rad)", (-float(end), float(end)))
    return Panel("", curves, Axis("", (-0.5, channels - 0.5)), y)


FULLER = "the fuller a cell, the surer the model was of the character it wrote"
ROUNDS = 3  # Each round takes a pass of the model, so a watched text is filled in by few.


def filled_text(tokenizer: CharTokenizer, text: str, times: int = 60, columns: int = 24) -> Watch:
    """Watch a text with holes as the model fills it in, each time anew, with the likeliest characters.

    It takes three passes of the model. Each fills a third of the holes: those of which the model is surest.

    text     with a _ for each hole
    columns  characters in a row
    Raises BadInput if there is no hole, a character that the tokenizer does not know, or no MASK token.
    """
    idx = encode_masked(tokenizer, text)

    def surest_share(masked: Tensor, generator: torch.Generator | None) -> Choose:
        share = -(-masked.sum(dim=1, keepdim=True) // ROUNDS)

        def choose(masked: Tensor, chances: Tensor) -> Tensor:
            confidence = chances.amax(dim=-1).masked_fill(~masked, -1.0)
            rank = confidence.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
            return masked & (rank < share)

        return choose

    def panel(frames: Frames, title: str, total: int) -> Panel:
        step, filled = frames[-1]
        given_characters = (filled.when[0] == 0).cpu()
        sure = filled.confidence[0].cpu().masked_fill(given_characters, torch.nan).numpy()
        finding = f"{after(step)} the model is {format_percent(np.nanmean(sure))} sure of its characters"
        words = Words(visible(tokenizer.decode(filled.tokens[0])), sure, given_characters.numpy(), columns)
        return Panel(finding, [words], note=FULLER, width=1.4)

    return Watch(lambda model: fill_in(model, idx, surest_share, temperature=0), panel, times)
