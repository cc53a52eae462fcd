"""Checkpoints: a model in one safetensors file.

Weights stand in the body of the file, everything else as JSON in its header. A checkpoint holds no pickle:
you can open one without trusting its author.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.models.inputs import require_model
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import encoding_name, own_classes
from babygpt.models.versions import build, require_version
from babygpt.training.loop import WHAT_TO_TRY
from babygpt.training.lost_changes import require_same_outputs
from babygpt.training.stored_encodings import (
    Classes,
    Given,
    buildable_version,
    changed_files,
    classes_for,
    names_of,
    require_same_encodings,
    stored_encodings,
)

FORMAT = 2
KEY = "babygpt"  # safetensors keeps texts by name in its header; our JSON has this name
TRAINING = "training/"  # begins the names of tensors that belong to the state of training
# Errors that code raises where the parts of a file do not belong together.
UNFIT = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError)


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with everything that is needed to use it.

    model      on the CPU; its `version` and `options` are those that it was built with
    tokenizer  the characters that it knows
    info       how it was trained: whatever JSON was saved with it
    training   state of its training, as `training_state` returns it; None when the training is over
    """

    model: LanguageModel
    tokenizer: CharTokenizer
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] | None = None

    @property
    def version(self) -> str:
        """The name of the model's version, such as "v4" or "mine.py:Sandwich"."""
        return require_version(self.model.version).name

    @property
    def options(self) -> dict[str, Any]:
        """The options that the model was built with."""
        return dict(self.model.options)


# ---------------------------------------------------------------- one file


def save(
    path: Path | str,
    model: LanguageModel,
    tokenizer: CharTokenizer,
    info: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    compare: bool = True,
) -> None:
    """Write a model to a file, whole or not at all, so that `load` returns one with the same outputs.

    path       by custom ending in .safetensors; missing folders are made, a file there is replaced
    model      as `build` made it: weights, steered numbers and tied weights may have changed, nothing else.
               Whether weights are frozen (requires_grad) is not stored: all weights of a loaded model train
    tokenizer  the characters that it knows
    info       what else you want to know later: anything that JSON can hold
    training   state of a training that is to go on
    compare    whether to make the model from what the file will hold, and to compare the logits of a short
               random text, which takes about 0.1 s of one core for a model of the course
    Raises BadInput, naming what differs, for a model that `load` could not make again, such as one with hooks
    or with another `causal`, and FloatingPointError if a weight is nan or infinite. A file at `path` then
    stays as it is. A class that was changed for all models, such as `Attention.sharpness`, is not noticed.
    """
    require_saveable(path, model, tokenizer)
    require_finite_weights(model)
    require_rebuildable(model, tokenizer)
    weights = model.state_dict(keep_vars=True)
    tied = tied_names(weights)
    header = {
        "format": FORMAT,
        **names_of(model),
        "config": asdict(model.config),
        "numbers": plain_numbers(model),
        "tied": tied,
        "characters": tokenizer.characters,
        "with_mask": tokenizer.mask_id is not None,
        "info": dict(info or {}),
        **stored_encodings(model),
    }
    tensors = {name: x for name, x in weights.items() if name not in tied}
    if training is not None:
        header["training"] = {name: x for name, x in training.items() if not isinstance(x, Tensor)}
        tensors |= {TRAINING + name: x for name, x in training.items() if isinstance(x, Tensor)}
    # Clones, because safetensors refuses tensors that share memory, as views of one weight do.
    stored = {name: x.detach().cpu().clone().contiguous() for name, x in tensors.items()}
    header["sha256"] = digest(stored)
    text = header_text(header)
    text = header_text({**header, "header_sha256": header_digest(json.loads(text))})
    if compare:
        classes = {encoding_name(encoding): encoding for encoding in own_classes(model)}
        require_same_outputs(model, rebuild(json.loads(text), stored, classes))
    write_atomically(Path(path), to_bytes(stored, metadata={KEY: text}))


def load(path: Path | str, encoding: Given = None) -> Checkpoint:
    """Read a model back from a file that `save` wrote.

    encoding  the class of an encoding from outside, or "mine.py:Sandwich"; or several, of which the needed
              ones are taken. The file names its encoding and holds no code, so it has to be given
    Raises BadInput naming the path if there is no file, if it is damaged, if babygpt did not write it or did
    in another format, if its weights are unusable or do not fit its shape, or if an encoding from outside is
    missing or gives other logits than when the model was saved. A file that has changed since, and whose
    class gives the same logits, is named in a warning.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"no checkpoint at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # Copies: else the file stays mapped into memory, and Windows lets no other take its place.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(f"{path} is damaged or no safetensors file: {error}") from None
    if KEY not in metadata:
        raise BadInput(f"{path} holds weights, but babygpt did not write it")
    try:
        header = dict(json.loads(metadata[KEY]))
        digests = dict(header.get("encodings", {}))
    except UNFIT as error:
        raise misfit(path, error) from None
    classes = classes_for(path, digests, encoding)
    try:
        return _assemble(header, tensors, classes)
    except UNFIT as error:
        changed = changed_files(digests, classes)
        raise misfit(path, error, f"; {changed} it was written" if changed else "") from None


def misfit(path: Path, error: Exception, hint: str = "") -> BadInput:
    """Return the error for a file whose parts do not belong together, in one line."""
    reason = " ".join(str(error).split())  # PyTorch lists weights that do not fit in several lines
    return BadInput(f"{path} does not fit together: {reason}{hint}")


def _assemble(header: dict[str, Any], tensors: dict[str, Tensor], classes: Classes) -> Checkpoint:
    """Build the model of a header and give it its weights and numbers; raises what these raise."""
    if header["format"] != FORMAT:
        raise BadInput(f"it has format {header['format']}, and this babygpt reads {FORMAT}")
    tokenizer = CharTokenizer(header["characters"], header["with_mask"])
    if tokenizer.vocab_size != header["config"]["vocab_size"]:
        vocab_size = header["config"]["vocab_size"]
        raise BadInput(f"{tokenizer.vocab_size} tokens for a vocab_size of {vocab_size}")
    model = rebuild(header, tensors, classes)
    require_finite_weights(model)
    if header["sha256"] != digest(tensors):
        raise BadInput("its weights changed after they were written")
    if header.get("header_sha256", header_digest(header)) != header_digest(header):  # older files have none
        raise BadInput("its settings changed after they were written")
    require_same_encodings(header, classes, model)
    state = {name.removeprefix(TRAINING): x for name, x in tensors.items() if name.startswith(TRAINING)}
    training = header["training"] | state if "training" in header else None
    return Checkpoint(model, tokenizer, dict(header["info"]), training)


def rebuild(
    header: Mapping[str, Any], tensors: Mapping[str, Tensor], classes: Classes | None = None
) -> LanguageModel:
    """Make the model of a checkpoint on the CPU, without drawing from the global random numbers.

    header   the JSON of the file
    tensors  the weights of the model by name, and perhaps the state of its training
    classes  of its encodings from outside, by the names in the header
    Raises the errors in UNFIT if they do not fit together.
    """
    options = dict(header["options"])
    if "layers" in options:
        options["layers"] = [buildable_version(name, classes or {}) for name in options["layers"]]
    with torch.random.fork_rng([]):  # `build` draws weights, which are replaced below
        version = buildable_version(header["version"], classes or {})
        model = build(version, ModelConfig(**header["config"]), **options)
    weights = {name: x for name, x in tensors.items() if not name.startswith(TRAINING)}
    for name, first in header["tied"].items():
        module, _, last = name.rpartition(".")
        setattr(model.get_submodule(module), last, model.get_parameter(first))
        weights[name] = weights[first]
    model.to(next(iter(weights.values())).dtype)
    model.load_state_dict(weights)
    set_numbers(model, header["numbers"])
    return model


# ---------------------------------------------------------------- what a file must hold


def plain_numbers(model: nn.Module) -> dict[str, float]:
    """Return the numbers of a model's encodings that are no weights, such as theta: dotted name -> value."""
    return {
        f"{place}.{name}": vars(module)[name]
        for place, module in model.named_modules()
        if isinstance(module, Encoding)
        for name in module.numbers
        if name in vars(module)
    }


def tied_names(weights: Mapping[str, Tensor]) -> dict[str, str]:
    """Return which weights are the same tensor as an earlier one: their name -> the name of the first."""
    first_names: dict[int, str] = {}
    for name, x in weights.items():
        first_names.setdefault(id(x), name)
    return {name: first_names[id(x)] for name, x in weights.items() if first_names[id(x)] != name}


def set_numbers(model: nn.Module, numbers: Mapping[str, float]) -> None:
    """Set numbers that `plain_numbers` returned. Raises BadInput for a value that a number may not have."""
    for place, value in numbers.items():
        module, _, name = place.rpartition(".")
        encoding = cast(Encoding, model.get_submodule(module))
        setattr(encoding, name, encoding.numbers[name].valid(name, value))


def outline(model: nn.Module) -> dict[str, Any]:
    """Return the class of each module of a model, and the shape of each weight, by dotted names."""
    classes = {f"{place}.class".lstrip("."): type(module).__name__ for place, module in model.named_modules()}
    return classes | {name: tuple(x.shape) for name, x in model.state_dict().items()}


def require_saveable(path: Any, model: Any, tokenizer: Any) -> None:
    """Raise BadInput for the slips of a call of `save`: swapped arguments, a wrapper, weights, a text."""
    if not isinstance(path, str | PathLike):
        raise BadInput(f"the path is a {type(path).__name__}: write save(path, model, tokenizer)")
    require_model(model)
    if not isinstance(tokenizer, CharTokenizer):
        kind = type(tokenizer).__name__
        raise BadInput(f"the tokenizer is a {kind}: save needs the CharTokenizer, such as corpus.tokenizer")


def require_rebuildable(model: LanguageModel, tokenizer: CharTokenizer) -> None:
    """Raise BadInput, naming what differs, unless `build` makes the same model from what a file holds.

    The other model is built without memory for its weights, and without drawing them.
    """
    if model.version is None:
        raise BadInput("save takes a model that build made: this one does not say which version it is")
    if tokenizer.vocab_size != model.config.vocab_size:
        raise BadInput(
            f"the tokenizer has {tokenizer.vocab_size} tokens, and the model's vocab_size is "
            f"{model.config.vocab_size}: save it with the tokenizer that it was trained with"
        )
    with torch.device("meta"):
        rebuilt = build(model.version, model.config, **model.options)
    ours, theirs = outline(model), outline(rebuilt)
    for name in {**theirs, **ours}:
        if ours.get(name) != theirs.get(name):
            version = require_version(model.version).name
            raise BadInput(
                f"{name} is {ours.get(name)}, and build({version!r}) makes {theirs.get(name)}: "
                "save stores weights, options and steered numbers only"
            )


def require_finite_weights(model: nn.Module) -> None:
    """Raise FloatingPointError, naming the first weight that is nan or infinite."""
    for name, p in model.named_parameters():
        broken = p.detach()[~p.detach().isfinite()]
        if broken.numel():
            raise FloatingPointError(f"{name} holds {broken[0]:.3g}, which is of no use: {WHAT_TO_TRY}")


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of tensors, by which a single flipped bit of a file is found."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode() + tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def header_digest(header: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all that a header says but itself, so that an edited setting is found."""
    named = {name: value for name, value in header.items() if name != "header_sha256"}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def header_text(header: Mapping[str, Any]) -> str:
    """Return a header as JSON. Raise BadInput, naming the kind, for what JSON cannot hold."""
    try:
        return json.dumps(header, default=as_json)
    except BadInput:
        raise
    except (TypeError, ValueError, RecursionError) as error:  # a tuple as a key, a list that holds itself
        raise BadInput(f"a checkpoint's info must be JSON: {error}") from None


def as_json(value: Any) -> Any:
    """Return a number or array of NumPy or PyTorch as JSON can hold it. Raise BadInput for anything else."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise BadInput(f"a checkpoint cannot hold {value!r}: JSON knows numbers, texts, lists and dicts")
