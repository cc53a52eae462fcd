"""Masks and sums show what a direct computation gives."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from babygpt import ModelConfig, build
from babygpt.data.grammar import Grammar
from babygpt.data.tokenizer import CharTokenizer
from babygpt_course.exercises.exercise import randomize_
from babygpt_course.tools import masks, sums
from babygpt_course.tools.masks import Mask
from babygpt_live import Cells, Trials
from tools.book.recording import record_explorer


def test_masks_answer_as_the_model_does_and_are_blind_without_the_first_one():
    tales = Grammar({"name": tuple("ABCDEFGH")}, {"story": ("{name.a} fed {name.b}. whom? {name.b!a}.",)})
    tokenizer = CharTokenizer("".join(tales.alphabet()))
    questions = [replace(q, prompt=q.prompt.strip() + " ") for q in tales.questions(40, seed=0, max_chars=20)]
    shape = ModelConfig(tokenizer.vocab_size, block_size=24, n_layer=2, n_head=2, n_embd=16)
    model = randomize_(build("nope", shape), torch.Generator().manual_seed(3))
    with torch.inference_mode():
        logits = [(q, model(tokenizer.encode(q.prompt)[None])[0, -1]) for q in questions]
    right = [bool(scores[tokenizer.ids[q.answer]] > scores[tokenizer.ids[q.rival]]) for q, scores in logits]
    explorer = masks(model, tokenizer, questions)
    trained = explorer.now()[0].find(Trials).values[0]
    assert trained[0] == pytest.approx(100 * np.mean(right))
    assert 0 < trained[1] < 100
    explorer.layer_2 = "all"  # the last letter reads everything in any case
    assert list(explorer.now()[0].find(Trials).values) == [trained, trained]
    explorer.layer_1 = "all"
    table, first, _ = explorer.now()
    assert list(table.find(Trials).values) == [trained, [50.0, 100.0]]
    assert table.title == "50% of 40 answers are right; 100% of the pairs get one name twice"
    assert first.find(Cells).values.all()
    assert len(record_explorer(explorer)["data"]) < 100_000
    backwards = [replace(q, prompt=q.prompt[6::-1] + q.prompt[7:]) for q in questions]
    explorer.layer_1, explorer.layer_2 = "later", "earlier"  # the letters have read what they do backwards
    reversed_scores = masks(model, tokenizer, backwards).now()[0].find(Trials).values[0]
    assert explorer.now()[0].find(Trials).values[1] == reversed_scores
    turned = [[1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [1, 1, 1, 1]]
    assert Mask("later", 3).allowed(4).int().tolist() == turned


def test_sums_adds_the_rows_and_keeps_the_first_choice_beside_another():
    tokens, positions = (
        {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])},
        np.array([[0.1, 0.2], [0.3, 0.4]]),
    )
    explorer = sums(tokens, positions, ["x", "y"], lambda row: f"{row[0]:.1f} {row[1]:.1f}")
    explorer.token, explorer.position = "b", 1
    table, picture = explorer.now()
    assert table.title == "b at position 1: 3.3 4.4"
    assert list(table.find(Trials).values) == [
        ["1.0 2.0", "0.1 0.2", "1.1 2.2"],
        ["3.0 4.0", "0.3 0.4", "3.3 4.4"],
    ]
    assert picture.find(Cells).values[2] == pytest.approx([3.3, 4.4])
    explorer.token, explorer.position = "a", 0
    assert list(explorer.now()[0].find(Trials).names) == ["a at position 0"]
