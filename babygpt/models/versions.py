"""All versions in one table: which model and which encoding each of them is.

The table holds names, so that `--help` lists the versions without waiting for PyTorch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from babygpt.config import ModelConfig
from babygpt.errors import BadInput

if TYPE_CHECKING:
    from babygpt.encodings import Encoding, PerLayer
    from babygpt.models.language_model import LanguageModel


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    encoding  file of babygpt.encodings, and what makes the encoding there; "" for v1 and v2
    takes     arguments of that call: first numbers of a ModelConfig; after ";" those that have a default and
              are flags of `train`
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, so that it looks both ways and needs a MASK token
    bag       v1 and v2: the model, which has no Transformer blocks
    """

    title: str
    encoding: str = ""
    takes: str = ""
    branches: bool = False
    masks: bool = False
    bag: str | None = None

    @property
    def settings(self) -> list[str]:
        """Arguments of its encoding that are flags of `train`."""
        return self.takes.partition(";")[2].split()

    def make_encoding(self, config: ModelConfig, **options: Any) -> Encoding:
        """Return its encoding for a model of this shape, with these options."""
        numbers = [getattr(config, name) for name in self.takes.partition(";")[0].split()]
        return self.maker()(*numbers, **options)

    def maker(self) -> Callable[..., Any]:
        """Return the class or function that makes its encoding."""
        return resolve_name(f"babygpt.encodings.{self.encoding}")

    def options(self) -> dict[str, Any]:
        """Return all options of its encoding: name -> default."""
        names = inspect.signature(self.maker()).parameters.values() if self.encoding else ()
        return {p.name: p.default for p in names if p.default is not p.empty}


VERSIONS: dict[str, Version] = {
    # the ladder
    "v1": Version("bag of tokens", bag="BagOfTokens"),
    "v2": Version("learned positions", bag="BagWithPositions"),
    "v3": Version("sinusoidal", "sinusoidal:Sinusoidal", "n_embd; theta"),
    "v4": Version("RoPE", "rotary:Rotary", "head_dim; theta"),
    "v5": Version("Gaussian RoPE", "gaussian:gaussian", "head_dim; theta kernel alphas sigmas learnable"),
    "v6": Version("Fourier branches", "fourier:Fourier", "head_dim n_embd", branches=True),
    "v7": Version("Polar gates, repaired", "polar:LearnedPhase", "n_head head_dim; theta alpha", masks=True),
    # beside it: one text, next token
    "nope": Version("no encoding", "base:Encoding"),
    "learned": Version("learned positions, with attention", "learned:LearnedPositions", "block_size n_embd"),
    "alibi": Version("ALiBi", "alibi:ALiBi", "n_head; steepness"),
    "t5": Version("T5's buckets", "learned_biases:T5Bias", "n_head; n_buckets furthest both_ways"),
    "kerple-log": Version("KERPLE, logarithmic", "learned_biases:LogKernel", "n_head"),
    "kerple-power": Version("KERPLE, power", "learned_biases:PowerKernel", "n_head"),
    "fire": Version("FIRE", "learned_biases:FIRE", "n_head; width threshold"),
    "pope": Version("PoPE", "polar:PoPE", "n_head head_dim; theta"),
    "xpos": Version("xPos", "rotary_variants:XPos", "head_dim; theta scale_base"),
    "partial": Version("partial RoPE", "rotary_variants:PartialRotary", "head_dim; theta share"),
    "v4-nope": Version("RoPE, and layers without", "layers:rope_and_none", "head_dim n_layer; theta every"),
    "v4-interpolated": Version("interpolated RoPE", "rotary_variants:Interpolated", "head_dim; theta factor"),
    "v4-ntk": Version("RoPE, NTK-aware", "rotary_variants:NTKAware", "head_dim; theta factor"),
    "v4-yarn": Version("RoPE, YaRN", "rotary_variants:YaRN", "head_dim block_size; theta factor"),
    "v5-absolute": Version(
        "the note's Gaussian RoPE", "gaussian:AbsoluteGaussian", "head_dim; theta alphas sigmas learnable"
    ),
    # several texts in one sequence
    "v6-none": Version("branches without a code", "fourier:NoBranchCode", "head_dim", branches=True),
    "v6-learned": Version("learned branches", "fourier:LearnedBranches", "head_dim n_embd", branches=True),
    "v6-random": Version("random branches", "fourier:RandomBranches", "head_dim n_embd", branches=True),
    "v6-rope2d": Version("2-D RoPE", "rotary:Rotary2D", "head_dim", branches=True),
    # diffusion: the note's gates, each repair on top of those before it, and rivals
    "v7-polar": Version("the note's polar gates", "polar:Polar", "head_dim; theta alpha", masks=True),
    "v7-exact": Version("... with the exact phase", "polar:ExactPhase", "head_dim; theta alpha", masks=True),
    "v7-random": Version("... and a random one", "polar:RandomPhase", "head_dim; theta alpha", masks=True),
    "v7-last": Version("... and gates last", "polar:GatesLast", "head_dim; theta alpha", masks=True),
    "v7-keys": Version("... and alpha on keys only", "polar:KeysOnly", "head_dim; theta alpha", masks=True),
    "v7-quadrature": Version("... in quadrature", "polar:Quadrature", "head_dim; theta alpha", masks=True),
    "v7-pope": Version("PoPE diffusion", "polar:PoPE", "n_head head_dim; theta", masks=True),
    "v7-rope": Version("RoPE diffusion", "rotary:Rotary", "head_dim; theta", masks=True),
    "v7-nope": Version("diffusion without an encoding", "base:Encoding", masks=True),
    "v7-alibi": Version("ALiBi diffusion", "alibi:ALiBi", "n_head; steepness", masks=True),
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
    per_layer  whether each layer has an encoding of its own; these begin alike, except for random numbers
    layers     for each layer the version whose encoding it has, such as ("v4", "v4", "nope", "v4")
    options    options of its encoding, such as sigmas for v5 or stride for v6; and for several texts
               `isolated`, whether each sees nothing of the others
    Raises BadInput for an unknown version, for weights that do not fit into memory, and for layers that do
    not fit the model; TypeError for an unknown option.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    from babygpt.memory import require_memory_for_model
    from babygpt.models.transformer import Transformer

    kind = VERSIONS[version]
    require_memory_for_model(config, blocks=kind.bag is None)
    if per_layer and layers is None:
        layers = [version] * config.n_layer
    if kind.bag:
        if layers is not None:
            raise BadInput(f"{version} has no layers for encodings of their own")
        return resolve_name(f"babygpt.models.language_model:{kind.bag}")(config, **options)
    isolated = {"isolated": options.pop("isolated", False)} if kind.branches else {}
    if layers is None:
        encoding = kind.make_encoding(config, **options)
    else:
        encoding = encoding_per_layer(version, config, layers, **options)
    return Transformer(config, encoding, causal=not kind.masks, **isolated)


def encoding_per_layer(version: str, config: ModelConfig, names: Sequence[str], **options: Any) -> PerLayer:
    """Return an encoding of its own for each layer. Each takes those of the options that it knows.

    Raises BadInput for a wrong number of layers, and for a layer whose encoding needs branches or masks that
    the model does not have; TypeError for an option that no layer takes.
    """
    from babygpt.encodings import PerLayer

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
        if isinstance(made[-1], PerLayer):
            raise BadInput(f"{name} has an encoding for each layer already")
        unknown -= taken
    if unknown:
        raise TypeError(f"no layer's encoding takes {', '.join(sorted(unknown))}")
    return PerLayer(made)
