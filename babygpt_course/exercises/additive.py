"""Two exercises of notebook 02: what a sum of votes can say, and a text that it cannot learn."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, ask, texts
from babygpt_course.exercises.compare import shown, truth
from babygpt_course.exercises.draws import integer


def v2_can_stub(table: Tensor) -> bool:
    """Whether some v2 gives these probabilities (T, V, V), of place, token and next token."""
    return True


def v2_can_answer(table: Tensor) -> bool:
    """Whether some v2 gives these probabilities (T, V, V), of place, token and next token."""
    logits = table.log()
    logits = logits - logits.mean(dim=2, keepdim=True)  # a softmax does not see what a whole row shares
    of_place, of_token = logits.mean(dim=1, keepdim=True), logits.mean(dim=0, keepdim=True)
    rest = logits - of_place - of_token + logits.mean(dim=(0, 1))
    return bool(rest.abs().max() < 1e-3)


def sizes(draw: Generator) -> list[tuple[int, int]]:
    """Numbers of places and of tokens, the smallest first."""
    return [(2, 2), (3, 4), (integer(draw, 4, 9), integer(draw, 4, 7))]


def votes(T: int, V: int, draw: Generator) -> tuple[Tensor, Tensor]:
    """What places and tokens vote: (T, 1, V) and (1, V, V)."""
    return torch.randn(T, 1, V, generator=draw), torch.randn(1, V, V, generator=draw)


def answered(attempt: Any, table: Tensor, want: bool, what: str) -> None:
    """Ask about a table of T places and V tokens."""
    what = f"T = {len(table)}, V = {table.shape[1]}: {what},"
    found = ask(attempt, table.double(), what=what)
    got = truth(found)
    if got is None:
        raise Wrong(f"for {what} came out: {shown(found)}; should be True or False")
    if got != want:
        told = ". What all of a row of ln p shares does not count" if want else ""
        begins = shown(table.flatten())
        raise Wrong(f"for {what} came out: {got}; should be: {want}. Row by row it begins {begins}{told}")


def yes_to_sums(attempt: Any, draw: Generator) -> None:
    for T, V in sizes(draw):
        place, token = votes(T, V, draw)
        answered(attempt, (place + token).softmax(-1), True, "the softmax of a place's and a token's votes")
        product = place.softmax(-1) * token.softmax(-1)
        product = product / product.sum(dim=-1, keepdim=True)
        answered(attempt, product, True, "probabilities multiplied, and divided by each row's sum")


def yes_to_one(attempt: Any, draw: Generator) -> None:
    for T, V in sizes(draw):
        place, token = votes(T, V, draw)
        answered(attempt, token.expand(T, V, V).softmax(-1), True, "a bigram table, the same at every place")
        answered(attempt, place.expand(T, V, V).softmax(-1), True, "a table that does not care for the token")


def no_to_means(attempt: Any, draw: Generator) -> None:
    for T, V in sizes(draw):
        place, token = (3 * part for part in votes(T, V, draw))
        mean = (place.softmax(-1) + token.softmax(-1)) / 2
        if not v2_can_answer(mean.double()):
            answered(attempt, mean, False, "the mean of a place's and a token's probabilities")


def no_to_exceptions(attempt: Any, draw: Generator) -> None:
    for T, V in sizes(draw):
        place, token = votes(T, V, draw)
        logits = (place + token).clone()
        t, a = integer(draw, 0, T), integer(draw, 0, V)
        logits[t, a, integer(draw, 0, V)] += 1.0
        answered(
            attempt, logits.softmax(-1), False, f"a sum, with one exception at place {t} after token {a}"
        )


ADDITIVE = Exercise(
    name="What can v2 say?",
    task=(
        "Somebody hands you a table of probabilities `table` (T, V, V): at place t, after token a, of each "
        "next "
        "token, all above 0. Write `v2_can(table)`: `True` if some v2, with as many channels as it likes, "
        "has "
        "exactly this table, and otherwise `False`. (Differences below 0.001 nats do not count.)"
    ),
    level="stretch",
    minutes=20,
    checks=(
        Check("yes to votes that are added", yes_to_sums),
        Check("yes to tables of the token alone, and of the place alone", yes_to_one),
        Check("no to a mean of probabilities", no_to_means),
        Check("no to one exception", no_to_exceptions),
    ),
    hints=(
        "v2 adds *logits*. Which logits belong to a probability? Any that differ from ln p by a row's "
        "constant.",
        "Make each row of ln p average 0. Then ask: is it a number for (t, next) plus one for (a, next)?",
        "In a sum, the step from place 0 to place t is the same for every token a. Compare these steps.",
    ),
    stub=v2_can_stub,
    answer=v2_can_answer,
)


MOST, GAP = 16, 0.3


def equal_texts(answer: Any) -> tuple[str, ...]:
    """The learner's texts. Raises Unusable if they are none, too many, or not all as long."""
    given = texts(answer)
    lengths = sorted({len(text) for text in given})
    if len(lengths) > 1:
        raise Unusable(f"the texts should be equally long, and have {lengths} characters")
    if not 2 <= lengths[0] <= MOST or len(given) > MOST:
        raise Unusable(f"there should be 1 to {MOST} texts of 2 to {MOST} characters")
    return given


def predictions(given: tuple[str, ...]) -> tuple[Tensor, Tensor, Tensor, int]:
    """Place, token and next token of each prediction, and the number of tokens."""
    letters = sorted(set("".join(given)))
    ids = torch.tensor([[letters.index(letter) for letter in text] for text in given])
    places = torch.arange(ids.shape[1] - 1).expand(len(given), -1)
    return places.flatten(), ids[:, :-1].flatten(), ids[:, 1:].flatten(), len(letters)


def best_v2_loss(given: tuple[str, ...]) -> float:
    """The lowest loss of any v2 on the texts: a convex problem, solved by L-BFGS."""
    place, this, following, V = predictions(given)
    of_place = torch.zeros(int(place.max()) + 1, V, dtype=torch.float64, requires_grad=True)
    of_token = torch.zeros(V, V, dtype=torch.float64, requires_grad=True)
    solver = torch.optim.LBFGS([of_place, of_token], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        found = F.cross_entropy(of_place[place] + of_token[this], following)
        found.backward()
        return found

    solver.step(loss)
    return loss().item()


def are_texts(answer: Any, _: Generator) -> None:
    equal_texts(answer)


def is_settled(answer: Any, _: Generator) -> None:
    seen: dict[tuple[int, str], Counter[str]] = {}
    for text in equal_texts(answer):
        for place, this in enumerate(text[:-1]):
            seen.setdefault((place, this), Counter())[text[place + 1]] += 1
    for (place, this), after in seen.items():
        if len(after) > 1:
            raise Wrong(f"at place {place}, after {this!r}, come {' and '.join(map(repr, sorted(after)))}")


def v2_fails(answer: Any, _: Generator) -> None:
    loss = best_v2_loss(equal_texts(answer))
    if loss < GAP:
        raise Wrong(f"the best v2 loses {loss:.2f} nats per prediction on it; should be {GAP} or more")


BEYOND_V2 = Exercise(
    name="A text that v2 cannot learn",
    task=(
        "Design a few texts, all equally long, in which place and token *together* leave no doubt about the "
        f"next character, while the best v2 loses {GAP} nats per prediction or more, however long it is "
        f"trained. Your answer is a list of up to {MOST} texts of up to {MOST} characters. (The checker "
        "finds "
        "the best v2 for them, which takes a second.)"
    ),
    level="stretch",
    minutes=15,
    checks=(
        Check("texts that are equally long", are_texts),
        Check("place and token together leave no doubt", is_settled),
        Check("the best v2 is in doubt", v2_fails),
    ),
    hints=(
        "v2 adds. What can no sum of two numbers say? Think of *either one or the other, and not both*.",
        "Let the token mean one thing at one place, and the opposite at the next. Two letters suffice.",
        "At place 0: a letter follows itself. At place 1: the other letter follows.",
    ),
    stub=[],
    answer=["aab", "bba"],
    seconds=20.0,
)
