"""The plain recipe that ours is measured against: a GPT-2 of PyTorch's own layers, trained with AdamW."""

import math
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.data.batches import IGNORED
from babygpt.encodings.base import Encoding
from babygpt.encodings.token_shift import token_before
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Objective
from babygpt.positions import Positions
from babygpt.training import Step

Pair = tuple[float, float]


class PlainGPT(LanguageModel):
    """GPT-2: LayerNorm, GELU, learned positions, biases everywhere, one table for tokens in and out.

    Source: Radford et al. 2019 (GPT-2), section 2.3.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, Encoding())
        C = config.n_embd
        self.token_embedding = nn.Embedding(config.vocab_size, C)
        self.position_embedding = nn.Embedding(config.block_size, C)
        layer = nn.TransformerEncoderLayer(
            C, config.n_head, 4 * C, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(C)
        self.blocks = nn.TransformerEncoder(layer, config.n_layer, norm, enable_nested_tensor=False)
        self.head = nn.Linear(C, config.vocab_size, bias=False)
        self.head.weight = self.token_embedding.weight
        for name, p in self.named_parameters():
            if name.endswith(("out_proj.weight", "linear2.weight")):  # what is added to the residual stream
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * config.n_layer))
            elif p.ndim > 1:
                nn.init.normal_(p, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def embed_ids(self, idx: Tensor) -> Tensor:
        """Return the embeddings of tokens, without their positions: (B, T) -> (B, T, C)."""
        return self.token_embedding(idx)

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        T = idx.shape[1]
        x = self.embed_ids(idx) + self.position_embedding(torch.arange(T, device=idx.device))
        mask = nn.Transformer.generate_square_subsequent_mask(T, device=idx.device)
        return self.head(self.blocks(x, mask=mask, is_causal=True))  # (B, T, vocab_size)


class ShiftedGPT(PlainGPT):
    """GPT-2 with token shift, as in `babygpt.encodings.TokenShift`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.shift = nn.Parameter(torch.zeros(config.n_embd))

    def embed_ids(self, idx: Tensor) -> Tensor:
        x = super().embed_ids(idx)
        return x + self.shift * token_before(x, Positions.arange(idx.shape[1]))


def train_plain(
    model: LanguageModel, objective: Objective, steps: int, rows: int, seed: int, rate: float, betas: Pair
) -> Iterator[Step]:
    """Train with AdamW: 100 steps of warm-up, cosine to a tenth, gradients clipped to 1.

    Matrices and tables decay by 0.1; gains and biases do not.

    rows   windows in a batch
    rate   peak learning rate
    betas  of AdamW
    Source: Karpathy's nanoGPT, the settings for small texts; its rate there is 1e-3.
    """
    generator = torch.Generator().manual_seed(seed)
    decaying = {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1}
    vectors = {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0}
    groups = [group for group in (decaying, vectors) if group["params"]]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True)
    seconds, tokens = 0.0, 0
    for step in range(steps):
        start = time.perf_counter()
        lr = rate * min(1.0, (step + 1) / 100) * (0.55 + 0.45 * math.cos(math.pi * step / steps))
        for group in optimizer.param_groups:
            group["lr"] = lr
        batch = objective.batch(rows, generator)
        loss = objective.loss(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds, tokens = seconds + time.perf_counter() - start, tokens + int((batch[1] != IGNORED).sum())
        yield Step(step + 1, loss.item(), lr, seconds, tokens)
