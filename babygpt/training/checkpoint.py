"""A trained model in one safetensors file: weights in the body, everything else as JSON in the header.

No pickle anywhere: a checkpoint can be opened without trusting who made it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor
from torch.overrides import TorchFunctionMode

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.training.header import require_header

FORMAT = 1
KEY = "babygpt"  # where our JSON stands in the header
DIGEST = "sha256"  # where the checksum of everything stands
TRAINING = "training/"  # what the names of tensors begin with that are no weights but a state of training
MAX_BLOCK_SIZE = 2**20  # a longer window is a mistake, or meant to fill the memory
LARGEST_WEIGHT = 1e15  # far beyond all that is learned or steered; from 1e20 on logits may be no numbers
LARGEST_LOG = 70.0  # of a kernel's weight or width, which is then at most 1e30


@dataclass(frozen=True)
class Checkpoint:
    """A model with what is needed to use it.

    version    such as "v4"
    model      its weights loaded, on the CPU
    tokenizer  the characters that it knows
    info       how it was trained: whatever JSON was saved with it
    options    what was chosen of its encoding when it was built
    training   where its training stands, as `Training.state` returns it; None when it is over
    """

    version: str
    model: LanguageModel
    tokenizer: CharTokenizer
    info: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] | None = None


def save(path: Path, checkpoint: Checkpoint, overwrite: bool = False) -> None:
    """Write a checkpoint whole or not at all.

    path        of the file, by custom ending in .safetensors; missing folders are made
    overwrite   whether a file that is there already may be replaced
    Raises BadInput if it may not, and `NanWeights`, which is one, if a weight is nan.
    """
    if path.exists() and not overwrite:
        raise BadInput(f"{path} exists already; choose another path or say overwrite")
    tokenizer = checkpoint.tokenizer
    header = {
        "format": FORMAT,
        "version": checkpoint.version,
        "config": asdict(checkpoint.model.config),
        "characters": tokenizer.characters,
        "with_mask": tokenizer.mask_id is not None,
        "info": checkpoint.info,
        "options": checkpoint.options,
    }
    tensors = dict(checkpoint.model.state_dict())
    require_no_nan(tensors)
    if checkpoint.training is not None:
        state = checkpoint.training
        header["training"] = {name: x for name, x in state.items() if not isinstance(x, Tensor)}
        tensors |= {TRAINING + name: x for name, x in state.items() if isinstance(x, Tensor)}
    stored = {name: p.detach().cpu().contiguous() for name, p in tensors.items()}
    text = json.dumps(header)
    require_header(json.loads(text))  # what could not be read again is not written
    write_atomically(path, to_bytes(stored, metadata={KEY: text, DIGEST: digest(text, stored)}))


class NanWeights(BadInput):
    """A weight is nan, or so large that nobody can use the model."""


def require_no_nan(weights: dict[str, Tensor]) -> None:
    """Raise `NanWeights`, naming the first of these weights that holds nan, or a number beyond all use."""
    for name, p in weights.items():
        if not p.is_floating_point():
            continue
        if p.isnan().any():
            raise NanWeights(f"{name} holds numbers that are none (nan)")
        is_log = ".log_" in name
        most = LARGEST_LOG if is_log else LARGEST_WEIGHT
        beyond = p[(p.abs() > most) & (p.isfinite() | (not is_log))]  # an untrained kernel may have no end
        if beyond.numel():
            raise NanWeights(f"{name} holds {beyond[0]:.3g}: more than {most:g} in size is of no use")


def digest(header: str, weights: dict[str, Tensor]) -> str:
    """SHA-256 of a header and of all weights by name: one flipped bit anywhere changes it."""
    total = hashlib.sha256(header.encode())
    for name, p in sorted(weights.items()):
        total.update(f"{name} {p.dtype} {tuple(p.shape)}".encode())
        total.update(p.flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def stored_digest(path: Path) -> str | None:
    """The checksum that a checkpoint carries, without reading its weights; None if it is none."""
    try:
        with safe_open(path, framework="pt") as file:
            return (file.metadata() or {}).get(DIGEST)
    except (SafetensorError, OSError, ValueError):
        return None


def load(path: Path) -> Checkpoint:
    """Read a checkpoint back.

    Nothing larger than the file itself is made before it is known that the weights fit, and no other file is
    read, whatever path this one names.
    Raises BadInput naming the path if there is no file, if it is damaged, if babygpt did not write
    it, if another format or version of babygpt did, if a field is not of its kind, or if its weights do not
    fit its shape or are no numbers to work with.
    """
    if not path.is_file():
        raise BadInput(f"no checkpoint at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(f"{path} is damaged or no safetensors file: {error}") from None
    header = _header(path, metadata)
    if metadata.get(DIGEST) != digest(metadata[KEY], tensors):
        raise BadInput(f"{path} is damaged: its checksum is not that of what it holds")
    try:
        return _assemble(header, tensors)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError, RecursionError) as error:
        raise BadInput(f"{path} does not fit together: {error}") from None


def _header(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise BadInput(f"{path} holds weights, but babygpt did not write it")
    try:
        header = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is damaged: its header is no JSON ({error})") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise BadInput(f"{path} has checkpoint format {found}; this babygpt reads format {FORMAT}")
    return header


def _assemble(header: dict[str, Any], tensors: dict[str, Tensor]) -> Checkpoint:
    """The checkpoint that a header and its tensors make. Raises what anything raises that does not fit."""
    weights = {name: p for name, p in tensors.items() if not name.startswith(TRAINING)}
    require_header(header)
    tokenizer = CharTokenizer(header["characters"], header["with_mask"])
    config = ModelConfig(**header["config"])
    _require_sane(tokenizer, config, weights)
    version, options = header["version"], header.get("options", {})
    model = _build_fitting(version, config, options, weights)
    model.load_state_dict(weights)
    training = _training_state(header, tensors)
    return Checkpoint(version, model, tokenizer, header.get("info", {}), options, training)


def _training_state(header: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any] | None:
    # Copies: else the file stays mapped into memory, and Windows lets no other take its place.
    mapped = {name: p for name, p in tensors.items() if name.startswith(TRAINING)}
    held = {name.removeprefix(TRAINING): p.clone() for name, p in mapped.items()}
    if "training" not in header and not held:
        return None
    return dict(header["training"]) | held


def _require_sane(tokenizer: CharTokenizer, config: ModelConfig, weights: dict[str, Tensor]) -> None:
    """Raise BadInput if the numbers of a config are others than those of the weights."""
    if tokenizer.vocab_size != config.vocab_size:
        raise BadInput(f"{tokenizer.vocab_size} tokens for a vocab_size of {config.vocab_size}")
    if config.block_size > MAX_BLOCK_SIZE:
        raise BadInput(f"block_size ({config.block_size}) is beyond {MAX_BLOCK_SIZE}")
    table, wanted = tuple(weights["token_embedding.weight"].shape), (config.vocab_size, config.n_embd)
    if table != wanted:
        raise BadInput(f"token_embedding.weight is {table}; vocab_size and n_embd make it {wanted}")
    require_no_nan(weights)


class AllocationLimit(TorchFunctionMode):
    """A context in which no tensor of more than so many numbers can be made by MAKERS, given their size."""

    MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.arange, torch.rand, torch.randn)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.MAKERS:
            sizes = args[0] if args and isinstance(args[0], tuple | list) else args
            wanted = math.prod(size for size in sizes if isinstance(size, int))
            if wanted > self.most:
                raise BadInput(f"it asks for a table of {wanted} numbers, and holds {self.most} at most")
        return func(*args, **(kwargs or {}))


def _build_fitting(
    version: str, config: ModelConfig, options: dict[str, Any], weights: dict[str, Tensor]
) -> LanguageModel:
    """Build a model that these weights fit; raise BadInput if there is none.

    The file's own blocks are counted before any is made: a header can speak of a billion.
    """
    layers = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
    if layers and layers != config.n_layer:
        raise BadInput(f"it holds {layers} blocks; n_layer is {config.n_layer}")
    with AllocationLimit(max(2**16, *(p.numel() for p in weights.values()))):
        model = build(version, replace(config, n_layer=max(layers, 1)), **options)
    shape = model.state_dict()
    if weights.keys() != shape.keys():
        different = ", ".join(sorted(weights.keys() ^ shape.keys())[:3])
        raise BadInput(f"weights that are missing, or too many: {different}")
    for name, p in shape.items():
        if (found := weights[name]).shape != p.shape or found.dtype != p.dtype:
            raise BadInput(
                f"{name} is {tuple(found.shape)} {found.dtype}, and should be {tuple(p.shape)} {p.dtype}"
            )
        if found.is_floating_point() and not found.isfinite().all() and not torch.equal(found, p):
            raise BadInput(f"{name} holds infinite numbers, which its options do not make")
    return model if layers else build(version, config, **options)  # one without blocks takes any n_layer
