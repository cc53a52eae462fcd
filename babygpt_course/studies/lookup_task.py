"""A task that needs both, what a token is and where it stands: the letter three to the right of the g."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.data.batches import IGNORED
from babygpt.errors import BadInput
from babygpt.memory import portions
from babygpt.models.base import LanguageModel
from babygpt.objectives.base import Batch, MeanObjective, next_token_losses


class Lookup(MeanObjective):
    """Find the letters that stand a given number of positions left or right of other ones.

    A row is a string of different letters, and then questions: one of the letters and a shift. The answer is
    the letter at that shift from it. The string begins after some blanks, so that no position means anything
    by itself. Tokens: letters 0 to `letters` - 1, then the blank, then the shifts from -furthest to furthest
    without 0.

    letters    size of the alphabet
    shortest   fewest letters of a string
    longest    most letters of a string, at most `letters`
    furthest   largest shift, below `shortest`
    questions  how many a row has
    Raises ValueError unless 1 <= furthest < shortest <= longest <= letters, and questions is at least 1.
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534, section 4 (indirect indexing).
    """

    def __init__(
        self, letters: int = 20, shortest: int = 6, longest: int = 10, furthest: int = 3, questions: int = 6
    ) -> None:
        if not 1 <= furthest < shortest <= longest <= letters:
            raise BadInput(
                f"furthest ({furthest}) must be at least 1 and below shortest ({shortest}), that at most "
                f"longest ({longest}), and that at most letters ({letters})"
            )
        if questions < 1:
            raise BadInput(f"questions ({questions}) must be at least 1")
        self.letters, self.shortest, self.longest, self.furthest = letters, shortest, longest, furthest
        self.questions, self.blank = questions, letters
        self.vocab_size = letters + 1 + 2 * furthest
        self.block_size = longest + 2 * questions

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw rows: (B, T) tokens, and (B, T) targets, IGNORED where no question ends."""

        def draw(low: Tensor, high: Tensor) -> Tensor:  # whole numbers, both ends included
            return low + (torch.rand(high.shape, generator=generator) * (high - low + 1)).long()

        longest, far, many = self.longest, self.furthest, (batch_size, self.questions)
        letters = torch.rand(batch_size, self.letters, generator=generator).argsort(dim=1)[:, :longest]
        first = longest - draw(torch.tensor(self.shortest), torch.full((batch_size, 1), longest))
        step = draw(torch.tensor(0), torch.full(many, 2 * far - 1))  # which of the shifts
        shift = step - far + (step >= far)
        place = draw(first + (-shift).clamp(min=0), longest - 1 - shift.clamp(min=0))
        text = letters.masked_fill(torch.arange(longest) < first, self.blank)
        asked = torch.stack([letters.gather(1, place), self.blank + 1 + step], dim=-1).flatten(1)
        idx = torch.cat([text, asked], dim=1)
        targets = torch.full_like(idx, IGNORED)
        targets[:, longest + 1 :: 2] = letters.gather(1, place + shift)
        return idx, targets

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        return next_token_losses(model, batch)

    def held_out(self, n: int = 512) -> Batch:
        """Rows that are always the same, drawn from a seed that no training uses."""
        return self.batch(n, torch.Generator().manual_seed(2**31))

    @torch.inference_mode()
    def validate(self, model: LanguageModel) -> float:
        """Loss of the answers on held-out rows, in nats."""
        device = next(model.parameters()).device
        batch = tuple(part.to(device) for part in self.held_out())
        losses = torch.cat([self.losses(model, some) for some in portions(model, *batch)])
        return float(losses.sum() / self.count(batch))

    @torch.inference_mode()
    def accuracy(self, model: LanguageModel) -> float:
        """Share of right answers on held-out rows; guessing among a string's letters gives one in as many."""
        idx, targets = self.held_out()
        some = portions(model, idx.to(next(model.parameters()).device))
        answers = torch.cat([model(rows).argmax(dim=-1).cpu() for (rows,) in some])
        asked = targets != IGNORED
        return float((answers == targets)[asked].float().mean())
