"""The base of all objectives, the one of v1 to v5 (next token), and the validation loop that all share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from babygpt.config import check_arguments, require_countable
from babygpt.data import batches
from babygpt.data.batches import IGNORED
from babygpt.data.corpus import Corpus
from babygpt.device import portions
from babygpt.errors import BadInput
from babygpt.models.inputs import ID_TYPES, require_ids, require_model
from babygpt.models.language_model import LanguageModel, require_causal

Batch = tuple[Tensor, ...]  # (B, T) inputs, (B, T) targets, and whatever else the objective's losses need


class Objective(ABC):
    """The goal of a training. A subclass draws batches, and gives the loss of each of their targets."""

    block_size: int  # tokens in a window

    @abstractmethod
    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw a batch of training text."""

    @abstractmethod
    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Return the loss of each target of a batch, in nats: (B, T), 0 where there is none."""

    @abstractmethod
    def val_batches(self) -> Iterable[Batch]:
        """Return the validation batches, the same ones in every call."""

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Return the mean loss over the targets of a batch, in nats: a scalar with a gradient."""
        losses = self.losses(model, batch)  # (B, S), of the last S targets if the model cuts its input
        targets = batch[1][:, -losses.shape[1] :]
        return losses.sum() / (targets != IGNORED).sum().clamp(min=1)  # a batch without targets has loss 0

    def count(self, batch: Batch) -> int:
        """Return the number of losses whose mean `loss` takes, so that processes can share a batch."""
        return max(1, int((batch[1] != IGNORED).sum()))

    def validate(self, model: LanguageModel) -> float:
        """Return the mean loss over all targets of the validation batches, in nats."""
        return mean_loss(model, self.val_batches(), self.losses)


class NextToken(Objective):
    """Objective: predict every token from those before it, in windows cut from a corpus.

    corpus      the text
    block_size  tokens in a window
    aligned     whether windows begin where a line begins, in training and validation, or anywhere; then
                validation reads the whole validation text
    Raises BadInput if either part of the corpus is too short for a window. `losses`, `loss` and `validate`
    refuse a model that is not causal.
    """

    @check_arguments
    def __init__(self, corpus: Corpus, block_size: int, aligned: bool = False) -> None:
        require_countable("block_size", block_size)
        corpus.require_tokens(block_size + 1, f"block_size ({block_size})")
        self.train, self.val, self.block_size = corpus.train, corpus.val, block_size
        self.starts = self.val_starts = None
        if aligned:
            if "\n" not in corpus.tokenizer.ids:
                raise BadInput(f"aligned windows begin where lines do, and {corpus.name} has no '\\n'")
            newline = int(corpus.tokenizer.encode("\n"))
            self.starts = batches.line_starts(self.train, newline, block_size + 1)
            self.val_starts = batches.line_starts(self.val, newline, block_size + 1)

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw windows at random: (B, T) inputs and (B, T) targets."""
        n = len(self.train) - self.block_size if self.starts is None else len(self.starts)
        picks = torch.randint(n, (batch_size,), generator=generator)
        starts = picks if self.starts is None else self.starts[picks]
        windows = self.train[starts[:, None] + torch.arange(self.block_size + 1)]  # (B, T + 1)
        return windows[:, :-1], windows[:, 1:]

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Return the loss of each target, in nats: (B, T)."""
        if not getattr(model, "causal", False):
            require_causal(model)  # says what the model is, and what to do
        return next_token_losses(model, batch)

    def val_batches(self) -> Iterator[Batch]:
        if self.val_starts is None:
            yield from batches.consecutive_windows(self.val, self.block_size)
            return
        for starts in self.val_starts.split(64):
            windows = batches.cut(self.val, starts, self.block_size + 1)
            yield windows[:, :-1], windows[:, 1:]


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the negative log-likelihood of each target, in nats.

    logits    (B, S, vocab_size)
    targets   (B, T)  T at least S; where the model cut its input to the last S tokens, targets are cut too
    returns   (B, S)  0 where a target is IGNORED
    Raises BadInput for logits or targets of another shape.
    """
    if not (isinstance(targets, Tensor) and targets.dim() == 2 and targets.dtype in ID_TYPES):
        require_ids(targets, name="targets")  # says what is wrong, and is not called where nothing is
    if logits.dim() != 3 or logits.shape[0] != targets.shape[0] or logits.shape[1] > targets.shape[1]:
        shapes = f"logits of shape {tuple(logits.shape)} and targets of shape {tuple(targets.shape)}"
        raise BadInput(f"{shapes} should be (B, S, vocab_size) and (B, T)")
    targets = targets[:, targets.shape[1] - logits.shape[1] :]
    try:
        losses = F.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), reduction="none", ignore_index=IGNORED
        )
    except IndexError:
        require_ids(targets[targets != IGNORED], "(N,)", logits.shape[-1], "targets")
        raise
    return losses.view_as(targets)


def next_token_losses(model: LanguageModel, batch: Batch) -> Tensor:
    """Return the loss of each target of a batch of (B, T) inputs and (B, T) targets, in nats: (B, T)."""
    inputs, targets = batch
    return cross_entropy(model(inputs), targets)


def required_batch(batch: Batch) -> Batch:
    """Return a batch. Raise BadInput unless its inputs and targets are (B, T) token ids."""
    for name, ids in zip(("inputs", "targets"), batch, strict=False):
        require_ids(ids, name=name)
    return batch


@torch.inference_mode()
def mean_loss(
    model: LanguageModel,
    batches: Iterable[Batch],
    losses: Callable[[LanguageModel, Batch], Tensor] = next_token_losses,
) -> float:
    """Return the mean loss over all targets of some batches, in nats: the validation loop of every objective.

    batches  inputs, (B, T) targets, and more; moved to the model's device here
    losses   gives the loss of each target, 0 where it is IGNORED: (B, S), of the last S if the model cuts
    Raises BadInput if there is no target at all.
    """
    require_model(model)
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for batch in map(required_batch, batches):
        for portion in portions(model, *batch):
            portion_losses = losses(model, tuple(part.to(device) for part in portion))  # (B, S)
            total += portion_losses.sum().item()
            count += int((portion[1][:, -portion_losses.shape[1] :] != IGNORED).sum())
    if not count:
        raise BadInput("there is no target to measure: the batches hold no token with one")
    return total / count  # a mean over targets, because batches and portions differ in size
