"""Exercises of notebook 04: RoPE in another layout, distances only, heads ranked, whole names."""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from babygpt.config import ModelConfig
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt_course.exercises.checks import Wrong, ask, ask_bool, ask_tensor, expect, require_equal
from babygpt_course.exercises.compare import describe
from babygpt_course.exercises.draws import dice, integer, randomize_
from babygpt_course.exercises.exercise import Exercise


# ---------------------------------------------------------------- Half-split RoPE
def half_split_answer(x: Tensor, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)  # (T, D/2)
    first, second = x[..., : D // 2], x[..., D // 2 :]
    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.cat(turned, dim=-1)


def rotates(attempt: Any, draw: Generator, asked: str) -> None:
    """Ask for rotations of growing size, at positions and with a theta that the text never names."""
    for shape in ((1, 1, 1, 2), (1, 1, 2, 4), (2, 3, 5, 8), (1, 2, 4, 6)):  # (B, H, T, D)
        x = torch.randn(shape, generator=draw)
        positions = torch.randint(0, 40, (shape[2],), generator=draw)
        theta = float(integer(draw, 50, 5000))
        what = f"x of shape {shape}, positions {describe(positions)}, theta {theta:.0f}"
        if asked == "lengths":
            lengths = ask_tensor(attempt, x, positions, theta, what=what, shape=shape).norm(dim=-1)
            hint = {"A rotation keeps them": lengths}
            require_equal(lengths, x.norm(dim=-1), f"{what} lengths of the vectors:", hint)
        elif asked == "position 0":
            expect(attempt, x, 0 * positions, theta, want=x, what=f"{what} times 0, where nothing turns,")
        else:
            halves = torch.arange(x.shape[-1]).view(2, -1).T.flatten()  # 0, D/2, 1, D/2 + 1, ...
            want = rotate(x[..., halves], positions, theta)[..., halves.argsort()]
            expect(attempt, x, positions, theta, want=want, what=what)


def rotation_matrix(attempt: Any) -> Tensor:
    """Rotate a vector whose first half is 1 and whose second is 0, at 32 positions: (T, D)."""
    x = torch.cat([torch.ones(8), torch.zeros(8)]).expand(1, 1, 32, 16)
    return attempt(x, torch.arange(32), 100.0)[0, 0]


HALF_SPLIT = Exercise(
    r"""Half-split RoPE (core, 10 minutes)

    Most large models pair channel $i$ with channel $i + D/2$, not with its neighbour. Write
    `half_split(x, positions, theta)` for `x` of shape (B, H, T, D) and `positions` (T,), any whole numbers:
    pair $i$ turns by `positions` · $\theta^{-2i/D}$, in the direction of this notebook's `rotate_real`. The
    checker knows that both layouts are one up to the order of channels, and compares yours with the
    package's on shuffled channels.

    - Cut x into two halves of D/2 channels: the first components of all pairs, and the second ones.
    - A pair (a, b) turned by φ is (a cos φ − b sin φ, a sin φ + b cos φ).
    - The angles have shape (T, D/2): `positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)`.
    """,
    checks={
        "keeps every vector's length": partial(rotates, asked="lengths"),
        "leaves position 0 alone": partial(rotates, asked="position 0"),
        "turns each pair by its own angle": partial(rotates, asked="turns"),
    },
    answer=half_split_answer,
    picture=(rotation_matrix, "channel", "position (tokens)"),
)


# ---------------------------------------------------------------- Does it know the distance only?
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


def black_boxes(theta: float) -> dict[str, dict[str, Score]]:
    """Return scores that depend on the distance only, plainly on the position, or secretly on it."""

    def dot(q: Tensor, k: Tensor) -> float:
        return float(q.double() @ k.double())

    def turn(x: Tensor, position: int) -> Tensor:
        return rotate(x.double()[None, None, None], torch.tensor([position]), theta)[0, 0, 0]

    def mixed(x: Tensor, position: int) -> Tensor:  # note 001: angles of one layout, partners of the other
        angle = (position * frequencies(len(x), theta)).repeat(2)
        return x * angle.cos() + torch.stack((-x[1::2], x[::2]), dim=-1).flatten() * angle.sin()

    def code(position: int, n_embd: int) -> Tensor:
        return sinusoid(torch.tensor(position), n_embd, theta).double()

    def bell(d: float) -> float:
        return 2.0 ** (-(d**2))

    def rope(q: Tensor, k: Tensor, m: int, n: int) -> float:
        return dot(turn(q, m), turn(k, n))

    return {
        "relative": {
            "the dot product": lambda q, k, m, n: dot(q, k),
            "RoPE": rope,
            "ALiBi": lambda q, k, m, n: dot(q, k) - abs(m - n) / 8,
            "RoPE times a bell curve over the distance": (
                lambda q, k, m, n: rope(q, k, m, n) * bell((m - n) / 20)
            ),
            "a score that falls to −10 for keys that are later": (
                lambda q, k, m, n: rope(q, k, m, n) if n <= m else -10.0
            ),
            "the likeness of two sinusoid codes": lambda q, k, m, n: dot(code(m, 8), code(n, 8)),
        },
        "absolute": {
            "a code for the key's place, added to k": lambda q, k, m, n: dot(q, k + code(n, len(k))),
            "RoPE on the queries alone": lambda q, k, m, n: dot(turn(q, m), k),
            "a kernel of each place, K(m) · K(n)": lambda q, k, m, n: dot(q, k) * bell(m / 90) * bell(n / 90),
            "queries turned one way, keys the other": lambda q, k, m, n: dot(turn(q, m), turn(k, -n)),
        },
        "hidden": {
            "positions beyond 200 taken for 200": lambda q, k, m, n: rope(q, k, min(m, 200), min(n, 200)),
            "positions that begin again at 128": lambda q, k, m, n: rope(q, k, m % 128, n % 128),
            "two layouts mixed": lambda q, k, m, n: dot(mixed(q, m), mixed(k, n)),
            "RoPE, and a code of the place for q that is not constant": (
                lambda q, k, m, n: rope(q, k, m, n) + float(q.double().std()) * math.sin(m / 9)
            ),
            "positions rounded to even numbers": lambda q, k, m, n: rope(q, k, m // 2 * 2, n // 2 * 2),
            "RoPE for keys that are not later; for later ones, the place of q alone": (
                lambda q, k, m, n: rope(q, k, m, n if n <= m else 0)
            ),
        },
    }


def classifies(attempt: Any, draw: Generator, kind: str) -> None:
    for name, score in black_boxes(float(integer(draw, 100, 5000)))[kind].items():
        for head_dim in (4, 8):
            what = f"{name} (head_dim {head_dim})"
            got = ask_bool(attempt, score, head_dim, what=what)
            if got and kind != "relative":
                raise Wrong(f"you let this one through: {what}. {counterexample(score, head_dim)}")
            if kind == "relative" and not got:
                why = "The last digits of two equal sums may differ: allow for 0.001"
                raise Wrong(f"you refuse this one, which knows the distance only: {what}. {why}")


def counterexample(score: Score, head_dim: int) -> str:
    """Return a sentence with one distance at two places, and two scores."""
    q, k = torch.randn(2, head_dim, generator=Generator().manual_seed(0), dtype=torch.float64)
    for m, n in ((3, 1), (4, 1), (3, 2), (150, 100), (1, 4)):
        for s in (1, 7, 100, 333):
            one, other = score(q, k, m, n), score(q, k, m + s, n + s)
            if abs(one - other) > 0.01:
                first = f"at ({m}, {n}) one q and k score {one:.3f}"
                return f"At one distance, {first}, at ({m + s}, {n + s}) {other:.3f}"
    return "Try more distances, and places further along"


RELATIVE = Exercise(
    f"""Does it know the distance only? (core, 15 minutes)

    You are handed a score as a black box: `score(q, k, m, n)` is the number for a query `q` (head_dim,) at
    position m and a key `k` (head_dim,) at n. Design the experiment that finds out whether it depends on q,
    k and m − n only: `is_relative(score, head_dim)` returns True or False. You make the vectors
    (`torch.randn(head_dim)`) and choose the positions, whole numbers from 0 to {LAST}; differences below
    0.001 do not count. Some boxes are faulty in ways that show only if you look in the right place. A few
    hundred scores a box are enough; the checker has dozens of boxes, and does not wait for ever.

    - Ask for one score, move both tokens by the same step, ask again. What do you vary, besides the step?
    - Random q and k; m before, at and after n; small steps and large ones; odd ones too.
    - Some codes are fine up to a place and wrong beyond it: move to the end of the positions.
    """,
    checks={
        "lets relative scores through": partial(classifies, kind="relative"),
        "catches those that look at the place": partial(classifies, kind="absolute"),
        "catches faults that hide": partial(classifies, kind="hidden"),
    },
    answer=is_relative_answer,
    seconds=20.0,
)


# ---------------------------------------------------------------- Which head matters most?
ModelScore = Callable[[LanguageModel], float]


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


def drawn_model(draw: Generator, n_layer: int, n_head: int) -> tuple[LanguageModel, ModelScore, str]:
    """Draw a v4 with random weights and a score of it, minus a mean loss; and in words."""
    vocab_size, T = integer(draw, 5, 9), integer(draw, 6, 12)
    config = ModelConfig(vocab_size, block_size=16, n_layer=n_layer, n_head=n_head, n_embd=4 * n_head)
    model = build("v4", config)
    randomize_(model, draw)
    ids = torch.randint(vocab_size, (4, T), generator=draw)

    def score(model: LanguageModel) -> float:
        with torch.inference_mode():
            log_probs = model(ids[:, :-1]).log_softmax(dim=-1)
        return log_probs.gather(-1, ids[:, 1:, None]).mean().item()

    return model, score, f"a model of {n_layer} layer{'s'[: n_layer - 1]} with {n_head} heads each"


def reference_scores(model: LanguageModel, score: ModelScore, give_back: bool = True) -> dict[Any, float]:
    """Return the score without each head, the lowest first; some learners never give a head back."""
    D, scores, spoilt = model.config.head_dim, {}, copy.deepcopy(model)
    for layer in range(model.config.n_layer):
        for head in range(model.config.n_head):
            spoilt = copy.deepcopy(model) if give_back else spoilt
            weight = spoilt.get_parameter(f"blocks.{layer}.attention.out.weight").detach()
            weight[:, head * D : (head + 1) * D] = 0.0
            scores[layer, head] = score(spoilt)
    return dict(sorted(scores.items(), key=lambda item: item[1]))


def ranks_heads(attempt: Any, draw: Generator, sizes: Sequence[tuple[int, int]], in_order: bool) -> None:
    """Ask about models of so many layers and heads: each head once, or all of them in their order."""
    for n_layer, n_head in sizes:
        model, score, what = drawn_model(draw, n_layer, n_head)
        got = ask(attempt, model, score, what=what)
        got = list(got) if isinstance(got, tuple) else got
        scores = reference_scores(model, score)
        want, came = list(scores), f"for {what} came out: {describe(got)}"
        complete = isinstance(got, list) and len(got) == len(want) and all(head in got for head in want)
        if not in_order and not complete:
            raise Wrong(f"{came}; should hold each of {describe(sorted(want))} once")
        if in_order and got != want:
            hint = ""
            if got == want[::-1]:
                hint = ". That begins with the head that matters least"
            elif got == list(reference_scores(model, score, give_back=False)):
                hint = ". Give each head back before you silence the next"
            each = ", ".join(f"{head} {value:.3f}" for head, value in scores.items())
            raise Wrong(f"{came}; scores without each: {each}{hint}")


def leaves_the_model(attempt: Any, draw: Generator) -> None:
    model, score, what = drawn_model(draw, 2, 2)
    before = score(model)
    attempt(model, score)  # not through `ask`, which gives it a copy
    after = f"{what} the model's score, once you are done with it:"
    require_equal(score(model), before, after, atol=1e-6)


RANKING = Exercise(
    """Which head matters most? (stretch, 15 minutes)

    Attention shows where a head looks, not what it is good for. Write `ranking(model, score)`, without the
    package's `ablate_heads`: silence one head after the other, ask `score(model)` (a number, larger is
    better), and return all heads as pairs (layer, head), counted from 0; first the one without which the
    score is *lowest*. A head is silent if it adds nothing to the stream. The layers are `model.blocks`; a
    layer's heads write side by side into `block.attention.out`, an `nn.Linear` without bias whose weight may
    be changed under `torch.no_grad()`; `model.config` has `n_head` and `head_dim`. Leave the model as it was.

    - Head h writes channels h·D to (h + 1)·D. Which numbers of `out.weight` (C, C) read these channels?
    - `y = x @ weight.T`: the *columns* of the weight belong to the channels of x. Set the head's to 0.
    - Keep a clone of the weight, and copy it back after each head; all of it under `torch.no_grad()`.
    """,
    checks={
        "names each head once": partial(ranks_heads, sizes=((1, 2), (2, 3)), in_order=False),
        "the heads in their order": partial(
            ranks_heads, sizes=((1, 3), (1, 4), (2, 2), (3, 3)), in_order=True
        ),
        "leaves the model as it was": leaves_the_model,
    },
    answer=ranking_answer,
    seconds=20.0,
)


# ---------------------------------------------------------------- Whole names
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
    """Model that writes a given text after each prompt of `plan`, and question marks after anything else."""

    def __init__(self, tokenizer: CharTokenizer, plan: Mapping[str, str]) -> None:
        super().__init__()
        self.tokenizer, self.plan = tokenizer, plan

    def next_letter(self, text: str) -> str:
        for prompt, written in self.plan.items():
            if text.startswith(prompt) and len(text) < len(prompt + written):
                return written[len(text) - len(prompt)]
        return "?"

    def forward(self, idx: Tensor) -> Tensor:
        """Return logits (B, T, vocab_size): one letter is likelier than the others, which are all alike."""
        texts = [self.tokenizer.decode(row) for row in idx]
        letters = ["".join(self.next_letter(text[: t + 1]) for t in range(len(text))) for text in texts]
        ids = torch.stack([self.tokenizer.encode(row) for row in letters])
        return 3.0 * nn.functional.one_hot(ids, self.tokenizer.vocab_size)


def drawn_questions(draw: Generator, n: int) -> list[Question]:
    """Draw questions of a tiny world, with names of different lengths."""
    rng, found = dice(draw), []
    for i in range(n):
        name, rival = rng.sample(("ana", "tom", "benno", "lisa", "kim", "udo", "ruth"), 2)
        prompt = f"\n{'a' * i}{name} met {rival}. who met? "
        found.append(Question(prompt, name, rival, ". !"[rng.randint(0, 2)]))
    return found


def spells(
    attempt: Any,
    draw: Generator,
    sizes: Sequence[int],
    write: Callable[[Question, int, int], str],
    hint: str = "",
) -> None:
    """Let models write after some prompts, and compare the share of right names.

    sizes  numbers of questions, one for each model
    write  given a question, its number and the model's, returns what is written
    hint   what to tell those who find all names right
    """
    tokenizer = CharTokenizer("\nabcdefghijklmnopqrstuvwxyz .?!")
    for number, n in enumerate(sizes):
        questions = drawn_questions(draw, n)
        pairs = [(q.answer + q.end, write(q, i, number)) for i, q in enumerate(questions)]
        model = Speller(
            tokenizer, {q.prompt: text + "." for q, (_, text) in zip(questions, pairs, strict=True)}
        )
        listed = ", ".join(f"{name!r}: {text!r}" for name, text in pairs)
        what = f"{n} questions, what is right and what the model writes being {listed},"
        want = sum(text.startswith(name) for name, text in pairs) / n
        letters = [a == b for name, text in pairs for a, b in zip(name, text, strict=False)]
        mistakes = {"One wrong letter spoils the name": sum(letters) / len(letters)}
        mistakes |= {hint: 1.0} if hint else {}
        expect(attempt, model, tokenizer, questions, want=want, what=what, mistakes=mistakes)


def one_letter_wrong(q: Question, number: int, at: int) -> str:
    name = q.answer + q.end
    return name[:at] + "z" + name[at + 1 :] if number else name


ONE_LETTER = "The first letter is not the whole name, and which name is likelier is not what is written"
NO_END = "After the name its end (`question.end`) must come: *anana* is not *ana*"


WHOLE_NAMES = Exercise(
    """Whole names (stretch, 15 minutes)

    `role_accuracy` asks which of two names is likelier. But what does a model *write*? Let it write by
    itself after each `question.prompt`, always the letter it finds likeliest, and count a question if
    `question.answer` and then `question.end` come, letter for letter. Write `whole_names(model, tokenizer,
    questions)`, which returns the share. `model(ids)` takes (B, T) and gives logits (B, T, vocab_size);
    `tokenizer.encode(text)` gives ids (T,), and `tokenizer.decode` takes such ids, be it a single one in a
    row (1,). Solved? Then ask it of this notebook's model: `whole_names(v4, tokenizer, questions[:100])`.

    - Begin with the prompt. Add the likeliest letter, ask again with the longer text, and so on.
    - The last row of the logits is for the letter that comes next: `logits[0, -1].argmax()`.
    - Write as many letters as the answer and its end have, then compare texts.
    """,
    checks={
        "a model that is always right": partial(spells, sizes=(5,), write=lambda q, *_: q.answer + q.end),
        "the other name is wrong": partial(
            spells, sizes=(2, 5), write=lambda q, i, _: (q.rival if i else q.answer) + q.end
        ),
        "one wrong letter is one too many": partial(
            spells, sizes=(4, 4, 4), write=one_letter_wrong, hint=ONE_LETTER
        ),
        "and the name must end": partial(
            spells, sizes=(4,), write=lambda q, i, _: q.answer + (q.end if i == 1 else "na."), hint=NO_END
        ),
    },
    answer=whole_names_answer,
)

EXERCISES = (HALF_SPLIT, RELATIVE, RANKING, WHOLE_NAMES)
