"""Numbers of a written text: how much of it repeats, and how likely a model finds it.

No number here knows whether a text is any good. A text that says one thing over and over is very likely;
letters drawn at random never repeat. So these numbers are read together, beside those of real text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.memory import portions
from babygpt.models.language_model import LanguageModel

WORD = re.compile(r"\w+(?:['’-]\w+)*")


def words(text: str) -> list[str]:
    """Return the words of a text, without the marks around them; for texts that put spaces between words."""
    return WORD.findall(text)


def grams(units: Sequence[Hashable], n: int) -> Counter[tuple[Hashable, ...]]:
    """Count each n units that stand beside each other. Raises ValueError if n is below 1."""
    if n < 1:
        raise BadInput(f"n ({n}) must be at least 1")
    return Counter(tuple(units[i : i + n]) for i in range(len(units) - n + 1))


def distinct(units: Sequence[Hashable], n: int) -> float:
    """Return the share of different n-grams among all: 1 if none comes twice, nan if there is none.

    units  characters, words, or anything else
    Raises ValueError if n is below 1.
    Source: Li et al. 2016, arXiv:1510.03055 (distinct-1 and distinct-2).
    """
    found = grams(units, n)
    return len(found) / found.total() if found else math.nan


def repeated(units: Sequence[Hashable], n: int) -> float:
    """Return the share of n-grams that come more than once: 0 if none does, nan if there is no n-gram.

    units  characters, words, or anything else
    Raises ValueError if n is below 1.
    Source: note 000, section 6 (repeat_3gram).
    """
    found = grams(units, n)
    return sum(c for c in found.values() if c > 1) / found.total() if found else math.nan


def entropy(units: Sequence[Hashable]) -> float:
    """Return the entropy of how often each unit comes, in nats; nan for an empty text.

    From few units it comes out too low: n units have at most log(n).
    """
    counts = torch.tensor(list(Counter(units).values()), dtype=torch.float64)
    return float(torch.distributions.Categorical(counts).entropy()) if len(counts) else math.nan


@torch.inference_mode()
def nll_and_entropy(model: LanguageModel, texts: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Return the mean -log p of some texts under a model, and the mean entropy of its predictions.

    Each token is predicted from at least half a window of text, or from all there is before it.

    model    predicts the next token
    texts    (B, T)  token ids
    start    index of the first token that is predicted, at least 1
    returns  (B,) -log p of the texts' tokens, and (B,) entropy of the predictions, nats per token
    Raises ValueError unless start lies between 1 and T - 1.
    """
    length = texts.shape[1]
    if not 1 <= start < length:
        raise BadInput(f"start ({start}) must lie between 1 and {length - 1}: something before, and after")
    parts = portions(model, texts, length=min(length, model.config.block_size))
    nll, entropies = zip(*(_nll_and_entropy(model, some, start) for (some,) in parts), strict=True)
    return torch.cat(nll), torch.cat(entropies)


def _nll_and_entropy(model: LanguageModel, texts: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Return both for texts that are read together: 2 x (B,)."""
    size, length = model.config.block_size, texts.shape[1]
    ids = texts.to(next(model.parameters()).device)
    nll, entropies = [], []
    for begin in range(start, length, stride := (size + 1) // 2):
        end = min(begin + stride, length)
        window = ids[:, max(0, end - 1 - size) : end - 1]
        logits = model(window)[:, begin - end :].cpu().double()  # (B, end - begin, V)
        chances = logits.log_softmax(dim=-1)
        nll.append(-chances.gather(-1, texts[:, begin:end, None].cpu())[..., 0])
        entropies.append(-(chances.exp() * chances).sum(dim=-1))
    return torch.cat(nll, dim=1).mean(dim=1), torch.cat(entropies, dim=1).mean(dim=1)
