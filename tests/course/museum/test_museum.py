"""The museum: broken promises identify every exhibit, and no name is accepted without proof."""

import itertools

import pytest
import torch

from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.invariants import causal
from babygpt.training import train
from babygpt_course.museum.costs import cost_table, ending, load_costs, measure_costs
from babygpt_course.museum.exhibits import EXHIBITS, SHAPE, Exhibit, rotary_specimen, sinusoidal_specimen
from babygpt_course.museum.museum import Museum, MuseumCase, fewest, fits
from babygpt_course.museum.promises import (
    PROMISES,
    SAME,
    fill_with_noise_,
    hidden_in_training,
    measured,
    random_texts,
    row,
)

NAMES = [exhibit.name for exhibit in EXHIBITS]
BROKEN = {  # what each was hung for; what else it breaks is measured
    "wrong axis": "near",
    "mixed layouts": "shift",
    "a lost minus": "sides",
    "positions in bfloat16": "far",
    "silent clamp": "beyond",
    "kernel of the position": "shift",
    "the sine left out": "sides",
    "codes added twice": "formula",
    "codes along the batch": "batch",
    "one code for all": "near",
    "cache restarts": "cache",
    "rows counted": "dropped",
    "one position for a call": "pieces",
    "padding counted": "padding",
    "mask off by one": "causal",
    "dropped scale": "spread",
}
HIDDEN = {"cache restarts", "rows counted", "one position for a call", "padding counted"}
HIDDEN |= {"positions in bfloat16", "silent clamp"}


def exhibit(name: str) -> Exhibit:
    return next(e for e in EXHIBITS if e.name == name)


@pytest.fixture
def museum(small_corpus) -> Museum:
    return Museum(small_corpus, steps=12)


def case_of(museum: Museum, name: str) -> MuseumCase:
    return next(case for case in museum.cases if case.exhibit.name == name)


# ---------------------------------------------------------------- the exhibits


def test_each_exhibit_breaks_its_own_promise():
    assert ["nothing wrong", *BROKEN] == NAMES
    assert not any(measured(exhibit(name), promise).holds for name, promise in BROKEN.items())


@pytest.mark.parametrize("make", [rotary_specimen, sinusoidal_specimen])
def test_a_healthy_model_keeps_every_promise(make):
    model = fill_with_noise_(make(SHAPE))
    with torch.inference_mode():
        assert all(measure(model, model).holds for measure in PROMISES.values())


def test_no_two_exhibits_or_promises_have_equal_verdicts():
    rows = [tuple(row(e).values()) for e in EXHIBITS]
    assert all(rows[0])  # nothing wrong
    assert len(set(rows)) == len(rows)
    assert len(set(zip(*rows, strict=True))) == len(PROMISES)
    assert all(set(column) == {True, False} for column in zip(*rows, strict=True))


def test_formula_shift_and_causal_are_broken_by_8_4_and_1_exhibits():
    broken = {p: sum(not measured(e, p).holds for e in EXHIBITS) for p in ("formula", "shift", "causal")}
    assert broken == {"formula": 8, "shift": 4, "causal": 1}


def test_verdicts_are_far_from_their_limits():
    """Keep numbers away from their limits, or another machine may decide otherwise."""
    for exhibit, promise in itertools.product(EXHIBITS, PROMISES):
        p = measured(exhibit, promise)
        assert p.value > 1.5 * p.limit if not p.holds else p.value <= 0.6 * p.limit, (exhibit.name, promise)


def test_causality_agrees_with_the_invariant_of_the_package():
    """Compare: the museum's models find their positions themselves; `invariants` gives its models theirs."""
    for make, holds in ((rotary_specimen, True), (exhibit("mask off by one").make, False)):
        model = fill_with_noise_(make(SHAPE))
        assert causal(model, random_texts(model, 1, 12)[0]).holds == holds


def test_any_amount_of_padding_is_found():
    model = fill_with_noise_(sinusoidal_specimen(SHAPE))
    pad, idx = SHAPE.vocab_size - 1, random_texts(model, 1, 6)
    for before in range(1, 4):
        padded = torch.cat([torch.full((1, before), pad), idx], dim=1)
        assert (model(padded)[:, before:] - model(idx)).abs().max() < SAME


# ---------------------------------------------------------------- the game


def test_the_fewest_promises_identify_an_exhibit_and_fewer_do_not():
    for exhibit in EXHIBITS:
        best, own = fewest(exhibit), row(exhibit)
        assert [e for e in EXHIBITS if fits(e, best)] == [exhibit]
        for names in itertools.combinations(own, len(best) - 1):
            assert sum(fits(e, {name: own[name] for name in names}) for e in EXHIBITS) > 1


def test_the_fewest_promises_and_the_right_name_solve_a_case(museum: Museum):
    for case in museum.cases:
        case.ask(*fewest(case.exhibit))
        verdict = case.name(case.exhibit.name.upper())
        assert verdict.right is True
        assert "the fewest there can be" in verdict.why
        assert case.exhibit.does in repr(case.plaque())
        assert ("class" in case.source().text) == isinstance(case.exhibit.thing, type)
    assert repr(museum) == "a museum of 17 cases, 17 of them solved, 0 given up"


def test_the_score_counts_promises_wrong_names_and_hints(museum: Museum):
    case = case_of(museum, "a lost minus")
    assert case.name("wrong axis").right is None  # nothing was asked, so it does not count
    case.ask(*PROMISES)
    assert [case.name(name).right for name in ("wrong axis", "dropped scale")] == [False, False]
    assert [name for name, _ in case.hint().rows] == ["a lost minus"]
    score = case.name("a lost minus").why
    assert score == (
        "a lost minus, with 14 promises asked and 2 wrong names and 1 hint; "
        "2 would be enough: growth ✗, sides ✗"
    )
    case.ask("shift")  # open cases are for looking
    case.hint()
    assert case.name("dropped scale").right is False
    assert case.name("a lost minus").why == score


def test_a_right_name_without_proof_is_not_accepted(museum: Museum):
    """Refuse even the right name: it would be luck."""
    case = case_of(museum, "cache restarts")
    assert {(case.name(guess).right, case.name(guess).why) for guess in NAMES} == {
        (None, "you asked nothing yet, and a guess is no proof; ask on")
    }
    case.ask("shift", "far")
    assert "fits 11 exhibits" in case.name("cache restarts").why
    assert {case.name(name).right for name in NAMES} == {None, False}
    assert not case.solved
    case.ask(*PROMISES)
    assert [name for name in NAMES if case.name(name).right] == ["cache restarts"]


def test_an_excluded_name_is_wrong_and_the_reason_is_given(museum: Museum):
    case = case_of(museum, "cache restarts")
    case.ask("shift")
    verdict = case.name("mixed layouts")
    assert repr(verdict) == "✗ Wrong: this model keeps 'shift', and 'mixed layouts' breaks it"
    case.ask("cache")
    assert "this model breaks 'cache', and 'nothing wrong' keeps it" in case.name("nothing wrong").why


def test_a_question_shows_verdict_and_number(museum: Museum):
    table = case_of(museum, "a lost minus").ask("shift", " Causal ")
    assert [row[0] for row in table.rows] == ["✗", "✓"]
    assert float(table.rows[0][3]) > 1


def test_unknown_names_and_numbers_are_refused_with_short_messages(museum: Museum):
    case = museum.case(1)
    refused = [(case.ask, names, "shift, far, growth") for names in ((), ("shfit",), ("shift", None))]
    refused += [(case.name, (guess,), "nothing wrong, wrong axis") for guess in ("", None, 3, "x" * 100_000)]
    refused += [(museum.case, (number,), "from 1 to 17") for number in (0, 18, -1, True, 1.0, "1")]
    for call, arguments, message in refused:
        with pytest.raises(BadInput, match=message) as error:
            call(*arguments)
        assert len(str(error.value)) < 500
    assert case.answers == {}


def test_plaque_and_source_are_hidden_until_the_case_is_revealed(museum: Museum):
    case = case_of(museum, "silent clamp")
    assert "silent" not in repr(case)
    for covered in (case.plaque, case.source):
        with pytest.raises(BadInput, match="covered"):
            covered()
    case.ask(*PROMISES)
    assert case.reveal() == "silent clamp"
    assert case.name("silent clamp").right is None
    assert "clamp(max=" in case.source().text
    assert "silent clamp" in repr(case)
    assert repr(museum) == "a museum of 17 cases, 0 of them solved, 1 given up"


def test_case_numbers_do_not_reveal_the_exhibits(small_corpus):
    orders = [[case.exhibit.name for case in Museum(small_corpus, seed).cases] for seed in (1, 2)]
    assert orders[0] != orders[1] != NAMES
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(NAMES)


# ---------------------------------------------------------------- the curves and costs of the bugs


def test_some_bugs_leave_no_trace_in_training(museum: Museum):
    assert museum.sleepers() == len(HIDDEN)
    assert {e.name for e in EXHIBITS if hidden_in_training(e)} == {*HIDDEN, "nothing wrong"}
    for name in HIDDEN:
        ours, healthy = case_of(museum, name).curves.values()
        assert ours == healthy


@pytest.mark.parametrize("name", ["mixed layouts", "wrong axis", "codes added twice", "dropped scale"])
def test_broken_models_that_change_the_curve_still_learn(museum: Museum, name: str):
    case = case_of(museum, name)
    torch.manual_seed(3)
    ours, healthy = case.curves.values()
    drawn = torch.rand(2)
    assert torch.equal(drawn, torch.rand(2, generator=torch.Generator().manual_seed(3)))
    assert ours[0] == pytest.approx(healthy[0])  # a fresh model knows nothing, whatever is wrong with it
    assert healthy[-1] != ours[-1] < ours[0] - 0.5
    assert [step.loss for step in train(case.model(), museum.objective, museum.plan)] == ours


def test_stored_costs_cover_all_exhibits():
    costs = load_costs()
    assert list(costs["ends"]) == list(costs["twins"]) == NAMES
    assert {len(final_losses) for final_losses in costs["ends"].values()} == {len(costs["seeds"])}
    same = {row[0] for row in cost_table(costs).rows if row[-1] == "the same curve"}
    assert same == {*HIDDEN, "nothing wrong"}


def test_a_stored_cost_equals_a_new_measurement():
    costs = load_costs()
    museum = Museum(load_corpus(), costs["seeds"][0], costs["steps"])
    for name in ("codes added twice", "mixed layouts"):
        ours = ending(museum.losses(exhibit(name).make))
        assert ours == pytest.approx(costs["ends"][name][0], abs=0.03), name


def test_costs_are_measured_from_every_seed(small_corpus):
    costs = measure_costs([Museum(small_corpus, seed, steps=2) for seed in (1, 2)])
    assert (costs["steps"], costs["seeds"]) == (2, [1, 2])
    assert costs["ends"]["silent clamp"] == costs["twins"]["silent clamp"] == costs["ends"]["nothing wrong"]
    assert {len(final_losses) for part in ("ends", "twins") for final_losses in costs[part].values()} == {2}
