"""Exercises of notebook 04: RoPE in another layout, distances only, heads ranked, whole names."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, nn

from babygpt.config import ModelConfig
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings.rotary import rotate, rotate_pairs
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.metrics import without_heads
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt_course.exercises.checks import ask, ask_bool, ask_tensor, expect, require, require_equal
from babygpt_course.exercises.compare import describe, things, whole
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, randomize_, read_tasks

TASKS = read_tasks("lesson_04")


def half_split_answer(x: Tensor, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)  # (T, D/2)
    first, second = x[..., : D // 2], x[..., D // 2 :]
    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.cat(turned, dim=-1)


def rotates(attempt: Any, draw: Generator, asked: str) -> None:
    """Ask for rotations of growing size, at positions and with a theta that the text never names."""
    sizes = (((1, 1, 1, 2), 40), ((1, 1, 2, 4), 40), ((2, 3, 5, 8), 40), ((1, 2, 9, 6), 3000))
    for shape, most in sizes:  # (B, H, T, D), and the positions' limit
        x = torch.randn(shape, generator=draw)
        positions = torch.randint(-most, most, (shape[2],), generator=draw)
        theta = float(integer(draw, 50, 5000))
        what = f"x of shape {shape}, positions {describe(positions)}, theta {theta:.0f}"
        if asked == "lengths":
            turned = ask_tensor(attempt, x, positions, theta, what=what, shape=shape)
            hint = ". A rotation keeps them: are angles and partners of one layout?"
            require_equal(turned.norm(dim=-1), x.norm(dim=-1), f"{what} lengths:", {}, hint, 1e-3)
        elif asked == "position 0":
            expect(attempt, x, 0 * positions, theta, want=x, what=f"{what} times 0, where nothing turns,")
        else:
            halves = torch.arange(x.shape[-1]).view(2, -1).T.flatten()  # 0, D/2, 1, D/2 + 1, ...
            want = rotate(x[..., halves], positions, theta)[..., halves.argsort()]
            expect(attempt, x, positions, theta, want=want, what=what, atol=1e-3)


def rotation_matrix(attempt: Any) -> Tensor:
    """Rotate a vector whose first half is 1 and whose second is 0, at 32 positions: (T, D)."""
    x = torch.cat([torch.ones(8), torch.zeros(8)]).expand(1, 1, 32, 16)
    return attempt(x, torch.arange(32), 100.0)[0, 0]


HALF_SPLIT = Exercise(
    TASKS["Half-split RoPE"],
    each(rotates, "lengths", "position 0", "turns"),
    half_split_answer,
    picture=(rotation_matrix, "channel", "position (tokens)"),
)


Score = Callable[[Tensor, Tensor, int, int], float]  # of q, k, m, n
LAST = 1000  # position up to which a promise must hold


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


def black_boxes(theta: float, kind: str) -> dict[str, Score]:
    """Return scores that depend on the distance only, plainly on the position, or secretly on it."""

    def dot(q: Tensor, k: Tensor) -> float:
        return float(q.double() @ k.double())

    def turn(x: Tensor, position: int) -> Tensor:
        return rotate_pairs(x.double(), position * frequencies(len(x), theta))

    def mixed(x: Tensor, position: int) -> Tensor:  # note 001: angles of one layout, partners of the other
        angle = (position * frequencies(len(x), theta)).repeat(2)
        return x * angle.cos() + torch.stack((-x[1::2], x[::2]), dim=-1).flatten() * angle.sin()

    def rope(q: Tensor, k: Tensor, m: int, n: int) -> float:
        return dot(turn(q, m), turn(k, n))

    falls = "a score that falls to −10 for keys that are later"
    added = "a code for the key's place, added to k"
    alike = "the likeness of two sinusoid codes"
    if kind == "relative":
        return {
            "the dot product": lambda q, k, m, n: dot(q, k),
            "RoPE": rope,
            "ALiBi": lambda q, k, m, n: dot(q, k) - abs(m - n) / 8,
            "RoPE times a bell curve over the distance": lambda *a: rope(*a) * 0.998 ** (a[2] - a[3]) ** 2,
            falls: lambda q, k, m, n: rope(q, k, m, n) if n <= m else -10.0,
            alike: lambda q, k, *at: dot(*sinusoid(torch.tensor(at), 8, theta)),
        }
    if kind == "absolute":
        return {
            added: lambda q, k, m, n: dot(q, k + sinusoid(torch.tensor(n), len(k), theta)),
            "RoPE on the queries alone": lambda q, k, m, n: dot(turn(q, m), k),
            "a kernel of each place, K(m) · K(n)": lambda q, k, m, n: dot(q, k) * 0.9999 ** (m**2 + n**2),
            "queries turned one way, keys the other": lambda q, k, m, n: dot(turn(q, m), turn(k, -n)),
        }
    of_q = "RoPE, and a code of the place for q that is not constant"
    faint = "RoPE, and 0.004 times the sine of a ninth of q's place"
    later = "RoPE for keys that are not later; for later ones, the place of q alone"
    return {
        "positions beyond 200 taken for 200": lambda q, k, m, n: rope(q, k, min(m, 200), min(n, 200)),
        "positions that begin again at 128": lambda q, k, m, n: rope(q, k, m % 128, n % 128),
        "two layouts mixed": lambda q, k, m, n: dot(mixed(q, m), mixed(k, n)),
        of_q: lambda q, k, m, n: rope(q, k, m, n) + float(q.double().std()) * math.sin(m / 9),
        "positions rounded to even numbers": lambda q, k, m, n: rope(q, k, m // 2 * 2, n // 2 * 2),
        later: lambda q, k, m, n: rope(q, k, m, n if n <= m else 0),
        "positions beyond 700 taken for 700": lambda q, k, m, n: rope(q, k, min(m, 700), min(n, 700)),
        faint: lambda q, k, m, n: rope(q, k, m, n) + 0.004 * math.sin(m / 9),
        "RoPE up to 60 apart": lambda q, k, m, n: rope(q, k, m, n * (abs(m - n) <= 60)),
    }


def classifies(attempt: Any, draw: Generator, kind: str) -> None:
    for name, score in black_boxes(float(integer(draw, 100, 5000)), kind).items():
        for head_dim in (4, 8):
            what = f"{name} (head_dim {head_dim})"
            why = f"you let this one through: {what}. {counterexample(score, head_dim)}"
            if kind == "relative":
                digits = "The last digits of two equal sums may differ: allow for 0.001"
                why = f"you refuse this one, which knows the distance only: {what}. {digits}"
            require(ask_bool(attempt, score, head_dim, what=what) == (kind == "relative"), why)


def counterexample(score: Score, head_dim: int) -> str:
    """Return a sentence with one distance at two places, and two scores."""
    q, k = torch.randn(2, head_dim, generator=Generator().manual_seed(0), dtype=torch.float64)
    for m, n in ((3, 1), (4, 1), (3, 2), (150, 100), (1, 4), (90, 0)):
        for s in (1, 7, 100, 333, 800):
            one, other = score(q, k, m, n), score(q, k, m + s, n + s)
            if abs(one - other) > 0.002:
                first = f"at ({m}, {n}) one q and k score {one:.4f}"
                return f"At one distance, {first}, at ({m + s}, {n + s}) {other:.4f}"
    return "Try more distances, and places further along"


RELATIVE = Exercise(
    TASKS["Does it know the distance only?"],
    each(classifies, "relative", "absolute", "hidden"),
    is_relative_answer,
    seconds=20.0,
)


def ranking_answer(model: Any, score: Callable[..., float]) -> list[tuple[int, int]]:
    """All heads as (layer, head), counted from 0; first the one without which the score falls most."""
    D, without = model.config.head_dim, {}
    for layer, block in enumerate(model.blocks):
        out = block.attention.out.weight  # (C, C): its columns read what the heads write
        kept = out.detach().clone()
        for head in range(model.config.n_head):
            with torch.no_grad():
                out[:, head * D : (head + 1) * D] = 0.0
                without[layer, head] = score(model)
                out.copy_(kept)
    return sorted(without, key=lambda at: without[at])


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

    return model, score, f"a model of {n_layer} layer{'s'[: n_layer - 1]} with {n_head} heads each"


def ranks(attempt: Any, draw: Generator, sizes: Sequence[tuple[int, int]], in_order: bool) -> None:
    """Ask about models of so many layers and heads: each head once, or all of them in their order."""
    for n_layer, n_head in sizes:
        model, score, what = drawn_model(draw, n_layer, n_head)
        got = ask(attempt, model, score, what=what)
        order = [tuple(map(whole, things(head) or [])) for head in things(got) or []]
        came, heads = f"for {what} came out: {describe(got)}", list(np.ndindex(n_layer, n_head))
        complete = len(order) == len(heads) and set(order) == set(heads)
        require(in_order or complete, f"{came}; should hold each of {describe(heads)} once")
        alone, spoilt = dict[Any, float](), dict[Any, float]()  # spoilt: no head is given back
        for i, head in enumerate(heads):
            for some, scores in (([head], alone), (heads[: i + 1], spoilt)):
                with without_heads(model, some):
                    scores[head] = score(model)
        hint, want = "", sorted(heads, key=alone.__getitem__)
        if order == want[::-1]:
            hint = ". That begins with the head that matters least"
        elif order == sorted(heads, key=spoilt.__getitem__):
            hint = ". Do you give each head back before you silence the next?"
        each = ", ".join(f"{head} {alone[head]:.3f}" for head in want)
        require(not in_order or order == want, f"{came}; scores without each: {each}{hint}")


def leaves_the_model(attempt: Any, draw: Generator) -> None:
    model, score, what = drawn_model(draw, 2, 2)
    before = score(model)
    attempt(model, score)  # not through `ask`, which gives it a copy
    require_equal(score(model), before, f"{what} the model's score, once you are done with it:", atol=1e-6)


RANKING = Exercise(
    TASKS["Which head matters most?"],
    [*each(ranks, (((1, 2), (2, 3)), False), (((1, 3), (1, 4), (2, 2), (3, 3)), True)), leaves_the_model],
    ranking_answer,
    seconds=20.0,
)


def whole_names_answer(model: nn.Module, tokenizer: CharTokenizer, questions: Sequence[Question]) -> float:
    """Share of questions after which the model, always taking the likeliest letter, writes name and end."""
    right = 0
    for question in questions:
        wanted, text = question.answer + question.end, question.prompt
        for _ in wanted:
            logits = model(tokenizer.encode(text)[None])  # (1, T, vocab_size)
            text += tokenizer.decode(logits[0, -1:].argmax(dim=-1))
        right += text == question.prompt + wanted
    return right / len(questions)


class Speller(nn.Module):
    """Model that writes a given text and a full stop after each prompt of `plan`, and else question marks."""

    def __init__(self, tokenizer: CharTokenizer, plan: Mapping[str, str]) -> None:
        super().__init__()
        self.tokenizer, self.plan = tokenizer, plan

    def forward(self, idx: Tensor) -> Tensor:
        """Return logits (B, T, vocab_size): one letter is likelier than the others, which are all alike."""
        ids = []
        for text in map(self.tokenizer.decode, idx):
            prompt = next((prompt for prompt in self.plan if text.startswith(prompt)), text)
            letters = "?" * (len(prompt) - 1) + self.plan.get(prompt, "?") + "."
            ids.append(self.tokenizer.encode(letters.ljust(len(text), "?")[: len(text)]))
        return 3.0 * nn.functional.one_hot(torch.stack(ids), self.tokenizer.vocab_size)


def spells(attempt: Any, draw: Generator, sizes: Sequence[int], writes: str, hint: str = "") -> None:
    """Let models write after questions of a tiny world, and compare the share of right names.

    sizes   numbers of questions, one for each model
    writes  what it writes after most of them
    hint    what to tell those who find all names right
    """
    tokenizer = CharTokenizer("\nabcdefghijklmnopqrstuvwxyz .?!")
    for number, n in enumerate(sizes):
        rng, questions, plan = dice(draw), list[Question](), dict[str, str]()
        for i in range(n):
            name, rival = rng.sample(("ana", "tom", "benno", "lisa", "kim", "udo", "ruth"), 2)
            prompt, (end, other) = f"\n{'a' * i}{name} met {rival}. who met? ", rng.sample(". !", 2)
            questions.append(Question(prompt, name, rival, end))
            at = number % len(name)
            slip = f"{name[:at]}z{name[at + 1 :]}" if number < 5 else name[::-1]
            plan[prompt] = {
                "the name": name + end,
                "the rival": (rival if i else name) + end,
                "a slip": (slip if i else name) + end,
                "a longer name": name + (end if i == 1 else other if number else "na."),
            }[writes]
        pairs = [(q.answer + q.end, plan[q.prompt]) for q in questions]
        listed = ", ".join(f"{name!r}: {text!r}" for name, text in pairs)
        what = f"{n} questions, what is right and what the model writes being {listed},"
        want = sum(text.startswith(name) for name, text in pairs) / n
        right = [a == b for name, text in pairs for a, b in zip(name, text, strict=False)]
        mistakes = {"One wrong letter spoils the name": sum(right) / len(right), hint: 1.0 if hint else want}
        model = Speller(tokenizer, plan)
        expect(attempt, model, tokenizer, questions, want=want, what=what, mistakes=mistakes)


SLIP = "The first letter is not the whole name, and which name is likelier is not what is written"
NO_END = "After the name its end (`question.end`) must come: *anana* is not *ana*"

WHOLE_NAMES = Exercise(
    TASKS["Whole names"],
    each(
        spells,
        ((5,), "the name"),
        ((2, 5), "the rival"),
        ((4,) * 6, "a slip", SLIP),
        ((4, 4), "a longer name", NO_END),
    ),
    whole_names_answer,
)

EXERCISES = (HALF_SPLIT, RELATIVE, RANKING, WHOLE_NAMES)
