"""Filling in with second thoughts: at every step some tokens appear, and some others are masked again.

A clock runs from 0 to n_steps. At step k each hole is to be visible with probability k / n_steps, whatever
the strength: as many as are masked again appear elsewhere, on average. So a text is as far at each step as
it would be under `ancestral`, and it is whole at the last, at which nothing is masked any more.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from babygpt.config import require_countable, require_kinds
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import denoise, mask_token_id
from babygpt.sampling.diffusion import Filled, require_fitting
from babygpt.sampling.next_token import Draw


@dataclass(frozen=True)
class SecondThoughts:
    """Settings of remasking: how often tokens are masked again, and which.

    n_steps   of the clock, at least 1; each at which something appears costs a look at the text
    strength  probability with which a visible token is masked again at a step, between 0 (never) and 1; near
              the end it is lower, so that all that was masked can still appear
    doubt     how much likelier that is where the model was unsure: exp(doubt) times as likely for probability
              0 as for 1, up to certainty; with 0 it does not matter how sure it was
    Raises BadInput for another n_steps or strength, or a doubt that is negative or not finite.
    Source: Wang et al. 2025, arXiv:2503.00307, section 4.1: "cap" for strength, and "conf" for doubt, which
    is 1 there, while all tokens of a text share one strength, so that each of many gets less.
    """

    n_steps: int = 64
    strength: float = 0.1
    doubt: float = 0.0

    def __post_init__(self) -> None:
        require_kinds(type(self), vars(self))
        require_countable("n_steps", self.n_steps)
        if not 0 <= self.strength <= 1:
            raise BadInput(f"strength ({self.strength}) must lie between 0 and 1")
        if not 0 <= self.doubt <= 100:
            raise BadInput(f"doubt ({self.doubt}) must lie between 0 and 100")

    def share(self, step: int) -> float:
        """Return the probability with which a visible token is masked again at a step, counted from 0."""
        return min(self.strength, (self.n_steps - step - 1) / step) if step else 0.0

    def catching_up(self, step: int) -> float:
        """Return the probability with which a masked token appears early, in place of one masked again."""
        steps_after = self.n_steps - step - 1
        return self.share(step) * step / steps_after if steps_after else 0.0


@torch.no_grad()
def drafts(
    model: LanguageModel,
    idx: Tensor,
    thoughts: SecondThoughts | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    top_p: float | None = None,
) -> Iterator[Filled]:
    """Write texts with second thoughts, and show them after every step.

    What was no MASK at first stays as it is. Steps at which nothing appears are passed over.

    model     trained by masked diffusion
    idx       (B, T)  token ids, T at most block_size
    thoughts  SecondThoughts() by default
    The other arguments are those of `generate`.
    yields    the texts at first, and after each step: MASK where a token is hidden, with `when` 0; the steps
              of each text are counted from 1
    Raises BadInput for an empty text, one longer than the window, and what `generate` refuses.
    Source: Wang et al. 2025, arXiv:2503.00307, eq. 5, with a rate that falls evenly.
    """
    thoughts = thoughts or SecondThoughts()
    draw = Draw(temperature, top_k, top_p, generator)
    require_fitting(model, idx)
    text = idx.to(next(model.parameters()).device, copy=True)
    holes = masked = text == mask_token_id(model)
    when, confidence = torch.zeros_like(text), torch.ones(text.shape, device=text.device)
    count = torch.zeros_like(text[:, :1])  # steps of each text
    due = torch.randint(thoughts.n_steps, text.shape, generator=generator).to(text.device)
    yield Filled(text.clone(), when.clone(), confidence.clone())
    for step in range(thoughts.n_steps):
        now, again = masked & (due == step), torch.zeros_like(masked)
        if thoughts.share(step):
            lots = torch.rand(text.shape, generator=generator).to(text.device)
            now |= masked & (lots < thoughts.catching_up(step))
            again = lots < again_chances(confidence, holes & ~masked, thoughts.share(step), thoughts.doubt)
            later = torch.randint(step + 1, thoughts.n_steps, text.shape, generator=generator)
            due = torch.where(again, later.to(text.device), due)
        if appears := bool(now.any()):
            logits = denoise(model, text).float()  # (B, T, V), of the text that still shows what is doubted
            drawn = draw(logits[now]).to(text.device)
            text[now], confidence[now] = drawn, logits.softmax(dim=-1)[now, drawn]
            count += now.any(dim=1, keepdim=True)
            when = torch.where(now, count, when)
        text[again], when[again], confidence[again] = mask_token_id(model), 0, 1.0
        masked = (masked & ~now) | again
        if appears:
            yield Filled(text.clone(), when.clone(), confidence.clone())


def again_chances(confidence: Tensor, visible: Tensor, share: float, doubt: float) -> Tensor:
    """Return the probability with which each token is masked again; what one may not have, others get.

    confidence, visible  (B, T)  probabilities; what can be masked again
    returns              (B, T)  at most 1, with mean `share` over what is visible
    """
    chances = certain = torch.zeros_like(visible)
    while chances is certain or (chances > 1).any():
        certain = certain | (chances > 1)
        weights = (-doubt * confidence).masked_fill(certain | ~visible, -torch.inf).softmax(dim=1)
        due = share * visible.sum(dim=1, keepdim=True) - certain.sum(dim=1, keepdim=True)
        chances = torch.where(certain, 1.0, weights.nan_to_num() * due)
    return chances


def rewrite(
    model: LanguageModel,
    idx: Tensor,
    thoughts: SecondThoughts | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    top_p: float | None = None,
) -> Filled:
    """Write texts with second thoughts: every MASK is filled in, and all else left as it is.

    The arguments are those of `drafts`, which shows each step.

    returns  when and confidence are those of a token's last appearance
    Raises BadInput for what `drafts` refuses.
    """
    return deque(drafts(model, idx, thoughts, temperature, top_k, generator, top_p), maxlen=1)[0]
