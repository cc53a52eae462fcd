"""How one token is drawn: as often as the softmax says."""

import math

import pytest
import torch

from babygpt.sampling import pick


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_the_softmax_says(temperature: float) -> None:
    logits, n = torch.tensor([2.0, 1.0, 0.0, -1.0]), 20_000
    seen = pick(logits.expand(n, 4), temperature, None, draw()).bincount(minlength=4)
    weights = [math.exp(x / temperature) for x in logits.tolist()]
    for token, weight in enumerate(weights):
        p = weight / sum(weights)
        assert abs(seen[token].item() - n * p) < 5 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 99])
def test_only_the_k_likeliest_are_drawn(k: int) -> None:
    """In their own proportions."""
    logits, n = torch.tensor([0.0, 3.0, 1.0, 2.0]), 20_000
    seen = pick(logits.expand(n, 4), 1.0, k, draw()).bincount(minlength=4)
    likeliest = [1, 3, 2, 0][:k]
    total = sum(math.exp(logits[token]) for token in likeliest)
    for token in range(4):
        p = math.exp(logits[token]) / total if token in likeliest else 0.0
        assert abs(seen[token].item() - n * p) <= 5 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("k", [1, 2])
def test_k_is_k_where_all_are_equally_likely(k: int) -> None:
    """As in a model that has not been trained yet."""
    drawn = pick(torch.zeros(500, 6), 1.0, k, draw())
    assert len(set(drawn.tolist())) == k


@pytest.mark.parametrize("temperature", [1e-3, 1e-20, 1e-40])
def test_almost_no_temperature_is_almost_greedy(temperature: float) -> None:
    logits = torch.tensor([[50.0, 51.0, -3.0], [7.0, 5.0, 6.0]])
    assert pick(logits, temperature, None, draw()).tolist() == [1, 0]
