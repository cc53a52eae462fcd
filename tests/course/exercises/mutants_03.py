"""Mistakes in the exercises of notebooks 03a and 03b."""

from functools import partial

import torch

from babygpt.encodings.base import norm
from babygpt_course.exercises.lesson_03a import ATTENTION, BLOCK, HALF_BLIND
from babygpt_course.exercises.lesson_03b import (
    FEWEST_PAIRS,
    LIKENESS,
    LOOK_BACK,
    likeness_answer,
    look_back_answer,
)
from tests.course.exercises.harness import Mutant, known, requirements

SUMS, LATER, EARLIER, SCORES, MIX, PYTORCH = requirements(ATTENTION)
STAYS, MLP, ATTENDS, HEARS, WHOLE = requirements(BLOCK)
LETTERS, END, START, TWO = requirements(HALF_BLIND)
SAME, ONE_WAY, EITHER = ALIKE = requirements(LIKENESS)
ITSELF, BACK, ANYWHERE, SHARP = BACKWARD = requirements(LOOK_BACK)
FEW, SURE = requirements(FEWEST_PAIRS)


def attend(q, k, v, diagonal=1, scale=0.5, after=False, dim=-1, width_of_v=False, hidden=-torch.inf):
    scores = q @ k.transpose(-2, -1) / (v if width_of_v else q).shape[-1] ** scale
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)
    weights = scores.masked_fill(later & (not after), hidden).softmax(dim)
    weights = weights.masked_fill(later & after, 0.0)
    return weights @ v, weights


def block(x, w, n_head, pre=True, square=True, qk=True, scale=2, mask=True, mlp_norm=True, cut=True):
    B, T, C = x.shape
    D = C // n_head
    y = norm(x) if pre else x
    q, k, v = (y @ w[name].T for name in ("to_q", "to_k", "to_v"))
    if cut:
        q, k, v = (part.view(B, T, n_head, D).transpose(1, 2) for part in (q, k, v))
    else:
        q, k, v = (part.view(B, n_head, T, D) for part in (q, k, v))
    q, k = (norm(q), norm(k)) if qk else (q, k)
    scores = scale * q @ k.transpose(-2, -1) / D**0.5
    if mask:
        scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -torch.inf)
    mix = scores.softmax(-1) @ v
    mix = mix.transpose(1, 2).reshape(B, T, C) if cut else mix.reshape(B, T, C)
    x = mix @ w["out"].T + x
    hidden = ((norm(x) if mlp_norm else x) @ w["up"].T).relu()
    return (hidden**2 if square else hidden) @ w["down"].T + x


def head(n, n_embd, sign=1, scale=1.0, keys=False):
    to_q, to_k = look_back_answer(sign * n, n_embd)
    return (to_k, to_q * scale) if keys else (to_q * scale, to_k)


ADDS = [STAYS, MLP, ATTENDS, WHOLE]
UNMASKED = [LATER, EARLIER, SCORES, PYTORCH]
MUTANTS = [
    Mutant(ATTENTION, "no mask", partial(attend, diagonal=99), UNMASKED, "where is"),
    Mutant(ATTENTION, "off by one", partial(attend, diagonal=2), UNMASKED, "see the one after it"),
    Mutant(ATTENTION, "not itself", partial(attend, diagonal=0), [SUMS, *UNMASKED, MIX], "has no softmax"),
    Mutant(ATTENTION, "no scale", partial(attend, scale=0.0), [SCORES, PYTORCH], "by √D"),
    Mutant(ATTENTION, "by D", partial(attend, scale=1.0), [SCORES, PYTORCH], "not by D"),
    Mutant(ATTENTION, "v's width", partial(attend, width_of_v=True), [SCORES, PYTORCH], "not that of v"),
    Mutant(ATTENTION, "mask after", partial(attend, after=True), [SUMS, *UNMASKED], "before the softmax"),
    Mutant(ATTENTION, "over queries", partial(attend, dim=-2), [SUMS, *UNMASKED[1:]], "Your columns do"),
    Mutant(ATTENTION, "−15 for −∞", partial(attend, hidden=-15.0), [LATER, PYTORCH], "nothing lies below"),
    Mutant(ATTENTION, "−10,000 for −∞", partial(attend, hidden=-1e4), [LATER, PYTORCH], "nothing lies below"),
    Mutant(ATTENTION, "mix of v alone", lambda q, k, v: (v, attend(q, k, v)[1]), [MIX, PYTORCH]),
    known(BLOCK, "adds nothing", ADDS, "*adds* to the stream"),
    known(BLOCK, "ReLU", [MLP, WHOLE], "ReLU squared"),
    Mutant(BLOCK, "MLP reads the stream", partial(block, mlp_norm=False), [MLP, WHOLE]),
    Mutant(BLOCK, "attention reads the stream", partial(block, pre=False), [ATTENDS, WHOLE]),
    Mutant(BLOCK, "no query norm", partial(block, qk=False), [ATTENDS, WHOLE]),
    Mutant(BLOCK, "no mask", partial(block, mask=False), [ATTENDS, HEARS, WHOLE], "the last token, changed"),
    Mutant(BLOCK, "heads cut wrongly", partial(block, cut=False), [ATTENDS, WHOLE]),
    known(BLOCK, "norm after", ADDS, "itself is not normalised"),
    Mutant(HALF_BLIND, "the notebook's", ("我爱你", "你爱我"), [LETTERS, END, START, TWO], "from a to z"),
    Mutant(HALF_BLIND, "two exchanged", ("abcdef", "bacdef"), [START], "predicts the same after 'abc'"),
    Mutant(HALF_BLIND, "backwards", ("abcdef", "fedcba"), [END], "different things after"),
    Mutant(HALF_BLIND, "the same", ("abcdef", "abcdef"), [START, TWO], "two layers, too"),
    known(LIKENESS, "dot product", ALIKE, "length"),
    known(LIKENESS, "exponent −i/n", [ONE_WAY, EITHER], "with a 2"),
    known(LIKENESS, "by n_embd", ALIKE, "n_embd/2 pairs"),
    Mutant(LIKENESS, "never behind", lambda d, n, t: likeness_answer(max(d, 0), n, t), [EITHER]),
    Mutant(LIKENESS, "never below 0", lambda d, n, t: abs(likeness_answer(d, n, t)), [ONE_WAY, EITHER]),
    Mutant(LOOK_BACK, "ahead", partial(head, sign=-1), [BACK, ANYWHERE, SHARP], "*ahead*"),
    Mutant(LOOK_BACK, "soft", partial(head, scale=0.01), [SHARP], "make them larger"),
    Mutant(LOOK_BACK, "always one", lambda n, C: look_back_answer(1, C), BACKWARD, "tokens back, should be"),
    Mutant(FEWEST_PAIRS, "all", list(range(48)), [FEW], "48 pairs"),
    Mutant(FEWEST_PAIRS, "the quickest", [0], [SURE], "back where they were"),
    Mutant(FEWEST_PAIRS, "quick and slowest", torch.tensor([0, 47]), [SURE]),
    Mutant(FEWEST_PAIRS, "slow ones", [30, 40], [SURE], "too slowly"),
    Mutant(FEWEST_PAIRS, "from 1", [1, 48], [FEW, SURE], "from 0 to 47"),
]
