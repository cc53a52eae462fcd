"""What a model is trained to do: how a batch is drawn and what its loss is."""

from babygpt.objectives.base import Batch as Batch
from babygpt.objectives.base import Objective as Objective
from babygpt.objectives.base import ReadsInOrder as ReadsInOrder
from babygpt.objectives.base import cross_entropy as cross_entropy
from babygpt.objectives.base import largest_batch as largest_batch
from babygpt.objectives.base import mean_loss as mean_loss
from babygpt.objectives.branches import Branches as Branches
from babygpt.objectives.branches import branch_losses as branch_losses
from babygpt.objectives.diffusion import DiffusionBound as DiffusionBound
from babygpt.objectives.diffusion import MaskedDiffusion as MaskedDiffusion
from babygpt.objectives.diffusion import denoise as denoise
from babygpt.objectives.next_token import NextToken as NextToken
from babygpt.objectives.random_positions import RandomPositions as RandomPositions
from babygpt.objectives.versions import objective_for as objective_for
