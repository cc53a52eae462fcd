"""What a head is good for: the model with that head silenced, and what is measured of it then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from torch import Tensor, nn

from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Attention


def attention_layers(model: LanguageModel) -> list[Attention]:
    """The attention layers of a model, from the first to the last. Raises ValueError if it has none."""
    layers = [module for module in model.modules() if isinstance(module, Attention)]
    if not layers:
        raise BadInput(f"{type(model).__name__} has no attention, and so no heads; v3 to v7 have")
    return layers


@contextmanager
def without_heads(model: LanguageModel, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Silence some heads: within the `with`, what they write is 0. The model itself is not changed.

    What a head writes are its n_embd / n_head channels of the input of a layer's `out` matrix. Only the
    thread that entered the `with` hears it: another one may train the same model meanwhile.
    Zero is also something a model never saw in training, so what fails without a head may need more than
    what that head tells.

    heads  (layer, head) of each, counted from 0
    Raises ValueError for a head that does not exist, or a model without attention.
    Source: Michel et al. 2019, arXiv:1905.10650, section 2.2.
    """
    layers, here, silent = attention_layers(model), threading.get_ident(), dict[int, list[int]]()
    for layer, head in heads:
        if not (0 <= layer < len(layers) and 0 <= head < layers[layer].n_head):
            shape = f"{len(layers)} layers of {layers[0].n_head} heads, counted from 0"
            raise BadInput(f"head {head} of layer {layer} does not exist: this model has {shape}")
        silent.setdefault(layer, []).append(head)

    def hook(some: list[int]) -> Callable[[nn.Module, tuple[Tensor]], Tensor | None]:
        def silence(_: nn.Module, inputs: tuple[Tensor]) -> Tensor | None:
            if threading.get_ident() != here:
                return None
            written = inputs[0].unflatten(-1, (layers[0].n_head, -1)).clone()  # (B, T, H, D)
            written[:, :, some] = 0.0
            return written.flatten(2)

        return silence

    hooks = [layers[at].out.register_forward_pre_hook(hook(some)) for at, some in silent.items()]
    try:
        yield
    finally:
        for one in hooks:
            one.remove()


def ablate_heads(model: LanguageModel, score: Callable[[LanguageModel], float]) -> np.ndarray:
    """A model's score with each head silenced alone; compare it with the score of the whole model.

    score    measures the model, such as `lambda m: role_accuracy(m, tokenizer, questions)`
    returns  (n_layer, n_head)
    Raises ValueError for a model without attention.
    """
    found = []
    for at, layer in enumerate(attention_layers(model)):
        for head in range(layer.n_head):
            with without_heads(model, [(at, head)]):
                found.append(score(model))
    return np.array(found, dtype=float).reshape(-1, model.config.n_head)
