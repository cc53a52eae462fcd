"""A trained model in one safetensors file: weights in the body, everything else as JSON in the header.

No pickle anywhere: a checkpoint can be opened without trusting who made it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build

FORMAT = 1
KEY = "babygpt"  # where our JSON stands in the header
DIGEST = "sha256"  # where the checksum of everything stands


@dataclass(frozen=True)
class Checkpoint:
    """A model with what is needed to use it.

    version    such as "v4"
    model      its weights loaded, on the CPU
    tokenizer  the characters that it knows
    info       how it was trained: whatever JSON was saved with it
    options    what was chosen of its encoding when it was built
    """

    version: str
    model: LanguageModel
    tokenizer: CharTokenizer
    info: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def save(path: Path, checkpoint: Checkpoint, overwrite: bool = False) -> None:
    """Write a checkpoint whole or not at all.

    path        of the file, by custom ending in .safetensors; missing folders are made
    overwrite   whether a file that is there already may be replaced
    Raises ValueError if it may not.
    """
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists already; choose another path or say overwrite")
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
    weights = {name: p.detach().cpu().contiguous() for name, p in checkpoint.model.state_dict().items()}
    text = json.dumps(header)
    write_atomically(path, to_bytes(weights, metadata={KEY: text, DIGEST: digest(text, weights)}))


def digest(header: str, weights: dict[str, Tensor]) -> str:
    """SHA-256 of a header and of all weights by name: one flipped bit anywhere changes it."""
    total = hashlib.sha256(header.encode())
    for name, p in sorted(weights.items()):
        total.update(f"{name} {p.dtype} {tuple(p.shape)}".encode())
        total.update(p.flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        os.chmod(name, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load(path: Path) -> Checkpoint:
    """Read a checkpoint back.

    Raises ValueError naming the path if there is no file, if it is damaged, if babygpt did not write
    it, if another format or version of babygpt did, or if its weights do not fit its shape.
    """
    if not path.is_file():
        raise ValueError(f"no checkpoint at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or no safetensors file: {error}") from None
    header = _header(path, metadata)
    if metadata.get(DIGEST) != digest(metadata[KEY], weights):
        raise ValueError(f"{path} is damaged: its checksum is not that of what it holds")
    try:
        tokenizer = CharTokenizer(header["characters"], header["with_mask"])
        config = ModelConfig(**header["config"])
        if tokenizer.vocab_size != config.vocab_size:
            raise ValueError(f"{tokenizer.vocab_size} tokens for a vocab_size of {config.vocab_size}")
        options = header.get("options", {})
        model = build(header["version"], config, **options)
        model.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{path} does not fit together: {error}") from None
    return Checkpoint(header["version"], model, tokenizer, header.get("info", {}), options)


def _header(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise ValueError(f"{path} holds weights, but babygpt did not write it")
    try:
        header = json.loads(metadata[KEY])
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is damaged: its header is no JSON ({error})") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else header
        raise ValueError(f"{path} has checkpoint format {found}; this babygpt reads format {FORMAT}")
    return header
