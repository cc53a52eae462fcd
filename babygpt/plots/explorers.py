"""Pictures of explorers: each draws what the explorer's measurement found, and moves it when called again."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.plots import artists

POWERS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)  # ticks of K
NEAR = 8  # tokens


def draw_over_distance(
    ax: Axes, curves: dict[str, np.ndarray], labels: tuple[str, str, str], y: tuple[float, float], *look: Any
) -> None:
    """Draw curves over the distance, from 0 to the last one that they hold."""
    n = len(next(iter(curves.values())))
    plots.draw_curves(ax, np.arange(n), curves, *labels, (0.0, n - 1.0), y, *look)


def sinusoid(codes: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw the table with one row marked, and the likeness of that row to all."""
    position, (length, width) = found["position"], found["table"].shape
    title = f"{found['turning']} of {width // 2} pairs turn at least once in {length}"
    plots.draw_matrix(codes, found["table"], title, "channel", "position (tokens)", diverging=True, top=1.0)
    artists.horizontal_line(codes, "position", position, color=plots.COLOURS["red"], lw=1.5)
    near = min(position + 8, length - 1)
    title = f"Likeness of {position} and {near}: {found['likeness'][near]:.2f}"
    labels = (title, "position (tokens)", "likeness (share of code · code)")
    spans = (0.0, length - 1.0), (-0.6, 1.1)
    plots.draw_curves(curve, np.arange(length), {"likeness": found["likeness"]}, *labels, *spans)
    artists.dot(curve, "mark", (position, 1.0), plots.COLOURS["red"])


def rope(here: Axes, later: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two hands on a circle, two more further on, and the score over the distance."""
    angle = f"{found['between']:.2f} rad"
    titles = f"From k to q: {angle}", f"{found['shift']} tokens on: again {angle}"
    for clock, hands, title in zip((here, later), (found["hands"], found["later"]), titles, strict=True):
        plots.draw_clock(clock, list(hands.values()), list(hands), title, arcs=[(1, 0)])
    at, score = found["distance"], found["scores"][found["distance"]]
    title = f"Score at distance {at}: {score:.2f} of the most"
    labels = (title, "distance m − n (tokens)", "score (share of q·k)")
    draw_over_distance(curve, {"all pairs": found["scores"]}, labels, (-0.6, 1.1))
    artists.dot(curve, "mark", (at, score), plots.COLOURS["red"])


def alibi(score: Axes, share: Axes, found: dict[str, Any]) -> None:
    """Draw the scores over the distance, and the share of attention spent up to each distance."""
    labels = ("What distance takes from a score", "distance (tokens)", "score")
    draw_over_distance(score, found["scores"], labels, (-20.0, 6.0), "upper right", 4)
    near, first = found["near"], next(iter(found["near"]))
    title = f"Within {found['distance']} tokens: head 1 {near[first]:.0%}, RoPE {near['RoPE']:.0%}"
    labels = (title, "distance (tokens)", "attention up to there")
    draw_over_distance(share, found["weights"], labels, (0.0, 1.05), "lower right", 2)
    artists.vertical_line(share, "mark", found["distance"], color=plots.COLOURS["red"], lw=1.5)


def kernel(fall: Axes, square: Axes, row: Axes, found: dict[str, Any]) -> None:
    """Draw K over the distance, scores with one query marked, and that query's attention."""
    if fall.get_yscale() != "log":
        fall.set_yscale("log")
    artists.set_ticks(fall.yaxis, POWERS, [f"{power:g}" for power in POWERS])
    half, hundredth = found["reach"].values()
    labels = (f"K: half at {half:,}, 1/100 at {hundredth:,}", "m (tokens)", "K(m), powers of ten")
    floored = {name: np.maximum(values, 1e-12) for name, values in found["K"].items()}
    draw_over_distance(fall, floored, labels, (1e-4, 1000.0), "upper right", 2)

    title = f"Along a diagonal it changes by {found['step']:.2f}"
    labels = (title, "position of the key n", "position of the query m")
    plots.draw_matrix(square, found["scores"], *labels, diverging=True, top=6.0)
    position = found["position"]
    artists.horizontal_line(square, "position", position, color=plots.COLOURS["red"], lw=1.5)

    near = {name: weights[-NEAR - 1 :].sum() for name, weights in found["rows"].items()}
    title = f"{near['with K']:.0%} within {NEAR} tokens; RoPE {near['RoPE']:.0%}"
    labels = (title, "position of the key n", "share of attention")
    later = (0, len(found["scores"]) - 1 - position)  # no query looks ahead: nan draws nothing there
    shown = {name: np.pad(weights, later, constant_values=np.nan) for name, weights in found["rows"].items()}
    draw_over_distance(row, shown, labels, (0.0, 1.25), "upper right", 2)


def branches(added: Axes, rotated: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two matrices that differ if the codes do, and the cosines of branch 0 with the others."""
    n = len(found["fourier"])
    look = ("branch", "branch", [str(b) for b in range(n)], True, 1.0, True)
    near = f"{found['fourier'][0, 1]:.0%} alike, {found['distance']:.1f} apart"
    plots.draw_matrix(added, found["fourier"], f"Fourier: {near}", *look)
    difference = np.abs(found["fourier"] - found["rope"]).max()
    plots.draw_matrix(rotated, found["rope"], f"2-D RoPE: the same to {difference:.0e}", *look)
    names = ("What the slowest pair hides", "branch", "cosine with branch 0")
    spans = (0.0, n - 1.0), (-1.05, 1.6)
    plots.draw_curves(curve, np.arange(n), found["to first"], *names, *spans, "upper right")


def polar(gates: Axes, square: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw gates over position and dimension, the score map, and scores across it."""
    title = f"α = {found['alpha']:.3g} moves scores by {found['moved']:.2f}"
    plots.draw_gates(gates, found["gates"], found["masked"], title, "channel", top=found["ends"]["gates"])

    step, top = found["step"], found["ends"]["scores"]
    change = "constant along diagonals" if step < 1e-9 else f"diagonals change by {step:.2f}"
    labels = (f"φ = {found['phi']}°: {change}", "position of the key j", "position of the query i")
    plots.draw_matrix(square, found["scores"], *labels, diverging=True, top=top)

    title = f"Change: i + j {found['apart']:.1f}, i ↔ j {found['uneven']:.1f}"
    labels = (title, "i − j (tokens)", "score")
    last = len(found["across"][min(found["across"])]) - 1
    spans = (-float(last), float(last)), (-top, 1.9 * top)  # with room for the legend
    look: Any = ("upper right", 1, dict(zip(found["across"], plots.SHADES, strict=True)))
    plots.draw_curves(curve, np.arange(-last, last + 1, 2), found["across"], *labels, *spans, *look)


def attention(heads: Axes, row: Axes, found: dict[str, Any]) -> None:
    """Draw one head with the letters along both sides, all heads, and the attention of one letter."""
    layer, head, letter = found["chosen"]
    weights: np.ndarray = found["weights"][layer, head]
    before = weights.diagonal(-1).mean() if len(weights) > 1 else 0.0
    title = f"Layer {layer + 1}, head {head + 1}: {before:.0%} of the weight is on the letter before"
    letters = plots.visible(found["text"])
    plots.draw_attention_heads(heads, found["weights"], letters, (layer, head), title)
    most = int(weights[letter].argmax())
    finding = f"Letter {letter + 1}, “{letters[letter]}”: {weights[letter, most]:.0%} on “{letters[most]}”"
    plots.draw_attention_row(row, weights[letter], letters, finding)


def filling(page: Axes, steps: Axes, found: dict[str, Any]) -> None:
    """Draw the text after a step, and the steps at which its characters appear."""
    when, confidence, step, total = (found[name] for name in ("when", "confidence", "step", "total"))
    hidden, again = when > step, found["again"]
    left = f"{hidden.sum()} character{'' if hidden.sum() == 1 else 's'} left"
    left += f", {again.sum()} once more" if again.any() else ""
    shown = np.where(hidden, np.nan, confidence)
    holes = when > 0
    plots.draw_text(
        page, found["characters"], shown, f"Step {step} of {total}: {left}", found["note"], given=~holes
    )
    pace = f"{holes.sum() / total:.1f} characters a step"
    ends = (step, found["longest"], found["threshold"])
    plots.draw_fill_order(steps, when[holes], confidence[holes], *ends, pace)


def stretching(pairs: Axes, losses: Axes, found: dict[str, Any]) -> None:
    """Draw the tokens that each pair takes for a turn, and the loss along a long text."""
    (first, last), (inside, window, reach) = found["span"], found["marks"]
    new, length = found["new"], float(found["position"][-1] + found["position"][0])
    slowest = length / window * found["before"].max()
    title = f"Up to {reach}, new angles: {new.sum()} of {len(new)} pairs"
    plots.draw_wavelengths(pairs, found["before"], found["after"], new, window, title, slowest)
    means = ", ".join(f"{loss:.2f} {name}" for name, loss in found["means"].items())
    title = f"Tokens {first + 1} to {last}: {means}"
    labels = (title, "position (tokens)", "loss (nats per character)")
    colours = {"as it is": plots.COLOURS["blue"], "stretched": plots.COLOURS["red"]}
    look: Any = {"colours": colours, "marker": "o", "ms": 4}
    spans = (0.0, length), (0.0, found["top"])
    plots.draw_curves(losses, found["position"], found["curves"], *labels, *spans, **look)
    alone = f"the last {window} alone: {inside:.2f}"
    artists.horizontal_line(losses, "mark alone", inside, label=alone, color="black", lw=1, ls=":")
    artists.vertical_line(losses, "mark window", window, color="black", lw=1, ls="--")
    artists.vertical_line(losses, "mark", reach, color=plots.COLOURS["red"], lw=1.5)
    artists.set_legend(losses, loc="upper left", ncols=3)
