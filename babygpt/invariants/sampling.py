"""Promises of every sampler that fills in, ours or a reader's own."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from babygpt.invariants.base import Promise
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import mask_token_id
from babygpt.sampling import Filled, fill_in

Fill = Callable[[LanguageModel, Tensor], Filled]  # a model, (B, T) texts with holes -> the texts


def fills_every_mask(model: LanguageModel, idx: Tensor, fill: Fill = fill_in) -> Promise:
    """No MASK is left.

    idx   (B, T)  token ids, MASK where a token is to be found
    fill  such as `fill_in`, or `partial(fill_in, order=ancestral(8))`
    """
    left = (fill(model, idx).tokens == mask_token_id(model)).sum()
    return Promise("no MASK is left", float(left), 0.0)


def keeps_the_prompt(model: LanguageModel, idx: Tensor, fill: Fill = fill_in) -> Promise:
    """What was no MASK stays as it is; the arguments are those of `fills_every_mask`."""
    changed = (fill(model, idx).tokens.to(idx.device) != idx) & (idx != mask_token_id(model))
    return Promise("what was there stays as it was", float(changed.sum()), 0.0)


def at_least_one_a_step(model: LanguageModel, idx: Tensor, fill: Fill = fill_in) -> Promise:
    """n holes take from one step to n, and at each of them something appears.

    Measured as the number of holes and steps that break this; the arguments are those of
    `fills_every_mask`.
    """
    holes, filled = idx == mask_token_id(model), fill(model, idx)
    wrong = 0
    for when, hole, steps in zip(filled.when.to(idx.device), holes, filled.steps, strict=True):
        used = set(when[hole].tolist())  # the steps at which something appeared
        wrong += len(used ^ set(range(1, int(steps) + 1)))
    return Promise("every step something appears", float(wrong), 0.0)
