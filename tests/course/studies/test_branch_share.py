"""The study of shares: the layout of the row turns what it says, and every run is trained and measured."""

import math

import pytest
import torch

from babygpt.data.batches import interleave
from babygpt.encodings import Rotary, Rotary2D
from babygpt.metrics.branches import parallel_loss
from babygpt.positions import Positions
from babygpt_course.studies import branch_share as experiment
from babygpt_course.studies.results import load_results
from babygpt_course.studies.sweep import small_config


@pytest.fixture(scope="module")
def corpus():
    return experiment.load_corpus("plain-tales", 12_000)


def woven(n, length=5):
    """Positions of n texts that share a row: the second begins a step later, the third two."""
    return interleave([torch.arange(length + 1) for _ in range(n)], list(range(n))).positions


def drawn(T, D=8):
    draw = torch.Generator().manual_seed(0)
    return (torch.randn(1, 1, T, D, dtype=torch.float64, generator=draw) for _ in "qk")


@pytest.mark.parametrize(("ratio", "coordinates"), [(0, "rrrr"), (0.5, "rrbt"), (0.75, "rbtb"), (1, "btbt")])
def test_pairs_turn_with_the_row_the_branch_and_time(ratio, coordinates):
    positions = woven(3)
    q, k = drawn(len(positions))
    turned_q, turned_k = experiment.RowRotary(8, ratio, stride=7).transform_qk(q, k, positions)
    time, branch = positions.time[0].tolist(), positions.branch[0].tolist()
    places = {"r": list(range(len(time))), "b": [7 * b for b in branch], "t": time}
    for m, n in ((3, 1), (11, 4), (14, 0)):
        score = 0.0  # by hand: a pair's share of a score turns with the difference of its coordinates
        for i, kind in enumerate(coordinates):
            angle = (places[kind][m] - places[kind][n]) * 10_000 ** (-i / 4)
            (a, b), (c, d) = (x[0, 0, at, 2 * i : 2 * i + 2].tolist() for x, at in ((q, m), (k, n)))
            score += (a * c + b * d) * math.cos(angle) + (a * d - b * c) * math.sin(angle)
        assert float(turned_q[0, 0, m] @ turned_k[0, 0, n]) == pytest.approx(score, abs=1e-10)


def test_of_a_single_text_the_row_is_time():
    positions = Positions(torch.arange(6), torch.zeros(6, dtype=torch.long))
    q, k = drawn(6)
    for ours, theirs in zip(
        experiment.RowRotary(8, 0).transform_qk(q, k, positions),
        Rotary(8).transform_qk(q, k, positions),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


def test_without_a_pair_for_time_a_text_has_no_order():
    positions = Positions(torch.arange(6), torch.full((6,), 3))
    q, k = drawn(6)
    turned_q, turned_k = Rotary2D(8, 1.0, stride=128).transform_qk(q, k, positions)
    torch.testing.assert_close(turned_q @ turned_k.mT, q @ k.mT, atol=1e-10, rtol=0)


@pytest.mark.parametrize("ratio", [-0.1, 1.5, math.nan])
def test_a_ratio_is_a_share(ratio):
    with pytest.raises(ValueError, match=r"ratio .* must lie between 0 and 1"):
        experiment.RowRotary(8, ratio)


def test_a_row_needs_to_know_its_branches():
    q, k = drawn(4)
    with pytest.raises(ValueError, match=r"needs positions\.branch"):
        experiment.RowRotary(8, 0.5).transform_qk(q, k, Positions.arange(4))


def test_every_share_is_trained_with_every_number_of_texts():
    planned = experiment.plans()
    for n in experiment.COUNTS:
        for share in experiment.SHARES:
            assert planned[f"{n} texts: share {share:g}"] == (f"share {share:g}", (n, n))
    assert planned["1 to 8 texts: row 0.5"] == ("row 0.5", (1, 8))


def test_arms_differ_in_their_code_alone(corpus):
    config = small_config(corpus, experiment.BLOCK_SIZE)
    widths = [experiment.build_model(f"share {x:g}", config).encoding.branch_width for x in experiment.SHARES]
    assert widths == [0, 6, 12, 18, 24]
    built = [experiment.build_model(arm, config) for arm, _ in experiment.plans().values()]
    assert len({sum(p.numel() for p in model.parameters()) for model in built}) == 1
    assert [
        arm for (arm, _), model in zip(experiment.plans().values(), built, strict=True) if model.isolated
    ] == ["isolated"]


def test_a_run_is_read_among_few_and_many(corpus):
    results = experiment.measure_branch_share(1, (1, 2), 12_000, only="8 texts: isolated")
    (found,) = results["runs"].values()
    assert list(found) == [str(n) for n in experiment.READ]
    for losses in zip(*found.values(), strict=True):  # of one seed: company changes nothing
        assert losses == pytest.approx([losses[0]] * len(losses), abs=2e-5)
    torch.manual_seed(2)
    model = experiment.build_model("isolated", small_config(corpus, experiment.BLOCK_SIZE))
    untrained = parallel_loss(model, corpus.val, 1, experiment.LENGTH)
    assert found["1"][1] != pytest.approx(untrained, abs=1e-3)  # a step was taken


def test_stored_results_hold_every_run_of_the_plan():
    results = load_results("branch_share")
    assert set(results["runs"]) == set(experiment.plans())
    assert {len(values) for run in results["runs"].values() for values in run.values()} == {3}


@pytest.fixture
def results():
    """Made up: share 0.5 lowest, 0.25 as good from one seed of three, the others worse from each."""
    of_share = {0: [3.0, 3.1, 3.2], 0.25: [1.1, 0.9, 1.2], 0.5: [1.0, 1.0, 1.0], 0.75: [1.1, 1.11, 1.12]}
    of_share[1] = [2.0, 2.1, 2.2]
    runs = {f"16 texts: share {x:g}": {"16": losses, "2": [9, 9, 9]} for x, losses in of_share.items()}
    runs["1 to 8 texts: row 0"] = {"8": [1.0, 1.5], "32": [3.0, 3.25]}
    return {"runs": runs}


def test_the_best_share_and_what_the_seeds_do_not_tell_from_it(results):
    assert experiment.rivals_of_best(results, 16) == (0.5, [0.25])


def test_the_cost_of_many_is_beyond_eight(results):
    assert experiment.cost_of_many(results, "row 0") == [2.0, 1.75]


def test_the_table_has_a_row_for_each_run():
    run = {str(n): [0.1, 0.2, 0.3] for n in experiment.READ}
    found = {
        "command": "make it",
        "minutes": 2.0,
        "seeds": [1, 2, 3],
        "steps": 5,
        "runs": {"8 texts: row 0": run},
    }
    told, _, heading, _, row = experiment.markdown_table(found).splitlines()
    assert "`make it`, 2 minutes" in told
    assert heading.count("|") == row.count("|")
    assert row.startswith("| 8 texts: row 0 | 0.200 ± 0.100 | ")
