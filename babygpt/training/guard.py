"""Checks made once, before the first step: known tokens, weights that can move, and sound hooks."""

from torch import Tensor

from babygpt.errors import BadInput
from babygpt.models.hook_checks import require_sound_hooks
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import own_classes
from babygpt.models.versions import require_version
from babygpt.objectives import Objective


def require_vocabulary(model: LanguageModel, objective: Objective) -> None:
    """Raise BadInput if an objective's text holds tokens that a model does not know.

    Reads the texts `train` and `val` of an objective that has them, else the `vocab_size` of the objective.
    """
    texts = (getattr(objective, name, None) for name in ("train", "val"))
    largest = [int(ids.max()) for ids in texts if isinstance(ids, Tensor) and len(ids)]
    last = max(largest, default=getattr(objective, "vocab_size", 0) - 1)
    vocab_size = model.config.vocab_size
    if last >= vocab_size:
        raise BadInput(
            f"the text holds token {last}, and the model has 0 to {vocab_size - 1} only: "
            f"its vocab_size ({vocab_size}) should be that of the text's tokenizer"
        )


def require_trainable(model: LanguageModel) -> None:
    """Raise BadInput, saying what to write, where no weight of this model can have a gradient."""
    parameters = list(model.parameters())
    if not any(p.requires_grad for p in parameters):
        raise BadInput("all weights of this model are frozen: write model.requires_grad_() to train them")
    if any(p.is_inference() for p in parameters):
        raise BadInput("this model was built under torch.inference_mode(), so it cannot train: build it anew")


def require_sound_hooks_on_device(model: LanguageModel) -> None:
    """Raise BadInput if a hook of an encoding from outside fails on the model's device.

    `build` checked it where the model was built, so on a CPU nothing is left to check.
    """
    if next(model.parameters()).device.type != "cpu":
        require_sound_own_hooks(model)


def require_sound_own_hooks(model: LanguageModel) -> None:
    """Raise BadInput if a hook of an encoding from outside fails with the weights that it has now."""
    device, classes = next(model.parameters()).device, own_classes(model)
    if not classes:
        return
    kind = require_version(model.version)
    for encoding in {model.encoding.of_layer(i) for i in range(model.config.n_layer)}:
        if type(encoding) in classes:
            require_sound_hooks(encoding, model.config, kind.branches, kind.masks, device)


def broken_part(model: LanguageModel) -> str:
    """Describe which part of a model made its loss not finite: a weight, or a hook of its encoding.

    A weight of the encoding is named first, because its numbers spread to all other weights.
    """
    names = [name for name, p in model.named_parameters() if not p.isfinite().all()]
    if names:
        first = min(names, key=lambda name: not name.startswith("encoding."))
        do = "does" if len(names) == 2 else "do"
        others = f", and so {do} {len(names) - 1} of the other weights" if names[1:] else ""
        return f"{first} holds numbers that are not finite{others}"
    try:
        require_sound_own_hooks(model)
    except BadInput as error:
        return str(error)
    return "all weights are finite"
