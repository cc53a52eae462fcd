"""The ladder: which model and which encoding each version is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Rotary, Sinusoidal
from babygpt.models.bag_of_tokens import BagOfTokens
from babygpt.models.base import LanguageModel
from babygpt.models.learned_positions import BagWithPositions
from babygpt.models.transformer import Transformer


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it: its name in words and how it is made."""

    title: str
    make: Callable[[ModelConfig], LanguageModel]


VERSIONS: dict[str, Version] = {
    "v1": Version("bag of tokens", BagOfTokens),
    "v2": Version("learned positions", BagWithPositions),
    "v3": Version("sinusoidal", lambda c: Transformer(c, Sinusoidal(c.n_embd))),
    "v4": Version("RoPE", lambda c: Transformer(c, Rotary(c.head_dim))),
    "nope": Version("no encoding", lambda c: Transformer(c, Encoding())),
    "learned": Version(
        "learned positions, with attention",
        lambda c: Transformer(c, LearnedPositions(c.block_size, c.n_embd)),
    ),
    "alibi": Version("ALiBi", lambda c: Transformer(c, ALiBi(c.n_head))),
}


def build(version: str, config: ModelConfig) -> LanguageModel:
    """Make an untrained model of a version.

    version   "v1" to "v4" for the ladder; "nope", "learned", "alibi" beside it
    config    the shape
    Raises ValueError for a version that does not exist.
    """
    if version not in VERSIONS:
        raise ValueError(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    return VERSIONS[version].make(config)
