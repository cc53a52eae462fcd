"""Characters to token ids and back."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from babygpt.errors import BadInput

MASK = "░"  # how the MASK token is shown; it is never read from text
SHOWN = 12  # the most characters of a vocabulary in an error message: some vocabularies have thousands


def in_short(characters: Iterable[str]) -> str:
    """Return the first characters of a vocabulary for an error message: 'abcdefghijkl' and 4988 more."""
    vocabulary = list(characters)
    more = f" and {len(vocabulary) - SHOWN} more" if len(vocabulary) > SHOWN else ""
    return f"{''.join(vocabulary[:SHOWN])!r}{more}"


class CharTokenizer:
    """One token for each character, and one more for MASK if the objective needs it.

    characters  the known characters, in the order of their ids
    with_mask   whether a MASK token stands after them
    Raises BadInput if a character occurs twice, or looks like MASK where there is a MASK.
    """

    def __init__(self, characters: Iterable[str], with_mask: bool = False) -> None:
        self.characters = list(characters)
        self.ids = {char: i for i, char in enumerate(self.characters)}
        if len(self.ids) != len(self.characters):
            twice = next(c for i, c in enumerate(self.characters) if self.ids[c] != i)
            raise BadInput(f"character {twice!r} occurs twice in the vocabulary")
        if with_mask and MASK in self.ids:
            raise BadInput(f"the text holds {MASK!r}, which shows where MASK stands: use another character")
        self.mask_id = len(self.characters) if with_mask else None

    @classmethod
    def fit(cls, text: str, with_mask: bool = False) -> CharTokenizer:
        """Return the tokenizer of all characters of a text, sorted."""
        return cls(sorted(set(text)), with_mask)

    @property
    def vocab_size(self) -> int:
        """The number of tokens, MASK included."""
        return len(self.characters) + (self.mask_id is not None)

    def encode(self, text: str) -> Tensor:
        """Return the token ids of a text: (T,), int64. Raise BadInput for an unknown character."""
        if not isinstance(text, str):
            raise BadInput(f"a text is needed, and this is a {type(text).__name__}")
        try:
            return torch.tensor([self.ids[char] for char in text], dtype=torch.long)
        except KeyError as unknown:
            char = unknown.args[0]
            raise BadInput(
                f"character {char!r} at position {text.index(char)} is not in the vocabulary: "
                f"{in_short(self.characters)}"
            ) from None

    def decode(self, ids: Tensor | list[int]) -> str:
        """Return the text of token ids (T,).

        Raises BadInput for a batch of texts, and for ids that are no tokens. IGNORED (-100) is none, and -1,
        which Python would read as the last one, is none either.
        """
        names = [*self.characters, MASK] if self.mask_id is not None else self.characters
        if not isinstance(ids, Iterable):
            raise BadInput(f"token ids (T,) are needed, and this is a {type(ids).__name__}")
        numbers: Any = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if getattr(ids, "ndim", 1) != 1 or any(isinstance(i, list) for i in numbers):
            shape = tuple(getattr(ids, "shape", ()))
            raise BadInput(f"token ids of shape {shape} are not those of one text, (T,)")
        for i in set(numbers):  # a text of millions has few different ones
            if not isinstance(i, Integral) or not 0 <= int(i) < len(names):
                raise BadInput(f"{i!r} is no token id: this tokenizer has 0 to {len(names) - 1}")
        return "".join(names[i] for i in numbers)
