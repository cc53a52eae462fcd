"""Loss by position, against one window at a time."""

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding
from babygpt.metrics import loss_by_position, position_matched_change, position_matched_losses
from babygpt.models.base import LanguageModel
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


# ---------------------------------------------------------------- past the window, target by target


class LooksBack(LanguageModel):
    """Reads the last `reach` tokens, each weighing the more the nearer, and nothing before them."""

    def __init__(self, reach: int) -> None:
        super().__init__(ModelConfig(11, BLOCK), Encoding())
        self.weights = torch.nn.Parameter(torch.randn(reach, 11))

    def forward(self, idx: torch.Tensor, positions=None, cache=None) -> torch.Tensor:
        past = torch.nn.functional.pad(idx, (len(self.weights) - 1, 0)).unfold(1, len(self.weights), 1)
        return (past[..., None].float() * self.weights).sum(dim=2)  # (B, T, V)


@pytest.mark.parametrize("version", ["v3", "alibi"])
def test_each_target_is_predicted_from_all_and_from_one_window(awake, text, version: str) -> None:
    model, ids, length = awake(version), text(100), 40
    at, inside, past = position_matched_losses(model, ids, length, n_windows=3, every=5)
    assert at.tolist() == [16, 21, 26, 31, 36]
    for row, start in enumerate((0, 29, 59)):
        for column, place in enumerate(start + at):
            for begin, found in ((start, past), (place - BLOCK + 1, inside)):
                with torch.no_grad():
                    chances = model(ids[None, begin : place + 1])[0, -1].log_softmax(dim=-1)
                assert found[row, column] == pytest.approx(-float(chances[ids[place + 1]]), abs=1e-5)
    change, error = position_matched_change(model, ids, length, n_windows=3, every=5)
    each = (past - inside).mean(axis=1)
    assert change == pytest.approx(np.mean(past) - np.mean(inside))
    assert error == pytest.approx(np.std(each, ddof=1) / 3**0.5)


@pytest.mark.parametrize("reach", [1, 3, BLOCK])
def test_who_looks_back_no_further_than_a_window_does_not_change(text, reach: int) -> None:
    change, error = position_matched_change(LooksBack(reach), text(200), 4 * BLOCK, n_windows=5)
    assert change == pytest.approx(0, abs=1e-5)
    assert error < 1e-5


def test_who_looks_one_token_further_does(text) -> None:
    assert abs(position_matched_change(LooksBack(BLOCK + 1), text(200), 4 * BLOCK, n_windows=5)[0]) > 0.01


@pytest.mark.parametrize(
    ("length", "options", "says"),
    [
        (BLOCK, {}, r"length \(16\) must be above block_size \(16\)"),
        (32, {"every": 0}, r"every \(0\) must be at least 1"),
        (32, {"n_windows": 0}, r"n_windows \(0\)"),
        (200, {}, "200 tokens.* 201"),
    ],
)
def test_past_the_window_bad_arguments_are_named(awake, text, length: int, options: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        position_matched_losses(awake("v1"), text(200), length, **options)
