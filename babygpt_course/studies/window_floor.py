"""Study of the floor of windows that begin anywhere: above a story's floor, and falling along the window.

Nothing is trained. The floor of three grammars is computed by the exact reader of `mid_story`.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np

import babygpt_live as live
from babygpt.data.corpus import GRAMMARS
from babygpt.data.grammar import Grammar
from babygpt.experiments.paired import by_measurement
from babygpt.experiments.sweep import Workers
from babygpt_course.studies.mid_story import MidStory
from babygpt_course.studies.results import Results

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.figure import Figure

SKIPPED = 20  # stories, on average, before a window, so that no position in a story is preferred
LENGTHS = (64, 96, 192)  # windows that the course trains on


def cut_anywhere(grammar: Grammar, length: int, rng: random.Random) -> str:
    """Return a window of `length` characters that begins anywhere in a story, with equal probability."""
    mean = round(SKIPPED * grammar.expected_length())
    start = rng.randrange(mean, 2 * mean)
    return grammar.write(start + length, seed=rng.randrange(2**32))[start : start + length]


def losses_of_windows(grammar: Grammar, length: int, n_windows: int = 200, seed: int = 0) -> np.ndarray:
    """Return the least loss at each position of random windows, in nats: (n_windows, length)."""
    rng, reader = random.Random(seed), MidStory(grammar)
    return np.array([reader.losses(cut_anywhere(grammar, length + 1, rng)) for _ in range(n_windows)])


def mean_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over the first axis, and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


def floor_by_position(
    grammar: Grammar, length: int, n_windows: int = 200, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least mean loss at each position of windows that are cut out of a grammar's text at random.

    Position 0 predicts the window's second character from its first, as in `metrics.loss_by_position`. A
    reader that knows the grammar and sees only the window reaches these losses; no reader does better. At
    position 0 the floor is `grammar.bigram_floor()`; far into the window it approaches `grammar.floor()`.

    length     positions: characters of a window but for the last
    n_windows  windows, at least 2, each cut out of a text of its own
    seed       draws the texts, and where they are cut
    returns    (length,) mean, and (length,) its standard error over windows, nats per character
    """
    return mean_error(losses_of_windows(grammar, length, n_windows, seed))


def gain_of_longer_text(
    grammar: Grammar, block_size: int, length: int, n_windows: int = 40, every: int = 16, seed: int = 0
) -> tuple[float, float]:
    """Return what the exact reader gains from more text than one window, on the same characters.

    It is `metrics.position_matched_change` of a perfect model: the loss of a character given all of a long
    window before it, minus its loss given the last block_size characters alone. On average it is not above 0,
    and it is 0 if no story reaches further back than a window.

    block_size  characters in a window
    length      characters in a long window, above block_size
    n_windows   long windows, each cut out of a text of its own, at least 2
    every       from block_size on, one position in every `every` is taken; 1 for all
    returns     nats per character, and its standard error over windows
    """
    rng, reader, changes = random.Random(seed), MidStory(grammar), []
    for _ in range(n_windows):
        window = cut_anywhere(grammar, length + 1, rng)
        stops = range(block_size + 2, length + 2, every)  # behind a target
        short = [reader.losses(window[end - block_size - 1 : end])[-1] for end in stops]
        changes.append(reader.losses(window)[block_size::every].mean() - np.mean(short))
    mean, error = mean_error(np.array(changes))
    return float(mean), float(error)


# ---------------------------------------------------------------- the study


def measure_floors(
    workers: Workers, names: tuple[str, ...] = tuple(GRAMMARS), n_windows: int = 80, seed: int = 0
) -> Results:
    """Measure the floor at each position of windows that begin anywhere, and its mean over short windows.

    workers  not used: nothing is trained
    returns  settings, {"floor": name -> of whole stories}, {"mean" and "error": name -> at each position},
             {"window": name -> length -> [the mean over a window's first positions, its standard error]},
             {"longer": name -> [what a text of four of the shortest windows gains, its standard error]}
    """
    floors = {}
    for name in names:
        grammar, shortest = GRAMMARS[name](), min(LENGTHS)
        losses = losses_of_windows(grammar, max(LENGTHS), n_windows, seed)
        mean, error = mean_error(losses)
        windows = {str(length): mean_error(losses[:, :length].mean(axis=1)) for length in LENGTHS}
        gain = gain_of_longer_text(grammar, shortest, 4 * shortest, n_windows // 2, shortest // 4, seed)
        floors[name] = {
            "floor": grammar.floor(),
            "mean": mean.round(4).tolist(),
            "error": error.round(4).tolist(),
            "window": {length: [round(float(x), 4) for x in pair] for length, pair in windows.items()},
            "longer": [round(x, 4) + 0.0 for x in gain],  # + 0.0 makes −0 a plain 0.
        }
    return {"n_windows": n_windows, "seed": seed, **by_measurement(floors)}


def draw_floors(figure: Figure, results: Results) -> None:
    """Draw the floor at each position, smoothed over 8 positions, above that of whole stories."""
    ax, smooth, titles = figure.subplots(), 8, []
    for (name, losses), colour in zip(results["mean"].items(), live.COLOURS.values(), strict=False):
        floor, (shortest, *_) = results["floor"][name], results["window"][name].items()
        mean = np.array(losses).reshape(-1, smooth).mean(axis=1)
        ax.plot(np.arange(len(mean)) * smooth + smooth / 2, mean, color=colour, label=name)
        ax.axhline(floor, color=colour, lw=1, ls="--")
        titles.append(f"{name} {shortest[1][0]:.2f} instead of {floor:.2f}")
    ax.set(
        title=f"Floor of {shortest[0]} characters cut out anywhere:\n" + ", ".join(titles),
        xlabel="position in the window (characters; dashed: floor of whole stories)",
        ylabel="least loss (nats per character)",
    )
    ax.set_ylim(0)
    ax.legend()
