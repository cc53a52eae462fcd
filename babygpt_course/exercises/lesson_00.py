"""Exercises of notebook 00: the mirror of a story, units of a loss, and the probability of a story."""

import math
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.data.grammar import Grammar
from babygpt.data.stories import Rule, read_template
from babygpt.data.tales import chinese, english
from babygpt_course.exercises.checks import ask, ask_parts, expect, require, require_equal
from babygpt_course.exercises.compare import describe, to_python
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, read_tasks

TASKS = read_tasks("lesson_00")


def mirror_answer(story: str, one: str, other: str) -> str:
    """Return the story with two names exchanged."""
    return other.join(part.replace(other, one) for part in story.split(one))


def words_exchanged(story: str, one: str, other: str) -> str:
    """Exchange only names that stand between spaces: a known mistake."""
    names = {one: other, other: one}
    return " ".join(names.get(word, word) for word in story.split(" "))


def asks_for_mirrors(attempt: Any, draw: Generator, aspect: str) -> None:
    """Ask for the mirrors of stories in two languages, the shortest first."""
    rng, letters = dice(draw), ".\na b c d e f g h i j k l m n o p q r s t u v w x y z? xx zz"
    stories = [grammar.sample(rng) for grammar in (english(), chinese()) for _ in range(6)]
    for story in sorted(stories, key=lambda story: len(story.text)):
        if not (question := story.question()):
            continue
        name, rival, original = question.answer, question.rival, story.text
        mirror = story.swap(name, rival).text
        asks = {name + letters: rival + letters, original: mirror, f"{original}\n" * 3: f"{mirror}\n" * 3}
        if aspect == "characters":  # up to the answer, which is another one in the mirror
            asks = {original[: len(question.prompt) - 1]: mirror}  # a prompt begins with a line end
        for text, want in asks.items():
            what = f"{text!r} with {name!r} and {rival!r}"
            got = to_python(ask(attempt, text, name, rival, what=what))
            if aspect == "the mirror":
                expect(attempt, got, name, rival, want=text, what=f"the mirror of {what}")
            elif aspect == "the names" or not isinstance(got, str):
                require_equal(got, want, what, {"That is the story itself": text})
            else:
                hint = ""
                if got.strip() == words_exchanged(text, name, rival).strip():
                    hint = ". A full stop may touch a name, and Chinese has no spaces"
                elif name not in got or rival not in got:
                    hint = ". Once the first name has become the second, the two cannot be told apart"
                came = f"came out: {got!r}, which holds other characters than the story{hint}"
                require(sorted(got) == sorted(text), f"for {what} {came}")


MIRROR = Exercise(
    TASKS["The mirror of a story"],
    each(asks_for_mirrors, "characters", "the mirror", "the names"),
    mirror_answer,
)


def units_answer(p: Tensor) -> tuple[float, float, float]:
    """Nats and bits per character, and perplexity, of a text whose characters had probabilities p (T,)."""
    nats = -p.log().mean().item()
    return nats, nats / math.log(2), math.exp(nats)


def unit_mistakes(p: Tensor) -> list[dict[str, float]]:
    """Return the known mistakes in nats, bits and perplexity: sentence -> wrong value."""
    nats = units_answer(p)[0]
    more_bits = "A nat is more than a bit: e is larger than 2, so the number of bits is the larger one"
    return [
        {
            "A loss is *minus* the logarithm": -nats,
            "Per character: divide by their number": nats * len(p),
            "Average the logarithms, not the probabilities": -p.mean().log().item(),
        },
        {more_bits: nats * math.log(2), "These are nats": nats, "1.44 is rounded: 1 / ln 2": 1.44 * nats},
        {
            "2 to the power of nats mixes the units": 2**nats,
            "The mean of 1/p is not the exponential of the mean loss": (1 / p).mean().item(),
            "The exponent is the loss per character, not of all the text": math.exp(min(700, nats * len(p))),
        },
    ]


def gives_unit(attempt: Any, draw: Generator, number: int) -> None:
    drawn = [torch.rand(n, generator=draw) * 0.9 + 0.05 for n in (3, 8, 2000)]  # long: products underflow
    for p in (torch.tensor([0.5]), torch.tensor([0.25, 0.5, 0.5, 0.001]), torch.tensor([0.5, 1e-7]), *drawn):
        what = f"p = {describe(p)}"
        got = ask_parts(attempt, p, what=what, expected="three numbers: nats, bits, perplexity", number=3)
        require_equal(got[number], units_answer(p)[number], what, unit_mistakes(p)[number])


UNITS = Exercise(TASKS["Nats, bits, and how many candidates"], each(gives_unit, 0, 1, 2), units_answer)


def story_log_prob_answer(holes: list[str], sizes: dict[str, int]) -> float:
    """Log-probability in nats of a story whose holes are filled in this order, from lists of these sizes."""
    total = 0.0
    filled: dict[str, set[str]] = {}  # kind -> its holes that hold a word
    for hole in holes:
        kind = hole.split(".")[0]
        before = filled.setdefault(kind, set())
        if hole not in before:
            total -= math.log(sizes[kind] - len(before))
            before.add(hole)
    return total


def free_choices(holes: list[str], sizes: dict[str, int]) -> float:
    """Take each hole for a free choice from its whole list: a known mistake."""
    return -sum(math.log(sizes[hole.split(".")[0]]) for hole in holes)


def few_holes(attempt: Any, draw: Generator, stories: list[str], if_free: str = "") -> None:
    """Ask for the holes of some stories; `if_free` is for those who count choices as free that are not."""
    for holes in map(str.split, stories):
        # The product of seven sizes is above 2^63, as in some real stories.
        least, most = (5, 60) if len(holes) < 7 else (1000, 2000)
        kinds = dict.fromkeys(hole.split(".")[0] for hole in holes)
        sizes = {kind: integer(draw, least, most) for kind in kinds}
        want = story_log_prob_answer(holes, sizes)
        positive = "A probability is at most 1, so its logarithm is not above 0"
        mistakes, what = {positive: -want, if_free: free_choices}, f"holes {holes} and sizes {sizes}"
        expect(attempt, holes, sizes, want=want, what=what, mistakes=mistakes)


def whole_stories(attempt: Any, draw: Generator) -> None:
    """Ask about drawn stories with one scene, of grammars with drawn lists."""
    for _ in range(8):
        rng, whole = dice(draw), english()
        rules, words = (
            {k: tuple(rng.sample(v, rng.randint(min(6, len(v)), min(40, len(v))))) for k, v in lists.items()}
            for lists in (whole.rules, whole.words)
        )
        grammar = Grammar(words, rules | {name: whole.rules[name] for name in ("gap", "scenes")})
        before, after = rng.choice(grammar.rules["story"]).split("[gap]")
        scene = rng.choice(grammar.rules["scene"])
        free = {kind: rng.sample(words, len(words)) for kind, words in grammar.words.items()}
        holes, story, filled = ["[story]"], "", dict[str, str]()
        for item in read_template(f"{before}. [gap][scenes][scene]{scene}. {after}"):
            if isinstance(item, str):
                story += item
            elif isinstance(item, Rule):
                holes.append(f"[{item.name}]")
            else:
                hole = f"{item.kind}.{item.var}".rstrip(".")  # "verb", or "name.a"
                holes.append(hole)
                filled[hole] = filled.get(hole) or free[item.kind].pop()
                story += filled[hole]
        lists = grammar.words | {f"[{name}]": options for name, options in grammar.rules.items()}
        sizes = {kind: len(lists[kind]) for kind in dict.fromkeys(hole.split(".")[0] for hole in holes)}
        what = f"the story {story!r}, with holes {holes} and sizes {sizes},"
        expect(attempt, holes, sizes, want=grammar.log_prob(story), what=what)


RULES = ["[gap]", "[story] [gap] [scenes]"]
AGAIN = ["verb verb", "[gap] name.b verb verb name.b [gap]"]
NAMES = ["name.z name.a", "name.c verb.b name.w verb.a name.a name.b"]
NAMES.append(" ".join(f"name.{letter}" for letter in "bcadfeg"))
IF_AGAIN = "When a hole comes again, its word is known: that is no choice"
IF_SHARED = "Two people never share a name, so each new one has fewer names to choose from"

STORY = Exercise(
    TASKS["A story with a scene"],
    [*each(few_holes, (RULES, ""), (AGAIN, IF_AGAIN), (NAMES, IF_SHARED)), whole_stories],
    story_log_prob_answer,
)

EXERCISES = (MIRROR, UNITS, STORY)
