"""An exercise of notebook 08: an encoding of one's own, against RoPE, from three seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.invariants import cache_equals_full, causal
from babygpt.metrics.next_token import loss_by_position
from babygpt.models.transformer import Transformer
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import train
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong
from babygpt_course.exercises.compare import shown
from babygpt_course.exercises.draws import integer, shaken

Make = Callable[[int, int], Encoding]
SEEDS, WINDOW, STEPS, LONGER = (1, 2, 3), 24, 80, 4
INSIDE, NOISE = 0.02, 2.0  # nats that it may lose inside; by how many deviations it must win outside


class RoPESoFar(Rotary):
    """RoPE, until you change it."""

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.n_head = n_head


class RoPEThatForgets(Rotary):
    """RoPE, and each head takes from a score what grows with the distance: one head more, another less."""

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.n_head = n_head

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        distance = (queries.time[..., None, :, None] - keys.time[..., None, None, :]).abs()  # (1, Tq, Tk)
        slope = 0.25 ** torch.arange(1, self.n_head + 1, device=distance.device)
        return -slope[:, None, None] * distance  # (H, Tq, Tk)


@cache
def small_world() -> tuple[Corpus, ModelConfig]:
    """A text and a model so small that a training takes about a second."""
    corpus = load_corpus("plain-tales", n_chars=60_000)
    return corpus, ModelConfig(corpus.tokenizer.vocab_size, WINDOW, n_layer=1, n_head=2, n_embd=32)


def made(make: Any) -> Encoding:
    """A new encoding of the learner's. Raises Unusable if there is none."""
    if not callable(make):
        raise Unusable(f"this should be a class or a function, and is {shown(make)}")
    _, config = small_world()
    try:
        one, other = (make(config.head_dim, config.n_head) for _ in range(2))
    except Exception as error:
        raise Unusable(
            f"called with (head_dim, n_head) it raised {type(error).__name__}: {shown(error)}"
        ) from error
    if not isinstance(one, Encoding):
        raise Unusable(
            f"called with (head_dim, n_head) it should return an Encoding, and returns {shown(one)}"
        )
    if one is other:
        raise Unusable(
            "it should return a new encoding each time: what one seed has learned is not the next one's"
        )
    return one


def random_model(make: Any, draw: Generator, length: int = WINDOW) -> tuple[Transformer, Tensor]:
    """A model with the learner's encoding and random weights, and some text of so many tokens."""
    corpus, config = small_world()
    model = Transformer(config, made(make))
    shaken(model, draw)
    start = integer(draw, 0, len(corpus.val) - length)
    return model.eval(), corpus.val[start : start + length]


def is_encoding(make: Any, _: Generator) -> None:
    made(make)


def keeps_causality(make: Any, draw: Generator) -> None:
    model, ids = random_model(make, draw, LONGER * WINDOW)
    try:
        kept = causal(model, ids), cache_equals_full(model, ids)
    except BadInput as error:
        raise Wrong(f"a window of {len(ids)} must be possible. It refuses: {error}") from error
    for promise in kept:
        if not promise.holds:
            raise Wrong(
                f"broken: {promise.statement}. Measured {promise.value:.2g}, allowed {promise.limit:.0e}"
            )


@torch.inference_mode()
def may_move(make: Any, draw: Generator) -> None:
    model, ids = random_model(make, draw)
    here = model(ids[None], Positions.arange(WINDOW))
    for step in (1, integer(draw, 20, 90), integer(draw, 200, 900)):
        try:
            there = model(ids[None], Positions.arange(WINDOW, step))
        except BadInput as error:
            raise Wrong(f"broken: a text may begin at position {step}. It refuses: {error}") from error
        moved = float((there - here).abs().max())
        if not moved < 1e-3:
            raise Wrong(
                f"broken: only the distance counts. A text moved by {step} changes a logit by {moved:.2g}"
            )


@torch.inference_mode()
def is_still_rope(make: Make) -> bool:
    """Whether an encoding has nothing to train, and does with random weights what RoPE does."""
    mine, ids = random_model(make, Generator().manual_seed(0), LONGER * WINDOW)
    if any(True for _ in mine.encoding.parameters()):
        return False
    rope, _ = random_model(RoPESoFar, Generator().manual_seed(0), LONGER * WINDOW)
    return bool((mine(ids[None]) - rope(ids[None])).abs().max() < 1e-4)


def losses(make: Make, seed: int) -> tuple[float, float]:
    """Loss late in the window of training, and from twice to four times its length, after one training."""
    corpus, config = small_world()
    torch.manual_seed(seed)
    model = Transformer(config, make(config.head_dim, config.n_head))
    recipe = TrainConfig(steps=STEPS, seed=seed)
    for _ in train(model, NextToken(corpus, WINDOW), recipe):
        pass
    model.eval()
    by_position = loss_by_position(model, corpus.val, LONGER * WINDOW, n_windows=48)
    return float(by_position[WINDOW // 2 : WINDOW].mean()), float(by_position[2 * WINDOW :].mean())


@cache
def rope_losses() -> tuple[tuple[float, float], ...]:
    """RoPE's, from the same seeds."""
    return tuple(losses(RoPESoFar, seed) for seed in SEEDS)


def beats_rope(make: Any, draw: Generator) -> None:
    for promise in (keeps_causality, may_move):
        try:
            promise(make, draw)
        except Wrong as error:
            raise Wrong(f"not trained: a promise is broken ({error})") from error
    if is_still_rope(make):
        raise Wrong(
            "not trained: with random weights it does what RoPE does. Change something; from then on this "
            "check trains, which takes 10 to 20 seconds"
        )
    theirs = rope_losses()
    ours = [losses(make, seed) for seed in SEEDS]
    inside, outside = (
        [mine[at] - rope[at] for mine, rope in zip(ours, theirs, strict=True)] for at in range(2)
    )
    gaps = f"inside {signed(inside)}, outside {signed(outside)} nats"
    seen = f"trained from {len(SEEDS)} seeds, against RoPE: {gaps}"
    if fmean(inside) > INSIDE:
        raise Wrong(f"{seen}. Inside the window it is worse")
    if max(outside) >= 0:
        raise Wrong(f"{seen}. Outside it is not better in every seed")
    if -fmean(outside) < NOISE * stdev(outside):
        raise Wrong(f"{seen}. Outside it is better on average, by no more than the noise of three seeds")


def signed(gaps: list[float]) -> str:
    """Differences as text."""
    return ", ".join(f"{gap:+.3f}" for gap in gaps)


OWN_ENCODING = Exercise(
    name="An encoding of your own",
    task=(
        "Write an `Encoding` of your own: a class that is made with `(head_dim, n_head)`. It may add to the "
        "embeddings (`embed`), change queries and keys (`transform_qk`) or add to the scores (`score_bias`). "
        "It keeps three promises: it is causal, its cache changes nothing, and a whole text may move. And it "
        f"beats RoPE: the checker trains both from {len(SEEDS)} seeds on a tiny world (windows of {WINDOW}, "
        f"{STEPS} steps) and reads windows {LONGER} times as long. In the window of training it may lose "
        f"{INSIDE} nats at most, on average; beyond twice its length it must be better in every seed, and on "
        f"average by {NOISE:g} standard deviations of the differences. Begin with RoPE, as the stub does. "
        "(The first three checks answer at once. **The last one trains, for 10 to 20 seconds**, on a busy "
        "machine for up to a minute; as long as a promise is broken, or yours is still RoPE, it says so and "
        "does not train.)"
    ),
    level="stretch",
    minutes=25,
    checks=(
        Check("it makes encodings", is_encoding),
        Check("causal, with and without a cache", keeps_causality),
        Check("a whole text may move", may_move),
        Check("beats RoPE beyond its window, in three seeds", beats_rope),
    ),
    hints=(
        "What does RoPE meet beyond its window that it has never seen? What would take its weight away?",
        "`score_bias(queries, keys)` returns what joins the scores, (H, Tq, Tk): let it fall with the "
        "distance.",
        "ALiBi takes slope · distance, with another slope in each head. You may keep RoPE's rotation beside "
        "it.",
    ),
    stub=RoPESoFar,
    answer=RoPEThatForgets,
    seconds=300.0,
)
