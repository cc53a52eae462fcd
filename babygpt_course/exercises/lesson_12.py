"""Exercises of notebook 12: the token before, a forged note, and a short convolution."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt_course.exercises.agreement import Agrees, Case, first_token
from babygpt_course.exercises.compare import as_numbers
from babygpt_course.exercises.exercise import Exercise, integer, read_tasks

TASKS = read_tasks("lesson_12")


# ---------------------------------------------------------------- token shift


def my_shift_answer(x: Tensor, weight: Tensor) -> Tensor:
    """Each token plus the one before it, times a weight for each channel: x (B, T, C), weight (C,)."""
    before = torch.zeros_like(x)
    before[:, 1:] = x[:, :-1]
    return x + weight * before


def shifts_in_a_row(x: Tensor, weight: Tensor) -> Tensor:
    """Shift the texts as if they were one, so that each begins with the end of the one before."""
    flat = x.flatten(0, 1)[None]
    return my_shift_answer(flat, weight).view_as(x)


def shifts_the_result(x: Tensor, weight: Tensor) -> Tensor:
    """Add the token before as it is after its own shift."""
    shifted = x.clone()
    for t in range(1, x.shape[1]):
        shifted[:, t] += weight * shifted[:, t - 1]
    return shifted


SHIFT_MISTAKES: dict[str, Callable[..., Tensor]] = {
    "Nothing is added yet": lambda x, weight: x,
    "This is the token after it, which the model has to predict": lambda x, weight: (
        x + weight * F.pad(x[:, 1:], (0, 0, 0, 1))
    ),
    "`roll` brings the last token to the first one, before which there is nothing": lambda x, weight: (
        x + weight * x.roll(1, dims=1)
    ),
    "The token itself stays, and the one before is added to it": lambda x, weight: (
        weight * F.pad(x[:, :-1], (0, 0, 1, 0))
    ),
    "The sum replaces no part of the token: its own weight is 1": lambda x, weight: (
        (1 - weight) * x + weight * F.pad(x[:, :-1], (0, 0, 1, 0))
    ),
    "The weights are missing": lambda x, weight: x + F.pad(x[:, :-1], (0, 0, 1, 0)),
    "The first token of a text does not get the last one of another text": shifts_in_a_row,
    "Each token gets the embedding before it, and not what this has become": shifts_the_result,
    "That is the token two before": lambda x, weight: (
        my_shift_answer(x, 0 * weight) + weight * F.pad(x, (0, 0, 2, 0))[:, : x.shape[1]]
    ),
    "You moved channels, and not tokens": lambda x, weight: x + weight * F.pad(x[..., :-1], (1, 0)),
}


def draw_texts(draw: Generator, several: bool) -> Iterator[Case]:
    """Draw embeddings of one text or of several, with a weight for each channel."""
    shapes = [(1, 1, 2), (1, 3, 2), (1, 2, 7), (1, 5, 5), (1, 300, 3)]
    if several:
        shapes = [(2, 1, 2), (2, 3, 2), (3, 2, 7), (2, integer(draw, 5, 12), integer(draw, 1, 9))]
    for shape in shapes:
        x, weight = torch.randn(shape, generator=draw), 1.5 * torch.randn(shape[-1], generator=draw)
        yield Case(f"x of shape {shape}", (x, weight))


one_text, several_texts = (partial(draw_texts, several=several) for several in (False, True))
TOKEN_SHIFT = Exercise(
    TASKS["Token shift"],
    [
        Agrees(one_text, my_shift_answer, SHIFT_MISTAKES, view=first_token),
        Agrees(one_text, my_shift_answer, SHIFT_MISTAKES),
        Agrees(several_texts, my_shift_answer, SHIFT_MISTAKES),
    ],
    my_shift_answer,
    SHIFT_MISTAKES,
)


# ---------------------------------------------------------------- a forged note


def forge_answer(own: Tensor, twin: Tensor, position: Tensor) -> Tensor:
    """Put the twin's output at one position (Q,) of each question into what a head writes (Q, T, D)."""
    row = torch.arange(len(own))
    forged = own.clone()
    forged[row, position] = twin[row, position]
    return forged


def forges_all(own: Tensor, twin: Tensor, position: Tensor) -> Tensor:
    """Exchange the positions of all questions in each of them."""
    forged = own.clone()
    forged[:, position] = twin[:, position]
    return forged


def forges_from_there(own: Tensor, twin: Tensor, position: Tensor) -> Tensor:
    """Exchange each position and all that come after it."""
    later = torch.arange(own.shape[1]) >= position[:, None]
    return torch.where(later[..., None], twin, own)


FORGE_MISTAKES: dict[str, Callable[..., Tensor]] = {
    "Nothing is exchanged yet": lambda own, twin, position: own,
    "Each question has one position. You exchanged those of all questions in each": forges_all,
    "You exchanged every token": lambda own, twin, position: twin,
    "You exchanged the wrong way: the note of the twin belongs at the position": lambda own, twin, position: (
        forge_answer(twin, own, position)
    ),
    "Only one token is exchanged, and not all that come after it": forges_from_there,
    "You used the position of the first question for all": lambda own, twin, position: forge_answer(
        own, twin, position[:1].expand(len(own))
    ),
    "The note of the twin takes the place of the own one, and is not added": lambda own, twin, position: (
        own + forge_answer(0 * own, twin, position)
    ),
    "A forged note is that of the twin, and not silence": lambda own, twin, position: forge_answer(
        own, 0 * twin, position
    ),
    "Exchange the notes of one question with its own twin": lambda own, twin, position: forge_answer(
        own, twin.roll(1, dims=0), position
    ),
}


def draw_notes(draw: Generator) -> Iterator[Case]:
    """Draw what a head writes in questions and in their twins, and a position in each."""
    for Q, T, D in ((1, 3, 2), (2, 1, 5), (2, 3, 2), (3, 3, 3), (4, integer(draw, 5, 12), 3), (12, 40, 4)):
        own, twin = torch.randn(2, Q, T, D, generator=draw)
        position = torch.randint(T, (Q,), generator=draw)
        yield Case(f"{Q} × {T} tokens, position {position.tolist()}", (own, twin, position))


def note_there(forged: Any, own: Tensor, _: Tensor, position: Tensor) -> Any:
    """Return what is written at the position of each question, or the result if it has another shape."""
    numbers = as_numbers(forged)
    right = numbers is not None and numbers.shape == own.shape
    return numbers[torch.arange(len(own)), position] if right else forged  # type: ignore[index]


FORGE = Exercise(
    TASKS["Forge a note"],
    [
        Agrees(draw_notes, forge_answer, FORGE_MISTAKES, view=note_there),
        Agrees(draw_notes, forge_answer, FORGE_MISTAKES),
    ],
    forge_answer,
    FORGE_MISTAKES,
)


# ---------------------------------------------------------------- a short convolution


def my_convolution_answer(x: Tensor, weights: Tensor) -> Tensor:
    """Mix each token with those before it: x (B, T, C), weights (K, C) -> (B, T, C)."""
    mixed = torch.zeros_like(x)
    for k, weight in enumerate(weights):  # (C,) each
        mixed += weight * F.pad(x, (0, 0, k, 0))[:, : x.shape[1]]
    return mixed


def convolves_ahead(x: Tensor, weights: Tensor) -> Tensor:
    """Mix each token with those after it."""
    return my_convolution_answer(x.flip(1), weights).flip(1)


def convolves_round(x: Tensor, weights: Tensor) -> Tensor:
    """Mix with tokens from the other end of the text, where it has no earlier ones."""
    return torch.stack([weight * x.roll(k, dims=1) for k, weight in enumerate(weights)]).sum(dim=0)


CONVOLUTION_MISTAKES: dict[str, Callable[..., Tensor]] = {
    "Nothing is mixed yet": lambda x, weights: x,
    "The weights stand the other way round: weights[0] belongs to the token itself": lambda x, weights: (
        my_convolution_answer(x, weights.flip(0))
    ),
    "These are tokens after it, which the model has to predict": convolves_ahead,
    "`roll` brings the end of the text to its beginning": convolves_round,
    "The token itself has the weight weights[0], and is not added once more": lambda x, weights: (
        x + my_convolution_answer(x, weights)
    ),
    "The distances begin at 0, the token itself": lambda x, weights: my_convolution_answer(
        F.pad(x, (0, 0, 1, 0))[:, : x.shape[1]], weights
    ),
    "Each channel has weights of its own": lambda x, weights: my_convolution_answer(
        x, weights.mean(dim=1, keepdim=True).expand_as(weights)
    ),
    "Only two terms are added": lambda x, weights: my_convolution_answer(x, weights[:2]),
}


def draw_convolutions(draw: Generator, lengths: tuple[int, ...]) -> Iterator[Case]:
    """Draw embeddings, and weights for some numbers of distances."""
    for K in lengths:
        for B, T, C in ((1, 1, 2), (1, 3, 2), (2, 4, 3), (3, integer(draw, 5, 12), integer(draw, 1, 6))):
            x, weights = torch.randn(B, T, C, generator=draw), torch.randn(K, C, generator=draw)
            yield Case(f"x of shape {(B, T, C)} and K = {K}", (x, weights))


SHORT_CONVOLUTION = Exercise(
    TASKS["A short convolution"],
    [
        Agrees(partial(draw_convolutions, lengths=lengths), my_convolution_answer, CONVOLUTION_MISTAKES)
        for lengths in ((1,), (2,), (3, 4, 9))
    ],
    my_convolution_answer,
    CONVOLUTION_MISTAKES,
)

EXERCISES = (TOKEN_SHIFT, FORGE, SHORT_CONVOLUTION)
