"""Table of all versions: which model and which encoding each of them is."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from babygpt import encodings as enc
from babygpt.config import ModelConfig, require_kinds
from babygpt.device import require_memory_to_build
from babygpt.errors import BadInput, suggestion
from babygpt.models.language_model import BagOfTokens, BagWithPositions, LanguageModel
from babygpt.models.transformer import Transformer


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    encoding  makes its encoding; None for v1 and v2. An argument without a default is a number of a
              ModelConfig, such as head_dim. Any other is an option of `build`, and a flag of `train`
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, so that it looks both ways and needs a MASK token
    bag       v1 and v2: makes the model, which has no Transformer blocks
    """

    title: str
    encoding: Callable[..., enc.Encoding] | None = None
    branches: bool = False
    masks: bool = False
    bag: Callable[..., LanguageModel] | None = None

    def make_encoding(self, config: ModelConfig, **options: Any) -> enc.Encoding:
        """Return its encoding for a model of this shape, with these options.

        Raises BadInput for a value of another kind or one that no encoding can have, and TypeError for an
        unknown option.
        """
        assert self.encoding is not None
        require_kinds(self.encoding, options)
        needed = [p.name for p in self.arguments() if p.default is p.empty]
        with impossible_sizes_refused(f"{self.title} with {options or config}"):
            return self.encoding(*(getattr(config, name) for name in needed), **options)

    def options(self) -> dict[str, Any]:
        """Return all options of its encoding: name -> default."""
        return {p.name: p.default for p in self.arguments() if p.default is not p.empty}

    def arguments(self) -> list[inspect.Parameter]:
        """Return the arguments that its encoding is made of, without *args and **kwargs."""
        parameters = inspect.signature(self.encoding).parameters.values() if self.encoding else ()
        return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


@contextmanager
def impossible_sizes_refused(title: str) -> Iterator[None]:
    """Raise BadInput in place of the errors by which PyTorch refuses sizes that no table can have."""
    try:
        yield
    except (ArithmeticError, RuntimeError, MemoryError, TypeError) as error:
        if isinstance(error, TypeError) and "unexpected keyword" in str(error):
            raise  # an unknown option, which is a mistake in code
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInput(f"{title} cannot be made: {reason}") from error


denoiser = partial(Version, masks=True)
VERSIONS: dict[str, Version] = {
    # the ladder
    "v1": Version("bag of tokens", bag=BagOfTokens),
    "v2": Version("learned positions", bag=BagWithPositions),
    "v3": Version("sinusoidal", enc.Sinusoidal),
    "v4": Version("RoPE", enc.Rotary),
    "v5": Version("Gaussian RoPE", enc.gaussian),
    "v6": Version("Fourier branches", enc.Fourier, branches=True),
    "v7": denoiser("Polar gates, repaired", enc.LearnedPhase),
    # beside it: one text, next token
    "nope": Version("no encoding", enc.Encoding),
    "learned": Version(
        "learned, with attention", lambda block_size, n_embd: enc.LearnedPositions(block_size, n_embd)
    ),
    "alibi": Version("ALiBi", enc.ALiBi),
    "t5": Version("T5's buckets", enc.T5Bias),
    "kerple-log": Version("KERPLE, logarithmic", enc.LogKernel),
    "fire": Version("FIRE", enc.FIRE),
    "pope": Version("PoPE", enc.PoPE),
    "partial": Version("partial RoPE", enc.PartialRotary),
    "v4-shift": Version("RoPE with token shift", enc.ShiftedRotary),
    "nope-shift": Version("token shift alone", enc.TokenShift),
    "v4-nope": Version("RoPE and NoPE in turn", enc.rope_and_none),
    "v4-interpolated": Version("RoPE, interpolated", enc.Interpolated),
    "v4-ntk": Version("RoPE, NTK-aware", enc.NTKAware),
    "v4-dynamic": Version("RoPE, dynamic NTK", enc.DynamicNTK),
    "v4-yarn": Version("RoPE, YaRN", enc.YaRN),
    "v5-absolute": Version("the note's Gaussian RoPE", enc.AbsoluteGaussian),
    # several texts in one sequence
    "v6-none": Version("branches without a code", enc.NoBranchCode, branches=True),
    "v6-learned": Version("learned branches", enc.LearnedBranches, branches=True),
    "v6-random": Version("random branches", enc.RandomBranches, branches=True),
    "v6-rope2d": Version("2-D RoPE", enc.Rotary2D, branches=True),
    # diffusion: the note's gates, each repair on top of those before it, and rivals
    "v7-polar": denoiser("Polar gates as the note has them", enc.Polar),
    "v7-exact": denoiser("... with the exact phase", enc.ExactPhase),
    "v7-random": denoiser("... and a random one", enc.RandomPhase),
    "v7-last": denoiser("... and gates after the norm", enc.GatesLast),
    "v7-keys": denoiser("... and alpha on keys only", enc.KeysOnly),
    "v7-quadrature": denoiser("... and a sine beside each cosine", enc.Quadrature),
    "v7-pope": denoiser("PoPE diffusion", enc.PoPE),
    "v7-rope": denoiser("RoPE diffusion", enc.Rotary),
    "v7-nope": denoiser("diffusion without an encoding", enc.Encoding),
    "v7-alibi": denoiser("ALiBi diffusion", enc.ALiBi),
}


def require_version(version: Any) -> Version:
    """Return the version of a name. Raise BadInput for any other, with the name that was probably meant."""
    if isinstance(version, str) and version in VERSIONS:
        return VERSIONS[version]
    titles = [kind.title for kind in VERSIONS.values()]
    hint = suggestion(version, VERSIONS, titles)
    own = ": a model with an encoding of your own is Transformer(config, encoding)"
    hint = own if isinstance(version, enc.Encoding) else hint
    raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}{hint}")


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
    returns    the model, which knows its version and its options, so that `save` can store them
    Raises BadInput for an unknown version, and for layers that do not fit the model; TypeError for an unknown
    option.
    """
    kind = require_version(version)
    require_memory_to_build(config, 0 if kind.bag else config.n_layer)
    chosen = dict(options)
    if layers is not None:
        chosen["layers"] = list(layers)
    elif per_layer:
        chosen["per_layer"], layers = True, [version] * config.n_layer
    model: LanguageModel
    if kind.bag:
        if layers is not None:
            raise BadInput(f"{version} has no layers for encodings of their own")
        with impossible_sizes_refused(f"{version} with {config}"):
            model = kind.bag(config, **options)
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
    model, encodings, unknown = VERSIONS[version], [], set(options)
    for name in names:
        kind = VERSIONS.get(name)
        if kind is None or kind.bag or kind.masks > model.masks or kind.branches > model.branches:
            raise BadInput(f"layers ({', '.join(names)}): {name} is no encoding for a layer of {version}")
        taken = kind.options().keys() & options.keys()
        encodings.append(kind.make_encoding(config, **{option: options[option] for option in taken}))
        if isinstance(encodings[-1], enc.PerLayer):
            raise BadInput(f"{name} has an encoding for each layer already")
        unknown -= taken
    if unknown:
        raise TypeError(f"no layer's encoding takes {', '.join(sorted(unknown))}")
    return enc.PerLayer(encodings)
