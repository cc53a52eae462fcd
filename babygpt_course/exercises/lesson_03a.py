"""Exercises of notebook 03a: causal weights, the size of scores, padded texts, what one layer cannot see."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.models.transformer import Transformer
from babygpt_course.exercises.agreement import Agrees, Case, Mistakes, first_token
from babygpt_course.exercises.checks import ask_tensor, ask_tensors, require, require_equal, require_texts
from babygpt_course.exercises.exercise import Exercise, each, integer, randomize_, read_tasks

TASKS = read_tasks("lesson_03a")


def causal_weights_answer(scores: Tensor) -> Tensor:
    """Weights (..., T, T) of tokens that read no later ones, from their scores (..., T, T)."""
    later = torch.ones(scores.shape[-2:]).triu(1).bool()
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def weights_of(scores: Tensor, hidden: int = 1, score: float = -torch.inf, axis: int = -1) -> Tensor:
    """Return weights where keys from `hidden` places after the query on get this score."""
    later = torch.ones(scores.shape[-2:]).triu(hidden).bool()
    return scores.masked_fill(later, score).softmax(dim=axis)


def weights_of_later(scores: Tensor) -> Tensor:
    """Return weights with the mask turned around."""
    return weights_of(scores.flip(-1, -2)).flip(-1, -2)


def weights_hidden_late(scores: Tensor) -> Tensor:
    """Return weights of which those of later keys are set to 0 after the softmax."""
    return scores.softmax(dim=-1).tril()


WEIGHT_MISTAKES: Mistakes = {
    "Tokens read those after them, because there is no mask": lambda scores: scores.softmax(dim=-1),
    "A hidden score is −∞. With 0 it still gets weight, because e⁰ is 1": partial(weights_of, score=0.0),
    "Hide first, then take the softmax: otherwise a row does not sum to 1": weights_hidden_late,
    "Your mask is turned around: it hides the earlier tokens": weights_of_later,
    "A token may read itself: the mask begins one above the diagonal": partial(weights_of, hidden=0),
    "The softmax runs over the keys, the last axis": partial(weights_of, axis=-2),
}


def score_cases(draw: Generator, several: bool) -> Iterator[Case]:
    """Draw scores of one text, or of several texts and heads."""
    shapes = [(2, 3, 4, 4), (3, 5, 5), (2, 1, 1, 6, 6)] if several else [(1, 1), (2, 2), (5, 5), (70, 70)]
    for shape in shapes:
        yield Case(f"scores of shape {shape}", (2 * torch.randn(shape, generator=draw),))


one_text, several_texts = (partial(score_cases, several=several) for several in (False, True))
CAUSAL_WEIGHTS = Exercise(
    TASKS["Weights without the future"],
    [
        Agrees(one_text, causal_weights_answer, WEIGHT_MISTAKES, view=first_token),
        Agrees(one_text, causal_weights_answer, WEIGHT_MISTAKES),
        Agrees(several_texts, causal_weights_answer, WEIGHT_MISTAKES),
    ],
    causal_weights_answer,
    WEIGHT_MISTAKES,
)


def scale_answer(D: int, q_size: float, k_size: float) -> tuple[float, float]:
    """Variance of q · k with D random channels of these deviations, and the factor that makes it 1."""
    variance = D * q_size**2 * k_size**2
    return variance, variance**-0.5


def scales(attempt: Any, draw: Generator, part: int, any_size: bool) -> None:
    """Ask for the variance or the factor of heads of three widths; draw scores to show a wrong factor."""
    for D in (4, 1, 24, 512):
        sizes = (1.0, 1.0)
        if any_size:
            sizes = (round(0.3 + float(torch.rand((), generator=draw)), 2), float(integer(draw, 2, 6)))
        what = f"D = {D}, channels of q and k with deviations {sizes[0]:g} and {sizes[1]:g}"
        got = ask_tensors(attempt, D, *sizes, what=what, shapes={"variance": (), "factor": ()})[part]
        variance, factor = scale_answer(D, *sizes)
        if not part:
            both = "Both sizes count, and as squares: the variance of a product is the product of variances"
            mistakes = {
                both: D * sizes[0] * sizes[1],
                "D products are added, and so are their variances": variance / D,
                "That is the standard deviation, its root": variance**0.5,
            }
            require_equal(got, variance, f"{what} the variance", mistakes, atol=1e-4 * variance)
            continue
        q, k = torch.randn(64, D, generator=draw), torch.randn(64, D, generator=draw)
        scores = q @ k.T * sizes[0] * sizes[1]
        largest = [float((f * scores).softmax(dim=-1).amax(dim=-1).mean()) for f in (got, factor)]
        spread = f". Of 64 keys one then gets {largest[0]:.0%} of the weight; should be {largest[1]:.0%}"
        hint = f". It gives scores of variance {float(got) ** 2 * variance:.3g}; should be 1{spread}"
        hint = hint if 0 < float(got) < torch.inf else ". A factor is a number above 0"
        require_equal(got, factor, f"{what} the factor", hint=hint, atol=1e-4 * factor)


SCALE = Exercise(
    TASKS["Scores of one size"], each(scales, (0, False), (0, True), (1, False), (1, True)), scale_answer
)


def mask_answer(lengths: Tensor, T: int) -> Tensor:
    """Which token may read which (B, T, T), for texts of these lengths (B,) with padding on their left."""
    positions = torch.arange(T)
    real = positions >= T - lengths[:, None]  # (B, T)
    return (positions[:, None] >= positions) & real[:, None, :] | torch.eye(T, dtype=torch.bool)


def asks_for_masks(attempt: Any, draw: Generator, aspect: str) -> None:
    """Ask for the masks of several texts at once, and look at the rows of real tokens or of padding."""
    for lengths, T in (
        ([2], 3),
        ([3, 1], 3),
        ([3, 1], 4),
        ([4, 0, 5, 2], 5),
        ([integer(draw, 1, 9) for _ in range(6)], 9),
        ([257, integer(draw, 2, 256)], 258),  # a byte holds 255 at most
    ):
        what, B = f"lengths {lengths} and T = {T}", len(lengths)
        real_tokens = torch.tensor(lengths)
        got = ask_tensor(attempt, real_tokens, T, what=what, shape=(B, T, T))
        want = mask_answer(real_tokens, T)
        require(((got == 0) | (got == 1)).all(), f"for {what} each entry should be True or False")
        real = torch.arange(T) >= T - real_tokens[:, None]  # (B, T)
        itself, more = torch.eye(T, dtype=torch.bool), got.bool() & ~want
        if aspect == "padding":
            rules = {
                "without itself a row of padding is empty, and its softmax is nan": ~real[..., None]
                & ~got.bool(),
                "padding reads more than itself": ~real[..., None] & more,
            }
            rules = {text: where & (got.bool() != want) for text, where in rules.items()}
        else:
            missing = want & ~got.bool() & real[..., None]
            rules = {
                "a token reads padding": more & real[..., None] & ~real[:, None],
                "a token reads those after it": more & real[..., None],
                "a token does not read itself": missing & itself,
                "a token does not read one before it": missing,
            }
        for text, where in rules.items():
            row = next(iter(where.nonzero().tolist()), None)
            entry = "" if row is None else "in text {}, query {}, key {}".format(*row)
            require(row is None, f"for {what} {text}: {entry}")


def masks_drawn(attempt: Any) -> Tensor:
    """Return the masks of three texts side by side: (8, 24)."""
    return torch.cat(list(torch.as_tensor(attempt(torch.tensor([8, 5, 2]), 8))), dim=-1)


MASK = Exercise(
    TASKS["A mask for padded texts"],
    each(asks_for_masks, "real", "padding"),
    mask_answer,
    picture=(masks_drawn, "token that is read, in three texts", "token that reads"),
)


LENGTH, BLIND = 6, 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST, LAST = range(LENGTH - BLIND), range(LENGTH - BLIND, LENGTH)


def two_words(answer: Any, _: Any = None) -> tuple[str, ...]:
    """Return the learner's two texts. Raises Wrong if they are not as asked."""
    for text in require_texts(answer, 2):
        right = len(text) == LENGTH and set(text) <= set(LETTERS)
        require(right, f"{text!r} should be {LENGTH} letters from a to z")
    return require_texts(answer, 2)


def predicts(answer: Any, draw: Generator, layers: int, positions: range, differ: bool) -> None:
    """Require that a random causal NoPE model predicts different things, or the same, after some letters."""
    first, second = two_words(answer)
    config = ModelConfig(len(LETTERS), block_size=LENGTH, n_layer=layers, n_head=2, n_embd=16)
    model = randomize_(Transformer(config, Encoding()), draw)
    ids = torch.tensor([[LETTERS.index(letter) for letter in text] for text in (first, second)])
    with torch.inference_mode():
        logits = model(ids)
    gaps = (logits[0] - logits[1]).abs().amax(dim=-1)  # (LENGTH,)
    for t in positions:
        after = f"{first[: t + 1]!r} and {second[: t + 1]!r}"
        same = "the same" if differ else "different things"
        sentence = f"one layer predicts {same} after {after}"
        if layers > 1:
            sentence = f"two layers, too, predict the same at the end of {first!r} and {second!r}"
        require((gaps[t] > 1e-4) == differ, sentence)


HALF_BLIND = Exercise(
    TASKS["Where one layer is blind"],
    [two_words, *each(predicts, (1, LAST, False), (1, FIRST, True), (2, LAST, True))],
    ("abcdef", "dcbaef"),
)

EXERCISES = (CAUSAL_WEIGHTS, SCALE, MASK, HALF_BLIND)
