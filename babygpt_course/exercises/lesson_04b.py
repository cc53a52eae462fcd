"""Exercises of notebook 04b: the head that reads, heads that stand in for each other, an ablation."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from numbers import Rational
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.config import ModelConfig
from babygpt.metrics import without_heads
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt_course.exercises.agreement import Agrees, Case, Mistakes
from babygpt_course.exercises.checks import ask_tensor, read_parts, require
from babygpt_course.exercises.compare import count, to_python
from babygpt_course.exercises.exercise import Exercise, dice, integer, randomize_, read_tasks

TASKS = read_tasks("lesson_04b")


def find_reader_answer(weights: Tensor, names: Tensor) -> tuple[int, int]:
    """Layer and head, from 0, that give the names most weight: (L, H, Q, T) and (Q, T) -> two numbers."""
    on_names = (weights * names).sum(dim=-1).mean(dim=-1)  # (L, H)
    layer, head = divmod(int(on_names.argmax()), weights.shape[1])
    return layer, head


def largest(means: Tensor) -> tuple[int, int]:
    """Return layer and head of the largest of (L, H) numbers."""
    layer, head = divmod(int(means.argmax()), means.shape[1])
    return layer, head


READER_MISTAKES: Mistakes = {
    "The layer comes first, then the head": lambda w, names: find_reader_answer(w, names)[::-1],
    "Layers and heads are counted from 0": lambda w, names: tuple(
        n + 1 for n in find_reader_answer(w, names)
    ),
    "Add up the weights on all letters of a name, in place of their mean": lambda w, names: largest(
        ((w * names).sum(dim=-1) / names.sum(dim=-1)).mean(dim=-1)
    ),
    "That head has the largest weight on one letter. Add up all letters of a name": lambda w, names: largest(
        (w * names).amax(dim=-1).mean(dim=-1)
    ),
    "That head is best in one question. Take the mean over all": lambda w, names: largest(
        (w * names).sum(dim=-1).amax(dim=-1)
    ),
    "That head gives the names the least weight": lambda w, names: largest(
        -(w * names).sum(dim=-1).mean(dim=-1)
    ),
}


def two_heads(result: Any, *_: Any) -> list[int]:
    """Return a result as a list of two whole numbers. Raises Wrong if it has another form."""
    parts = read_parts(result, "", "two whole numbers")
    numbers = [to_python(part) for part in parts]
    whole = all(isinstance(n, Rational) and n.denominator == 1 for n in numbers)
    require(whole, f"these should be two whole numbers, and are {numbers}")
    return [n.numerator for n in numbers]


MARGIN = 0.01  # of the largest over the second, so that rounding never decides


def has_clear_winner(numbers: Tensor) -> bool:
    """Return whether the largest of (N,) numbers is larger than the second by more than MARGIN."""
    first, second = numbers.topk(2).values.tolist()
    return first - second > MARGIN


def draw_weights_on_names(draw: Generator, sizes: Sequence[tuple[int, int]], longest: int) -> Iterator[Case]:
    """Draw attention of models of these sizes (layers, heads) to names of 1 to `longest` letters."""
    for n_layer, n_head in sizes:
        cases = 0
        while cases < 6:
            n_questions, T = integer(draw, 2, 7), integer(draw, 10, 24)
            lengths = torch.randint(1, longest + 1, (n_questions,), generator=draw)
            starts = torch.randint(0, T - longest, (n_questions,), generator=draw)[:, None]
            letters = torch.arange(T)
            names = (letters >= starts) & (letters < starts + lengths[:, None])
            scores = 1.5 * torch.randn(n_layer, n_head, n_questions, T, generator=draw)
            weights = scores.softmax(dim=-1)
            if has_clear_winner((weights * names).sum(dim=-1).mean(dim=-1).flatten()):
                cases += 1
                what = f"weights of shape {tuple(weights.shape)}, names of {lengths.tolist()} letters"
                yield Case(what, (weights, names))


READER = Exercise(
    TASKS["Find the head that reads the name"],
    [
        Agrees(
            partial(draw_weights_on_names, sizes=sizes, longest=longest),
            find_reader_answer,
            READER_MISTAKES,
            view=two_heads,
        )
        for sizes, longest in (
            (((1, 2), (1, 4), (1, 9)), 1),
            (((2, 4), (3, 2), (6, 5), (2, 4)), 1),
            (((1, 6), (2, 4), (3, 8), (2, 4)), 6),
        )
    ],
    find_reader_answer,
)


def stand_ins_answer(right: float, without: Tensor) -> tuple[int, int]:
    """Two heads that cost most beyond the sum of what each costs alone: shares without pairs (n, n)."""
    cost = right - without
    excess = cost - cost.diagonal() - cost.diagonal()[:, None]  # (n, n)
    return max(combinations(range(len(cost)), 2), key=lambda pair: float(excess[pair]))


def best_pair(table: Tensor) -> tuple[int, int]:
    """Return the two different heads with the largest number in a symmetric table (n, n)."""
    return max(combinations(range(len(table)), 2), key=lambda pair: float(table[pair]))


def excesses(right: float, without: Tensor) -> Tensor:
    """Return what each two heads cost beyond the sum of what they cost alone: (n, n)."""
    cost = right - without
    return cost - cost.diagonal() - cost.diagonal()[:, None]


PAIR_MISTAKES: Mistakes = {
    "These two cost most together. Subtract what each of them costs alone": lambda right, w: best_pair(-w),
    "Those two cost most alone, added up": lambda right, w: best_pair(
        -(w.diagonal() + w.diagonal()[:, None])
    ),
    "Subtract the costs of both heads, not only of the costlier one": lambda right, w: best_pair(
        right - w - torch.maximum(right - w.diagonal(), (right - w.diagonal())[:, None])
    ),
    "Those two cost least beyond the sum": lambda right, w: best_pair(-excesses(right, w)),
}


def draw_shares(draw: Generator, alone: float, needed: bool) -> Iterator[Case]:
    """Draw right answers without heads that cost up to `alone`, one of them far more if `needed`."""
    cases = 0
    while cases < 24:
        n, right = (3, 4, 8, 8)[cases % 4], float(0.9 + 0.1 * torch.rand((), generator=draw))
        costs = alone * torch.rand(n, generator=draw)
        costs[integer(draw, 0, n)] += 0.25 * needed
        extra = 0.3 * torch.rand(n, n, generator=draw).triu(1) ** 4
        cost = costs + costs[:, None] + extra + extra.T
        cost.fill_diagonal_(0)
        without = right - cost - costs.diag()
        if has_clear_winner(excesses(right, without)[torch.ones(n, n).triu(1) > 0]):
            cases += 1
            yield Case(f"right {right:.3f} and shares without pairs of {n} heads", (right, without))


STAND_INS = Exercise(
    TASKS["Heads that stand in for each other"],
    [
        Agrees(
            partial(draw_shares, alone=alone, needed=needed),
            stand_ins_answer,
            PAIR_MISTAKES,
            view=lambda result, *_: sorted(two_heads(result)),
        )
        for alone, needed in ((0.0, False), (0.1, False), (0.1, True))
    ],
    stand_ins_answer,
)


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
    """Ask for the effect of each head of models of these sizes (layers, heads), `calls` times."""
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

EXERCISES = (READER, STAND_INS, ABLATION)
