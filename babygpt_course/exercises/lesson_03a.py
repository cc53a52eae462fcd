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
from babygpt_course.exercises.checks import Wrong, ask_tensor, ask_tensors, expect, require_equal, texts
from babygpt_course.exercises.compare import describe, difference
from babygpt_course.exercises.draws import integer, randomize_
from babygpt_course.exercises.exercise import Exercise


# ---------------------------------------------------------------- Attention from scratch
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
    if mix.isnan().any() or weights.isnan().any():
        raise Wrong(f"for {what} some numbers are nan: a row of scores that are all −∞ has no softmax")
    return mix, weights, what


def attends(attempt: Any, draw: Generator, asked: str) -> None:
    """Ask about heads of growing size, and look at one thing in the learner's mix or weights."""
    for B, H, T, D in ((1, 1, 3, 1), (1, 2, 4, 3), (3, 2, 7, 8)):
        q, k = torch.randn(2, B, H, T, D, generator=draw)
        k, v = (
            (0 if asked == "earlier" else 2) * k,
            torch.randn(B, H, T, D + integer(draw, 1, 4), generator=draw),
        )
        mix, weights, what = ask_attention(attempt, q, k, v)
        if asked == "sums":
            columns = not difference(weights.sum(dim=-2), torch.ones(B, H, T))
            hint = " Your columns do: the softmax runs over the keys, which are the last axis."
            what = f"{what} the sums of the rows of weights"
            require_equal(weights.sum(dim=-1), torch.ones(B, H, T), what, hint=f".{hint if columns else ''}")
            if (weights < 0).any():
                raise Wrong(f"for {what} some weights are below 0: {describe(weights[weights < 0])}")
        elif asked == "later":
            for t in range(1, T):
                sees_no_later(attempt, q, k, v, t)
        elif asked == "earlier":
            want = torch.ones(T, T).tril()
            want = (want / want.sum(dim=-1, keepdim=True)).expand_as(weights)
            blind = (weights.diagonal(dim1=-2, dim2=-1) < 1e-6).all() and (weights > 1e-6).any()
            mistakes = {"A token may see itself": weights} if blind else {}
            require_equal(weights, want, f"{what} with keys that are all 0, the weights", mistakes)
        elif asked == "scores":
            factors = {
                "Divide the scores by √D": D**0.5,
                "Divide by √D, not by D": D**-0.5,
                "D is the width of q and k, not that of v": (D / v.shape[-1]) ** 0.5,
            }
            mistakes = {sentence: attention_answer(f * q, k, v)[1] for sentence, f in factors.items()}
            require_equal(weights, attention_answer(q, k, v)[1], f"{what} the weights", mistakes)
        elif asked == "mix":
            require_equal(mix, weights.to(v) @ v, f"{what} the mix is not your weights times the values:")
        else:
            want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            require_equal(mix, want, f"{what} the mix", hint=", as PyTorch says")


def sees_no_later(attempt: Any, q: Tensor, k: Tensor, v: Tensor, t: int) -> None:
    """Change keys and values from token t on, and require that no earlier token gets another mix."""
    mix, weights, what = ask_attention(attempt, q, k, v)
    later = (torch.arange(k.shape[2]) >= t)[:, None]
    other = ask_attention(attempt, q, k + 3.0 * later, v - 3.0 * later)[0]
    changed = ((other - mix).abs().amax(dim=(0, 1, 3))[:t] > 1e-4).nonzero()
    if len(changed):
        first = int(changed[0])
        why = "your mask lets a token see the one after it"
        if first < t - 1 or float(weights.triu(2).abs().max()) > 1e-6:
            why = "a token sees those after it: where is the mask?"
        elif float(weights.triu(1).abs().max()) <= 1e-6:
            why = "later tokens have a say, though their weights are 0: mask before the softmax"
        raise Wrong(f"for {what} a change of token {t} moves what token {first} takes home; {why}")


def attention_matrix(attempt: Any) -> Tensor:
    """Return the weights of a head on random queries and keys of twelve tokens: (T, T)."""
    q, k, v = 1.5 * torch.randn(3, 1, 1, 12, 6, generator=Generator().manual_seed(0))
    return attempt(q, k, v)[1][0, 0]


ATTENTION = Exercise(
    """Attention from scratch (core, 12 minutes)

    Write `attention(q, k, v)`, causal attention in several heads at once: q and k are (B, H, T, D), v is
    (B, H, T, E). Return the mix (B, H, T, E) *and* the weights (B, H, T, T). Scores are divided by √D. The
    checker compares the mix with `F.scaled_dot_product_attention`, which hides the weights from you.

    - Scores, mask, weights, mix: four lines. `k.mT` exchanges the last two axes, whatever stands before them.
    - The mask comes before the softmax: a score of −∞ gets the weight 0, and the row still sums to 1.
    - `torch.ones(T, T, dtype=torch.bool).triu(1)` is True where the key stands after the query.
    """,
    checks={
        "each row of weights sums to 1": partial(attends, asked="sums"),
        "no token sees a later one": partial(attends, asked="later"),
        "each sees itself and all before it, alike if the keys are": partial(attends, asked="earlier"),
        "the scores decide the weights": partial(attends, asked="scores"),
        "the mix is weights times values": partial(attends, asked="mix"),
        "the mix is PyTorch's": partial(attends, asked="PyTorch"),
    },
    answer=attention_answer,
    picture=(attention_matrix, "token looked at", "token that looks"),
)


# ---------------------------------------------------------------- A block from its parts
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


BLOCK_MISTAKES = {
    "A block *adds* to the stream: where is x?": lambda x, *rest: block_answer(x, *rest) - x,
    "The norm is for what attention and MLP read; the stream itself is not normalised": (
        lambda *given: norm(block_answer(*given))
    ),
    "ReLU squared: square what the ReLU lets through": linear_relu,
}
SHAPES = ((1, 1, 2, 1), (1, 3, 4, 2), (2, 6, 12, 3))  # (B, T, C, n_head), the smallest first


def drawn_block(shape: tuple[int, int, int, int], draw: Generator) -> tuple[Block, dict[str, Tensor]]:
    """Draw a block with random weights; return it with its weights under the names of the task."""
    _, T, C, n_head = shape
    block = Block(ModelConfig(2, block_size=T, n_head=n_head, n_embd=C))
    randomize_(block, draw)
    parameters = {name: f"attention.{name}" for name in ("to_q", "to_k", "to_v", "out")}
    parameters |= {"up": "mlp.up", "down": "mlp.out"}
    return block, {name: block.get_parameter(f"{p}.weight").detach() for name, p in parameters.items()}


def is_block(attempt: Any, draw: Generator, zero: tuple[str, ...] = ()) -> None:
    """Compare with the package's block; matrices that are zero silence what they read."""
    for shape in SHAPES:
        block, weights = drawn_block(shape, draw)
        for name in zero:
            weights[name].zero_()
        x = 2 * torch.randn(shape[:3], generator=draw)
        with torch.inference_mode():
            want = block(x, Context(Encoding(), Positions.arange(shape[1]), None, True, None))
        what = f"x of shape {shape[:3]}, {shape[3]} heads" + (f", {' and '.join(zero)} zero" if zero else "")
        expect(attempt, x, weights, shape[3], want=want, what=what, mistakes=BLOCK_MISTAKES)


def hears_no_later(attempt: Any, draw: Generator) -> None:
    for shape in SHAPES[1:]:
        _, weights = drawn_block(shape, draw)
        x = torch.randn(shape[:3], generator=draw)
        other = torch.cat([x[:, :-1], -x[:, -1:]], dim=1)
        what = f"x of shape {shape[:3]}, {shape[3]} heads"
        one, two = (ask_tensor(attempt, y, weights, shape[3], what=what, shape=shape[:3]) for y in (x, other))
        change = float((one - two)[:, :-1].abs().max())
        if not change < 1e-4:
            raise Wrong(f"for {what} the last token, changed, moves what comes out before it by {change:.2g}")


BLOCK = Exercise(
    """A block from its parts (stretch, 20 minutes)

    Write `block(x, weights, n_head)`, one causal block of this course's Transformer without any position
    code: `x` (B, T, C) is the stream, `weights` a dict of six matrices as `nn.Linear` has them (use
    `y @ w.T`): `to_q`, `to_k`, `to_v`, `out` (C, C), `up` (4C, C), `down` (C, 4C). Attention reads a
    normalised copy of the stream and adds to it; then the MLP does the same, with ReLU² between its two
    matrices. Queries and keys are normalised in each head, and scores are 2 q·k / √D with D = C / n_head. As
    the norm take `my_norm` of this page, or `babygpt.encodings.base.norm`.

    - Two lines, each `x = x + something(norm(x))`. The MLP is the shorter one: begin there.
    - Heads: (B, T, C) → `.view(B, T, n_head, D).transpose(1, 2)` → (B, H, T, D), and back after the mix.
    - `norm(q)` after the cut into heads, not before; then scores, mask, weights, mix as in the other
      exercise, and `out` at the end.
    """,
    checks={
        "with nothing to add, the stream stays": partial(is_block, zero=("out", "down")),
        "the MLP's half": partial(is_block, zero=("out",)),
        "attention's half": partial(is_block, zero=("down",)),
        "no token hears a later one": hears_no_later,
        "the whole block": is_block,
    },
    mistakes=BLOCK_MISTAKES,
    answer=block_answer,
)


# ---------------------------------------------------------------- Where one layer is blind
LENGTH, BLIND = 6, 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def two_words(answer: Any) -> tuple[str, str]:
    """Return the learner's two texts. Raises Wrong if they are not as asked."""
    one, other = texts(answer, 2)
    for text in (one, other):
        if len(text) != LENGTH or set(text) - set(LETTERS):
            raise Wrong(f"{text!r} should be {LENGTH} letters from a to z")
    return one, other


def prediction_gaps(one: str, other: str, n_layer: int, draw: Generator) -> Tensor:
    """Return how much the predictions of a random causal NoPE model differ after each letter: (LENGTH,)."""
    config = ModelConfig(len(LETTERS), block_size=LENGTH, n_layer=n_layer, n_head=2, n_embd=16)
    model = randomize_(Transformer(config, Encoding()), draw)
    ids = torch.tensor([[LETTERS.index(letter) for letter in text] for text in (one, other)])
    with torch.inference_mode():
        logits = model(ids)
    return (logits[0] - logits[1]).abs().amax(dim=-1)


def one_layer(answer: Any, draw: Generator, blind: bool) -> None:
    """Require that one layer predicts the same after the last letters, or different after the first ones."""
    one, other = two_words(answer)
    gaps = prediction_gaps(one, other, 1, draw)
    wrong = (gaps[-BLIND:] > 1e-4 if blind else gaps[:-BLIND] < 1e-4).nonzero()
    if len(wrong):
        t = int(wrong[0]) + (LENGTH - BLIND if blind else 0)
        found = "different things" if blind else "the same"
        raise Wrong(f"one layer predicts {found} after {one[: t + 1]!r} and {other[: t + 1]!r}")


def two_layers_see(answer: Any, draw: Generator) -> None:
    one, other = two_words(answer)
    if not (prediction_gaps(one, other, 2, draw)[-BLIND:] > 1e-4).all():
        raise Wrong(f"two layers, too, predict the same at the end of {one!r} and {other!r}")


HALF_BLIND = Exercise(
    f"""Where one layer is blind (core, 10 minutes)

    A causal Transformer of *one* layer without position code reads two texts of {LENGTH} letters (a to z).
    Design them so that its predictions differ after each of the first {LENGTH - BLIND} letters, and agree
    after each of the last {BLIND}, whatever its weights; a model of two layers must still tell them apart
    there. Your answer is a pair of texts; the checker reads them with random weights.

    - A token of one layer knows which letter it is itself, and the *heap* of letters up to it.
    - The last two letters must be the same in both texts, and what stands before them the same heap.
    - At each of the first four places either the letter or the heap must differ. Try it backwards.
    """,
    checks={
        f"two texts of {LENGTH} letters": lambda answer, _: two_words(answer),
        f"one layer: the same at the last {BLIND}": partial(one_layer, blind=True),
        f"one layer: different at the first {LENGTH - BLIND}": partial(one_layer, blind=False),
        f"two layers: different at the last {BLIND}": two_layers_see,
    },
    answer=("abcdef", "dcbaef"),
)

EXERCISES = (ATTENTION, BLOCK, HALF_BLIND)
