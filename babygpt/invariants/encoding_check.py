"""Check of an encoding: ten promises, each measured on the smallest inputs first, as one table.

Every promise is measured on whole models, so that all hooks of an encoding take part. The model has two
layers of two heads and 32 channels, a window of 192 tokens as in the course, and random weights: a promise is
about the way a model is built, not about what it has learned, and an untrained model, whose logits are all
equal, would keep every one. The encoding's own weights are near those that it begins with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from babygpt.config import ModelConfig
from babygpt.data.batches import interleave
from babygpt.errors import BadInput, first_line
from babygpt.invariants.base import Promise
from babygpt.invariants.models import (
    batch_equals_alone,
    branches_permute,
    cache_equals_full,
    causal,
    change_by_exchange,
    distance_alone,
    extrapolates_or_refuses,
    parallel_cache_equals_full,
    pieces_equal_full,
    sees_the_past_alone,
)
from babygpt.invariants.precision import bfloat16_is_near, float32_is_exact, traces_in_one_graph
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VersionName, build, require_version
from babygpt.positions import Positions
from babygpt.tables import MARKS, Table

SHAPE = ModelConfig(vocab_size=12, n_layer=2, n_head=2, n_embd=32)
LONGEST = 8  # tokens of the longest text; the shortest one that breaks a promise mostly has two or three
DISTANCES = (2, 3, 5, 12, 40, 100)  # of two tokens with a gap between them, inside the window
SHIFTS = (1, 2, 7, 60)
FAR = 1_000_000  # a float32 angle of that many radians is off by up to 0.03
ROUNDING = 1e-6  # a smaller change says that two readings are one
SAME = 1e-4  # a smaller change of a logit is rounding
BOOK = 4096  # a position for bfloat16, which holds every whole number to 256 only
PIECES = ((1, 2), (2, 2), (1, 3), (3, 2), (1, 2, 3), (2, 3, 3))  # after the first, none is a single token

# An input in words, and the measurement on it.
Trial = tuple[str, Callable[[], Promise]]


@dataclass(frozen=True)
class CheckedPromise:
    """Row of a check: a promise and what was measured, or why nothing was.

    name       such as "cache"
    statement  the promise in words
    promise    the measurement on the smallest input that breaks it, else the one nearest to its limit; None
               for no measurement
    note       the input that breaks it and how, the reason why nothing was measured, or how it holds; else ""
    """

    name: str
    statement: str
    promise: Promise | None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the promise is not broken: it holds, or was not measured."""
        return self.promise is None or self.promise.holds

    @property
    def mark(self) -> str:
        """The mark of the row: ✓, ✗, or – where nothing was measured."""
        return "–" if self.promise is None else MARKS["holds" if self.promise.holds else "fails"]

    @property
    def measured(self) -> str:
        """The measured number as text; none where nothing was measured, or the answer is yes or no."""
        counts = self.promise is not None and math.isfinite(self.promise.value) and self.promise.limit > 0
        return self.promise.measured if self.promise and counts else ""

    def as_json(self) -> dict[str, Any]:
        """Return the row as values that JSON can hold."""
        value = self.promise.value if self.promise and math.isfinite(self.promise.value) else None
        return {
            "name": self.name,
            "statement": self.statement,
            "holds": self.promise.holds if self.promise else None,
            "measured": value,
            "allowed": self.promise.limit if self.promise else None,
            "note": self.note,
        }


@dataclass(frozen=True)
class EncodingCheck:
    """Promises of one encoding, in text and in a notebook a table of marks, numbers and smallest inputs.

    title  the encoding
    rows   one for each promise
    """

    title: str
    rows: Sequence[CheckedPromise]

    @property
    def holds(self) -> bool:
        """Whether no promise is broken."""
        return not self.broken

    @property
    def broken(self) -> list[str]:
        """Names of the broken promises."""
        return [row.name for row in self.rows if not row.holds]

    def as_json(self) -> dict[str, Any]:
        """Return the table as values that JSON can hold."""
        return {"encoding": self.title, "holds": self.holds, "rows": [row.as_json() for row in self.rows]}

    def __getitem__(self, name: str) -> CheckedPromise:
        """Return the row of a promise. Raises KeyError for a name that is not in the table."""
        return {row.name: row for row in self.rows}[name]

    def __repr__(self) -> str:
        names, numbers = (
            max(map(len, column), default=0)
            for column in ([row.name for row in self.rows], [row.measured for row in self.rows])
        )
        lines = [
            f"{row.mark} {row.name:{names}}  {row.measured:{numbers}}  {row.note or row.statement}"
            for row in self.rows
        ]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        cells = [(row.mark, row.name, row.measured, row.note or row.statement) for row in self.rows]
        return Table(
            ("", self.title, "measured", "promise, or what breaks it"), cells, stable=4
        )._repr_html_()


def check(encoding: VersionName, config: ModelConfig | None = None, **options: Any) -> EncodingCheck:
    """Measure the promises of an encoding; each is ✓, ✗ with the smallest input that breaks it, or –.

    A ✗ may be a fault, or a finding: scores that know more than the distance are what a sinusoid is for.
    Where a promise makes no sense the mark is –: branches for one text, a cache for a model that looks both
    ways. It is also – where another broken promise explains all: no cache can help where a token sees the
    future, and beyond the window comes before far positions.

    distance alone      logits stay as they are when all tokens move, within the window. ✗ for what adds to
                        the embeddings
    causal              a token changes no earlier prediction
    cache, pieces       token by token, or in pieces of several tokens, as at once
    batch               a text gets the same logits alone and beside others, at the same positions or not
    beyond the window   finite, and positions are still told apart there; or refused by a ValueError
    far positions       logits at 10^6 + m as at m, and where a text crosses the end of the window; if scores
                        depend on more than the distance, those of float32 as those of float64
    precision           float32 near float64; bfloat16 near float32, in all weights and under autocast, and
                        also at position 4096 if the encoding goes on beyond the window
    branch permutation  the order of texts in a row changes nothing; codes differ for all branches, or none
    compiles            torch.compile traces the model in one graph

    encoding  the name of a version, such as "v4"; a class; or a file and a class in it, as "mine.py:Sandwich"
    config    shape of the model, by default two layers of two heads and 32 channels, and a window of 192
    options   of `build`: those of the encoding, and per_layer, layers and isolated
    returns   the table
    Raises BadInput for an unknown version, a vocabulary below 3, and if the model cannot read four tokens.
    """
    if config is not None and config.vocab_size < 3:
        raise BadInput(f"vocab_size ({config.vocab_size}) must be at least 3: two tokens, and MASK")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        subject = make_subject(encoding, config or SHAPE, options)
    subject.require_readable()
    for name, (statement, trials) in PROMISES.items():
        reason = reason_against(subject, name)
        subject.rows[name] = (
            CheckedPromise(name, statement, None, reason)
            if reason
            else with_remark(subject, measure(name, statement, trials(subject)))
        )
    return EncodingCheck(subject.title, list(subject.rows.values()))


# ---------------------------------------------------------------- the model that is measured


@dataclass(frozen=True)
class Subject:
    """Model that is checked, with the texts and positions that suit it.

    title     the encoding
    model     with random weights
    branches  whether its encoding is for several texts in one sequence
    masks     whether it fills in masked tokens, so that it looks both ways
    rows      the promises that have been measured, by name
    """

    title: str
    model: LanguageModel
    branches: bool
    masks: bool
    rows: dict[str, CheckedPromise] = field(default_factory=dict)

    def text(self, n: int, rows: int = 1) -> Tensor:
        """Return random token ids, (rows, n); for a model that fills in, every third one is MASK."""
        vocab_size = self.model.config.vocab_size
        draw = torch.Generator().manual_seed(n)
        idx = torch.randint(vocab_size - 1, (rows, n), generator=draw)
        return idx.masked_fill((torch.arange(n) % 3 == 1) & self.masks, vocab_size - 1)

    def at(self, time: Tensor, start: int | None = None) -> Positions:
        """Return positions at times (T,) or (B, T), in text 0 where there are branches.

        start  the first time, if these are in a row
        """
        masked = (torch.arange(time.shape[-1]) % 3 == 1) & self.masks
        return Positions(
            time, torch.zeros_like(time) if self.branches else None, masked.expand_as(time), start
        )

    def in_a_row(self, n: int, start: int = 0) -> Positions:
        """Return the positions of n tokens in a row."""
        return self.at(torch.arange(start, start + n), start)

    def near_end(self, n: int) -> Positions:
        """Return the positions of the last n tokens of the window."""
        return self.in_a_row(n, self.model.config.block_size - n)

    def lengths(self, least: int = 1) -> range:
        """Return the lengths of texts to measure, the smallest first."""
        return range(least, min(LONGEST, self.model.config.block_size) + 1)

    def row_of_texts(self, *lengths: int) -> tuple[Tensor, Positions]:
        """Return token ids and positions, (T,) each, of several texts in one sequence, in order of time."""
        sizes = [length + 1 for length in lengths]  # `interleave` takes a target after each text's last token
        columns = interleave(self.text(sum(sizes))[0].split(sizes), [0] * len(sizes))
        time, branch = columns.time[0], columns.branch[0]
        return columns.tokens[0], Positions(time, branch, torch.zeros(len(time), dtype=torch.bool))

    def branch_counts(self) -> range:
        """Return the numbers of texts to measure: two, three and four, as far as there are codes."""
        for n in (4, 3, 2):
            try:
                change_by_exchange(self.model, self.text(1, rows=2), 0, n - 1)
            except ValueError:
                continue
            return range(2, n + 1)
        return range(0)

    def require_readable(self) -> None:
        """Raise BadInput if the model cannot read four tokens, because then no promise says anything."""
        n = min(4, self.model.config.block_size)
        try:
            finite = self.finite(self.in_a_row(n)).all()
        except Exception as error:
            raise BadInput(f"{self.title} cannot read {n} tokens: {first_line(error)}") from error
        if not finite:
            raise BadInput(f"{self.title} cannot read {n} tokens: its logits are not finite")

    @torch.inference_mode()
    def finite(self, positions: Positions) -> Tensor:
        """Return which logits of a text at these positions are finite: (1, T, vocab_size)."""
        with sdpa_kernel(SDPBackend.MATH):  # the fused operator of processors makes 0 of nan
            return torch.isfinite(self.model(self.text(len(positions)), positions))

    def changes_by_exchange(self) -> dict[tuple[int, int], float]:
        """Return how logits change when two texts exchange two branches and so their codes, for each pair."""
        idx, most = self.text(2, rows=2), max(self.branch_counts(), default=0)
        return {(a, b): change_by_exchange(self.model, idx, a, b) for a, b in combinations(range(most), 2)}

    def refusal(self, positions: Positions) -> str | None:
        """Return the message by which the model refuses positions, or None if it reads them."""
        try:
            with torch.inference_mode():
                self.model(self.text(len(positions)), positions)
        except (ValueError, IndexError) as error:
            return first_line(error)
        return None


def make_subject(encoding: VersionName, config: ModelConfig, options: dict[str, Any]) -> Subject:
    """Build the model to be checked, with random weights. Raises BadInput if there is no such encoding."""
    kind = require_version(encoding)
    model = build(encoding, config, **options)
    randomize_(model)
    title = kind.title if kind.own else f"{kind.name}: {kind.title}"
    return Subject(title, model.eval(), kind.branches, kind.masks)


@torch.no_grad()
def randomize_(model: LanguageModel) -> None:
    """Fill the weights of the body with noise, and move those of the encoding a little, keeping their signs.

    An encoding's weights may have to be positive or small, so that noise in their place would break it. They
    move by at most a half, and by half of their size if they are small. Those that are 0 become noise,
    because a bias of 0 is no encoding yet.
    """
    draw = torch.Generator().manual_seed(0)
    own = {id(p) for p in model.encoding.parameters()}
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=draw)
        if id(p) in own:
            p.copy_(torch.where(p == 0, 0.3 * noise, p + 0.5 * p.abs().clamp(max=1.0) * noise.tanh()))
        else:
            p.copy_(noise if "embedding" in name else noise * p.shape[-1] ** -0.5)


# ---------------------------------------------------------------- the promises, the smallest inputs first

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
            yield moved(subject, positions, shift)


def moved(subject: Subject, positions: Positions, shift: int) -> Trial:
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


@promise("beyond the window", "finite, and positions are told apart; or refused")
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
                yield moved(subject, subject.in_a_row(n), shift)
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


def reason_against(subject: Subject, name: str) -> str | None:
    """Return why a promise is not measured, or None if it is."""
    rows = subject.rows
    if name in ("causal", "cache", "pieces") and not subject.model.causal:
        return "the model fills in masked tokens, so it looks both ways"
    if name in ("cache", "pieces") and not subject.model.encoding.cacheable:
        return "keys change when the text grows (cacheable is False), so it writes without a cache"
    if name in ("cache", "pieces") and not rows["causal"].holds:
        return "a token sees the future, which no cache has"
    if name == "far positions" and not rows["beyond the window"].holds:
        return "it fails beyond the window already"
    if name == "far positions" and (message := subject.refusal(subject.in_a_row(1, FAR))):
        return f"refused: {message}"
    if name == "branch permutation" and not subject.branches:
        return "it is made for one text"
    if name == "branch permutation" and not subject.branch_counts():
        return "it has a code for one text only"
    if name == "compiles" and (message := compiler_is_missing()):
        return f"torch.compile does not work here: {message}"
    return None


def with_remark(subject: Subject, row: CheckedPromise) -> CheckedPromise:
    """Return a row of a promise that holds with a note of how, where there are two ways."""
    message = None
    if row.holds and row.name == "beyond the window":
        message = subject.refusal(subject.in_a_row(1, subject.model.config.block_size))
    if row.holds and row.name == "branch permutation" and max(subject.changes_by_exchange().values()) <= SAME:
        return replace(row, note="the order changes nothing; there is no code, so texts may be exchanged")
    return replace(row, note=f"refused: {message}") if message else row


def compiler_is_missing() -> str | None:
    """Return why torch.compile works for nothing on this machine, or None if it works."""
    try:
        torch.compile(torch.square, backend="eager")(torch.ones(1))
    except Exception as error:
        return first_line(error)
    return None


def graph_break(error: BaseException) -> str | None:
    """Return the line of code at which torch.compile could not go on, or None for another error."""
    frames = re.findall(r'File "[^"]*", line \d+, in (\S+)\n\s*(.+)', str(error))
    return "the graph breaks in {}: {}".format(*frames[-1]) if "user code" in str(error) and frames else None


def measure(name: str, statement: str, trials: Iterator[Trial]) -> CheckedPromise:
    """Return the first measurement that breaks a promise, with its input; else the one nearest to its limit.

    An error that a measurement raises breaks the promise, too.
    """
    nearest, words = Promise(statement, 0.0, 0.0), ""
    try:
        for words, measurement in trials:
            measured = measurement()
            if not measured.holds:
                return CheckedPromise(name, statement, measured, words.format(measured.measured))
            if measured.limit and measured.value / measured.limit >= nearest.value / (nearest.limit or 1.0):
                nearest = measured
    except Exception as error:
        reason = graph_break(error) or f"{type(error).__name__}: {first_line(error)}"
        note = f"{words.partition(': ')[0]}: {reason}"
        return CheckedPromise(name, statement, Promise(statement, math.inf, 0.0), note)
    return CheckedPromise(name, statement, nearest)
