"""Mistakes in the exercises of notebook 12, and right answers, which fail nothing."""

import torch
import torch.nn.functional as F

from babygpt_course.exercises.lesson_12 import (
    FORGE,
    SHORT_CONVOLUTION,
    TOKEN_SHIFT,
    forge_answer,
    my_convolution_answer,
    my_shift_answer,
)
from tests.course.exercises.harness import Mutant, listed_mistake, requirements

FIRST, ONE_TEXT, SEVERAL = ALL_SHIFT = requirements(TOKEN_SHIFT)
THERE, ELSEWHERE = ALL_FORGE = requirements(FORGE)
ALONE, BEFORE, LONGER = ALL_CONVOLUTION = requirements(SHORT_CONVOLUTION)


def shift_in_place(x, weight):
    x[:, 1:] += weight * x[:, :-1].clone()
    return x


def shift_with_a_loop(x, weight):
    tokens = [x[:, 0]]
    for t in range(1, x.shape[1]):
        tokens.append(x[:, t] + weight * x[:, t - 1])
    return torch.stack(tokens, dim=1)


def forge_with_where(own, twin, position):
    there = torch.arange(own.shape[1]) == position[:, None]
    return torch.where(there[..., None], twin, own)


def forge_in_place(own, twin, position):
    row = torch.arange(len(own))
    own[row, position] = twin[row, position]
    return own


def convolve_with_pytorch(x, weights):
    K, C = weights.shape
    padded = F.pad(x.mT, (K - 1, 0))  # (B, C, T + K - 1)
    return F.conv1d(padded, weights.flip(0).T[:, None], groups=C).mT


def convolve_centred(x, weights):
    return F.pad(my_convolution_answer(x, weights)[:, len(weights) // 2 :], (0, 0, 0, len(weights) // 2))


MUTANTS = [
    Mutant(TOKEN_SHIFT, "right, with a loop", shift_with_a_loop, []),
    listed_mistake(TOKEN_SHIFT, "nothing added", [ONE_TEXT, SEVERAL], "Nothing is added"),
    Mutant(TOKEN_SHIFT, "writes into x", shift_in_place, ALL_SHIFT, "work on a copy"),
    listed_mistake(TOKEN_SHIFT, "the token after", ALL_SHIFT, "the token after"),
    listed_mistake(TOKEN_SHIFT, "rolled", ALL_SHIFT, "`roll`"),
    listed_mistake(TOKEN_SHIFT, "replaced", ALL_SHIFT, "is added to it"),
    listed_mistake(TOKEN_SHIFT, "mixed, as in RWKV", ALL_SHIFT, "its own weight is 1"),
    listed_mistake(TOKEN_SHIFT, "no weights", [ONE_TEXT, SEVERAL], "weights are missing"),
    listed_mistake(TOKEN_SHIFT, "texts in a row", [SEVERAL], "of another text"),
    listed_mistake(TOKEN_SHIFT, "recurrent", [ONE_TEXT, SEVERAL], "what this has become"),
    listed_mistake(TOKEN_SHIFT, "two before", [ONE_TEXT, SEVERAL], "two before"),
    listed_mistake(TOKEN_SHIFT, "channels moved", ALL_SHIFT, "moved channels"),
    Mutant(
        TOKEN_SHIFT,
        "half precision",
        lambda x, weight: my_shift_answer(x, weight).half(),
        ALL_SHIFT,
        "float16",
    ),
    Mutant(FORGE, "right, with where", forge_with_where, []),
    listed_mistake(FORGE, "nothing exchanged", ALL_FORGE, "Nothing is exchanged"),
    Mutant(FORGE, "writes into own", forge_in_place, ALL_FORGE, "work on a copy"),
    listed_mistake(FORGE, "all positions in each", [ELSEWHERE], "those of all questions"),
    listed_mistake(FORGE, "everything", [ELSEWHERE], "every token"),
    listed_mistake(FORGE, "the wrong way", ALL_FORGE, "the wrong way"),
    listed_mistake(FORGE, "from there on", [ELSEWHERE], "come after it"),
    listed_mistake(FORGE, "the first question's position", ALL_FORGE, "first question"),
    listed_mistake(FORGE, "added", ALL_FORGE, "is not added"),
    listed_mistake(FORGE, "silenced", ALL_FORGE, "not silence"),
    listed_mistake(FORGE, "another twin", ALL_FORGE, "its own twin"),
    Mutant(
        FORGE,
        "one later",
        lambda own, twin, position: forge_answer(own, twin, (position + 1) % own.shape[1]),
        ALL_FORGE,
    ),
    Mutant(SHORT_CONVOLUTION, "right, with PyTorch's own function", convolve_with_pytorch, []),
    listed_mistake(SHORT_CONVOLUTION, "nothing mixed", ALL_CONVOLUTION, "Nothing is mixed"),
    listed_mistake(SHORT_CONVOLUTION, "turned round", [BEFORE, LONGER], "the other way round"),
    listed_mistake(SHORT_CONVOLUTION, "ahead", [BEFORE, LONGER], "tokens after it"),
    listed_mistake(SHORT_CONVOLUTION, "rolled", [BEFORE, LONGER], "`roll`"),
    listed_mistake(SHORT_CONVOLUTION, "the token twice", ALL_CONVOLUTION, "once more"),
    listed_mistake(SHORT_CONVOLUTION, "from the token before on", ALL_CONVOLUTION, "begin at 0"),
    listed_mistake(SHORT_CONVOLUTION, "one weight a distance", ALL_CONVOLUTION, "Each channel"),
    listed_mistake(SHORT_CONVOLUTION, "two terms", [LONGER], "Only two terms"),
    Mutant(SHORT_CONVOLUTION, "centred", convolve_centred, [BEFORE, LONGER]),
]
