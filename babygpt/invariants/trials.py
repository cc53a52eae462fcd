"""Eleven promises of an encoding: for each the inputs to measure it on, the smallest ones first."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial

import torch

from babygpt.encodings import Encoding
from babygpt.invariants.base import Promise
from babygpt.invariants.models import (
    batch_equals_alone,
    branches_permute,
    cache_equals_full,
    causal,
    distance_alone,
    extrapolates_or_refuses,
    parallel_cache_equals_full,
    pieces_equal_full,
    sees_the_past_alone,
)
from babygpt.invariants.precision import bfloat16_is_near, float32_is_exact, traces_in_one_graph
from babygpt.invariants.subject import Subject
from babygpt.positions import Positions

# Two tokens this far apart, with a gap between them, fit into the window.
DISTANCES = (2, 3, 5, 12, 40, 100)
SHIFTS = (1, 2, 7, 60)
FAR = 1_000_000  # a float32 angle of that many radians is off by up to 0.03
ROUNDING = 1e-6  # a smaller change says that two readings are one
SAME = 1e-4  # a smaller change of a logit is rounding
BOOK = 4096  # a position for bfloat16, which holds every whole number to 256 only
HOOKS = ("embed", "transform_qk", "score_bias", "content_bias")
PIECES = ((1, 2), (2, 2), (1, 3), (3, 2), (1, 2, 3), (2, 3, 3))  # after the first, none is a single token

# An input in words, and the measurement on it.
Trial = tuple[str, Callable[[], Promise]]
Trials = Callable[[Subject], Iterator[Trial]]
PROMISES: dict[str, tuple[str, Trials]] = {}


def promise(name: str, statement: str) -> Callable[[Trials], Trials]:
    """Return a decorator that adds a function to PROMISES, which yields inputs and their measurements."""

    def register(trials: Trials) -> Trials:
        PROMISES[name] = statement, trials
        return trials

    return register


def tokens(n: int, positions: Positions) -> str:
    """Return a text in words, such as "2 tokens, positions 0 and 1"."""
    times = [str(int(time)) for time in positions.time]
    if n == 1:
        return f"1 token, position {times[0]}"
    return f"{n} tokens, positions {times[0]} {'and' if n == 2 else 'to'} {times[-1]}"


@promise("distance alone", "scores depend on m − n only")
def distance_alone_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts that move by a few positions within the window."""
    size = subject.model.config.block_size
    rows = [subject.in_a_row(n) for n in subject.lengths()]
    for positions in [*rows, *(subject.at(torch.tensor([0, d])) for d in DISTANCES)]:
        for shift in (shift for shift in SHIFTS if int(positions.time[-1]) + shift < size):
            yield shift_trial(subject, positions, shift)


def shift_trial(subject: Subject, positions: Positions, shift: int) -> Trial:
    """Return the trial of a text that moves by `shift` positions."""
    n = len(positions)
    who = "it moves" if n == 1 else "both move" if n == 2 else "all move"
    return (
        f"{tokens(n, positions)}: a logit changes by {{}} when {who} by {shift}",
        partial(distance_alone, subject.model, subject.text(n)[0], shift, positions),
    )


@promise("causal", "no token sees the future")
def causal_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts whose last token changes, and with branches every token of two texts in turn."""
    for n in subject.lengths(2):
        for positions in (subject.in_a_row(n), subject.near_end(n)):
            yield (
                f"{tokens(n, positions)}: the last token changes a logit of one before it by {{}}",
                partial(causal, subject.model, subject.text(n)[0], positions),
            )
    for lengths in texts_in_branches(subject):
        yield (
            f"{count(lengths)}: a token changes a logit that it should not by {{}}",
            partial(sees_the_past_alone, subject.model, *subject.row_of_texts(*lengths)),
        )


def texts_in_branches(subject: Subject) -> list[tuple[int, ...]]:
    """Return the lengths of several texts in one sequence, the smallest first; none without branches."""
    if not subject.branches or not subject.branch_counts():
        return []
    most = subject.branch_counts()[-1]
    return [lengths[:most] for lengths in ((1, 1), (2, 2), (3, 1), (3, 3, 3), (2, 4, 1, 3))]


def count(lengths: Sequence[int]) -> str:
    """Return several texts in words, such as "2 texts of 1 token each" or "2 texts of 3 and 1 tokens"."""
    if len(set(lengths)) == 1:
        return f"{len(lengths)} texts of {lengths[0]} token{'s' if lengths[0] > 1 else ''} each"
    return f"{len(lengths)} texts of {', '.join(map(str, lengths[:-1]))} and {lengths[-1]} tokens"


@promise("cache", "token by token equals at once")
def cache_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts that are read token by token, and with branches time by time."""
    for n in subject.lengths(2):
        for positions in (subject.in_a_row(n), subject.near_end(n)):
            yield (
                f"{tokens(n, positions)}: token by token, a logit is off by {{}}",
                partial(cache_equals_full, subject.model, subject.text(n)[0], positions),
            )
    for lengths in texts_in_branches(subject):
        yield (
            f"{count(lengths)}: time by time, a logit is off by {{}}",
            partial(parallel_cache_equals_full, subject.model, *subject.row_of_texts(*lengths)),
        )


@promise("pieces", "pieces of uneven lengths equal all at once")
def pieces_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts that are read in pieces with a cache."""
    for lengths in PIECES:
        n = sum(lengths)
        if n <= subject.model.config.block_size:
            for positions in (subject.in_a_row(n), subject.near_end(n)):
                yield (
                    f"{tokens(n, positions)}, read as {' + '.join(map(str, lengths))}: "
                    "a logit is off by {}",
                    partial(pieces_equal_full, subject.model, subject.text(n)[0], lengths, positions),
                )


@promise("batch", "a text alone equals the same text beside others")
def batch_trials(subject: Subject) -> Iterator[Trial]:
    """Yield batches at equal positions, and at positions of their own."""
    size = subject.model.config.block_size
    for n in subject.lengths():
        for rows in (2, 3):
            starts = torch.tensor([[0], [5], [60]])[:rows].clamp(max=size - n)
            for words, positions in (
                ("equal positions", subject.in_a_row(n)),
                ("equal positions of shape (B, T)", subject.at(torch.arange(n).expand(rows, n))),
                ("positions of their own", subject.at(starts + torch.arange(n))),
            ):
                yield (
                    f"{rows} texts of {n} {'token' if n == 1 else 'tokens'}, {words}: "
                    "a logit is off by {} from the text alone",
                    partial(batch_equals_alone, subject.model, subject.text(n, rows), positions),
                )


@promise("beyond the window", "finite, and positions are told apart as inside it; or refused")
def beyond_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts that begin where the window ends, and one that must not look as though it began at 0."""
    size = subject.model.config.block_size
    yield from past_trials(subject, size)
    n = subject.lengths()[-1]
    if not subject.rows["distance alone"].holds:
        words = f"{tokens(n, subject.in_a_row(n, size))}: logits are those at positions 0 to {n - 1}"
        yield words, partial(begins_again, subject, subject.in_a_row(n, size))


def begins_again(subject: Subject, positions: Positions) -> Promise:
    """Return 1 if the logits of a text are those of the text at positions 0 and on, else 0."""
    statement, start = "positions do not begin again", int(positions.time[0])
    if subject.refusal(positions):
        return Promise(statement, 0.0, 0.0)
    change = distance_alone(subject.model, subject.text(len(positions))[0], -start, positions).value
    return Promise(statement, float(change < ROUNDING), 0.0)


def past_trials(subject: Subject, start: int) -> Iterator[Trial]:
    """Yield texts from a position past the window on, in a row and twice as far apart."""
    for n in subject.lengths(2):
        branch = torch.zeros(n, dtype=torch.long) if subject.branches else None
        idx = subject.text(n)[0] % (subject.model.config.vocab_size - 1)  # no MASK
        words = tokens(n, subject.in_a_row(n, start))
        yield (
            f"{words}: logits are not finite",
            partial(finite_or_refused, subject, subject.in_a_row(n, start)),
        )
        yield (
            f"{words}: no logit changes when they stand twice as far apart, as one does inside the window",
            partial(extrapolates_or_refuses, subject.model, idx, branch, start),
        )


def finite_or_refused(subject: Subject, positions: Positions) -> Promise:
    """Measure the share of logits at these positions that are not finite; 0 where they are refused."""
    if subject.refusal(positions):
        return Promise("logits are finite", 0.0, 0.0)
    return Promise("logits are finite", float((~subject.finite(positions)).float().mean()), 0.0)


@promise("far positions", f"at {FAR:,} + m as at m, as far as float32 can")
def far_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts that move to far positions, or in float32 and float64 there if a distance is not all."""
    distance_is_all = subject.rows["distance alone"].holds
    last = subject.model.config.block_size - 1  # a text that moves so far crosses the end of the window
    for shift in (last, FAR):
        for n in subject.lengths():
            if distance_is_all:
                yield shift_trial(subject, subject.in_a_row(n), shift)
            else:
                yield in_float64(subject, subject.in_a_row(n, shift))
    yield from past_trials(subject, FAR)


def in_float64(subject: Subject, positions: Positions) -> Trial:
    """Return the trial of a text in float32 and float64."""
    n = len(positions)
    return (
        f"{tokens(n, positions)}: in float64 a logit differs by {{}}",
        partial(float32_is_exact, subject.model, subject.text(n)[0], positions),
    )


@promise("precision", "float32 is near float64, and bfloat16 near float32")
def precision_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts at both ends of the window, in other precisions; in bfloat16 also past the window."""
    for n in subject.lengths():
        for positions in (subject.in_a_row(n), subject.near_end(n)):
            yield in_float64(subject, positions)
    n = subject.lengths()[-1]  # an error in bfloat16 is a share of the spread, and few logits have none
    rows = [subject.in_a_row(n), subject.near_end(n)]
    if subject.rows["beyond the window"].holds and not subject.refusal(subject.in_a_row(n, BOOK)):
        rows.append(subject.in_a_row(n, BOOK))
    for positions in rows:
        for words, autocast in (("under autocast to bfloat16", True), ("in bfloat16", False)):
            yield (
                f"{tokens(n, positions)}: {words}, logits are off by {{}} of their spread",
                partial(bfloat16_is_near, subject.model, subject.text(n)[0], positions, autocast),
            )


@promise("branch permutation", "the order of texts in a row changes nothing, and their codes differ")
def branch_trials(subject: Subject) -> Iterator[Trial]:
    """Yield texts in another order, and pairs of texts that exchange their codes."""
    for lengths in texts_in_branches(subject):
        yield (
            f"{count(lengths)}: in another order, a logit is off by {{}}",
            partial(branches_permute, subject.model, *subject.row_of_texts(*lengths)),
        )
    changes = subject.changes_by_exchange()
    for (a, b), change in changes.items():
        alike = change <= SAME < max(changes.values())  # without any code, all texts are alike
        yield (
            f"2 texts of 2 tokens: no logit changes when they exchange branches {a} and {b}",
            partial(Promise, "codes of branches differ", float(alike), 0.0),
        )


@promise("compiles", "torch.compile traces it in one graph")
def compile_trials(subject: Subject) -> Iterator[Trial]:
    """Yield one text."""
    positions = subject.in_a_row(2)
    yield (
        f"{tokens(2, positions)}: compiled, a logit is off by {{}}",
        partial(traces_in_one_graph, subject.model, subject.text(2)[0], positions),
    )


@promise("takes part", "the encoding, and each of its weights, changes a logit")
def part_trials(subject: Subject) -> Iterator[Trial]:
    """Yield one text: without the encoding, and for the gradient of each weight of the encoding."""
    positions = subject.in_a_row(subject.lengths()[-1])
    words, encoding = tokens(len(positions), positions), subject.model.encoding
    yield (
        f"{words}: the logits are those without it{slip_in_a_name(type(encoding))}",
        partial(has_no_effect, subject, positions),
    )
    for name, p in encoding.named_parameters():
        yield f"{words}: no logit depends on {name}", partial(has_no_gradient, subject, positions, p)


def slip_in_a_name(encoding: type[Encoding]) -> str:
    """Return in words which hook a class without effect may have misspelled, or that it has none; else ""."""
    for name in vars(encoding):
        near = get_close_matches(name, HOOKS, n=1, cutoff=0.75)
        if near and name not in HOOKS:
            return f"; did {name} mean {near[0]}?"
    overridden = any(getattr(encoding, hook) is not getattr(Encoding, hook) for hook in HOOKS)
    return "" if overridden else f"; it overrides none of {', '.join(HOOKS)}"


def has_no_effect(subject: Subject, positions: Positions) -> Promise:
    """Return 1 if the logits of a text are those without any encoding, else 0."""
    model, idx = subject.model, subject.text(len(positions))
    encoding = model.encoding
    with torch.inference_mode():
        logits = model(idx, positions)
        try:
            model.encoding = Encoding()
            change = (model(idx, positions) - logits).abs().max()
        finally:
            model.encoding = encoding
    return Promise("the encoding changes a logit", float(change < ROUNDING), 0.0)


def has_no_gradient(subject: Subject, positions: Positions, weight: torch.nn.Parameter) -> Promise:
    """Return 1 if no logit of a text depends on a weight, else 0."""
    logits = subject.model(subject.text(len(positions)), positions)
    # Weights of their own for the logits, because a softmax would cancel some sums of them.
    total = (logits * torch.linspace(-1, 2, logits.numel()).view_as(logits)).sum()
    (gradient,) = torch.autograd.grad(total, [weight], allow_unused=True)
    return Promise("a logit depends on the weight", float(gradient is None or not gradient.any()), 0.0)
