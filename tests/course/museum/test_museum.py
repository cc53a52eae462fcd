"""The museum: every specimen is told apart by what it breaks, and no name is taken without proof."""

from __future__ import annotations

import itertools

import pytest
import torch

from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.invariants import causal
from babygpt.training import train
from babygpt_course.museum import evidence, specimens
from babygpt_course.museum.costs import cost_table, differences, ending, load_costs, measure_costs
from babygpt_course.museum.evidence import PROMISES, texts, wake
from babygpt_course.museum.exhibits import EXHIBITS, SHAPE, Exhibit, asleep, measured, row
from babygpt_course.museum.museum import Case, Museum, fewest, fits

NAMES = [exhibit.name for exhibit in EXHIBITS]
BROKEN = {  # what each was hung for; what else it breaks is measured
    "wrong axis": "near",
    "mixed layouts": "shift",
    "a lost minus": "sides",
    "positions in bfloat16": "far",
    "silent clamp": "beyond",
    "kernel of the place": "shift",
    "the sine left out": "sides",
    "codes added twice": "formula",
    "codes along the batch": "batch",
    "one code for all": "near",
    "cache restarts": "cache",
    "padding counted": "padding",
    "mask off by one": "causal",
    "dropped scale": "spread",
}


def exhibit(name: str) -> Exhibit:
    return next(e for e in EXHIBITS if e.name == name)


@pytest.fixture
def museum(small_corpus) -> Museum:
    return Museum(small_corpus, steps=12)


def case_of(museum: Museum, name: str) -> Case:
    return next(case for case in museum.cases if case.exhibit.name == name)


# ---------------------------------------------------------------- the exhibits


def test_there_are_ten_bugs_and_more():
    assert len(set(NAMES)) == len(NAMES) == len(BROKEN) + 1 >= 11


@pytest.mark.parametrize("make", [specimens.rotary, specimens.sinusoidal])
def test_a_healthy_model_keeps_every_promise(make):
    model = wake(make(SHAPE))
    with torch.inference_mode():
        assert all(measure(model, model).holds for measure in PROMISES.values())


def test_nothing_wrong_keeps_every_promise():
    assert all(row(exhibit("nothing wrong")).values())


@pytest.mark.parametrize(("name", "promise"), BROKEN.items())
def test_each_breaks_what_it_was_hung_for(name: str, promise: str):
    assert not measured(exhibit(name), promise).holds


def test_no_two_have_the_same_row():
    rows = [tuple(row(e).values()) for e in EXHIBITS]
    assert len(set(rows)) == len(rows)


def test_no_two_promises_say_the_same():
    columns = [tuple(measured(e, promise).holds for e in EXHIBITS) for promise in PROMISES]
    assert len(set(columns)) == len(columns)


def test_how_many_break_what_the_notebook_counts():
    broken = {p: sum(not measured(e, p).holds for e in EXHIBITS) for p in ("formula", "shift", "causal")}
    assert broken == {"formula": 8, "shift": 4, "causal": 1}


def test_every_promise_is_broken_by_some_and_kept_by_others():
    for promise in PROMISES:
        assert {measured(e, promise).holds for e in EXHIBITS} == {True, False}, promise


@pytest.mark.parametrize("one", EXHIBITS, ids=lambda e: e.name)
def test_verdicts_are_not_close(one: Exhibit):
    """A number near its limit might fall on the other side on another machine."""
    for promise in PROMISES:
        p = measured(one, promise)
        assert p.value > 1.5 * p.limit if not p.holds else p.value <= 0.6 * p.limit, promise


@pytest.mark.parametrize("one", EXHIBITS[1:], ids=lambda e: e.name)
def test_each_says_where_it_was_met(one: Exhibit):
    assert one.met
    assert all(a.startswith("https://github.com/") for _, a in one.met if a)
    assert all("source note" in what for what, address in one.met if not address)
    assert one.does.endswith(".")
    assert one.unseen.endswith(".")


def test_a_specimen_of_this_house_agrees_with_the_house():
    """What the museum measures with places that a model finds itself, invariants measure with given ones."""
    for make, holds in ((specimens.rotary, True), (exhibit("mask off by one").make, False)):
        model = wake(make(SHAPE))
        assert causal(model, texts(model, 1, 12)[0]).holds == holds


def test_padding_is_found_wherever_it_stands():
    model = wake(specimens.sinusoidal(SHAPE))
    pad, idx = SHAPE.vocab_size - 1, texts(model, 1, 6)
    for before in range(1, 4):
        held = torch.cat([torch.full((1, before), pad), idx], dim=1)
        assert (model(held)[:, before:] - model(idx)).abs().max() < evidence.SAME


# ---------------------------------------------------------------- the game


@pytest.mark.parametrize("one", EXHIBITS, ids=lambda e: e.name)
def test_the_fewest_single_it_out_and_fewer_do_not(one: Exhibit):
    best = fewest(one)
    assert [e for e in EXHIBITS if fits(e, best)] == [one]
    own = row(one)
    for names in itertools.combinations(own, len(best) - 1):
        assert sum(fits(e, {name: own[name] for name in names}) for e in EXHIBITS) > 1


@pytest.mark.parametrize("name", NAMES)
def test_asking_the_fewest_and_naming_it_is_right(museum: Museum, name: str):
    case = case_of(museum, name)
    case.ask(*fewest(case.exhibit))
    verdict = case.name(name.upper())
    assert verdict.right is True
    assert "the fewest there can be" in verdict.why
    assert case.solved
    assert case.exhibit.does in repr(case.plaque())
    assert ("class" in case.source().text) == isinstance(case.exhibit.thing, type)


def test_more_than_the_fewest_is_told(museum: Museum):
    case = case_of(museum, "a lost minus")
    case.ask(*PROMISES)
    assert case.name("a lost minus").why == (
        "a lost minus, with 12 promises asked; 2 would have done, as growth ✗, sides ✗"
    )


@pytest.mark.parametrize("guess", NAMES)
def test_a_guess_is_not_taken(museum: Museum, guess: str):
    """Not the right one either: it would be luck."""
    case = case_of(museum, "cache restarts")
    assert case.name(guess).right is None
    assert "asked nothing" in case.name(guess).why
    case.ask("shift")
    case.ask("far")
    verdict = case.name("cache restarts")
    assert verdict.right is None
    assert "fits 9 exhibits" in verdict.why
    assert not case.solved


def test_a_name_that_the_answers_exclude_is_wrong_and_why(museum: Museum):
    case = case_of(museum, "cache restarts")
    case.ask("shift")
    verdict = case.name("mixed layouts")
    assert repr(verdict) == "✗ Wrong: this model keeps 'shift', and 'mixed layouts' breaks it"
    case.ask("cache")
    assert "this model breaks 'cache', and 'nothing wrong' keeps it" in case.name("nothing wrong").why
    assert not case.solved


def test_asking_shows_verdict_and_number(museum: Museum):
    table = case_of(museum, "a lost minus").ask("shift", " Causal ")
    assert [row[0] for row in table.rows] == ["✗", "✓"]
    assert float(table.rows[0][3]) > 1


@pytest.mark.parametrize("names", [(), ("shfit",), ("shift", None)])
def test_an_unknown_promise_is_refused_and_nothing_is_asked(museum: Museum, names: tuple):
    case = museum.case(1)
    with pytest.raises(BadInput, match="shift, far, growth"):
        case.ask(*names)
    assert case.answers == {}


@pytest.mark.parametrize("guess", ["", "a bug", None, 3])
def test_an_unknown_name_is_refused(museum: Museum, guess):
    with pytest.raises(BadInput, match="nothing wrong, wrong axis"):
        museum.case(1).name(guess)


@pytest.mark.parametrize("number", [0, 16, -1, True, 1.0, "1"])
def test_an_unknown_case_is_refused(museum: Museum, number):
    with pytest.raises(BadInput, match="from 1 to 15"):
        museum.case(number)


def test_the_glass_is_covered_until_it_is_solved_or_given_up(museum: Museum):
    case = case_of(museum, "silent clamp")
    assert "silent" not in repr(case)
    for covered in (case.plaque, case.source):
        with pytest.raises(BadInput, match="covered"):
            covered()
    assert case.reveal() == "silent clamp"
    assert "clamp(max=" in case.source().text
    assert "silent clamp" in repr(case)


def test_a_hint_lists_what_fits_and_is_counted(museum: Museum):
    case = case_of(museum, "silent clamp")
    assert len(case.hint().rows) == len(EXHIBITS)
    case.ask("beyond", "formula")
    assert [name for name, _ in case.hint().rows] == ["silent clamp"]
    assert "and 2 hints" in case.name("silent clamp").why


def test_wrong_names_are_counted_and_open_questions_are_not(museum: Museum):
    case = case_of(museum, "silent clamp")
    assert case.name("wrong axis").right is None
    case.ask("near", "beyond", "formula")
    assert [case.name(name).right for name in ("wrong axis", "dropped scale")] == [False, False]
    why = case.name("silent clamp").why
    assert why.startswith("silent clamp, with 3 promises asked and 2 wrong names; 2 would have done")


def test_guessing_all_names_needs_proof_all_the_same(museum: Museum):
    case = case_of(museum, "nothing wrong")
    case.ask("shift", "far")
    assert {case.name(name).right for name in NAMES} == {None, False}
    case.ask(*PROMISES)
    assert [name for name in NAMES if case.name(name).right] == ["nothing wrong"]


def test_what_is_asked_of_an_open_case_is_not_counted(museum: Museum):
    case = case_of(museum, "mask off by one")
    case.ask("causal")
    first = case.name("mask off by one").why
    assert "fewest there can be" in first
    case.ask("shift", "far")
    case.hint()
    assert case.name("dropped scale").right is False
    assert case.name("mask off by one").why == first


def test_what_was_revealed_is_not_solved(museum: Museum):
    case = case_of(museum, "silent clamp")
    case.ask("beyond", "formula")
    case.reveal()
    assert case.name("silent clamp").right is None
    assert repr(museum) == "a museum of 15 cases, 0 of them solved, 1 given up"


@pytest.mark.parametrize("ask", [True, False])
def test_a_slip_of_the_pen_is_seen_and_a_novel_is_cut(museum: Museum, ask: bool):
    call, slip = (museum.case(1).ask, "shfit") if ask else (museum.case(1).name, "lost minus")
    with pytest.raises(BadInput, match=r"did you mean '(shift|a lost minus)'"):
        call(slip)
    with pytest.raises(BadInput) as error:
        call("x" * 100_000)
    assert len(str(error.value)) < 500


def test_the_number_gives_nothing_away(small_corpus):
    orders = [[case.exhibit.name for case in Museum(small_corpus, seed).cases] for seed in (1, 2)]
    assert orders[0] != orders[1] != NAMES
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(NAMES)


def test_tables_hold_all_there_is(museum: Museum):
    assert [r[0] for r in museum.promises().rows] == list(PROMISES)
    assert [r[0] for r in museum.catalogue().rows] == NAMES
    key = museum.key().rows
    assert len(key) == len(EXHIBITS)
    assert {len(r) for r in key} == {len(PROMISES) + 2}


# ---------------------------------------------------------------- the curves


@pytest.mark.parametrize(
    "name", ["cache restarts", "padding counted", "positions in bfloat16", "silent clamp"]
)
def test_some_bugs_leave_no_trace_in_training(museum: Museum, name: str):
    ours, healthy = case_of(museum, name).curves.values()
    assert ours == healthy


def test_those_that_leave_no_trace_are_counted(museum: Museum):
    assert museum.sleepers() == 4
    assert asleep(exhibit("nothing wrong"))


def test_the_model_of_a_case_is_the_one_of_its_curve(museum: Museum):
    case = case_of(museum, "dropped scale")
    steps = train(case.model(), museum.objective, museum.plan)
    assert [step.loss for step in steps] == next(iter(case.curves.values()))


@pytest.mark.parametrize("name", ["mixed layouts", "wrong axis", "codes added twice", "dropped scale"])
def test_the_others_fall_too(museum: Museum, name: str):
    ours, healthy = case_of(museum, name).curves.values()
    assert ours[0] == pytest.approx(healthy[0])  # a fresh model knows nothing, whatever is wrong with it
    assert ours[-1] != healthy[-1]
    assert ours[-1] < ours[0] - 0.5


def test_training_leaves_the_random_generator_alone(museum: Museum):
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    assert museum.case(1).curves
    assert torch.equal(torch.rand(2), first)


# ---------------------------------------------------------------- what they cost


def test_stored_costs_are_of_these_exhibits():
    costs = load_costs()
    assert list(costs["ends"]) == list(costs["twins"]) == NAMES
    assert {len(ends) for ends in costs["ends"].values()} == {len(costs["seeds"])}
    found = differences(costs)
    assert {name for name, by_seed in found.items() if not any(by_seed)} == {
        e.name for e in EXHIBITS if asleep(e)
    }
    assert [row[0] for row in cost_table(costs).rows][0::14] == ["wrong axis", "mask off by one"]


def test_a_stored_cost_is_what_is_measured():
    costs = load_costs()
    museum = Museum(load_corpus(), costs["seeds"][0], costs["steps"])
    for name in ("codes added twice", "mixed layouts"):
        ours = ending(museum.losses(exhibit(name).make))
        assert ours == pytest.approx(costs["ends"][name][0], abs=0.03), name


def test_costs_are_measured_from_every_seed(small_corpus):
    costs = measure_costs([Museum(small_corpus, seed, steps=2) for seed in (1, 2)])
    assert (costs["steps"], costs["seeds"]) == (2, [1, 2])
    assert costs["ends"]["silent clamp"] == costs["twins"]["silent clamp"] == costs["ends"]["nothing wrong"]
    assert {len(ends) for part in ("ends", "twins") for ends in costs[part].values()} == {2}
