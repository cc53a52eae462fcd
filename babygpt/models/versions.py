"""The ladder: which model and which encoding each version is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from babygpt.config import ModelConfig
from babygpt.encodings import (
    FIRE,
    ALiBi,
    Encoding,
    ExactPhase,
    Fourier,
    GatesLast,
    Interpolated,
    KeysOnly,
    LearnedBranches,
    LearnedPhase,
    LearnedPositions,
    LogKernel,
    NoBranchCode,
    NTKAware,
    PartialRotary,
    PerLayer,
    Polar,
    PoPE,
    PowerKernel,
    Quadrature,
    RandomBranches,
    RandomPhase,
    Rotary,
    Rotary2D,
    Sinusoidal,
    T5Bias,
    XPos,
    YaRN,
    gaussian,
    rope_and_none,
)
from babygpt.encodings.gaussian import AbsoluteGaussian
from babygpt.errors import BadInput
from babygpt.memory import require_memory_for_model
from babygpt.models.bag_of_tokens import BagOfTokens, BagWithPositions
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    encoding  makes its encoding, of `shape` and of keywords, which are what may be chosen; None for v1 and v2
    shape     what the encoding must know of the model's shape
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, and so looks both ways and needs a MASK token
    bag       v1 and v2: the model, which has no Transformer blocks
    """

    title: str
    encoding: Callable[..., Encoding] | None = None
    shape: Callable[[ModelConfig], tuple[int, ...]] = lambda _: ()
    branches: bool = False
    masks: bool = False
    bag: Callable[..., LanguageModel] | None = None

    @property
    def blocks(self) -> bool:
        """Whether it has any Transformer blocks."""
        return self.bag is None

    def make_encoding(self, config: ModelConfig, **options: Any) -> Encoding:
        """Its encoding, for a model of this shape; options are what the encoding lets one choose."""
        assert self.encoding is not None
        return self.encoding(*self.shape(config), **options)

    def options(self) -> dict[str, Any]:
        """What its encoding lets one choose: name -> default."""
        if self.encoding is None:
            return {}
        names = list(inspect.signature(self.encoding).parameters.values())
        return {p.name: p.default for p in names if p.default is not p.empty}


def head(config: ModelConfig) -> tuple[int]:
    """Channels of a head."""
    return (config.head_dim,)


def heads(config: ModelConfig) -> tuple[int, int]:
    """Heads, and channels of one."""
    return config.n_head, config.head_dim


def head_and_width(config: ModelConfig) -> tuple[int, int]:
    """Channels of a head, and of the model."""
    return config.head_dim, config.n_embd


VERSIONS: dict[str, Version] = {
    "v1": Version("bag of tokens", bag=BagOfTokens),
    "v2": Version("learned positions", bag=BagWithPositions),
    "v3": Version("sinusoidal", Sinusoidal, lambda c: (c.n_embd,)),
    "v4": Version("RoPE", Rotary, head),
    "v5": Version("Gaussian RoPE", gaussian, head),
    "v6": Version("Fourier branches", Fourier, head_and_width, branches=True),
    "v7": Version("Polar gates, repaired", LearnedPhase, heads, masks=True),
    "nope": Version("no encoding", Encoding),
    "learned": Version(
        "learned positions, with attention", LearnedPositions, lambda c: (c.block_size, c.n_embd)
    ),
    "alibi": Version("ALiBi", ALiBi, lambda c: (c.n_head,)),
    "t5": Version("T5's buckets", T5Bias, lambda c: (c.n_head,)),
    "kerple-log": Version("KERPLE, logarithmic", LogKernel, lambda c: (c.n_head,)),
    "kerple-power": Version("KERPLE, power", PowerKernel, lambda c: (c.n_head,)),
    "fire": Version("FIRE", FIRE, lambda c: (c.n_head,)),
    "pope": Version("PoPE", PoPE, heads),
    "xpos": Version("xPos", XPos, head),
    "partial": Version("partial RoPE", PartialRotary, head),
    "v4-nope": Version("RoPE, and layers without", rope_and_none, lambda c: (c.head_dim, c.n_layer)),
    "v4-interpolated": Version("RoPE, positions interpolated", Interpolated, head),
    "v4-ntk": Version("RoPE, NTK-aware", NTKAware, head),
    "v4-yarn": Version("RoPE, YaRN", YaRN, lambda c: (c.head_dim, c.block_size)),
    "v5-absolute": Version("Gaussian RoPE as the note has it", AbsoluteGaussian, head),
    "v6-none": Version("branches without a code", NoBranchCode, head, branches=True),
    "v6-learned": Version("learned branches", LearnedBranches, head_and_width, branches=True),
    "v6-random": Version("random branches", RandomBranches, head_and_width, branches=True),
    "v6-rope2d": Version("2-D RoPE", Rotary2D, head, branches=True),
    "v7-polar": Version("Polar gates as the note has them", Polar, head, masks=True),
    "v7-exact": Version("... with the exact phase", ExactPhase, head, masks=True),
    "v7-random": Version("... and a random one", RandomPhase, head, masks=True),
    "v7-last": Version("... and gates after the norm", GatesLast, head, masks=True),
    "v7-keys": Version("... and alpha on keys only", KeysOnly, head, masks=True),
    "v7-quadrature": Version("... and a sine beside each cosine", Quadrature, head, masks=True),
    "v7-pope": Version("PoPE diffusion", PoPE, heads, masks=True),
    "v7-rope": Version("RoPE diffusion", Rotary, head, masks=True),
    "v7-nope": Version("diffusion without an encoding", Encoding, masks=True),
    "v7-alibi": Version("ALiBi diffusion", ALiBi, lambda c: (c.n_head,), masks=True),
}


def build(
    version: str,
    config: ModelConfig,
    per_layer: bool = False,
    layers: Sequence[str] | None = None,
    **options: Any,
) -> LanguageModel:
    """Make an untrained model of a version.

    version    one of VERSIONS: "v1" to "v7" for the ladder; "nope", "learned", "alibi", ... beside it
    config     the shape
    per_layer  whether each layer has an encoding of its own, alike at first but for what is drawn at random
    layers     for each layer the version whose encoding it has, such as ("v4", "v4", "nope", "v4")
    options    what its encoding lets one choose, such as sigmas for v5, stride for v6; and for several texts
               `isolated`, whether each sees nothing of the others
    Raises ValueError for a version that does not exist, or one whose weights do not fit into memory, and for
    layers that do not fit the model.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    kind = VERSIONS[version]
    require_memory_for_model(config, kind.blocks)
    if kind.bag:
        if per_layer or layers is not None:
            raise BadInput(f"{version} has no layers for encodings of their own")
        return kind.bag(config, **options)
    isolated = {"isolated": options.pop("isolated", False)} if kind.branches else {}
    if per_layer or layers is not None:
        names = [version] * config.n_layer if layers is None else layers
        encoding: Encoding = PerLayer(encodings_of(version, config, names, options))
    else:
        encoding = kind.make_encoding(config, **options)
    return Transformer(config, encoding, causal=not kind.masks, **isolated)


def encodings_of(
    version: str, config: ModelConfig, names: Sequence[str], options: dict[str, Any]
) -> list[Encoding]:
    """The encoding of each layer; each takes those of the options that it knows.

    Raises ValueError for a layer whose encoding needs what the model does not tell, or for a wrong number of
    layers, and TypeError for an option that no layer takes.
    """
    if len(names) != config.n_layer:
        raise BadInput(
            f"layers ({', '.join(names)}) name {len(names)} encodings; n_layer is {config.n_layer}"
        )
    needs = VERSIONS[version]
    for name in names:
        other = VERSIONS.get(name)
        if other is None or other.bag or other.masks > needs.masks or other.branches > needs.branches:
            raise BadInput(f"layers ({', '.join(names)}): {name} is no encoding for a layer of {version}")
    taken = {name: VERSIONS[name].options() for name in names}
    if unknown := options.keys() - {option for known in taken.values() for option in known}:
        raise TypeError(f"no layer's encoding takes {', '.join(sorted(unknown))}")
    made = [
        VERSIONS[name].make_encoding(config, **{o: x for o, x in options.items() if o in taken[name]})
        for name in names
    ]
    for name, encoding in zip(names, made, strict=True):
        if isinstance(encoding, PerLayer):
            raise BadInput(f"{name} has an encoding for each layer already")
    return made
