"""Every version has the objective that it is trained with, and what was chosen reaches it."""

import pytest

from babygpt.models.versions import VERSIONS
from babygpt.objectives import Branches, DiffusionBound, MaskedDiffusion, NextToken, objective_for


@pytest.mark.parametrize("bound", [False, True])
def test_each_version_has_its_objective(small_corpus, small_masked_corpus, bound: bool) -> None:
    for name, version in VERSIONS.items():
        corpus = small_masked_corpus if version.masks else small_corpus
        expected = Branches if version.branches else NextToken
        if version.masks:
            expected = DiffusionBound if bound else MaskedDiffusion
        assert type(objective_for(name, corpus, 16, bound=bound)) is expected, name


def test_what_is_chosen_reaches_the_objective_it_concerns(small_corpus, small_masked_corpus) -> None:
    chosen = {"val_windows": 3, "n_branches": (2, 4), "length": 7}
    branches = objective_for("v6", small_corpus, 16, **chosen)
    assert (branches.block_size, branches.n_branches, branches.length) == (16, (2, 4), 7)
    assert objective_for("v7", small_masked_corpus, 16, **chosen).val_windows == 3
    assert objective_for("v4", small_corpus, 16, **chosen).block_size == 16


def test_a_version_that_does_not_exist_is_named(small_corpus) -> None:
    with pytest.raises(ValueError, match=r"version \(v99\) must be one of v1, v2"):
        objective_for("v99", small_corpus, 16)


def test_a_version_that_fills_in_needs_a_mask_token(small_corpus) -> None:
    with pytest.raises(ValueError, match="has no MASK token"):
        objective_for("v7", small_corpus, 16)
