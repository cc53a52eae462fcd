"""The tokenizer of a published model: pieces of words, in place of the characters of our own models."""

from collections.abc import Sequence

import torch
from torch import Tensor

START = "\n"  # a fixed first token, at which heads that look for nothing can look


class RealTokenizer:
    """Byte pairs: frequent words are one token, rare ones are several.

    tokens  in the order of their ids
    merges  pairs of pieces that become one, the most important first, such as "Ġ t"
    """

    def __init__(self, tokens: Sequence[str], merges: Sequence[str]) -> None:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # of the extra `lab`

        vocabulary = {token: i for i, token in enumerate(tokens)}
        pairs = [(first, second) for first, second in (merge.split(" ") for merge in merges)]
        self.own = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
        digits = pre_tokenizers.Digits(individual_digits=True)
        self.own.pre_tokenizer = pre_tokenizers.Sequence(
            [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        self.own.decoder = decoders.ByteLevel()
        self.own.add_special_tokens([token for token in tokens if token.startswith("<|")])
        (self.start,) = self.own.encode(START).ids

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return self.own.get_vocab_size()

    def encode(self, text: str, start: bool = True) -> Tensor:
        """Return the token ids of a text: (T,), int64.

        start  whether a line end comes first, at which heads look that find nothing else; not for a text
               that goes on
        """
        ids = self.own.encode(text).ids
        return torch.tensor([self.start, *ids] if start else ids, dtype=torch.long)

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """Return the text of token ids (T,)."""
        return str(self.own.decode([int(i) for i in ids], skip_special_tokens=False))

    def pieces(self, text: str) -> list[str]:
        """Return the tokens of a text, one for each id of `encode`."""
        return [self.decode([int(i)]) for i in self.encode(text)]
