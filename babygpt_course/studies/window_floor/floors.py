"""The floor of a window that begins anywhere, which is higher than a story's, and falls along the window."""

from __future__ import annotations

import math
import random

import numpy as np

from babygpt.data.grammar import Grammar
from babygpt.errors import BadInput
from babygpt_course.studies.window_floor.mid_story import MidStory

SKIPPED = 20  # stories, on average, before a window: then no place of a story is preferred


def floor_by_position(
    grammar: Grammar, length: int, n_windows: int = 200, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The least loss at each position of windows that are cut out of a grammar's text at random.

    Position 0 predicts the window's second character from its first, as in `metrics.loss_by_position`.
    Whoever knows the grammar by heart and sees nothing but the window has these losses in the mean, nobody
    has less. At position 0 it is `grammar.bigram_floor()`; far into the window it nears `grammar.floor()`.

    length     positions: characters of a window but for the last
    n_windows  windows, each cut out of a text of its own
    seed       draws the texts, and where they are cut
    returns    (length,) mean, and (length,) its standard error over windows, nats per character
    Raises ValueError for a length below 1, or fewer than 2 windows.
    """
    losses = losses_of_windows(grammar, length, n_windows, seed)
    return losses.mean(axis=0), losses.std(axis=0, ddof=1) / math.sqrt(n_windows)


def losses_of_windows(grammar: Grammar, length: int, n_windows: int = 200, seed: int = 0) -> np.ndarray:
    """The same, window by window: (n_windows, length) nats."""
    if length < 1 or n_windows < 2:
        raise BadInput(f"length ({length}) must be at least 1, and n_windows ({n_windows}) at least 2")
    rng, reader = random.Random(seed), MidStory(grammar)
    return np.array([reader.losses(cut_anywhere(grammar, length + 1, rng)) for _ in range(n_windows)])


def gain_of_longer_text(
    grammar: Grammar, block_size: int, length: int, n_windows: int = 40, every: int = 16, seed: int = 0
) -> tuple[float, float]:
    """What the best reader gains from more text than one window, on the same characters.

    It is `metrics.position_matched_change` for whoever knows the grammar by heart: the loss of a character
    from all of a long window before it, minus its loss from the last block_size characters alone. In the
    mean it cannot be above 0, and it is 0 where no story reaches further back than a window.

    block_size  characters in a window
    length      characters in a long window, above block_size
    n_windows   long windows, each cut out of a text of its own
    every       from block_size on, one position in so many is taken; 1 for all
    returns     nats per character, and its standard error over windows
    Raises ValueError for a length of at most block_size, or fewer than 2 windows.
    """
    if length <= block_size or n_windows < 2:
        raise BadInput(f"length ({length}) must be above {block_size}, n_windows ({n_windows}) at least 2")
    rng, reader, changes = random.Random(seed), MidStory(grammar), []
    for _ in range(n_windows):
        window = cut_anywhere(grammar, length + 1, rng)
        ends = range(block_size + 2, length + 2, every)  # of a target and all before it
        short = [reader.losses(window[end - block_size - 1 : end])[-1] for end in ends]
        changes.append(reader.losses(window)[block_size::every].mean() - np.mean(short))
    return float(np.mean(changes)), float(np.std(changes, ddof=1)) / math.sqrt(n_windows)


def cut_anywhere(grammar: Grammar, length: int, rng: random.Random) -> str:
    """A window of a text, which begins at any place of a story as often as that place comes in a long text.

    length  characters
    """
    mean = round(SKIPPED * grammar.expected_length())
    start = rng.randrange(mean, 2 * mean)
    return grammar.write(start + length, seed=rng.randrange(2**32))[start : start + length]
