"""The switchboard shows what a model without some of its heads really does, and records combinations."""

from itertools import combinations

import pytest
import torch
from traitlets import TraitError

from babygpt import metrics
from babygpt.errors import BadInput
from babygpt.metrics.inspection import without_heads
from babygpt.objectives import cross_entropy
from babygpt_course.explorers import Switches
from babygpt_course.tools import asked, switchboard
from babygpt_live import Axis, Trials
from tools.book.recording import record_explorer

EIGHT = [(layer, head) for layer in range(2) for head in range(4)]
SUM = Axis("sum", (0, 1), unit=" nats")


@pytest.fixture
def model(awake, small_corpus):
    size = {"vocab_size": small_corpus.tokenizer.vocab_size, "block_size": 64, "n_layer": 2, "n_head": 4}
    return awake("v4", n_embd=32, **size)


def total(model):
    """Measure something that every head changes."""
    with torch.inference_mode():
        return {SUM: float(model(torch.arange(5)[None]).abs().sum())}


def test_the_numbers_are_those_of_the_ablated_model_also_after_it_has_trained_on(model, small_corpus):
    tokenizer, off = small_corpus.tokenizer, [(1, 2), (0, 1)]
    questions = small_corpus.grammar.questions(20, seed=2, max_chars=64)
    windows = small_corpus.val[: 4 * 65].view(4, 65)
    with without_heads(model, off), torch.inference_mode():
        right = metrics.role_accuracy(model, tokenizer, questions)
        spelled = metrics.whole_answer_accuracy(model, tokenizer, questions)
        loss = cross_entropy(model(windows[:, :-1]), windows[:, 1:]).mean().item()
        (written,) = metrics.greedy_answers(model, tokenizer, questions[:1])
    board = switchboard(model, asked(tokenizer, questions, windows))
    torch.nn.init.zeros_(model.get_parameter("head.weight"))
    board.off = off
    trials = board.now()[0].find(Trials)
    assert trials.names[1] == "layer 1, head 2; layer 2, head 3"
    assert trials.settings == [{"off": []}, {"off": sorted(off)}]
    assert trials.values[1][:3] == pytest.approx((100 * right, 100 * spelled, loss))
    assert trials.values[1][3].replace("•", " ").replace("\n", "") == written.replace("\n", "")
    assert trials.values[0][2] != pytest.approx(loss)


def test_words_tell_what_changes_and_every_combination_is_measured_once(model):
    measured = []

    def measure(silenced):
        measured.append(silenced)
        return {**total(silenced), Axis("layers", digits=0): 2.0}

    board = switchboard(model.requires_grad_(False), measure)
    whole = total(model)[SUM]
    assert board.now()[0].title == f"All heads are on: sum {whole:.2f} nats, layers 2"
    for _ in range(2):
        for off in ([(0, h) for h in range(4)], []):
            board.off = off
    assert measured == [model, model]  # frozen weights need no copy
    board.off = EIGHT[:4]
    with without_heads(model, EIGHT[:4]):
        less = total(model)[SUM]
    assert board.now()[0].title == f"Without all of layer 1: sum {whole:.2f} nats → {less:.2f} nats"
    constant = switchboard(model, lambda _: {SUM: 1.0})
    constant.off = [(1, 3), (0, 0), (1, 0)]
    names = "layer 1, head 1; layer 2, heads 1 and 4"
    assert constant.now()[0].title == f"Without {names}: none of these numbers changes"


def test_a_head_that_does_not_exist_is_refused(model):
    board = switchboard(model, total)
    for off in ([(2, 0)], [(0, 4)], [(0, -1)], [(0,)], "all"):
        with pytest.raises(TraitError, match="off"):
            board.off = off
    assert board.off == []
    with pytest.raises(BadInput, match="head 4 of layer 0 does not exist: there are 2 layers of 4 heads"):
        switchboard(model, total, heads=[(0, 4)])


@pytest.mark.parametrize("wrong", [{"shades": [[0.5]]}, {"shades": [[0.5, 2.0]]}, {"kinds": [["a"], ["b"]]}])
def test_shades_and_kinds_that_do_not_fit_are_refused(wrong):
    with pytest.raises(BadInput, match=f"{next(iter(wrong))} of off"):
        Switches("off", 1, 2, **wrong)


def test_each_head_and_each_pair_of_eight_is_recorded_and_of_a_list_each_alone(model):
    board = switchboard(model, total)
    (control,) = board.controls
    assert control["options"] == [[], *([head] for head in EIGHT), *map(list, combinations(EIGHT, 2))]
    recording = record_explorer(board)
    assert len(recording["data"]) < 20_000  # characters of base64
    many = switchboard(model, total, heads=[*EIGHT, (0, 0)])
    assert max(map(len, many.controls[0]["options"])) == 1
