"""Objectives: how a batch is drawn, what its loss is, and which objective each version is trained with."""

from babygpt.data.corpus import Corpus
from babygpt.models.versions import VersionName, require_version
from babygpt.objectives.branches import Branches as Branches
from babygpt.objectives.branches import branch_losses as branch_losses
from babygpt.objectives.diffusion import VAL_WINDOWS
from babygpt.objectives.diffusion import DiffusionBound as DiffusionBound
from babygpt.objectives.diffusion import MaskedDiffusion as MaskedDiffusion
from babygpt.objectives.diffusion import denoise as denoise
from babygpt.objectives.objective import Batch as Batch
from babygpt.objectives.objective import NextToken as NextToken
from babygpt.objectives.objective import Objective as Objective
from babygpt.objectives.objective import cross_entropy as cross_entropy
from babygpt.objectives.objective import mean_loss as mean_loss


def objective_for(
    version: VersionName,
    corpus: Corpus,
    block_size: int,
    *,
    bound: bool = False,
    val_windows: int = VAL_WINDOWS,
    n_branches: tuple[int, int] = (1, 8),
    length: int | None = None,
    by_samples: bool = False,
) -> Objective:
    """Make the objective that a version is trained with: next token, parallel branches, or filling in.

    version      one of VERSIONS, a class of Encoding, or a file and a class, as in mine.py:Sandwich
    corpus       the text; loaded with_mask for a version that fills in masked tokens
    block_size   tokens in a window
    bound        fill in: train on the 1/t-weighted bound and not on the mean over masked tokens
    val_windows  fill in: the fewest validation windows
    n_branches   parallel branches: the fewest and the most texts of a sample
    length       parallel branches: tokens of a text; None for three quarters of the window
    by_samples   parallel branches: whether a batch counts samples, and not texts
    Options of another kind of objective change nothing.
    Raises BadInput for an unknown version, and where the objective does.
    """
    kind = require_version(version)
    if kind.masks:
        return (DiffusionBound if bound else MaskedDiffusion)(corpus, block_size, val_windows)
    if kind.branches:
        return Branches(corpus, block_size, n_branches, length, by_samples=by_samples)
    return NextToken(corpus, block_size)
