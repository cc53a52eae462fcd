"""Writing one text, or several texts at once, one token of each after another."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from babygpt.config import check_arguments, require_kinds
from babygpt.data.batches import interleave
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.inputs import require_ids, require_model
from babygpt.models.language_model import LanguageModel, require_causal
from babygpt.positions import Positions

UNDRAWABLE = "the logits hold nan or inf: no token can be drawn from them"
Texts = TypeVar("Texts", Tensor, list[Tensor])  # (B, T) token ids, or B of (T_b,)


@dataclass(frozen=True)
class Draw:
    """Settings with which a token is drawn from logits; they are those of `generate`."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    generator: torch.Generator | None = None

    def __post_init__(self) -> None:
        require_kinds(type(self), vars(self))
        if not 0 <= self.temperature < math.inf:  # refuses nan too
            raise BadInput(
                f"temperature ({self.temperature}) must be a finite number, and must not be negative"
            )
        if self.top_k is not None and self.top_k < 1:
            raise BadInput(f"top_k ({self.top_k}) must be at least 1")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise BadInput(f"top_p ({self.top_p}) must be above 0, and at most 1")

    def __call__(self, logits: Tensor) -> Tensor:
        """Draw one token from each row of logits, on the CPU: (B, vocab_size) -> (B,)."""
        logits = logits.float().cpu()  # random numbers of the CPU are alike on every device
        if self.temperature == 0:
            return logits.argmax(dim=-1)
        if self.top_k is not None and self.top_k < logits.shape[-1]:
            best = logits.topk(self.top_k)  # exactly k, also where logits are equal
            logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
        if self.temperature != 1:  # less the largest, so that no division overflows
            logits = (logits.double() - logits.amax(dim=-1, keepdim=True)) / self.temperature
        probabilities = logits.softmax(dim=-1, dtype=torch.float64)
        if self.top_p is not None:
            falling, order = probabilities.sort(dim=-1, descending=True)
            likelier = falling.cumsum(dim=-1) - falling  # what the tokens before each one add up to
            shares = falling.where(likelier < self.top_p, 0.0)
            probabilities = torch.zeros_like(probabilities).scatter(-1, order, shares)  # need not add up to 1
        # Of exponential times with these rates, the shortest is each token's with its probability. Thus
        # torch.multinomial draws, too, and the same tokens, but its checks take twice as long.
        times = torch.empty_like(probabilities).exponential_(generator=self.generator)
        rates, tokens = probabilities.div_(times).max(dim=-1)
        if math.isnan(rates.sum()):
            raise BadInput(UNDRAWABLE)
        return tokens


@check_arguments
def require_request(model: LanguageModel, idx: Tensor, n_tokens: int, shape: str = "(B, T)") -> None:
    """Raise BadInput unless a model can write `n_tokens` after a prompt of this shape."""
    require_model(model)
    require_ids(idx, shape, model.config.vocab_size)
    if not idx.numel():
        raise BadInput("the prompt is empty; it needs at least 1 token")
    if n_tokens < 0:
        raise BadInput(f"n_tokens ({n_tokens}) must not be negative")


def require_prompts(model: LanguageModel, idx: Any, n_tokens: int) -> None:
    """Raise BadInput unless a model can write after a batch of prompts (B, T), or a list of B of (T_b,)."""
    if isinstance(idx, list | tuple) and idx and all(isinstance(prompt, Tensor) for prompt in idx):
        for prompt in idx:
            require_request(model, prompt, n_tokens, "(T,)")
        return
    if isinstance(idx, Tensor | list | tuple) and not len(idx):
        raise BadInput("0 texts: at least 1 prompt is needed")
    require_request(model, idx, n_tokens)


def generate(
    model: LanguageModel,
    idx: Texts,
    n_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
    top_p: float | None = None,
    stop: Tensor | None = None,
) -> Texts:
    """Continue texts token by token.

    The model never sees more than block_size tokens: when its window is full it starts a new one with
    the later half of the old, positions counted from 0 again.

    Prompts of a list may differ in length. The model reads all of them from position 0, as far as the
    shortest goes; from there on a longer prompt takes its next token from itself and not from the model. So
    nothing is padded, and each text is the one that its prompt gives alone (apart from what chance draws).

    idx          (B, T)  the prompts, T at least 1; or a list of (T_b,)
    n_tokens     number of tokens to add
    temperature  logits are divided by it; 0 always takes the likeliest token
    top_k        sample among the k likeliest tokens only; None for all
    generator    source of randomness, on the CPU; None for the global one
    use_cache    keep keys and values of the window, or compute them anew each step (same result). An
                 encoding that moves all keys when a text grows is computed anew in any case
    top_p        sample among the likeliest tokens only, as few as have this probability together; None for
                 all
    stop         (S,)  a text ends when it has added these tokens; only for prompts in a list, since texts
                 then differ in length
    returns      (B, T + n_tokens); or a list of (T_b + n_tokens,), less where a text met `stop`
    Raises BadInput for a model that is not causal, no prompt or an empty one, ids of another shape or unknown
    to the model, an empty `stop`, a negative n_tokens or temperature, a top_k below 1, or a top_p outside 0
    to 1.
    Source: Holtzman et al. 2020, arXiv:1904.09751 (top_p).
    """
    draw = Draw(temperature, top_k, top_p, generator)
    require_causal(model)
    require_prompts(model, idx, n_tokens)
    if stop is not None:
        require_ids(stop, "(S,)", model.config.vocab_size, "stop")
    if stop is not None and (isinstance(idx, Tensor) or not len(stop)):
        raise BadInput("stop needs at least 1 token, and prompts in a list: texts then differ in length")
    block_size, device = model.config.block_size, next(model.parameters()).device
    prompts = [prompt.cpu() for prompt in idx]  # tokens are drawn on the CPU, alike on every device
    windows = [prompt[-block_size:] for prompt in prompts]
    lengths = torch.tensor([len(window) for window in windows])
    text = F.pad(pad_sequence(windows, batch_first=True), (0, n_tokens))  # (B, longest + n_tokens)

    with torch.inference_mode():
        ends = write_on(model, text, lengths, n_tokens, draw, use_cache and model.encoding.cacheable, stop)
    spans = zip(prompts, text, lengths.tolist(), ends.tolist(), strict=True)
    written = [torch.cat([prompt, row[length:end]]).to(device) for prompt, row, length, end in spans]
    if isinstance(idx, Tensor):
        return torch.stack(written)
    return written


def write_on(
    model: LanguageModel,
    text: Tensor,
    lengths: Tensor,
    n_tokens: int,
    draw: Callable[[Tensor], Tensor],
    use_cache: bool,
    stop: Tensor | None,
) -> Tensor:
    """Write tokens into the free columns of a table of texts, column by column.

    text     (B, longest + n_tokens)  token ids, changed in place; free from each text's length on
    lengths  (B,)  of the prompts, at most block_size tokens each
    draw     maps (B, vocab_size) logits to (B,) tokens
    stop     (S,) as in `generate`
    returns  (B,)  where each text ends
    """
    block_size, device, n_stop = model.config.block_size, next(model.parameters()).device, 0
    if stop is not None:
        stop, n_stop = stop.cpu(), len(stop)
    ends, shortest, longest = lengths + n_tokens, int(lengths.min()), int(lengths.max())
    start, read, cache = 0, 0, KVCache(block_size)
    for now in range(shortest, longest + n_tokens):
        if now - start > block_size:
            start = now - (block_size + 1) // 2
            cache, read = KVCache(block_size), start
        window = text[:, read if use_cache else start : now].to(device)
        logits, read = model(window, cache=cache if use_cache else None), now
        tokens = draw(logits[:, -1])  # (B,)
        if now < longest:
            tokens = tokens.where(now >= lengths, text[:, now])
        text[:, now] = tokens
        if stop is not None and now + 1 >= shortest + n_stop:
            met = (text[:, now + 1 - n_stop : now + 1] == stop).all(dim=1) & (now + 1 - lengths >= n_stop)
            ends = ends.where(~met, ends.clamp(max=now + 1))
            if bool((ends <= now + 1).all()):
                break
    return ends


# ---------------------------------------------------------------- several texts in one sequence


@torch.no_grad()
def generate_parallel(
    model: LanguageModel,
    prompts: Sequence[Tensor],
    n_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
    top_p: float | None = None,
) -> list[Tensor]:
    """Continue several texts at once: each forward pass adds one token to every branch.

    The prompts end at the same time, and share one window, which begins with the longest. When it is full, a
    new one starts with the later half of the old, times counted from 0 again: for all of them at once, so
    that a shorter one loses its beginning sooner than it would alone, and from then on goes on otherwise.

    model        causal; for several prompts one made for branches, such as a v6
    prompts      n of (T_b,)  token ids, T_b at least 1 and at most block_size
    n_tokens     number of tokens to add to each; the other arguments are those of `generate`
    returns      n of (T_b + n_tokens,)
    Raises BadInput for no prompt, an empty one or one longer than the window, for several with a model that
    cannot keep them apart, and what `generate` refuses.
    Source: note 002, section 3.
    """
    draw = Draw(temperature, top_k, top_p, generator)
    require_causal(model)
    if isinstance(prompts, Sequence) and not prompts:
        raise BadInput("0 branches: at least 1 prompt is needed")
    require_prompts(model, prompts, n_tokens)
    block_size = model.config.block_size
    if len(prompts) > 1 and not model.encoding.for_branches:
        raise BadInput(
            f"{len(prompts)} texts at once need a model that is made for branches, such as a v6; "
            f"this one ({type(model.encoding).__name__}) cannot see which token belongs to which text"
        )
    for b, prompt in enumerate(prompts):
        if len(prompt) > block_size:
            raise BadInput(f"branch {b} has {len(prompt)} tokens; the window holds {block_size}")
    device = next(model.parameters()).device
    texts, longest = [prompt.cpu() for prompt in prompts], max(map(len, prompts))
    start, read, cache = 0, 0, KVCache(len(texts) * block_size)
    for now in range(longest, longest + n_tokens):
        if now - start > block_size:
            start = now - (block_size + 1) // 2
            read, cache = start, KVCache(len(texts) * block_size)
        first = read if use_cache else start
        tokens, positions = _columns(texts, now, first, start)
        logits = model(tokens.to(device), positions.to(device), cache if use_cache else None)
        read = now
        drawn = draw(logits[0, -len(texts) :])  # (n,)
        texts = [torch.cat([text, token[None]]) for text, token in zip(texts, drawn, strict=True)]
    return texts


def _columns(texts: Sequence[Tensor], now: int, first: int, start: int) -> tuple[Tensor, Positions]:
    """Return the tokens of all texts from time `first` on, column by column, when all texts end at `now`.

    start    the time that counts as 0
    returns  (1, T) token ids, and their positions
    """
    begins = [now - len(text) for text in texts]  # time of each text's first token
    times = [max(first, begin) for begin in begins]
    pieces = [text[time - begin :] for text, time, begin in zip(texts, times, begins, strict=True)]
    ends = [torch.cat([piece, piece[-1:]]) for piece in pieces]  # interleave drops the last token, a target
    columns = interleave(ends, [time - start for time in times])
    return columns.tokens, columns.positions
