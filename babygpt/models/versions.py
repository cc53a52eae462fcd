"""All versions in one table: which model and which encoding each of them is."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from babygpt import encodings as enc
from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, PerLayer
from babygpt.encodings.gaussian import AbsoluteGaussian
from babygpt.errors import BadInput
from babygpt.memory import require_memory_for_model
from babygpt.models.language_model import BagOfTokens, BagWithPositions, LanguageModel
from babygpt.models.transformer import Transformer


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    encoding  makes its encoding; arguments with a default are options that a user may choose. None for v1, v2
    needs     the numbers of a ModelConfig that come first in a call of `encoding`, such as "head_dim n_embd"
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, so that it looks both ways and needs a MASK token
    bag       v1 and v2: the model, which has no Transformer blocks
    """

    title: str
    encoding: Callable[..., Encoding] | None = None
    needs: str = ""
    branches: bool = False
    masks: bool = False
    bag: Callable[..., LanguageModel] | None = None

    def make_encoding(self, config: ModelConfig, **options: Any) -> Encoding:
        """Return its encoding for a model of this shape, with these options."""
        assert self.encoding is not None
        return self.encoding(*(getattr(config, name) for name in self.needs.split()), **options)

    def options(self) -> dict[str, Any]:
        """Return the options of its encoding: name -> default."""
        if self.encoding is None:
            return {}
        names = inspect.signature(self.encoding).parameters.values()
        return {p.name: p.default for p in names if p.default is not p.empty}


VERSIONS: dict[str, Version] = {
    # the ladder
    "v1": Version("bag of tokens", bag=BagOfTokens),
    "v2": Version("learned positions", bag=BagWithPositions),
    "v3": Version("sinusoidal", enc.Sinusoidal, "n_embd"),
    "v4": Version("RoPE", enc.Rotary, "head_dim"),
    "v5": Version("Gaussian RoPE", enc.gaussian, "head_dim"),
    "v6": Version("Fourier branches", enc.Fourier, "head_dim n_embd", branches=True),
    "v7": Version("Polar gates, repaired", enc.LearnedPhase, "n_head head_dim", masks=True),
    # beside it: one text, next token
    "nope": Version("no encoding", Encoding),
    "learned": Version("learned positions, with attention", enc.LearnedPositions, "block_size n_embd"),
    "alibi": Version("ALiBi", enc.ALiBi, "n_head"),
    "t5": Version("T5's buckets", enc.T5Bias, "n_head"),
    "kerple-log": Version("KERPLE, logarithmic", enc.LogKernel, "n_head"),
    "kerple-power": Version("KERPLE, power", enc.PowerKernel, "n_head"),
    "fire": Version("FIRE", enc.FIRE, "n_head"),
    "pope": Version("PoPE", enc.PoPE, "n_head head_dim"),
    "xpos": Version("xPos", enc.XPos, "head_dim"),
    "partial": Version("partial RoPE", enc.PartialRotary, "head_dim"),
    "v4-nope": Version("RoPE, and layers without", enc.rope_and_none, "head_dim n_layer"),
    "v4-interpolated": Version("RoPE, positions interpolated", enc.Interpolated, "head_dim"),
    "v4-ntk": Version("RoPE, NTK-aware", enc.NTKAware, "head_dim"),
    "v4-yarn": Version("RoPE, YaRN", enc.YaRN, "head_dim block_size"),
    "v5-absolute": Version("Gaussian RoPE as the note has it", AbsoluteGaussian, "head_dim"),
    # several texts in one sequence
    "v6-none": Version("branches without a code", enc.NoBranchCode, "head_dim", branches=True),
    "v6-learned": Version("learned branches", enc.LearnedBranches, "head_dim n_embd", branches=True),
    "v6-random": Version("random branches", enc.RandomBranches, "head_dim n_embd", branches=True),
    "v6-rope2d": Version("2-D RoPE", enc.Rotary2D, "head_dim", branches=True),
    # diffusion: the note's gates, each repair on top of those before it, and rivals
    "v7-polar": Version("Polar gates as the note has them", enc.Polar, "head_dim", masks=True),
    "v7-exact": Version("... with the exact phase", enc.ExactPhase, "head_dim", masks=True),
    "v7-random": Version("... and a random one", enc.RandomPhase, "head_dim", masks=True),
    "v7-last": Version("... and gates after the norm", enc.GatesLast, "head_dim", masks=True),
    "v7-keys": Version("... and alpha on keys only", enc.KeysOnly, "head_dim", masks=True),
    "v7-quadrature": Version("... and a sine beside each cosine", enc.Quadrature, "head_dim", masks=True),
    "v7-pope": Version("PoPE diffusion", enc.PoPE, "n_head head_dim", masks=True),
    "v7-rope": Version("RoPE diffusion", enc.Rotary, "head_dim", masks=True),
    "v7-nope": Version("diffusion without an encoding", Encoding, masks=True),
    "v7-alibi": Version("ALiBi diffusion", enc.ALiBi, "n_head", masks=True),
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
    kind = VERSIONS[version]
    require_memory_for_model(config, blocks=kind.bag is None)
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
    """Return the encoding of each layer. Each takes those of the options that it knows.

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
        if isinstance(made[-1], PerLayer):
            raise BadInput(f"{name} has an encoding for each layer already")
        unknown -= taken
    if unknown:
        raise TypeError(f"no layer's encoding takes {', '.join(sorted(unknown))}")
    return made
