"""Loss of models that predict the next token, position by position, within their window and past it."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from babygpt.config import check_arguments, require_countable
from babygpt.data.batches import cut, evenly_spaced
from babygpt.data.recall import recall_windows
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import portions
from babygpt.errors import BadInput
from babygpt.models.inputs import require_ids
from babygpt.models.language_model import LanguageModel, require_causal
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions


@check_arguments
@torch.inference_mode()
def loss_by_position(model: LanguageModel, ids: Tensor, length: int, n_windows: int = 64) -> np.ndarray:
    """Return the mean loss at each position of long windows.

    ids        (N,)  text
    length     tokens in a window; may exceed the block_size that the model was trained with
    n_windows  windows, evenly over the text
    returns    (length,)  nats per token
    Raises BadInput if the model is not causal, the text too short, or a position beyond the encoding.
    """
    require_causal(model)
    require_ids(ids, "(N,)", model.config.vocab_size, "ids")
    starts, device = evenly_spaced(ids, length, n_windows), next(model.parameters()).device
    positions = Positions.arange(length, device=device)
    total = torch.zeros(length, device=device)
    for (window_starts,) in portions(model, starts, length=length, at_most=16):
        windows = cut(ids, window_starts, length + 1).to(device)
        total += cross_entropy(model(windows[:, :-1], positions), windows[:, 1:]).sum(dim=0)
    return (total / n_windows).cpu().numpy()


@check_arguments
@torch.inference_mode()
def position_matched_losses(
    model: LanguageModel,
    ids: Tensor,
    length: int,
    n_windows: int = 64,
    every: int = 8,
    within: LanguageModel | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return losses past the window, and of the same targets when the model reads one window only.

    The mean over a long window cannot be compared with the mean over a short one: the first tokens of a
    window are hard to predict, and they are a smaller share of a long window. So each target is predicted
    twice: from all that stands before it in the long window, and from the last block_size tokens alone, at
    positions that begin at 0, as in training. The second is the best that this model does within its window.

    ids        (N,)  text
    length     tokens in a long window, above block_size
    n_windows  long windows, evenly over the text
    every      distance between the positions that are taken, from block_size on; 1 for all
    within     the model that reads one window of its own block_size, such as that which `model` was made of;
               this model itself by default
    returns    (S,) positions in the long window, (n_windows, S) losses from block_size tokens, and
               (n_windows, S) losses of the same targets from all tokens before them; nats
    Raises BadInput for a length of at most block_size, and as `loss_by_position` does.
    """
    require_causal(model)
    require_ids(ids, "(N,)", model.config.vocab_size, "ids")
    require_countable("every", every)
    starts, within = evenly_spaced(ids, length, n_windows), within or model
    block_size = within.config.block_size
    if length <= block_size:
        raise BadInput(f"length ({length}) must be above block_size ({block_size}), to reach past the window")
    last_inputs, device = torch.arange(block_size, length, every), next(model.parameters()).device
    positions, inside, past = Positions.arange(length, device=device), [], []
    for start in starts:
        window = cut(ids, start[None], length + 1)  # (1, length + 1): inputs, and the last target
        short = cut(window[0], last_inputs - block_size + 1, block_size + 1).to(device)  # (S, block_size + 1)
        parts = portions(within, short[:, :-1], short[:, 1:])
        # The last logits of a short window predict its last target; `cross_entropy` drops the other targets.
        losses = [cross_entropy(within(inputs)[:, -1:], targets)[:, 0] for inputs, targets in parts]
        inside.append(torch.cat(losses))
        window = window.to(device)
        past.append(cross_entropy(model(window[:, :-1], positions), window[:, 1:])[0, last_inputs.to(device)])
    short_losses, long_losses = (torch.stack(rows).cpu().double().numpy() for rows in (inside, past))
    return last_inputs.numpy(), short_losses, long_losses


def position_matched_change(
    model: LanguageModel, ids: Tensor, length: int, n_windows: int = 64, **reading: Any
) -> tuple[float, float]:
    """Measure what a model loses by reading past its window; below 0 if the longer context helps.

    It is the mean of `position_matched_losses`: the loss of a target in the long window, minus the loss of
    the same target from the last block_size tokens. A model that looks no further back changes by 0.

    reading  the other arguments of `position_matched_losses`: every, within
    returns  nats per token, and its standard error over windows (nan for one window)
    """
    _, inside, past = position_matched_losses(model, ids, length, n_windows, **reading)
    changes = (past - inside).mean(axis=1)
    error = float(changes.std(ddof=1)) / math.sqrt(n_windows) if n_windows > 1 else math.nan
    return float(changes.mean()), error


class Recall(NamedTuple):
    """Accuracy and loss of recalled values at each distance.

    accuracy  (S,)  share of windows in which the value told is the likeliest of its kind; chance is 0.1
    loss      (S,)  mean loss on it among all characters, nats; at least ln 10 = 2.303 for a model that knows
                    of nothing but the kind
    older     (S,)  share in which a value told before it is the likeliest; 0 if no `older` one was told
    """

    accuracy: np.ndarray
    loss: np.ndarray
    older: np.ndarray


@torch.inference_mode()
def recall_by_distance(
    model: LanguageModel, tokenizer: CharTokenizer, distances: Iterable[int], **windows: Any
) -> Recall:
    """Measure how well a model recalls a value told a given number of characters before the question.

    Positions are counted from 0 in every window.

    tokenizer  of the corpus "recall"
    distances  from the value told to the value asked, in characters; each may exceed block_size
    windows    as `recall_windows` takes them: n, length, seed, spacing, is_told, older
    Raises BadInput for no distances, if the model is not causal, for a position beyond its encoding, and as
    `recall_windows` does.
    """
    require_causal(model)
    device, rows = next(model.parameters()).device, []
    for distance in distances:
        asking = recall_windows(tokenizer, distance, **windows)
        positions = Positions.arange(asking.tokens.shape[1], device=device)
        shares = []
        for tokens, values, answer, older in portions(model, *asking):
            logits = model(tokens.to(device), positions)[:, -1].cpu()  # (B, vocab_size)
            answer = answer[:, None]
            chosen = logits.gather(1, values).argmax(dim=-1, keepdim=True)  # (B, 1)
            loss = cross_entropy(logits[:, None], values.gather(1, answer))
            shares.append(torch.cat([chosen == answer, loss, (chosen == older).any(1, keepdim=True)], dim=1))
        rows.append(torch.cat(shares).double().mean(dim=0).tolist())
    if not rows:
        raise BadInput("0 distances: at least 1 is needed")
    return Recall(*map(np.array, zip(*rows, strict=True)))
