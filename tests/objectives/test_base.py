"""The cross entropy of all objectives against PyTorch's, and the objective of each version."""

import math

import pytest
import torch
from torch import nn

from babygpt.data.batches import IGNORED
from babygpt.models.versions import VERSIONS
from babygpt.objectives import (
    Branches,
    DiffusionBound,
    MaskedDiffusion,
    NextToken,
    cross_entropy,
    objective_for,
)


def test_cross_entropy_is_pytorchs() -> None:
    logits, targets = 3 * torch.randn(4, 7, 11), torch.randint(11, (4, 7))
    per_token = nn.CrossEntropyLoss(reduction="none")(logits.transpose(1, 2), targets)
    assert torch.allclose(cross_entropy(logits, targets), per_token, atol=1e-6)


def test_a_certain_answer_has_loss_0_and_a_uniform_one_log_v() -> None:
    logits = torch.tensor([[[100.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]])
    assert cross_entropy(logits, torch.tensor([[0, 3]]))[0].tolist() == pytest.approx([0, math.log(4)])


def test_half_precision_logits_are_converted_first() -> None:
    logits, targets = torch.randn(2, 5, 11).bfloat16(), torch.randint(11, (2, 5))
    loss = cross_entropy(logits, targets)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, cross_entropy(logits.float(), targets))


@pytest.mark.parametrize("seen", [1, 3, 7])
def test_targets_are_cut_like_the_input(seen: int) -> None:
    logits, targets = torch.randn(2, seen, 11), torch.randint(11, (2, 7))
    assert torch.equal(cross_entropy(logits, targets), cross_entropy(logits, targets[:, -seen:]))


def test_an_ignored_target_has_no_loss() -> None:
    logits, targets = torch.randn(1, 4, 11), torch.tensor([[3, IGNORED, 5, IGNORED]])
    losses = cross_entropy(logits, targets)
    assert losses[0, [1, 3]].tolist() == [0, 0]
    kept = cross_entropy(logits[:, [0, 2]], targets[:, [0, 2]])
    assert torch.equal(losses[:, [0, 2]], kept)


# ---------------------------------------------------------------- of each version


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


def test_an_unknown_version_is_named(small_corpus) -> None:
    with pytest.raises(ValueError, match=r"version \(v99\) must be one of v1, v2"):
        objective_for("v99", small_corpus, 16)
