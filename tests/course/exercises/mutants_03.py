"""Mistakes in the exercises of notebooks 03a and 03b."""

from functools import partial

import torch

from babygpt_course.exercises.lesson_03a import (
    CAUSAL_WEIGHTS,
    HALF_BLIND,
    MASK,
    SCALE,
    causal_weights_answer,
    mask_answer,
    scale_answer,
    weights_of,
)
from babygpt_course.exercises.lesson_03b import CAUSE, FEWEST_PAIRS, LOOK_BACK, look_back_answer
from tests.course.exercises.harness import Mutant, listed_mistake, requirements

FIRST, ROWS, SEVERAL = ALL_WEIGHTS = requirements(CAUSAL_WEIGHTS)
PLAIN, SIZED, FACTOR, SIZED_FACTOR = requirements(SCALE)
REAL, PADDING = requirements(MASK)
LETTERS, END, START, TWO = requirements(HALF_BLIND)
ITSELF, BACK, ANYWHERE, SHARP = BACKWARD = requirements(LOOK_BACK)
FEW, SURE = requirements(FEWEST_PAIRS)
SAME, LEFT_OUT, AWAY = requirements(CAUSE)


def scaled(D, q, k, D_root=-0.5, sizes=True, variance=None):
    right, _ = scale_answer(D, q, k)
    return right if variance is None else variance(D, q, k), D**D_root / (q * k if sizes else 1)


KEPT = {}  # shape -> the first lengths


def over_fewer(n, C):
    """Take frequencies over C - 2 channels, as if the last pair stood at the end of the scale."""
    back = torch.zeros(C, C)
    for i in range(C // 2):
        a = torch.tensor(-n * 10_000.0 ** (-2 * i / (C - 2)))
        back[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]])
    return 100 * back, torch.eye(C)


def masked(lengths, T, pad_left=True, causal=True, hide=True, itself=True):
    positions = torch.arange(T)
    real = positions >= T - lengths[:, None] if pad_left else positions < lengths[:, None]
    visible = (real[:, None] | (not hide)) & ((positions[:, None] >= positions) | (not causal))
    return visible | (torch.eye(T).bool() & itself)


def caused(train, places=(0, 1000), position=1000, least=0.5):
    """Find the cause from models that train at some places, the last one alone as a control."""
    first, both = train(places[:1]), train(places)
    if both(position) - both(0) > least:
        return "far"
    return "not met" if first(position) - first(0) > least else "neither"


def between_models(train):
    return "far" if train([0, 1000])(1000) - train([0])(0) > 0.15 else "neither"


SCALE_MISTAKES = [
    ("none", partial(scaled, D_root=0, sizes=False), [FACTOR, SIZED_FACTOR], "variance 4; should be 1"),
    ("1/D", partial(scaled, D_root=-1), [FACTOR, SIZED_FACTOR], "variance 0.25"),
    ("1/√D whatever the sizes", partial(scaled, sizes=False), [SIZED_FACTOR]),
    ("sizes not squared", partial(scaled, variance=lambda D, q, k: D * q * k), [SIZED], "as squares"),
    ("deviation", partial(scaled, variance=lambda D, q, k: D**0.5 * q * k), [PLAIN, SIZED], "its root"),
    ("below 0", lambda *a: (scale_answer(*a)[0], -scale_answer(*a)[1]), [FACTOR, SIZED_FACTOR], "above 0"),
    ("infinite", lambda *a: (scale_answer(*a)[0], torch.inf), [FACTOR, SIZED_FACTOR], "above 0"),
]
MASK_MISTAKES = [
    ("padding on the right", partial(masked, pad_left=False), [REAL, PADDING], "reads padding"),
    ("padding is read", partial(masked, hide=False), [REAL, PADDING], "reads padding"),
    ("lengths of a byte", lambda n, T: mask_answer(n % 256, T), [REAL]),
    ("kept by shape", lambda n, T: mask_answer(KEPT.setdefault((n.shape, T), n), T), [REAL, PADDING]),
    ("float16", lambda *a: mask_answer(*a).half(), [REAL, PADDING], "float16"),
    ("no mask", partial(masked, causal=False), [REAL, PADDING], "those after it"),
    ("empty rows", partial(masked, itself=False), [PADDING], "nan: in text 0, query 0, key 0"),
    ("what is hidden", lambda *a: ~mask_answer(*a), [REAL, PADDING]),
    ("scores", lambda *a: torch.where(mask_answer(*a), 0, -torch.inf), [REAL, PADDING], "True or False"),
    ("of the first text", lambda n, T: mask_answer(n[:1], T).expand(len(n), T, T), [REAL, PADDING]),
]
CAUSE_MISTAKES = [
    ("no control", partial(caused, places=(0,)), [LEFT_OUT], "which is 'not met'"),
    ("too near", partial(caused, places=(0, 500), position=500), [AWAY], "wherever training stood"),
    ("at least 1.9", partial(caused, least=1.9), [LEFT_OUT, AWAY]),
    ("at least 1.5", partial(caused, least=1.5), [LEFT_OUT, AWAY]),
    ("before the text", partial(caused, places=(-1, 1000)), [SAME, LEFT_OUT, AWAY], "from 0 to 1000"),
    ("right, at least 1.4", partial(caused, least=1.4), []),
    ("luck counts", partial(caused, least=0.0), [SAME, LEFT_OUT], "is the same everywhere"),
    ("two models compared", between_models, [SAME, LEFT_OUT], "you say 'far'"),
    ("always one", lambda train: "not met", [SAME, AWAY], "you say 'not met'"),
    ("another word", lambda train: "near", [SAME, LEFT_OUT, AWAY], "should be one of"),
]
KEPT_WEIGHTS = {}  # shape -> the first weights


def weights_one_by_one(scores):
    """Compute right weights row by row, in a loop."""
    weights = torch.zeros_like(scores)
    for t in range(scores.shape[-1]):
        powers = (scores[..., t, : t + 1] - scores[..., t, : t + 1].amax(dim=-1, keepdim=True)).exp()
        weights[..., t, : t + 1] = powers / powers.sum(dim=-1, keepdim=True)
    return weights


def weights_in_place(scores):
    """Hide the scores that were given, not a copy."""
    return scores.masked_fill_(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf).softmax(dim=-1)


MUTANTS = [
    Mutant(CAUSAL_WEIGHTS, "right, in a loop", weights_one_by_one, []),
    listed_mistake(CAUSAL_WEIGHTS, "no mask", ALL_WEIGHTS, "there is no mask"),
    listed_mistake(CAUSAL_WEIGHTS, "hidden scores of 0", ALL_WEIGHTS, "e⁰ is 1"),
    listed_mistake(CAUSAL_WEIGHTS, "hidden after the softmax", ALL_WEIGHTS, "Hide first"),
    listed_mistake(CAUSAL_WEIGHTS, "the mask turned", ALL_WEIGHTS, "turned around"),
    listed_mistake(CAUSAL_WEIGHTS, "softmax over queries", ALL_WEIGHTS, "last axis"),
    Mutant(CAUSAL_WEIGHTS, "not itself", partial(weights_of, hidden=0), ALL_WEIGHTS, "nan"),
    Mutant(CAUSAL_WEIGHTS, "in place", weights_in_place, ALL_WEIGHTS, "work on a copy"),
    Mutant(CAUSAL_WEIGHTS, "scores", lambda scores: scores.tril(), ALL_WEIGHTS),
    Mutant(
        CAUSAL_WEIGHTS,
        "up to 64 tokens",
        lambda scores: causal_weights_answer(scores[..., :64, :64]),
        [FIRST, ROWS],
        "should be",
    ),
    Mutant(
        CAUSAL_WEIGHTS,
        "kept by shape",
        lambda scores: KEPT_WEIGHTS.setdefault(scores.shape, causal_weights_answer(scores)),
        [ROWS, SEVERAL],
    ),
    Mutant(
        CAUSAL_WEIGHTS,
        "one head",
        lambda scores: causal_weights_answer(scores.reshape(-1, *scores.shape[-2:])[0]),
        [SEVERAL],
    ),
    *(Mutant(SCALE, *mistake) for mistake in SCALE_MISTAKES),
    *(Mutant(MASK, *mistake) for mistake in MASK_MISTAKES),
    *(Mutant(CAUSE, *mistake) for mistake in CAUSE_MISTAKES),
    Mutant(HALF_BLIND, "the notebook's", ("我爱你", "你爱我"), [LETTERS, END, START, TWO], "from a to z"),
    Mutant(HALF_BLIND, "two exchanged", ("abcdef", "bacdef"), [START], "predicts the same after 'abc'"),
    Mutant(HALF_BLIND, "backwards", ("abcdef", "fedcba"), [END], "different things after"),
    Mutant(HALF_BLIND, "the same", ("abcdef", "abcdef"), [START, TWO], "two layers, too"),
    Mutant(LOOK_BACK, "ahead", lambda n, C: look_back_answer(-n, C), [BACK, ANYWHERE, SHARP], "*ahead*"),
    Mutant(
        LOOK_BACK, "soft", lambda n, C: 0.1 * torch.stack(look_back_answer(n, C)), [SHARP], "make them larger"
    ),
    Mutant(LOOK_BACK, "over C - 2", over_fewer, BACKWARD[1:]),
    Mutant(LOOK_BACK, "complex", lambda *a: [x + 1j for x in look_back_answer(*a)], BACKWARD, "complex"),
    Mutant(LOOK_BACK, "8 at most", lambda n, C: look_back_answer(min(n, 8), C), BACKWARD[1:], "should be"),
    Mutant(LOOK_BACK, "always one", lambda n, C: look_back_answer(1, C), BACKWARD, "1 token back, should be"),
    Mutant(FEWEST_PAIRS, "all", list(range(48)), [FEW], "48 pairs"),
    Mutant(FEWEST_PAIRS, "the quickest", [0], [SURE], "back where they were"),
    Mutant(FEWEST_PAIRS, "quick and slowest", torch.tensor([0, 47]), [SURE]),
    Mutant(FEWEST_PAIRS, "slow ones", [30, 40], [SURE], "too slowly"),
    Mutant(FEWEST_PAIRS, "from 1", [1, 48], [FEW, SURE], "from 0 to 47"),
]
