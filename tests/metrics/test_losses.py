"""Losses by position, within the window and past it, and recall by distance."""

import math

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.recall import VALUES, alphabet, recall_windows
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.metrics import (
    loss_by_position,
    position_matched_change,
    position_matched_losses,
    recall_by_distance,
)
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions

BLOCK = 16


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_each_position_has_the_mean_over_windows(awake, text, version: str) -> None:
    model, ids = awake(version), text(40)
    got = loss_by_position(model, ids, BLOCK, n_windows=24)  # every start there is
    windows = torch.stack([ids[i : i + BLOCK + 1] for i in range(24)])
    with torch.no_grad():
        losses = [cross_entropy(model(w[None, :-1]), w[None, 1:])[0] for w in windows]
    assert got.shape == (BLOCK,)
    assert got == pytest.approx(torch.stack(losses).mean(dim=0).numpy(), abs=1e-5)


@pytest.mark.parametrize("version", ["v1", "v3", "v5"])
def test_losses_are_measured_past_the_window(awake, text, version: str) -> None:
    """Read four times the block size, at positions counted through."""
    model, ids = awake(version), text(4 * BLOCK + 1)
    got = loss_by_position(model, ids, 4 * BLOCK, n_windows=1)
    with torch.no_grad():
        logits = model(ids[None, :-1], Positions.arange(4 * BLOCK))
    assert got == pytest.approx(cross_entropy(logits, ids[None, 1:])[0].numpy(), abs=1e-5)


def test_a_text_or_a_table_too_short_is_refused(awake, text) -> None:
    for version in ("v2", "learned"):
        with pytest.raises(BadInput, match=f"position {BLOCK} "):
            loss_by_position(awake(version), text(200), BLOCK + 1)
    with pytest.raises(BadInput, match=r"16 tokens.* 17"):
        loss_by_position(awake("v1"), text(16), 16)
    for length, says in ((BLOCK, r"must be above block_size \(16\)"), (200, "200 tokens.* 201")):
        with pytest.raises(BadInput, match=says):
            position_matched_losses(awake("v1"), text(200), length)


# ---------------------------------------------------------------- past the window, target by target


class LooksBack(LanguageModel):
    """Model that reads only the last `reach` tokens, each weighing the more the nearer."""

    def __init__(self, reach: int) -> None:
        super().__init__(ModelConfig(11, BLOCK), Encoding())
        self.weights = torch.nn.Parameter(torch.randn(reach, 11))

    def forward(self, idx: torch.Tensor, positions=None, cache=None) -> torch.Tensor:
        past = torch.nn.functional.pad(idx, (len(self.weights) - 1, 0)).unfold(1, len(self.weights), 1)
        return (past[..., None].float() * self.weights).sum(dim=2)  # (B, T, V)


@pytest.mark.parametrize("version", ["v3", "alibi"])
def test_each_target_is_predicted_from_all_and_from_one_window(awake, text, version: str) -> None:
    model, ids, length = awake(version), text(100), 40
    positions, inside, past = position_matched_losses(model, ids, length, n_windows=3, every=5)
    assert positions.tolist() == [16, 21, 26, 31, 36]
    for row, start in enumerate((0, 29, 59)):
        for column, place in enumerate(start + positions):
            for begin, losses in ((start, past), (place - BLOCK + 1, inside)):
                with torch.no_grad():
                    chances = model(ids[None, begin : place + 1])[0, -1].log_softmax(dim=-1)
                assert losses[row, column] == pytest.approx(-float(chances[ids[place + 1]]), abs=1e-5)
    change, error = position_matched_change(model, ids, length, n_windows=3, every=5)
    each = (past - inside).mean(axis=1)
    assert change == pytest.approx(np.mean(past) - np.mean(inside))
    assert error == pytest.approx(np.std(each, ddof=1) / 3**0.5)


def test_only_a_model_that_looks_back_further_than_a_window_changes_past_it(text) -> None:
    for reach in (1, 3, BLOCK):
        change, error = position_matched_change(LooksBack(reach), text(200), 4 * BLOCK, n_windows=5)
        assert change == pytest.approx(0, abs=1e-5)
        assert error < 1e-5
    assert abs(position_matched_change(LooksBack(BLOCK + 1), text(200), 4 * BLOCK, n_windows=5)[0]) > 0.01


TOKENIZER = CharTokenizer(alphabet())
CONFIG = ModelConfig(TOKENIZER.vocab_size, block_size=64, n_layer=1, n_head=2, n_embd=16)


class Reader(LanguageModel):
    """Model that looks for the value in the text, no further back than its memory.

    memory  characters
    rest    probability that is shared by all characters
    latest  whether it takes the last value; otherwise the first
    """

    def __init__(self, memory: int, rest: float = 0.3, latest: bool = True) -> None:
        super().__init__(CONFIG, Encoding())
        self.latest = latest
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.memory, self.rest = memory, rest

    def forward(self, idx, positions=None, cache=None):
        chances = torch.full((*idx.shape, TOKENIZER.vocab_size), self.rest / TOKENIZER.vocab_size)
        for row, ids in enumerate(idx):
            text = TOKENIZER.decode(ids)
            occurrences = [position for value in VALUES[text[-1]] if (position := text.rfind(value)) >= 0]
            position = (max if self.latest else min)(occurrences, default=-1)
            if position >= 0 and len(text) - position <= self.memory:
                chances[row, -1, ids[position]] += 1 - self.rest
            else:
                chances[row, -1] += (1 - self.rest) / TOKENIZER.vocab_size
        return chances.log()


def test_recall_falls_to_chance_beyond_the_memory_of_the_model() -> None:
    """Expect chance accuracy beyond the model's memory, and the loss of a uniform guess."""
    distances = [3, 8, 29, 30, 31, 100]
    accuracy, loss, _ = recall_by_distance(Reader(memory=30), TOKENIZER, distances, n=400, length=110)
    vocab = TOKENIZER.vocab_size
    assert accuracy[:4].tolist() == [1.0] * 4
    assert accuracy[4:] == pytest.approx(0.1, abs=0.06)  # 4 standard errors
    recalled_loss, uniform_loss = -math.log(0.7 + 0.3 / vocab), math.log(vocab)
    assert loss == pytest.approx([recalled_loss] * 4 + [uniform_loss] * 2, abs=1e-5)
    accuracy, loss, _ = recall_by_distance(Reader(memory=999), TOKENIZER, [8, 50], n=400, is_told=False)
    assert accuracy == pytest.approx(0.1, abs=0.06)
    assert loss == pytest.approx(uniform_loss, abs=1e-5)


@pytest.mark.parametrize(
    ("memory", "latest", "last", "older"), [(999, True, 1, 0), (999, False, 0, 1), (9, True, 0.1, 0.1)]
)
def test_recall_separates_the_last_value_from_an_older(memory: int, latest: bool, last: float, older: float):
    """Fail a reader that gives the first value, though it never forgets."""
    reader = Reader(memory, latest=latest)
    recall = recall_by_distance(reader, TOKENIZER, [20], n=400, length=64, older=(24,))
    assert recall.accuracy[0] == pytest.approx(last, abs=0.06)
    assert recall.older[0] == pytest.approx(older, abs=0.06)


def test_losses_and_choices_are_those_of_the_last_logits() -> None:
    """Read twice the window of a real model; the choice is among ten, the loss among all."""
    torch.manual_seed(0)
    model = build("v4", CONFIG)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    accuracy, loss, _ = recall_by_distance(model, TOKENIZER, [128], n=32)
    tokens, values, answers, _ = recall_windows(TOKENIZER, 128, 32)
    with torch.no_grad():
        chances = model(tokens)[:, -1].softmax(dim=-1)
    right, lost = [], []
    for row, choices, answer in zip(chances, values.tolist(), answers.tolist(), strict=True):
        right.append(max(choices, key=lambda token: float(row[token])) == choices[answer])
        lost.append(-math.log(float(row[choices[answer]])))
    assert loss[0] == pytest.approx(sum(lost) / 32, abs=1e-5)
    assert accuracy[0] == sum(right) / 32


def test_impossible_recall_measurements_are_refused() -> None:
    with pytest.raises(ValueError, match="position 64 "):
        recall_by_distance(build("learned", CONFIG), TOKENIZER, [63, 64])
    with pytest.raises(ValueError, match="sees what comes next"):
        recall_by_distance(build("v7-rope", CONFIG), TOKENIZER, [20])
