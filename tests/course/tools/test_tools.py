"""Click shows stored numbers or those of a direct computation, in words as well."""

import numpy as np
import pytest

from babygpt_course.studies.clicks import MODELS, click_steps
from babygpt_course.studies.results import load_results
from babygpt_course.tools import click
from tools.book.recording import record_explorer

CLICKS = load_results("clicks")


@pytest.mark.parametrize(("what", "step"), [("answers", 50), ("answers", 600), ("spells", 1800)])
def test_click_counts_seeds_and_compares_their_losses_within_one_encoding(what, step):
    explorer = click(CLICKS)
    explorer.what, explorer.step = what, step
    counts = {name: sum(at <= step for at in seeds) for name, seeds in click_steps(CLICKS, what).items()}
    at, (shares, losses) = CLICKS["at"].index(step), explorer.now()
    assert [mark.y[at] for mark in shares.marks[1:]] == list(counts.values())
    first = max(counts, key=counts.__getitem__)
    ends = f"with {MODELS[first]} and {min(counts.values())} of 12 with "
    assert f"By step {step:,}, {counts[first]} of 12 seeds" in shares.title
    assert (ends if len(set(counts.values())) > 1 else "with each encoding") in shares.title
    spell = {name: np.array(seeds) <= step for name, seeds in click_steps(CLICKS, "spells").items()}
    name = max(spell, key=lambda name: min(spell[name].sum(), (~spell[name]).sum()))
    some, lose = spell[name], np.array(CLICKS["models"][name]["loss"])[:, at]
    told = "no encoding has both seeds that spell and others"
    if some.any():
        told = f"{MODELS[name]}, seeds that spell ({some.sum()}) lose {lose[some].mean():.3f} nats, and the"
        told += f" others ({(~some).sum()}) {lose[~some].mean():.3f}"
    assert told in losses.title


@pytest.mark.parametrize("make", [lambda: click(CLICKS)])
def test_recordings_are_small(make):
    assert len(record_explorer(make())["data"]) < 100_000  # characters of base64
