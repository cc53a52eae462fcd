"""An exercise of notebook 04: which head matters most, found out by silencing each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor, nn

from babygpt.config import ModelConfig
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, ask
from babygpt_course.exercises.compare import difference, shown
from babygpt_course.exercises.draws import integer, shaken

Score = Callable[[LanguageModel], float]


def ranking_stub(model: nn.Module, score: Callable[..., float]) -> list[tuple[int, int]]:
    """All heads as (layer, head), counted from 0; first the one without which the score falls most."""
    return []


def ranking_answer(model: Any, score: Callable[..., float]) -> list[tuple[int, int]]:
    """All heads as (layer, head), counted from 0; first the one without which the score falls most."""
    D, without = model.config.head_dim, {}
    for layer, block in enumerate(model.blocks):
        out = block.attention.out.weight  # (C, C): its columns read what the heads write
        kept = out.detach().clone()
        for head in range(model.config.n_head):
            with torch.no_grad():
                out[:, head * D : (head + 1) * D] = 0.0
                without[layer, head] = score(model)
                out.copy_(kept)
    return sorted(without, key=lambda at: without[at])


class Loss:
    """Minus the model's mean loss on some text, as a score; a number that larger is better."""

    def __init__(self, ids: Tensor) -> None:
        self.ids = ids

    def __call__(self, model: LanguageModel) -> float:
        with torch.inference_mode():
            log_probs = model(self.ids[:, :-1]).log_softmax(dim=-1)
        return log_probs.gather(-1, self.ids[:, 1:, None]).mean().item()


def drawn(draw: Generator, n_layer: int, n_head: int) -> tuple[LanguageModel, Score, str]:
    """A v4 with random weights, a score of it, and both in words."""
    vocab_size, T = integer(draw, 5, 9), integer(draw, 6, 12)
    config = ModelConfig(vocab_size, block_size=16, n_layer=n_layer, n_head=n_head, n_embd=4 * n_head)
    model = build("v4", config)
    shaken(model, draw)
    ids = torch.randint(vocab_size, (4, T), generator=draw)
    layers = "1 layer" if n_layer == 1 else f"{n_layer} layers"
    return model, Loss(ids), f"a model of {layers} with {n_head} heads each"


def without(model: LanguageModel, score: Score, silent: tuple[int, int]) -> float:
    """The score while a hook replaces by 0 what one head writes: a second way to silence it."""
    layer, head = silent
    out = model.get_submodule(f"blocks.{layer}.attention.out")

    def silence(_: Any, inputs: tuple[Tensor]) -> tuple[Tensor]:
        written = inputs[0].unflatten(-1, (model.config.n_head, -1)).clone()  # (B, T, H, D)
        written[:, :, head] = 0.0
        return (written.flatten(2),)

    hook = out.register_forward_pre_hook(silence)
    try:
        return score(model)
    finally:
        hook.remove()


def all_heads(model: LanguageModel) -> list[tuple[int, int]]:
    """(layer, head) of each."""
    return [(i, j) for i in range(model.config.n_layer) for j in range(model.config.n_head)]


def ranked(attempt: Any, draw: Generator, n_layer: int, n_head: int) -> tuple[list[Any], Any, Any, str]:
    """The learner's ranking, the model and score that were given, and what was asked."""
    model, score, what = drawn(draw, n_layer, n_head)
    got = ask(attempt, model, score, what=what)
    if not isinstance(got, list | tuple):
        raise Wrong(f"for {what} came out: {shown(got)}; should be a list of pairs (layer, head)")
    return list(got), model, score, what


def names_all(attempt: Any, draw: Generator) -> None:
    for n_layer, n_head in ((1, 2), (2, 3)):
        got, model, _, what = ranked(attempt, draw, n_layer, n_head)
        want = all_heads(model)
        if len(got) != len(want) or any(one not in got for one in want):
            raise Wrong(f"for {what} came out: {shown(got)}; should hold each of {shown(want)} once")


def ranks(attempt: Any, draw: Generator) -> None:
    for n_layer, n_head in ((1, 3), (1, 4), (2, 2), (3, 3)):
        got, model, score, what = ranked(attempt, draw, n_layer, n_head)
        scores = {at: without(model, score, at) for at in all_heads(model)}
        want = sorted(scores, key=lambda at: scores[at])
        if got != want:
            told = ". That begins with the head that matters least" if got == want[::-1] else ""
            told = told or (
                ". Give each head back before you silence the next" if one_more(model, score, got) else ""
            )
            each = ", ".join(f"{at} {scores[at]:.3f}" for at in want)
            raise Wrong(f"for {what} came out: {shown(got)}; scores without each: {each}{told}")


def one_more(model: LanguageModel, score: Score, got: list[Any]) -> bool:
    """Whether this is the ranking of somebody who never gives a head back."""
    D, scores = model.config.head_dim, {}
    kept = {name: p.clone() for name, p in model.state_dict().items()}
    for layer, head in all_heads(model):
        with torch.no_grad():
            model.get_parameter(f"blocks.{layer}.attention.out.weight")[:, head * D : (head + 1) * D] = 0.0
        scores[layer, head] = score(model)
    model.load_state_dict(kept)
    return got == sorted(scores, key=lambda at: scores[at])


def gives_back(attempt: Any, draw: Generator) -> None:
    model, score, what = drawn(draw, 2, 2)
    if not callable(attempt):
        raise Unusable(f"this should be a function, and is {shown(attempt)}")
    before = score(model)
    try:
        attempt(model, score)
    except Exception as error:
        raise Wrong(f"for {what} it raised {type(error).__name__}: {shown(str(error))}") from error
    if text := difference(score(model), before, atol=1e-6):
        raise Wrong(f"for {what} the model's score, once you are done with it: {text}")


RANKING = Exercise(
    name="Which head matters most?",
    task=(
        "Attention shows where a head looks, not what it is good for. Write `ranking(model, score)`, "
        "without the package's `ablate_heads`: silence one head after the other, ask `score(model)` (a "
        "number, larger is better), and return all heads as pairs (layer, head), counted from 0; first the "
        "one without which the score is *lowest*. A head is silent if it adds nothing to the stream. The "
        "layers are `model.blocks`; a layer's heads write side by side into `block.attention.out`, an "
        "`nn.Linear` without bias whose weight may be changed under `torch.no_grad()`; `model.config` has "
        "`n_head` and `head_dim`. Leave the model as it was."
    ),
    level="stretch",
    minutes=15,
    checks=(
        Check("names each head once", names_all),
        Check("the heads in their order", ranks),
        Check("leaves the model as it was", gives_back),
    ),
    hints=(
        "Head h writes channels h·D to (h + 1)·D. Which numbers of `out.weight` (C, C) read these channels?",
        "`y = x @ weight.T`: the *columns* of the weight belong to the channels of x. Set the head's to 0.",
        "Keep a clone of the weight, and copy it back after each head; all of it under `torch.no_grad()`.",
    ),
    stub=ranking_stub,
    answer=ranking_answer,
    seconds=20.0,
)
