"""Check of an encoding: eleven promises, each measured on the smallest inputs first, as one table.

Every promise is measured on whole models, so that all hooks of an encoding take part. The model has two
layers of two heads and 32 channels, a window of 192 tokens as in the course, and random weights: a promise is
about the way a model is built, not about what it has learned, and an untrained model, whose logits are all
equal, would keep every one. The encoding's own weights are near those that it begins with, and those that
begin at 0 are random, so that what they steer takes part.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from tqdm import tqdm

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding
from babygpt.errors import BadInput, first_line
from babygpt.invariants.base import Promise
from babygpt.invariants.checked_promise import CheckedPromise, EncodingCheck
from babygpt.invariants.subject import Subject, make_subject
from babygpt.invariants.trials import FAR, PROMISES, SAME, Trial
from babygpt.models.versions import VersionName

SHAPE = ModelConfig(vocab_size=12, n_layer=2, n_head=2, n_embd=32)


def check(
    encoding: VersionName, config: ModelConfig | None = None, *, show: bool = False, **options: Any
) -> EncodingCheck:
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
    takes part          the encoding changes a logit, and so does each of its weights

    Weights are random: a promise is about the way a model is built. Those of the encoding stay near where
    they begin, and those that begin at 0 are random too.

    encoding  the name of a version, such as "v4"; a class; or a file and a class in it, as "mine.py:Sandwich"
    config    shape of the model, by default two layers of two heads and 32 channels, and a window of 192
    show      whether a bar names the promise that is being measured, in a terminal
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
    promises = tqdm(PROMISES.items(), leave=False, disable=None if show else True)
    for name, (statement, trials) in promises:
        promises.set_description(name)
        reason = reason_against(subject, name)
        subject.rows[name] = (
            CheckedPromise(name, statement, None, reason)
            if reason
            else with_remark(subject, measure(name, statement, trials(subject)))
        )
    return EncodingCheck(subject.title, list(subject.rows.values()))


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
    if name == "takes part" and type(subject.model.encoding) is Encoding:
        return "it has no encoding of positions on purpose"
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
