"""The cross entropy of all objectives against PyTorch's, and tests that several objectives share."""

import math
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn

from babygpt.data.batches import IGNORED
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.objectives import Branches, DiffusionBound, MaskedDiffusion, NextToken, denoise, objective_for
from babygpt.objectives.objective import Objective, cross_entropy
from babygpt.positions import Positions
from tests.conftest import draw


def test_cross_entropy_is_pytorchs() -> None:
    logits, targets = 3 * torch.randn(4, 7, 11), torch.randint(11, (4, 7))
    per_token = nn.CrossEntropyLoss(reduction="none")(logits.transpose(1, 2), targets)
    assert torch.allclose(cross_entropy(logits, targets), per_token, atol=1e-6)


def test_half_precision_logits_are_converted_first() -> None:
    logits, targets = torch.randn(2, 5, 11).bfloat16(), torch.randint(11, (2, 5))
    loss = cross_entropy(logits, targets)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, cross_entropy(logits.float(), targets))


def test_targets_are_cut_like_the_input() -> None:
    for length in (1, 3, 7):
        logits, targets = torch.randn(2, length, 11), torch.randint(11, (2, 7))
        assert torch.equal(cross_entropy(logits, targets), cross_entropy(logits, targets[:, -length:]))


def test_an_ignored_target_has_no_loss() -> None:
    logits, targets = torch.randn(1, 4, 11), torch.tensor([[3, IGNORED, 5, IGNORED]])
    losses = cross_entropy(logits, targets)
    assert losses[0, [1, 3]].tolist() == [0, 0]
    without_ignored = cross_entropy(logits[:, [0, 2]], targets[:, [0, 2]])
    assert torch.equal(losses[:, [0, 2]], without_ignored)


@pytest.mark.parametrize("wrong", [torch.ones(4).long(), torch.ones(2, 4, 1).long(), torch.ones(2, 4), [[1]]])
def test_targets_that_are_no_rows_of_ids_are_refused(wrong) -> None:
    with pytest.raises(BadInput, match="targets"):
        cross_entropy(torch.randn(2, 4, 11), wrong)


# ---------------------------------------------------------------- objectives of the versions


@pytest.mark.parametrize("bound", [False, True])
def test_each_version_has_its_objective(small_corpus, small_masked_corpus, bound: bool) -> None:
    for name, version in VERSIONS.items():
        corpus = small_masked_corpus if version.masks else small_corpus
        expected = Branches if version.branches else NextToken
        if version.masks:
            expected = DiffusionBound if bound else MaskedDiffusion
        assert type(objective_for(name, corpus, 16, bound=bound)) is expected, name


def test_options_reach_the_objective(small_corpus, small_masked_corpus) -> None:
    chosen = {"val_windows": 3, "n_branches": (2, 4), "length": 7}
    branches = objective_for("v6", small_corpus, 16, **chosen)
    assert (branches.block_size, branches.n_branches, branches.length) == (16, (2, 4), 7)
    assert objective_for("v7", small_masked_corpus, 16, **chosen).val_windows == 3
    assert objective_for("v4", small_corpus, 16, **chosen).block_size == 16


# ---------------------------------------------------------------- all objectives


def numbers(train: int = 1000, val: int = 400) -> Corpus:
    """Return a text of distinct tokens without MASK, which is 0."""
    return Corpus("numbers", CharTokenizer("", with_mask=True), 10 + torch.arange(train), torch.arange(val))


def windows(objective: Objective, batch_size: int) -> torch.Tensor:
    """Draw windows, with their masked tokens if there are any: (B, T)."""
    inputs, targets, *_ = objective.batch(batch_size, draw())
    return torch.where(inputs == 0, targets, inputs)


MAKE: dict[str, Callable[..., Objective]] = {
    "next token": NextToken,
    "branches": partial(Branches, n_branches=(1, 4), length=3),
    "by samples": partial(Branches, n_branches=(1, 4), length=3, by_samples=True),
    "diffusion": MaskedDiffusion,
    "bound": DiffusionBound,
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_the_generator_decides_the_batch(make: Callable[..., Objective]) -> None:
    objective = make(numbers(), 16)
    first, again, other_seed = (objective.batch(8, draw(seed)) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].shape != other_seed[0].shape or not torch.equal(first[0], other_seed[0])


@pytest.mark.parametrize(("name", "n"), [("next token", 29), ("diffusion", 30)])
def test_windows_begin_at_every_position_equally_often(name: str, n: int) -> None:
    """Count 30 windows of 3 in 32 tokens, and 29 with their targets."""
    token_windows = windows(MAKE[name](numbers(train=32), 3), 200 * n)
    assert torch.equal(token_windows, token_windows[:, :1] + torch.arange(3))
    counts = Counter(token_windows[:, 0].tolist())
    assert set(counts) == set(range(10, 10 + n))
    assert all(abs(count - 200) < 5 * math.sqrt(200) for count in counts.values())


@pytest.mark.parametrize("part", ["train", "val"])
@pytest.mark.parametrize(("name", "length"), [("next token", 17), ("diffusion", 16), ("branches", 4)])
def test_either_part_too_short_is_refused(part: str, name: str, length: int) -> None:
    make = partial(Branches, n_branches=(1, 1), length=3) if name == "branches" else MAKE[name]
    with pytest.raises(BadInput, match=f"needs.* {length} tokens"):
        make(numbers(**{part: length - 1}), 16)
    make(numbers(**{part: length}), 16)


def test_impossible_branches_are_named() -> None:
    for wrong, message in (
        ({"n_branches": (0, 3)}, "at least 1"),
        ({"n_branches": (3, 2)}, "at least"),
        ({"length": 17}, "a branch of 17 tokens does not fit: the window has 16 times"),
        ({"n_branches": (1, 4), "numbers": 3}, "3 numbers are too few for 4 branches"),
        ({"n_branches": (1, 40), "length": 10}, "makes 39 texts of 10 tokens: too few for 40 branches"),
    ):
        with pytest.raises(BadInput, match=message):
            Branches(numbers(), 16, **wrong)
    Branches(numbers(), 16, (1, 39), length=10)


def losses_of(objective: Objective, model, inputs: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
    """Return the cross entropy of every real target of a batch, by PyTorch's own function."""
    targets = more[0]
    if isinstance(objective, Branches):
        logits = model(inputs, Positions(*more[1:]))
    else:
        logits = denoise(model, inputs) if isinstance(objective, MaskedDiffusion) else model(inputs)
    return nn.CrossEntropyLoss(reduction="none", ignore_index=IGNORED)(logits.mT, targets)[targets != IGNORED]


@pytest.mark.parametrize("name", MAKE)
def test_loss_and_validation_are_means_over_all_real_targets(awake, small_masked_corpus, name: str) -> None:
    """Expect a gradient, too. In training the bound weighs each text by 1/t: test_diffusion has that."""
    version = {"next token": "v4", "diffusion": "v7", "bound": "v7"}.get(name, "v6")
    model = awake(version, vocab_size=small_masked_corpus.tokenizer.vocab_size)
    objective = MAKE[name](small_masked_corpus, 16)
    batch = objective.batch(5, draw())
    loss = objective.loss(model, batch)
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    assert model.token_embedding.weight.grad.any()
    with torch.no_grad():
        expected = losses_of(objective, model, *batch).mean()
        all_losses = torch.cat([losses_of(objective, model, *batch) for batch in objective.val_batches()])
    assert name == "bound" or loss.item() == pytest.approx(expected.item(), abs=1e-5)
    assert objective.validate(model) == pytest.approx(all_losses.mean().item(), abs=1e-5)


@pytest.mark.parametrize("version", ["v4", "v6", "v7"])
def test_validation_has_no_side_effects(awake, small_masked_corpus: Corpus, version: str) -> None:
    model = awake(version, vocab_size=small_masked_corpus.tokenizer.vocab_size)
    before = {name: p.clone() for name, p in model.state_dict().items()}
    objective = objective_for(version, small_masked_corpus, 16, val_windows=99)
    state = torch.random.get_rng_state()
    assert objective.validate(model) == objective.validate(model)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state)
