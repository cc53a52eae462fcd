"""Each idea changes what it says, and nothing before the first step that would make it another model."""

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.objectives import NextToken
from babygpt.training import Training
from benchmarks import ideas
from benchmarks.ideas import IDEAS

CORPUS = from_text("abc", "abcdefgh" * 300)
SHAPE = ModelConfig(CORPUS.tokenizer.vocab_size, 16, n_layer=2, n_head=2, n_embd=16)
SEED = 3


def training(name: str, steps: int = 10) -> Training:
    torch.manual_seed(SEED)
    made = Training(IDEAS[name].body(SHAPE), NextToken(CORPUS, 16), TrainConfig(steps, 4, seed=SEED))
    IDEAS[name].before(made)
    return made


@pytest.mark.parametrize("name", IDEAS)
def test_every_idea_learns_all_its_weights_and_stays_causal(name: str) -> None:
    made = training(name)
    before = {n: p.detach().clone() for n, p in made.model.named_parameters()}
    for _ in range(10):
        made.make_step()
        IDEAS[name].after(made)
    assert all(not torch.equal(before[n], p) for n, p in made.model.named_parameters())
    idx = torch.arange(8)[None]
    changed = idx.clone()
    changed[0, -1] = 0
    assert torch.equal(made.model(idx)[:, :-1], made.model(changed)[:, :-1])


def test_a_table_of_values_adds_its_row_to_the_values_of_the_token() -> None:
    torch.manual_seed(0)
    model = ideas.v4_with_values(SHAPE)
    to_v = model.blocks[1].attention.to_v
    torch.nn.init.normal_(to_v.table.weight)
    idx, x = torch.tensor([[3, 1, 2]]), torch.randn(1, 3, 16)
    model(idx)
    torch.testing.assert_close(to_v(x), x @ to_v.to_v.weight.T + to_v.table.weight[idx])


def test_a_sharper_head_has_larger_scores() -> None:
    sharp = ideas.v4_sharpened(SHAPE).encoding
    q, k = torch.randn(2, 1, 2, 5, 8)
    positions = ideas.Positions.arange(5)
    plain = sharp.rotary.transform_qk(q, k, positions)
    with torch.no_grad():
        sharp.sharpness[1] = 1.0
    sharper = sharp.transform_qk(q, k, positions)
    torch.testing.assert_close(sharper[0][:, 0], plain[0][:, 0])
    torch.testing.assert_close(sharper[0][:, 1], plain[0][:, 1] * torch.e)
    torch.testing.assert_close(sharper[1], plain[1])


def one_step(kind: type, weight: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """How far one step of an optimizer moves a matrix."""
    p = torch.nn.Parameter(weight.clone())
    p.grad = grad.clone()
    kind([p], 1.0).step()
    return p.detach() - weight


def test_rows_of_one_size() -> None:
    torch.manual_seed(0)
    weight, grad = torch.randn(6, 8), torch.randn(6, 8) * torch.logspace(-3, 0, 6)[:, None]
    plain, even = (one_step(kind, weight, grad) for kind in (ideas.Muon, ideas.NorMuon))
    rows = even.norm(dim=1)
    torch.testing.assert_close(rows, rows.mean().expand(6))
    torch.testing.assert_close(even.norm(), plain.norm())
    assert plain.norm(dim=1).std() > 0.05 * plain.norm(dim=1).mean()  # which it was not before


def test_only_weights_that_get_smaller_decay() -> None:
    torch.manual_seed(0)
    weight, grad = torch.randn(6, 8), torch.randn(6, 8)
    plain = one_step(ideas.Muon, weight, grad)
    extra = one_step(ideas.CautiousMuon, weight, grad) - plain
    smaller = weight * plain < 0
    torch.testing.assert_close(extra, torch.where(smaller, -0.1 * weight, 0.0))


def test_three_rounds_are_nearer_to_the_gradient_than_five() -> None:
    torch.manual_seed(0)
    grad = torch.randn(6, 8)
    spread = [
        torch.linalg.svdvals(one_step(kind, torch.zeros(6, 8), grad)).std()
        for kind in (ideas.Muon, ideas.RoundedMuon)
    ]
    assert spread[0] < spread[1]


def test_the_tail_is_averaged() -> None:
    made, seen = training("as it is", steps=20), []
    for _ in range(20):
        made.make_step()
        seen.append({n: p.detach().clone() for n, p in made.model.named_parameters()})
        ideas.average_tail(made)
    for name, p in made.model.named_parameters():
        torch.testing.assert_close(p.detach(), torch.stack([each[name] for each in seen[-4:]]).mean(0))


def test_options_reach_the_optimizers() -> None:
    assert training("Muon: momentum 0.9").optimizers[0].param_groups[0]["momentum"] == 0.9
    assert training("AdamW: betas 0.8, 0.95").optimizers[1].param_groups[0]["betas"] == (0.8, 0.95)


def test_changes_are_from_v4_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = {"as it is": 2.0, "pairs": 1.5}
    monkeypatch.setattr(
        ideas, "try_one", lambda idea, *rest: {"val_loss": losses[idea] + rest[-1] / 10, "step_ms": 7.0}
    )
    found = ideas.try_ideas(CORPUS, (1, 3), 4, {name: name for name in losses})["ideas"]
    assert found["pairs"]["val_loss"] == [1.6, 1.8]
    assert found["pairs"]["change"] == [-0.5, 0.0]
    assert found["as it is"]["change"] == [0.0, 0.0]


@pytest.mark.parametrize("name", ["as it is", "batches of 8, more steps", "batches of 18, fewer steps"])
def test_every_idea_is_trained_to_the_end_of_its_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Training] = []
    monkeypatch.setattr(ideas, "Training", lambda *args: made.append(Training(*args)) or made[-1])
    ideas.try_one(IDEAS[name], NextToken(CORPUS, 16), SHAPE, 24, SEED)
    assert made[0].step == made[0].config.steps
    assert made[0].tokens == pytest.approx(24 * 12 * 16)
