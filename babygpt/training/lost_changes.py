"""Changes of a model that a checkpoint would lose: the model is compared with one made from the file."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import require_version
from babygpt.positions import Positions

PROBE_TOKENS = 48  # both models read a text of this length: T5's buckets and YaRN's windows differ within it
NOISE = 0.1  # added to all weights: the last layers of an untrained model are 0, and hide all others
# Logits may differ by these shares of the largest one, and by SAME in other types of numbers: another memory
# layout of the same weights rounds otherwise, by about 1e-6 in float32.
TOLERANCE = {torch.bfloat16: 3e-2, torch.float16: 3e-3}
SAME = 1e-4
PLAIN = (bool, int, float, str, type(None))
HOOKS = ("_forward_hooks", "_forward_pre_hooks")  # PyTorch has no public name for them


def require_same_outputs(model: LanguageModel, rebuilt: LanguageModel) -> None:
    """Raise BadInput, naming the changes that can be named, unless two models give the same logits.

    Both read one short random text, with the weights that they have and with noise added to these. That is
    done on copies, so that the model, its mode and the global random numbers stay as they are. Hooks of the
    model run.

    model    as it is, on any device
    rebuilt  made from all that a file holds of it
    """
    device = next(model.parameters()).device
    try:
        ours, theirs = deepcopy(model), rebuilt.to(device).train(model.training)
    except (RuntimeError, TypeError) as error:
        raise BadInput(f"save compares a copy of the model, and this one cannot be copied: {error}") from None
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
        for noisy in (False, True):
            if noisy:
                add_noise(ours, theirs)
            try:
                logits = outputs(ours)
            except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:
                raise BadInput(f"this model cannot read a text, so save refuses it: {error}") from None
            expected = outputs(theirs)
            if len(logits) != len(expected) or not all(map(nearly_equal, logits, expected)):
                changes = ", ".join(changed_settings(model, rebuilt)) or "nothing that can be named"
                name = require_version(model.version).name
                raise BadInput(
                    f"save would lose outputs of this model: build({name!r}) with the same weights, "
                    f"options and steered numbers gives other logits. Changed: {changes}"
                )


def outputs(model: LanguageModel) -> list[Tensor]:
    """Return the logits of a random text, read at once and with a cache, or as one branch and as two.

    Raises whatever the model raises if it cannot read.
    """
    kind, shape = require_version(model.version), model.config
    T = min(PROBE_TOKENS, shape.block_size)
    draw = torch.Generator().manual_seed(0)
    idx = torch.randint(shape.vocab_size, (1, T), generator=draw)
    masked = torch.rand(idx.shape, generator=draw) < 0.4
    device = next(model.parameters()).device
    if not kind.branches:
        idx = (idx.masked_fill(masked, shape.vocab_size - 1) if kind.masks else idx).to(device)
        if kind.masks:
            return [model(idx, Positions.arange(T, device=device, masked=masked.to(device)))]
        cache, half = KVCache(T), max(1, T // 2)
        whole = model(idx)
        try:
            return [whole, *(model(part, cache=cache) for part in idx.split(half, dim=1))]
        except BadInput:  # dynamic NTK reads without a cache
            return [whole]
    steps, logits = torch.arange(T), list[Tensor]()
    for n in (1, 2):
        try:
            logits.append(model(idx.to(device), Positions(steps // n, steps % n).to(device)))
        except BadInput:  # its table may hold one branch only
            break
    return logits


@torch.no_grad()
def add_noise(*models: nn.Module) -> None:
    """Add the same random numbers to the weights of models that have weights of the same names."""
    draw = torch.Generator().manual_seed(1)
    for weights in zip(*(model.parameters() for model in models), strict=True):
        noise = NOISE * torch.randn(weights[0].shape, generator=draw)
        for p in weights:
            p.add_(noise.to(p))


def nearly_equal(ours: Tensor, theirs: Tensor) -> bool:
    """Return whether logits agree up to rounding; nan agrees with nan."""
    if ours.shape != theirs.shape:
        return False
    tolerance = TOLERANCE.get(ours.dtype, SAME)
    ours, theirs = ours.double(), theirs.double()
    largest = float(theirs[theirs.isfinite()].abs().max()) if bool(theirs.isfinite().any()) else 0.0
    return torch.allclose(ours, theirs, rtol=0, atol=tolerance * largest, equal_nan=True)


def changed_settings(model: nn.Module, rebuilt: nn.Module) -> Iterator[str]:
    """Yield in words what differs between two models besides weights: hooks, methods, plain attributes."""
    theirs = dict(rebuilt.named_modules())
    for place, module in model.named_modules():
        begin = f"{place}." if place else ""
        if any(vars(module)[name] for name in HOOKS):
            yield f"hooks of {place or 'the model'}"
        twin = theirs.get(place)
        expected: Mapping[str, Any] = vars(twin) if twin is not None else {}
        if twin is not None and type(module) is not type(twin):
            yield f"{place} is a {type(module).__qualname__} of {type(module).__module__}"
        for name, value in vars(module).items():
            if callable(value) and not isinstance(value, nn.Module) and name not in expected:
                yield f"{begin}{name} is a method of its own"
            elif not name.startswith("_") and isinstance(value, PLAIN) and value != expected.get(name):
                usual = expected.get(name, getattr(twin, name, None))
                if value != usual:
                    yield f"{begin}{name} is {value!r} and was {usual!r}"
