"""Exercises of notebook 08: a paired verdict, the step of a click, and an encoding of your own."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from math import inf
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.experiments.paired import critical_t, differences
from babygpt.invariants import Promise, cache_equals_full, causal
from babygpt.metrics.losses import loss_by_position
from babygpt.models.transformer import Transformer
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import train
from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import Unusable, Wrong, ask_parts, require, require_equal
from babygpt_course.exercises.compare import describe
from babygpt_course.exercises.exercise import Exercise, each, integer, randomize_, read_tasks

TASKS = read_tasks("lesson_08")


def verdict_answer(ours: list[float], theirs: list[float]) -> tuple[float, float, str]:
    """Mean difference, half the width of its 99% interval, and "better", "worse" or "undecided"."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    n, middle = len(gaps), fmean(gaps)
    half = critical_t(n) * stdev(gaps) / n**0.5
    decided = n >= 12 and abs(middle) > half and abs(middle) >= 0.02
    return middle, half, ("better" if middle < 0 else "worse") if decided else "undecided"


PARTS = ("the mean difference", "half the width of the interval", "the word")
SPECIMENS = (  # differences in thousandths of a nat, for all kinds of verdicts
    (-48, -29, -26, -34, -30, -32, -41, -25, -37, -28, -33, -31),
    (58, 29, 36, 34, 30, 42, 41, 25, 37, 28, 33, 51, 44, 39),
    (-148, -99, -126, -134, -130, -132, -141, -125, -137, -98, -133),  # one seed too few
    (8, 9, 7, 11, 10, 8, 9, 12, 7, 10, 8, 9),  # too small to count
    (130, 125, 128, 126, 131, 122, -4, 46, -5, 30, -6, 29),  # decided, though the last seeds show little
    (9, -3, 8, -2, 7, -4, 61, 58, 64, 57, 60, 63),  # decided, though the first six show little
    (12, 15, 14, 13, 16, 11, 30, 26, 28, 27, 31, 25),  # decided, with a mean of the first six below 0.02
    (40, 38, 9, 8, 10, 41, 37, 9, 39, 8, 10, 40),  # two heaps: the mean counts, and so does the median
    (11, 12, 10, 13, 11, 12, 41, 45, 12, 44, 11, 42),  # the mean is 0.022, and the median only 0.012
    (29, 31, 28, 3, 30, 2, 31, 4, 29, 3, 28, 2),  # the median is 0.028, and the mean only 0.018
    (-48, -29, -26, 4, -30, -32, -41, -25, -37, -28, -33, -31),  # one seed is
    (24, 21, 19, 27, 22, 30, 26, 18, 25, 20, 23, 290),  # one seed makes the mean
    (72, -8, 55, 31, -20, 44, 60, 12, -15, 66, 38, 9),  # 3.06 standard errors: too few for twelve seeds
    (-70, 12, -45, -52, 3, -33, -61, -9, -28, -75, 14, -30),
    (61, -12, 40, 5, 33, -20, 48, 22, 57, -8, 16, 35, 28, -5, 44, 10, 30, 52, -16, 25),
    (-23, -24, -22, -23, -24, -21, -23, -22, -24, -23, -21, -22),
    (18, 17, 19, 18, 70, 17, 18, 19, 18, 17, 18, 19),  # without its largest and smallest below 0.02
    # Decided, although the median and the last seed have the other sign.
    (-1, -2, 98, 104, -1, -3, 101, 99, -2, -1, 102, 97, -2, 103, -1, -3, 100, -2, 96, -1),
    (88, 95, 36, -12, 60, 5, 73, -20, 48, 52, 57, -8, 16, 30),  # decided, and not by its last twelve alone
)


def judges(attempt: Any, draw: Generator, part: int) -> None:
    """Ask for the mean, the interval or the word, for all kinds of verdicts; the seeds vary far more."""
    for thousandths in SPECIMENS:
        n = len(thousandths)
        theirs = (0.5 + torch.rand(n, generator=draw, dtype=torch.float64)).tolist()
        ours = [b + gap / 1000 for b, gap in zip(theirs, thousandths, strict=True)]
        listed = ", ".join(f"{gap:+d}" for gap in thousandths)
        what = f"{n} seeds with ours − theirs = {listed} thousandths of a nat,"
        got = ask_parts(attempt, ours, theirs, what=what, expected="mean, half width and verdict", number=3)
        want = mean, half, word = verdict_answer(ours, theirs)
        gaps, limit = differences(ours, theirs), critical_t(n)
        error, sorted_spread = stdev(gaps) / n**0.5, stdev(differences(sorted(ours), sorted(theirs)))
        two = "That is for two models with no seed in common. First subtract, seed by seed"
        mistakes = {
            "The runs are a sample: divide by n − 1": half * ((n - 1) / n) ** 0.5,
            "First subtract, seed by seed; then see how much the differences vary": limit
            * stdev(ours)
            / n**0.5,
            two: limit * ((stdev(ours) ** 2 + stdev(theirs) ** 2) / n) ** 0.5,
            "That is the error of the mean: multiply by critical_t(n)": error,
            "That is the deviation of the differences; the mean varies less, by √n": limit * stdev(gaps),
            "That is the whole width": 2 * half,
            "Do not sort: a pair is two losses of one seed": limit * sorted_spread / n**0.5,
        }
        hint = ""
        if part == 2:
            interval = f"{mean - half:+.3f} to {mean + half:+.3f}"
            why = f"The interval from {interval} leaves out 0, and a mean of {mean:+.3f} counts"
            if str(got[2]).strip().lower() == word:
                why = f"Write {word!r} in small letters, and nothing around it"
            elif (got[2], word) in (("better", "worse"), ("worse", "better")):
                why = "A lower loss is better"
            elif n < 12:
                why = "Fewer than twelve seeds never decide"
            elif abs(mean) <= half:
                why = f"The interval from {interval} does not leave out 0"
            elif word == "undecided":
                why = f"A mean of {mean:+.3f} is less than 0.02 nats"
            hint = f". {why}"
        mistakes = {"Ours minus theirs": -mean} if part == 0 else mistakes
        require_equal(got[part], want[part], f"{what} {PARTS[part]}", mistakes, hint, 1e-6)


VERDICT = Exercise(TASKS["A verdict, in pairs"], each(judges, 0, 1, 2), verdict_answer)


def click_answer(at: list[int], shares: list[float], least: float) -> float:
    """Return the first step from which on all shares are at least `least`; infinity if there is none."""
    click = inf
    for step, share in zip(reversed(at), reversed(shares), strict=True):
        if share < least:
            break
        click = step
    return click


CURVES = (  # percent, where 90 is enough: at once, once and for all, after a fall, at the last only, never
    (95,),
    (80,),
    (95, 80, 97, 98),
    (95, 80, 97),
    (80, 95, 80, 97, 98),
    (50, 48, 65, 92, 97, 99, 98),
    (51, 91, 96, 70, 88, 93, 95),
    (95, 93, 90, 97, 99, 98, 99),
    (50, 52, 49, 55, 61, 89, 93),
    (50, 60, 95, 97, 96, 94, 89),
    (97, 95, 60, 98, 96, 99, 70),
)
LIMITS = (0.9, 0.8, 0.75, 0.6)


def high_steps(steps: list[int], shares: list[float], least: float) -> list[int]:
    return [step for step, share in zip(steps, shares, strict=True) if share >= least]


CLICK_MISTAKES: dict[str, Callable[..., float]] = {
    "That is the first share that is high enough; a later one may fall below": (
        lambda *given: [*high_steps(*given), inf][0]
    ),
    "That is an index; return the step": lambda at, *rest: at.index(int(click_answer(at, *rest))),
    "That is the last share that is too low; the click comes after it": (
        lambda at, *rest: max({*at} - {*high_steps(at, *rest)}, default=0)
    ),
    "That is the last step; the click is the first from which on all are high enough": lambda at, *_: at[-1],
    "`least` itself is high enough": lambda at, shares, least: click_answer(at, shares, least + 0.001),
    "The limit is `least`, and not always 0.9": lambda at, shares, _: click_answer(at, shares, 0.9),
}


def draw_click_curves(draw: Generator, never: bool) -> Iterator[Case]:
    """Draw seeds that have a click, or seeds that have none, at uneven steps and with any limit."""
    for curve in (curve for curve in CURVES if (curve[-1] < 90) is never):
        for least in LIMITS:
            shares = [least if share == 90 else round(least + (share - 90) / 100, 2) for share in curve]
            gaps = 10 * torch.randint(1, 30, (len(curve),), generator=draw)
            steps = gaps.cumsum(dim=0).tolist()
            yield Case(f"at {steps}, shares {shares}, least {least}", (steps, shares, least))


CLICK = Exercise(
    TASKS["The click"],
    [
        Agrees(partial(draw_click_curves, never=never), click_answer, CLICK_MISTAKES)
        for never in (False, True)
    ],
    click_answer,
)

SEEDS = (1, 2, 3)
WINDOW = 24
STEPS = 80
TIMES = 4
INSIDE = 0.02  # nats that it may lose inside
NOISE = 2.0  # by how many deviations it must win outside


def plain_rope(head_dim: int, _: int) -> Encoding:
    return Rotary(head_dim)


class RoPEThatForgets(Rotary):
    """RoPE, and scores that fall with the distance, in each head at a slope of its own."""

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.n_head = n_head

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        distance = (queries.time[..., None, :, None] - keys.time[..., None, None, :]).abs()  # (1, Tq, Tk)
        slope = 0.25 ** torch.arange(1, self.n_head + 1, device=distance.device)
        return -slope[:, None, None] * distance  # (H, Tq, Tk)


@cache
def small_world() -> tuple[Corpus, ModelConfig]:
    """Return a text and a model so small that a training takes about a second."""
    corpus = load_corpus("plain-tales", n_chars=60_000)
    return corpus, ModelConfig(corpus.tokenizer.vocab_size, WINDOW, n_layer=1, n_head=2, n_embd=32)


def new_encoding(make: Any, _: Any = None) -> Encoding:
    """Return a new encoding of the learner's. Raises Unusable if there is none."""
    name = type(make).__name__
    sentence = (
        f"this is an encoding already. Give the class, which makes one for each head_dim: check({name})"
    )
    require(not isinstance(make, Encoding), sentence, Unusable)
    require(callable(make), f"this should be a class or a function, and is {describe(make)}", Unusable)
    config, called = small_world()[1], "called with (head_dim, n_head) it"
    try:
        encoding, second = (make(config.head_dim, config.n_head) for _ in range(2))
    except Exception as error:
        raise Unusable(f"{called} raised {type(error).__name__}: {describe(error)}") from error
    right = isinstance(encoding, Encoding)
    require(right, f"{called} should return an Encoding, and returns {describe(encoding)}", Unusable)
    why = "it should return a new encoding each time: what one seed has learned is not the next one's"
    require(encoding is not second, why, Unusable)
    return encoding


def random_model(make: Any, draw: Generator, length: int) -> tuple[Transformer, Tensor]:
    """Return a model with the learner's encoding and random weights, and a text of `length` tokens."""
    corpus, config = small_world()
    model = randomize_(Transformer(config, new_encoding(make)), draw)
    start = integer(draw, 0, len(corpus.val) - length)
    return model.eval(), corpus.val[start : start + length]


def keeps_causality(make: Any, draw: Generator) -> None:
    model, ids = random_model(make, draw, TIMES * WINDOW)
    try:
        with torch.inference_mode():
            again = float((model(ids[None]) - model(ids[None])).abs().max())
        chance = f"Read twice, a logit differs by {again:.2g}. Does your encoding draw at random?"
        require(again < 1e-4, f"broken: the same text is read alike each time. {chance}")
        promises = causal(model, ids), cache_equals_full(model, ids)
    except BadInput as error:
        raise Wrong(f"a window of {len(ids)} must be possible. It refuses: {error}") from error
    row = integer(draw, 33, 64)
    others = torch.randint(model.config.vocab_size, (64, len(ids)), generator=draw)
    batch = torch.cat([others[:row], ids[None], others[row:]])
    with torch.inference_mode():
        change = float((model(batch)[row] - model(ids[None])[0]).abs().max())
    for p in *promises, Promise("a text is read alike, alone or beside others", change, 1e-4):
        require(p.holds, f"broken: {p.statement}. Measured {p.value:.2g}, allowed {p.limit:.0e}")


@torch.inference_mode()
def may_move(make: Any, draw: Generator) -> None:
    model, ids = random_model(make, draw, TIMES * WINDOW)
    # The last two texts reach across 4096, a multiple of all smaller powers of two, and across 5000.
    limits = (0, 1), (1, 2), (20, 90), (200, 900), (4006, 4096), (4910, 5000)
    for step in (integer(draw, *least_and_most) for least_and_most in limits):
        try:
            here, there = (model(ids[None], Positions.arange(len(ids), start)) for start in (0, step))
        except BadInput as error:
            raise Wrong(f"broken: a text may begin at position {step}. It refuses: {error}") from error
        change = float((there - here).abs().max())
        moved = f"A text moved by {step} changes a logit by {change:.2g}"
        moved += ". Does your encoding draw at random?" * (step == 0)
        require(change < 1e-3, f"broken: only the distance counts. {moved}")


def train_losses(make: Any, seed: int) -> tuple[float, float]:
    """Return the loss late in the window of training, and from twice to four times its length."""
    corpus, config = small_world()
    torch.manual_seed(seed)
    model = Transformer(config, make(config.head_dim, config.n_head))
    for _ in train(model, NextToken(corpus, WINDOW), TrainConfig(steps=STEPS, seed=seed)):
        pass
    model.eval()
    by_position = loss_by_position(model, corpus.val, TIMES * WINDOW, n_windows=48)
    return float(by_position[WINDOW // 2 : WINDOW].mean()), float(by_position[2 * WINDOW :].mean())


rope_losses = cache(partial(train_losses, plain_rope))


def beats_rope(make: Any, draw: Generator) -> None:
    for promise in (keeps_causality, may_move):
        try:
            promise(make, draw)
        except Wrong as error:
            raise Wrong(f"not trained: a promise is broken ({error})") from error
    mine, ids = random_model(make, Generator().manual_seed(0), TIMES * WINDOW)
    rope, _ = random_model(plain_rope, Generator().manual_seed(0), TIMES * WINDOW)
    different = list(mine.encoding.parameters()) or (mine(ids[None]) - rope(ids[None])).abs().max() > 1e-4
    then = "Change something; from then on this check trains, which takes a few seconds"
    require(different, f"not trained: with random weights it does what RoPE does. {then}")
    pairs = [(train_losses(make, seed), rope_losses(seed)) for seed in SEEDS]
    inside, outside = ([ours[part] - theirs[part] for ours, theirs in pairs] for part in range(2))
    signs = [", ".join(f"{gap:+.3f}" for gap in gaps) for gaps in (inside, outside)]
    gaps = f"{len(SEEDS)} seeds, too few to decide, against RoPE: inside {signs[0]}, outside {signs[1]} nats"
    require(fmean(inside) <= INSIDE, f"{gaps}. Inside the window it is worse")
    require(max(outside) < 0, f"{gaps}. Outside it is not better in every seed")
    noise = "Outside it is better on average, by no more than the noise of three seeds"
    require(-fmean(outside) >= NOISE * stdev(outside), f"{gaps}. {noise}")


OWN_ENCODING = Exercise(
    TASKS["An encoding of your own"],
    [new_encoding, keeps_causality, may_move, beats_rope],
    RoPEThatForgets,
    seconds=300.0,
    trains=("ahead of RoPE beyond its window, in three seeds",),
)

EXERCISES = (VERDICT, CLICK, OWN_ENCODING)
