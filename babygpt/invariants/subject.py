"""Model whose encoding is checked, with random weights, and the texts and positions that suit it."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from babygpt.config import ModelConfig
from babygpt.data.batches import interleave
from babygpt.errors import BadInput, first_line
from babygpt.invariants.checked_promise import CheckedPromise
from babygpt.invariants.models import change_by_exchange
from babygpt.models.hook_checks import require_sound_hooks
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import own_classes
from babygpt.models.versions import VersionName, build, require_version
from babygpt.positions import Positions

LONGEST = 8  # tokens of the longest text; the shortest one that breaks a promise mostly has two or three


@dataclass(frozen=True)
class Subject:
    """Model that is checked, with the texts and positions that suit it.

    title     the encoding
    model     with random weights
    branches  whether its encoding is for several texts in one sequence
    masks     whether it fills in masked tokens, so that it looks both ways
    rows      the promises that have been measured, by name
    """

    title: str
    model: LanguageModel
    branches: bool
    masks: bool
    rows: dict[str, CheckedPromise] = field(default_factory=dict)

    def text(self, n: int, rows: int = 1) -> Tensor:
        """Return random token ids, (rows, n); for a model that fills in, every third one is MASK."""
        vocab_size = self.model.config.vocab_size
        draw = torch.Generator().manual_seed(n)
        idx = torch.randint(vocab_size - 1, (rows, n), generator=draw)
        return idx.masked_fill((torch.arange(n) % 3 == 1) & self.masks, vocab_size - 1)

    def at(self, time: Tensor, start: int | None = None) -> Positions:
        """Return positions at times (T,) or (B, T), in text 0 where there are branches.

        start  the first time, if these are in a row
        """
        masked = (torch.arange(time.shape[-1]) % 3 == 1) & self.masks
        return Positions(
            time, torch.zeros_like(time) if self.branches else None, masked.expand_as(time), start
        )

    def in_a_row(self, n: int, start: int = 0) -> Positions:
        """Return the positions of n tokens in a row."""
        return self.at(torch.arange(start, start + n), start)

    def near_end(self, n: int) -> Positions:
        """Return the positions of the last n tokens of the window."""
        return self.in_a_row(n, self.model.config.block_size - n)

    def lengths(self, least: int = 1) -> range:
        """Return the lengths of texts to measure, the smallest first."""
        return range(least, min(LONGEST, self.model.config.block_size) + 1)

    def row_of_texts(self, *lengths: int) -> tuple[Tensor, Positions]:
        """Return token ids and positions, (T,) each, of several texts in one sequence, in order of time."""
        sizes = [length + 1 for length in lengths]  # `interleave` takes a target after each text's last token
        columns = interleave(self.text(sum(sizes))[0].split(sizes), [0] * len(sizes))
        time, branch = columns.time[0], columns.branch[0]
        return columns.tokens[0], Positions(time, branch, torch.zeros(len(time), dtype=torch.bool))

    def branch_counts(self) -> range:
        """Return the numbers of texts to measure: two, three and four, as far as there are codes."""
        for n in (4, 3, 2):
            try:
                change_by_exchange(self.model, self.text(1, rows=2), 0, n - 1)
            except ValueError:
                continue
            return range(2, n + 1)
        return range(0)

    def require_readable(self) -> None:
        """Raise BadInput if the model cannot read four tokens, because then no promise says anything."""
        n = min(4, self.model.config.block_size)
        try:
            finite = self.finite(self.in_a_row(n)).all()
        except Exception as error:
            raise BadInput(f"{self.title} cannot read {n} tokens: {first_line(error)}") from error
        if not finite:
            self.require_sound_hooks()  # It names the hook and the number, where a hook is to blame.
            raise BadInput(f"{self.title} cannot read {n} tokens: its logits are not finite")

    def require_sound_hooks(self) -> None:
        """Raise BadInput if a hook of an encoding from outside fails with the weights of this model."""
        config, classes = self.model.config, own_classes(self.model)
        for encoding in {self.model.encoding.of_layer(i) for i in range(config.n_layer)}:
            if type(encoding) in classes:
                require_sound_hooks(encoding, config, self.branches, self.masks)

    @torch.inference_mode()
    def finite(self, positions: Positions) -> Tensor:
        """Return which logits of a text at these positions are finite: (1, T, vocab_size)."""
        with sdpa_kernel(SDPBackend.MATH):  # the fused operator of processors makes 0 of nan
            return torch.isfinite(self.model(self.text(len(positions)), positions))

    def changes_by_exchange(self) -> dict[tuple[int, int], float]:
        """Return how logits change when two texts exchange two branches and so their codes, for each pair."""
        idx, most = self.text(2, rows=2), max(self.branch_counts(), default=0)
        return {(a, b): change_by_exchange(self.model, idx, a, b) for a, b in combinations(range(most), 2)}

    def refusal(self, positions: Positions) -> str | None:
        """Return the message by which the model refuses positions, or None if it reads them."""
        try:
            with torch.inference_mode():
                self.model(self.text(len(positions)), positions)
        except (ValueError, IndexError) as error:
            return first_line(error)
        return None


def make_subject(encoding: VersionName, config: ModelConfig, options: dict[str, Any]) -> Subject:
    """Build the model to be checked, with random weights. Raises BadInput if there is no such encoding."""
    kind = require_version(encoding)
    model = build(encoding, config, **options)
    randomize_(model)
    title = kind.title if kind.own else f"{kind.name}: {kind.title}"
    return Subject(title, model.eval(), kind.branches, kind.masks)


@torch.no_grad()
def randomize_(model: LanguageModel) -> None:
    """Fill the weights of the body with noise, and move those of the encoding a little, keeping their signs.

    An encoding's weights may have to be positive or small, so that noise in their place would break it. They
    move by at most a half, and by half of their size if they are small. Those that are 0 become noise,
    because a bias of 0 is no encoding yet.
    """
    draw = torch.Generator().manual_seed(0)
    own = {id(p) for p in model.encoding.parameters()}
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=draw)
        if id(p) in own:
            p.copy_(torch.where(p == 0, 0.3 * noise, p + 0.5 * p.abs().clamp(max=1.0) * noise.tanh()))
        else:
            p.copy_(noise if "embedding" in name else noise * p.shape[-1] ** -0.5)
