"""Trained model in one safetensors file: weights in the body, everything else as JSON in the header.

A checkpoint holds no pickle: you can open one without trusting its author.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt.training.guard import WHAT_TO_TRY

FORMAT = 1
KEY = "babygpt"  # of our JSON in the header of the file
TRAINING = "training/"  # begins the names of tensors that belong to the state of training
LARGEST_WEIGHT = 1e15  # far beyond what is learned or steered; from 1e20 on logits may be nan


@dataclass(frozen=True)
class Checkpoint:
    """A model with everything that is needed to use it.

    version    such as "v4"
    model      with its weights loaded, on the CPU
    tokenizer  the characters that it knows
    info       how it was trained: whatever JSON was saved with it
    options    of its encoding, as they were given to `build`
    training   state of its training, as `training_state` returns it; None when the training is over
    """

    version: str
    model: LanguageModel
    tokenizer: CharTokenizer
    info: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] | None = None


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint whole or not at all.

    path  of the file, by custom ending in .safetensors; missing folders are made, a file there is replaced
    Raises FloatingPointError if a weight is nan or infinite.
    """
    require_usable(checkpoint.model)
    header = {
        "format": FORMAT,
        "version": checkpoint.version,
        "config": asdict(checkpoint.model.config),
        "characters": checkpoint.tokenizer.characters,
        "with_mask": checkpoint.tokenizer.mask_id is not None,
        "info": checkpoint.info,
        "options": checkpoint.options,
    }
    tensors = dict(checkpoint.model.state_dict())
    if (state := checkpoint.training) is not None:
        header["training"] = {name: x for name, x in state.items() if not isinstance(x, Tensor)}
        tensors |= {TRAINING + name: x for name, x in state.items() if isinstance(x, Tensor)}
    stored = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
    header["sha256"] = digest(stored)
    write_atomically(path, to_bytes(stored, metadata={KEY: json.dumps(header)}))


def load(path: Path) -> Checkpoint:
    """Read a checkpoint back.

    Raises BadInput naming the path if there is no file, if it is damaged, if babygpt did not write it, if
    another format or version of babygpt did, or if its weights are unusable or do not fit its shape.
    """
    if not path.is_file():
        raise BadInput(f"no checkpoint at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # Copies: else the file stays mapped into memory, and Windows lets no other take its place.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(f"{path} is damaged or no safetensors file: {error}") from None
    if KEY not in metadata:
        raise BadInput(f"{path} holds weights, but babygpt did not write it")
    try:
        return _assemble(json.loads(metadata[KEY]), tensors)
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, FloatingPointError) as error:
        reason = " ".join(str(error).split())  # PyTorch lists weights that do not fit in several lines
        raise BadInput(f"{path} does not fit together: {reason}") from None


def digest(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of tensors, by which a single flipped bit of a file is found."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode() + tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def _assemble(header: dict[str, Any], tensors: dict[str, Tensor]) -> Checkpoint:
    """Build the model of a header and load its weights; raises what `build` and `load_state_dict` raise."""
    if header["format"] != FORMAT:
        raise BadInput(f"it has format {header['format']}, and this babygpt reads format {FORMAT}")
    tokenizer = CharTokenizer(header["characters"], header["with_mask"])
    config = ModelConfig(**header["config"])
    if tokenizer.vocab_size != config.vocab_size:
        raise BadInput(f"{tokenizer.vocab_size} tokens for a vocab_size of {config.vocab_size}")
    options = header.get("options", {})  # the first checkpoints had neither options nor a sum
    model = build(header["version"], config, **options)
    model.load_state_dict({name: x for name, x in tensors.items() if not name.startswith(TRAINING)})
    require_usable(model)
    if header.get("sha256") not in (None, digest(tensors)):
        raise BadInput("its weights changed after they were written")
    state = {name.removeprefix(TRAINING): x for name, x in tensors.items() if name.startswith(TRAINING)}
    training = header["training"] | state if "training" in header else None
    return Checkpoint(header["version"], model, tokenizer, dict(header.get("info", {})), options, training)


def require_usable(model: LanguageModel) -> None:
    """Raise FloatingPointError, naming the first weight that is nan, infinite or beyond LARGEST_WEIGHT."""
    for name, p in model.named_parameters():
        beyond = p.detach()[~(p.detach().abs() <= LARGEST_WEIGHT)]  # nan is not <= anything
        if beyond.numel():
            raise FloatingPointError(f"{name} holds {beyond[0]:.3g}, which is of no use: {WHAT_TO_TRY}")
