"""Table of all versions: which model and which encoding each of them is.

A class stands in it as `lambda: enc.Rotary`, so that `--help` lists the versions without importing PyTorch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from babygpt.config import ModelConfig
from babygpt.errors import BadInput


class LazyModule:
    """Module that is imported when one of its names is first used."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.module), name)


if TYPE_CHECKING:
    from babygpt import encodings as enc
    from babygpt.models import language_model as bags
else:
    enc, bags = LazyModule("babygpt.encodings"), LazyModule("babygpt.models.language_model")


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    encoding  returns what makes its encoding; None for v1 and v2
    needs     numbers of a ModelConfig that come first in a call of that, such as "head_dim n_embd"
    settings  arguments of that call which have a default and are flags of `train`
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, so that it looks both ways and needs a MASK token
    bag       v1 and v2: returns the model, which has no Transformer blocks
    """

    title: str
    encoding: Callable[[], Callable[..., enc.Encoding]] | None = None
    needs: str = ""
    settings: str = ""
    branches: bool = False
    masks: bool = False
    bag: Callable[[], Callable[..., bags.LanguageModel]] | None = None

    def make_encoding(self, config: ModelConfig, **options: Any) -> enc.Encoding:
        """Return its encoding for a model of this shape, with these options."""
        assert self.encoding is not None
        return self.encoding()(*(getattr(config, name) for name in self.needs.split()), **options)

    def options(self) -> dict[str, Any]:
        """Return all options of its encoding: name -> default."""
        names = inspect.signature(self.encoding()).parameters.values() if self.encoding else ()
        return {p.name: p.default for p in names if p.default is not p.empty}


denoiser = partial(Version, masks=True)
VERSIONS: dict[str, Version] = {
    # the ladder
    "v1": Version("bag of tokens", bag=lambda: bags.BagOfTokens),
    "v2": Version("learned positions", bag=lambda: bags.BagWithPositions),
    "v3": Version("sinusoidal", lambda: enc.Sinusoidal, "n_embd", "theta"),
    "v4": Version("RoPE", lambda: enc.Rotary, "head_dim", "theta"),
    "v5": Version("Gaussian RoPE", lambda: enc.gaussian, "head_dim", "theta kernel alphas sigmas learnable"),
    "v6": Version("Fourier branches", lambda: enc.Fourier, "head_dim n_embd", branches=True),
    "v7": denoiser("Polar gates, repaired", lambda: enc.LearnedPhase, "n_head head_dim", "theta alpha"),
    # beside it: one text, next token
    "nope": Version("no encoding", lambda: enc.Encoding),
    "learned": Version("learned, with attention", lambda: enc.LearnedPositions, "block_size n_embd"),
    "alibi": Version("ALiBi", lambda: enc.ALiBi, "n_head", "steepness"),
    "t5": Version("T5's buckets", lambda: enc.T5Bias, "n_head", "n_buckets furthest both_ways"),
    "kerple-log": Version("KERPLE, logarithmic", lambda: enc.LogKernel, "n_head"),
    "fire": Version("FIRE", lambda: enc.FIRE, "n_head", "width threshold"),
    "pope": Version("PoPE", lambda: enc.PoPE, "n_head head_dim", "theta"),
    "xpos": Version("xPos", lambda: enc.XPos, "head_dim", "theta scale_base"),
    "partial": Version("partial RoPE", lambda: enc.PartialRotary, "head_dim", "theta share"),
    "v4-nope": Version("RoPE and NoPE in turn", lambda: enc.rope_and_none, "head_dim n_layer", "theta every"),
    "v4-interpolated": Version("RoPE, interpolated", lambda: enc.Interpolated, "head_dim", "theta factor"),
    "v4-ntk": Version("RoPE, NTK-aware", lambda: enc.NTKAware, "head_dim", "theta factor"),
    "v4-yarn": Version("RoPE, YaRN", lambda: enc.YaRN, "head_dim block_size", "theta factor"),
    "v5-absolute": Version(
        "the note's Gaussian RoPE", lambda: enc.AbsoluteGaussian, "head_dim", "theta alphas sigmas learnable"
    ),
    # several texts in one sequence
    "v6-none": Version("branches without a code", lambda: enc.NoBranchCode, "head_dim", branches=True),
    "v6-learned": Version("learned branches", lambda: enc.LearnedBranches, "head_dim n_embd", branches=True),
    "v6-random": Version("random branches", lambda: enc.RandomBranches, "head_dim n_embd", branches=True),
    "v6-rope2d": Version("2-D RoPE", lambda: enc.Rotary2D, "head_dim", branches=True),
    # diffusion: the note's gates, each repair on top of those before it, and rivals
    "v7-polar": denoiser("Polar gates as the note has them", lambda: enc.Polar, "head_dim", "theta alpha"),
    "v7-exact": denoiser("... with the exact phase", lambda: enc.ExactPhase, "head_dim", "theta alpha"),
    "v7-random": denoiser("... and a random one", lambda: enc.RandomPhase, "head_dim", "theta alpha"),
    "v7-last": denoiser("... and gates after the norm", lambda: enc.GatesLast, "head_dim", "theta alpha"),
    "v7-keys": denoiser("... and alpha on keys only", lambda: enc.KeysOnly, "head_dim", "theta alpha"),
    "v7-quadrature": denoiser(
        "... and a sine beside each cosine", lambda: enc.Quadrature, "head_dim", "theta alpha"
    ),
    "v7-pope": denoiser("PoPE diffusion", lambda: enc.PoPE, "n_head head_dim", "theta"),
    "v7-rope": denoiser("RoPE diffusion", lambda: enc.Rotary, "head_dim", "theta"),
    "v7-nope": denoiser("diffusion without an encoding", lambda: enc.Encoding),
    "v7-alibi": denoiser("ALiBi diffusion", lambda: enc.ALiBi, "n_head", "steepness"),
}


def build(
    version: str,
    config: ModelConfig,
    per_layer: bool = False,
    layers: Sequence[str] | None = None,
    **options: Any,
) -> bags.LanguageModel:
    """Make an untrained model of a version.

    version    one of VERSIONS: "v1" to "v7" for the ladder; "nope", "learned", "alibi", ... beside it
    config     the shape
    per_layer  whether each layer has an encoding of its own; these begin alike, except for random numbers
    layers     for each layer the version whose encoding it has, such as ("v4", "v4", "nope", "v4")
    options    options of its encoding, such as sigmas for v5 or stride for v6; and for several texts
               `isolated`, whether each sees nothing of the others
    returns    the model, which knows its version and its options, so that `save` can store them
    Raises BadInput for an unknown version, and for layers that do not fit the model; TypeError for an unknown
    option.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    from babygpt.models.transformer import Transformer

    kind = VERSIONS[version]
    chosen = dict(options)
    if layers is not None:
        chosen["layers"] = list(layers)
    elif per_layer:
        chosen["per_layer"], layers = True, [version] * config.n_layer
    model: bags.LanguageModel
    if kind.bag:
        if layers is not None:
            raise BadInput(f"{version} has no layers for encodings of their own")
        model = kind.bag()(config, **options)
    else:
        isolated = {"isolated": options.pop("isolated", False)} if kind.branches else {}
        if layers is not None:
            encoding: enc.Encoding = encoding_per_layer(version, config, layers, **options)
        else:
            encoding = kind.make_encoding(config, **options)
        model = Transformer(config, encoding, causal=not kind.masks, **isolated)
    model.version, model.options = version, chosen
    return model


def encoding_per_layer(
    version: str, config: ModelConfig, names: Sequence[str], **options: Any
) -> enc.PerLayer:
    """Return an encoding of its own for each layer. Each takes those of the options that it knows.

    Raises BadInput for a wrong number of layers, and for a layer whose encoding needs branches or masks that
    the model does not have; TypeError for an option that no layer takes.
    """
    if len(names) != config.n_layer:
        raise BadInput(
            f"layers ({', '.join(names)}) name {len(names)} encodings; n_layer is {config.n_layer}"
        )
    model, made, unknown = VERSIONS[version], [], set(options)
    for name in names:
        kind = VERSIONS.get(name)
        if kind is None or kind.bag or kind.masks > model.masks or kind.branches > model.branches:
            raise BadInput(f"layers ({', '.join(names)}): {name} is no encoding for a layer of {version}")
        taken = kind.options().keys() & options.keys()
        made.append(kind.make_encoding(config, **{option: options[option] for option in taken}))
        if isinstance(made[-1], enc.PerLayer):
            raise BadInput(f"{name} has an encoding for each layer already")
        unknown -= taken
    if unknown:
        raise TypeError(f"no layer's encoding takes {', '.join(sorted(unknown))}")
    return enc.PerLayer(made)
