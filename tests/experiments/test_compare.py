"""Comparisons of versions: paired runs, resumed ones, seeds that were looked at, tuned rates, failures."""

import json
import math
import re
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.experiments import compare as module
from babygpt.experiments import comparison_plan, looks
from babygpt.experiments.compare import compare_versions
from babygpt.experiments.comparison import MEASURES, card, comparison_rows
from babygpt.experiments.comparison_plan import ComparisonPlan, in_words
from babygpt.experiments.variants import Candidate, candidates_of
from babygpt.experiments.workers import processes
from babygpt.objectives import NextToken

TEXT = "the cat sat on the mat. " * 40
PAIR = ("v4", "alibi")


@pytest.fixture(autouse=True)
def _few_questions(monkeypatch):
    monkeypatch.setattr(comparison_plan, "N_QUESTIONS", 8)
    monkeypatch.setattr(comparison_plan, "N_MASKED_QUESTIONS", 2)


def compared(versions, corpus, seeds, out=None, tell=lambda line: None, steps=3, block_size=32, **options):
    """Compare versions in models of one small layer."""
    shape = ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=1, n_head=2, n_embd=16)
    plan = TrainConfig(steps=steps, batch_size=2)
    return compare_versions(versions, corpus, seeds, shape, plan, out=out, tell=tell, **options)


@pytest.fixture
def fake_runs(monkeypatch):
    """Replace each training by a loss that a function of the candidate and the seed gives; list the runs."""
    runs = []

    def replace_by(loss):
        def run(plan, candidate, seed):
            runs.append((candidate.key, seed))
            return {"seed": seed, "curve": [[1, loss(candidate, seed)]], "loss": loss(candidate, seed)}

        monkeypatch.setattr(ComparisonPlan, "run", run)
        cost = {"ms": 1.0, "ratio": 1.0, "ratio_span": [0.9, 1.1], "seconds": 1.0, "parameters": 1}
        monkeypatch.setattr(module, "measure_costs", lambda plan, each, threads: {c.name: cost for c in each})
        return runs

    return replace_by


def test_the_time_that_is_left_is_that_of_the_finished_runs(small_corpus, fake_runs, monkeypatch):
    """Let each look at the clock take a minute."""
    fake_runs(lambda candidate, seed: 1.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=count(0, 60).__next__))
    lines = []
    compared(PAIR, small_corpus, [1, 2], tell=lines.append)
    assert lines[1:4] == [
        f"{name} is finished; {left}"
        for name, left in (
            ("v4, seed 1", "3 left, about 3 minutes"),
            ("alibi, seed 1", "2 left, about 2 minutes"),
            ("v4, seed 2", "1 left, about 60 seconds"),
        )
    ]


def test_differences_are_paired_by_seed_and_have_an_interval_from_the_third_on(small_corpus, tmp_path):
    out, lines = tmp_path / "a.json", []
    two = compared(PAIR, small_corpus, [1, 2])
    three = compared(PAIR, small_corpus, [1, 2, 3], out, lines.append)
    assert lines[0].startswith("6 runs to make: about ")
    assert "v4, seed 1 is finished; 5 left, about" in lines[1]
    stored = json.loads(out.read_text())
    losses = {name: [run["loss"] for run in runs] for name, runs in stored["runs"].items()}
    gap = stored["rows"][1]["differences"]["loss"]
    assert list(gap["each"].values()) == [a - v for a, v in zip(losses["alibi"], losses["v4"], strict=True)]
    assert gap["mean"] == pytest.approx(sum(gap["each"].values()) / 3)
    assert gap["low"] < gap["mean"] < gap["high"]
    assert gap["verdict"] is None
    assert two.rows[1]["differences"]["loss"]["low"] is None
    assert {"loss", "roles", "whole", "beyond"} == set(three.rows[0]["means"])
    assert stored["floor"] == pytest.approx(small_corpus.floor)
    assert set(stored["costs"]["alibi"]) == {"ms", "ratio", "ratio_span", "seconds", "parameters"}
    low, high = stored["costs"]["alibi"]["ratio_span"]
    assert low <= stored["costs"]["alibi"]["ratio"] <= high
    assert stored["costs"]["v4"] | {"ratio": 1.0, "ratio_span": [1.0, 1.0]} == stored["costs"]["v4"]
    assert "decide nothing" in str(three)
    assert "v4" in three._repr_html_()


def test_all_variants_of_a_seed_see_the_same_batches(small_corpus, monkeypatch):
    batches = []
    draw = NextToken.batch
    monkeypatch.setattr(NextToken, "batch", lambda *a: batches.append(draw(*a)) or batches[-1])
    compared(PAIR, small_corpus, [1, 2])
    runs = [batches[i : i + 3] for i in range(len(batches) - 12, len(batches), 3)]  # of three steps each
    assert all(a[0].equal(b[0]) for a, b in zip(runs[0], runs[1], strict=True))
    assert not runs[0][0][0].equal(runs[2][0][0])


def test_versions_that_fill_in_have_a_bound_and_those_of_several_texts_none(
    small_masked_corpus, small_corpus
):
    masked = compared(("v7-rope", "v7-nope"), small_masked_corpus, [1])
    assert set(masked.rows[1]["means"]) == {"loss", "nelbo", "roles"}
    several = compared(("v6", "v6-none"), small_corpus, [1])
    assert set(several.rows[1]["means"]) == {"loss"}


def test_a_text_without_questions_is_said_to_have_losses_only_once(tmp_path):
    comparison = compared(("v4", "learned"), from_text("mine.txt", TEXT), [1], block_size=16)
    for text in (str(comparison), card(comparison.results)):
        assert text.count("mine.txt asks no questions that a window holds, so there are losses only.") == 1
    assert set(comparison.rows[0]["means"]) == {"loss", "beyond"}
    assert set(comparison.rows[1]["means"]) == {"loss"}  # its table of positions ends with the window
    assert "learned cannot read that far" in str(comparison)


# ---------------------------------------------------------------- finished runs and failures


def test_the_same_call_makes_only_the_runs_that_are_missing(small_corpus, tmp_path, fake_runs):
    runs, out = fake_runs(lambda candidate, seed: 1.0), tmp_path / "a.json"
    compared(PAIR, small_corpus, [1, 2], out)
    assert runs == [("v4", 1), ("alibi", 1), ("v4", 2), ("alibi", 2)]
    compared((*PAIR, "nope"), small_corpus, [1, 2, 3], out)
    assert runs[4:] == [("nope", 1), ("nope", 2), ("v4", 3), ("alibi", 3), ("nope", 3)]


def test_a_run_that_dies_is_named_and_the_others_go_on(small_corpus, tmp_path, fake_runs):
    def loss(candidate, seed):
        if (candidate.name, seed) == ("alibi", 2):
            raise FloatingPointError("loss is nan at step 5")
        return 1.0 if candidate.name == "v4" else 2.0

    out, runs = tmp_path / "a.json", fake_runs(loss)
    comparison = compared(PAIR, small_corpus, [1, 2, 3], out)
    assert len(runs) == 6
    row = comparison.rows[1]
    assert row["seeds"] == [1, 3]
    assert row["differences"]["loss"]["each"] == {1: 1.0, 3: 1.0}
    failed = "alibi, seed 2 failed and is left out: FloatingPointError: loss is nan at step 5."
    assert failed in str(comparison)
    compared(PAIR, small_corpus, [1, 2, 3], out)
    assert runs[6:] == [("alibi", 2)]


def test_a_variant_of_which_every_run_dies_ends_the_comparison(small_corpus, fake_runs):
    def loss(candidate, seed):
        if candidate.name == "alibi":
            raise FloatingPointError("loss is nan")
        return 1.0

    fake_runs(loss)
    with pytest.raises(BadInput, match="alibi, seed 1: FloatingPointError: loss is nan"):
        compared(PAIR, small_corpus, [1])


def test_runs_of_other_settings_are_refused_and_the_file_is_left_alone(small_corpus, tmp_path, fake_runs):
    fake_runs(lambda candidate, seed: 1.0)
    out = tmp_path / "a.json"
    compared(PAIR, small_corpus, [1], out)
    before = out.read_bytes()
    with pytest.raises(BadInput, match=r"--steps \(4\) is not that of .*a.json \(3\); choose another --out"):
        compared(PAIR, small_corpus, [1], out, steps=4)
    with pytest.raises(BadInput, match=r"--corpus \(other\) is not that of .* \(small\)"):
        compared(PAIR, from_text("other", TEXT), [1], out)
    assert out.read_bytes() == before


def test_settings_of_a_comparison_without_any_run_may_be_replaced(small_corpus, tmp_path, fake_runs):
    def stop(candidate, seed):
        raise KeyboardInterrupt

    out = tmp_path / "a.json"
    fake_runs(stop)
    with pytest.raises(KeyboardInterrupt):
        compared(PAIR, small_corpus, [1], out, steps=4)
    fake_runs(lambda candidate, seed: 1.0)
    assert compared(PAIR, small_corpus, [1], out, steps=3).results["settings"]["steps"] == 3


@pytest.mark.parametrize("content", ["[1, 2]", "{", '{"looks": []}', '{"settings": 3, "looks": []}', "7"])
def test_a_file_that_holds_no_comparison_is_left_alone(small_corpus, tmp_path, content):
    out = tmp_path / "a.json"
    out.write_text(content)
    with pytest.raises(BadInput, match="holds no results of a comparison"):
        compared(PAIR, small_corpus, [1], out)
    assert out.read_text() == content


# ---------------------------------------------------------------- own encodings

OWN = """
from babygpt.encodings import Encoding

class Mine(Encoding):
    def transform_qk(self, q, k, positions):
        return FACTOR * q, k
"""


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """Return a function that writes mine.py, whose encoding multiplies queries by a factor."""
    monkeypatch.chdir(tmp_path)
    return lambda factor: (tmp_path / "mine.py").write_text(OWN.replace("FACTOR", str(factor)))


def test_an_own_encoding_is_compared_and_a_changed_file_resumes_no_run(small_corpus, tmp_path, own_file):
    out = tmp_path / "a.json"
    own_file(2)
    first = compared(("v4", "mine.py:Mine"), small_corpus, [1], out, n_workers=1, workers=processes(1))
    assert first.rows[1]["variant"] == "mine.py:Mine"
    assert len(first.rows[1]["digest"]) == 64
    own_file(5)
    lines = []
    second = compared(("v4", "mine.py:Mine"), small_corpus, [1], out, lines.append)
    assert lines[1].startswith("1 run to make")
    assert second.rows[1]["means"] != first.rows[1]["means"]
    assert "They suggested the comparison of mine.py:Mine" in str(second)


def test_the_card_says_what_the_small_weights_of_an_encoding_have_learned(small_corpus):
    comparison = compared(("v4", "kerple-log", "learned"), small_corpus, [1, 2])
    tables = [row["learned"] for row in comparison.rows]
    assert tables[0] == tables[2] == {}  # RoPE trains nothing, and a table of positions is too large to read
    trained = [run["learned"] for run in comparison.results["runs"]["kerple-log"]]
    assert trained[0] != trained[1]
    assert tables[1] == {name: [*values, *trained[1][name]] for name, values in trained[0].items()}
    values = tables[1]["log_r1"]
    said = f"log_r1 {min(values):.3g} to {max(values):.3g}, median {np.median(values):.3g}"
    sentences = [line for line in card(comparison.results).splitlines() if "has learned" in line]
    assert len(sentences) == 1
    assert sentences[0].startswith("- kerple-log has learned, over all seeds: ")
    assert said in sentences[0]


def test_a_file_that_changes_while_runs_are_made_fails_them(small_corpus, own_file):
    own_file(2)
    changed = candidates_of(("v4", "mine.py:Mine"))[1]
    own_file(5)
    with pytest.raises(BadInput, match=r"the file of mine.py:Mine has changed"):
        changed.build(ModelConfig(11, 16, n_layer=1, n_head=2, n_embd=16))


def test_runs_of_a_class_without_a_file_are_not_resumed_by_another_of_its_name():
    def typed():
        class Typed(Encoding):
            pass

        Typed.__module__ = "no such module"
        return candidates_of(("v4", Typed))[1]

    first, second = typed(), typed()
    assert first.name == second.name
    assert first.digest is None
    assert first.key != second.key


# ---------------------------------------------------------------- verdicts


def rows_of(gaps, suggesting=()):
    """Return the rows of v4 and of one rival for each list of differences, at seeds 0, 1, 2, ..."""
    candidates = [Candidate(name, name, "") for name in ("v4", *gaps)]
    runs = {name: {i: {"loss": 1 + gap} for i, gap in enumerate(each)} for name, each in gaps.items()}
    runs["v4"] = {i: {"loss": 1.0} for i in range(12)}
    return comparison_rows(candidates, runs, dict.fromkeys(gaps, suggesting))


def test_a_verdict_needs_twelve_seeds_that_did_not_suggest_it_and_a_size_that_counts():
    def verdict(each, suggesting=()):
        return rows_of({"alibi": each}, suggesting)[1]["differences"]["loss"]["verdict"]

    large, small = [0.05, 0.06] * 6, [0.005, 0.006] * 6
    assert verdict(large[:11]) is None
    assert verdict(large) == "higher"
    assert verdict([-gap for gap in large]) == "lower"
    assert verdict(large, suggesting=[1]) == "undecided"
    assert verdict(small) == "undecided"


def test_all_differences_of_a_table_are_one_family():
    """Take a difference with p of 0.006: decided by itself, but not beside a second comparison."""
    each = [0.03 + 0.0305 * (-1) ** i for i in range(12)]
    alone = rows_of({"alibi": each})[1]["differences"]["loss"]
    assert 0.005 < alone["p"] < 0.01
    assert alone["verdict"] == "higher"
    family = rows_of({"alibi": each, "nope": each})
    assert [row["differences"]["loss"]["verdict"] for row in family[1:]] == ["undecided", "undecided"]
    small = rows_of({"alibi": [0.005, 0.006] * 6})[1]
    corrected, too_small = (row["differences"]["loss"] for row in (family[1], small))
    in_text = {"higher": alone, "undecided after Holm's correction": corrected, "undecided": too_small}
    for words, gap in in_text.items():
        assert MEASURES["loss"].difference(gap).endswith(f"12 seeds), {words}")


# ---------------------------------------------------------------- seeds that were looked at

KEYS = {"v4": "v4", "mine": "mine, file 1"}


@pytest.mark.parametrize(
    ("earlier", "seeds", "suggesting"),
    [
        ([], [1, 2], []),
        ([(KEYS, [1, 2])], [1, 2], []),  # the very same runs
        ([(KEYS, [1])], [1, 2], [1]),
        ([(KEYS, [1, 2]), (KEYS, [1])], [1, 2], []),  # this came first
        ([(KEYS, [1]), (KEYS, [1, 2])], [1, 2], [1]),
        ([(KEYS, [1, 2])], [3, 4], []),
        ([({**KEYS, "mine": "mine, file 2"}, [1, 2])], [1, 2], [1, 2]),  # its file was changed since
        ([({"v4": "v4", "alibi": "alibi"}, [1])], [1, 2], []),  # a look at another pair
    ],
)
def test_seeds_suggest_a_comparison_if_an_earlier_look_had_other_runs(earlier, seeds, suggesting):
    remembered = [{"variants": variants, "seeds": each} for variants, each in earlier]
    assert looks.suggesting_seeds(remembered, KEYS, seeds) == suggesting


def test_seeds_that_were_looked_at_are_counted_and_decide_nothing(small_corpus, tmp_path, fake_runs):
    fake_runs(lambda candidate, seed: 1.0 + 0.001 * (seed % 7) + 0.1 * (candidate.name == "alibi"))
    out = tmp_path / "a.json"
    compared(PAIR, small_corpus, 3, out)
    lines = []
    all_twelve = compared(PAIR, small_corpus, 12, out, lines.append)
    assert lines[0] == module.SUGGESTED
    assert all_twelve.rows[1]["differences"]["loss"]["verdict"] == "undecided"
    assert "3 seeds were looked at before: 1337, 2027, 9001." in str(all_twelve)
    assert "They suggested the comparison of alibi" in str(all_twelve)
    confirmed = compared(PAIR, small_corpus, None, out, confirm=True)
    assert confirmed.rows[1]["seeds"] == list(range(3001, 3013))
    assert confirmed.rows[1]["differences"]["loss"]["verdict"] == "higher"
    assert "12 seeds were looked at before" in str(confirmed)
    assert "None of them is among the seeds of this table." in str(confirmed)
    added = compared((*PAIR, "nope"), small_corpus, 12, out, confirm=True)
    assert added.rows[1]["differences"]["loss"]["verdict"] == "higher"
    assert "so it suggests nothing more" in str(added)
    again = compared(PAIR, small_corpus, 12, out, confirm=True)
    assert again.results["rows"] == confirmed.results["rows"]
    with pytest.raises(BadInput, match=r"seeds 1337 were looked at before in .*: name twelve others"):
        compared(PAIR, small_corpus, [1337, 5], out, confirm=True)


def test_a_changed_encoding_is_not_confirmed_on_seeds_that_its_last_form_saw(
    small_corpus, tmp_path, own_file
):
    out, pair = tmp_path / "a.json", ("v4", "mine.py:Mine")
    own_file(2)
    compared(pair, small_corpus, [1], out, steps=1)
    compared(pair, small_corpus, [5, 6], out, steps=1, confirm=True)
    own_file(5)
    with pytest.raises(BadInput, match="seeds 5, 6 were looked at before"):
        compared(pair, small_corpus, [5, 6], out, steps=1, confirm=True)


def test_without_an_earlier_look_there_is_nothing_to_confirm(small_corpus, tmp_path):
    out = tmp_path / "a.json"
    with pytest.raises(BadInput, match="no earlier comparison of v4 and alibi to confirm"):
        compared(PAIR, small_corpus, 12, out, confirm=True)
    assert not out.exists()


@pytest.mark.parametrize(
    ("seeds", "says"),
    [(0, r"seeds \(0\)"), (13, r"seeds \(13\)"), ([], "0 seeds"), ([1, 2, 1], "seed 1 is named twice")],
)
def test_wrong_seeds_are_refused(seeds, says):
    with pytest.raises(BadInput, match=says):
        looks.seeds_of(seeds)


def test_a_number_of_seeds_takes_the_first_ones_and_the_reserved_ones_are_never_taken():
    assert looks.seeds_of(2) == (1337, 2027)
    assert (len(looks.seeds_of()), len(looks.seeds_of(confirm=True))) == (3, 12)
    assert not {*looks.seeds_of(12), *looks.CONFIRM_SEEDS, *looks.TUNING_SEEDS} & set(range(2001, 2013))


# ---------------------------------------------------------------- learning rates


def test_every_variant_takes_its_best_rate_on_seeds_that_are_not_compared(small_corpus, fake_runs):
    best = {"v4": 1, "alibi": 2}
    runs = fake_runs(lambda candidate, seed: 1.0 + abs(candidate.rate - best[candidate.name]))
    comparison = compared(PAIR, small_corpus, [1], rates=(0.5, 1, 2))
    assert [row["rate"] for row in comparison.rows] == [1, 2]
    assert {seed for _, seed in runs[:18]} == set(looks.TUNING_SEEDS)
    assert runs[18:] == [("v4", 1), ("alibi, rates x 2", 1)]
    assert "v4 x 1, alibi x 2. For alibi the best rate is the last one that was tried." in str(comparison)
    assert comparison.results["tuning"]["losses"]["v4"] == {"0.5": 1.5, "1": 1.0, "2": 2.0}


def test_a_rate_at_which_a_run_dies_is_not_taken(small_corpus, fake_runs):
    def loss(candidate, seed):
        if candidate.rate == 2 and seed == looks.TUNING_SEEDS[1]:
            raise FloatingPointError("loss is nan")
        return 1 / candidate.rate

    fake_runs(loss)
    assert [row["rate"] for row in compared(PAIR, small_corpus, [1], rates=(1, 2)).rows] == [1, 1]


@pytest.mark.parametrize(
    ("rates", "seeds", "says"),
    [
        ((1,), [1], "at least 2"),
        ((1, 1), [1], "different"),
        ((0, 1), [1], "above 0"),
        ((1, 2), [4001], "4001"),
    ],
)
def test_wrong_rates_are_refused(small_corpus, rates, seeds, says):
    with pytest.raises(BadInput, match=says):
        compared(PAIR, small_corpus, seeds, rates=rates)


# ---------------------------------------------------------------- what cannot be compared


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ((), "0 variants: a comparison needs at least 2"),
        (("v4",), "1 variants"),
        (("v4", "alibi", "v4"), "v4 is named twice"),
        (("v4", "alibbi"), "did you mean alibi?"),
        (("v4", "v7"), "v4 learns to predict the next character and v7 to fill in masked characters"),
        (("v4", "v6"), "v6 to predict the next character of several texts"),
    ],
)
def test_what_cannot_be_compared_is_refused(versions, says):
    with pytest.raises(BadInput, match=says.replace("?", r"\?")):
        candidates_of(versions)


def test_a_text_that_is_too_short_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadInput, match=r"block_size \(64\) needs 65 tokens"):
        compare_versions(PAIR, from_text("short", "abc " * 20), 1, out=tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 seconds"), (60, "60 seconds"), (600, "10 minutes"), (9000, "2.5 hours")]
)
def test_times_are_told_in_words(seconds, words):
    assert in_words(seconds) == f"about {words}"


# ---------------------------------------------------------------- options of variants

BACK = (("v4-shift", {"back": 1}), ("v4-shift", {"back": 2}))


def test_variants_with_options_are_trained_with_them_and_named_by_them(small_corpus, tmp_path):
    out = tmp_path / "a.json"
    comparison = compared(BACK, small_corpus, [1], out)
    assert [row["variant"] for row in comparison.rows] == ["v4-shift (back 1)", "v4-shift (back 2)"]
    losses = [row["means"]["loss"]["mean"] for row in comparison.rows]
    assert losses[0] != losses[1]
    assert losses[0] == compared(("v4-shift", "v4"), small_corpus, [1]).rows[0]["means"]["loss"]["mean"]
    stored = json.loads(out.read_text())
    assert [row["options"] for row in stored["rows"]] == [{"back": 1}, {"back": 2}]
    assert list(stored["runs"]) == ["v4-shift (back 1)", "v4-shift (back 2)"]
    assert "v4-shift (back 2) less v4-shift (back 1):" in str(comparison)
    assert card(stored).startswith("# v4-shift (back 1) and v4-shift (back 2) on ")


def test_options_in_any_order_and_numbers_of_any_kind_name_the_same_runs():
    typed, mixed = (
        candidates_of(("v4", ("v4-shift", options)))[1]
        for options in ({"theta": 100.0, "back": 2}, {"back": 2, "theta": np.float64(100)})
    )
    assert typed.key == mixed.key == "v4-shift (back 2, theta 100)"
    many = candidates_of(("v4", ("v5", {"sigmas": [1.5, math.inf], "alphas": (1, 1), "learnable": False})))[1]
    assert many.key == "v5 (alphas 1 1, learnable False, sigmas 1.5 inf)"


def test_other_options_and_a_changed_file_of_a_layer_resume_no_run(small_corpus, tmp_path, own_file):
    out, lines = tmp_path / "a.json", []
    own_file(2)
    layers = ("v4", {"layers": ["mine.py:Mine"]})
    first = compared(("v4", layers), small_corpus, [1], out, workers=processes(1))
    assert first.rows[1]["variant"] == "v4 (layers mine.py:Mine)"
    assert first.rows[1]["options"] == {"layers": ["mine.py:Mine"]}
    assert len(first.rows[1]["digest"]) == 64
    own_file(5)
    compared(("v4", layers, ("v4", {"theta": 50})), small_corpus, [1], out, lines.append)
    assert lines[1].startswith("2 runs to make")


def test_options_of_an_own_encoding_reach_it(small_corpus):
    class Scaled(Encoding):
        def __init__(self, factor: float = 1.0) -> None:
            super().__init__()
            self.factor = factor

        def transform_qk(self, q, k, positions):
            return self.factor * q, k

    variants = (Scaled, (Scaled, {"factor": 3.0}))
    rows = compared(variants, small_corpus, [1]).rows
    assert [row["variant"].rpartition(".")[2] for row in rows] == ["Scaled", "Scaled (factor 3)"]
    assert rows[1]["differences"]["loss"]["mean"] != 0


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        (
            ("v4-shift", {"bakc": 2}),
            "no option bakc; it has theta, back, per_layer, layers; did you mean back?",
        ),
        (("v4", {"isolated": True}), "v4 has no option isolated"),
        (("v1", {"per_layer": True}), "v1 has no option per_layer; it has none"),
        (("v4-shift", {"back": len}), "back (<built-in function len>) must be a number"),
        (("v4-shift", 2), "must be a version and its options"),
        (("v4-shift",), "must be a version and its options"),
        (("v9", {"back": 2}), "version (v9) must be one of"),
    ],
)
def test_wrong_options_are_refused_by_name(variant, says):
    with pytest.raises(BadInput, match=re.escape(says)):
        candidates_of(("v4", variant))


def test_values_that_no_model_can_have_are_refused_before_anything_is_written(small_corpus, tmp_path):
    for back in (-1, "two"):
        with pytest.raises(BadInput, match=rf"v4-shift \(back {back}\): back \('?{back}'?\) must be"):
            compared(("v4", ("v4-shift", {"back": back})), small_corpus, [1], tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- watched


def test_curves_are_watched_as_they_grow_and_change_no_number(small_corpus, tmp_path):
    out, frames = tmp_path / "a.json", []

    def watch(name, seed, curve):
        frames.append((name, seed, [list(point) for point in curve]))

    def watched(seeds, **options):
        frames.clear()
        return compared(PAIR, small_corpus, seeds, out, watch=watch, **options).results["runs"]

    runs = watched([1])
    assert runs == compared(PAIR, small_corpus, [1]).results["runs"]
    growing = [curve for name, _, curve in frames if name == "v4"]
    assert [len(curve) for curve in growing] == [1, 2, 3, 3]
    assert growing[-1] == runs["v4"][0]["curve"]
    watched([1, 2], workers=processes(1))
    assert sorted((name, seed) for name, seed, _ in frames[:2]) == [
        ("alibi", 1),
        ("v4", 1),
    ]  # stored
    assert sorted((name, seed) for name, seed, _ in frames[2:]) == [("alibi", 2), ("v4", 2)]  # finished
