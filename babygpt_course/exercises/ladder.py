"""Exercises of notebook 08: a paired verdict, a fair comparison of lengths, an encoding of one's own."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, shown
from babygpt_course.exercises.draws import integer
from babygpt_course.exercises.own_encoding import OWN_ENCODING


def verdict_stub(ours: list[float], theirs: list[float]) -> tuple[float, float, str]:
    """Mean difference, its standard deviation over the seeds, and "better", "worse" or "undecided"."""
    return fmean(ours) - fmean(theirs), stdev(ours), "better"


def verdict_answer(ours: list[float], theirs: list[float]) -> tuple[float, float, str]:
    """Mean difference, its standard deviation over the seeds, and "better", "worse" or "undecided"."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    word = "better" if max(gaps) < 0 else "worse" if min(gaps) > 0 else "undecided"
    return fmean(gaps), stdev(gaps), word


def boards(draw: Generator) -> list[tuple[list[float], list[float]]]:
    """Losses of two models, seed by seed, for all kinds of verdicts; a seed's luck is far larger."""
    found = []
    for n, gap in ((3, -0.1), (3, 0.1), (4, 0.0), (5, -0.06), (2, 0.05), (6, 0.0), (3, -0.03)):
        luck = 0.5 + torch.rand(n, generator=draw, dtype=torch.float64)
        noise = 0.02 * (torch.rand(n, generator=draw, dtype=torch.float64) - 0.5)
        if not gap:
            noise = 0.2 * (noise - noise.mean()) - 0.0005
        found.append(((luck + gap + noise).tolist(), luck.tolist()))
    return [*found, ([0.5, 0.4, 0.3], [0.5, 0.5, 0.4])]


def judged(
    attempt: Any, draw: Generator
) -> list[tuple[tuple[Any, ...], tuple[float, float, str], str, list[float]]]:
    """The learner's three answers for each board, the right ones, what was asked, and the gaps."""
    found = []
    for ours, theirs in boards(draw):
        listed = [", ".join(f"{x:.3f}" for x in losses) for losses in (ours, theirs)]
        what = f"ours [{listed[0]}], theirs [{listed[1]}]"
        got = ask(attempt, ours, theirs, what=what)
        if not isinstance(got, tuple | list) or len(got) != 3:
            raise Wrong(
                f"for {what} came out: {shown(got)}; should be three things: mean, deviation, verdict"
            )
        gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
        found.append((tuple(got), verdict_answer(ours, theirs), what, gaps))
    return found


def mean_right(attempt: Any, draw: Generator) -> None:
    for got, want, what, _ in judged(attempt, draw):
        if text := difference(got[0], want[0], atol=1e-6):
            told = ". Ours minus theirs" if not difference(got[0], -want[0], atol=1e-6) else ""
            raise Wrong(f"for {what} the mean difference {text}{told}")


def deviation_right(attempt: Any, draw: Generator) -> None:
    for (ours, theirs), (got, want, what, gaps) in zip(
        boards(Generator().manual_seed(draw.initial_seed())), judged(attempt, draw), strict=True
    ):
        if text := difference(got[1], want[1], atol=1e-6):
            n = len(gaps)
            mistakes = {
                "Three runs are a sample: divide by n − 1": want[1] * ((n - 1) / n) ** 0.5,
                "First subtract, seed by seed; then see how much the differences vary": stdev(ours),
                "That is for two models with no seed in common. First subtract, seed by seed": (
                    stdev(ours) ** 2 + stdev(theirs) ** 2
                )
                ** 0.5,
                "That is the error of the mean": want[1] / n**0.5,
            }
            told = [f". {said}" for said, wrong in mistakes.items() if not difference(got[1], wrong, 1e-6)]
            raise Wrong(f"for {what} the deviation {text}{told[0] if told else ''}")


def word_right(attempt: Any, draw: Generator) -> None:
    for got, want, what, gaps in judged(attempt, draw):
        if text := difference(got[2], want[2]):
            signs = ", ".join(f"{gap:+.3f}" for gap in gaps)
            told = ". A lower loss is better" if {got[2], want[2]} == {"better", "worse"} else ""
            told = ". A tie is neither lower nor higher" if 0 in gaps else told
            raise Wrong(f"for {what} the verdict {text}: the differences are {signs}{told}")


VERDICT = Exercise(
    name="A verdict, in pairs",
    task=(
        "Write `verdict(ours, theirs)`: losses of two models, one number for each seed, the same seeds in "
        "the same order. Return three things: the mean of the differences (ours minus theirs), their "
        "standard deviation over the seeds (a sample: divide by n − 1), and a word: `better` if ours has the "
        "lower loss in *every* seed, `worse` if it has the higher one in every seed, otherwise `undecided`; "
        "a tie is neither lower nor higher. (This is the first half of the page's rule. Whether the mean is "
        "far enough from zero is the other half, and not asked here.)"
    ),
    level="warm-up",
    minutes=6,
    checks=(
        Check("the mean difference", mean_right),
        Check("its deviation, over pairs", deviation_right),
        Check("the word", word_right),
    ),
    hints=(
        "Subtract first: one difference for each seed. Everything else is asked of these.",
        "`statistics.stdev` divides by n − 1. The word looks at the largest and the smallest difference.",
    ),
    stub=verdict_stub,
    answer=verdict_answer,
)


def longer_stub(near: Tensor, far: Tensor, least: int) -> tuple[float, float]:
    """How much the loss changes in longer windows: over all tokens, and over those that can be compared."""
    return float(far.mean() - near.mean()), float(far.mean() - near.mean())


def longer_answer(near: Tensor, far: Tensor, least: int) -> tuple[float, float]:
    """How much the loss changes in longer windows: over all tokens, and over those that can be compared."""
    change = far.view(near.shape) - near  # (W, n, T): the same tokens, read in one window and in n
    return float(change.mean()), float(change[:, 1:, least:].mean())


def windows(draw: Generator) -> list[tuple[Tensor, Tensor, int, str]]:
    """Losses of short and long windows over the same tokens: a poor start in each short one."""
    found = []
    for W, n, T in ((1, 2, 3), (2, 4, 5), (5, 3, 16)):
        least = integer(draw, 1, T)
        start = 2.0 / torch.arange(1, T + 1, dtype=torch.float64)
        near = start + torch.rand(W, n, T, generator=draw, dtype=torch.float64)
        far = near + 0.3 * torch.randn(W, n, T, generator=draw, dtype=torch.float64) - start
        far[:, 0] = near[:, 0]  # the first short window is read alike
        found.append((near, far.flatten(1), least, f"W = {W}, n = {n}, T = {T}, least = {least}"))
    return found


def wrong_changes(near: Tensor, far: Tensor, least: int) -> list[tuple[str, float]]:
    """What to say, and the change over the wrong tokens that it is about; nan for no tokens at all."""
    change = far.view(near.shape) - near
    from_zero = "A token at place p of its window has p tokens before it, from 0"
    tokens = [
        ("That is the change over all tokens, poor starts and all", change),
        ("In the first window of each row nothing changes: it does not count here", change[:, :, least:]),
        ("Tokens with fewer than `least` before them in their short window do not count", change[:, 1:]),
        (from_zero, change[:, 1:, least - 1 :]),
        (from_zero, change[:, 1:, least + 1 :]),
    ]
    return [(said, float(some.mean())) for said, some in tokens]


def lengths(number: int, attempt: Any, draw: Generator) -> None:
    """Compare one of the two numbers."""
    for near, far, least, what in windows(draw):
        got, want = ask(attempt, near, far, least, what=what), longer_answer(near, far, least)
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise Wrong(
                f"for {what} came out: {shown(got)}; should be two numbers: of all tokens, of fair ones"
            )
        if text := difference(got[number], want[number], atol=1e-6):
            mistakes = [("It is far minus near", -want[number]), *wrong_changes(near, far, least)]
            told = [
                f". {said}"
                for said, wrong in mistakes
                if not difference(got[number], wrong, 1e-6) or shown(got[number]) == shown(wrong) == "nan"
            ]
            name = ("the change over all tokens", "the fair change")[number]
            raise Wrong(f"for {what} {name} {text}{told[0] if told else ''}")


def all_tokens(attempt: Any, draw: Generator) -> None:
    lengths(0, attempt, draw)


def fair_tokens(attempt: Any, draw: Generator) -> None:
    lengths(1, attempt, draw)


LONGER = Exercise(
    name="Longer, compared fairly",
    task=(
        "A model reads the same tokens twice: in long windows of n·T tokens, with losses `far` (W, n·T), and "
        "cut into n short windows each, side by side, with losses `near` (W, n, T). A short window begins "
        "badly, because little stands before its first tokens, and so a longer one *looks* better. Write "
        "`longer(near, far, least)`, two numbers: the mean change, far minus near, over all tokens; and the "
        "fair change, over the tokens that have at least `least` tokens before them in their own short "
        "window, and do not lie in the first short window of their row (it is read alike both times)."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("the change over all tokens", all_tokens),
        Check("the fair change", fair_tokens),
    ),
    hints=(
        "Bring both into one shape first: which token of `far` is `near[w, i, p]`?",
        "`far.view(near.shape)`: token p of short window i is token i·T + p of the long one.",
        "Then leave out window 0 and the first `least` places: `change[:, 1:, least:]`.",
    ),
    stub=longer_stub,
    answer=longer_answer,
)

EXERCISES = (VERDICT, LONGER, OWN_ENCODING)
