"""What the claims of notes 002 and 003 have in common: codes of branches, and the stored training runs."""

from __future__ import annotations

from functools import cache
from statistics import mean

import torch

from babygpt.config import ModelConfig
from babygpt.encodings.fourier import fourier
from babygpt.encodings.rotary import angles, rotate_pairs
from babygpt.experiments.results import Results, load_results
from babygpt.models.versions import build
from babygpt.positions import Positions

WIDTH, HEAD_DIM = 512, 64  # of the model that the notes speak of
COMMAND = "python -m babygpt figures branches"


def code_cosine(position: int, width: int = WIDTH, theta: float = 10_000.0) -> float:
    """Cosine of the Fourier codes of positions 0 and `position`."""
    first, other = fourier(torch.tensor([0, position]), width, theta).double()
    return float(torch.cosine_similarity(first, other, dim=0))


def code_distance(position: int, width: int = WIDTH, theta: float = 10_000.0) -> float:
    """Euclidean distance of the Fourier codes of positions 0 and `position`."""
    first, other = fourier(torch.tensor([0, position]), width, theta).double()
    return float((first - other).norm())


def rope_cosine(position: int, width: int = HEAD_DIM // 2, theta: float = 10_000.0) -> float:
    """Cosine of a vector of ones and itself, turned by RoPE to `position` in all of its pairs."""
    ones = torch.ones(1, width, dtype=torch.float64)
    turned = rotate_pairs(ones, angles(torch.tensor([position]), width, theta))
    return float(torch.cosine_similarity(ones, turned)[0])


@torch.inference_mode()
def logit_difference(stride: int, scale: float = 1.0, width: int = WIDTH, seeds: int = 3) -> float:
    """Mean change of the logits when the same text is said to be branch 1 instead of branch 0.

    The models are untrained, with random weights where ours begin with zeros; the head's are multiplied
    by `scale`.
    """
    positions = Positions.arange(16)
    changes = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = build("v6", ModelConfig(64, 16, n_layer=2, n_head=8, n_embd=width), stride=stride)
        for name, p in model.named_parameters():
            if name.endswith(("out.weight", "head.weight")):
                torch.nn.init.normal_(p, std=0.02 * (scale if name.startswith("head") else 1.0))
        idx = torch.randint(64, (1, 16))
        one, other = (model(idx, Positions(positions.time, torch.full((16,), b))) for b in (0, 1))
        changes.append(float((one - other).abs().mean()))
    return mean(changes)


def seed_values(run: str, key: str) -> list[float]:
    """What the stored runs of a name measured, such as "alone" or "gap 2": one number a seed."""
    return list(stored_results()["runs"][run][key])


def losses_among(run: str, n: int) -> list[float]:
    """Loss of n branches, 1 for a text alone, after the stored runs of a name: one number a seed."""
    alone = seed_values(run, "alone")
    if n == 1:
        return alone
    return [loss + gap for loss, gap in zip(alone, seed_values(run, f"gap {n}"), strict=True)]


def text_floor() -> float:
    """Entropy of the text that the stored runs were trained on, nats per character."""
    return float(stored_results()["floor"])


def seed_mean(run: str, key: str) -> float:
    """The mean of what the stored runs of a name measured."""
    return mean(seed_values(run, key))


@cache
def stored_results() -> Results:
    """The results of the study of branch codes, read once."""
    return load_results("branches")
