"""Exercises of notebook 03a: attention from scratch, a block from parts, and what one layer cannot see."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.models.transformer import Transformer
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, ask, texts
from babygpt_course.exercises.block import BLOCK
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.draws import integer, shaken
from babygpt_course.exercises.picture import Picture


def attention_stub(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Causal attention of q, k (B, H, T, D), v (B, H, T, E): mix (B, H, T, E) and weights (B, H, T, T)."""
    return v, torch.zeros(*q.shape[:-1], q.shape[-2])


def attention_answer(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Causal attention of q, k (B, H, T, D), v (B, H, T, E): mix (B, H, T, E) and weights (B, H, T, T)."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    T = q.shape[-2]
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
    return weights @ v, weights


def heads(draw: Generator) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Queries, keys and values of growing size; the values have a width of their own."""
    found = []
    for B, H, T, D in ((1, 1, 3, 1), (1, 2, 4, 3), (3, 2, 7, 8)):
        q, k = torch.randn(2, B, H, T, D, generator=draw)
        found.append((q, 2 * k, torch.randn(B, H, T, D + integer(draw, 1, 4), generator=draw)))
    return found


def attended(attempt: Any, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, str]:
    """The learner's mix and weights, and what was asked."""
    what = f"q {tuple(q.shape)} and v {tuple(v.shape)}"
    got = ask(attempt, q, k, v, what=what)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Unusable(f"for {what} came out: {shown(got)}; should be two tensors: mix and weights")
    shapes = tuple(v.shape), (*q.shape[:-1], k.shape[-2])
    for name, part, shape in zip(("mix", "weights"), got, shapes, strict=True):
        if text := wrong_shape(part, shape):
            raise Wrong(f"for {what} the {name}: {text}")
    mix, weights = (torch.as_tensor(part).detach() for part in got)
    if mix.isnan().any() or weights.isnan().any():
        raise Wrong(f"for {what} some numbers are nan: a row of scores that are all −∞ has no softmax")
    return mix, weights, what


def rows_sum_to_1(attempt: Any, draw: Generator) -> None:
    for q, k, v in heads(draw):
        _, weights, what = attended(attempt, q, k, v)
        if text := difference(weights.sum(dim=-1), torch.ones(q.shape[:-1])):
            columns = not difference(weights.sum(dim=-2), torch.ones(q.shape[:-1]))
            told = (
                " Your columns do: the softmax runs over the keys, which are the last axis."
                if columns
                else ""
            )
            raise Wrong(f"for {what} the sums of the rows of weights {text}.{told}")
        if (weights < 0).any():
            raise Wrong(f"for {what} some weights are below 0: {shown(weights[weights < 0])}")


def sees_no_later(attempt: Any, draw: Generator) -> None:
    for q, k, v in heads(draw):
        mix, weights, what = attended(attempt, q, k, v)
        for t in range(1, q.shape[2]):
            changed_k, changed_v = k.clone(), v.clone()
            changed_k[:, :, t:] += 3.0
            changed_v[:, :, t:] -= 3.0
            other, _, _ = attended(attempt, q, changed_k, changed_v)
            moved = ((other - mix).abs().amax(dim=(0, 1, 3))[:t] > 1e-4).nonzero()
            if len(moved):
                first = int(moved[0])
                told = "your mask lets a token see the one after it"
                if first < t - 1 or float(weights.triu(2).abs().max()) > 1e-6:
                    told = "a token sees those after it: where is the mask?"
                elif float(weights.triu(1).abs().max()) <= 1e-6:
                    told = "later tokens have a say, though their weights are 0: mask before the softmax"
                raise Wrong(f"for {what} a change of token {t} moves what token {first} takes home; {told}")


def sees_all_earlier(attempt: Any, draw: Generator) -> None:
    for q, k, v in heads(draw):
        _, weights, what = attended(attempt, q, 0 * k, v)
        want = torch.ones(q.shape[2], q.shape[2]).tril()
        want = (want / want.sum(dim=-1, keepdim=True)).expand_as(weights)
        if text := difference(weights, want):
            own = bool((weights.diagonal(dim1=-2, dim2=-1) < 1e-6).all() and (weights > 1e-6).any())
            told = ". A token may see itself" if own else ""
            raise Wrong(f"for {what} with keys that are all 0, the weights {text}{told}")


def weighs_by_scores(attempt: Any, draw: Generator) -> None:
    for q, k, v in heads(draw):
        _, weights, what = attended(attempt, q, k, v)
        want = attention_answer(q, k, v)[1]
        if text := difference(weights, want):
            D = q.shape[-1]
            mistakes = {
                "Divide the scores by √D": D**0.5,
                "Divide by √D, not by D": D**-0.5,
                "D is the width of q and k, not that of v": (D / v.shape[-1]) ** 0.5,
            }
            told = [
                s for s, f in mistakes.items() if not difference(weights, attention_answer(f * q, k, v)[1])
            ]
            raise Wrong(f"for {what} the weights {text}" + "".join(f". {said}" for said in told[:1]))


def mixes_values(attempt: Any, draw: Generator) -> None:
    for q, k, v in heads(draw):
        mix, weights, what = attended(attempt, q, k, v)
        if text := difference(mix, weights.to(v) @ v):
            raise Wrong(f"for {what} the mix is not your weights times the values: {text}")


def is_attention(attempt: Any, draw: Generator) -> None:
    for q, k, v in heads(draw):
        mix, _, what = attended(attempt, q, k, v)
        if text := difference(mix, F.scaled_dot_product_attention(q, k, v, is_causal=True)):
            raise Wrong(f"for {what} the mix {text}, as PyTorch says")


def weights_drawn(attempt: Any) -> Tensor:
    """The weights of a head on random queries and keys of twelve tokens: (T, T)."""
    q, k, v = 1.5 * torch.randn(3, 1, 1, 12, 6, generator=Generator().manual_seed(0))
    return attempt(q, k, v)[1][0, 0]


ATTENTION = Exercise(
    name="Attention from scratch",
    task=(
        "Write `attention(q, k, v)`, causal attention in several heads at once: q and k are (B, H, T, D), v "
        "is "
        "(B, H, T, E). Return the mix (B, H, T, E) *and* the weights (B, H, T, T). Scores are divided by √D. "
        "The checker compares the mix with `F.scaled_dot_product_attention`, which hides the weights from "
        "you."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("each row of weights sums to 1", rows_sum_to_1),
        Check("no token sees a later one", sees_no_later),
        Check("each sees itself and all before it, alike if the keys are", sees_all_earlier),
        Check("the scores decide the weights", weighs_by_scores),
        Check("the mix is weights times values", mixes_values),
        Check("the mix is PyTorch's", is_attention),
    ),
    hints=(
        "Scores, mask, weights, mix: four lines. `k.mT` exchanges the last two axes, whatever stands before "
        "them.",
        "The mask comes before the softmax: a score of −∞ gets the weight 0, and the row still sums to 1.",
        "`torch.ones(T, T, dtype=torch.bool).triu(1)` is True where the key stands after the query.",
    ),
    stub=attention_stub,
    answer=attention_answer,
    picture=Picture(weights_drawn, "token looked at", "token that looks"),
)


LENGTH, BLIND = 6, 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def two_words(answer: Any) -> tuple[str, str]:
    """The learner's two texts. Raises Wrong if they are not as asked."""
    one, other = texts(answer, 2)
    for text in (one, other):
        if len(text) != LENGTH or set(text) - set(LETTERS):
            raise Wrong(f"{text!r} should be {LENGTH} letters from a to z")
    return one, other


def predictions(one: str, other: str, n_layer: int, draw: Generator) -> Tensor:
    """How far apart the predictions of a random causal NoPE model are after each letter: (LENGTH,)."""
    config = ModelConfig(len(LETTERS), block_size=LENGTH, n_layer=n_layer, n_head=2, n_embd=16)
    model = shaken(Transformer(config, Encoding()), draw)
    ids = torch.tensor([[LETTERS.index(letter) for letter in text] for text in (one, other)])
    with torch.inference_mode():
        logits = model(ids)
    return (logits[0] - logits[1]).abs().amax(dim=-1)


def six_letters(answer: Any, _: Generator) -> None:
    two_words(answer)


def blind_at_the_end(answer: Any, draw: Generator) -> None:
    one, other = two_words(answer)
    seen = (predictions(one, other, 1, draw)[-BLIND:] > 1e-4).nonzero()
    if len(seen):
        t = LENGTH - BLIND + int(seen[0])
        raise Wrong(f"one layer predicts different things after {one[: t + 1]!r} and {other[: t + 1]!r}")


def sees_before(answer: Any, draw: Generator) -> None:
    one, other = two_words(answer)
    same = (predictions(one, other, 1, draw)[:-BLIND] < 1e-4).nonzero()
    if len(same):
        t = int(same[0])
        raise Wrong(f"one layer predicts the same after {one[: t + 1]!r} and {other[: t + 1]!r}")


def two_layers_see(answer: Any, draw: Generator) -> None:
    one, other = two_words(answer)
    if not (predictions(one, other, 2, draw)[-BLIND:] > 1e-4).all():
        raise Wrong(f"two layers, too, predict the same at the end of {one!r} and {other!r}")


HALF_BLIND = Exercise(
    name="Where one layer is blind",
    task=(
        f"A causal Transformer of *one* layer without position code reads two texts of {LENGTH} letters (a "
        "to "
        f"z). Design them so that its predictions differ after each of the first {LENGTH - BLIND} letters, "
        "and "
        f"agree after each of the last {BLIND}, whatever its weights; a model of two layers must still tell "
        "them apart there. Your answer is a pair of texts; the checker reads them with random weights."
    ),
    level="core",
    minutes=10,
    checks=(
        Check(f"two texts of {LENGTH} letters", six_letters),
        Check(f"one layer: the same at the last {BLIND}", blind_at_the_end),
        Check(f"one layer: different at the first {LENGTH - BLIND}", sees_before),
        Check(f"two layers: different at the last {BLIND}", two_layers_see),
    ),
    hints=(
        "A token of one layer knows which letter it is itself, and the *heap* of letters up to it.",
        "The last two letters must be the same in both texts, and what stands before them the same heap.",
        "At each of the first four places either the letter or the heap must differ. Try it backwards.",
    ),
    stub=("", ""),
    answer=("abcdef", "dcbaef"),
)

EXERCISES = (ATTENTION, BLOCK, HALF_BLIND)
