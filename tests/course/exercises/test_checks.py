"""The harness of exercises: comparing answers, calling functions, reading values, hints, pictures."""

import builtins
import importlib
import math
import os
import sys
from _thread import interrupt_main
from dataclasses import replace
from fractions import Fraction
from threading import enumerate as enumerate_threads

import numpy as np
import pytest
import torch
from torch import Generator, nn

from babygpt_course.exercises import checks, compare
from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import (
    Unusable,
    Wrong,
    ask,
    equal_texts,
    expect,
    require_shape,
    require_texts,
)
from babygpt_course.exercises.compare import (
    apart,
    as_numbers,
    count,
    difference,
    format_beyond,
    members,
    to_python,
    whole,
)
from babygpt_course.exercises.exercise import Exercise
from babygpt_course.exercises.guard import run_with_timeout
from babygpt_course.exercises.lesson_00 import UNITS
from babygpt_course.exercises.lesson_03a import MASK
from babygpt_course.exercises.lesson_05 import WIDTH

UNEQUAL = [
    (torch.tensor([0, 1]), torch.tensor([0.4, 1.4])),  # whole numbers are not rounded into agreement
    (torch.tensor([0.0, torch.nan]), torch.tensor([0.0, 1.0])),
    (torch.tensor([1.0, torch.inf]), torch.tensor([1.0, -torch.inf])),
    (torch.tensor([1 + 0j]), torch.tensor([1.0])),
    (torch.tensor([1.0]).half(), torch.tensor([1.0])),
    (np.float16(1), 1.0),
    ([torch.tensor(1.0).bfloat16(), 2.0], (1.0, 2.0)),
    (torch.tensor([2.0]), torch.tensor([2])),  # a float cannot index
    (1, True),
    (True, 1.0),
    ("1.0", 1.0),
    ((1.0,), (1.0, 2.0)),
    (torch.zeros(0), torch.zeros(0, 3)),
]
EQUAL = [
    (np.float32(0.5), 0.5),
    (np.array([2], dtype=np.uint16), torch.tensor([2])),
    (2.0, 2),
    (np.array([1.0, 2.0]), torch.tensor([1.0, 2.0])),
    (torch.tensor([1.0, -torch.inf]), torch.tensor([1.0, -torch.inf])),
    (torch.tensor(0.5, requires_grad=True), 0.5),
    (torch.tensor([3e6 + 1]), torch.tensor([3e6])),  # the last digit of a float32
    (torch.tensor(True), True),
    ([torch.tensor([1]), torch.tensor([2])], torch.tensor([[1], [2]])),
    (np.array([1.0, 2.0]), (1.0, 2.0)),
    (Fraction(1, 2), 0.5),
    (np.bool_(False), False),
    ([1.0, "a"], (1.0, "a")),
    ([], torch.zeros(0, 3)),  # a list of no rows cannot say how long they are
]


def test_only_equal_answers_have_no_difference():
    assert all(difference(got, want) for got, want in UNEQUAL)
    assert not any(difference(got, want) for got, want in EQUAL)
    got = torch.zeros(2, 3, 4)
    got[1, 2, 3] = 0.5
    assert difference(got, torch.zeros(2, 3, 4)) == "at [1, 2, 3] came out: 0.5; should be: 0"


def test_messages_show_what_differs():
    assert apart(1.00002, 1.0) == "came out: 1.00002; should be: 1"
    assert apart(torch.tensor(1), 1) == "came out: 1 (Tensor); should be: 1 (int)"
    assert [format_beyond(0.5003, 0.5), format_beyond(2.0, 0.5), format_beyond(0.0205, 0.02, "%")] == [
        "0.5003",
        "2.00",
        "2.1%",
    ]


def test_an_import_is_not_cut_off(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import time\nfor _ in range(50): time.sleep(0.01)\nread = 1")
    monkeypatch.syspath_prepend(tmp_path)
    value, error, _ = run_with_timeout(0.1, lambda: importlib.import_module("slow_module").read)
    assert (value, error) == (1, None)


def test_shapes_are_compared_whatever_the_numbers():
    assert require_shape(torch.full((2, 3), torch.nan), "x", (2, 3)).isnan().all()
    for wrong, says in ((torch.zeros(3, 2), r"\(3, 2\)"), (None, "return"), ([[1, 2], [3]], "a tensor")):
        with pytest.raises(Wrong, match=says):
            require_shape(wrong, "x", (2, 3))


def test_half_and_complex_numbers_have_no_shape_either():
    for wrong in (torch.zeros(2).half(), torch.zeros(2, dtype=torch.complex64), np.zeros(2, np.float16)):
        with pytest.raises(Wrong, match="should be float32 or float64"):
            require_shape(wrong, "x", (2,))
    with pytest.raises(Wrong, match="should be a number"):
        require_shape("2", "x", ())


def test_the_smallest_case_shows_a_fault_and_names_the_mistake():
    def cases(draw):
        yield from (Case(f"n = {n}", (torch.arange(n),)) for n in (9, 3, 6))

    doubles = Agrees(cases, lambda x: 2 * x, {"You tripled it": lambda x: 3 * x, "Never": lambda x: x[99]})
    doubles(lambda x: x + x, Generator())
    with pytest.raises(
        Wrong, match=r"for n = 3 came out: \[0, 3, 6\]; should be: \[0, 2, 4\]. You tripled it$"
    ):
        doubles(lambda x: 3 * x, Generator())


def test_a_second_round_shows_what_is_kept_and_leaves_out_what_trains():
    def any_number(attempt, draw):
        number = float(torch.rand((), generator=draw))
        expect(attempt, number, want=number, what=f"{number}")

    text = "Name (core, 1 minutes)\n\nTask.\n\n- One."
    exercise = Exercise(text, {"returns it": any_number, "again": any_number}, answer=abs)
    first = []
    assert exercise.check(lambda x: x).solved
    report = exercise.check(lambda x: first.append(x) or first[0])
    assert report.failed == ["returns it", "again"]
    first.clear()
    report = Exercise(text, {"returns it": any_number}, abs).check(lambda x: first.append(x) or first[0])
    assert "keep something between calls" in repr(report)
    first.clear()
    trained = Exercise(text, {"returns it": any_number}, abs, trains=["returns it"])
    assert trained.check(lambda x: first.append(x) or first[0]).solved


def test_a_right_answer_in_another_style_hears_how_it_differs():
    def by_loop(p):
        total = 0.0
        for x in p.tolist():
            total -= math.log(x) / len(p)
        return total, total / math.log(2), math.exp(total)

    words = repr(UNITS.check(by_loop))
    assert words.endswith("Solved. It is right in another way: yours has a loop. `solution()` shows ours.")
    assert repr(UNITS.check(UNITS.answer)).endswith("Solved.")
    assert "Ours is another one: 41.0." in repr(WIDTH.check(40.5))


def test_one_thing_has_no_plural():
    assert [count(n, "layer") for n in (0, 1, 2)] == ["0 layers", "1 layer", "2 layers"]


def test_values_are_read_whatever_they_come_in():
    assert [to_python(x) for x in (np.bool_(True), torch.tensor(True), np.str_("a"))] == [True, True, "a"]
    assert [whole(x) for x in (3.0, np.int64(3), torch.tensor(3), np.array(3.0), Fraction(3))] == [3] * 5
    assert all(sorted(members(group)) == [0, 9] for group in ({9, 0}, frozenset({9, 0}), {0: 1, 9: 2}.keys()))
    assert as_numbers(1e308) < np.inf
    for value in ("ab", ["a", 1], [], ["a", "b", "c"], None, 3):
        with pytest.raises(Unusable):
            require_texts(value, 2)


def test_an_answer_may_not_change_its_inputs():
    model = nn.Linear(2, 2)
    spoilers = [
        lambda x: x["model"].weight.data.zero_(),
        lambda x: x["tensor"].zero_(),
        lambda x: x.pop("list"),
        lambda x: x["list"].append(1),
        lambda x: x["list"].reverse(),
        lambda x: x.update(number=2),
        lambda x: x["pair"][0].update(text="b"),
    ]
    inputs = {
        "model": model,
        "tensor": torch.ones(2),
        "list": [1, "a"],
        "number": 1,
        "pair": ({"text": "a"},),
    }
    for spoil in spoilers:
        with pytest.raises(Wrong, match="work on a copy"):
            ask(spoil, inputs, what="a dict")
    assert model.weight.any()  # what was spoilt was a copy


def test_a_known_mistake_is_named_by_its_value_or_its_function():
    for wrong in (5, lambda x: x + 3):
        with pytest.raises(Wrong, match=r"should be: 4\. You doubled it"):
            expect(lambda x: 2 * x + 1, 2, want=4, what="2", mistakes={"Another": 7, "You doubled it": wrong})


def test_mistakes_that_give_one_value_are_both_named():
    with pytest.raises(Wrong, match=r"should be: 4\.5\. You doubled it\. Or: You added 2$"):
        expect(lambda x: 4 * x, 1, want=4.5, what="1", mistakes={"You doubled it": 4, "You added 2": 4})


def test_a_text_for_a_list_of_texts_is_shown():
    with pytest.raises(Unusable, match="and is 'aaaabbbb'"):
        equal_texts("aaaabbbb", 8, 1, 6)


def test_an_exercise_is_read_from_its_text():
    sums = Exercise(
        """Sums (twice) (core, 5 minutes)

        Write
        `sums`.

        - First
          hint.
        - Second - last.
        """,
        checks={"adds": lambda *_: None},
        answer=1,
    )
    assert (sums.name, sums.level, sums.minutes, sums.task) == ("Sums (twice)", "core", 5, "Write `sums`.")
    assert sums.hints == ["First hint.", "Second - last."]
    assert sums.check(1).rows == [("✓", "adds", "")]


def test_hints_come_one_by_one_and_end_without_quotes():
    fresh = replace(UNITS)
    hints = [fresh.hint() for _ in range(len(fresh.hints) + 2)]
    assert [words.split(": ", 1)[-1] for words in hints[:-2]] == fresh.hints
    assert hints[0].startswith(f"1 of {len(fresh.hints)}: ")
    assert hints[-1] == hints[-2] == repr(hints[-1]) == hints[-1]._repr_markdown_()
    assert "no more hints" in hints[-1]


def test_a_lesson_uses_a_right_answer_and_ours_until_there_is_one(capsys):
    def answer(*inputs):
        return MASK.answer(*inputs)

    assert MASK.use(answer) is answer
    assert MASK.use(lambda *_: None) is MASK.answer
    assert MASK.use(None) is MASK.answer
    solved, *unsolved = capsys.readouterr().out.splitlines()
    assert solved == f"{MASK.name}. Solved: the next cells use yours."
    assert unsolved == 2 * [f"{MASK.name}. Not solved yet: the next cells use ours."]


def test_checking_and_drawing_leave_the_random_generators_as_they_were():
    def noisy(*inputs):
        print("here I am")
        np.random.seed(1)  # noqa: NPY002
        torch.set_default_dtype(torch.float64)
        return torch.rand(2), torch.rand(3)

    before, theirs = torch.get_rng_state(), np.random.get_state()[1][:9].tolist()  # noqa: NPY002
    report = MASK.check(noisy)
    MASK.draw(noisy)
    assert torch.equal(before, torch.get_rng_state())
    assert np.random.get_state()[1][:9].tolist() == theirs  # noqa: NPY002
    assert torch.get_default_dtype() == torch.float32
    assert "Your code printed: here I am" in repr(report)


def test_an_interrupted_check_leaves_no_thread_running(ctrl_c):
    def endless():
        interrupt_main()
        while True:
            pass

    before = set(enumerate_threads())
    with pytest.raises(KeyboardInterrupt):
        run_with_timeout(60, endless)
    assert set(enumerate_threads()) <= before  # those of earlier tests may have ended


def test_what_an_answer_replaces_comes_back_and_helps_no_wrong_answer(tmp_path):
    def patches(*_):
        for home, name in ((torch.Tensor, "isclose"), (torch.Tensor, "any"), (torch, "isclose")):
            setattr(home, name, lambda tensor, *_, **__: torch.zeros_like(tensor) > 1)
        compare.difference = checks.difference = lambda *_: ""
        builtins.sorted = list
        os.chdir(tmp_path)
        sys.setrecursionlimit(3000)
        torch.set_printoptions(precision=1)
        np.set_printoptions(precision=1)
        return 1.0, 2.0, 3.0

    def state():
        printed = repr(torch.tensor([0.12345])), repr(np.array([0.12345]))
        replaced = torch.Tensor.isclose, torch.Tensor.any, torch.isclose, compare.difference, sorted
        return *printed, *replaced, os.getcwd(), sys.getrecursionlimit()

    before = state()
    assert len(UNITS.check(patches).failed) == 3
    assert state() == before


def test_a_patch_made_before_a_check_does_not_solve_it(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "isclose", lambda tensor, *_: torch.ones_like(tensor) > 0)
    assert len(UNITS.check(lambda p: (1.0, 2.0, 3.0)).failed) == 3


def test_a_picture_has_alt_text_and_shows_nan():
    drawing = MASK.draw(lambda lengths, T: torch.zeros(len(lengths), T, T))
    png, metadata = drawing._repr_png_()
    assert png.startswith(b"\x89PNG")
    assert metadata == {"alt": repr(drawing)}
    assert repr(drawing) == "Yours, the wanted one, and the difference: 63 of 192 differ, by up to 1"
    assert "192 of 192" in repr(MASK.draw(lambda lengths, T: torch.full((3, T, T), torch.nan)))
    assert "no picture" in UNITS.draw(UNITS.answer)
