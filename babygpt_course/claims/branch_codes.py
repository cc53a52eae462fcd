"""What the claims of notes 002 and 003 ask of the codes themselves: no training, widths as in the notes."""

from __future__ import annotations

from statistics import mean

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding
from babygpt.encodings.fourier import fourier
from babygpt.encodings.rotary import angles, rotate_pairs
from babygpt.models.transformer import norm
from babygpt.models.versions import build
from babygpt.positions import Positions

WIDTH, HEAD_DIM = 512, 64  # of the model that the notes speak of
SCOPE = "the codes by themselves, width 512; heads of 64 channels, half of which turn with the branch"


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


def queries_and_keys(encoding: Encoding, time: int, branch: int, n: int = 256) -> tuple[Tensor, Tensor]:
    """Random queries at time 0 of branch 0, and random keys at another place, as a head compares them.

    encoding  for streams of WIDTH channels and heads of HEAD_DIM
    returns   (n, HEAD_DIM) each; the same tokens and weights in every call
    """
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randn(n, 2, WIDTH, generator=draw)
    weights = torch.randn(2, WIDTH, HEAD_DIM, generator=draw) / WIDTH**0.5
    places = Positions(torch.tensor([0, time]), torch.tensor([0, branch]))
    stream = norm(encoding.embed(tokens, places))
    q, k = (norm(stream @ weight)[:, None] for weight in weights)  # (n, 1, 2, HEAD_DIM)
    q, k = encoding.transform_qk(q, k, places)
    return q[:, 0, 0], k[:, 0, 1]


def interaction(encoding: Encoding, time: int = 5, branch: int = 1) -> float:
    """How far a score is from being the sum of one part for time and one for the branch.

    returns  mean |s(t, b) - s(t, 0) - s(0, b) + s(0, 0)| over the scores' standard deviation; 0 if time and
             branch each add their own part
    """
    places = ((time, branch), (time, 0), (0, branch), (0, 0))
    both, later, beside, here = ((q * k).sum(-1) for q, k in (queries_and_keys(encoding, *p) for p in places))
    return float((both - later - beside + here).abs().mean() / here.std())
