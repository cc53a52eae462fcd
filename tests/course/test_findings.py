"""Stored numbers behind the sentences of lessons; those behind claims are in tests/course/claims."""

from collections import Counter
from itertools import combinations, pairwise
from statistics import mean, median, stdev

import numpy as np
import pytest

from babygpt.encodings.gaussian import gaussian
from babygpt.metrics.inspection import reach
from babygpt_course.museum.costs import FRESH, differences, effect, load_costs
from babygpt_course.studies import gaussian_training, stretch
from babygpt_course.studies.board import against, front, paired_differences
from babygpt_course.studies.branches import CODES
from babygpt_course.studies.paired import LEAST_LOSS, critical_t, decided_side, exceeds
from babygpt_course.studies.results import load_results
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
    found = {name: effect(gaps) for name, gaps in differences(costs).items()}
    assert Counter(found.values()) == {
        "higher": 8,
        "lower": 2,
        "the same curve": 5,
    }  # the healthy model is its own twin
    means = {name: round(mean(gaps), 2) for name, gaps in differences(costs).items()}
    higher = sorted(means[name] for name, what in found.items() if what == "higher")
    assert (higher[0], higher[-1], means["codes added twice"]) == (0.05, 0.28, -0.11)
    assert [name for name, what in found.items() if what == "lower"] == [
        "codes added twice",
        "mask off by one",
    ]
    assert {name: effect(gaps) for name, gaps in differences(load_costs(FRESH)).items()} == found
    healthy = (costs["twins"][name] for name in ("nothing wrong", "codes added twice"))  # RoPE, sinusoid
    assert [round(max(ends) - min(ends), 2) for ends in healthy] == [0.05, 0.09]
    assert np.round(np.quantile(costs["twins"]["nothing wrong"], [0, 1]), 2).tolist() == [1.75, 1.80]


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
    sides = against(LADDER, "v4")
    level, attending = ("v3", "v5 fixed", "v6", "alibi"), ("v5", "learned", "pope", "nope")
    assert front(LADDER, masks=False) == ["v3", "v4", *level[1:]]
    assert {sides[name] for name in level} == {"undecided"}
    pairs = combinations((name for name, found in BOARD.items() if not found["masks"]), 2)
    decided = [decided_side(paired_differences(LADDER, one, other)) != "undecided" for one, other in pairs]
    assert (sum(decided), len(decided)) == (38, 55)
    behind = {name: paired_differences(LADDER, name, "v4") for name in (*attending, *level)}
    assert {exceeds(behind[name]) for name in attending} == {"holds"}
    assert [round(mean(behind[name]), 2) for name in attending] == [0.06, 0.06, 0.08, 0.24]
    error = critical_t(6) * stdev(behind["v6"]) / 6**0.5
    assert np.round(mean(behind["v6"]) + error * np.array([-1, 1]), 2).tolist() == [-0.05, 0.07]
    assert exceeds(behind["v5 fixed"]) == exceeds([-gap for gap in behind["v5 fixed"]]) == "fails"
    assert (round(min(behind["v5 fixed"]), 3), round(max(behind["v5 fixed"]), 3)) == (-0.018, 0.007)
    assert all(
        0 < loss - LADDER["bigram_floor"] < LEAST_LOSS for v in ("v1", "v2") for loss in BOARD[v]["1x"]
    )
    same = [n for n, m in BOARD.items() if not m["masks"] and m["parameters"] > 200_000 and n != "v6"]
    ratios = [
        stdev(paired_differences(LADDER, a, b)) / np.hypot(stdev(BOARD[a]["1x"]), stdev(BOARD[b]["1x"]))
        for a, b in combinations(same, 2)
    ]
    assert 0.8 < median(ratios) < 1.2  # runs of one seed share hardly any luck
    speeds = {name: BOARD[name]["speed"] for name in ("v4", *sides) if BOARD[name]["parameters"] > 200_000}
    assert max(speeds.pop("pope"), speeds.pop("v6")) < 0.9 < min(speeds.values())


def test_08_right_answers():
    writers = {name: BOARD[name]["roles"] for name in ("v4", *against(LADDER, "v4"))}
    found = {name: sum(x >= 0.9 for x in shares) for name, shares in writers.items()}
    assert [found[name] for name in ("v4", "v5 fixed", "v3", "v6", "alibi")] == [6, 6, 5, 4, 3]
    assert [found[name] for name in ("learned", "v5", "pope", "nope", "v1")] == [2, 1, 0, 0, 0]
    between = [x for shares in writers.values() for x in shares if 0.6 < x < 0.9]
    assert len(between) < sum(map(len, writers.values())) / 8
    assert f"{mean(writers['v6']):.0%}" == "82%"
    assert min(abs(share - mean(writers["v6"])) for share in writers["v6"]) > 0.1
    assert (f"{min(writers['v4']):.0%}", f"{max(writers['v4']):.0%}") == ("96%", "98%")
    assert max(BOARD["v4"]["whole"]) < 0.3
    assert all(max(BOARD[name]["whole"]) > 0.7 for name in ("v3", "v5 fixed", "v6", "alibi"))
    assert max(max(found["roles"]) for found in BOARD.values() if found["masks"]) < 0.55


def test_08_longer_than_trained():
    names = [name for name in ("v4", *against(LADDER, "v4")) if None not in BOARD[name]["past"]]
    past = {name: BOARD[name]["past"] for name in names}
    near, far = ({name: mean(BOARD[name][length]) for name in names} for length in ("1x", "4x"))
    assert all(far["v5 fixed"] <= far[name] < near[name] for name in ("v5", "v5 fixed", "alibi"))
    assert max(map(abs, past["v5"] + past["v5 fixed"])) < 0.001
    losing = ("alibi", "pope", "v6", "v4", "nope", "v3")
    assert {exceeds(past[name]) for name in losing} == {"holds"}
    assert [round(mean(past[name]), 2) for name in losing] == [0.06, 0.07, 0.17, 0.47, 0.57, 2.99]
    change = [np.subtract(BOARD[name]["4x"], BOARD[name]["1x"]) for name in ("v7", "v7-rope", "v7-pope")]
    assert np.round([seeds.mean() for seeds in change], 2).tolist() == [1.36, 0.41, 0.10]
    assert {exceeds(list(more - less)) for more, less in pairwise(change)} == {"holds"}
    inside = against(LADDER, "v7-rope")
    assert inside["v7-pope"] == inside["v7"] == "undecided"


def test_10_reading_on_untuned():
    methods = ("none", "ntk", "interpolation", "yarn")
    none, ntk, slow, yarn = (of(f"{method} 4", "change 4") for method in methods)
    assert of("v4", "recall 1 48").min() > 0.95
    assert of("v4", "change 4").min() > 0.2
    assert of("v4", "recall 4 192").max() < 0.4
    assert (of("v4, longer", "loss") < of("v4", "loss")).all()
    assert (of("v4, longer", "change 8") > 1.4 * of("v4", "change 8")).all()
    assert (ntk < np.minimum(none, yarn)).all()
    assert (slow > 3 * np.maximum(none, yarn)).all()
    assert (of("interpolation 4", "loss") - of("v4", "loss") > 0.67 * slow).all()
    assert (np.diff([of(f"{method} 4", "recall 4 192") for method in methods], axis=0) > 0).all()


def test_10_fine_tuned_and_dropped():
    none, ntk, slow, yarn = (of(f"{m} tuned", "change 4") for m in ("none", "ntk", "interpolation", "yarn"))
    assert of("control tuned", "recall 4 192").max() < 0.45
    assert min(of(f"{m} tuned", "recall 4 192").min() for m in ("interpolation", "ntk", "yarn")) > 0.85
    assert slow.min() > max(none.max(), ntk.max(), yarn.max())
    assert (ntk < none).all()
    assert max(none.max(), yarn.max()) < 0.2
    assert (of("ntk tuned", "loss") - of("control tuned", "loss")).min() > 0.05
    whole, before, now = (of(run, "loss") for run in ("v4", "drop 8", "drop tuned"))
    assert np.allclose((before - now) / (before - whole), 2 / 3, atol=0.05)
    assert before.min() > 2.5
    assert min(of(run, "recall 8 384").min() for run in ("drop 8", "drop tuned")) > 0.85


def test_10_kernels():
    assert max(of("alibi", "recall 4 192")) < 0.75 < min(of("alibi", "recall 4 48"))
    assert np.abs(of("kerple-log, longer", "change 8")).max() < 0.005
    near, far = (of("kerple-log, longer", number) for number in ("recall 1 48", "recall 4 192"))
    assert far.max() < 0.15 < 0.75 < near.min()
    others = max(of(arm, "recall 8 384").max() for arm in ("alibi", "kerple-log", "fire", "v5"))
    assert of("t5", "recall 8 384").min() > 0.95 > 0.6 > others
    assert max(np.abs(of(arm, "change 8")).max() for arm in ("v5", "kerple-log")) < 0.01
    assert max(of("fire", "recall 1 48").max(), of("fire, longer", "recall 1 48").max()) < 0.4
    alibi, t5 = (np.array(STRETCH["kernels"][arm][0])[:, -1] for arm in ("alibi", "t5"))  # of each head
    assert sorted(alibi) == [-128, -32, -8, -2]
    assert ((t5 > -3.4) & (t5 < -2)).all()
    assert of("t5, 128", "change 8").min() > 1
    assert of("v5, longer", "recall 8 384").max() < 0.2 < 0.6 < of("v5, longer", "recall 1 48").min()


def test_10_layers_and_pairs_without_a_code():
    assert of("partial", "change 4").min() > of("v4", "change 4").max()
    assert of("partial", "recall 4 192").min() > of("v4", "recall 4 192").max()
    assert min(of(run, "recall 8 384").min() for run in ("partial", "nope")) > 0.9
    assert (of("v4", "recall 8 384") < of("v4-nope", "recall 8 384")).all()
    assert np.abs(of("v4", "loss") - of("v4-nope", "loss")).max() < 0.01
    assert (np.diff([of(arm, "loss") for arm in ("v4", "partial", "nope")], axis=0) > 0).all()


def test_10_claims_of_the_papers():
    said = {claim.says: stretch.verdict(STRETCH, claim) for claim in stretch.STATEMENTS}
    assert said["untuned, interpolated positions are better than new ones"] == "fails"
    assert said["untuned, YaRN is better than NTK-aware"] == "fails"
    assert said["untuned, YaRN recalls further than NTK-aware"] == "holds"
    assert said["the same steps at the old length do not do it"] == "holds"
    assert said["no code at all reads on better than RoPE"] == "fails"
