"""Stored numbers behind the sentences of lessons, as a table; those behind claims are in tests/course/claims.

A row names a lesson and what it says, computes it from the stored results, and gives what must come out. A
comparison is written as the course writes it: mean difference, 99% interval, seeds, and what is decided.
"""

from collections import Counter
from itertools import combinations
from statistics import mean, stdev

import numpy as np
import pytest

from babygpt.experiments import paired
from babygpt_course.museum.costs import differences, effect, load_costs
from babygpt_course.studies import gaussian_training, lookup, remasking, stretch
from babygpt_course.studies.board import against, front, paired_differences
from babygpt_course.studies.branches import ECHO, ISOLATED, losses_among
from babygpt_course.studies.results import load_results
from babygpt_course.studies.strides import by_stride

GAUSSIAN, BRANCHES, STRIDES = (load_results(name) for name in ("gaussian", "branches", "strides"))
LADDER, STRETCH, POLAR = load_results("ladder"), load_results("stretch"), load_results("polar")
NAMES, ORDER, REMASKING = load_results("names"), load_results("order"), load_results("remasking")
BOARD, COSTS, LOOKUP = LADDER["board"], load_costs(), load_results("lookup")
SHORT, LONG = GAUSSIAN["plain"]["300"], GAUSSIAN["plain"]["1200"]  # steps
FEW, MANY = (f"v4, plain-tales, {steps} steps" for steps in (450, 1800))
KNOWS = np.array(NAMES["accuracy"][FEW]) > 0.9  # seeds from which v4 knows who


def gap(one, other=0.0, least=paired.LEAST_LOSS, scale=1.0, form="+.3f"):
    """Compare numbers of the same seeds, as the course writes it."""
    n = min(len(x) for x in (one, other) if not isinstance(x, float))
    one, other = (x if isinstance(x, float) else np.array(x[:n], float) for x in (one, other))
    found = paired.compare((scale * (one - other)).tolist(), scale * least)
    return f"{found:{form}} {found.side}"


def points(one, other):
    """Compare shares, in points of 100."""
    return gap(one, other, paired.LEAST_SHARE, 100.0, "+.0f")


def spans(values, digits=2):
    """Return the lowest and the highest of some numbers."""
    flat = np.concatenate([np.ravel(one) for one in values])
    return [round(float(end), digits) + 0.0 for end in (flat.min(), flat.max())]


def over(shares, least=0.9):
    """Return how many seeds are above a share."""
    return int((np.array(shares) > least).sum())


def rises(name):
    """Compare the loss of a model past its window with that inside."""
    return gap(BOARD[name]["past"])


def behind(name, rival="v4"):
    """Compare the losses of two models of the board."""
    return gap(paired_differences(LADDER, name, rival))


def far(arm, name):
    """Return the loss of an arm of lesson 03b on a long or a moved text: an array, one a seed."""
    return np.array([run[name] for run in ORDER["race"]["far"][arm]])


def gaps_of(run, n, part="gap"):
    """Return the interference gaps of a run of the branches study at n texts, or a part of them."""
    return np.array(BRANCHES["runs"][run][f"{part} {n}"])


def sentences(one, other, measure="sentences"):
    """Compare two ways to fill in, in points."""
    return points(*(REMASKING["ways"][way][measure] for way in (one, other)))


def polar(one, other):
    """Compare two arms of the polar study."""
    return gap(POLAR["val_loss"][one], POLAR["val_loss"][other])


ROWS = [
    ("00 v4 answers, NoPE does not", [over(BOARD[v]["roles"]) for v in ("v4", "nope")], [11, 0]),
    ("00 spans", [spans(BOARD[v]["roles"]) for v in ("v4", "nope")], [[0.55, 0.99], [0.47, 0.52]]),
    ("00 a cut window costs", round(LADDER["window_floor"] - LADDER["floor"], 2), 0.14),
    ("01 v1 above its floor", spans(ORDER["bags"]["v1, anywhere"], 3), [0.002, 0.004]),
    (
        "02 aligned",
        gap(ORDER["bags"]["v1, aligned"], ORDER["bags"]["v2, aligned"]),
        "+0.210 (99%: +0.210 to +0.211, 12 seeds) above",
    ),
    (
        "02 anywhere",
        gap(ORDER["bags"]["v1, anywhere"], ORDER["bags"]["v2, anywhere"]),
        "-0.002 (99%: -0.002 to -0.002, 12 seeds) undecided",
    ),
    ("03a of 20 seeds", [over(shares) for shares in ORDER["fed"].values()], [0, 0, 9, 17, 9, 13]),
    ("03a one layer", set(ORDER["fed"]["one layer, 600 steps"]), {0.5}),
    ("03a failed seeds later", min(ORDER["failed"]["again, 600 steps"]) > 0.98, True),
    ("03b answers", [over(ORDER["race"]["accuracy"][v]) for v in ("v3", "nope")], [9, 0]),
    (
        "03b spans",
        [spans(ORDER["race"]["accuracy"][v]) for v in ("v3", "nope")],
        [[0.74, 0.99], [0.47, 0.54]],
    ),
    ("03b moved", [round(far("v3", name).mean(), 2) for name in ("inside", "moved")], [0.38, 3.2]),
    (
        "03b slow put back",
        gap(far("v3", "moved"), far("v3", "moved, slow put back"), form="+.1f"),
        "+1.7 (99%: +1.4 to +1.9, 12 seeds) above",
    ),
    (
        "03b quick put back",
        gap(far("v3", "moved"), far("v3", "moved, quick put back"), form="+.1f"),
        "+2.0 (99%: +1.8 to +2.1, 12 seeds) above",
    ),
    (
        "03b all positions",
        gap(far("v3, all positions", "moved"), far("v3, all positions", "inside")),
        "-0.011 (99%: -0.023 to +0.001, 12 seeds) undecided",
    ),
    ("03b a long text costs it too", spans(far("v3, all positions", "long")), [1.02, 1.59]),
    ("names: knows, of 20", [int(KNOWS.sum()), len(KNOWS)], [17, 20]),
    ("names: writes at most", max(NAMES["whole"][FEW]), 0.3525),
    ("names: second letter", spans(np.array(NAMES["letters"][FEW])[KNOWS][:, 1]), [1.48, 1.62]),
    (
        "names: after 1800 steps",
        [over(NAMES["whole"][MANY], x) for x in (0.2, 0.55, 0.75, 0.89)],
        [11, 11, 8, 8],
    ),
    (
        "05 late, 1200",
        gap(LONG["v5 late"]["val_loss"], LONG["v5"]["val_loss"]),
        "-0.052 (99%: -0.078 to -0.026, 12 seeds) below",
    ),
    (
        "05 far, fixed and ALiBi",
        gap(LONG["v5 fixed"]["far"], LONG["alibi"]["far"]),
        "-0.024 (99%: -0.093 to +0.044, 12 seeds) undecided",
    ),
    (
        "05 answer, 300",
        [over(SHORT[v]["accuracy"]) for v in ("v4", "v5", "v5 fixed", "v5 late")],
        [9, 2, 5, 5],
    ),
    ("05 answer, 1200", [over(one["accuracy"]) for one in LONG.values()], [12, 3, 11, 11, 12]),
    ("05 K halves", sorted({k["half"] for (k,) in SHORT["v5"]["kernel"]}), [2, 3]),
    (
        "05 K ends",
        [spans([k["hundredth"] for (k,) in LONG[v]["kernel"]]) for v in ("v5", "v5 late")],
        [[13.0, 24.0], [41.0, 53.0]],
    ),
    (
        "06 no code",
        gap(gaps_of("two: none", 2), gaps_of("two: Fourier", 2)),
        "+0.092 (99%: +0.088 to +0.095, 12 seeds) above",
    ),
    ("06 two", spans([gaps_of(f"two: {code}", 2) for code in ("Fourier", "2-D RoPE")], 3), [-0.001, 0.002]),
    (
        "06 four",
        [spans(gaps_of(f"two: {code}", 4)) for code in ("Fourier", "2-D RoPE")],
        [[0.72, 1.13], [0.05, 0.09]],
    ),
    (
        "06 eight of eight",
        spans([gaps_of(f"two of eight numbers: {code}", 8) for code in ("Fourier", "2-D RoPE")]),
        [0.02, 0.04],
    ),
    ("06 leaks", spans([run["leak"] for run in BRANCHES["runs"].values() if "leak" in run], 4)[0] > 0, True),
    ("06 isolated", {x for run in BRANCHES["runs"].values() for x in run.get("leak, isolated", [])}, {0.0}),
    (
        "06 streams",
        spans([by_stride(STRIDES, "stream 1")["2-D RoPE"][s] for s in (1, 128)], 3)[0] > 0.99,
        True,
    ),
    ("06 echo", round(mean(BRANCHES["runs"][ECHO]["behind"]), 2), 0.02),
    (
        "06 warm-up",
        gap(*(losses_among(BRANCHES, f"four{w}: Fourier", 4) for w in (", warmed up", ""))),
        "+0.045 (99%: +0.027 to +0.063, 12 seeds) above",
    ),
    (
        "06 16 at a time",
        gap(losses_among(BRANCHES, "16 at a time: Fourier", 16), losses_among(BRANCHES, ISOLATED, 16)),
        "+0.118 (99%: +0.101 to +0.135, 12 seeds) above",
    ),
    ("07a bound and loss", [round(mean(BOARD[v]["1x"]), 2) for v in ("v7-rope", "v4")], [1.07, 0.54]),
    (
        "07a shares",
        [
            round(mean(REMASKING["ways"][w]["sentences"]), 2)
            for w in ("by chance", "surest first, 1", "again by doubt, 256 steps, 1", "surest first, 0.5")
        ],
        [0.26, 0.52, 0.63, 0.75],
    ),
    (
        "07a remasking",
        sentences("again by doubt, 256 steps, 1", "surest first, 1"),
        "+10 (99%: +4 to +17, 12 seeds) above",
    ),
    (
        "07a cold",
        sentences("surest first, 0.5", "again by doubt, 256 steps, 1"),
        "+12 (99%: +2 to +22, 12 seeds) above",
    ),
    (
        "07a cold, once",
        sentences("surest first, 0.5", "surest first, 1", "different"),
        "+15 (99%: +9 to +21, 12 seeds) above",
    ),
    (
        "07a remasking, once",
        sentences("again by doubt, 256 steps, 1", "surest first, 1", "different"),
        "+7 (99%: -0 to +13, 12 seeds) undecided",
    ),
    (
        "07b losses",
        [round(mean(POLAR["val_loss"][v]), 2) for v in ("v7-polar", "v7", "v7-rope", "v7-pope")],
        [2.17, 1.51, 1.52, 1.49],
    ),
    (
        "07b lookup",
        {name: over(found, lookup.SOLVED - 1e-9) for name, found in LOOKUP["accuracy"].items()},
        {"pope": 2, "signed": 0, "v4": 0, "v3": 4},
    ),
    ("08 front", front(LADDER, masks=False), ["v3", "v4", "v5 fixed", "v6", "alibi"]),
    ("08 its deviation", round(stdev(paired_differences(LADDER, "v5", "v5 fixed")), 3), 0.028),
    (
        "08 pairs of the level ones",
        [
            c
            for c in combinations(("v3", "v4", "v5 fixed", "v6", "alibi"), 2)
            if "undecided" not in behind(*c)
        ],
        [],
    ),
    (
        "08 v4 lower than v5 fixed, 300 steps",
        int(np.less(SHORT["v4"]["val_loss"], SHORT["v5 fixed"]["val_loss"]).sum()),
        6,
    ),
    (
        "08 answer",
        {
            name: over(BOARD[name]["roles"], 0.8999)
            for name in ("v4", "v5 fixed", "v3", "alibi", "v6", "learned", "v5", "pope", "nope")
        },
        {"v4": 11, "v5 fixed": 11, "v3": 9, "alibi": 8, "v6": 7, "learned": 5, "v5": 3, "pope": 0, "nope": 0},
    ),
    ("08 near v6's mean", over(-abs(np.array(BOARD["v6"]["roles"]) - mean(BOARD["v6"]["roles"])), -0.1), 0),
    (
        "09 kinds",
        dict(Counter(effect(gaps) for gaps in differences(COSTS).values())),
        {"the same curve": 7, "higher": 8, "lower": 2},
    ),
    (
        "09 costs",
        spans([mean(x) for x in differences(COSTS).values() if effect(x) == "higher"]),
        [0.06, 0.28],
    ),
    (
        "10 papers",
        [stretch.verdict(STRETCH, one) for one in stretch.STATEMENTS],
        [
            "holds",
            "holds",
            "fails",
            "holds",
            "holds",
            "holds",
            "fails",
            "holds",
            "fails",
            "open",
            "open",
            "undecided",
            "undecided",
        ],
    ),
]


@pytest.mark.parametrize(("found", "written"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_stored_number_is_what_the_lesson_says(found, written):
    assert found == written


def test_no_model_that_fills_in_answers():
    assert max(max(found["roles"]) for found in BOARD.values() if found["masks"]) < 0.55


def test_a_bound_rises_in_longer_windows_most_under_gates():
    rise = {v: np.subtract(BOARD[v]["4x"], BOARD[v]["1x"]).mean() for v in ("v7", "v7-rope", "v7-pope")}
    assert [round(x, 2) for x in rise.values()] == [1.28, 0.40, 0.10]


def test_the_title_of_a_rival_counts_as_compare_does():
    assert set(against(LADDER, "v4").values()) == {"above", "undecided"}
    assert gaussian_training.answering(LONG["v4"]["accuracy"]) == "12 of 12"
    assert remasking.COMPARED
