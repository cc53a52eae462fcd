"""Encodings from outside in a checkpoint: their names, digests of their files and a few logits, never code.

A checkpoint may come from a stranger, so a name in it runs nothing: the user gives the class, and the logits
show whether it still computes what it computed when the model was saved.
"""

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import (
    encoding_name,
    own_classes,
    require_different_names,
    source_digest,
)
from babygpt.models.versions import VERSIONS, VersionName, require_version
from babygpt.training.lost_changes import add_noise, nearly_equal, outputs

N_LOGITS = 32  # This many logits of the last token suffice to notice another encoding.
Given = VersionName | Sequence[VersionName] | None  # what `load` takes as its encoding
Classes = Mapping[str, type[Encoding]]  # by the names that a checkpoint gives them
Digests = Mapping[str, str | None]  # of the file of each, None if it was written in a notebook


# ---------------------------------------------------------------- writing


def names_of(model: LanguageModel) -> dict[str, Any]:
    """Return a model's version and options as JSON can hold them: a class by its name."""
    options = dict(model.options)
    if "layers" in options:
        options["layers"] = [require_version(layer).name for layer in options["layers"]]
    return {"version": require_version(model.version).name, "options": options}


def stored_encodings(model: LanguageModel) -> dict[str, Any]:
    """Return what a checkpoint holds of a model's encodings from outside; nothing where it has none.

    Warns, once for each class, that a class without a file has no digest.
    """
    digests = {encoding_name(encoding): source_digest(encoding) for encoding in own_classes(model)}
    for name, sha256 in digests.items():
        if sha256 is None:
            warnings.warn(
                f"{name} was written in no file, as in a notebook: the checkpoint has no digest of its code, "
                "and `load` compares logits alone",
                stacklevel=3,
            )
    if not digests:
        return {}
    return {"encodings": digests, "logits": few_logits(model)}


def few_logits(model: LanguageModel) -> list[list[float]]:
    """Return some logits of a random text, of a copy with noise added to its weights.

    The last layers of an untrained model are 0 and hide all others, hence the noise.
    """
    device = next(model.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
        noisy = deepcopy(model).eval()
        add_noise(noisy)
        rows = [logits[0, -1, :N_LOGITS].double().tolist() for logits in outputs(noisy)]
    return [[float(f"{x:.7g}") for x in row] for row in rows]


# ---------------------------------------------------------------- reading


def classes_for(path: Path, digests: Digests, encoding: Given) -> Classes:
    """Return the classes that a checkpoint needs, by the names that it gives them.

    digests   of the files of its encodings from outside, as it stores them
    encoding  what the user gave: one class, or a file and a class, or several of them
    Raises BadInput if one is missing, if the only one is not needed, and if two have one name.
    """
    several = [encoding] if isinstance(encoding, str | type) else list(encoding or ())
    classes = [own_class(each) for each in several]
    require_different_names(classes)
    by_name = {each.__qualname__: each for each in classes}
    needed = {name: by_name.get(name.rpartition(":")[2]) for name in digests}
    missing = [name for name, each in needed.items() if each is None]
    if missing and not classes:
        name = missing[0].rpartition(":")[2]
        file = missing[0].rpartition(":")[0] or "FILE.py"
        raise BadInput(
            f"{path} has the encoding {missing[0]}, and loading runs no code that a checkpoint names: "
            f"give it, as in load(path, encoding={name}), or in the shell --encoding {file}:{name}"
        )
    names = ", ".join(map(encoding_name, classes))
    if missing:
        raise BadInput(f"{path} has the encoding {', '.join(missing)}, and {names} is another one")
    if classes and not needed and isinstance(encoding, str | type):
        raise BadInput(f"{path} has no encoding from outside, and {names} was given")
    return {name: each for name, each in needed.items() if each is not None}


def own_class(encoding: VersionName) -> type[Encoding]:
    """Return the class of an encoding from outside. Raise BadInput for one of babygpt's own."""
    version = require_version(encoding)
    if version.own is None:
        raise BadInput(f"encoding ({version.name}) is babygpt's own; only one from outside has to be given")
    return version.own


def buildable_version(name: Any, classes: Classes) -> VersionName:
    """Return what `build` takes for a name in a checkpoint: a name of VERSIONS, or a class that was given.

    Raises BadInput for any other name, which `build` could take for a file to run.
    """
    if name in classes:
        return classes[name]
    if name in VERSIONS:
        return str(name)
    raise BadInput(f"version ({name}) must be one of {', '.join(VERSIONS)}")


def changed_files(digests: Digests, classes: Classes) -> str:
    """Return in words which encodings' files differ from those at the time of saving; "" if none does."""
    pairs = {name: (digests[name], source_digest(each)) for name, each in classes.items()}
    changed = [name for name, (old, new) in pairs.items() if old and new and old != new]
    return f"the file of {' and of '.join(changed)} has changed since" if changed else ""


def require_same_encodings(header: Mapping[str, Any], classes: Classes, model: LanguageModel) -> None:
    """Raise BadInput unless a model's encodings from outside give the logits that were stored.

    They are compared also where every file is the one that the model was saved with, because it may import
    others. A file that has changed and gives the same logits is named in a warning.
    """
    digests: Digests = header.get("encodings", {})
    if not digests:
        return
    dtype = next(model.parameters()).dtype
    ours, theirs = (
        [torch.tensor(row).to(dtype) for row in rows] for rows in (few_logits(model), header["logits"])
    )
    if len(ours) != len(theirs) or not all(map(nearly_equal, ours, theirs)):
        raise BadInput(f"{' and '.join(classes)} gives other logits than when the model was saved")
    if changed := changed_files(digests, classes):
        warnings.warn(f"{changed} the model was saved, and its logits have not", stacklevel=4)
