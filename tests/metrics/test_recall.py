"""Recall by distance, of readers whose memory is known."""

import math

import pytest
import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.data.recall import VALUES, alphabet, recall_windows
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Encoding
from babygpt.metrics import recall_by_distance
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build

TOKENIZER = CharTokenizer(alphabet())
CONFIG = ModelConfig(TOKENIZER.vocab_size, block_size=64, n_layer=1, n_head=2, n_embd=16)


class Reader(LanguageModel):
    """Looks for the value in the text, no further back than its memory, and puts all but a rest on it.

    memory  characters
    rest    probability that is shared by all characters
    """

    def __init__(self, memory: int, rest: float = 0.3) -> None:
        super().__init__(CONFIG, Encoding())
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.memory, self.rest = memory, rest
        self.seen: list[tuple[Tensor, Tensor]] = []

    def forward(self, idx, positions=None, cache=None):
        self.seen.append((idx, positions.time))
        chances = torch.full((*idx.shape, TOKENIZER.vocab_size), self.rest / TOKENIZER.vocab_size)
        for row, ids in enumerate(idx):
            text = TOKENIZER.decode(ids)
            at = max(text.rfind(value) for value in VALUES[text[-1]])  # of the value told
            if at >= 0 and len(text) - at <= self.memory:
                chances[row, -1, ids[at]] += 1 - self.rest
            else:
                chances[row, -1] += (1 - self.rest) / TOKENIZER.vocab_size
        return chances.log()


def test_a_reader_is_right_as_far_back_as_it_remembers() -> None:
    """Beyond it is right by chance, and its loss is that of knowing nothing."""
    distances = [3, 8, 29, 30, 31, 100]
    accuracy, loss = recall_by_distance(Reader(memory=30), TOKENIZER, distances, n=400, length=110)
    vocab = TOKENIZER.vocab_size
    assert accuracy[:4].tolist() == [1.0] * 4
    assert accuracy[4:] == pytest.approx(0.1, abs=0.06)  # 4 standard errors
    known, unknown = -math.log(0.7 + 0.3 / vocab), math.log(vocab)
    assert loss == pytest.approx([known] * 4 + [unknown] * 2, abs=1e-5)


def test_where_nothing_was_told_a_perfect_reader_is_right_by_chance() -> None:
    accuracy, loss = recall_by_distance(Reader(memory=999), TOKENIZER, [8, 50], n=400, is_told=False)
    assert accuracy == pytest.approx(0.1, abs=0.06)
    assert loss == pytest.approx(math.log(TOKENIZER.vocab_size), abs=1e-5)


def test_it_reads_the_windows_whole_and_counts_positions_from_0() -> None:
    model = Reader(memory=999)
    recall_by_distance(model, TOKENIZER, [20, 70], n=5, length=90, seed=7)
    tokens, times = zip(*model.seen, strict=True)
    windows = [recall_windows(TOKENIZER, d, 5, 90, 7).tokens for d in (20, 70)]
    assert torch.equal(torch.cat(tokens), torch.cat(windows))
    assert all(torch.equal(time, torch.arange(90)) for time in times)


def test_losses_and_choices_are_those_of_the_last_logits() -> None:
    """Of a real model, twice as far as its window; the choice is among ten, the loss among all."""
    torch.manual_seed(0)
    model = build("v4", CONFIG)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    accuracy, loss = recall_by_distance(model, TOKENIZER, [128], n=32)
    tokens, values, answers = recall_windows(TOKENIZER, 128, 32)
    with torch.no_grad():
        chances = model(tokens)[:, -1].softmax(dim=-1)
    right, lost = [], []
    for row, some, answer in zip(chances, values.tolist(), answers.tolist(), strict=True):
        right.append(max(some, key=lambda token: float(row[token])) == some[answer])
        lost.append(-math.log(float(row[some[answer]])))
    assert loss[0] == pytest.approx(sum(lost) / 32, abs=1e-5)
    assert accuracy[0] == sum(right) / 32


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="position 64 "):
        recall_by_distance(build("learned", CONFIG), TOKENIZER, [63, 64])
    with pytest.raises(ValueError, match="sees what comes next"):
        recall_by_distance(build("v7-rope", CONFIG), TOKENIZER, [20])
    with pytest.raises(ValueError, match=r"distance \(2\)"):
        recall_by_distance(Reader(9), TOKENIZER, [2])
