"""Exercises of notebook 04b: an ablation with its control."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Generator

from babygpt.config import ModelConfig
from babygpt.metrics import without_heads
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt_course.exercises.checks import ask_tensor, require
from babygpt_course.exercises.compare import count
from babygpt_course.exercises.exercise import Exercise, dice, integer, randomize_, read_tasks

TASKS = read_tasks("lesson_04b")


def controlled_effect_answer(model: Any, score: Callable[..., float], layer: int, head: int) -> float:
    """Score without a random other head of the same layer, minus the score without this head."""
    others = [index for index in range(model.config.n_head) if index != head]
    control = others[int(torch.randint(len(others), ()))]
    scores = []
    for silent in (control, head):
        with without_heads(model, [(layer, silent)]):
            scores.append(score(model))
    return scores[0] - scores[1]


def drawn_model(draw: Generator, n_layer: int, n_head: int) -> tuple[Any, Callable[..., float], str]:
    """Draw a v4 with random weights and a score of it, minus a mean loss; and in words."""
    vocab_size, T = integer(draw, 5, 9), integer(draw, 6, 12)
    config = ModelConfig(vocab_size, block_size=16, n_layer=n_layer, n_head=n_head, n_embd=4 * n_head)
    model = randomize_(build("v4", config), draw)
    ids = torch.randint(vocab_size, (4, T), generator=draw)

    def score(model: LanguageModel) -> float:
        with torch.inference_mode():
            log_probs = model(ids[:, :-1]).log_softmax(dim=-1)
        return log_probs.gather(-1, ids[:, 1:, None]).mean().item()

    return model, score, f"a model of {count(n_layer, 'layer')} with {count(n_head, 'head')} each"


def measures(attempt: Any, draw: Generator, sizes: Sequence[tuple[int, int]], calls: int = 1) -> None:
    """Ask for the effect of each head of models of so many layers and heads, so many times."""
    for n_layer, n_head in sizes:
        model, score, what = drawn_model(draw, n_layer, n_head)
        without, whole = dict[tuple[int, int], float](), score(model)
        for spot in product(range(n_layer), range(n_head)):
            with without_heads(model, [spot]):
                without[spot] = score(model)
        heads = list(without) if calls == 1 else [dice(draw).choice(list(without))]
        for (layer, head), alone in ((spot, without[spot]) for spot in heads):
            gaps = {spot: scored - alone for spot, scored in without.items() if spot != (layer, head)}
            beside = [gap for (rival, _), gap in gaps.items() if rival == layer]
            right = [*beside, sum(beside) / len(beside)]  # the mean over all controls is right as well
            mistakes = {
                "This compares with the whole model. The control is missing": [whole - alone],
                "The sign is wrong: a head that matters more than its control should be above 0": [
                    -gap for gap in right
                ],
                "Your control may be the head itself": [0.0],
                "Your control is a head of another layer": [*gaps.values()],
                "That is one score, and no difference": [alone, *(alone + gap for gap in beside)],
            }
            case = f"{what}, layer {layer}, head {head}"
            scores = ", ".join(f"{spot} {x:.4f}" for spot, x in without.items())
            came = set[int]()
            for _ in range(calls):
                got = float(ask_tensor(attempt, model, score, layer, head, what=case, shape=()))
                near = [i for i, value in enumerate(right) if abs(got - value) < 1e-5]
                hints = [
                    f". {hint}"
                    for hint, values in mistakes.items()
                    if min(abs(got - x) for x in values) < 1e-5
                ]
                require(
                    near,
                    f"for {case} came out: {got:.5f}; scores without each head: {scores}{[*hints, ''][0]}",
                )
                came.add(near[-1])
            # By chance a fair draw misses one of three heads in 40 calls 5 times in ten million.
            few = calls > 1 and len(beside) not in came and len(came) < len(beside)
            missing = f"{calls} calls drew {len(came)} of {count(len(beside), 'other head')} for a control"
            require(not few, f"for {case} {missing}: draw it by chance, and each of them")


ABLATION = Exercise(
    TASKS["An ablation with its control"],
    [
        partial(measures, sizes=((1, 2), (1, 4))),
        partial(measures, sizes=((2, 3), (3, 2))),
        partial(measures, sizes=((1, 4),), calls=40),
    ],
    controlled_effect_answer,
    seconds=20.0,
)

EXERCISES = (ABLATION,)
