"""The bound on a text's surprise that a model of masked diffusion gives: the NELBO."""

import math
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from babygpt.config import check_arguments, require_countable
from babygpt.data.batches import cut
from babygpt.data.stories import Question, Questions
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import portions
from babygpt.errors import BadInput
from babygpt.metrics.answers import require_questions
from babygpt.models.inputs import require_ids, require_model
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import denoise, mask_token_id, masking_rates
from babygpt.objectives.objective import cross_entropy

MOST_EXACT = 12  # positions: the model reads the text once for each of 4095 ways to mask them


@torch.inference_mode()
def exact_nelbo(model: LanguageModel, idx: Tensor, positions: list[int] | None = None) -> float:
    """Return the NELBO of a short text, or of some of its tokens given the others, over all masks.

    Integrating (1/t) t^l (1 - t)^(n - l) over t leaves each set of l masked tokens out of n the weight
    1 / (l C(n, l)). If the model's answers are the exact posteriors, the sum is -log p.

    model      trained by masked diffusion, or anything that answers like it
    idx        (T,)  token ids
    positions  of the tokens, at most 12; all by default
    returns    nats, all tokens together
    Raises BadInput for no position, more than 12, and ids that are no tokens of one text.
    Source: Ou et al. 2024, arXiv:2406.03736; Uria et al. 2014, arXiv:1310.1757 (all orders at once).
    """
    require_model(model)
    require_ids(idx, "(T,)", mask_token_id(model))
    positions = list(range(len(idx))) if positions is None else positions
    n = len(positions)
    if not n or not all(0 <= position < len(idx) for position in positions):
        raise BadInput(f"positions {positions} must be at least 1, and lie between 0 and {len(idx) - 1}")
    if n > MOST_EXACT:
        raise BadInput(
            f"{n} positions: the exact bound takes {MOST_EXACT} at most; nelbo estimates it for more"
        )
    holes = [list(subset) for size in range(1, n + 1) for subset in combinations(positions, size)]
    masked = torch.zeros(len(holes), len(idx), dtype=torch.bool)
    for row, subset in enumerate(holes):
        masked[row, subset] = True
    weights = torch.tensor([1 / (len(s) * math.comb(n, len(s))) for s in holes], dtype=torch.float64)
    device = next(model.parameters()).device
    total = 0.0
    for rows, share in portions(model, masked, weights, at_most=256):
        texts = idx.expand(len(rows), -1)
        logits = denoise(model, texts.masked_fill(rows, mask_token_id(model)).to(device))
        losses = -logits.cpu().double().log_softmax(dim=-1).gather(-1, texts[..., None])[..., 0]
        total += float((losses * rows * share[:, None]).sum())
    return total


@check_arguments
def nelbo(
    model: LanguageModel, ids: Tensor, length: int | None = None, repeats: int = 1, seed: int = 0
) -> tuple[float, float]:
    """Estimate the NELBO of a whole text, cut into windows, in nats per token: an upper bound on -log p(x).

    Instead of a rate t, the number l of masked tokens is drawn, evenly from 1 to T, and then which ones: the
    same mean as with weights 1/t, but no weight is large. The numbers are spread evenly over the windows.

    model    trained by masked diffusion
    ids      (N,)  the text
    length   tokens of a window, T; block_size by default. What is left at the end is a shorter window
    repeats  how often each window is masked
    seed     of the masks
    returns  the estimate, and the standard error of the mean over all maskings (nan for one). With repeats=1
             it tells how far another text of this kind would come out. With more repeats it only tells how
             far other masks on this text would: a text masked 16 times is still one text
    Raises BadInput for an empty text, ids that are no tokens of one text, and counts below 1.
    Source: Ou et al. 2024, arXiv:2406.03736, eq. 3.7 in its form with l.
    """
    require_model(model)
    require_ids(ids, "(N,)", mask_token_id(model), "ids")
    if not len(ids):
        raise BadInput("the text is empty: a bound per token needs at least 1 token")
    require_countable("repeats", repeats)
    length = model.config.block_size if length is None else length
    require_countable("length", length)
    sums, counts, sizes = _masked_windows(model, ids, length, repeats, seed)
    means = sums / counts
    estimate = float((means * sizes).sum() / sizes.sum())
    error = float(means.std()) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return estimate, error


@torch.inference_mode()
def _masked_windows(
    model: LanguageModel, ids: Tensor, length: int, repeats: int, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what each masking of each window costs, one value a masking: (R,) each.

    returns  the summed loss of the masked tokens in nats, their number, and the number of all tokens
    """
    generator, device = torch.Generator().manual_seed(seed), next(model.parameters()).device
    n_whole = len(ids) // length * length  # tokens that fill whole windows
    batches = []
    for starts, width in ((range(0, n_whole, length), length), ([n_whole], len(ids) - n_whole)):
        if width and len(starts):
            windows = cut(ids, torch.tensor(starts).repeat(repeats), width)
            n = len(windows)
            # Numbers from 1 to T are equally likely. The clamp is needed because in float32 one minus the
            # smallest rates is 1, which would make T + 1.
            n_masked = (1 + ((1 - masking_rates(n, generator)) * width).long()).clamp(max=width)
            # The argsort of an argsort ranks the tokens of a window at random; the lowest ranks are masked.
            ranks = torch.rand(windows.shape, generator=generator).argsort(dim=1).argsort(dim=1)
            sizes = torch.full((n,), width)
            for texts, masked, size in portions(model, windows, ranks < n_masked[:, None], sizes, at_most=64):
                logits = denoise(model, texts.masked_fill(masked, mask_token_id(model)).to(device))
                losses = cross_entropy(logits, texts.to(device)).cpu().double()
                batches.append(((losses * masked).sum(dim=1), masked.sum(dim=1), size))
    sums, counts, sizes = map(torch.cat, zip(*batches, strict=True))
    return sums, counts, sizes


def answer_bounds(model: LanguageModel, tokenizer: CharTokenizer, questions: Questions) -> np.ndarray:
    """Return bounds on the log-probability of the right and of the wrong answer, the rest of the text given.

    returns   (Q, 2)  minus the exact NELBO of the answer's letters, nats; the right answer first
    Raises BadInput if a question with its answer does not fit into the model's window.
    """
    require_questions(questions)
    require_model(model)

    def bound(question: Question, name: str) -> float:
        text = question.prompt + name + question.end
        if len(text) > model.config.block_size:
            raise BadInput(
                f"a question of {len(text)} characters does not fit: block_size is {model.config.block_size}"
            )
        first = len(question.prompt)
        return -exact_nelbo(model, tokenizer.encode(text), list(range(first, first + len(name))))

    return np.array([[bound(q, name) for name in (q.answer, q.rival)] for q in questions]).reshape(-1, 2)
