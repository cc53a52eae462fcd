"""Small checkpoints of every version with the logits that they gave, kept to be loaded by all later code.

`python -m tests.training.kept_checkpoints` writes those of versions that have none yet. It overwrites
nothing: a checkpoint that no longer loads is a finding, and never replaced.
"""

from pathlib import Path

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Encoding
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions
from babygpt.training.checkpoint import save

FOLDER = Path(__file__).parent / "checkpoints"
SHAPE = ModelConfig(vocab_size=6, block_size=12, n_layer=2, n_head=2, n_embd=8)
CHARACTERS = "\n abc"
TEXT = [1, 4, 2, 0, 3, 2, 2, 4, 1, 0, 3, 4]
OPTIONS = {"fire": {"width": 4}, "v4-yarn": {"factor": 4.0}, "v5": {"theta": 500.0}, "v6": {"stride": 7}}


def kept_logits(model: LanguageModel) -> Tensor:
    """Return the logits of the text in a form that the version takes: (12, vocab_size)."""
    kind, idx, steps = VERSIONS[str(model.version)], torch.tensor([TEXT]), torch.arange(len(TEXT))
    masked = steps % 3 == 1
    if kind.masks:
        idx = idx.masked_fill(masked, SHAPE.vocab_size - 1)
    positions = Positions(steps // 2, steps % 2) if kind.branches else Positions(steps)
    if kind.masks:
        positions = Positions(steps, masked=masked[None])
    with torch.inference_mode():
        return model(idx, positions)[0]


@torch.no_grad()
def randomized(version: str) -> LanguageModel:
    """Return a model with random weights and with changed numbers, so that each of them decides outputs."""
    draw = torch.Generator().manual_seed(57)
    torch.manual_seed(57)  # of buffers that are drawn when the model is built
    model = build(version, SHAPE, **OPTIONS.get(version, {}))
    for p in model.parameters():
        p.add_(0.5 * torch.randn(p.shape, generator=draw))
    for encoding in (module for module in model.modules() if isinstance(module, Encoding)):
        for name in encoding.numbers:
            if isinstance(value := vars(encoding).get(name), float | int):
                setattr(encoding, name, type(value)(value * 2))
    return model


def write_missing(folder: Path = FOLDER) -> list[str]:
    """Write a checkpoint of each version that has none, with its logits as info; return their names."""
    missing = [name for name in VERSIONS if not (folder / f"{name}.safetensors").exists()]
    for name in missing:
        masks = VERSIONS[name].masks
        tokenizer = CharTokenizer(CHARACTERS if masks else f"{CHARACTERS}d", with_mask=masks)
        model = randomized(name)
        save(folder / f"{name}.safetensors", model, tokenizer, {"logits": kept_logits(model)})
    return missing


if __name__ == "__main__":
    print(*write_missing())
