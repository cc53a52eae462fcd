"""Bench: four tests of a score with positions, for your own function or for codes that people have tried."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.encodings.gaussian import ALPHAS, SIGMAS, log_kernel
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt_course.exercises.checks import Wrong, require
from babygpt_course.exercises.compare import as_numbers, came_out, describe
from babygpt_live import Axis, Cells, Choice, Explorer, Panel, Trials

Score = Callable[[Tensor, Tensor, int, int], Any]  # q and k (DIM,), positions of query and key -> a number
DIM = 32  # channels of q and k
N_PAIRS = 16  # random pairs of q and k
SIDE = 32  # positions along a side of the picture
PLACES = ((9, 2), (30, 29), (50, 10), (63, 40))
FAR = 100_000
# After a shift to 20 before a round number, a query and its key stand on both sides of it, so that positions
# that are counted modulo this number show.
ROUND = (1_000, 10_000, 20_000, *(2**i for i in range(7, 17)))
SHIFTS = (7, 100, 5_000, *(number - 20 for number in ROUND), 30_000, 60_000, 90_000)
LAST = 64  # position from which the distances 0 to 64 are measured
LEAST = 0.01  # least difference that counts
SCALE = 10.0  # factor by which the spread may grow or shrink
# Each name says when a score passes.
TESTS = [
    Axis("order: change when query and key swap (above 1%)"),
    Axis("shift: change when both move by 7 to 90,000 (at most 1%)"),
    Axis("long text: spread of scores at 100,000 (× 0.1 to × 10)"),
    Axis("distances: difference of the two most alike (above 1%)"),
]
YOURS = "yours"
NONE = "no positions"
NOTE = f"{N_PAIRS} random pairs of q and k; 100%, or × 1, is the spread of their scores near the start."


def binary(position: int) -> Tensor:
    """Return the binary digits of a position, the last one first: (DIM,)."""
    return torch.tensor(position) >> torch.arange(DIM) & 1


def add_codes(code: Callable[[int], Any]) -> Score:
    """Return a score of vectors to which a code of their position is added."""
    return lambda q, k, m, n: (q + code(m)) @ (k + code(n))


def rotation(q: Tensor, k: Tensor, m: int, n: int) -> Tensor:
    """Return the score of RoPE."""
    turned_q, turned_k = rotate(torch.stack([q, k])[None, None], torch.tensor([m, n]))[0, 0]
    return turned_q @ turned_k


@cache
def kernel_at(position: int) -> float:
    """Return v5's kernel at a position, with the widths that it has at first."""
    widths = (torch.tensor(part, dtype=torch.float64).log() for part in (ALPHAS, SIGMAS))
    return float(log_kernel(torch.tensor(float(position)), *widths).exp())


CANDIDATES: dict[str, tuple[Score, str]] = {
    NONE: (lambda q, k, m, n: q @ k, "q · k is the same wherever the two tokens stand"),
    "integers added": (add_codes(lambda m: m), "the numbers grow until they hide q · k"),
    "binary code added": (add_codes(binary), "from 7 to 8 four digits change, and from 8 to 9 one"),
    "sine alone": (
        add_codes(lambda m: (m * frequencies(2 * DIM)).sin()),
        "sin m · sin n = ½ cos(m − n) − ½ cos(m + n), and the last part moves with the text",
    ),
    "sinusoid added": (
        add_codes(lambda m: sinusoid(torch.tensor(m), DIM)),
        "code times code depends on m − n alone, but q times code and k times code do not",
    ),
    "absolute kernel": (
        lambda q, k, m, n: kernel_at(m) * kernel_at(n) * rotation(q, k, m, n),
        "a rotation, times a kernel that falls with the distance from the start, to 0",
    ),
    "rotation": (rotation, "q turns with m and k with n, so their angle changes with m − n alone"),
}


@dataclass(frozen=True)
class Tried:
    """Result of a candidate.

    answers  to each test, in words
    passed   whether each test was passed
    scores   (SIDE, SIDE)  of one pair, or None if there is none to draw
    wrong    a sentence on the first test that could not be made, or nothing
    """

    answers: Sequence[str]
    passed: Sequence[bool]
    scores: np.ndarray | None
    wrong: str = ""


def bench(score: Score | None = None, names: Iterable[str] = tuple(CANDIDATES)) -> Explorer:
    """Try a score with positions on four tests: order, shifts, a long text, and distances.

    score  takes a query and a key (32,), float64, and their positions, and returns a number; at first on the
           bench, before the candidates. One that fails is told in a sentence
    names  of those of CANDIDATES that a reader can choose, in order
    """
    yours = {YOURS: score} if score is not None else {}
    scores = yours | {name: function for name, (function, _) in CANDIDATES.items()}
    measure_by_name = cache(lambda name: measure(scores[name]))
    choice = Choice("candidate", [*yours, *names], "score(q, k, m, n)")
    return Explorer(
        "bench",
        lambda candidate: (measure_by_name(NONE), measure_by_name(candidate)),
        panels,
        [choice],
        together=("candidate",),
    )


def call(score: Score, q: Tensor, k: Tensor, m: int, n: int) -> float:
    """Return a score divided by √DIM, as attention has it. Raises Wrong if it is no number."""
    try:
        answer = score(q.clone(), k.clone(), m, n)
    except Exception as error:  # whatever a learner's own function raises belongs on the page
        raise Wrong(f"score(q, k, {m}, {n}) raised {type(error).__name__}: {describe(str(error))}") from error
    number = as_numbers(answer)
    right = number is not None and number.numel() == 1 and not number.is_complex()
    require(right, f"score(q, k, {m}, {n}) {came_out(answer, 'should be one number')}")
    return float(number) / math.sqrt(DIM)  # type: ignore[arg-type]


def write_share(share: float) -> str:
    """Return a share of the spread as percent."""
    return f"{share:.0%}" if share <= SCALE else "> 1,000%" if share < np.inf else "not finite"


@np.errstate(all="ignore")  # a learner's function may overflow
def measure(score: Score) -> Tried:
    """Try a score on all tests."""
    draw = torch.Generator().manual_seed(0)
    pairs = torch.randn(N_PAIRS, 2, DIM, generator=draw, dtype=torch.float64)

    def scores(places: Sequence[tuple[int, int]], n_pairs: int = N_PAIRS) -> np.ndarray:  # (pairs, places)
        return np.array([[call(score, q, k, m, n) for m, n in places] for q, k in pairs[:n_pairs]])

    def rms(difference: np.ndarray) -> float:
        return float(np.sqrt(np.square(difference).mean()))

    def spread_far() -> float:
        return float(scores([(FAR, FAR - m + n) for m, n in PLACES]).std(axis=0).mean()) / spread

    def closest() -> float:
        along = scores([(LAST, LAST - d) for d in range(LAST + 1)])
        return min(rms(along[:, d] - along[:, e]) for d in range(LAST + 1) for e in range(d)) / spread

    def shift_change() -> float:
        moves = [rms(scores([(m + by, n + by) for m, n in PLACES]) - near) / spread for by in SHIFTS]
        return float(np.max(moves))  # not a number, if one of them is none

    try:
        near = scores(PLACES)
        spread = float(near.std(axis=0).mean())
        require(np.isfinite(spread), "score(q, k, m, n) is not finite for some m and n below 64")
        constant = spread <= 1e-9 * np.abs(near).max()
        require(not constant, "score(q, k, m, n) is the same for all q and k; it has to compare them")
    except Wrong as wrong:
        return Tried(["–"] * len(TESTS), [False] * len(TESTS), None, str(wrong))
    tests: list[tuple[Callable[[], float], Callable[[float], bool], Callable[[float], str]]] = [
        (lambda: rms(scores([(n, m) for m, n in PLACES]) - near) / spread, lambda x: x > LEAST, write_share),
        (shift_change, lambda x: x <= LEAST, write_share),
        (spread_far, lambda x: 1 / SCALE <= x <= SCALE, write_times),
        (closest, lambda x: x > LEAST, write_share),
    ]
    answers, passed, problems = list[str](), list[bool](), list[str]()
    for test, passes, in_words in tests:
        try:  # a score that fails far away still gets an answer to the other tests
            number = test()
            passed.append(passes(number))
            answers.append(f"{'passes' if passed[-1] else 'fails'}: {in_words(number)}")
        except Wrong as wrong:
            passed.append(False)
            answers.append("fails: no score")
            problems.append(str(wrong))
    square = None
    with suppress(Wrong):
        square = scores([(m, n) for m in range(SIDE) for n in range(SIDE)], 1).reshape(SIDE, SIDE)
    return Tried(answers, passed, square, next(iter(problems), ""))


def write_times(ratio: float) -> str:
    """Return a ratio of two spreads as a factor."""
    return f"× {ratio:,.2f}" if np.isfinite(ratio) else "not finite"


def panels(trials: tuple[Tried, Tried], values: Mapping[str, Any]) -> list[Panel]:
    """Show the answers to all tests, and the scores of one pair at many positions."""
    name, (plain, tried) = values["candidate"], trials
    title = f"“{name}” passes {sum(tried.passed)} of {len(TESTS)} tests"
    title += f": {CANDIDATES[name][1]}" if name in CANDIDATES else ""
    title += f". {tried.wrong}" if tried.wrong else ""
    rows = {NONE: plain, name: tried}
    settings = [{"candidate": candidate} for candidate in rows]
    answers = [trial.answers for trial in rows.values()]
    table = Trials(TESTS, list(rows), answers, settings, "score")
    square = np.zeros((SIDE, SIDE)) if tried.scores is None else tried.scores
    scores = np.nan_to_num(square, posinf=0.0, neginf=0.0)
    spread = max(float(np.ptp(scores.diagonal(-d))) for d in range(SIDE)) / (float(np.ptp(scores)) or 1.0)
    finding = "Equal distances lie on a diagonal, "
    finding += (
        f"where the score changes by up to {spread:.0%} of its range"
        if spread > LEAST
        else "and score the same"
    )
    high = max(1.0, float(np.abs(scores).max()))
    cells = Cells(scores, high, -high, "query at {row}, key at {column}: score {value}", label="score")
    x, y = Axis("position n of the key"), Axis("position m of the query")
    note = "Scores of one query and one key, at all positions."
    return [
        Panel(title, [table], note=NOTE, width=1.8),
        Panel("No scores to draw" if tried.scores is None else finding, [cells], x, y, note),
    ]
