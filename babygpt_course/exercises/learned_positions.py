"""Exercises of notebook 02: windows from the second word, who voted for what, and what no sum can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.additive import ADDITIVE, BEYOND_V2
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask, expect
from babygpt_course.exercises.compare import shown, wrong_shape
from babygpt_course.exercises.draws import dice
from babygpt_course.exercises.picture import Picture


def second_word_stub(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    """Windows (N, length) that begin at the second word of each line."""
    return ids[:0].view(0, length)


def second_word_answer(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    """Windows (N, length) that begin at the second word of each line."""
    starts, in_first_word = [], True
    for i, token in enumerate(ids.tolist()):
        if token == newline:
            in_first_word = True
        elif token == space and in_first_word:
            starts.append(i + 1)
            in_first_word = False
    fitting = [start for start in starts if start + length <= len(ids)]
    return ids[torch.tensor(fitting, dtype=torch.long)[:, None] + torch.arange(length)]


def lines(draw: Generator, words: tuple[int, ...]) -> tuple[Tensor, int, int, str]:
    """A drawn text with so many words a line, as ids, with the ids of its line end and space, and shown."""
    rng = dice(draw)
    text = "".join(
        " ".join("".join(rng.choices("xyz", k=rng.randint(1, 4))) for _ in range(n)) + "|" for n in words
    )
    letters = rng.sample("xyz |", 5)
    return torch.tensor([letters.index(c) for c in text]), letters.index("|"), letters.index(" "), text


def windows_of(
    attempt: Any, draw: Generator, words: tuple[int, ...], mistakes: Mapping[str, Callable[..., Tensor]]
) -> None:
    ids, newline, space, text = lines(draw, words)
    for length in (1, 3, 6):
        what = f"the text {text!r} (| is its line end) and length {length}"
        given = ids, newline, space, length
        want = second_word_answer(*given)
        expect(attempt, *given, want=want, what=what, mistakes={s: f(*given) for s, f in mistakes.items()})


def each_space(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    starts = (ids == space).nonzero()[:, 0] + 1
    return ids[starts[starts + length <= len(ids)][:, None] + torch.arange(length)]


def without_first_line(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    first = (ids == newline).nonzero()[0, 0]
    return second_word_answer(ids[first:], newline, space, length)


def two_words(attempt: Any, draw: Generator) -> None:
    windows_of(
        attempt, draw, (2, 2, 2, 2), {"The first line begins where the text begins": without_first_line}
    )


def more_words(attempt: Any, draw: Generator) -> None:
    windows_of(attempt, draw, (4, 2, 3, 5, 2), {"Only the second word, not each one": each_space})


def one_word(attempt: Any, draw: Generator) -> None:
    windows_of(attempt, draw, (1, 3, 1, 1, 2, 1, 3), {"Only the second word, not each one": each_space})


SECOND_WORD = Exercise(
    name="Windows from the second word",
    task=(
        "Write `second_word(ids, newline, space, length)`: windows (N, length) of a text `ids` (T,), each of "
        "which begins with the first character of a line's *second* word. One window for each line that has "
        "a second word, in order, unless it would reach beyond the end of the text; it may well reach into "
        "the next lines. `newline` and `space` are token ids."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("lines of two words", two_words),
        Check("lines of more words", more_words),
        Check("lines of one word have no window", one_word),
    ),
    hints=(
        "First find where they start: a list of numbers. The windows are the easy part.",
        "Walk through the text and remember whether you are still in the first word of a line.",
        "With the starts in a tensor: `ids[starts[:, None] + torch.arange(length)]`.",
    ),
    stub=second_word_stub,
    answer=second_word_answer,
)


def votes_stub(E: Tensor, P: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The votes of each token (V, V) and of each place (T, V), the latter 0 on average over the places."""
    return torch.zeros(len(E), len(E)), torch.zeros(len(P), len(E))


def votes_answer(E: Tensor, P: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The votes of each token (V, V) and of each place (T, V), the latter 0 on average over the places."""
    of_token, of_place = E @ W.T + b, P @ W.T
    mean = of_place.mean(dim=0)
    return of_token + mean, of_place - mean


def v2_weights(draw: Generator) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Weights of v2 in several sizes: E (V, C), P (T, C), W (V, C), b (V,)."""
    sizes = [(2, 3, 1), (4, 2, 3), (5, 7, 4)]
    return [
        tuple(torch.randn(shape, generator=draw) + 0.5 for shape in ((V, C), (T, C), (V, C), (V,)))  # type: ignore[misc]
        for V, T, C in sizes
    ]


def two_tables(attempt: Any, weights: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, str]:
    """The learner's two tables, and what was asked."""
    V, T, C = len(weights[0]), len(weights[1]), weights[0].shape[1]
    what = f"V = {V} tokens, T = {T} places and C = {C} channels"
    got = ask(attempt, *weights, what=what)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"for {what} came out: {shown(got)}; should be two tables: of tokens, of places")
    for name, part, shape in zip(("tokens", "places"), got, ((V, V), (T, V)), strict=True):
        if text := wrong_shape(part, shape):
            raise Wrong(f"for {what} the votes of the {name}: {text}")
    return *(torch.as_tensor(part).detach() for part in got), what  # type: ignore[return-value]


def votes_add_up(attempt: Any, draw: Generator) -> None:
    for E, P, W, b in v2_weights(draw):
        of_token, of_place, what = two_tables(attempt, (E, P, W, b))
        logits = (E[None] + P[:, None]) @ W.T + b  # (T, V, V)
        off = of_token[None] + of_place[:, None] - logits
        if not off.abs().max() < 1e-4:
            mean = (P @ W.T).mean(dim=0)
            told = (
                ". The places' mean, taken from them, must go to the tokens"
                if (off + mean).abs().max() < 1e-4
                else ". The bias is missing"
                if (off + b).abs().max() < 1e-4
                else ". The bias is there twice"
                if (off - b).abs().max() < 1e-4
                else ""
            )
            worst = shown(off.flatten()[off.abs().argmax()])
            raise Wrong(f"for {what} token + place is not v2's logits: off by {worst}{told}")


def places_average_zero(attempt: Any, draw: Generator) -> None:
    for weights in v2_weights(draw):
        _, of_place, what = two_tables(attempt, weights)
        mean = of_place.mean(dim=0)
        if not mean.abs().max() < 1e-4:
            raise Wrong(
                f"for {what} the places vote {shown(mean)} on average; should be 0 for each character"
            )


def votes_differ(attempt: Any, draw: Generator) -> None:
    for weights in v2_weights(draw):
        _, of_place, what = two_tables(attempt, weights)
        want = votes_answer(*weights)[1]
        if not (of_place[1] - of_place[0] - want[1] + want[0]).abs().max() < 1e-4:
            both = f"{shown(of_place[1] - of_place[0])}; should be {shown(want[1] - want[0])}"
            raise Wrong(f"for {what} the votes of place 1 differ from those of place 0 by {both}")


def votes_drawn(attempt: Any) -> Tensor:
    """What places vote in a v2 of twelve places and eight characters: (T, V)."""
    draw = Generator().manual_seed(0)
    E, P, W, b = (torch.randn(shape, generator=draw) for shape in ((8, 3), (12, 3), (8, 3), (8,)))
    return attempt(E, P, W, b)[1]


VOTES = Exercise(
    name="Who voted for what",
    task=(
        "v2's logits are `(E[token] + P[place]) @ W.T + b`. Write `votes(E, P, W, b)`, which returns two "
        "tables: what each token votes (V, V) and what each place votes (T, V). Their sum must be the "
        "logits, "
        "and for each candidate the votes of the places must be 0 on *average*, so that a vote says how much "
        "this place differs from others."
    ),
    level="core",
    minutes=8,
    checks=(
        Check("the two votes add up to v2's logits", votes_add_up),
        Check("the places vote 0 on average", places_average_zero),
        Check("places differ as they do in v2", votes_differ),
    ),
    hints=(
        "Multiply out: (e + p) Wᵀ + b is a part with e in it and a part with p in it. Where can b go?",
        "What you take from each place (the mean over the places) has to be given to somebody.",
    ),
    stub=votes_stub,
    answer=votes_answer,
    picture=Picture(votes_drawn, "character voted for", "place"),
)

EXERCISES = (SECOND_WORD, VOTES, ADDITIVE, BEYOND_V2)
