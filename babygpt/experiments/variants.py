"""Variants of a comparison: versions and own encodings, each with the options that it is built with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding
from babygpt.errors import BadInput, suggestion
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import source_digest, source_key
from babygpt.models.versions import Version, VersionName, build, require_version

# What may stand for a variant: "v4", Sandwich, ("v4-shift", {"back": 2})
VariantName: TypeAlias = VersionName | tuple[VersionName, Mapping[str, Any]]


@dataclass(frozen=True, repr=False)
class Candidate:
    """A variant of a comparison, in plain values that a worker can be sent. Its text names its runs.

    name      of the version with its options, such as "v4", "mine.py:Sandwich" or "v4-shift (back 2)"
    version   what `build` takes
    title     the version's name in words; of a class from outside the first line of its docstring
    masks     whether it fills in masked characters
    branches  whether it reads several texts
    digest    SHA-256 of the files of encodings from outside; None for our own and for a class without a file
    source    what tells encodings from outside from others of their names, as `source_key` does
    rate      factor of both learning rates
    options   of `build`, by name
    """

    name: str
    version: VersionName
    title: str
    masks: bool = False
    branches: bool = False
    digest: str | None = None
    source: str = ""
    rate: float = 1.0
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """Name of its runs, which differs for other options, another file and another rate."""
        file = f" ({self.source})" if self.source else ""
        return self.name + file + (f", rates x {self.rate:g}" if self.rate != 1 else "")

    def __repr__(self) -> str:
        return self.key

    @property
    def goal(self) -> str:
        """The task that it learns, in words. Losses of different goals cannot be compared."""
        if self.masks:
            return "fill in masked characters"
        return "predict the next character" + (" of several texts" if self.branches else "")

    def build(self, config: ModelConfig) -> LanguageModel:
        """Make an untrained model.

        Raises BadInput if an encoding's file has changed since the beginning, and for options that the
        encoding or a model of this shape cannot have.
        """
        if digest_of(own_encodings(self.version, dict(self.options))) != self.digest:
            raise BadInput(f"the file of {self.name} has changed since the comparison began: start it again")
        if not self.options:
            return build(self.version, config)
        try:
            return build(self.version, config, **dict(self.options))
        except BadInput as error:
            raise BadInput(f"{self.name}: {error}") from error


def candidate_of(variant: VariantName) -> Candidate:
    """Return the variant that a version stands for, or a pair of a version and its options.

    Raises BadInput for an unknown version or option, and for a value that no file of results can hold.
    """
    version: Any = variant
    options: Any = {}
    if isinstance(variant, tuple | list):
        if len(variant) != 2 or not isinstance(variant[1], Mapping):
            raise BadInput(
                f'variant ({variant}) must be a version and its options, as in ("v4-shift", {{"back": 2}})'
            )
        version, options = variant
    kind = require_version(version)
    require_options(kind, options)
    plain = tuple((name, plain_value(name, options[name])) for name in sorted(options))
    words = ", ".join(f"{name} {option_text(value)}" for name, value in plain)
    own = own_encodings(version, options)
    docstring = (kind.own.__doc__ or "").strip() if kind.own else ""
    return Candidate(
        f"{kind.name} ({words})" if words else kind.name,
        version,
        docstring.partition("\n")[0].rstrip(".") or kind.title,
        kind.masks,
        kind.branches,
        digest_of(own),
        ", ".join(map(source_key, own)),
        options=plain,
    )


def require_options(kind: Version, options: Mapping[str, Any]) -> None:
    """Raise BadInput, naming the option and those that there are, for one that a version does not have."""
    rows = [require_version(layer) for layer in options.get("layers") or ()] or [kind]
    names = [name for row in rows for name in row.options()]
    names += [] if kind.bag else ["per_layer", "layers"]
    names += ["isolated"] if kind.branches else []
    for name in options:
        if name not in names:
            has = ", ".join(dict.fromkeys(names)) or "none"
            raise BadInput(f"{kind.name} has no option {name}; it has {has}{suggestion(name, names)}")


def plain_value(name: str, value: Any) -> Any:
    """Return an option's value as a number, text or tuple, so that it can name runs and stand in JSON.

    Raises BadInput for any other value. Only layers may be classes.
    """
    if getattr(value, "ndim", None) == 0:  # a number of NumPy or PyTorch
        value = value.item()
    if isinstance(value, tuple | list):
        return tuple(plain_value(name, part) for part in value)
    is_layer = name == "layers" and isinstance(value, type)
    if not (value is None or is_layer or isinstance(value, bool | int | float | str)):
        raise BadInput(
            f"{name} ({value!r}) must be a number, a text, True or False, or a list of these in a comparison"
        )
    return value


def option_text(value: Any) -> str:
    """Return an option's value as text, the same for 100 from Python and 100.0 from the shell."""
    if isinstance(value, tuple):
        return " ".join(map(option_text, value))
    if isinstance(value, type):
        return require_version(value).name
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value) if is_whole else value)


def as_json(value: Any) -> Any:
    """Return an option's value as JSON can hold it: classes by name, numbers that are not finite as text."""
    if isinstance(value, tuple):
        return [as_json(part) for part in value]
    is_infinite = isinstance(value, float) and not isfinite(value)
    return option_text(value) if is_infinite or isinstance(value, type) else value


def own_encodings(version: VersionName, options: Mapping[str, Any]) -> list[type[Encoding]]:
    """Return the classes from outside that a variant is made of, those of its layers too, each once."""
    kinds = map(require_version, [version, *(options.get("layers") or ())])
    return list(dict.fromkeys(kind.own for kind in kinds if kind.own))


def digest_of(own: Sequence[type[Encoding]]) -> str | None:
    """Return the digests of the files of some classes, or None where there is no file."""
    return "+".join(source_digest(encoding) or "" for encoding in own) or None


def candidates_of(variants: Sequence[VariantName]) -> list[Candidate]:
    """Return the variants that versions name, each alone or in a pair with its options.

    Raises BadInput for fewer than two, an unknown one or an unknown option, one that is named twice, and for
    different goals.
    """
    if len(variants) < 2:
        raise BadInput(f"{len(variants)} variants: a comparison needs at least 2, such as v4 alibi")
    candidates = [candidate_of(variant) for variant in variants]
    names = [candidate.name for candidate in candidates]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"{twice[0]} is named twice: each variant is compared once")
    first = candidates[0]
    for candidate in candidates:
        if candidate.goal != first.goal:
            raise BadInput(
                f"{first.name} learns to {first.goal} and {candidate.name} to {candidate.goal}: "
                "their losses differ, so compare them in two commands"
            )
    return candidates
