"""Passages of lessons that quote stored results: each number is computed anew from the results.

`quotes.toml` has a table for each lesson, and says how a passage is computed.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cache, reduce
from itertools import combinations
from operator import getitem
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pytest

from babygpt.experiments.paired import UNDECIDED, compare, holm, share_decided, sign_test
from babygpt_course.museum.costs import cost_differences, effect, load_costs
from babygpt_course.studies import (
    distances,
    late,
    lookup,
    needed_heads,
    neighbours,
    open_questions,
    places,
    polar_repairs,
    remasking,
    stretch,
)
from babygpt_course.studies.branches import losses_among
from babygpt_course.studies.clicks import click_step
from babygpt_course.studies.results import load_results

ROOT = Path(__file__).resolve().parents[2]
PAGES: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "quotes.toml").read_text("utf-8"))
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
stored = cache(load_results)


# ---------------------------------------------------------------- parts of the expressions


def one(name: str, *keys: str) -> Any:
    """Return what stands under these keys in the results of a study."""
    return reduce(getitem, keys, stored(name))


def pool(name: str, *keys: str) -> np.ndarray:
    """Return what stands under these keys in the results of a study: one number a seed."""
    return np.array(one(name, *keys))


def board(name: str, key: str = "1x") -> np.ndarray:
    """Return a number of a model of the ladder, one a seed."""
    return pool("ladder", "board", name, key)


def among(run: str, n: int = 2) -> np.ndarray:
    """Return the loss among n texts of a run of the studies of branches and strides, one a seed."""
    runs = one("branches", "runs") | one("strides", "runs")
    return np.array(losses_among({"runs": runs}, run, n))


def reading(run: str, number: str) -> np.ndarray:
    """Return a number of a run of the study of longer texts, one a seed."""
    return np.array(stretch.values(stored("stretch"), run, number))


def long_run(row: str, number: str = "written") -> np.ndarray:
    """Return a number of a long run of the study of neighbours, such as "v4, nothing", one a seed."""
    return pool("neighbours", "long", row, number)


def spelled(row: str, step: int) -> int:
    """Return how many seeds of a long run of the study of neighbours spell by a step."""
    return sum(click <= step for click in neighbours.spelling_clicks(stored("neighbours"))[row])


def spelled_of_60(model: str, step: int) -> int:
    """Return how many seeds of RoPE or ALiBi ("v4", "alibi") spell by a step, in five sets of 1,800 steps."""
    curves = [
        pool("clicks", "models", model, "spells"),
        *(pool(name, "long", f"{model}, nothing", "spells") for name in ("neighbours", "late")),
        *(pool(name, "arms", f"{model}, nothing", "spells") for name in ("places", "distances")),
    ]
    ats = [one(name, "at") for name in ("clicks", "neighbours", "late", "places", "distances")]
    clicks = [click_step(at, seed, 0.8) for at, each in zip(ats, curves, strict=True) for seed in each]
    assert len(clicks) == 60
    return sum(click <= step for click in clicks)


def read_by(model: str, change: str, kind: str = "all", key: str = "right") -> list[float]:
    """Return what seeds that know vowels read after a change of layer 2's input: shares of vowels, in %."""
    seeds = distances.knowing_seeds(stored("distances"), model).values()
    return [100 * read[change][kind][key] for read in seeds]


def turned(letter: int, gift: str) -> list[float]:
    """Return the shares of vowels that an exchange at a letter of the name turns in v4 with a gift."""
    return [row[letter]["exchanged"] for row in one("neighbours", "long", f"v4, {gift}", "letters")]


def layer_2_costs(gift: str) -> np.ndarray:
    """Return the points of vowels that v4 with a gift loses without its most needed head of layer 2."""
    dissected = one("neighbours", "long", f"v4, {gift}", "spelling")
    return np.array([100 * (seed["second"] - min(seed["without"][1])) for seed in dissected])


def plain_run(name: str, kind: str, number: str, *block: str) -> np.ndarray:
    """Return a number of a model with "plain" or "normed" queries and keys, one a seed of the block."""
    return pool("plain", *block, kind, name, number)


def side(gaps: np.ndarray) -> str:
    """Return on which side of 0 the rule decides that gaps are, or "undecided"."""
    return compare(gaps.tolist()).side


def interval(gaps: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of gaps, and the ends of its interval."""
    comparison = compare(gaps.tolist())
    return comparison.mean, comparison.low, comparison.high


def family(gaps: Iterable[Iterable[float]], least: float = 0.02) -> tuple[int, int, int]:
    """Return how many comparisons there are, how many are decided, and how many of these stand together."""
    comparisons = [compare([float(x) for x in each], least) for each in gaps]
    stands = holm([comparison.p for comparison in comparisons])
    decided = [comparison.side != UNDECIDED for comparison in comparisons]
    return len(decided), sum(decided), sum(a and b for a, b in zip(decided, stands, strict=True))


def ends(values: Iterable[float]) -> tuple[float, float]:
    """Return the smallest and the largest number."""
    ordered = sorted(values)
    return ordered[0], ordered[-1]


NAMES = {
    **{f.__name__: f for f in (one, pool, board, among, reading, side, interval, family, ends)},
    **{f.__name__: f for f in (long_run, spelled, spelled_of_60, read_by, turned, layer_2_costs, plain_run)},
    **{f.__name__: f for f in (Counter, combinations, compare, share_decided)},
    **{"np": np, "array": np.array, "mean": np.mean, "word": NUMBERS.__getitem__},
    **{
        "heads": needed_heads,
        "late_study": late,
        "distances_study": distances,
        "places_study": places,
        "lookup": lookup,
        "neighbours": neighbours,
        "open_questions": open_questions,
        "polar": polar_repairs,
        "remasking": remasking,
        "sign_test": sign_test,
        "museum_gaps": cost_differences,
        "effect": effect,
        "load_costs": load_costs,
    },
}


# ---------------------------------------------------------------- pages


def plain(text: str) -> str:
    """Return a text on one line, with plain minus signs and no sign before a zero."""
    line = re.sub(r"\s*\n(?:#(?: |$))?|\s+", " ", text, flags=re.M).replace("−", "-")
    return re.sub(r"[+-](0(?:\.0+)?)(?![\d.])", r"\1", line)


def pattern(passage: str, numbers: Iterable[Any]) -> str:
    """Return the pattern of a passage that quotes these numbers; a tie may be rounded either way."""
    parts, remaining = [], iter(numbers)
    for literal, field, form, _ in Formatter().parse(passage):
        parts.append(re.escape(plain(literal)))
        if field is not None:
            number = next(remaining)
            near = (number - 1e-7, number + 1e-7) if isinstance(number, float) else (number,)
            parts.append(f"({'|'.join(sorted({re.escape(plain(format(x, form or ''))) for x in near}))})")
    return "".join(parts)


def missing_passages(page: str) -> list[str]:
    """Return the passages, as computed, that a page does not have, and the sentences that are not true."""
    names, text, missing = dict(NAMES), plain((ROOT / page).read_text("utf-8")), []
    for passage, value in PAGES[page].items():
        if passage.isidentifier():
            names[passage] = eval(f"({value})", names)
            continue
        evaluated = eval(f"({value})", names)
        numbers = (
            evaluated if isinstance(evaluated, Iterable) and not isinstance(evaluated, str) else [evaluated]
        )
        computed = pattern(passage, numbers)
        if not re.search(computed, text) or ("{" not in passage and not evaluated):
            missing.append(computed.replace("\\", ""))
    return missing


@pytest.mark.parametrize("page", PAGES)
def test_a_page_quotes_what_is_stored(page: str) -> None:
    assert missing_passages(page) == []


def test_another_number_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change a stored result, then a sentence: the passage that quotes it is missed."""
    page, sentence = "notebooks/src/02_learned_positions.py", "On aligned windows v2 {} 0.21 nats."
    bags = stored("order")["bags"]
    monkeypatch.setitem(bags, "v2, aligned", [loss - 0.1 for loss in bags["v2, aligned"]])
    assert len(missing_passages(page)) == 2
    monkeypatch.undo()
    monkeypatch.setitem(PAGES, page, {**PAGES[page], sentence: "'loses'"})
    assert missing_passages(page) == ["On aligned windows v2 (loses) 0.21 nats."]
