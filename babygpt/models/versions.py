"""Table of all versions: which model and which encoding each of them is."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from babygpt import encodings as enc
from babygpt.config import ModelConfig, require_kinds
from babygpt.device import require_memory_to_build
from babygpt.errors import BadInput, first_line, suggestion
from babygpt.models.hook_checks import require_sound_hooks
from babygpt.models.language_model import BagOfTokens, BagWithPositions, LanguageModel
from babygpt.models.own_encodings import (
    encoding_class,
    encoding_name,
    name_faults,
    options_apart,
    require_different_names,
    require_encoding_class,
    source_digest,
)
from babygpt.models.transformer import Transformer

VersionName: TypeAlias = str | type[enc.Encoding]  # what may stand for a version


@dataclass(frozen=True)
class Version:
    """One rung of the ladder, or a model beside it.

    title     its name in words
    encoding  makes its encoding; None for v1 and v2. An argument without a default is a number of a
              ModelConfig, such as head_dim. Any other is an option of `build`, and a flag of `train`
    branches  whether its encoding needs positions.branch: which of several texts a token belongs to
    masks     whether it fills in masked tokens, so that it looks both ways and needs a MASK token
    bag       v1 and v2: makes the model, which has no Transformer blocks
    own       the class of an encoding from outside babygpt, or None
    """

    title: str
    encoding: Callable[..., enc.Encoding] | None = None
    branches: bool = False
    masks: bool = False
    bag: Callable[..., LanguageModel] | None = None
    own: type[enc.Encoding] | None = None

    @property
    def name(self) -> str:
        """The version's name: "v4", or "mine.py:Sandwich" for an encoding from outside."""
        return self.title if self.own else next(name for name, row in VERSIONS.items() if row is self)

    def make_encoding(self, config: ModelConfig, **options: Any) -> enc.Encoding:
        """Return its encoding for a model of this shape, with these options.

        Raises BadInput for a value of another kind or one that no encoding can have, and TypeError for an
        unknown option.
        """
        assert self.encoding is not None
        require_kinds(self.encoding, options)
        needed = {p.name: getattr(config, p.name) for p in self.arguments() if p.default is p.empty}
        if self.own:
            if unknown := options.keys() - self.options().keys():
                hint = suggestion(min(unknown), self.options())
                raise TypeError(f"{self.title} has no option {', '.join(sorted(unknown))}{hint}")
            with name_faults(self.own, "__init__"):
                encoding = self.own(**needed, **options)
            require_sound_hooks(encoding, config, self.branches, self.masks)
            return encoding
        with refuse_impossible_sizes(f"{self.title} with {options or config}"):
            return self.encoding(**needed, **options)

    def options(self) -> dict[str, Any]:
        """Return all options of its encoding: name -> default."""
        return {p.name: p.default for p in self.arguments() if p.default is not p.empty}

    def arguments(self) -> list[inspect.Parameter]:
        """Return the arguments that its encoding is made of, without *args and **kwargs."""
        parameters = inspect.signature(self.encoding).parameters.values() if self.encoding else ()
        return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


@contextmanager
def refuse_impossible_sizes(title: str) -> Iterator[None]:
    """Raise BadInput in place of the errors by which PyTorch refuses sizes that no table can have."""
    try:
        yield
    except (ArithmeticError, RuntimeError, MemoryError, TypeError) as error:
        if isinstance(error, TypeError) and "unexpected keyword" in str(error):
            raise  # an unknown option, which is a mistake in code
        reason = first_line(error)
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
    """Return the version that a name or a class stands for.

    version  one of VERSIONS; a class of Encoding; "mine.py:Sandwich", a file and a class in it, which is run;
             or a name that an installed package registered as an entry point of babygpt.encodings
    Raises BadInput for anything else, with the name that was probably meant, and the errors of
    `encoding_class`.
    """
    if isinstance(version, str) and version in VERSIONS:
        return VERSIONS[version]
    if isinstance(version, type):
        return version_of_class(require_encoding_class(version.__qualname__, version))
    if isinstance(version, str) and (encoding := encoding_class(version)):
        return version_of_class(encoding)
    if isinstance(version, str) and version.split(" --")[0] in VERSIONS:
        raise BadInput(options_apart(version))
    titles = [kind.title for kind in VERSIONS.values()]
    hint = suggestion(version, VERSIONS, titles)
    kind = type(version).__name__
    if isinstance(version, LanguageModel):
        raise BadInput(f"version is a model ({kind}): give a name, a class of Encoding, or FILE.py:CLASS")
    if isinstance(version, enc.Encoding):
        hint = f": give the class, as in build({kind}, config), or write Transformer(config, encoding)"
    elif isinstance(version, str) and not hint and ":" in version:
        hint = "; a class in a file is FILE.py:CLASS"
    raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}{hint}")


def version_of_class(encoding: type[enc.Encoding]) -> Version:
    """Return the first row of VERSIONS that has this class, or else a version of its own.

    `for_branches = True` in a class is for several texts in one sequence, and `for_masks = True` for filling
    in masked tokens; without them its model predicts the next token.
    """
    for version in VERSIONS.values():
        if version.encoding is encoding:
            return version
    source_digest(encoding)  # reads the file now, before anybody edits it
    title, branches, masks = encoding_name(encoding), encoding.for_branches, encoding.for_masks
    return Version(title, encoding, branches=branches, masks=masks, own=encoding)


def build(
    version: VersionName,
    config: ModelConfig,
    per_layer: bool = False,
    layers: Sequence[VersionName] | None = None,
    **options: Any,
) -> LanguageModel:
    """Make an untrained model of a version, or of an encoding of your own.

    version    one of VERSIONS: "v1" to "v7" for the ladder; "nope", "learned", "alibi", ... beside it. Or a
               class of Encoding, or a file and a class in it, as "mine.py:Sandwich". An argument of its
               __init__ without a default is a number of the config, such as n_head, any other an option
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
    chosen, rows = dict(options), list[Version]()
    if kind.bag and (per_layer or layers is not None):
        raise BadInput(f"{kind.name} has no layers for encodings of their own")
    if layers is not None:
        rows = layer_versions(kind, config, layers)
        chosen["layers"] = [row.own or row.name for row in rows]
    elif per_layer:
        chosen["per_layer"], rows = True, [kind] * config.n_layer
    model: LanguageModel
    if kind.bag:
        with refuse_impossible_sizes(f"{kind.name} with {config}"):
            model = kind.bag(config, **options)
    else:
        settings = dict(options)  # of the encoding; for several texts `isolated` belongs to the body
        is_isolated = settings.pop("isolated", False) if kind.branches else False
        if rows:
            encoding: enc.Encoding = encoding_per_layer(config, rows, **settings)
        else:
            encoding = kind.make_encoding(config, **settings)
        model = Transformer(config, encoding, causal=not kind.masks, isolated=is_isolated)
    model.version, model.options = kind.own or kind.name, chosen
    return model


def layer_versions(model: Version, config: ModelConfig, layers: Sequence[VersionName]) -> list[Version]:
    """Return the version whose encoding each layer of a model has.

    Raises BadInput for a wrong number of layers, for a layer whose encoding needs branches or masks that the
    model does not have, and for two encodings of one name.
    """
    names = [layer.__qualname__ if isinstance(layer, type) else str(layer) for layer in layers]
    listed, rows = ", ".join(names), list[Version]()
    if len(names) != config.n_layer:
        raise BadInput(f"layers ({listed}) name {len(names)} encodings; n_layer is {config.n_layer}")
    for name, layer in zip(names, layers, strict=True):
        refusal = f"layers ({listed}): {name} is no encoding for a layer of {model.name}"
        try:
            row = require_version(layer)
        except BadInput as error:
            raise BadInput(f"{refusal}: {error}") from error
        if row.bag or row.masks > model.masks or row.branches > model.branches:
            raise BadInput(refusal)
        rows.append(row)
    require_different_names([row.own for row in (model, *rows) if row.own])
    return rows


def encoding_per_layer(config: ModelConfig, versions: Sequence[Version], **options: Any) -> enc.PerLayer:
    """Return the encoding of its version for each layer. Each takes those of the options that it knows.

    Raises BadInput for an encoding that differs from layer to layer by itself; TypeError for an option that
    no layer takes.
    """
    encodings, unknown = list[enc.Encoding](), set(options)
    for version in versions:
        taken = version.options().keys() & options.keys()
        encodings.append(version.make_encoding(config, **{option: options[option] for option in taken}))
        if isinstance(encodings[-1], enc.PerLayer):
            raise BadInput(f"{version.name} has an encoding for each layer already")
        unknown -= taken
    if unknown:
        raise TypeError(f"no layer's encoding takes {', '.join(sorted(unknown))}")
    return enc.PerLayer(encodings)
