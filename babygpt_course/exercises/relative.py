"""An exercise of notebook 04: an experiment that finds out whether scores depend on the distance only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import shown, truth
from babygpt_course.exercises.draws import integer

Score = Callable[[Tensor, Tensor, int, int], float]
LAST = 1000  # position up to which a promise must hold


def is_relative_stub(score: Callable[..., float], head_dim: int) -> bool:
    """Whether score(q, k, m, n), of q (head_dim,) at m and k at n, depends on q, k and m − n only."""
    return True


def is_relative_answer(score: Callable[..., float], head_dim: int) -> bool:
    """Whether score(q, k, m, n), of q (head_dim,) at m and k at n, depends on q, k and m − n only."""
    for _ in range(20):
        q, k = torch.randn(2, head_dim, dtype=torch.float64)
        m, n = torch.randint(200, (2,)).tolist()
        want = score(q, k, m, n)
        for shift in (1, 7, 50, 333, 800):
            if abs(score(q, k, m + shift, n + shift) - want) > 1e-3:
                return False
    return True


def at(x: Tensor, position: int, theta: float) -> Tensor:
    """x (D,), rotated as at a position."""
    return rotate(x.double()[None, None, None], torch.tensor([position]), theta)[0, 0, 0]


def mixed(x: Tensor, position: int, theta: float) -> Tensor:
    """Rotated as note 001 does it: the angles of one layout, the partners of the other."""
    x = x.double()
    angle = position * frequencies(len(x), theta)
    angle = torch.cat([angle, angle])
    partner = torch.stack((-x[1::2], x[::2]), dim=-1).flatten()
    return x * angle.cos() + partner * angle.sin()


def rope(theta: float) -> Score:
    return lambda q, k, m, n: float(at(q, m, theta) @ at(k, n, theta))


def relative_scores(theta: float) -> dict[str, Score]:
    """Scores that depend on the distance only."""
    turned = rope(theta)
    return {
        "the dot product": lambda q, k, m, n: float(q.double() @ k.double()),
        "RoPE": turned,
        "ALiBi": lambda q, k, m, n: float(q.double() @ k.double()) - abs(m - n) / 8,
        "RoPE times a bell curve over the distance": lambda q, k, m, n: (
            turned(q, k, m, n) * 2.0 ** (-(((m - n) / 20) ** 2))
        ),
        "a score that falls to −10 for keys that are later": lambda q, k, m, n: (
            turned(q, k, m, n) if n <= m else -10.0
        ),
        "the likeness of two sinusoid codes": lambda q, k, m, n: float(
            sinusoid(torch.tensor(m), 8, theta).double() @ sinusoid(torch.tensor(n), 8, theta).double()
        ),
    }


def absolute_scores(theta: float) -> dict[str, Score]:
    """Scores that look at the place itself, for everyone to see."""
    return {
        "a code for the key's place, added to k": lambda q, k, m, n: float(
            q.double() @ (k.double() + sinusoid(torch.tensor(n), len(k), theta))
        ),
        "RoPE on the queries alone": lambda q, k, m, n: float(at(q, m, theta) @ k.double()),
        "a kernel of each place, K(m) · K(n)": lambda q, k, m, n: (
            float(q.double() @ k.double()) * 2.0 ** (-((m / 90) ** 2) - (n / 90) ** 2)
        ),
        "queries turned one way, keys the other": lambda q, k, m, n: float(
            at(q, m, theta) @ at(k, -n, theta)
        ),
    }


def hidden_scores(theta: float) -> dict[str, Score]:
    """Scores whose fault shows far along, for some vectors only, or for later keys only."""
    turned = rope(theta)
    return {
        "positions beyond 200 taken for 200": lambda q, k, m, n: turned(q, k, min(m, 200), min(n, 200)),
        "positions that begin again at 128": lambda q, k, m, n: turned(q, k, m % 128, n % 128),
        "two layouts mixed": lambda q, k, m, n: float(mixed(q, m, theta) @ mixed(k, n, theta)),
        "RoPE, and a code of the place for q that is not constant": lambda q, k, m, n: (
            turned(q, k, m, n) + float(q.double().std()) * torch.tensor(m / 9.0).sin().item()
        ),
        "positions rounded to even numbers": lambda q, k, m, n: turned(q, k, m // 2 * 2, n // 2 * 2),
        "RoPE for keys that are not later; for later ones, the place of q alone": lambda q, k, m, n: turned(
            q, k, m, n if n <= m else 0
        ),
    }


def classified(attempt: Any, scores: dict[str, Score], want: bool) -> None:
    for name, score in scores.items():
        for head_dim in (4, 8):
            what = f"{name} (head_dim {head_dim})"
            found = ask(attempt, score, head_dim, what=what)
            got = truth(found)
            if got is None:
                raise Wrong(f"for {what} came out: {shown(found)}; should be True or False")
            if got and not want:
                raise Wrong(f"you let this one through: {what}. {counterexample(score, head_dim)}")
            if want and not got:
                told = "The last digits of two equal sums may differ: allow for 0.001"
                raise Wrong(f"you refuse this one, which knows the distance only: {what}. {told}")


def counterexample(score: Score, head_dim: int) -> str:
    """One distance at two places, with two scores, in a sentence."""
    draw = Generator().manual_seed(0)
    q, k = torch.randn(2, head_dim, generator=draw, dtype=torch.float64)
    for m, n in ((3, 1), (4, 1), (3, 2), (150, 100), (1, 4)):
        for shift in (1, 7, 100, 333):
            one, other = score(q, k, m, n), score(q, k, m + shift, n + shift)
            if abs(one - other) > 0.01:
                places = (
                    f"at ({m}, {n}) one q and k score {one:.3f}, at ({m + shift}, {n + shift}) {other:.3f}"
                )
                return f"At one distance, {places}"
    return "Try more distances, and places further along"


def knows_relative(attempt: Any, draw: Generator) -> None:
    classified(attempt, relative_scores(float(integer(draw, 100, 5000))), True)


def knows_absolute(attempt: Any, draw: Generator) -> None:
    classified(attempt, absolute_scores(float(integer(draw, 100, 5000))), False)


def knows_hidden(attempt: Any, draw: Generator) -> None:
    classified(attempt, hidden_scores(float(integer(draw, 100, 5000))), False)


RELATIVE = Exercise(
    name="Does it know the distance only?",
    task=(
        "You are handed a score as a black box: `score(q, k, m, n)` is the number for a query `q` "
        "(head_dim,) at position m and a key `k` (head_dim,) at n. Design the experiment that finds out "
        "whether it depends on q, k and m − n only: `is_relative(score, head_dim)` returns True or False. "
        "You make the vectors (`torch.randn(head_dim)`) and choose the positions, whole numbers from 0 to "
        f"{LAST}; differences below 0.001 do not count. Some boxes are faulty in ways that show only if you "
        "look in the right place. A few hundred scores a box are enough; the checker has dozens of boxes, "
        "and does not wait for ever."
    ),
    level="core",
    minutes=15,
    checks=(
        Check("lets relative scores through", knows_relative),
        Check("catches those that look at the place", knows_absolute),
        Check("catches faults that hide", knows_hidden),
    ),
    hints=(
        "Ask for one score, move both tokens by the same step, ask again. What do you vary, besides the "
        "step?",
        "Random q and k; m before, at and after n; small steps and large ones; odd ones too.",
        "Some codes are fine up to a place and wrong beyond it: move to the end of the positions.",
    ),
    stub=is_relative_stub,
    answer=is_relative_answer,
    seconds=20.0,
)
