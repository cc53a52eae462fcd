"""Writing by filling in: every step, some of the masked tokens appear.

Which ones is an `Order`: the surest first, or by chance. What appeared stays as it is, so a text with n
holes takes at least one step and at most n. (In `remasking` it does not stay.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor

from babygpt.config import require_countable, require_kind
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import denoise, mask_token_id
from babygpt.sampling.next_token import UNDRAWABLE, Draw, require_request

Choose = Callable[[Tensor, Tensor], Tensor]  # (B, T) what is masked now, (B, T, V) chances -> what appears
Order = Callable[[Tensor, torch.Generator | None], Choose]  # (B, T) what is masked at first -> Choose


@dataclass(frozen=True)
class Filled:
    """Texts whose holes were filled in, with the step and the confidence of each token.

    tokens      (B, T)  token ids, no MASK among them
    when        (B, T)  the step at which each token appeared, counted from 1; 0 for what was there before
    confidence  (B, T)  the probability that the model gave the token then; 1 for what was there before
    """

    tokens: Tensor
    when: Tensor
    confidence: Tensor

    @property
    def steps(self) -> Tensor:
        """Steps that each text took: (B,)."""
        return self.when.amax(dim=1)


def by_confidence(threshold: float = 0.95) -> Order:
    """Return an order in which all tokens appear of which the model is sure, and always the surest one.

    Its confidence is the probability of its likeliest token there, whatever temperature it draws with.

    threshold  between 0 (all appear in one step) and 1; above 1 they appear one by one
    Raises BadInput if threshold is negative.
    Source: note 000; Wu et al. 2025, arXiv:2505.22618 (a threshold for parallel decoding).
    """
    require_kind("threshold", threshold, float)
    if not threshold >= 0:
        raise BadInput(f"threshold ({threshold}) must not be negative")

    def choose(masked: Tensor, chances: Tensor) -> Tensor:
        confidence = chances.amax(dim=-1).masked_fill(~masked, -1.0)
        surest = torch.zeros_like(masked).scatter(1, confidence.argmax(dim=1, keepdim=True), True)
        return masked & (surest | (confidence >= threshold))

    return lambda masked, generator: choose


def by_entropy(bound: float = 0.1) -> Order:
    """Return an order in which the surest tokens appear at once, as many as a bound on entropy allows.

    A token appears if the entropies of those surer than itself add up to the bound at most, so the surest
    always does. Tokens drawn each on its own differ from a joint draw by no more nats than that sum, if the
    model's chances are right: the bound holds for what they do not know of each other.

    bound    nats, at least 0; with 0 tokens appear one by one, except those that are certain
    Raises BadInput if it is negative.
    Source: Ben-Hamu et al. 2025, arXiv:2505.24857, section 4 (the EB-Sampler, entropy as its measure).
    """
    require_kind("bound", bound, float)
    if not bound >= 0:
        raise BadInput(f"bound ({bound}) must not be negative")

    def choose(masked: Tensor, chances: Tensor) -> Tensor:
        entropy = torch.special.entr(chances).sum(dim=-1).masked_fill(~masked, torch.inf)  # (B, T), nats
        ascending, order = entropy.sort(dim=1, stable=True)
        surer = ascending.cumsum(dim=1).roll(1, dims=1)  # what comes before each adds up to
        surer[:, 0] = 0.0
        return masked & torch.zeros_like(masked).scatter(1, order, surer <= bound)

    return lambda masked, generator: choose


def ancestral(n_steps: int) -> Order:
    """Return training's masking run backwards: each token appears at a step drawn on its own.

    Steps at which nothing appears are left out, since the model would see the same text again.

    n_steps  at least 1; with many, tokens appear one by one
    Raises BadInput for another.
    Source: Sahoo et al. 2024, arXiv:2406.07524, section 3.2, with a rate that falls evenly.
    """
    require_countable("n_steps", n_steps)

    def begin(masked: Tensor, generator: torch.Generator | None) -> Choose:
        step = torch.randint(n_steps, masked.shape, generator=generator).to(masked.device)

        def choose(masked: Tensor, chances: Tensor) -> Tensor:
            waiting = step.masked_fill(~masked, n_steps)
            return masked & (waiting == waiting.amin(dim=1, keepdim=True))

        return choose

    return begin


@overload
def fill_in(model: LanguageModel, idx: Tensor, *args: Any, **options: Any) -> Filled: ...
@overload
def fill_in(model: LanguageModel, idx: Sequence[Tensor], *args: Any, **options: Any) -> list[Filled]: ...
def fill_in(
    model: LanguageModel,
    idx: Tensor | Sequence[Tensor],
    order: Order | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    top_p: float | None = None,
) -> Filled | list[Filled]:
    """Fill in every MASK of some texts, and leave all else as it is.

    model        trained by masked diffusion
    idx          (B, T)  token ids, T at most block_size; or a list of (T_b,), read one after another
    order        which tokens appear when; by_confidence() by default
    The other arguments are those of `generate`.
    returns      the texts; of a list, one for each, with B = 1
    Raises BadInput for an empty text, one longer than the window, and what `generate` refuses.
    """
    draw = Draw(temperature, top_k, top_p, generator)
    if isinstance(idx, list | tuple) and idx and all(isinstance(text, Tensor) for text in idx):
        for text in idx:
            require_request(model, text, 0, "(T,)")
        return [fill_in_batch(model, text[None], order, draw) for text in idx]
    return fill_in_batch(model, idx, order, draw)


@torch.no_grad()
def fill_in_batch(model: LanguageModel, idx: Any, order: Order | None, draw: Draw) -> Filled:
    """Fill in every MASK of texts (B, T) as `fill_in` does, with tokens that `draw` draws."""
    require_fitting(model, idx)
    text = idx.to(next(model.parameters()).device, copy=True)
    masked = text == mask_token_id(model)
    when, confidence = torch.zeros_like(text), torch.ones(text.shape, device=text.device)
    choose = (order or by_confidence())(masked, draw.generator)
    while masked.any():
        logits = denoise(model, text).float()  # (B, T, V)
        chances = logits.softmax(dim=-1)
        if chances[masked].isnan().any():
            raise BadInput(UNDRAWABLE)
        now = choose(masked, chances)
        if not now.any():
            raise BadInput("the order lets no token appear, and some are masked: it must choose at least 1")
        drawn = draw(logits[now]).to(text.device)
        text[now], confidence[now] = drawn, chances[now, drawn]
        step = when.amax(dim=1, keepdim=True) + 1
        when, masked = torch.where(now, step, when), masked & ~now
    return Filled(text, when, confidence)


def require_fitting(model: LanguageModel, idx: Any) -> None:
    """Raise BadInput for texts (B, T) that a model cannot fill in at once."""
    require_request(model, idx, 0)
    if idx.shape[1] > model.config.block_size:
        raise BadInput(f"{idx.shape[1]} tokens do not fit: the window holds {model.config.block_size}")


def continue_text(
    model: LanguageModel,
    idx: Tensor,
    n_tokens: int,
    order: Order | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    block: int | None = None,
    top_p: float | None = None,
) -> Filled:
    """Continue some texts block by block; each block is filled in after as much text as the window holds.

    idx        (B, T)  the prompts, T at least 1, no MASK among them
    n_tokens   number of tokens to add
    block      tokens of a block, below block_size; None for half the window
    returns    (B, T + n_tokens) tokens; steps go on counting from block to block
    Raises BadInput for a MASK in a prompt, a negative n_tokens, a block that leaves no room for a prompt,
    and what `fill_in` refuses.
    Source: note 000 (compare_generation_quality.py); Arriola et al. 2025, arXiv:2503.09573 (blocks).
    """
    draw = Draw(temperature, top_k, top_p, generator)
    require_request(model, idx, n_tokens)
    size = model.config.block_size
    require_kind("block", block, int | None)
    block = (size + 1) // 2 if block is None else block
    if size < 2:
        raise BadInput(f"block_size ({size}) leaves no room: a window needs a token before those filled in")
    if not 1 <= block < size:
        raise BadInput(f"block ({block}) must lie between 1 and {size - 1}: the window holds {size} tokens")
    if bool((idx == mask_token_id(model)).any()):
        raise BadInput("the prompt holds a MASK: fill_in fills it, continue_text writes on after the end")
    text = idx.to(next(model.parameters()).device)
    when, confidence = torch.zeros_like(text), torch.ones(text.shape, device=text.device)
    for start in range(0, n_tokens, block):
        holes = text.new_full((len(text), min(block, n_tokens - start)), mask_token_id(model))
        window = torch.cat([text[:, -(size - holes.shape[1]) :], holes], dim=1)
        added = fill_in_batch(model, window, order, draw)
        new = slice(window.shape[1] - holes.shape[1], None)
        later = when.amax(dim=1, keepdim=True) + added.when[:, new]
        text, when = torch.cat([text, added.tokens[:, new]], dim=1), torch.cat([when, later], dim=1)
        confidence = torch.cat([confidence, added.confidence[:, new]], dim=1)
    return Filled(text, when, confidence)
