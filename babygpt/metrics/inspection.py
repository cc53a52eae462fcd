"""Insides of a trained model: attention weights, silenced heads, tables, kernels, gates."""

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import Gaussian
from babygpt.encodings.polar import Waves
from babygpt.errors import BadInput
from babygpt.models.inputs import require_ids, require_model
from babygpt.models.language_model import BagOfTokens, BagWithPositions, LanguageModel
from babygpt.models.transformer import Attention, Context, Transformer, score_scale
from babygpt.positions import Positions

Head = tuple[int, int]  # layer and head, counted from 0
Hook = tuple[Callable[..., Any], Callable[..., Any]]  # a module's method that registers it, and the hook


def attention_layers(model: LanguageModel) -> list[Attention]:
    """Return the attention layers of a model, first to last. Raises BadInput if it has none."""
    require_model(model)
    layers = [module for module in model.modules() if isinstance(module, Attention)]
    if not layers:
        raise BadInput(f"{type(model).__name__} has no attention, and so no heads; v3 to v7 have")
    return layers


@contextmanager
def hooks_in_this_thread(hooks: Iterable[Hook]) -> Iterator[None]:
    """Let forward hooks run within the context, for passes of this thread only.

    Another thread may train the same model meanwhile, as a live run does while the learner looks into it.

    hooks  each with the method of the module that registers it
    """
    here = threading.get_ident()

    def of_this_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: hook(*arguments) if threading.get_ident() == here else None

    with ExitStack() as stack:
        for register, hook in hooks:
            stack.callback(register(of_this_thread(hook)).remove)
        yield


# ---------------------------------------------------------------- heads


@contextmanager
def with_heads(model: LanguageModel, changes: Mapping[Head, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """Change what some heads write: within the `with`, a function is applied to it. The model stays as it is.

    A head writes n_embd / n_head channels of the input of its layer's `out` matrix. Only the thread that
    entered the `with` notices; another one may train the same model meanwhile.

    changes  (layer, head), counted from 0 -> a function of what it writes, (B, T, D), that changes nothing in
             place
    Raises BadInput for a head that does not exist, or a model without attention.
    """
    layers, of_layer = attention_layers(model), dict[int, dict[int, Callable[[Tensor], Tensor]]]()
    for (layer, head), change in changes.items():
        if not (0 <= layer < len(layers) and 0 <= head < layers[layer].n_head):
            shape = f"{len(layers)} layers of {layers[0].n_head} heads, counted from 0"
            raise BadInput(f"head {head} of layer {layer} does not exist: this model has {shape}")
        of_layer.setdefault(layer, {})[head] = change

    def changing_hook(of_head: Mapping[int, Callable[[Tensor], Tensor]]) -> Callable[..., Tensor]:
        def hook(_: nn.Module, inputs: tuple[Tensor]) -> Tensor:
            written = inputs[0].unflatten(-1, (layers[0].n_head, -1)).clone()  # (B, T, H, D)
            for head, change in of_head.items():
                written[:, :, head] = change(written[:, :, head])
            return written.flatten(2)

        return hook

    with hooks_in_this_thread(
        (layers[layer].out.register_forward_pre_hook, changing_hook(of_head))
        for layer, of_head in of_layer.items()
    ):
        yield


def write_at(tokens: Tensor, replacement: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a change for `with_heads`: at some tokens a head writes something else.

    tokens       (B, T)  booleans
    replacement  broadcast against (B, T, D); a single 0 silences the head there
    """
    return lambda written: torch.where(tokens.to(written.device)[..., None], replacement.to(written), written)


@contextmanager
def without_heads(model: LanguageModel, heads: Iterable[Head]) -> Iterator[None]:
    """Silence some heads: within the `with`, they write 0.

    A model never saw such zeros in training, so what fails without a head may need more than what it tells.

    heads  (layer, head) of each, counted from 0
    Raises BadInput for a head that does not exist, or a model without attention.
    Source: Michel et al. 2019, arXiv:1905.10650, section 2.2.
    """
    with with_heads(model, dict.fromkeys(heads, torch.zeros_like)):
        yield


@torch.inference_mode()
def written_by_heads(model: LanguageModel, idx: Tensor) -> list[Tensor]:
    """Return what each head of each layer writes at each token: (B, T, n_head, D), one tensor a layer.

    idx  (B, T)  token ids
    Raises BadInput for a model without attention.
    """
    written: list[Tensor] = []

    def record(n_head: int) -> Callable[..., None]:
        return lambda _, inputs: written.append(inputs[0].unflatten(-1, (n_head, -1)))

    layers, device = attention_layers(model), next(model.parameters()).device
    require_ids(idx, vocab_size=model.config.vocab_size)
    with hooks_in_this_thread(
        (layer.out.register_forward_pre_hook, record(layer.n_head)) for layer in layers
    ):
        model(idx.to(device))
    return written


def ablate_heads(model: LanguageModel, score: Callable[[LanguageModel], float]) -> np.ndarray:
    """Return a model's score with each head silenced alone, to be compared with that of the whole model.

    score    measures the model, such as `lambda m: role_accuracy(m, tokenizer, questions)`
    returns  (n_layer, n_head)
    Raises BadInput for a model without attention.
    """
    scores = []
    for i, layer in enumerate(attention_layers(model)):
        for head in range(layer.n_head):
            with without_heads(model, [(i, head)]):
                scores.append(score(model))
    return np.array(scores, dtype=float).reshape(-1, model.config.n_head)


def weights_of(layer: Attention, x: Tensor, context: Context) -> tuple[Tensor, Tensor]:
    """Return the attention weights of one layer, and the values that they are applied to.

    x         (B, T, C)  the layer's input
    returns   (B, H, T, T) weights, rows sum to 1, and (B, H, T, D) values
    """
    q, k, v = layer.qkv(x, context)
    scores = q @ k.transpose(-1, -2) * score_scale(v, layer.sharpness)  # (B, H, T, T)
    bias = context.encoding.content_bias(q, k, context.positions, context.readable)
    for terms in (context.attn_mask, bias):
        scores = scores if terms is None else scores + terms
    if context.hides_later:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(dim=-1), v


@torch.inference_mode()
def each_weights(
    model: LanguageModel, idx: Tensor, use: Callable[[Tensor], Any], positions: Positions | None = None
) -> list[Any]:
    """Return what a function makes of the attention weights of each layer, without keeping all of them.

    idx  (B, T)  token ids
    use  takes the weights of one layer, (B, H, T, T)
    Raises BadInput for a model without attention: v1, v2.
    """
    layers, uses = attention_layers(model), list[Any]()
    require_ids(idx, vocab_size=model.config.vocab_size)

    def record(layer: Attention, inputs: tuple[Tensor, Context]) -> None:
        uses.append(use(weights_of(layer, *inputs)[0]))

    device = next(model.parameters()).device
    with hooks_in_this_thread((layer.register_forward_pre_hook, record) for layer in layers):
        model(idx.to(device), None if positions is None else positions.to(device))
    return uses


def attention_weights(model: Transformer, idx: Tensor, positions: Positions | None = None) -> np.ndarray:
    """Return the attention weights of every layer and head on one text.

    idx        (T,)  token ids
    positions  of the tokens; by default 0, 1, 2, ...
    returns    (n_layer, n_head, T, T)  row m tells what token m looks at, and sums to 1
    Raises BadInput for a model without attention: v1, v2.
    """
    require_ids(idx, "(T,)")
    return torch.stack(each_weights(model, idx[None], lambda w: w[0], positions)).float().cpu().numpy()


# ---------------------------------------------------------------- tables, kernels, gates


@torch.inference_mode()
def bigram_table(model: BagOfTokens) -> np.ndarray:
    """Return the probability of each next token after each token, which is all that v1 knows.

    returns  (vocab_size, vocab_size)  rows sum to 1
    """
    device = next(model.parameters()).device
    every = torch.arange(model.config.vocab_size, device=device)
    return model(every[None])[0].softmax(dim=-1).cpu().numpy()


@torch.inference_mode()
def position_votes(model: BagWithPositions) -> np.ndarray:
    """Return what v2's table of positions adds to the logits, compared with the average position.

    returns  (block_size, vocab_size)  nats
    """
    added = model.encoding.get_parameter("table") @ model.head.weight.T  # (P, V)
    return (added - added.mean(dim=0)).cpu().numpy()


@torch.inference_mode()
def kernel_values(encoding: Gaussian, furthest: int) -> np.ndarray:
    """Return K at every whole distance from 0 to `furthest` tokens: (furthest + 1,)."""
    device = encoding.get("log_alphas").device
    return encoding.kernel(torch.arange(furthest + 1, device=device)).cpu().numpy()


@torch.inference_mode()
def reach(encoding: Gaussian, share: float, furthest: int = 10_000) -> int:
    """Return the first distance at which K is below a share of K(0).

    encoding  with a kernel, which never rises with distance
    share     above 0, at most 1
    furthest  returned where K is not below the share anywhere before it, in tokens
    returns   tokens
    """
    if not 0 < share <= 1:
        raise BadInput(f"share ({share}) must be above 0, and at most 1")
    device = encoding.get("log_alphas").device
    peak, least = encoding.log_kernel(torch.tensor(0, device=device)), math.log(share)

    # Logarithms are compared, because K itself may be too small for a float32.
    def below(distance: int) -> bool:
        return bool(encoding.log_kernel(torch.tensor(distance, device=device)) - peak < least)

    return bisect_left(range(furthest), True, key=below)


def gates_of(encoding: Encoding, positions: Positions) -> Tensor:
    """Return the factors of the keys of one text, before any norm.

    positions  (T,), with `masked` (1, T): alpha multiplies the rows that are MASK
    returns    (H or 1, T, D), or (H or 1, T, 2 D) with the sines after the cosines
    Raises BadInput for an encoding that has no gates.
    """
    if not isinstance(encoding, Waves):
        name = type(encoding).__name__
        raise BadInput(f"{name} has no gates; v7, v7-polar and its repairs, and v7-pope have")
    gates = encoding.key_gates(positions)
    return gates[0] if gates.dim() == 4 else gates


def phases_of(encoding: Encoding) -> Tensor | None:
    """Return the phases that an encoding learns, radians: (H or 1, D), or None if it learns none."""
    for name in ("delta", "phi"):
        phase: Tensor | None = getattr(encoding, name, None)
        if phase is not None:
            return phase.view(-1, phase.shape[-1])
    return None
