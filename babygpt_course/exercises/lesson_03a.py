"""Exercises of notebook 03a: attention from scratch, a block from parts, and what one layer cannot see."""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding, norm
from babygpt.models.transformer import Block, Context, Transformer
from babygpt.positions import Positions
from babygpt_course.exercises.checks import ask_tensor, ask_tensors, expect, require, require_equal, texts
from babygpt_course.exercises.compare import describe, difference
from babygpt_course.exercises.exercise import Exercise, each, integer, randomize_, read_tasks

TASKS = read_tasks("lesson_03a")


def attention_answer(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Causal attention of q, k (B, H, T, D), v (B, H, T, E): mix (B, H, T, E) and weights (B, H, T, T)."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    T = q.shape[-2]
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
    return weights @ v, weights


def ask_attention(attempt: Any, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, str]:
    """Return the learner's mix and weights, and the shapes of the inputs in words."""
    what = f"q {tuple(q.shape)} and v {tuple(v.shape)}"
    shapes = {"mix": tuple(v.shape), "weights": (*q.shape[:-1], k.shape[-2])}
    mix, weights = ask_tensors(attempt, q, k, v, what=what, shapes=shapes)
    all_numbers = not (mix.isnan().any() or weights.isnan().any())
    require(all_numbers, f"for {what} some are nan: a row of −∞ has no softmax, and exp(1000) is no number")
    return mix, weights, what


def attends(attempt: Any, draw: Generator, asked: str) -> None:
    """Ask about heads of growing size, and look at one thing in the learner's mix or weights."""
    for B, H, T, D, size in ((1, 1, 3, 1, 2), (1, 2, 4, 3, 2), (3, 2, 7, 8, 2), (1, 1, 6, 4, 50_000)):
        q, k = torch.randn(2, B, H, T, D, generator=draw)
        k, v = size * k, torch.randn(B, H, T, D + integer(draw, 1, 4), generator=draw)
        k = 0 * k if asked == "earlier" else k
        mix, weights, what = ask_attention(attempt, q, k, v)
        wanted = attention_answer(q, k, v)[1]
        if asked == "sums":
            ones, what = torch.ones(B, H, T), f"{what} the sums of the rows of weights"
            hint = ". Your columns do: the softmax runs over the keys, which are the last axis."
            columns = difference(weights.sum(dim=-2), ones)
            require_equal(weights.sum(dim=-1), ones, what, hint="." if columns else hint)
            below = weights[weights < 0]
            require(not len(below), f"for {what} some weights are below 0: {describe(below)}")
        elif asked == "later":
            sees_no_later(attempt, q, k, v)
        elif asked == "earlier":
            blind = (weights.diagonal(dim1=-2, dim2=-1) < 1e-6).all() and (weights > 1e-6).any()
            mistakes = {"A token may see itself": weights} if blind else {}
            require_equal(weights, wanted, f"{what} with keys that are all 0, the weights", mistakes)
        elif asked == "scores":
            factors = {
                "Divide the scores by √D": D**0.5,
                "Divide by √D, not by D": D**-0.5,
                "D is the width of q and k, not that of v": (D / v.shape[-1]) ** 0.5,
            }
            mistakes = {sentence: attention_answer(f * q, k, v)[1] for sentence, f in factors.items()}
            require_equal(weights, wanted, f"{what} the weights", mistakes)
        elif asked == "mix":
            require_equal(mix, weights.to(v) @ v, f"{what} the mix is not your weights times the values:")
        else:
            want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            require_equal(mix, want, f"{what} the mix", hint=", as PyTorch says")


def sees_no_later(attempt: Any, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Change keys and values from a token on, and require that no earlier token gets another mix."""
    mix, weights, what = ask_attention(attempt, q, k, v)
    for t in range(1, k.shape[2]):
        later = (torch.arange(k.shape[2]) >= t)[:, None]
        other = ask_attention(attempt, q, k + 3.0 * later, v - 3.0 * later)[0]
        changed = (other - mix).abs().amax(dim=(0, 1, 3))[:t] > 1e-4
        first, why = int(changed.int().argmax()), "your mask lets a token see the one after it"
        if first < t - 1 or weights.triu(2).abs().max() > 1e-6:
            why = "a token sees those after it: where is the mask?"
        elif weights.triu(1).abs().max() <= 1e-6:
            why = "later tokens have a say, though their weights are 0: mask before the softmax"
        if k.abs().max() > 1000 or 1e-6 < weights.triu(1).abs().max() < 0.01:
            why = "where scores fall far below 0, a hidden token needs −∞: nothing lies below that"
        moves = f"a change of token {t} moves what token {first} takes home"
        require(not changed.any(), f"for {what} {moves}; {why}")


def attention_matrix(attempt: Any) -> Tensor:
    """Return the weights of a head on random queries and keys of twelve tokens: (T, T)."""
    q, k, v = 1.5 * torch.randn(3, 1, 1, 12, 6, generator=Generator().manual_seed(0))
    return attempt(q, k, v)[1][0, 0]


ATTENTION = Exercise(
    TASKS["Attention from scratch"],
    each(attends, "sums", "later", "earlier", "scores", "mix", "PyTorch"),
    attention_answer,
    picture=(attention_matrix, "token looked at", "token that looks"),
)


def block_answer(x: Tensor, weights: dict[str, Tensor], n_head: int) -> Tensor:
    """One causal block without position code: the stream (B, T, C) -> the stream (B, T, C)."""
    B, T, C = x.shape
    D = C // n_head
    q, k, v = (
        (norm(x) @ weights[name].T).view(B, T, n_head, D).transpose(1, 2)  # (B, H, T, D)
        for name in ("to_q", "to_k", "to_v")
    )
    scores = 2 * norm(q) @ norm(k).transpose(-2, -1) / D**0.5
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    mix = scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ v
    x = x + mix.transpose(1, 2).reshape(B, T, C) @ weights["out"].T
    hidden = (norm(x) @ weights["up"].T).relu() ** 2
    return x + hidden @ weights["down"].T


def linear_relu(x: Tensor, weights: dict[str, Tensor], n_head: int) -> Tensor:
    after = block_answer(x, weights | {"down": 0 * weights["down"]}, n_head)
    return after + (norm(after) @ weights["up"].T).relu() @ weights["down"].T


NORMALISED = "The norm is for what attention and MLP read; the stream itself is not normalised"
BLOCK_MISTAKES = {
    "A block *adds* to the stream: where is x?": lambda x, *rest: block_answer(x, *rest) - x,
    NORMALISED: lambda *given: norm(block_answer(*given)),
    "ReLU squared: square what the ReLU lets through": linear_relu,
}
SHAPES = ((1, 1, 2, 1), (1, 3, 4, 2), (2, 6, 12, 3))  # (B, T, C, n_head), the smallest first


def is_block(attempt: Any, draw: Generator, *zero: str, last: bool = False) -> None:
    """Compare with the package's block; or change the last token of a text, and look at those before it.

    zero  matrices that are zero, which silence what they read
    """
    for shape in SHAPES[last:]:
        _, T, C, n_head = shape
        block = randomize_(Block(ModelConfig(2, block_size=T, n_head=n_head, n_embd=C)), draw)
        paths = {name: f"attention.{name}" for name in ("to_q", "to_k", "to_v", "out")}
        paths |= {"up": "mlp.up", "down": "mlp.out"}
        weights = {name: block.get_parameter(f"{path}.weight").detach() for name, path in paths.items()}
        for name in zero:
            weights[name].zero_()
        x = 2 * torch.randn(shape[:3], generator=draw)
        what = f"x of shape {shape[:3]}, {n_head} heads" + (f", {' and '.join(zero)} zero" if zero else "")
        if last:
            both = x, torch.cat([x[:, :-1], -x[:, -1:]], dim=1)
            one, two = (ask_tensor(attempt, y, weights, n_head, what=what, shape=shape[:3]) for y in both)
            change = float((one - two)[:, :-1].abs().max())
            changed = f"the last token, changed, moves what comes out before it by {change:.2g}"
            require(change < 1e-4, f"for {what} {changed}")
        else:
            with torch.inference_mode():
                want = block(x, Context(Encoding(), Positions.arange(T), None, True, None))
            expect(attempt, x, weights, n_head, want=want, what=what, mistakes=BLOCK_MISTAKES)


BLOCK = Exercise(
    TASKS["A block from its parts"],
    [*each(is_block, ("out", "down"), "out", "down"), partial(is_block, last=True), is_block],
    block_answer,
    mistakes=BLOCK_MISTAKES,
)


LENGTH, BLIND = 6, 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST, LAST = range(LENGTH - BLIND), range(LENGTH - BLIND, LENGTH)


def two_words(answer: Any, _: Any = None) -> tuple[str, ...]:
    """Return the learner's two texts. Raises Wrong if they are not as asked."""
    for text in texts(answer, 2):
        right = len(text) == LENGTH and set(text) <= set(LETTERS)
        require(right, f"{text!r} should be {LENGTH} letters from a to z")
    return texts(answer, 2)


def predict(answer: Any, draw: Generator, layers: int, at: range, differ: bool) -> None:
    """Require that a random causal NoPE model predicts different things, or the same, after some letters."""
    one, other = two_words(answer)
    config = ModelConfig(len(LETTERS), block_size=LENGTH, n_layer=layers, n_head=2, n_embd=16)
    model = randomize_(Transformer(config, Encoding()), draw)
    ids = torch.tensor([[LETTERS.index(letter) for letter in text] for text in (one, other)])
    with torch.inference_mode():
        logits = model(ids)
    gaps = (logits[0] - logits[1]).abs().amax(dim=-1)  # (LENGTH,)
    for t in at:
        after, same = f"{one[: t + 1]!r} and {other[: t + 1]!r}", "the same" if differ else "different things"
        found = f"one layer predicts {same} after {after}"
        if layers > 1:
            found = f"two layers, too, predict the same at the end of {one!r} and {other!r}"
        require((gaps[t] > 1e-4) == differ, found)


HALF_BLIND = Exercise(
    TASKS["Where one layer is blind"],
    [two_words, *each(predict, (1, LAST, False), (1, FIRST, True), (2, LAST, True))],
    ("abcdef", "dcbaef"),
)

EXERCISES = (ATTENTION, BLOCK, HALF_BLIND)
