"""The museum: every specimen is told apart by what it breaks, and no name is taken without proof."""

from __future__ import annotations

import itertools

import pytest
import torch

from babygpt.errors import BadInput
from babygpt.exercises import evidence, specimens
from babygpt.exercises.evidence import PROMISES, texts, wake
from babygpt.exercises.exhibits import EXHIBITS, SHAPE, Exhibit, measured, row
from babygpt.exercises.museum import Case, Museum, fewest, fits
from babygpt.invariants import causal

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
        "a lost minus, with 12 promises asked; 2 would have done: growth ✗, sides ✗"
    )


@pytest.mark.parametrize("guess", NAMES)
def test_a_guess_is_not_taken(museum: Museum, guess: str):
    """Not the right one either: it would be luck."""
    case = case_of(museum, "cache restarts")
    assert case.name(guess).right is None
    assert "15 exhibits" in case.name(guess).why
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
    assert float(table.rows[0][2]) > 1


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
