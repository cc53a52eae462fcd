"""Several texts in one sequence: what they cost each other, and what leaks from one into another."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from babygpt.config import require_countable
from babygpt.data import batches
from babygpt.errors import BadInput
from babygpt.metrics.inspection import Hook, hooks_in_this_thread
from babygpt.models.inputs import require_ids, require_model
from babygpt.models.transformer import Block, Transformer
from babygpt.objectives import branch_losses, mean_loss
from babygpt.positions import Positions


def evenly_spaced_texts(ids: Tensor, n_texts: int, length: int) -> Tensor:
    """Take texts at even distances from a long row of token ids: (N,) -> (n_texts, length + 1).

    Raises BadInput for other ids, no texts, or texts that are empty or too long.
    """
    require_ids(ids, "(N,)", name="ids")
    return batches.cut(ids, batches.evenly_spaced(ids, length, n_texts), length + 1)


def parallel_loss(
    model: Transformer, ids: Tensor, n: int, length: int, n_texts: int = 256, seed: int = 0
) -> float:
    """Return the mean loss of texts that share a sequence with others.

    ids      (N,)  text to take them from
    n        texts in a sequence; 1 for alone. The texts are the same ones for every n that divides n_texts
    length   tokens of each
    seed     draws which texts share a sequence, and at what offset in time
    returns  nats per token
    Raises BadInput if n is below 1, or a text longer than the window or than ids.
    """
    require_model(model)
    texts, draw = evenly_spaced_texts(ids, n_texts, length), torch.Generator().manual_seed(seed)
    return mean_loss(model, batches.branch_batches(texts, n, model.config.block_size, draw), branch_losses)


def interference_gap(
    model: Transformer, ids: Tensor, n: int, length: int, n_texts: int = 256, seed: int = 0
) -> float:
    """Measure how much higher the loss of texts is with n - 1 others in their sequence than alone.

    returns  nats per token; the arguments are those of `parallel_loss`
    """
    alone, beside = (parallel_loss(model, ids, k, length, n_texts, seed) for k in (1, n))
    return beside - alone


class GapParts(NamedTuple):
    """The two parts of an interference gap, in nats per token.

    own      what a text alone pays for standing in the branch that it has among the n, not in branch 0
    company  what the n - 1 others add to that
    """

    own: float
    company: float


def split_gap(
    model: Transformer, ids: Tensor, n: int, length: int, n_texts: int = 256, seed: int = 0
) -> GapParts:
    """Split the interference gap into the cost of a text's branch number and the cost of the other texts.

    A text among n has a branch number that a text alone never has, and a model that was trained with fewer
    branches does not know the higher ones. So a third loss is taken between the two: each text alone, at the
    same times and under the same number as among the n. `own` is the mean over all n numbers.

    returns  own + company is the `interference_gap`; the arguments are those of `parallel_loss`
    """
    alone, beside = (parallel_loss(model, ids, k, length, n_texts, seed) for k in (1, n))
    texts, draw = evenly_spaced_texts(ids, n_texts, length), torch.Generator().manual_seed(seed)
    groups = batches.branch_batches(texts, n, model.config.block_size, draw)
    alone_in_branch = (branch for group in groups for branch in _one_by_one(group, n))
    single = mean_loss(model, alone_in_branch, branch_losses)
    return GapParts(single - alone, beside - single)


def _one_by_one(batch: batches.BranchBatch, n: int) -> Iterator[batches.BranchBatch]:
    """Yield each branch of a batch without the others: n batches of (B, T / n), nothing else changed."""
    for branch in range(n):
        here = batch.branch == branch
        yield batches.BranchBatch(*(part[here].view(len(part), -1) for part in batch))


@torch.inference_mode()
def leakage(model: Transformer, ids: Tensor, n: int, length: int, n_samples: int = 32) -> float:
    """Measure how much branch 0's predictions change when all other branches hold other texts.

    ids        (N,)  text to take them from
    n          branches of a sample, at least 2
    length     tokens of each; all begin at the same time
    n_samples  number of samples whose divergence is averaged
    returns    mean Kullback-Leibler divergence of the predictions, nats per token; 0 if nothing leaks
    """
    require_model(model)
    batches.require_branches(n, n, length, model.config.block_size)
    require_countable("n_samples", n_samples)
    if n < 2:
        raise BadInput("1 branch: nothing can leak into it from others, so at least 2 are needed")
    texts = evenly_spaced_texts(ids, n_samples * (2 * n - 1), length).view(n_samples, 2 * n - 1, -1)
    device, total = next(model.parameters()).device, 0.0
    for group in texts:
        log_probs = []
        for others in (group[1:n], group[n:]):  # the rows of one batch may round differently
            row = batches.interleave([group[0], *others], [0] * n)
            logits = model(row.tokens.to(device), row.positions.to(device))[0].cpu()
            log_probs.append(logits[row.branch[0] == 0].float().log_softmax(dim=-1))
        before, after = log_probs  # (T, vocab_size) each
        total += float((before.exp() * (before - after)).sum(dim=-1).mean())
    return total / n_samples


def cosines(codes: Tensor) -> Tensor:
    """Return the cosine of each vector with each other: (..., n, C) -> (..., n, n)."""
    unit = codes / codes.norm(dim=-1, keepdim=True)
    return unit @ unit.mT


@torch.inference_mode()
def code_similarity(model: Transformer, n: int) -> np.ndarray:
    """Measure the similarity of the codes of n branches, which does not depend on the tokens.

    returns  (n, n)  cosine of the vectors that are added; of one key as it is rotated in each branch, where
             nothing is added
    """
    require_model(model)
    require_countable("n", n)
    device = next(model.parameters()).device
    positions = Positions(torch.zeros(n, dtype=torch.long), torch.arange(n)).to(device)
    codes = model.encoding.embed(torch.zeros(1, n, model.config.n_embd, device=device), positions)[0]
    if not codes.any():
        ones = torch.ones(1, 1, n, model.config.head_dim, device=device)
        codes = model.encoding.of_layer(0).transform_qk(ones, ones, positions)[1][0, 0]
    return cosines(codes).cpu().numpy()


@torch.inference_mode()
def layer_similarity(model: Transformer, idx: Tensor, n: int) -> np.ndarray:
    """Compare n branches layer by layer, when all hold the same text.

    idx      (T,)  token ids
    n        branches
    returns  (n_layer + 1, n, n)  mean cosine, over time, of the residual streams of two branches: after
             the embedding, then after each block
    """
    require_model(model)
    require_ids(idx, "(T,)", model.config.vocab_size)
    require_countable("n", n)
    streams: list[Tensor] = []
    device = next(model.parameters()).device
    columns = batches.interleave([torch.cat([idx, idx[-1:]]).cpu()] * n, [0] * n)
    blocks = [module for module in model.modules() if isinstance(module, Block)]
    hooks: list[Hook] = [(blocks[0].register_forward_pre_hook, lambda _, inputs: streams.append(inputs[0]))]
    hooks += [(block.register_forward_hook, lambda _, __, out: streams.append(out)) for block in blocks]
    with hooks_in_this_thread(hooks):
        model(columns.tokens.to(device), columns.positions.to(device))
    branches = torch.cat(streams).unflatten(1, (-1, n)).float()  # (n_layer + 1, T, n, C)
    return cosines(branches).mean(dim=1).cpu().numpy()
