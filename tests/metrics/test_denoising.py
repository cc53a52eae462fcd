"""The NELBO: exact where the answers are, an average over orders elsewhere, and well estimated."""

import math
from itertools import permutations, product

import pytest
import torch

from babygpt.errors import BadInput
from babygpt.metrics.denoising import MOST_EXACT, exact_nelbo, nelbo
from babygpt.objectives import denoise

MASK = 10


@pytest.mark.parametrize(("vocab_size", "length"), [(3, 3), (2, 5), (5, 1)])
def test_with_exact_answers_the_bound_is_minus_log_p_of_every_text(posterior, vocab_size: int, length: int):
    model = posterior(vocab_size, length)
    for text in product(range(vocab_size), repeat=length):
        assert exact_nelbo(model, torch.tensor(text)) == pytest.approx(-math.log(model.joint[text]), abs=1e-6)


@pytest.mark.parametrize("positions", [[0], [2, 0], [1, 3], [0, 1, 3]])
def test_the_bound_of_some_positions_is_their_surprise_given_the_rest(
    posterior, positions: list[int]
) -> None:
    model = posterior(2, 4)
    rest = [d for d in range(4) if d not in positions]
    marginal = model.joint.sum(dim=positions)
    for text in product(range(2), repeat=4):
        p = model.joint[text] / marginal[tuple(text[d] for d in rest)]
        assert exact_nelbo(model, torch.tensor(text), positions) == pytest.approx(-math.log(p), abs=1e-6)


def test_the_bound_of_an_inexact_model_is_the_mean_surprise_over_all_orders(awake, text) -> None:
    """Add up token after token, in each of the 24 orders of four positions."""
    model, idx = awake("v7"), text(9, vocab_size=MASK)
    positions, total = [1, 4, 5, 8], 0.0
    for order in permutations(positions):
        for done in range(4):
            holes = idx.clone()
            holes[list(order[done:])] = MASK
            with torch.no_grad():
                chances = denoise(model, holes[None])[0, order[done]].log_softmax(dim=-1)
            total -= float(chances[idx[order[done]]]) / 24
    assert exact_nelbo(model, idx, positions) == pytest.approx(total, abs=1e-4)


def test_more_positions_than_can_be_measured_exactly_are_refused(awake, text) -> None:
    with pytest.raises(BadInput, match=f"{MOST_EXACT + 1} positions"):
        exact_nelbo(awake("v7"), text(16, vocab_size=10), list(range(MOST_EXACT + 1)))


# ---------------------------------------------------------------- the estimate


@pytest.mark.parametrize("n", [20, 22, 3])
def test_the_estimate_is_the_exact_bound_within_its_error(awake, text, n: int) -> None:
    """Read windows of five and the remainder, which counts by its length."""
    model, ids = awake("v7", block_size=5), text(n, vocab_size=MASK)
    exact = sum(exact_nelbo(model, part) for part in ids.split(5)) / n
    estimate, error = nelbo(model, ids, repeats=600)
    assert abs(estimate - exact) < 4 * error
    assert error < 0.1


def test_the_standard_error_covers_the_spread_over_seeds(awake, text) -> None:
    model, ids = awake("v7", block_size=5), text(40, vocab_size=MASK)
    estimates = [nelbo(model, ids, repeats=4, seed=seed) for seed in range(40)]
    spread = torch.tensor([estimate for estimate, _ in estimates]).std()
    assert spread < 1.2 * sum(error for _, error in estimates) / 40
    assert spread > 0


def test_a_seed_repeats_the_estimate_and_the_global_generator_is_unchanged(awake, text) -> None:
    model, ids = awake("v7"), text(50, vocab_size=MASK)
    state = torch.random.get_rng_state()
    assert nelbo(model, ids, seed=3) == nelbo(model, ids, seed=3)
    assert nelbo(model, ids, seed=3) != nelbo(model, ids, seed=4)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_bound_of_an_untrained_model_is_log_v(awake, text) -> None:
    """Include the exact bound, over 1023 ways to mask ten tokens, which is more than one batch."""
    model = awake("v7-rope")
    torch.nn.init.zeros_(model.head.weight)
    estimate, error = nelbo(model, text(70, vocab_size=MASK))
    assert estimate == pytest.approx(math.log(10), abs=1e-5)
    assert error < 1e-5
    assert math.isnan(nelbo(model, text(16, vocab_size=MASK))[1])  # one window has no standard error
    assert exact_nelbo(model, text(10, vocab_size=MASK)) == pytest.approx(10 * math.log(10), abs=1e-6)
