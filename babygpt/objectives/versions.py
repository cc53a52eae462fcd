"""What each version of the ladder is trained to do."""

from __future__ import annotations

from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.objectives.base import Objective
from babygpt.objectives.branches import Branches
from babygpt.objectives.diffusion import VAL_WINDOWS, DiffusionBound, MaskedDiffusion
from babygpt.objectives.next_token import NextToken


def objective_for(
    version: str,
    corpus: Corpus,
    block_size: int,
    *,
    bound: bool = False,
    val_windows: int = VAL_WINDOWS,
    n_branches: tuple[int, int] = (1, 8),
    length: int | None = None,
) -> Objective:
    """Make the objective that a version is trained with: next token, parallel branches, or filling in.

    version      one of VERSIONS
    corpus       the text; loaded with_mask for a version that fills in masked tokens
    block_size   tokens in a window
    bound        fill in: train on the 1/t-weighted bound and not on the mean over masked tokens
    val_windows  fill in: validation windows, at the least
    n_branches   parallel branches: the fewest and the most texts of a sample
    length       parallel branches: tokens of a text; None for three quarters of the window
    Options that do not concern the version change nothing.
    Raises BadInput for a version that does not exist, and for what the objective itself refuses.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    if VERSIONS[version].masks:
        return (DiffusionBound if bound else MaskedDiffusion)(corpus, block_size, val_windows)
    if VERSIONS[version].branches:
        return Branches(corpus, block_size, n_branches, length)
    return NextToken(corpus, block_size)
