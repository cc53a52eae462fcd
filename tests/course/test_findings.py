"""Stored numbers behind the sentences of lessons; those behind claims are in tests/course/claims."""

from itertools import combinations
from statistics import mean, median, stdev

import numpy as np
import pytest

from babygpt.encodings.gaussian import gaussian
from babygpt.metrics.inspection import reach
from babygpt_course.museum.costs import differences, load_costs
from babygpt_course.studies import gaussian_training, stretch
from babygpt_course.studies.board import against, paired_differences
from babygpt_course.studies.branches import CODES
from babygpt_course.studies.paired import decided_side
from babygpt_course.studies.results import load_results
from babygpt_course.studies.stretch import TWICE
from babygpt_course.studies.strides import by_share, by_stride, losses_among_two

GAUSSIAN, BRANCHES, STRIDES = (load_results(name) for name in ("gaussian", "branches", "strides"))
LADDER, STRETCH = load_results("ladder"), load_results("stretch")
BOARD = LADDER["board"]
SHORT, LONG = GAUSSIAN["plain"]["300"], GAUSSIAN["plain"]["1200"]  # steps
KINDS = ("Fourier", "2-D RoPE")


def of(run, number):
    """Return one number of a run of the stretching study: an array, one a seed."""
    return np.array(stretch.values(STRETCH, run, number))


def gap(run, n, part="gap"):
    """Return the mean interference gap of a run of the branches study at n texts."""
    return mean(BRANCHES["runs"][run][f"{part} {n}"])


def among(run, n):
    """Return the mean loss of a run of the branches study among n texts."""
    return mean(BRANCHES["runs"][run]["alone"]) + (gap(run, n) if n > 1 else 0)


FEW_STEPS, MANY_STEPS = (f"v4, plain-tales, {steps} steps" for steps in (450, 1800))


@pytest.fixture(scope="module")
def roles():
    return load_results("roles")


@pytest.fixture(scope="module")
def names():
    return load_results("names")


def test_00_a_larger_v4_knows_who_did_it_and_its_twin_without_a_code_does_not(roles):
    assert min(roles["accuracy"]["v4"]) > 0.9
    assert max(roles["accuracy"]["nope"]) < 0.75


def test_00_a_cut_window_costs_the_best_reader_more_than_the_floor():
    floors = load_results("floors")
    assert np.mean(floors["mean"]["tales"][:96]) - floors["floor"]["tales"] > 0.1


def test_03b_the_best_seed_of_nope_on_the_full_tales(roles):
    assert f"{max(roles['accuracy']['nope']):.1%}" == "68.5%"


def test_04_v3_is_ahead_of_v4_inside_its_window(roles):
    by_seed = zip(roles["val_loss"]["v3"], roles["val_loss"]["v4"], strict=True)
    assert all(v3 < v4 for v3, v4 in by_seed)
    assert min(roles["accuracy"]["v3"]) > 0.97


def test_04_v4_finds_the_name_and_does_not_write_it(names):
    assert min(names["accuracy"][FEW_STEPS]) > 0.9
    assert max(names["whole"][FEW_STEPS]) < 0.5
    for first, second, _, *rest in names["letters"][FEW_STEPS]:
        assert max(first, *rest) < 0.1
        assert second == pytest.approx(np.log(5), abs=0.2)
    fewest, middle, _ = sorted(names["whole"][MANY_STEPS])
    assert fewest < 0.3 < 0.85 < middle


def test_04_answers_and_repeated_words_cost_less_after_more_steps(names):
    known = 0.0
    for part in ("answer", "repeated word"):
        before, after = ([seed[part] for seed in names["parts"][arm]] for arm in (FEW_STEPS, MANY_STEPS))
        assert all(0.015 < loss < 0.03 for loss in before)
        assert sum(after) < sum(before)
        known += mean(before)
    best_reader, _ = load_results("floors")["window"]["plain-tales"]["64"]
    assert 0.35 < known / (mean(names["val_loss"][FEW_STEPS]) - best_reader) < 0.75
    assert sorted(seed["answer"] for seed in names["parts"][MANY_STEPS])[1] < 0.002  # in two of three seeds


def test_04_the_first_layer_has_a_head_that_is_needed(names):
    assert max(min(seed[0]) for seed in names["without"][FEW_STEPS]) < 0.65


def test_09_of_fourteen_bugs_eight_cost_two_help_and_four_do_nothing():
    costs = load_costs()
    by_name = differences(costs)
    higher = [name for name, found in by_name.items() if min(found) > 0]
    lower = [name for name, found in by_name.items() if max(found) < 0]
    unchanged = [name for name, found in by_name.items() if not any(found)]
    assert (len(higher), len(lower), len(unchanged)) == (8, 2, 5)  # the healthy model is its own twin
    assert all(min(by_name[name]) > 0.035 and max(by_name[name]) < 0.345 for name in higher)
    assert lower == ["codes added twice", "mask off by one"]
    assert all(-0.11 < gap < -0.08 for gap in by_name["codes added twice"])
    by_seed = costs["ends"]["nothing wrong"]
    assert 0.06 < max(by_seed) - min(by_seed) < 0.14


def test_05_race_and_right_answers():
    losses = gaussian_training.race(GAUSSIAN, LADDER)
    gaps = gaussian_training.behind_v4(losses)
    assert max(gaps[300]["v5 fixed"]) < 0
    assert min(gaps[600]["v5 fixed"]) < 0 < max(gaps[600]["v5 fixed"])  # the board does not call it either
    assert min(gaps[1200]["v5 fixed"]) < 0 < max(gaps[1200]["v5 fixed"])
    assert min(gaps[600]["v5"] + gaps[1200]["v5"]) > 0
    assert gaussian_training.seeds_ahead(losses, "v5")[300] == "1 of 3"
    assert min(LONG["v4"]["accuracy"] + LONG["v5 fixed"]["accuracy"]) > 0.95
    assert sorted(share > 0.95 for share in LONG["v5"]["accuracy"]) == [False, False, True]
    assert max(SHORT["v5"]["accuracy"]) < 0.6
    full = {name: found["val_loss"] for name, found in GAUSSIAN["full"]["300"].items()}
    assert max(full["v5 fixed"] + full["v5"]) < min(full["v4"])
    assert min(full["v5 fixed"]) < max(full["v5"])
    assert min(full["v5"]) < max(full["v5 fixed"])


def test_05_reading_far_back_and_further():
    at = GAUSSIAN["distances"].index(20)
    price = {name: [cost[at] for cost in LONG[name]["hiding"]] for name in ("v4", "v5", "v5 fixed", "alibi")}
    assert min(price["alibi"]) > max(price["v4"] + price["v5 fixed"])
    assert min(price["v4"] + price["v5 fixed"]) > 0.08
    assert max(price["v5"]) < 0.06
    assert min(LONG["v4"]["beyond"] + LONG["v5 fixed"]["beyond"]) > 0.9
    assert min(LONG["v5"]["near"]) > 0.75
    assert min(LONG["alibi"]["accuracy"]) > 0.99
    assert sum(share < 0.7 for share in BOARD["alibi"]["roles"]) == 2
    assert sorted(share > 0.9 for share in LONG["v5"]["beyond"]) == [False, False, True]
    assert sorted(LONG["v5"]["beyond"])[1] < 0.5
    assert max(LONG["alibi"]["val_loss"]) < min(LONG["v4"]["val_loss"] + LONG["v5 fixed"]["val_loss"])
    inside = [loss for name in price for loss in LONG[name]["val_loss"]]
    assert 0.475 < min(inside) < max(inside) < 0.61
    far = {name: LONG[name]["far"] for name in price}
    assert max(far["v5"] + far["v5 fixed"] + far["alibi"]) < 0.6 < 1.2 < min(far["v4"])
    assert max(SHORT["v4"]["far"]) < min(far["v4"])
    assert min(SHORT["v5-absolute"]["far"] + SHORT["v5-absolute fixed"]["far"]) > 1.5


def test_05_trained_kernels():
    widest = min(kernels[0]["half"] for kernels in SHORT["v5-absolute"]["kernel"])
    narrow = max(kernels[0]["half"] for kernels in (*SHORT["v5"]["kernel"], *LONG["v5"]["kernel"]))
    assert narrow < reach(gaussian(32), 0.5) < widest
    heads, layers = LONG["v5 per head"], LONG["v5 per layer"]
    head, layer = (np.subtract(LONG["v5"]["val_loss"], kind["val_loss"]) for kind in (heads, layers))
    assert head.min() > 0
    assert head.max() > 0.05
    assert sorted(share > 0.9 for share in heads["beyond"]) == [False, True, True]
    assert sorted(kernel["hundredth"] for kernel in heads["kernel"][0])[-2:] == [16, 35]
    assert abs(layer[0]) < 0.001 < 0.02 < layer[1:].min()
    assert [share > 0.9 for share in layers["beyond"]] == [False, True, True]
    assert min(kernels[1]["hundredth"] for kernels in layers["kernel"][1:]) > 30


def test_06_gaps_and_words():
    added = [code for code in CODES if code not in ("none", "2-D RoPE")]
    assert max(gap(f"up to eight: {code}", 8) for code in (*added, "2-D RoPE")) < 0.05
    assert round(gap("up to eight: none", 8), 2) == 0.41
    assert min(gap(f"two: {code}", 4) for code in added) > 0.5 > 0.1 > gap("two: 2-D RoPE", 4)
    assert min(gap(f"two: {code}", 8) for code in added) > 1 > 0.5 > gap("two: 2-D RoPE", 8) > 0.3
    assert 0.2 < gap("two: Fourier", 4, "own") / gap("two: Fourier", 4) < 0.5
    assert abs(gap("two: 2-D RoPE", 8, "own")) < 0.001
    few = [gap(f"two of eight numbers: {code}", 8) for code in ("Fourier", "random", "2-D RoPE", "learned")]
    assert max(few[:3]) < 0.03 < 0.3 < few[3]
    two, isolated, four = (gap("two: Fourier", n, "unknown") for n in ("2", "2, isolated", "4"))  # words
    assert abs(two - isolated) < 0.05
    assert 0.15 < four < 0.25


def test_06_strides_and_shares():
    losses, shares = losses_among_two(STRIDES), by_share(STRIDES)
    for kind in KINDS:
        more = np.subtract(losses[kind][1], losses[kind][128])  # seed by seed
        assert more.min() > 0
        assert 0.01 < more.mean() < 0.05
        assert max(STRIDES["runs"][f"stride 1: {kind}"]["gap 2"]) < 0.02
    assert min(mean(found) for found in by_stride(STRIDES, "stream 1")["2-D RoPE"].values()) > 0.93
    assert abs(among("stride 1: Fourier, learnable", 2) - among("two: Fourier, learnable", 2)) < 0.01
    assert max(shares, key=lambda share: shares[share]["alone"][0]) == 1
    assert max(shares[share]["gap 2"][0] for share in (0.25, 0.5, 0.75)) < 0.01 < shares[0]["gap 2"][0]


def test_06_many_texts():
    for kind in KINDS:
        one, *several = (among(f"{n} at a time: {kind}", n) for n in (1, 2, 4, 8))
        assert all(0 <= loss - one < 0.1 for loss in several)
        assert abs(gap(f"8 at a time: {kind}", 8)) < 0.01
        assert among(f"four, warmed up: {kind}", 4) - among(f"four: {kind}", 4) > 0.01
    many, dearer = load_results("branch_share")["runs"], []
    for n in (2, 8, 16):
        none, *some, every = (mean(many[f"{n} texts: share {x}"][str(n)]) for x in (0, 0.25, 0.5, 0.75, 1))
        assert min(none, every) > max(some) + 0.1 > min(some) + 0.1 > max(some) + 0.05
        dearer.append(none - min(some))
    assert dearer == sorted(dearer)


def test_07a_samplers_and_who_did_it():
    samplers, who = load_results("remasking")["samplers"], load_results("who")
    asked = (("by chance", "1000000000"), ("surest first", "1.01"), ("again by lot, 0.3", "64"))
    asked += (("again by doubt, 0.3", "64"), ("again by doubt, 0.3", "256"))
    by_chance, surest, by_lot, by_doubt, longer = (np.array(samplers[w][s]["sentences"]) for w, s in asked)
    assert (by_lot > by_chance).all()
    assert abs(by_doubt.mean() - surest.mean()) < 0.05
    assert longer.min() > surest.max()
    assert not any(max(one["tales"]) for way in samplers.values() for one in way.values())
    arms = ("letters, RoPE", "words, RoPE", "next letter")
    filled, filled_words, following = (who["roles"][arm][0] for arm in arms)
    assert max(filled + filled_words + who["hidden"]["words, RoPE"]) < 0.6 < 0.9 < following[-1]
    assert max(BOARD["v7"]["roles"] + BOARD["v7-rope"]["roles"]) < 0.6 < 0.9 < min(BOARD["v4"]["roles"])


def test_07b_gates_and_their_rivals():
    results = load_results("polar")
    losses = results["val_loss"]
    means = {version: mean(found) for version, found in losses.items()}
    assert [round(means[v], 2) for v in ("v7-polar", "v7", "v7-rope", "v7-nope")] == [2.09, 1.48, 1.47, 2.90]
    assert means["v7-random"] < means["v7-exact"] < means["v7-polar"] < means["v7-keys"] < means["v7-last"]
    assert means["v7-pope"] < means["v7"] < means["v7-quadrature"] < means["v7-random"] - 0.3
    assert abs(means["v7"] - means["v7-rope"]) < 0.03
    assert np.ptp(losses["v7"] + losses["v7-rope"]) < 0.05
    assert all(0.03 < p - e < 0.08 for p, e in zip(losses["v7-polar"], losses["v7-exact"], strict=True))
    assert max(np.subtract(losses["v7-random"], losses["v7-exact"])) > 0
    assert all(
        p < min(v, r) for p, v, r in zip(losses["v7-pope"], losses["v7"], losses["v7-rope"], strict=True)
    )
    plain = {version: mean(found) for version, found in results["without alpha"].items()}
    assert plain["v7-keys"] < means["v7-keys"]
    assert max(abs(plain[v] - means[v]) for v in ("v7-quadrature", "v7")) < 0.02


def test_07b_pope():
    riddle = load_results("lookup")
    solved = {name: sum(share > 0.9 for share in found) for name, found in riddle["accuracy"].items()}
    assert (round(riddle["guess"], 2), round(riddle["guess_any"], 2)) == (0.32, 0.24)
    assert solved == {"pope": 2, "signed": 0, "v4": 0, "v3": 1}
    assert 0.8 < min(riddle["accuracy"]["pope"]) < 0.85
    assert min(riddle["grid"]["pope"].values()) > 0.99
    assert max(riddle["grid"]["v4"].values()) < 0.5
    assert min(BOARD["pope"]["1x"]) > max(BOARD["v4"]["1x"]) + 0.05
    assert max(BOARD["pope"]["roles"]) < 0.6 < 0.9 < min(BOARD["v4"]["roles"])


def test_08_losses_and_cost():
    sides, losses = against(LADDER, "v4"), {name: found["1x"] for name, found in BOARD.items()}
    assert all(sides[name] == "undecided" for name in ("v3", "v5 fixed", "v6", "alibi"))
    assert all(sides[name] == "above" for name in ("v1", "v2", "v5", "nope", "learned", "pope"))
    behind, gaps = (paired_differences(LADDER, name, "v4") for name in ("nope", "v5 fixed"))
    assert min(behind) > 0.15
    assert mean(behind) > 0.2
    assert (round(min(gaps), 3), round(max(gaps), 3)) == (-0.018, 0.007)
    assert all(0 < loss - LADDER["bigram_floor"] < 0.02 for loss in losses["v1"] + losses["v2"])
    assert 0.04 < min(mean(losses[name]) for name in sides) - LADDER["window_floor"] < 0.08
    same = [n for n, m in BOARD.items() if not m["masks"] and m["parameters"] > 200_000 and n != "v6"]
    ratios = [
        stdev(paired_differences(LADDER, a, b)) / np.hypot(stdev(losses[a]), stdev(losses[b]))
        for a, b in combinations(same, 2)
    ]
    assert 0.9 < median(ratios) < 1.15  # runs of one seed share hardly any luck
    assert 1.0 <= BOARD["nope"]["speed"] < 1.06
    assert all(0.9 <= BOARD[name]["speed"] < 1 for name in ("v5", "v5 fixed", "alibi"))
    assert 0.8 < BOARD["pope"]["speed"] < 0.9


def test_08_right_answers():
    writers = {name: BOARD[name]["roles"] for name in ("v4", *against(LADDER, "v4"))}
    found = {name: sum(x >= 0.9 for x in shares) for name, shares in writers.items()}
    between = [x for shares in writers.values() for x in shares if 0.6 < x < 0.9]
    assert found["v4"] == found["v5 fixed"] == len(LADDER["seeds"])
    assert found["nope"] == found["pope"] == found["v1"] == 0
    assert len(between) < sum(map(len, writers.values())) / 8
    assert round(mean(writers["v6"]), 2) == 0.79
    assert 0.96 <= min(writers["v4"]) < max(writers["v4"]) < 0.985
    assert max(BOARD["v4"]["whole"]) < 0.3
    assert all(max(BOARD[name]["whole"]) > 0.7 for name in ("v3", "v5 fixed", "v6", "alibi"))
    assert max(max(found["roles"]) for found in BOARD.values() if found["masks"]) < 0.55


def test_08_longer_than_trained():
    names = [name for name in ("v4", *against(LADDER, "v4")) if None not in BOARD[name]["past"]]
    past = {name: BOARD[name]["past"] for name in names}
    ours = (*names, "v7", "v7-rope", "v7-pope")
    near, far = ({name: mean(BOARD[name][length]) for name in ours} for length in ("1x", "4x"))
    assert all(far[name] < near[name] for name in ("v5", "v5 fixed", "alibi"))
    assert min(names, key=far.get) == "v5 fixed"
    assert max(map(abs, past["v5"] + past["v5 fixed"])) < 0.001
    assert "below" not in {decided_side(seeds) for seeds in past.values()}
    assert 0.02 < min(past["alibi"]) < max(past["alibi"]) < 0.1
    assert 0.05 < mean(past["pope"]) < mean(past["v6"]) < 0.15
    assert min(past["v3"]) > 2
    assert min(past["v4"] + past["nope"]) > 0.3
    assert 0.4 < mean(past["v4"]) < mean(past["nope"]) < 0.6
    gates, rope, pope = (far[name] - near[name] for name in ("v7", "v7-rope", "v7-pope"))
    assert gates > 1 > rope > 0.3 > 0.15 > pope > 0


def side(run, other, number):
    """Return on which side of another run a run of the stretching study is decided to be, by one number."""
    return decided_side([*(of(run, number) - of(other, number))])


def test_10_reading_on_untuned():
    """By cost NTK-aware scaling is best; YaRN comes closest to giving the last of two values."""
    assert of("v4", "last 1").min() > 0.8
    assert of("v4", "cost 4").min() > 0.2
    assert of("v4", "alone 4").max() < 0.5
    assert {side("ntk", other, "cost 4") for other in ("none", "interpolation", "yarn")} == {"below"}
    assert {side(TWICE, other, "cost 4") for other in ("yarn, 2 turns", "yarn")} == {"below"}
    assert {side(TWICE, "ntk", "cost 4"), side("yarn, 2 turns", "yarn", "cost 4")} == {"undecided"}
    assert of("interpolation", "cost 4").min() > 1
    assert {side("yarn", other, "alone 4") for other in ("none", TWICE)} == {"above"}
    assert {side("yarn", other, "alone 4") for other in ("interpolation", "ntk")} == {"undecided"}
    for method in ("none", *stretch.UNTUNED):
        assert decided_side([*(of(method, "last 4") - of("v4", "last 1"))]) == "below"
    rivals = set(stretch.UNTUNED) - {"yarn", "yarn, no temperature"}
    assert {side("yarn", other, "last 4") for other in rivals} == {"above"}
    assert side("yarn", "yarn, no temperature", "cost 4") == "below"
    assert {side("yarn", "yarn, no temperature", n) for n in ("alone 4", "last 4")} == {"undecided"}
    assert [side("temperature alone", "none", n) for n in ("cost 4", "alone 4")] == ["undecided", "above"]


def test_10_fine_tuned_and_dropped():
    assert side("none tuned", "control tuned", "alone 4") == "above"
    assert side("interpolation tuned", "none tuned", "cost 4") == "above"
    assert side("interpolation tuned", "none tuned", "alone 4") == "above"
    for method in ("none", "interpolation", "yarn, 2 turns"):
        assert side(f"{method} tuned", "yarn", "last 4") == "below"
    assert {side(f"{m} tuned", "control tuned", "loss") for m in ("none", "ntk", "interpolation")} == {
        "above"
    }
    for run in ("drop", "drop tuned"):
        assert of(run, "last 4").mean() == pytest.approx(0.5, abs=0.05)
        assert of(run, "alone 4").mean() > 0.9
    assert of("drop", "loss").min() > 2


def test_10_kernels():
    assert side("alibi", "v4", "own 8") == "below"
    assert of("alibi", "own 8").mean() < 0.1
    assert of("t5", "alone 8").min() > 0.95
    assert of("t5", "last 1").min() > 0.8
    assert of("t5", "last 4").mean() == pytest.approx(0.5, abs=0.05)
    assert of("t5, 128", "own 8").min() > 1
    assert of("kerple-log", "alone 4").max() < 0.2
    assert np.abs(of("kerple-log", "own 8")).max() < 0.02
    assert (of("kerple-log, public start", "alone 4") > 0.3).sum() == 2
    numbers = ("loss", "cost 4", "own 8", "alone 1", "alone 4", "alone 8", "last 1", "last 4")
    assert {side("t5, public start", "t5", number) for number in numbers} == {"undecided"}
    alibi, t5 = (np.array(STRETCH["kernels"][arm][0])[:, -1] for arm in ("alibi", "t5"))  # of each head
    assert sorted(alibi) == [-128, -32, -8, -2]
    assert ((t5 > -4) & (t5 < -2)).all()


def test_10_layers_and_pairs_without_a_code():
    for arm in ("nope", "partial"):
        assert side(arm, "v4", "cost 4") == side(arm, "v4", "own 4") == "above"
        assert side(arm, "v4", "last 1") == "below"
        assert of(arm, "last 1").mean() == pytest.approx(0.5, abs=0.05)
        assert of(arm, "alone 4").mean() > 0.9
    assert {side("v4-nope", "v4", number) for number in ("loss", "alone 4", "alone 8")} == {"undecided"}


def test_10_claims_of_the_papers():
    said = {claim.says: stretch.verdict(STRETCH, claim) for claim in stretch.STATEMENTS}
    central = [one for one in stretch.STATEMENTS if "central claim" in one.source]
    assert [said[one.says] for one in central] == ["fails", "holds"]
