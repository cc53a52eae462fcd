"""Exercises of notebook 00: the mirror of a story, units of a loss, the probability of a story, and luck."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.data.tales import chinese, english
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask, expect, whole_number
from babygpt_course.exercises.compare import difference
from babygpt_course.exercises.draws import dice
from babygpt_course.exercises.story_choices import STORY


def mirror_stub(story: str, one: str, other: str) -> str:
    """The same story with two names exchanged."""
    return story


def mirror_answer(story: str, one: str, other: str) -> str:
    """The same story with two names exchanged."""
    return other.join(part.replace(other, one) for part in story.split(one))


def mirrored(draw: Generator, asked: bool = False) -> list[tuple[str, str, str, str]]:
    """Stories in two languages, the shortest first, with two of their names and their mirrors.

    asked  whether a story ends with its question, before the answer
    """
    rng, found = dice(draw), []
    for grammar in (english(), chinese()):
        for _ in range(6):
            story = grammar.sample(rng)
            question = story.question()
            if question:
                names = question.answer, question.rival
                end = len(question.prompt) - 1 if asked else None  # a prompt begins with a line end
                found.append((story.text[:end], *names, story.swap(*names).text[:end]))
    return sorted(found, key=lambda case: len(case[0]))


def slips(story: str, one: str, other: str) -> dict[str, tuple[str, ...]]:
    """What to say -> what somebody gets who makes that mistake."""
    swap = {one: other, other: one}
    words = [swap.get(word, word) for word in story.split(" ")]
    forth, back = story.replace(one, other), story.replace(other, one)
    return {
        "Once the first name has become the second, nobody can tell which is which": (
            *(forth, back),
            *(forth.replace(other, one), back.replace(one, other)),
        ),
        "A full stop may touch a name, and Chinese has no spaces": (" ".join(words), " ".join(words).strip()),
    }


def keeps_characters(attempt: Any, draw: Generator) -> None:
    for story, one, other, _ in mirrored(draw, asked=True):
        what = f"{story!r} with {one!r} and {other!r}"
        got = ask(attempt, story, one, other, what=what)
        if not isinstance(got, str):
            raise Wrong(f"for {what} {difference(got, story)}")
        if sorted(got) != sorted(story):
            lost = f"for {what} came out: {got!r}, which holds other characters than the story"
            told = (said for said, wrong in slips(story, one, other).items() if got in wrong)
            raise Wrong(lost + next((f". {said}" for said in told), ""))


def comes_back(attempt: Any, draw: Generator) -> None:
    for story, one, other, _ in mirrored(draw):
        what = f"{story!r} with {one!r} and {other!r}"
        once = ask(attempt, story, one, other, what=what)
        expect(attempt, once, one, other, want=story, what=f"the mirror of {what}")


def exchanges(attempt: Any, draw: Generator) -> None:
    for story, one, other, want in mirrored(draw):
        mistakes = {"That is the story itself": story}
        what = f"{story!r} with {one!r} and {other!r}"
        expect(attempt, story, one, other, want=want, what=what, mistakes=mistakes)


MIRROR = Exercise(
    name="The mirror of a story",
    task=(
        "Write `mirror(story, one, other)`: the same story, with the names `one` and `other` exchanged "
        "wherever they stand. It should work for *ada chased ben.* with `ada` and `ben`, and for 我爱你。 "
        "with `我` and `你`. No name is part of another word."
    ),
    level="warm-up",
    minutes=5,
    checks=(
        Check("up to the answer, story and mirror hold the same characters", keeps_characters),
        Check("the mirror of the mirror is the story", comes_back),
        Check("the names are exchanged, everywhere and alone", exchanges),
    ),
    hints=(
        "`story.replace(one, other)` loses which of the names stood there. Try it on *ada chased ben.*",
        "Replace three times: the first name by a sign that no story holds, the second by the first, …",
    ),
    stub=mirror_stub,
    answer=mirror_answer,
)


def units_stub(p: Tensor) -> tuple[float, float, float]:
    """Nats and bits per character, and perplexity, of a text whose characters had probabilities p (T,)."""
    return 0.0, 0.0, 1.0


def units_answer(p: Tensor) -> tuple[float, float, float]:
    """Nats and bits per character, and perplexity, of a text whose characters had probabilities p (T,)."""
    nats = -p.log().mean().item()
    return nats, nats / math.log(2), math.exp(nats)


def texts_with(numbers: list[list[float]], draw: Generator) -> list[Tensor]:
    """Probabilities of the characters of some texts: the given ones, and longer ones that are drawn."""
    drawn = [torch.rand(n, generator=draw) * 0.9 + 0.05 for n in (3, 8, 40)]
    return [*map(torch.tensor, numbers), *drawn]


def unit(number: int, attempt: Any, p: Tensor, mistakes: dict[str, float]) -> None:
    """Compare one of the three numbers."""
    what = f"p = {[round(x, 3) for x in p.tolist()[:6]]}{' …' if len(p) > 6 else ''}"
    got = ask(attempt, p, what=what)
    if not isinstance(got, tuple | list) or len(got) != 3:
        raise Wrong(f"for {what} came out: {got!r:.60}; should be three numbers: nats, bits, perplexity")
    text = difference(got[number], units_answer(p)[number])
    if text:
        told = [f". {said}" for said, wrong in mistakes.items() if not difference(got[number], wrong)]
        raise Wrong(f"for {what} {text}{told[0] if told else ''}")


def nats_right(attempt: Any, draw: Generator) -> None:
    for p in texts_with([[0.5], [0.25, 0.5]], draw):
        total = -p.log().sum().item()
        mistakes = {
            "A loss is *minus* the logarithm": -total / len(p),
            "Per character: divide by their number": total,
            "Average the logarithms, not the probabilities": -p.mean().log().item(),
        }
        unit(0, attempt, p, mistakes)


def bits_right(attempt: Any, draw: Generator) -> None:
    for p in texts_with([[0.5], [0.25, 0.5]], draw):
        nats = -p.log().mean().item()
        said = "A nat is more than a bit: e is larger than 2, so the number of bits is the larger one"
        unit(1, attempt, p, {said: nats * math.log(2), "These are nats": nats})


def perplexity_right(attempt: Any, draw: Generator) -> None:
    for p in texts_with([[0.5], [0.25, 0.5]], draw):
        nats = -p.log().mean().item()
        mistakes = {
            "2 to the power of nats mixes the units": 2**nats,
            "The mean of 1/p is not the exponential of the mean loss": (1 / p).mean().item(),
            "The exponent is the loss per character, not of all of the text": math.exp(nats * len(p)),
        }
        unit(2, attempt, p, mistakes)


UNITS = Exercise(
    name="Nats, bits, and how many candidates",
    task=(
        "A model gave the characters of a text the probabilities `p`, a tensor (T,). Write `units(p)`, which "
        "returns three numbers: the loss in nats per character, the same in bits per character, and the "
        "*perplexity*: among how many equally likely characters a model with this loss hesitates."
    ),
    level="warm-up",
    minutes=5,
    checks=(
        Check("nats per character", nats_right),
        Check("bits per character", bits_right),
        Check("perplexity", perplexity_right),
    ),
    hints=(
        "The loss is the mean of −ln p. All three numbers say the same thing.",
        "One bit is ln 2 nats. And who hesitates among n equal characters has a loss of ln n nats.",
    ),
    stub=units_stub,
    answer=units_answer,
)


MOST = 100_000  # questions that anyone would ask
SHARE, LUCK = 60, 100  # per cent right; one in so many


def lucky(n: int) -> float:
    """How probable it is that tossed coins answer 60% or more of n questions."""
    least = -(-SHARE * n // 100)
    return sum(math.comb(n, right) for right in range(least, n + 1)) / 2**n


def enough_questions() -> int:
    """The smallest number of questions at which luck is rarer than one in a hundred."""
    return next(n for n in range(1, MOST) if lucky(n) * LUCK < 1)


def some_number(answer: Any, _: Generator) -> None:
    whole_number(answer, 1, 2000)


def seldom_luck(answer: Any, _: Generator) -> None:
    chance = lucky(whole_number(answer, 1, 2000))
    if chance * LUCK >= 1:
        told = f"of a hundred coins that answer {answer} questions, {100 * chance:.2g} get 60% or more"
        near = ". Nearly: 60% of n is seldom whole, so this goes up and down with n; try a few more"
        raise Wrong(told + (near if chance * LUCK < 1.5 else ""))


def not_too_many(answer: Any, _: Generator) -> None:
    if whole_number(answer, 1, 2000) > 1.2 * enough_questions():
        raise Wrong(
            f"{answer} questions are enough, and many fewer are: luck has {lucky(answer):.2g} by then"
        )


QUESTIONS = Exercise(
    name="How many questions are enough?",
    task=(
        "A model answers 60% of your questions. Is that more than a coin does, or luck? Design the test: how "
        "many questions must you ask, so that a *coin* gets 60% of them or more in fewer than one test of a "
        "hundred? Each question is answered by a toss of its own. Work it out or toss coins "
        "(`torch.randint`). Your answer is a whole number, at most a fifth above the smallest one that does."
    ),
    level="stretch",
    minutes=12,
    checks=(
        Check("it is a number of questions", some_number),
        Check("a coin seldom gets so far", seldom_luck),
        Check("and no question is wasted", not_too_many),
    ),
    hints=(
        "Toss 20 coins, ten thousand times. In how many of these tests are 12 or more heads? Then toss 100.",
        "`(torch.rand(10_000, n) < 0.5).double().mean(dim=1) >= 0.6` says which of ten thousand tests "
        "passed.",
        "The share of heads strays from one half by about 0.5/√n; 0.1 must be some 2.33 times as much. Then "
        "look at a few numbers around that one.",
    ),
    stub=0,
    answer=132,
)

EXERCISES = (MIRROR, UNITS, STORY, QUESTIONS)
