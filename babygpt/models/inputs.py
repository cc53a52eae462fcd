"""Checks of what a user hands to a model: is it a model, and are these its token ids?"""

from typing import Any

import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.positions import Positions

ID_TYPES = (torch.int64, torch.int32)  # those that an embedding of PyTorch takes


def require_model(model: Any) -> None:
    """Raise BadInput, saying what to write, for anything but a model, such as a Checkpoint or a wrapper."""
    if callable(model) and hasattr(model, "config"):
        return
    inner = next((name for name in ("model", "module") if hasattr(model, name)), None)
    hint = f"write .{inner} after it, which is the model" if inner else "build and load(path).model make one"
    raise BadInput(f"a model is needed here, and this is a {type(model).__name__}: {hint}")


def require_ids(ids: Any, shape: str = "(B, T)", vocab_size: int | None = None, name: str = "idx") -> None:
    """Raise BadInput, saying what to write, unless these are token ids of a shape and of a vocabulary.

    shape       names its dimensions, such as "(B, T)" or "(N,)"
    vocab_size  of the model; None leaves the range out, because reading it on a GPU means waiting
    name        the argument's, for the message
    """
    dims = shape.count(",") + (not shape.endswith(",)"))  # "(N,)" names one
    if isinstance(ids, str):
        brackets = "[None]" * (dims - 1)
        raise BadInput(f"{name} is a text, not token ids: write tokenizer.encode({ids[:20]!r}){brackets}")
    if not isinstance(ids, Tensor):
        kind = type(ids).__name__
        raise BadInput(f"{name} is a {kind}, not a tensor of token ids {shape}: torch.as_tensor makes one")
    if ids.dim() != dims:
        hint = f": write {name}[None]" if ids.dim() == dims - 1 else ""
        raise BadInput(f"{name} of shape {tuple(ids.shape)} should be {shape}{hint}")
    if ids.dtype not in ID_TYPES:
        raise BadInput(f"{name} holds {ids.dtype}, and token ids are torch.int64: write {name}.long()")
    if vocab_size is not None and ids.numel():
        lowest, highest = (int(x) for x in ids.aminmax())
        if lowest < 0 or highest >= vocab_size:
            wrong = lowest if lowest < 0 else highest
            raise BadInput(f"{name} holds token {wrong}, and the model has 0 to {vocab_size - 1} only")


def require_branch_codes(model: Any, n: int) -> None:
    """Raise BadInput unless a model, such as a v6, has a code for each of n branches."""
    if n < 1:
        raise BadInput(f"{n} branches: at least 1 is needed")
    device = next(model.parameters()).device
    positions = Positions(torch.zeros(2, dtype=torch.long), torch.tensor([0, n - 1])).to(device)
    try:
        model.encoding.embed(torch.zeros(1, 2, model.config.n_embd, device=device), positions)
    except BadInput as error:
        raise BadInput(f"{n} branches are more than the code can tell apart: {error}") from None
