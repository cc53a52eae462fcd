"""Exercises of notebook 02: windows from the second word, who voted for what, and what no sum can say."""

from collections.abc import Iterator
from itertools import product, zip_longest
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import ask_bool, ask_tensors, equal_texts, require
from babygpt_course.exercises.compare import as_numbers, describe, format_beyond
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, read_tasks

TASKS = read_tasks("lesson_02")


def second_word_answer(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    """Windows (N, length) that begin at the second word of each line."""
    starts, in_first_word = [], True
    for i, token in enumerate(ids.tolist()):
        if token == newline:
            in_first_word = True
        elif token == space and in_first_word:
            starts.append(i + 1)
            in_first_word = False
    fitting = [start for start in starts if start + length <= len(ids)]
    return ids[torch.tensor(fitting, dtype=torch.long)[:, None] + torch.arange(length)]


def each_space(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    starts = (ids == space).nonzero()[:, 0] + 1
    return ids[starts[starts + length <= len(ids)][:, None] + torch.arange(length)]


WINDOW_MISTAKES = {
    "The first line begins where the text begins": (
        lambda ids, newline, *rest: second_word_answer(ids[ids.tolist().index(newline) :], newline, *rest)
    ),
    "Only the second word, not each one": each_space,
}


def spell(windows: Any, letters: dict[int, str]) -> list[str]:
    """Return windows (N, length) of ids as texts; none if they are something else."""
    rows = as_numbers(windows)
    if rows is None or rows.dim() != 2 or not set(rows.flatten().tolist()) <= set(letters):
        return []
    return ["".join(letters[int(i)] for i in row) for row in rows.tolist()]


def letters_of(ids: Tensor, newline: int, space: int) -> dict[int, str]:
    """Return a letter for each id of a text: | for its line end, and x, y, z for the letters of words."""
    others = sorted(set(ids.tolist()) - {newline, space})
    return {newline: "|", space: " ", **dict(zip(others, "xyz", strict=False))}


def differing_window(got: Any, want: Tensor, ids: Tensor, newline: int, space: int, *_: Any) -> str:
    """Return the first window that differs, spelt, as the end of a sentence."""
    letters = letters_of(ids, newline, space)
    if not (ours := spell(got, letters)):
        return ""
    pairs = enumerate(zip_longest(ours, spell(want, letters)))
    n, (window, expected) = next(((n, two) for n, two in pairs if two[0] != two[1]), (0, ("", "")))
    if window is None:
        return f". Window {n} is missing; it should be {expected!r}"
    wish = "there should be none" if expected is None else f"should be {expected!r}"
    return f". Window {n} is {window!r}; {wish}"


def draw_lines(draw: Generator, *words: int) -> Iterator[Case]:
    """Draw texts with so many words in each line, one of them long, and ids that a byte may not hold."""
    rng = dice(draw)
    drawn = [["".join(rng.choices("xyz", k=rng.randint(1, 4))) for _ in range(n)] for n in words]
    whole = "".join(" ".join(line) + "|" for line in drawn)
    last = len(" ".join(drawn[-1][1:]))  # a window so long ends with the text, if that has no last line end
    short = "|".join(whole.split("|")[:2]) + "|"
    texts_and_lengths = [(short, 1), (short, 2), *product((whole, whole[:-1]), (1, 3, 6, 12, last, last + 1))]
    texts_and_lengths += [(whole[-2::-1] + "|", 3), (12 * whole, 5)]  # one of the same shape, and a long one
    if 1 in words:  # no window at all: lines of one word, and a text that is too short
        texts_and_lengths = [("y|z|", integer(draw, 1, 5)), ("y z|", integer(draw, 3, 6)), *texts_and_lengths]
    for number, (text, length) in enumerate(texts_and_lengths):
        near = integer(draw, 2048, 49_000) + torch.tensor(
            [0, 1, 256, 257, 512]
        )  # alike in a byte, or float16
        kinds = range(5), rng.sample(range(50_000), 5), near.tolist()
        numbers = dict(zip("xyz |", rng.sample(kinds[number % 3], 5), strict=True))
        arguments = torch.tensor([numbers[letter] for letter in text]), numbers["|"], numbers[" "], length
        letters = letters_of(*arguments[:3])
        spelt = "".join(letters[i] for i in arguments[0].tolist())
        what = f"the text {describe(spelt)} (| is its line end) and length {length}"
        what += f", with the ids {letters}" * (max(letters) > 4)
        if not len(second_word_answer(*arguments)):
            what += f" (so no window: a tensor of shape (0, {length}) is asked)"
        yield Case(what, arguments)


def asks_windows(*words: int) -> Agrees:
    """Return the check on texts with so many words in each line."""
    return Agrees(
        lambda draw: draw_lines(draw, *words), second_word_answer, WINDOW_MISTAKES, hint=differing_window
    )


SECOND_WORD = Exercise(
    TASKS["Windows from the second word"],
    [asks_windows(*(2,) * 9), asks_windows(4, 2, 3, 5, 2), asks_windows(1, 3, 1, 0, 1, 2, 1, 3)],
    second_word_answer,
    mistakes=WINDOW_MISTAKES,
)


def votes_answer(E: Tensor, P: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Votes of each token (V, V) and of each position (T, V), the latter 0 on average over positions."""
    of_token, of_position = E @ W.T + b, P @ W.T
    mean = of_position.mean(dim=0)
    return of_token + mean, of_position - mean


def splits_votes(attempt: Any, draw: Generator, aspect: str) -> None:
    """Ask for the votes of v2 in several sizes; look at their sum, or at the positions' mean or steps."""
    for V, T, C in ((2, 3, 1), (4, 2, 3), (5, 7, 4), (5, 7, 4), (3, 1, 2), (9, 300, 4)):
        E, P, W, b = (torch.randn(shape, generator=draw) + 0.5 for shape in ((V, C), (T, C), (V, C), (V,)))
        what = f"V = {V} tokens, T = {T} positions and C = {C} channels"
        shapes = {"votes of the tokens": (V, V), "votes of the positions": (T, V)}
        of_token, of_position = ask_tensors(attempt, E, P, W, b, what=what, shapes=shapes)
        off = of_token + of_position[:, None] - (E + P[:, None]) @ W.T - b  # (T, V, V)
        mistakes = {
            ". The positions' mean, taken from them, must go to the tokens": -(P @ W.T).mean(dim=0),
            ". The bias is missing": -b,
            ". The bias is there twice": b,
        }
        explanation = next((sentence for sentence, x in mistakes.items() if (off - x).abs().max() < 1e-4), "")
        worst, mean = describe(off.flatten()[off.abs().argmax()]), of_position.mean(dim=0)
        steps, want = of_position - of_position[0], (P - P[0]) @ W.T
        last = f"position {T - 1} differ from those of position 0 by {describe(steps[-1])}"
        excess, wrong = {
            "sum": (off, f"token + position is not v2's logits: off by {worst}{explanation}"),
            "mean": (mean, f"the positions vote {describe(mean)} on average; should be 0 for each character"),
            "step": (steps - want, f"the votes of {last}; should be {describe(want[-1])}"),
        }[aspect]
        require(excess.abs().max() < 2e-4, f"for {what} {wrong}")


def votes_matrix(attempt: Any) -> Tensor:
    """Return the votes of the positions in a v2 of twelve positions and eight characters: (T, V)."""
    draw = Generator().manual_seed(0)
    E, P, W, b = (torch.randn(shape, generator=draw) for shape in ((8, 3), (12, 3), (8, 3), (8,)))
    return attempt(E, P, W, b)[1]


VOTES = Exercise(
    TASKS["Who voted for what"],
    each(splits_votes, "sum", "mean", "step"),
    votes_answer,
    picture=(votes_matrix, "character voted for", "position"),
)


def v2_can_answer(table: Tensor) -> bool:
    """Whether some v2 gives these probabilities (T, V, V), of position, token and next token."""
    logits = table.log()
    logits = logits - logits.mean(dim=2, keepdim=True)  # a softmax does not see what a whole row shares
    of_position, of_token = logits.mean(dim=1, keepdim=True), logits.mean(dim=0, keepdim=True)
    rest = logits - of_position - of_token + logits.mean(dim=(0, 1))
    return bool(rest.abs().max() < 1e-3)


def cube_exceptions(votes: Tensor, draw: Generator) -> dict[str, Tensor]:
    """Add 0.4 or −0.4 to the 8 corners of a drawn cube of the votes, so that each mean stays as it is."""
    if min(votes.shape) < 2:
        return {}
    edges = [torch.randperm(n, generator=draw)[:2].sort().values for n in votes.shape]
    corners = torch.cartesian_prod(*[torch.arange(2)] * 3)  # (8, 3)
    indices = tuple(end[corner] for end, corner in zip(edges, corners.T, strict=True))
    changed = votes.index_put(indices, 0.4 * (-1.0) ** corners.sum(dim=1), accumulate=True)
    where = ", ".join(f"{a} and {b}" for a, b in (end.tolist() for end in edges))
    return {f"a sum, with opposite exceptions at positions, tokens and candidates {where}": changed}


def classifies(attempt: Any, draw: Generator, kind: str) -> None:
    """Ask whether v2 can have tables (T, V, V) of probabilities, the smallest first."""
    many = integer(draw, 9, 12), integer(draw, 7, 10)  # one exception among so many hardly moves a mean
    for T, V in [(2, 2), (3, 4), (integer(draw, 4, 9), integer(draw, 4, 7)), many]:
        position, token = torch.randn(T, 1, V, generator=draw), torch.randn(1, V, V, generator=draw)
        want, votes = kind in ("sums", "one alone"), position + token
        mean = (3 * position).softmax(-1) + (3 * token).softmax(-1)
        centred = mean.log() - mean.log().mean(dim=-1, keepdim=True)
        steps = centred - centred[:1]
        mixed = (steps - steps[:, :1]).abs().max() > 0.1  # few draws give nearly a sum: these are left out
        cell = [integer(draw, 0, size) for size in votes.shape]
        spot = torch.tensor(cell[:1] * 2), torch.tensor(cell[1:2] * 2), torch.tensor([V - 2, V - 1])
        late, small = [T - 1, max(1, T - 2)], 0.02 if many == (T, V) else 0.05
        tokens = [V - 1, max(1, V - 2)]  # neither position 0 nor token 0 takes part in opposite exceptions
        opposite = {f"positions {late} after token {V - 1}": (late, [V - 1] * 2)} if T > 2 else {}
        opposite |= {f"position {T - 1} after tokens {tokens}": ([T - 1] * 2, tokens)} if V > 2 else {}
        tables = {
            "sums": {
                "the softmax of a position's and a token's votes": votes,
                "the softmax of twice as many votes": 2 * votes,
            },
            "one alone": {
                "a bigram table, the same at every position": token + 0 * position,
                "a table that does not care for the token": position + 0 * token,
            },
            "mean": {"the mean of a position's and a token's probabilities": mean.log()} if mixed else {},
            "exception": {
                f"a sum, with an exception at position {cell[0]} that leaves the row's mean as it is": (
                    votes.index_put(spot, torch.tensor([0.4, -0.4]), accumulate=True)
                )
            }
            | {
                f"a sum, with opposite exceptions at {where}": votes.index_put(
                    (torch.tensor(t), torch.tensor(a), torch.tensor(cell[2:] * 2)),
                    torch.tensor([0.4, -0.4]),
                    accumulate=True,
                )
                for where, (t, a) in opposite.items()
            }
            | cube_exceptions(votes, draw)
            | {
                f"a sum, with an exception of {size} nats at position {t} after token {a}": votes.index_put(
                    tuple(map(torch.tensor, (t, a, b))), torch.tensor(size), accumulate=True
                )
                for size, (t, a, b) in product((small, -small, 1.0, -3.0), (cell, (T - 1, V - 1, V - 1)))
            },
        }[kind]
        for name, table in ((name, of_it.softmax(-1).double()) for name, of_it in tables.items()):
            what, row = f"T = {T}, V = {V}: {name},", f"Row by row it begins {describe(table.flatten())}"
            hint = ". What all of a row of ln p shares does not count" * want
            got = ask_bool(attempt, table, what=what)
            require(got == want, f"for {what} came out: {got}; should be: {want}. {row}{hint}")


ADDITIVE = Exercise(
    TASKS["What can v2 say?"], each(classifies, "sums", "one alone", "mean", "exception"), v2_can_answer
)


MOST, GAP = 16, 0.3


def few_texts(answer: Any, _: Any = None) -> tuple[str, ...]:
    return equal_texts(answer, MOST, 2, MOST)


def v2_fails(answer: Any, _: Generator) -> None:
    """Find the lowest loss of any v2 on the texts: a convex problem, solved by L-BFGS."""
    texts = few_texts(answer)
    letters = sorted(set("".join(texts)))
    ids = torch.tensor([[letters.index(letter) for letter in text] for text in texts])
    N, T, V = len(texts), ids.shape[1] - 1, len(letters)
    position, token, following = torch.arange(T).repeat(N), ids[:, :-1].flatten(), ids[:, 1:].flatten()
    votes = torch.zeros(T + V, V, dtype=torch.float64, requires_grad=True)  # of positions, then of tokens
    solver = torch.optim.LBFGS([votes], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        mean_loss = F.cross_entropy(votes[position] + votes[T + token], following)
        mean_loss.backward()
        return mean_loss

    solver.step(loss)
    lowest = loss().item()
    loses = f"the best v2 loses {format_beyond(lowest, GAP)} nats per prediction on it"
    require(lowest >= GAP, f"{loses}; should be {GAP} or more")


def leaves_no_doubt(answer: Any, _: Generator) -> None:
    texts = few_texts(answer)
    for position, token in ((p, text[p]) for text in texts for p in range(len(text) - 1)):
        after = sorted({text[position + 1] for text in texts if text[position] == token})
        listed = " and ".join(map(repr, after))
        require(len(after) == 1, f"at position {position}, after {token!r}, come {listed}")


BEYOND_V2 = Exercise(
    TASKS["A text that v2 cannot learn"], [few_texts, leaves_no_doubt, v2_fails], ["aab", "bba"], seconds=20.0
)

EXERCISES = (SECOND_WORD, VOTES, ADDITIVE, BEYOND_V2)
