"""Judgements of answers apart from the checks: many drawn inputs that the tasks allow, and what is right."""

import copy
import math
import random
import string
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from babygpt.encodings.sinusoidal import sinusoid
from babygpt.metrics import without_heads
from babygpt_course.exercises import (
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03a,
    lesson_03b,
    lesson_04a,
    lesson_04b,
    lesson_05,
    lesson_06,
    lesson_07a,
    lesson_07b,
    lesson_08,
    lesson_10,
    lesson_11,
    lesson_12,
    lesson_13,
)
from babygpt_course.exercises.checks import is_unchanged
from babygpt_course.exercises.compare import as_numbers, is_half, things, to_python
from babygpt_course.exercises.exercise import randomize_
from babygpt_course.exercises.guard import run_with_timeout

Draw = Callable[[random.Random], tuple[Any, ...]]
Right = Callable[[Any, random.Random], bool]
INPUTS = 150  # Each exercise is checked with this number of inputs.


def same(got: Any, want: Any, off: float = 1e-3) -> bool:
    """Return whether a result is the right one, up to `off`, absolute and relative."""
    if isinstance(want, str | bool):
        return type(to_python(got)) is type(want) and to_python(got) == want
    if isinstance(want, tuple | list):
        parts = things(got)
        right = parts is not None and len(parts) == len(want)
        return right and all(same(*two, off) for two in zip(parts or [], want, strict=True))
    numbers, reference = as_numbers(got), torch.as_tensor(want)
    if numbers is None or (numbers.shape != reference.shape and reference.numel()):
        return False
    kinds = reference.dtype.is_floating_point, bool(reference.dim()) and reference.dtype == torch.int64
    if kinds[1] and numbers.numel() and (numbers.dtype.is_floating_point or numbers.dtype == torch.bool):
        return False
    return torch.allclose(numbers.double(), reference.double(), rtol=off, atol=off if kinds[0] else 0.0)


def has_odd_numbers(result: Any) -> bool:
    """Return whether a result has complex numbers, or numbers of half precision."""
    if isinstance(result, tuple | list):
        return any(map(has_odd_numbers, result))
    return isinstance(result, complex) or "complex" in str(getattr(result, "dtype", "")) or is_half(result)


def agrees(
    draw: Draw, solution: Callable[..., Any], view: Callable[..., Any] | None = None, off: float = 1e-3
) -> Right:
    """Return the judgement that compares an answer with the solution; `view` reads what must agree."""

    def right(attempt: Any, rng: random.Random) -> bool:
        for _ in range(INPUTS):
            inputs = draw(rng)
            copies = copy.deepcopy(inputs)
            got, want = attempt(*copies), solution(*inputs)
            if not all(map(is_unchanged, copies, inputs)) or has_odd_numbers(got):
                return False
            if view:
                got, want = view(got, *inputs), view(want, *inputs)
            if not same(got, want, off):
                return False
        return True

    return right


def seeded(rng: random.Random) -> torch.Generator:
    return torch.Generator().manual_seed(rng.randrange(2**30))


def normal(rng: random.Random, *shape: int) -> Tensor:
    return torch.randn(shape, generator=seeded(rng))


def draw_story(rng: random.Random) -> tuple[Any, ...]:
    if rng.random() < 0.5:
        names = rng.sample(["ada", "ben", "cleo", "dan", "eve"], 3)
        words = ["chased", "saw", "the", "dog", "then", "xx", "zz", "x", "z", "q"]
        text = "".join(
            rng.choice([*names, *words]) + rng.choice([" ", ". ", "\n", "? "])
            for _ in range(rng.randrange(30))
        )
    else:
        names = rng.sample("我你他她它", 3)
        text = "".join(rng.choice([*names, *"爱见了。\n去狗猫？"]) for _ in range(rng.randrange(40)))
    return text, names[0], names[1]


def draw_probabilities(rng: random.Random) -> tuple[Any, ...]:
    n = rng.choice([1, 2, 5, 30, 1500])
    return ((torch.rand(n, generator=seeded(rng)) + 1e-9).clamp(max=1) ** rng.choice([1, 1, 4]),)


def draw_holes(rng: random.Random) -> tuple[Any, ...]:
    kinds = [
        "[story]",
        "[gap]",
        "[scenes]",
        "[scene]",
        *(f"name.{x}" for x in "abcdez"),
        "verb",
        "place.a",
        "place.b",
        "noun.a",
    ]
    holes = rng.choices(kinds, k=rng.randint(1, 18))
    return holes, {k: rng.randint(7, 2000) for k in dict.fromkeys(hole.split(".")[0] for hole in holes)}


def draw_text(rng: random.Random) -> tuple[Any, ...]:
    letters = rng.choice(["ab", "abc", "ab \n.", "我你他AaBb。šŁ", string.printable, "a"])
    return ("".join(rng.choices(letters, k=rng.choice([2, 3, 5, 10, 40, 400]))),)


def draw_table(rng: random.Random) -> tuple[Any, ...]:
    V = rng.randint(2, 9)
    n_embd = rng.randint(1, V - 1)
    E, W, b = normal(rng, V, n_embd).double(), normal(rng, V, n_embd).double(), normal(rng, V).double()
    return (E @ W.T + rng.choice([0.0, 1.0]) * b).softmax(dim=-1), n_embd


def table_of(got: Any, *_: Any) -> Any:
    parts = [as_numbers(part) for part in things(got) or []]
    if len(parts) != 3 or any(part is None for part in parts):
        return None
    embedding, head, bias = (part.double() for part in parts)
    return (embedding @ head.T + bias).softmax(dim=-1)


def draw_v2(rng: random.Random) -> tuple[Any, ...]:
    V, T, C = rng.randint(1, 9), rng.randint(1, 30), rng.randint(1, 6)
    return normal(rng, V, C) + 0.5, normal(rng, T, C) + 0.5, normal(rng, V, C) + 0.5, normal(rng, V)


def draw_scores(rng: random.Random) -> tuple[Any, ...]:
    T, axes = rng.choice([1, 2, 3, 7, 90]), rng.choice([(), (2,), (3, 2), (1, 4)])
    return (normal(rng, *axes, T, T) * rng.choice([0.1, 1.0, 8.0]),)


def draw_logits(rng: random.Random) -> tuple[Any, ...]:
    T, V = rng.randint(1, 9), rng.randint(2, 8)
    votes = normal(rng, T, 1, V) * rng.choice([0, 1, 2]) + normal(rng, 1, V, V) * rng.choice([0, 1, 2])
    if rng.random() < 0.4 and T > 1:
        size = rng.choice([0.02, 0.1, -0.3, 2.0])
        votes[rng.randrange(T), rng.randrange(V), rng.randrange(V)] += size
    elif rng.random() < 0.4 and T > 1:
        t, u, a, b = *rng.sample(range(T), 2), *rng.sample(range(V), 2)
        c = rng.randrange(V)
        for first, second, sign in ((t, a, 1), (u, b, 1), (t, b, -1), (u, a, -1)):
            votes[first, second, c] += 0.3 * sign
    elif rng.random() < 0.2 and T > 1:
        votes = normal(rng, T, V, V)
    return (votes.double().softmax(dim=-1),)


def additive(table: Tensor) -> bool:
    """Return whether all second differences of the logits vanish: the definition, in loops."""
    logits = table.log()
    logits = logits - logits[..., :1]
    rest = logits - logits[:1] - logits[:, :1] + logits[:1, :1]
    return bool(rest.abs().max() < 5e-3)


def draw_lengths(rng: random.Random) -> tuple[Any, ...]:
    T = rng.choice([1, 2, 3, 5, 9, 20, 70])
    return torch.tensor([rng.randint(0, T) for _ in range(rng.randint(1, 6))]), T


def looks_back(attempt: Any, rng: random.Random) -> bool:
    for _ in range(20):
        n, n_embd, start = (
            rng.choice([0, 1, 3, 10, 40, 200]),
            2 * rng.randint(8, 40),
            rng.choice([0, rng.randrange(50), rng.randrange(3000)]),
        )
        to_q, to_k = (as_numbers(part).double() for part in attempt(n, n_embd))
        if to_q.shape != (n_embd, n_embd) or to_k.shape != (n_embd, n_embd):
            return False
        codes = sinusoid(torch.arange(start, start + n + 40), n_embd).double()
        scores = (codes @ to_q.T) @ (codes @ to_k.T).T / n_embd**0.5
        weights = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf).softmax(dim=-1)
        if not bool((weights.diagonal(-n) >= 0.895).all()):
            return False
    return True


def knows_causes(attempt: Any, rng: random.Random) -> bool:
    shapes = {
        "neither": [lambda position, gap: 0.0],
        "not met": [
            lambda position, gap: min(gap / 4, 1.0),
            lambda position, gap: 1 - math.exp(-gap / 150),
            lambda position, gap: gap / 1000,
        ],
        "far": [
            lambda position, gap: position / 1000,
            lambda position, gap: float(position > 650),
            lambda position, gap: (position / 1000) ** 2,
        ],
    }
    for _ in range(25):
        for want, rises in shapes.items():
            rise, low, high = rng.choice(rises), rng.uniform(0, 3), rng.choice([1.6, 1.7, 3.0, 6.0])

            def train(places: Any, rise: Any = rise, low: float = low, high: float = high) -> Any:
                met = [int(place) for place in places]
                assert met
                assert all(0 <= place <= 1000 for place in met)
                extra = 0.3 * (len(set(met)) > 1)
                return lambda position: (
                    low
                    + extra
                    + high * rise(position, min(abs(position - place) for place in met))
                    + rng.choice([-0.05, 0.05])
                )

            if to_python(attempt(train)) != want:
                return False
    return True


def draw_rotation(rng: random.Random) -> tuple[Any, ...]:
    B, H, T, D = rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 8), 2 * rng.randint(1, 8)
    positions = torch.tensor([rng.choice([rng.randint(-9, 9), rng.randint(-1500, 1500)]) for _ in range(T)])
    return normal(rng, B, H, T, D), positions, float(rng.choice([10_000, 500, 77]))


def draw_weights(rng: random.Random) -> tuple[Any, ...]:
    D = 2 * rng.randint(1, 8)
    return normal(rng, rng.randint(1, 4) * D, rng.randint(1, 12)), D


def draw_reading(rng: random.Random) -> tuple[Any, ...]:
    while True:
        L, H, Q, T = rng.randint(1, 4), rng.randint(2, 6), rng.randint(1, 5), rng.randint(6, 20)
        weights = (2 * normal(rng, L, H, Q, T)).softmax(dim=-1)
        names = torch.zeros(Q, T, dtype=torch.bool)
        for row in names:
            start = rng.randrange(T - 5)
            row[start : start + rng.randint(1, 5)] = True
        first, second = (weights * names).sum(dim=-1).mean(dim=-1).flatten().topk(2).values.tolist()
        if first - second > 0.01:  # rounding never decides
            return weights, names


def draw_pairs(rng: random.Random) -> tuple[Any, ...]:
    while True:
        n, right = rng.randint(3, 9), rng.uniform(0.8, 1)
        alone = torch.tensor([rng.choice([0.0, 0.02, rng.uniform(0, 0.2)]) for _ in range(n)])
        extra = torch.tensor([[rng.uniform(-0.03, 0.2) * (i < j) for j in range(n)] for i in range(n)])
        cost = alone + alone[:, None] + extra + extra.T
        cost[range(n), range(n)] = alone
        first, second = (extra + 9 * extra.sign().abs()).flatten().topk(2).values.tolist()
        if first - second > 0.01:
            return right, right - cost


def controls_fairly(attempt: Any, rng: random.Random) -> bool:
    for n_layer, n_head in ((1, 2), (2, 3), (3, 4)):
        model, score, _ = lesson_04b.drawn_model(seeded(rng), n_layer, n_head)
        alone = {}
        for spot in [(a, b) for a in range(n_layer) for b in range(n_head)]:
            with without_heads(model, [spot]):
                alone[spot] = score(model)
        for layer, head in rng.sample(sorted(alone), 2):
            gaps = [
                alone[layer, control] - alone[layer, head] for control in range(n_head) if control != head
            ]
            came = set()
            for _ in range(60):
                got = float(attempt(model, score, layer, head))
                near = [i for i, gap in enumerate([*gaps, sum(gaps) / len(gaps)]) if abs(got - gap) < 1e-5]
                if not near:
                    return False
                came.add(near[-1])
            if len(gaps) not in came and len(came) < len(gaps):
                return False
    return True


KERNELS = [
    lambda m: (0.3 * m).cos() + 0.2,
    lambda m: torch.exp(-(m**2) / 50),
    lambda m: 1.5 - 0.01 * m,
    lambda m: torch.where(m < 3, 1.0, -0.5),
]


def draw_specimen(rng: random.Random) -> tuple[Any, ...]:
    shape = [rng.randint(1, 3) for _ in range(rng.randint(0, 3))]
    return normal(rng, *shape, rng.choice([1, 2, 5, 40, 300]), 2 * rng.randint(1, 6)), rng.choice(KERNELS)


def draw_heads(rng: random.Random) -> tuple[Any, ...]:
    H, Tq, Tk, far = rng.randint(1, 5), rng.randint(1, 9), rng.randint(1, 9), rng.choice([10, 200, 9000])
    draw = seeded(rng)
    alphas, sigmas = torch.rand(H, 2, generator=draw) + 0.05, 12 * torch.rand(H, 2, generator=draw) + 0.7
    return alphas, sigmas, *(torch.randint(far, (n,), generator=draw) for n in (Tq, Tk))


def draw_pair(rng: random.Random) -> tuple[Any, ...]:
    times, branches = rng.choice([(3, 3), (3, 1), (9000, 3), (3, 9000), (9000, 0)])
    (time, branch), (then, there) = (
        (rng.randint(0, times), rng.randint(-branches, branches)) for _ in range(2)
    )
    there = branch if rng.random() < 0.3 else there
    then = time if rng.random() < 0.2 else then
    return (time, branch), (int(str(then)), int(str(there))), rng.random() < 0.5


def draw_sequence(rng: random.Random) -> tuple[Any, ...]:
    texts = rng.randint(1, 6)
    numbers = rng.sample(range(-3, rng.choice([9, 9000])), texts)
    spans = [(start := rng.randint(0, 6), start + rng.randint(1, rng.choice([3, 9, 60]))) for _ in numbers]
    rows = [
        (t, i, b)
        for i, (b, (start, end)) in enumerate(zip(numbers, spans, strict=True))
        for t in range(start, end)
    ]
    rows.sort()
    return torch.tensor([t for t, _, _ in rows]), torch.tensor([b for _, _, b in rows])


def draw_costs(rng: random.Random) -> tuple[Any, ...]:
    n, base = rng.randint(1, 8), rng.uniform(0.3, 2)
    of_number = [0.0, *(rng.uniform(-1, 2) for _ in range(9))]
    of_others = [0.0, *(rng.uniform(-1, 2) for _ in range(9))]

    def loss(numbers: tuple[int, ...]) -> float:
        assert all(0 <= number < 10 for number in numbers)
        return base + sum(of_number[b] for b in numbers) / len(numbers) + of_others[len(numbers) - 1]

    return loss, n


def draw_masked_model(rng: random.Random) -> tuple[Any, ...]:
    table: dict[Any, float] = {}

    def log_prob(masked: frozenset[int], i: int) -> float:
        assert i in masked
        return table.setdefault((frozenset(masked), i), -rng.uniform(0, 3))

    return log_prob, rng.randint(1, 5)


def draw_letters(rng: random.Random) -> tuple[Any, ...]:
    B, T = rng.randint(1, 5), rng.choice([1, 3, 8, 30])
    kind = torch.randint(4, (B, T), generator=seeded(rng))
    confidence = torch.rand(B, T, generator=seeded(rng))
    return kind == 0, kind == 1, confidence, rng.randint(0, T), rng.randint(0, T)


def with_ties(solution: Any) -> Right:
    """Return the judgement of letters that are taken back; of equally sure ones any may be."""
    distinct = agrees(draw_letters, solution)

    def right(attempt: Any, rng: random.Random) -> bool:
        if not distinct(attempt, rng):
            return False
        for _ in range(INPUTS):
            masked, prompt, confidence, again, due = draw_letters(rng)
            confidence = (confidence * 2).round() / 2
            holes, fill = (
                as_numbers(part)
                for part in attempt(masked.clone(), prompt.clone(), confidence.clone(), again, due)
            )
            holes, written = holes.bool(), ~masked & ~prompt
            taken = holes & ~masked
            number = written.sum(dim=1).clamp(max=again)
            surest = confidence.masked_fill(~taken, -1).amax(dim=1)
            spared = confidence.masked_fill(~written | taken, 2).amin(dim=1)
            if not (
                bool((holes & masked == masked).all())
                and not bool((taken & prompt).any())
                and taken.sum(dim=1).equal(number)
                and bool((surest <= spared).all())
                and fill.double().equal((due + number).minimum(holes.sum(dim=1)).double())
            ):
                return False
        return True

    return right


def draw_arms(rng: random.Random) -> tuple[Any, ...]:
    if rng.random() < 0.5:
        return lesson_07b.draw_arms(rng, rng.randint(0, 5))
    settings = {name: range(3) for name in rng.sample(["a", "b", "c", "d"], rng.randint(1, 4))}
    arms = {
        letter: {name: rng.choice(values) for name, values in settings.items()}
        for letter in string.ascii_lowercase[: rng.randint(2, 20)]
    }
    return arms, *rng.sample(sorted(arms), 2)


def draw_waves(rng: random.Random) -> tuple[Any, ...]:
    B, H, T, D = (rng.randint(1, 4) for _ in range(4))
    masked = torch.rand(B, T, generator=seeded(rng)) < rng.choice([0, 0.5])
    positions = torch.tensor([rng.randint(-300, 300) for _ in range(T)])
    omega = torch.rand(D, generator=seeded(rng)) * 2
    return (
        normal(rng, B, H, T, D),
        normal(rng, B, H, T, D),
        positions,
        omega,
        masked,
        rng.choice([0.0, 0.5, 1.0, 2.0, -1.0]),
    )


def scores_of(got: Any, *_: Any) -> Any:
    queries, keys = (as_numbers(part).double() for part in got)
    return queries @ keys.mT


def draw_losses(rng: random.Random) -> tuple[Any, ...]:
    while True:
        n = rng.choice([2, 5, 11, 12, 12, 13, 20, 30])
        theirs = [rng.uniform(0.5, 2) for _ in range(n)]
        middle, spread = (
            rng.choice([-0.3, -0.03, -0.015, 0, 0.015, 0.025, 0.2]),
            rng.choice([0.002, 0.02, 0.1]),
        )
        ours = [b + rng.gauss(middle, spread) for b in theirs]
        mean, half, _ = lesson_08.verdict_answer(ours, theirs)
        if abs(abs(mean) - half) > 1e-4 and abs(abs(mean) - 0.02) > 1e-4:  # rounding never decides
            return ours, theirs


def draw_curve(rng: random.Random) -> tuple[Any, ...]:
    n, least = rng.randint(1, 9), rng.choice([0.5, 0.75, 0.9, 0.3])
    steps = sorted(rng.sample(range(1, 9000), n))
    return steps, [rng.choice([least, least - 0.1, least + 0.05, rng.random()]) for _ in steps], least


def draw_ntk(rng: random.Random) -> tuple[Any, ...]:
    return 4 * rng.randint(1, 40), float(rng.randint(50, 200_000)), rng.uniform(1.1, 32)


def draw_yarn(rng: random.Random) -> tuple[Any, ...]:
    window, fewest = rng.randint(16, 8192), rng.uniform(0.5, 5)
    turns = torch.rand(rng.randint(1, 40), generator=seeded(rng)) * rng.choice([2, 10, 60])
    return turns * 2 * math.pi / window, window, rng.uniform(1.1, 32), fewest, fewest + rng.uniform(0.5, 30)


def quicker(got: Any, frequencies: Tensor, *_: Any) -> Any:
    """Return how many times slower pairs turn, and the number for scores."""
    slow, number = got
    return as_numbers(slow).double() / frequencies.double(), float(number)


def tells_memory(attempt: Any, rng: random.Random) -> bool:
    """Ask about readers that are right as seldom as the task allows; one verdict in sixty may be wrong."""
    wrong = 0
    random.seed(rng.random())
    latest = lesson_10.latest()

    def sloppy(key: str, notes: Any, share: float) -> str:
        return latest(key, notes) if rng.random() < share else ""

    for distance in (12, 13, 25, 90, 250):
        boxes = [
            (False, lambda key, notes: sloppy(key, notes, 0.9)),
            (True, lambda key, notes: sloppy(key, notes, 0.2)),
        ]
        boxes += [(False, choose) for choose in lesson_10.readers("remembers", distance, rng).values()]
        for kind in ("forgets", "pretends"):
            boxes += [(True, choose) for choose in lesson_10.readers(kind, distance, rng).values()]
        for want, choose in boxes:
            got = to_python(attempt(lambda text, choose=choose: lesson_10.read(choose, rng, text), distance))
            wrong += not isinstance(got, bool) or got is not want
            if wrong > 2:
                return False
    return True


def draw_attention(rng: random.Random) -> tuple[Any, ...]:
    while True:
        T = rng.choice([4, 8, 20, 60])
        few = rng.randint(2, max(3, T // 2))
        names = rng.sample(range(rng.choice([60, 50_000])), few)
        idx = torch.tensor(rng.choices(names, k=T))
        if lesson_11.pad((idx[:, None] == idx)[:, :-1], (1, 0)).tril(-1).any():
            break
    weights = normal(rng, rng.randint(1, 3), rng.randint(1, 4), T, T)
    later = torch.ones(T, T).triu(1) > 0
    return weights.masked_fill(later, -torch.inf).softmax(dim=-1), idx


def stands_out(attempt: Any, rng: random.Random) -> bool:
    """Ask about models at the edges of what the task allows; a verdict may be wrong twice by bad luck."""
    wrong = 0
    random.seed(rng.random())
    for n_layer, n_head in (*4 * [(1, 2)], (1, 5), (2, 4), (5, 3), (12, 9), (30, 9)):
        for size in (0.0, 0.03, 0.2, 1.0):
            heads = [(a, b) for a in range(n_layer) for b in range(n_head)]
            costs = {spot: size * rng.uniform(0.6, 1.1) for spot in heads}
            middle = max(costs.values())
            needed = rng.sample(heads, max(1, len(heads) // 12)) if rng.random() < 0.7 else []
            costs |= dict.fromkeys(needed, max(0.3, 10.5 * middle) + 0.02)
            whole = rng.uniform(1, 9)

            def loss(silent: Any, costs: Any = costs, whole: float = whole) -> float:
                return whole + sum(costs[spot] for spot in silent) + rng.choice([-0.01, 0.01])

            for head in {*needed[:3], *rng.sample(heads, min(3, len(heads)))}:
                got = to_python(attempt(loss, n_layer, n_head, head))
                wrong += got is not (head in needed)
                if wrong > 2:
                    return False
    return True


def draw_cache(rng: random.Random) -> tuple[Any, ...]:
    start, number = rng.choice([0, 1, rng.randrange(60_000)]), rng.choice([0, 1, rng.randint(2, 40)])
    held = sorted(rng.sample(range(start, start + number + rng.choice([0, 30])), number))
    return torch.tensor(held, dtype=torch.long), rng.choice([0, 1, 2, 40])


def draw_turns(rng: random.Random) -> tuple[Any, ...]:
    while True:
        D, theta = 2 * rng.randint(2, 64), float(rng.randint(5, 200_000))
        length, share = (
            rng.choice([rng.randint(2, 30), rng.randint(2, 5000)]),
            rng.choice([1.0, 0.01, 0.25, rng.uniform(0.01, 4)]),
        )
        turned = (length - 1) / (2 * math.pi) * theta ** (-torch.arange(0, D, 2).double() / D)
        if bool(((turned / share).log().abs() > 0.005).all()):  # rounding never decides
            return D, theta, length, share


def draw_heads_of_texts(rng: random.Random) -> tuple[Any, ...]:
    B, H, T, D = rng.randint(1, 3), rng.randint(1, 4), rng.choice([1, 2, 5, 12]), rng.randint(1, 8)
    return tuple(2 * normal(rng, B, H, T, D) for _ in range(3))


def draw_block(rng: random.Random) -> tuple[Any, ...]:
    n_head, head_dim = rng.randint(1, 4), 2 * rng.randint(1, 3)
    config = lesson_13.minimal.Config(n_head=n_head, n_embd=n_head * head_dim)
    block = randomize_(lesson_13.minimal.Block(config), seeded(rng))
    x = 2 * normal(rng, rng.randint(1, 3), rng.choice([1, 3, 11]), config.n_embd)
    return x, block, rng.choice([lesson_13.my_attention_answer, lesson_13.reads_both_ways])


def draw_shift(rng: random.Random) -> tuple[Any, ...]:
    C = rng.randint(1, 6)
    return normal(rng, rng.randint(1, 4), rng.choice([1, 2, 3, 12, 200]), C), 2 * normal(rng, C)


def draw_forgery(rng: random.Random) -> tuple[Any, ...]:
    Q, T, D = rng.randint(1, 6), rng.choice([1, 2, 5, 40]), rng.randint(1, 4)
    position = torch.randint(T, (Q,), generator=seeded(rng))
    return normal(rng, Q, T, D), normal(rng, Q, T, D), position


def draw_convolution(rng: random.Random) -> tuple[Any, ...]:
    C = rng.randint(1, 5)
    return normal(rng, rng.randint(1, 4), rng.choice([1, 2, 5, 30]), C), normal(rng, rng.randint(1, 8), C)


JUDGES: dict[str, Right] = {
    lesson_00.MIRROR.name: agrees(draw_story, lesson_00.mirror_answer),
    lesson_00.UNITS.name: agrees(draw_probabilities, lesson_00.units_answer),
    lesson_00.STORY.name: agrees(draw_holes, lesson_00.story_log_prob_answer),
    lesson_01.BIGRAM_LOSS.name: agrees(draw_text, lesson_01.bigram_loss_answer),
    lesson_01.SQUEEZED.name: agrees(draw_table, lesson_01.squeezed_answer, table_of),
    lesson_02.VOTES.name: agrees(draw_v2, lesson_02.votes_answer),
    lesson_02.ADDITIVE.name: agrees(draw_logits, additive),
    lesson_03a.CAUSAL_WEIGHTS.name: agrees(draw_scores, lesson_03a.causal_weights_answer),
    lesson_03a.SCALE.name: agrees(
        lambda rng: (
            rng.randint(1, 600),
            rng.choice([1.0, rng.uniform(0.2, 5)]),
            rng.choice([1.0, rng.uniform(0.2, 5)]),
        ),
        lesson_03a.scale_answer,
    ),
    lesson_03a.MASK.name: agrees(draw_lengths, lesson_03a.mask_answer),
    lesson_03b.LOOK_BACK.name: looks_back,
    lesson_03b.CAUSE.name: knows_causes,
    lesson_04a.ROTATION.name: agrees(draw_rotation, lesson_04a.rotate_real_answer, off=3e-3),
    lesson_04a.HALF_SPLIT.name: agrees(draw_rotation, lesson_04a.half_split_answer, off=3e-3),
    lesson_04a.LAYOUTS.name: agrees(draw_weights, lesson_04a.interleave_rows_answer),
    lesson_04b.READER.name: agrees(draw_reading, lesson_04b.find_reader_answer),
    lesson_04b.STAND_INS.name: agrees(
        draw_pairs,
        lesson_04b.stand_ins_answer,
        lambda got, *_: sorted(got) if isinstance(got, list | tuple) else got,
    ),
    lesson_04b.ABLATION.name: controls_fairly,
    lesson_05.REPAIRED.name: agrees(draw_specimen, lesson_05.repaired_answer),
    lesson_05.HEAD_BIAS.name: agrees(draw_heads, lesson_05.exact_bias),
    lesson_06.SEES.name: agrees(draw_pair, lesson_06.sees_answer),
    lesson_06.TARGETS.name: agrees(draw_sequence, lesson_06.targets_answer),
    lesson_06.SPLIT_GAP.name: agrees(draw_costs, lesson_06.split_gap_answer),
    lesson_07a.NELBO.name: agrees(draw_masked_model, lesson_07a.nelbo_answer),
    lesson_07a.REMASK.name: with_ties(lesson_07a.remask_answer),
    lesson_07b.CONTROLS.name: agrees(
        draw_arms,
        lesson_07b.controls_answer,
        lambda got, *_: sorted(got) if isinstance(got, list | tuple | set) else got,
    ),
    lesson_07b.FIXED_PHASE.name: agrees(draw_waves, lesson_07b.fixed_phase_answer, scores_of, off=3e-3),
    lesson_08.VERDICT.name: agrees(draw_losses, lesson_08.verdict_answer, off=1e-4),
    lesson_08.CLICK.name: agrees(draw_curve, lesson_08.click_answer),
    lesson_10.NTK.name: agrees(
        draw_ntk, lesson_10.ntk_answer, lambda got, *inputs: as_numbers(got) / lesson_10.ntk_answer(*inputs)
    ),
    lesson_10.YARN.name: agrees(draw_yarn, lesson_10.yarn_answer, quicker),
    lesson_10.FORGETS.name: tells_memory,
    lesson_11.INDUCTION.name: agrees(draw_attention, lesson_11.induction_answer),
    lesson_11.STANDS_OUT.name: stands_out,
    lesson_11.POSITIONS.name: agrees(draw_cache, lesson_11.positions_after_answer),
    lesson_11.TURNING.name: agrees(draw_turns, lesson_11.turning_answer),
    lesson_12.TOKEN_SHIFT.name: agrees(draw_shift, lesson_12.my_shift_answer),
    lesson_12.FORGE.name: agrees(draw_forgery, lesson_12.forge_answer),
    lesson_12.SHORT_CONVOLUTION.name: agrees(draw_convolution, lesson_12.my_convolution_answer),
    lesson_13.ATTENTION.name: agrees(draw_heads_of_texts, lesson_13.my_attention_answer),
    lesson_13.BLOCK.name: agrees(draw_block, lesson_13.my_block_answer),
}


def is_right(name: str, attempt: Any, seed: int = 0) -> bool:
    """Return whether an answer is right by the judgement of its exercise; one that raises is wrong."""
    verdict, _, _ = run_with_timeout(20.0, lambda: JUDGES[name](attempt, random.Random(seed)))
    return bool(verdict)
