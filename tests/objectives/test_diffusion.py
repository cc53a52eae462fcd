"""Masks by counting, losses by hand, and the bound against -log p of a known distribution."""

import math
from collections import Counter
from itertools import product
from string import ascii_letters

import numpy as np
import pytest
import torch
from torch import nn

from babygpt.data.batches import IGNORED
from babygpt.data.corpus import Corpus, from_text
from babygpt.data.tokenizer import CharTokenizer
from babygpt.metrics.denoising import exact_nelbo
from babygpt.objectives import DiffusionBound, MaskedDiffusion, denoise
from babygpt.objectives.diffusion import mask_out, mask_token_id, masking_rates
from tests.conftest import draw

MASK = 10


def numbers(train: int = 1000, val: int = 400, mask_id: int = 1) -> Corpus:
    """Return a text of distinct tokens without MASK."""
    tokenizer = CharTokenizer(ascii_letters[:mask_id], with_mask=True)
    return Corpus("numbers", tokenizer, 10 + torch.arange(train), 5000 + torch.arange(val))


# ---------------------------------------------------------------- rates and masks


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_there_is_one_rate_in_each_share_of_the_range(n: int) -> None:
    """Expect rates above 0, at most 1, and in no order."""
    orders = set()
    for seed in range(20):
        rates = masking_rates(n, draw(seed))
        assert rates.shape == (n,)
        assert 0 < rates.min() <= rates.max() <= 1
        assert sorted((rates * n).ceil().long().tolist()) == list(range(1, n + 1))
        orders.add(tuple(rates.argsort().tolist()))
    assert len(orders) == 1 if n == 1 else len(orders) > 1


@pytest.mark.parametrize("lot", [0.0, 1 - 2**-24])
def test_no_rate_is_0(monkeypatch, lot: float) -> None:
    """Try the ends of what a generator may draw: the bound divides by the rate."""
    monkeypatch.setattr(torch, "rand", lambda n, generator: torch.full((n,), lot))
    for n in (1, 64, 3840):
        rates = masking_rates(n, draw())
        assert 0 < rates.min() <= rates.max() <= 1
        assert rates.dtype == torch.float32


@pytest.mark.parametrize("place", [0, 3])
def test_each_rate_is_uniform(place: int) -> None:
    """Count each tenth as often as any other, and evenly within."""
    rates = torch.stack([masking_rates(4, draw(seed)) for seed in range(4000)])[:, place]
    counts = Counter((rates * 10).ceil().long().tolist())
    assert set(counts) == set(range(1, 11))
    assert all(abs(count - 400) < 5 * math.sqrt(400 * 0.9) for count in counts.values())


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_each_token_is_masked_with_its_windows_rate(rate: float) -> None:
    windows, rates = torch.arange(8).expand(5000, 8), torch.full((5000,), rate)
    inputs, targets, same = mask_out(windows, rates, MASK, draw())
    masked = inputs == MASK
    assert torch.equal(same, rates)
    assert torch.equal(targets, windows.masked_fill(~masked, IGNORED))
    assert torch.equal(inputs, windows.masked_fill(masked, MASK))
    error = math.sqrt(rate * (1 - rate) / 5000)
    assert (masked.double().mean(dim=0) - rate).abs().max() < 5 * error
    together = (masked[:, 0] & masked[:, 5]).double().mean()  # Positions are masked independently.
    assert abs(together - rate**2) < 5 * math.sqrt(rate**2 * (1 - rate**2) / 5000)


# ---------------------------------------------------------------- the loss


class Listener(nn.Module):
    """Model that keeps its inputs, and gives MASK the largest logit."""

    causal = False

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.config = type("Config", (), {"vocab_size": vocab_size, "block_size": 16})
        self.nothing, self.heard = nn.Parameter(torch.zeros(())), []

    def forward(self, idx: torch.Tensor, positions) -> torch.Tensor:
        self.heard.append((idx, positions))
        logits = torch.zeros(*idx.shape, self.config.vocab_size) + self.nothing
        logits[..., -1] += 100
        return logits


def test_denoise_passes_masks_on_and_drops_the_logit_of_mask() -> None:
    model, idx = Listener(11), torch.tensor([[3, MASK, 4, MASK], [1, 2, 3, 4]])
    logits = denoise(model, idx)
    assert mask_token_id(model) == MASK
    assert logits.shape == (2, 4, 10)
    assert (logits == 0).all()
    (heard, positions), *_ = model.heard
    assert torch.equal(heard, idx)
    assert positions.time.tolist() == [0, 1, 2, 3]
    assert positions.masked.tolist() == [[False, True, False, True], [False] * 4]


def test_the_bound_weighs_each_window_by_one_over_its_rate(awake, text) -> None:
    model = awake("v7")
    windows, rates = text(3, 12, vocab_size=MASK), torch.tensor([0.2, 0.6, 1.0])
    batch = mask_out(windows, rates, MASK, draw())
    masked = batch[0] == MASK
    losses = nn.CrossEntropyLoss(reduction="none")(denoise(model, batch[0]).mT, windows)
    bound = DiffusionBound(numbers(mask_id=MASK), 12).loss(model, batch)
    by_hand = ((losses * masked).sum(dim=1) / rates).sum() / 36
    assert bound.item() == pytest.approx(by_hand.item(), rel=1e-5)
    bound.backward()
    assert torch.equal(model.head.weight.grad[MASK], torch.zeros(16))


@pytest.mark.parametrize("kind", [MaskedDiffusion, DiffusionBound])
def test_a_batch_without_a_mask_has_loss_0_and_finite_gradients(awake, text, kind: type) -> None:
    model, idx = awake("v7"), text(2, 8, vocab_size=MASK)
    loss = kind(numbers(mask_id=MASK), 8).loss(
        model, (idx, torch.full_like(idx, IGNORED), torch.full((2,), 0.1))
    )
    loss.backward()
    assert loss.item() == 0
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


# ---------------------------------------------------------------- the bound


def expectation(kind: type, model, idx: torch.Tensor) -> float:
    """Return the exact mean of an objective's loss on one window, over all rates and masks.

    The loss times the chance of its mask is a polynomial of t for the bound, so that a few points of Gauss
    give its integral exactly; for the mean over masked tokens, the chance alone is one.
    """
    points, weights = np.polynomial.legendre.leggauss(8)
    objective, total = kind(numbers(mask_id=mask_token_id(model)), len(idx)), 0.0
    for t, weight in zip((points + 1) / 2, weights / 2, strict=True):
        for mask in product([False, True], repeat=len(idx)):
            masked = torch.tensor(mask)
            chance = t ** sum(mask) * (1 - t) ** (len(mask) - sum(mask))
            inputs, targets = idx.masked_fill(masked, mask_token_id(model)), idx.masked_fill(~masked, IGNORED)
            rates = torch.tensor([t], dtype=torch.float64)
            loss = objective.loss(model, (inputs[None], targets[None], rates))
            total += weight * chance * float(loss.detach())
    return total


def test_with_exact_answers_the_bound_is_minus_log_p_and_the_plain_mean_is_not(posterior) -> None:
    model = posterior()
    gaps = []
    for text in product(range(3), repeat=3):
        surprise = -math.log(model.joint[text]) / 3
        idx = torch.tensor(text)
        assert expectation(DiffusionBound, model, idx) == pytest.approx(surprise, abs=1e-6)
        gaps.append(abs(expectation(MaskedDiffusion, model, idx) - surprise))
    assert min(gaps) > 1e-3
    assert max(gaps) > 0.1


def test_the_bound_that_is_trained_is_the_bound_that_is_reported(awake, text) -> None:
    model, idx = awake("v7", block_size=5), text(5, vocab_size=MASK)
    assert expectation(DiffusionBound, model, idx) == pytest.approx(exact_nelbo(model, idx) / 5, abs=1e-5)


def test_the_mean_loss_of_drawn_batches_is_the_bound(posterior) -> None:
    """Average the loss of many batches, and allow four of its standard errors."""
    model = posterior()
    idx = torch.tensor([2, 0, 1])
    corpus = Corpus("one text", from_text("a", "abc", with_mask=True).tokenizer, idx, idx)
    objective, losses = DiffusionBound(corpus, 3), []
    for seed in range(400):
        losses.append(float(objective.loss(model, objective.batch(16, draw(seed))).detach()))
    error = np.std(losses) / math.sqrt(len(losses))
    assert abs(np.mean(losses) + math.log(model.joint[2, 0, 1]) / 3) < 4 * error
    assert error < 0.05


# ---------------------------------------------------------------- validation


@pytest.mark.parametrize(("val_windows", "looked_at"), [(1, 25), (25, 25), (26, 26), (60, 60)])
def test_validation_reads_the_whole_text_and_begins_again(val_windows: int, looked_at: int) -> None:
    """Read 400 tokens as 25 windows of 16."""
    objective = MaskedDiffusion(numbers(val=400), 16, val_windows=val_windows)
    inputs, targets, rates = (torch.cat(parts) for parts in zip(*objective.val_batches(), strict=True))
    windows = torch.where(targets == IGNORED, inputs, targets)
    begins = [5000 + 16 * (n % 25) for n in range(looked_at)]
    assert windows[:, 0].tolist() == begins
    assert sorted((rates * looked_at).ceil().long().tolist()) == list(range(1, looked_at + 1))
    again = [inputs for inputs, _, _ in objective.val_batches()]
    assert torch.equal(torch.cat(again), inputs)


# ---------------------------------------------------------------- bad arguments


def test_a_wrong_corpus_mask_or_model_is_refused(small_masked_corpus, awake, text) -> None:
    plain = Corpus("plain", CharTokenizer("ab"), torch.arange(99), torch.arange(99))
    with pytest.raises(ValueError, match=r"plain has no MASK token.*with_mask=True"):
        MaskedDiffusion(plain, 16)
    size = small_masked_corpus.tokenizer.vocab_size
    objective = MaskedDiffusion(small_masked_corpus, 16)
    for change in (-1, 1):
        with pytest.raises(ValueError, match=f"MASK is token {size - 1} in this corpus"):
            objective.loss(awake("v7", vocab_size=size + change), objective.batch(2, draw()))
    with pytest.raises(ValueError, match="looks both ways"):
        denoise(awake("v4"), text(1, 8))
