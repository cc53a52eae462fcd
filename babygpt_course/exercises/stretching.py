"""Exercises of notebook 10: NTK-aware frequencies, YaRN, and an experiment that finds out who forgets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.draws import integer
from babygpt_course.exercises.forgetting import FORGETS
from babygpt_course.exercises.picture import Picture


def uniform(draw: Generator, low: float, high: float) -> float:
    """A number from low to high, of two decimals, as it will be printed."""
    return round(low + (high - low) * float(torch.rand((), generator=draw)), 2)


# ------------------------------------------------------------ NTK


def ntk_stub(head_dim: int, theta: float, factor: float) -> Tensor:
    """RoPE's frequencies (head_dim/2,) in radians per token, for texts `factor` times as long."""
    return theta ** (-torch.arange(0, head_dim, 2) / head_dim)


def ntk_answer(head_dim: int, theta: float, factor: float) -> Tensor:
    """RoPE's frequencies (head_dim/2,) in radians per token, for texts `factor` times as long."""
    # Pair head_dim / 4 has the exponent -1/2, so the root of the base must grow by the factor.
    base = theta * factor**2
    return base ** (-torch.arange(0, head_dim, 2) / head_dim)


def ntk_slowings(attempt: Any, draw: Generator) -> list[tuple[Tensor, Tensor, str]]:
    """How many times slower the learner's pairs turn, how many they should, and what was asked."""
    found = []
    for head_dim in (4, 8, 16, 4 * integer(draw, 5, 20)):
        theta, factor = float(integer(draw, 50, 50_000)), uniform(draw, 1.5, 16)
        what = f"head_dim {head_dim}, theta {theta:.0f}, factor {factor:g}"
        got = ask(attempt, head_dim, theta, factor, what=what)
        if text := wrong_shape(got, (head_dim // 2,)):
            raise Wrong(f"for {what} {text}")
        pair = torch.arange(head_dim // 2, dtype=torch.float64)
        plain = theta ** (-2 * pair / head_dim)
        wanted = factor ** (pair / (head_dim // 4))  # in equal ratios: 1 for the first, s in the middle
        found.append((plain / torch.as_tensor(got).detach(), wanted, what))
    return found


def quickest_stays(attempt: Any, draw: Generator) -> None:
    for slower, wanted, what in ntk_slowings(attempt, draw):
        if text := difference(slower[0], 1.0, atol=1e-3):
            mistakes = {
                "That is position interpolation, which slows all of them": wanted[-1],
                "Are these wavelengths? Frequencies are asked, in radians per token": 1 / (2 * math.pi),
            }
            told = [f". {said}" for said, wrong in mistakes.items() if not difference(slower[0], wrong)]
            raise Wrong(f"for {what} the quickest pair is so many times slower: {text}{''.join(told[:1])}")


def middle_is_slowed(attempt: Any, draw: Generator) -> None:
    for slower, wanted, what in ntk_slowings(attempt, draw):
        middle, pairs = len(wanted) // 2, len(wanted)
        factor = float(wanted[middle])
        if text := difference(slower[middle], factor, atol=1e-3):
            mistakes = {
                "It is as quick as it was": 1.0,
                "It has become quicker": 1 / factor,
                "That is what `theta * factor` does: the exponent of this pair is not -1": factor**0.5,
                "That is the lesson's base, which slows the last pair so much": factor
                ** (middle / (pairs - 1)),
            }
            told = [f". {said}" for said, wrong in mistakes.items() if not difference(slower[middle], wrong)]
            raise Wrong(f"for {what} pair {middle} is so many times slower: {text}{''.join(told[:1])}")


def is_a_ladder(attempt: Any, draw: Generator) -> None:
    for slower, wanted, what in ntk_slowings(attempt, draw):
        if text := difference(slower, wanted, atol=1e-3):
            known = [0, len(wanted) // 2]
            fit = not difference(slower[known], wanted[known], atol=1e-3)
            told = ". Both wishes are kept; but from pair to pair the ratio must stay one" if fit else ""
            raise Wrong(f"for {what} pairs are so many times slower: {text}{told}")


def ntk_drawn(attempt: Any) -> Tensor:
    """How much slower each pair turns, as a power of 2, for the factors 1, 2, 4 ... 64: (7, D/2)."""
    plain = 500_000.0 ** (-torch.arange(0, 32, 2) / 32)
    found = [torch.as_tensor(attempt(32, 500_000.0, 2.0**row)) for row in range(7)]
    return (plain / torch.stack(found)).log2()


NTK = Exercise(
    name="Two wishes and a base",
    task=(
        "The lesson's NTK-aware scaling slows only the very last pair by the whole `factor`; those before "
        "it, some of which never finished a turn either, still reach new angles. Be more generous. A model "
        "was trained with RoPE: pair $i$ turns by $\\theta^{-2i/D}$ radians a token, $i = 0, 1, …, D/2 - 1$. "
        "Two wishes: the quickest pair turns as before; and the one in the middle, $i = D/4$, turns exactly "
        "`factor` times more slowly. And it stays RoPE: from each pair to the next, frequencies fall by one "
        "and the same ratio. Write `ntk(head_dim, theta, factor)`, which returns the D/2 frequencies, the "
        "quickest first. `head_dim` is a multiple of 4; the checker draws all three numbers."
    ),
    level="core",
    minutes=8,
    checks=(
        Check("the quickest pair turns as before", quickest_stays),
        Check("the one in the middle turns `factor` times more slowly", middle_is_slowed),
        Check("it is RoPE with another base", is_a_ladder),
    ),
    hints=(
        "Whatever the base is, pair 0 turns by 1 radian a token: the first wish is kept if only the base "
        "changes. The second wish then says which base.",
        "The pair in the middle has $i = D/4$. What is its exponent $-2i/D$?",
        "Solve $b^{-1/2} = \\theta^{-1/2} / s$ for the new base $b$.",
    ),
    stub=ntk_stub,
    answer=ntk_answer,
    picture=Picture(ntk_drawn, "pair", "factor (powers of 2)"),
)

# ------------------------------------------------------------ YaRN


def yarn_stub(
    frequencies: Tensor, window: int, factor: float, fewest: float, most: float
) -> tuple[Tensor, float]:
    """YaRN's frequencies (P,) for texts `factor` times as long, and what it multiplies scores by."""
    return frequencies, 1.0


def yarn_answer(
    frequencies: Tensor, window: int, factor: float, fewest: float, most: float
) -> tuple[Tensor, float]:
    """YaRN's frequencies (P,) for texts `factor` times as long, and what it multiplies scores by."""
    turns = window * frequencies / (2 * math.pi)
    kept = ((turns - fewest) / (most - fewest)).clamp(0, 1)
    # Queries and keys both get 1 + 0.1 ln(factor), and a score is a product of the two.
    return frequencies * (kept + (1 - kept) / factor), (1 + 0.1 * math.log(factor)) ** 2


class Trained(NamedTuple):
    """Pairs of frequencies in a window, and how they are to be stretched.

    turns         (P,)  that each pair finishes in the window, float64
    window        in tokens
    factor        of the stretch
    fewest, most  turns, up to which a pair is interpolated, and from which on it is left alone
    """

    turns: Tensor
    window: int
    factor: float
    fewest: float
    most: float

    @property
    def frequencies(self) -> Tensor:
        return self.turns * 2 * math.pi / self.window

    def __str__(self) -> str:
        between = f"fewest {self.fewest:g}, most {self.most:g}"
        return (
            f"window {self.window}, factor {self.factor:g}, {between}, pairs that turn {shown(self.turns)} "
            "times in the window"
        )


def drawn_pairs(draw: Generator, low: float, high: float) -> list[Trained]:
    """1, 2 and 5 pairs whose turns lie between two places.

    low, high  0 stands for no turn at all, 1 for `fewest` turns, 2 for `most`, and 3 for three times `most`
    """
    found = []
    for pairs in (1, 2, 5):
        window, factor = integer(draw, 32, 4096), uniform(draw, 2, 16)
        fewest, more = uniform(draw, 0.5, 4), uniform(draw, 2, 30)
        place = low + (high - low) * torch.rand(pairs, generator=draw, dtype=torch.float64)
        most = round(fewest + more, 2)
        turns = fewest * place.clamp(max=1) + more * (place - 1).clamp(0, 1) + 2 * most * (place - 2).clamp(0)
        found.append(Trained(turns.sort(descending=True).values, window, factor, fewest, most))
    return found


def asked_yarn(attempt: Any, trained: Trained) -> tuple[Any, Any]:
    """The learner's frequencies and multiplier. Raises Wrong if it returns anything but two things."""
    got = ask(attempt, trained.frequencies, *trained[1:], what=str(trained))
    if not isinstance(got, tuple | list) or len(got) != 2:
        told = "came out: None. Is a `return` missing?" if got is None else f"came out: {shown(got)}"
        raise Wrong(f"for {trained} {told}; should be two things, the frequencies and a number")
    return got[0], got[1]


def kept_share(turns: float, trained: Trained) -> float:
    """How much of a pair's own frequency stays: 0 up to `fewest` turns, 1 from `most` on."""
    if turns <= trained.fewest:
        return 0.0
    return 1.0 if turns >= trained.most else (turns - trained.fewest) / (trained.most - trained.fewest)


def known_slowings(trained: Trained) -> dict[str, Tensor]:
    """What to tell the learner -> how many times slower pairs turn for somebody who makes that mistake."""
    s, turns = trained.factor, trained.turns.tolist()

    def slower(shares: list[float]) -> Tensor:
        return torch.tensor([1 / (share + (1 - share) / s) for share in shares], dtype=torch.float64)

    kept = [kept_share(n, trained) for n in turns]
    logs = trained._replace(fewest=math.log(trained.fewest), most=math.log(trained.most))
    return {
        "": slower(kept),
        "You left them as they were": slower([1.0] * len(turns)),
        "You slowed them by the whole factor": slower([0.0] * len(turns)),
        "Is your ramp the wrong way round? Pairs that turn often keep their pace": slower(
            [1 - share for share in kept]
        ),
        "A turn is 2π radians": slower([kept_share(2 * math.pi * n, trained) for n in turns]),
        "Count turns in the window of training, not in the stretched one": slower(
            [kept_share(s * n, trained) for n in turns]
        ),
        "Mix the frequencies, not the wavelengths": torch.tensor(
            [share + (1 - share) * s for share in kept], dtype=torch.float64
        ),
        "The share grows evenly with the turns, not with their logarithm": slower(
            [kept_share(math.log(n), logs) for n in turns]
        ),
        "A share is never below 0 or above 1": slower(
            [(n - trained.fewest) / (trained.most - trained.fewest) for n in turns]
        ),
    }


def compare_slowings(attempt: Any, cases: list[Trained]) -> None:
    for trained in cases:
        got, _ = asked_yarn(attempt, trained)
        if text := wrong_shape(got, tuple(trained.turns.shape)):
            raise Wrong(f"for {trained} {text}")
        slower = trained.frequencies / torch.as_tensor(got).detach()
        known = known_slowings(trained)
        if text := difference(slower, known.pop(""), atol=1e-3):
            told = (said for said, wrong in known.items() if not difference(slower, wrong, atol=1e-3))
            raise Wrong(f"for {trained} they are so many times slower: {text}. {next(told, '')}".rstrip(". "))


def often_turned(attempt: Any, draw: Generator) -> None:
    compare_slowings(attempt, drawn_pairs(draw, 2.05, 3))


def never_turned(attempt: Any, draw: Generator) -> None:
    compare_slowings(attempt, drawn_pairs(draw, 0.3, 0.9))


def in_between(attempt: Any, draw: Generator) -> None:
    compare_slowings(attempt, drawn_pairs(draw, 1.1, 1.9))


def sharper(attempt: Any, draw: Generator) -> None:
    for trained in drawn_pairs(draw, 0, 3):
        once = 1 + 0.1 * math.log(trained.factor)
        mistakes = {
            "Queries get it and keys get it; a score is a product of the two": once,
            "Attention becomes sharper, so scores grow": 1 / once**2,
            "ln is the natural logarithm, `math.log`": (1 + 0.1 * math.log10(trained.factor)) ** 2,
        }
        got = asked_yarn(attempt, trained)[1]
        if text := difference(got, once**2):
            told = [f". {said}" for said, wrong in mistakes.items() if not difference(got, wrong)]
            raise Wrong(f"for factor {trained.factor:g} the scores' number {text}{''.join(told[:1])}")


def yarn_drawn(attempt: Any) -> Tensor:
    """How much slower each pair turns, as a power of 2, for a window of 4096 and factors 1 to 64: (7, P)."""
    plain = 10_000.0 ** (-torch.arange(0, 64, 2) / 64)
    found = [torch.as_tensor(attempt(plain, 4096, 2.0**row, 1.0, 32.0)[0]) for row in range(7)]
    return (plain / torch.stack(found)).log2()


YARN = Exercise(
    name="What turned often stays",
    task=(
        "YaRN asks of each pair how often it turned in the `window` that the model was trained on. Write "
        "`yarn(frequencies, window, factor, fewest, most)` for pairs of any `frequencies` (P,), in radians a "
        "token. A pair that made `most` turns or more keeps its frequency. One that made `fewest` turns or "
        "fewer is interpolated: it becomes `factor` times slower. In between, the share of the old frequency "
        "in the new one grows evenly with the number of turns, from 0 to 1; the rest is the interpolated "
        "one. And attention becomes sharper: queries and keys are *each* multiplied by 1 + 0.1 ln(`factor`). "
        "Return two things, the new frequencies (P,) and the number by which the *scores* come to be "
        "multiplied. (This is the ramp of the paper. The package's runs evenly over the pairs' numbers, as "
        "in the paper's code.)"
    ),
    level="stretch",
    minutes=12,
    checks=(
        Check("pairs that turned often keep their pace", often_turned),
        Check("pairs that never turned enough are interpolated", never_turned),
        Check("in between, the share grows with the turns", in_between),
        Check("scores are multiplied as they should", sharper),
    ),
    hints=(
        "Turns first: a pair moves by `window * frequency` radians in a window. How many turns is that?",
        "The share that is kept is a straight line through 0 at `fewest` and 1 at `most`, cut off at both "
        "ends: `.clamp(0, 1)`.",
        "New frequency: share · old + (1 − share) · old / factor. A score is the product of a query and a "
        "key, and both were multiplied.",
    ),
    stub=yarn_stub,
    answer=yarn_answer,
    picture=Picture(yarn_drawn, "pair", "factor (powers of 2)"),
)

EXERCISES = (NTK, YARN, FORGETS)
