"""Loss by position, against one window at a time."""

import numpy as np
import pytest
import torch

from babygpt.metrics import loss_by_position
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


def test_a_bigram_model_is_as_good_at_every_position(awake, text) -> None:
    """And its loss is the table's entry for each pair."""
    model, ids = awake("v1"), text(33)
    got = loss_by_position(model, ids, 32, n_windows=1)
    table = model(torch.arange(11)[None])[0].log_softmax(dim=-1)
    assert got == pytest.approx(-table[ids[:-1], ids[1:]].detach().numpy(), abs=1e-5)


@pytest.mark.parametrize("version", ["v1", "v3", "v5"])
def test_it_measures_past_the_window(awake, text, version: str) -> None:
    """Four times the block size, at positions counted through."""
    model, ids = awake(version), text(4 * BLOCK + 1)
    got = loss_by_position(model, ids, 4 * BLOCK, n_windows=1)
    with torch.no_grad():
        logits = model(ids[None, :-1], Positions.arange(4 * BLOCK))
    assert got == pytest.approx(cross_entropy(logits, ids[None, 1:])[0].numpy(), abs=1e-5)


@pytest.mark.parametrize("version", ["v2", "learned"])
def test_models_with_a_table_say_no_there(awake, text, version: str) -> None:
    with pytest.raises(ValueError, match=f"position {BLOCK} "):
        loss_by_position(awake(version), text(200), BLOCK + 1)


def test_windows_reach_from_the_first_token_to_the_last(awake, text) -> None:
    model = awake("v1")
    seen: list[torch.Tensor] = []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    loss_by_position(model, torch.arange(1000) % 11, 100, n_windows=10)
    first = torch.cat(seen)[:, 0]
    starts = np.linspace(0, 899, 10).astype(int)
    assert first.tolist() == (starts % 11).tolist()


def test_text_too_short_is_refused(awake, text) -> None:
    with pytest.raises(ValueError, match=r"16 tokens.* 17"):
        loss_by_position(awake("v1"), text(16), 16)
