"""The objective of v7: predict masked tokens from the tokens on both sides.

A masking rate t is drawn for each window, uniformly between 0 and 1, and each token is masked with
probability t.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from babygpt.config import check_arguments, require_countable
from babygpt.data.batches import IGNORED, cut
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.inputs import require_ids, require_model
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.objective import Batch, Objective, cross_entropy
from babygpt.positions import Positions

# 60 batches of 64. Masks are drawn, so a short text has to be measured again and again for a steady mean.
VAL_WINDOWS = 60 * 64


def mask_token_id(model: LanguageModel) -> int:
    """Return the id of the MASK token: the last of a model's vocabulary."""
    return model.config.vocab_size - 1


def denoise(model: LanguageModel, idx: Tensor) -> Tensor:
    """Predict every token of a text with masked tokens.

    idx      (B, T)  token ids, MASK where a token is to be predicted
    returns  (B, T, vocab_size - 1)  logits of every token but MASK, which no text contains
    Raises BadInput for a causal model, which does not see the text after a MASK.
    """
    require_model(model)
    require_ids(idx)
    if model.causal:
        raise BadInput("this model predicts what comes next; to fill in, train one that looks both ways: v7")
    positions = Positions.arange(idx.shape[1], device=idx.device, masked=idx == mask_token_id(model))
    return model(idx, positions)[..., : mask_token_id(model)]


def masking_rates(n: int, generator: torch.Generator) -> Tensor:
    """Draw n rates above 0 and up to 1, one from each n-th of that range, shuffled: (n,).

    Each rate is uniform. Together they cover the range more evenly than n separate draws, so the mean of a
    batch varies less. No rate is 0, because the bound divides by it.
    Source: Kingma et al. 2021, arXiv:2107.00630, appendix I.1 (low-discrepancy times).
    """
    # Doubles, because float32 would sometimes round the largest draw up to n, which makes a rate of 0.
    draws = torch.randperm(n, generator=generator) + torch.rand(n, generator=generator).double()
    return (1 - draws / n).float()


def mask_out(windows: Tensor, rates: Tensor, mask_id: int, generator: torch.Generator) -> Batch:
    """Mask each token with its window's probability.

    windows  (B, T)  token ids
    rates    (B,)    t of each window, above 0 and at most 1
    returns  (B, T) inputs, (B, T) targets, IGNORED where nothing was masked, and (B,) the rates
    """
    masked = torch.rand(windows.shape, generator=generator) < rates[:, None]
    return windows.masked_fill(masked, mask_id), windows.masked_fill(~masked, IGNORED), rates


class MaskedDiffusion(Objective):
    """Objective: fill in masked tokens. The loss is the mean over all masked tokens of a batch.

    corpus       the text, loaded with_mask
    block_size   tokens in a window
    val_windows  the fewest validation windows: a short validation text is read again, with other masks
    Raises BadInput if the corpus has no MASK token, or if either part is shorter than a window.
    Source: Sahoo et al. 2024, arXiv:2406.07524; the mean as in BERT, arXiv:1810.04805.
    """

    @check_arguments
    def __init__(self, corpus: Corpus, block_size: int, val_windows: int = VAL_WINDOWS) -> None:
        require_countable("block_size", block_size)
        if corpus.tokenizer.mask_id is None:
            raise BadInput(f"{corpus.name} has no MASK token: load it with load_corpus(..., with_mask=True)")
        corpus.require_tokens(block_size, f"block_size ({block_size})")
        self.train, self.val = corpus.train, corpus.val
        self.block_size, self.val_windows = block_size, val_windows
        self.mask_id = corpus.tokenizer.mask_id

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw windows at random and mask them: inputs, targets, rates."""
        starts = torch.randint(len(self.train) - self.block_size + 1, (batch_size,), generator=generator)
        windows = cut(self.train, starts, self.block_size)
        return mask_out(windows, masking_rates(batch_size, generator), self.mask_id, generator)

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Return the loss of each masked token, 0 elsewhere: (B, T). Raise BadInput for another MASK id."""
        if mask_token_id(model) != self.mask_id:
            raise BadInput(
                f"MASK is token {self.mask_id} in this corpus, but {mask_token_id(model)} to the model: "
                "its vocab_size must be that of the corpus, loaded with_mask"
            )
        return cross_entropy(denoise(model, batch[0]), batch[1])

    def val_starts(self, generator: torch.Generator) -> Tensor:
        """Return the starts of the validation windows: side by side, and again from 0 if they are few."""
        n_whole = len(self.val) // self.block_size  # windows that do not overlap
        return torch.arange(max(n_whole, self.val_windows)) % n_whole * self.block_size

    def val_batches(self, batch_size: int = 64) -> Iterator[Batch]:
        """Return the validation windows, masked in the same way in every call."""
        generator = torch.Generator().manual_seed(0)
        starts = self.val_starts(generator)
        rates = masking_rates(len(starts), generator)
        batches = zip(starts.split(batch_size), rates.split(batch_size), strict=True)
        for window_starts, window_rates in batches:
            windows = cut(self.val, window_starts, self.block_size)
            yield mask_out(windows, window_rates, self.mask_id, generator)


class DiffusionBound(MaskedDiffusion):
    """Objective: fill in masked tokens. The loss is the bound: a window's masked tokens weigh 1/t.

    Its mean over rates and masks is the NELBO per token, never below the model's -log p(x) per token.
    Source: Sahoo et al. 2024, arXiv:2406.07524, eq. 10; Ou et al. 2024, arXiv:2406.03736.
    """

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Return the bound, estimated on a batch, in nats per token: a scalar with a gradient."""
        _, _, rates = batch
        return (self.losses(model, batch) / rates[:, None]).mean()

    def count(self, batch: Batch) -> int:
        """Return the number of tokens of a batch, masked or not."""
        return batch[1].numel()
