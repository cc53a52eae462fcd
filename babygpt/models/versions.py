"""The ladder: which model and which encoding each version is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from babygpt.config import ModelConfig
from babygpt.encodings import (
    ALiBi,
    Encoding,
    ExactPhase,
    Fourier,
    GatesLast,
    KeysOnly,
    LearnedBranches,
    LearnedPhase,
    LearnedPositions,
    Polar,
    PoPE,
    Quadrature,
    RandomBranches,
    RandomPhase,
    Rotary,
    Rotary2D,
    Sinusoidal,
    gaussian,
)
from babygpt.errors import BadInput
from babygpt.memory import require_memory_for_model
from babygpt.models.bag_of_tokens import BagOfTokens, BagWithPositions
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    make      makes it; takes the config, and as keywords what may be chosen
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, and so looks both ways and needs a MASK token
    blocks    whether it has any Transformer blocks
    """

    title: str
    make: Callable[..., LanguageModel]
    branches: bool = False
    masks: bool = False
    blocks: bool = True


def parallel(encoding: Callable[..., Encoding]) -> Callable[..., LanguageModel]:
    """How a model of parallel branches is made, with or without the mask that isolates them."""

    def make(config: ModelConfig, isolated: bool = False, **options: Any) -> LanguageModel:
        return Transformer(config, encoding(config, **options), isolated=isolated)

    return make


def denoiser(title: str, encoding: Callable[..., Encoding]) -> Version:
    """A model that fills in masked tokens: no token is hidden from another."""
    return Version(title, lambda c, **o: Transformer(c, encoding(c, **o), causal=False), masks=True)


VERSIONS: dict[str, Version] = {
    "v1": Version("bag of tokens", BagOfTokens, blocks=False),
    "v2": Version("learned positions", BagWithPositions, blocks=False),
    "v3": Version("sinusoidal", lambda c: Transformer(c, Sinusoidal(c.n_embd))),
    "v4": Version("RoPE", lambda c: Transformer(c, Rotary(c.head_dim))),
    "v5": Version("Gaussian RoPE", lambda c, **o: Transformer(c, gaussian(c.head_dim, **o))),
    "v6": Version(
        "Fourier branches", parallel(lambda c, **o: Fourier(c.head_dim, c.n_embd, **o)), branches=True
    ),
    "v7": denoiser("Polar gates, repaired", lambda c, **o: LearnedPhase(c.n_head, c.head_dim, **o)),
    "nope": Version("no encoding", lambda c: Transformer(c, Encoding())),
    "learned": Version(
        "learned positions, with attention",
        lambda c: Transformer(c, LearnedPositions(c.block_size, c.n_embd)),
    ),
    "alibi": Version("ALiBi", lambda c: Transformer(c, ALiBi(c.n_head))),
    "pope": Version("PoPE", lambda c: Transformer(c, PoPE(c.n_head, c.head_dim))),
    "v5-absolute": Version(
        "Gaussian RoPE as the note has it",
        lambda c, **o: Transformer(c, gaussian(c.head_dim, kernel="absolute", **o)),
    ),
    "v6-none": Version("branches without a code", parallel(lambda c: Rotary(c.head_dim)), branches=True),
    "v6-learned": Version(
        "learned branches", parallel(lambda c, **o: LearnedBranches(c.head_dim, c.n_embd, **o)), branches=True
    ),
    "v6-random": Version(
        "random branches", parallel(lambda c, **o: RandomBranches(c.head_dim, c.n_embd, **o)), branches=True
    ),
    "v6-rope2d": Version("2-D RoPE", parallel(lambda c, **o: Rotary2D(c.head_dim, **o)), branches=True),
    "v7-polar": denoiser("Polar gates as the note has them", lambda c, **o: Polar(c.head_dim, **o)),
    "v7-exact": denoiser("... with the exact phase", lambda c, **o: ExactPhase(c.head_dim, **o)),
    "v7-random": denoiser("... and a random one", lambda c, **o: RandomPhase(c.head_dim, **o)),
    "v7-last": denoiser("... and gates after the norm", lambda c, **o: GatesLast(c.head_dim, **o)),
    "v7-keys": denoiser("... and alpha on keys only", lambda c, **o: KeysOnly(c.head_dim, **o)),
    "v7-quadrature": denoiser(
        "... and a sine beside each cosine", lambda c, **o: Quadrature(c.head_dim, **o)
    ),
    "v7-pope": denoiser("PoPE diffusion", lambda c, **o: PoPE(c.n_head, c.head_dim, **o)),
    "v7-rope": denoiser("RoPE diffusion", lambda c: Rotary(c.head_dim)),
    "v7-nope": denoiser("diffusion without an encoding", lambda c: Encoding()),
    "v7-alibi": denoiser("ALiBi diffusion", lambda c: ALiBi(c.n_head)),
}


def build(version: str, config: ModelConfig, **options: Any) -> LanguageModel:
    """Make an untrained model of a version.

    version   one of VERSIONS: "v1" to "v7" for the ladder; "nope", "learned", "alibi", ... beside it
    config    the shape
    options   what its encoding lets one choose, such as sigmas for v5, stride for v6
    Raises ValueError for a version that does not exist, or one whose weights do not fit into memory.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    require_memory_for_model(config, VERSIONS[version].blocks)
    return VERSIONS[version].make(config, **options)
