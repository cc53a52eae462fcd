"""Study of a published model: what its rotation, its pairs, its heads and its cache are worth, text by text.

Nothing is trained. Differences are paired by text: 24 texts that were written for this study, and 24 draws of
random tokens that are read twice.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, cast

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import Rotary, angles_at, rotate, rotate_pairs
from babygpt.encodings.rotary_variants import Interpolated, NTKAware, YaRN
from babygpt.experiments.paired import Comparison, compare, differences
from babygpt.experiments.sweep import Workers, in_turn, sweep
from babygpt.metrics.inspection import (
    Head,
    ablate_heads,
    attention_weights,
    with_heads,
    without_heads,
    written_by_heads,
)
from babygpt.positions import Positions
from babygpt.tables import markdown
from babygpt_course.real.heads import (
    BEFORE,
    FIRST,
    FOLLOWED,
    KINDS,
    head_looks,
    looks_by_distance,
    repeated_tokens,
)
from babygpt_course.real.model import RealModel, read_model, token_losses, use_encoding
from babygpt_course.real.questions import margins, mirrors, who, whom
from babygpt_course.real.tokenizer import RealTokenizer
from babygpt_course.studies.results import Results
from babygpt_live import COLOURS
from babygpt_live.figures import set_labels
from babygpt_live.panel import format_percent

TEXTS = Path(__file__).parent / "published_model.txt"  # separated by lines of three dashes
SHIFT = 5000  # tokens by which a text is moved
HALF = 60  # tokens that are read twice
FURTHEST = 128  # tokens: the furthest distance at which attention is measured
WINDOW = 8192  # tokens that the model was trained to read
FACTOR = 4.0  # how much longer than that window texts could be
PAIRS = (4, 8, 12, 16, 20, 24)  # frozen at either end, of 32
# The next three are heads (layer, head) that a first look at other texts had found.
PREVIOUS = (16, 0)
INDUCTION = (18, 6)
WEAKER = (17, 3)
# These heads look at the token before, too, as PREVIOUS does.
OTHERS = ((11, 1), (19, 3), (2, 1), (1, 2), (22, 1))
ALIKE = OTHERS[0]
EARLY = (0, 5)  # which costs the map's random text most
N_RANDOM = 5  # heads drawn at random, which are silenced together
N_MAPPED = 1  # draws of tokens for the map of all heads
Function = Callable[[Tensor, Tensor], Tensor]


@cache
def load_published() -> tuple[RealModel, RealTokenizer]:
    """Return the model, which is read once."""
    return read_model()


def texts() -> list[str]:
    """Return the texts of this study."""
    return [text.strip() for text in TEXTS.read_text(encoding="utf-8").split("\n---\n")]


def loss(model: RealModel, idx: Tensor, positions: Positions | None = None) -> float:
    """Return the mean loss of a text, in nats a token."""
    return round(float(token_losses(model, idx, positions).mean()), 4)


def loss_with(model: RealModel, idx: Tensor, encoding: Encoding | Function) -> float:
    """Return the mean loss of a text with another encoding."""
    with use_encoding(model, encoding):
        return loss(model, idx)


# ---------------------------------------------------------------- rotations


def half_split(theta: float) -> Function:
    """Return a rotation that pairs channel i with channel i + D/2: the other layout."""

    def turned(x: Tensor, position: Tensor) -> Tensor:
        sides = x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)  # i beside i + D/2
        return rotate(sides, position, theta).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)

    return turned


def freeze_pairs(own: Rotary, is_turning: Tensor) -> Function:
    """Return a rotation in which some pairs of channels stand still.

    is_turning  (D / 2,)  whether a pair turns
    """
    frequencies = own.frequencies().where(is_turning, 0.0)
    return lambda x, position: rotate_pairs(x, angles_at(position, frequencies))


def rotations(own: Rotary, n: int) -> dict[str, Encoding | Function]:
    """Return what takes the place of a model's own RoPE: name -> encoding, for a text of n tokens."""
    D, theta = own.head_dim, own.theta
    pair, second = torch.arange(D // 2), n // 2
    variants: dict[str, Encoding | Function] = {
        "none": Encoding(),
        "other layout": half_split(theta),
        "theta / 10": Rotary(D, theta / 10),
        "theta / 100": Rotary(D, theta / 100),
        "positions / 2": Interpolated(D, 2.0, theta),
        "positions / 4": Interpolated(D, FACTOR, theta),
        "positions * 2": lambda x, position: rotate(x, 2 * position, theta),
        "NTK-aware, 4": NTKAware(D, FACTOR, theta),
        "YaRN, 4": YaRN(D, int(FACTOR) * WINDOW, FACTOR, theta),
        "restarted": lambda x, position: rotate(
            x, position.where(position < second, position - second), theta
        ),
    }
    slow = {f"slowest {k} frozen": freeze_pairs(own, pair < len(pair) - k) for k in PAIRS}
    return variants | slow | {f"quickest {k} frozen": freeze_pairs(own, pair >= k) for k in PAIRS}


def measure_rotations(number: int) -> dict[str, float]:
    """Return the loss of one text under each rotation: nats a token."""
    model, tokenizer = load_published()
    idx = tokenizer.encode(texts()[number])
    changed = {
        name: loss_with(model, idx, encoding)
        for name, encoding in rotations(cast(Rotary, model.encoding), len(idx)).items()
    }
    moved = loss(model, idx, Positions.arange(len(idx), SHIFT))
    return {"own": loss(model, idx), "tokens": len(idx), "shifted": moved, **changed}


# ---------------------------------------------------------------- heads


def measure_head_looks(number: int) -> dict[str, Any]:
    """Return where heads look on one text, as shares of attention."""
    model, tokenizer = load_published()
    idx = tokenizer.encode(texts()[number])
    looks = head_looks(model, idx)
    far = looks_by_distance(model, idx, FURTHEST).mean(axis=(0, 1))
    return {
        "to the first": float(looks[FIRST].mean()),
        "heads that sink": float((looks[FIRST] > 0.5).mean()),
        "by distance": far.astype(float).round(5).tolist(),
        "looks": [looks[kind].astype(float).round(3).tolist() for kind in KINDS],
    }


def read_twice(number: int) -> Tensor:
    """Return a draw of random tokens that stand there twice: (2 HALF + 1,) token ids."""
    _, tokenizer = load_published()
    return repeated_tokens(HALF, tokenizer.vocab_size, tokenizer.start, number)


def halves(model: RealModel, idx: Tensor) -> tuple[float, float]:
    """Return the losses of a repeated text: of its first half, and of its second without its first token."""
    losses = token_losses(model, idx)
    return float(losses[:HALF].mean()), float(losses[HALF + 1 :].mean())


def second_without(idx: Tensor, heads: Iterable[Head]) -> float:
    """Return the loss of a repeated text's second half without some heads."""
    model, _ = load_published()
    with without_heads(model, heads):
        return round(halves(model, idx)[1], 4)


def measure_induction(number: int) -> dict[str, Any]:
    """Return the losses of random tokens that are read twice, with all heads and without some."""
    (model, _), idx = load_published(), read_twice(number)
    first, second = halves(model, idx)
    every = [(layer, head) for layer in range(model.config.n_layer) for head in range(model.config.n_head)]
    drawn = np.random.default_rng(number).choice(len(every), N_RANDOM, replace=False)
    silent = {str(head): [head] for head in (PREVIOUS, INDUCTION, WEAKER)}
    silent |= {"both": [PREVIOUS, INDUCTION], "random": [every[i] for i in drawn]}
    looks = head_looks(model, idx)
    return {
        "first": round(first, 4),
        "second": round(second, 4),
        **{f"without {name}": second_without(idx, heads) for name, heads in silent.items()},
        "looks": [looks[kind].astype(float).round(3).tolist() for kind in KINDS],
    }


def measure_silenced(number: int) -> dict[str, float]:
    """Return the loss of one ordinary text, with all heads and without one of four: nats a token."""
    model, tokenizer = load_published()
    idx = tokenizer.encode(texts()[number])
    losses = {"own": loss(model, idx)}
    for head in (PREVIOUS, INDUCTION, WEAKER, EARLY):
        with without_heads(model, [head]):
            losses[f"without {head}"] = loss(model, idx)
    return losses


def measure_map(number: int) -> dict[str, list[list[float]]]:
    """Return the loss of one repeated text's second half without each head: (n_layer, n_head)."""
    (model, _), idx = load_published(), read_twice(number)
    return {"second": ablate_heads(model, lambda _: halves(model, idx)[1]).round(3).tolist()}


def measure_patch(number: int) -> dict[str, float]:
    """Exchange what one head writes at two places of the first half, behind two random tokens.

    returns  for the first of these tokens in the second half, with the "own" outputs, with those of PREVIOUS
             "exchanged" at these two places, and with those of ALIKE exchanged as a "control": log p of what
             followed it minus log p of what followed the other, in nats; and the weight that INDUCTION gives
             to the place "behind" it, and to that behind the "other"
    """
    model, _ = load_published()
    idx = read_twice(number).to(model.token_embedding.weight.device)
    place, rival_place = 1 + np.random.default_rng(number).choice(HALF - 1, 2, replace=False)
    written, numbers = written_by_heads(model, idx[None]), {}
    for name, head in {"own": None, "exchanged": PREVIOUS, "control": ALIKE}.items():
        with with_heads(model, {} if head is None else exchange(written, head, place + 1, rival_place + 1)):
            with torch.inference_mode():
                logits = model(idx[None])[0, HALF + place]
            looks = attention_weights(model, idx)[*INDUCTION, HALF + place]
        numbers[name] = round(float(logits[idx[place + 1]] - logits[idx[rival_place + 1]]), 3)
        numbers |= {
            f"{name}, behind": float(looks[place + 1]),
            f"{name}, other": float(looks[rival_place + 1]),
        }
    return numbers


def exchange(
    written: list[Tensor], head: Head, place: int, rival_place: int
) -> dict[Head, Callable[[Tensor], Tensor]]:
    """Return a change for `with_heads`: a head writes at two places of a text what it wrote at the other.

    written  by all heads, from `written_by_heads`
    """
    layer, number = head
    forged = written[layer][:, :, number].clone()  # (1, T, D)
    forged[:, [place, rival_place]] = forged[:, [rival_place, place]]

    def forge(_: Tensor) -> Tensor:
        return forged

    return {head: forge}


def measure_alike(number: int) -> dict[str, float]:
    """Return the loss of one repeated text's second half, without each of OTHERS alone."""
    idx = read_twice(number)
    return {f"without {head}": second_without(idx, [head]) for head in OTHERS}


# ---------------------------------------------------------------- questions


def measure_questions(n_examples: int) -> dict[str, Any]:
    """Return by how much the right name is likelier than the other one: nats, one a question.

    returns  "shortcut": of questions that need no order; "bag": the same, without the rotation; "who" and
             "whom": of questions that only order decides
    """
    model, tokenizer = load_published()
    plain, ordered = mirrors(n_examples), margins(model, tokenizer, mirrors(n_examples, who, whom))
    n, advantages = len(plain), {"shortcut": margins(model, tokenizer, plain)}
    advantages |= {"who": ordered[:n], "whom": ordered[n:]}
    with use_encoding(model, Encoding()):
        advantages["bag"] = margins(model, tokenizer, plain)
    return {name: values.round(3).tolist() for name, values in advantages.items()}


ASKED = {
    "shortcut": "right, where a shortcut answers",
    "bag": "the same without rotation",
    "who": "who did it",
    "whom": "to whom it was done",
}

PARTS: dict[str, tuple[Callable[[int], Mapping[str, Any]], int]] = {  # what is measured, and how often
    "rotations": (measure_rotations, 24),
    "heads": (measure_head_looks, 24),
    "induction": (measure_induction, 24),
    "silenced": (measure_silenced, 24),
    "patch": (measure_patch, 24),
    "alike": (measure_alike, 24),
    "map": (measure_map, N_MAPPED),
    "questions": (measure_questions, 5),
}


def measure_published(workers: Workers = in_turn, parts: Mapping[str, Any] = PARTS) -> Results:
    """Measure each part on each of its texts.

    returns  part -> name of the number -> one a text; of lists that only describe, such as where heads look,
             the mean over texts
    """
    results: Results = {}
    for part, (_, n) in parts.items():
        results |= sweep([part], range(n), lambda part, number: parts[part][0](number), workers)
    for part, name in (
        ("heads", "looks"),
        ("heads", "by distance"),
        ("induction", "looks"),
        ("map", "second"),
    ):
        if name in results.get(part, {}):
            results[part][name] = np.mean(results[part][name], axis=0).round(5).tolist()
    return results


# ---------------------------------------------------------------- of stored results


def costs(results: Results, part: str, own: str, of: str = "text") -> dict[str, Comparison]:
    """Return by how much each change raises the loss, paired by text or by draw: name -> nats a token."""
    losses = {name: values for name, values in results[part].items() if isinstance(values[0], float)}
    return {
        name: compare(differences(values, losses[own]), of=of)
        for name, values in losses.items()
        if name not in (own, "first")
    }


def table(results: Results) -> str:
    """Return as Markdown what each change costs, and how the questions are answered."""
    texts = results["rotations"]
    rows = [
        (name, f"{mean(texts[name]):.2f}", f"{cost:+.3f}")
        for name, cost in costs(results, "rotations", "own").items()
    ]
    heads = results["induction"]
    silent = [
        (name, f"{mean(heads[name]):.2f}", f"{cost:+.2f}")
        for name, cost in costs(results, "induction", "second", "draw").items()
    ]
    question_rows = [
        (str(n), *(format_percent(mean(x > 0 for x in results["questions"][kind][n])) for kind in ASKED))
        for n in range(len(results["questions"]["who"]))
    ]
    own = mean(texts["own"])
    return "\n".join(
        [
            f"`{results['command']}`, {results['minutes']:.0f} minutes. {len(texts['own'])} texts of "
            f"{min(texts['tokens'])} to {max(texts['tokens'])} tokens, {own:.2f} nats a token.\n",
            markdown(("in place of its rotation", "loss", "more than its own (nats a token)"), rows),
            f"Random tokens, read twice: {mean(heads['first']):.1f} nats a token in the first half, "
            f"{mean(heads['second']):.2f} in the second. Heads are counted from 0.\n",
            markdown(("second half", "loss", "more than with all heads (nats a token)"), silent),
            markdown(("examples before a question", *ASKED.values()), question_rows),
        ]
    )


def draw_published(figure: Figure, results: Results) -> None:
    """Draw what frozen pairs cost, what each head looks at, and what each silenced head costs."""
    pairs, looks, silent = figure.subplots(1, 3, width_ratios=[1.6, 1, 1])
    draw_frozen(pairs, results)
    draw_kinds(looks, np.array(results["induction"]["looks"]))
    if "map" not in results:
        return
    cost = np.array(results["map"]["second"]) - mean(results["induction"]["second"][:N_MAPPED])
    image = silent.imshow(cost, cmap="Reds", vmin=0, vmax=3, aspect="auto", extent=from_one(cost))
    figure.colorbar(image, ax=silent, label="nats a token, 3 and more", extend="max")
    few = (cost > 0.5).sum()
    set_labels(
        silent, f"{few} of {cost.size} heads cost more than\n0.5 nats when one is silenced", "head", "layer"
    )


def join_parts(stored: Results, new: Results) -> Results:
    """Return stored results with the parts that another call of the command measured."""
    minutes = round(stored["minutes"] + new["minutes"], 1)
    return {**stored, **{part: new[part] for part in PARTS if new.get(part)}, "minutes": minutes}


def draw_frozen(ax: Axes, results: Results) -> None:
    """Draw the loss as more pairs stand still, from either end: a dot for each text, a line for the mean."""
    texts = results["rotations"]
    for end, colour in (("quickest", "orange"), ("slowest", "blue")):
        losses = np.array([texts["own"], *(texts[f"{end} {k} frozen"] for k in PAIRS)])
        ax.plot((0, *PAIRS), losses, ".", color=COLOURS[colour], alpha=0.25)
        ax.plot((0, *PAIRS), losses.mean(axis=1), "o-", color=COLOURS[colour], label=f"the {end} pairs")
    ax.axhline(mean(texts["none"]), color=COLOURS["grey"], ls="--", label="all 32: no rotation")
    cost_by_change = costs(results, "rotations", "own")
    slow, quick = (cost_by_change[f"{end} 8 frozen"].mean for end in ("slowest", "quickest"))
    title = f"To stop the eight slowest pairs costs {abs(slow):.2f} nats,\nand the eight quickest"
    set_labels(ax, f"{title} {quick:.2f}", "pairs that stand still, of 32", "loss (nats a token)")
    ax.legend()


def from_one(grid: np.ndarray) -> tuple[float, float, float, float]:
    """Return the edges of a picture (n_layer, n_head) whose rows and columns are counted from 1."""
    return 0.5, grid.shape[1] + 0.5, grid.shape[0] + 0.5, 0.5


def draw_kinds(ax: Axes, looks: np.ndarray) -> None:
    """Draw the map of all heads: the colour tells what a head looks at, its strength how much.

    looks  (4, n_layer, n_head)  shares of attention, in the order of KINDS
    """
    shown = {BEFORE: "blue", FIRST: "red", FOLLOWED: "green"}  # as on the switchboard
    shares = np.stack([looks[KINDS.index(kind)] for kind in shown])  # (3, L, H)
    kind, share = shares.argmax(axis=0), shares.max(axis=0)[..., None]
    colours = np.array([to_rgb(COLOURS[name]) for name in shown.values()])[kind]  # (L, H, 3)
    ax.imshow(1 - share * (1 - colours), aspect="auto", extent=from_one(share))
    counts = [(grid > 0.5).sum() for grid in shares]
    title = (
        "{1} heads look mostly at the first token, {0} at the\ntoken before, {2} at what followed last time"
    )
    set_labels(ax, title.format(*counts), "head", "layer")
    patches = [Patch(color=COLOURS[name]) for name in shown.values()]
    ax.legend(patches, shown, loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize=9)
