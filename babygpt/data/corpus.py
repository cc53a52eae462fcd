"""Texts to learn from: tales made on the spot, Tiny Shakespeare, or any UTF-8 file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pooch
from torch import Tensor

from babygpt.data import recall, tales
from babygpt.data.grammar import Grammar
from babygpt.data.recall import USUAL, Spacing
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.memory import require_memory

SHAKESPEARE_URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHAKESPEARE_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
SHAKESPEARE_VARIABLE = "BABYGPT_SHAKESPEARE"
TRAIN_SHARE = 0.9
BYTES = 17  # of a character while it is encoded: itself, its id in a list, and in a tensor
FEWEST_BYTES = 4  # of a byte of a file: BYTES for a character, and no character has more than 4 bytes
TRAIN_SEED, VAL_SEED, QUESTION_SEED = 0, 1, 2
GRAMMARS = {"tales": tales.english, "plain-tales": tales.plain, "tales-zh": tales.chinese}
NAMES = (*GRAMMARS, "recall", "shakespeare")  # what a corpus may be called; all else is a path


@dataclass(frozen=True)
class Corpus:
    """A text in two parts, as token ids.

    name       what it was loaded as
    tokenizer  its characters
    train      (N,)  token ids to learn from
    val        (M,)  token ids to be measured on
    grammar    what wrote it, with its exact entropies, or None for found text
    """

    name: str
    tokenizer: CharTokenizer
    train: Tensor
    val: Tensor
    grammar: Grammar | None = None

    @property
    def floor(self) -> float | None:
        """Entropy in nats per character that no model can pass, where it is known."""
        return self.grammar.floor() if self.grammar else None

    @property
    def bigram_floor(self) -> float | None:
        """Conditional entropy in nats per character that no bigram model can pass, where known."""
        return self.grammar.bigram_floor() if self.grammar else None

    def fingerprint(self) -> str:
        """SHA-256 of its characters and both its parts: the same for the same text, whatever it is called."""
        total = hashlib.sha256(repr(self.tokenizer.characters).encode())
        for part in (self.train, self.val):
            total.update(f"{len(part)} ".encode() + part.numpy().tobytes())
        return total.hexdigest()


def load_corpus(name: str = "tales", n_chars: int = 1_000_000, with_mask: bool = False) -> Corpus:
    """Load a corpus by name or path.

    name       "tales", "plain-tales", "tales-zh", "recall", "shakespeare", or the path of a UTF-8 text file
    n_chars    characters of training text to write, for the tales and "recall" only
    with_mask  whether the tokenizer gets a MASK token
    Raises ValueError if the file is missing, empty or not UTF-8, or cannot be downloaded.
    """
    if name in GRAMMARS:
        return from_grammar(name, GRAMMARS[name](), n_chars, with_mask)
    if name == "recall":
        return recall_corpus(n_chars, with_mask=with_mask)
    return from_text(name, shakespeare() if name == "shakespeare" else read_text(Path(name)), with_mask)


def from_grammar(name: str, grammar: Grammar, n_chars: int, with_mask: bool = False) -> Corpus:
    """Write a corpus: training and validation text from different seeds, the latter a ninth as long.

    Raises ValueError if n_chars is below 1, or more than fit into memory.
    """
    tokenizer = CharTokenizer(grammar.alphabet(), with_mask)
    return Corpus(name, tokenizer, *_written(tokenizer, grammar.write, n_chars), grammar)


def recall_corpus(n_chars: int = 400_000, spacing: Spacing = USUAL, with_mask: bool = False) -> Corpus:
    """Write plain tales in which values are told, and asked later: the corpus "recall", without a floor.

    n_chars  characters of training text; as many a ninth to be measured on, from another seed
    spacing  how far apart they are told and asked; the tokenizer is the same for all
    Raises ValueError if n_chars is below 1, or more than fit into memory.
    """
    tokenizer = CharTokenizer(recall.alphabet(), with_mask)
    return Corpus("recall", tokenizer, *_written(tokenizer, partial(recall.write, spacing=spacing), n_chars))


def _written(
    tokenizer: CharTokenizer, write: Callable[[int, int], str], n_chars: int
) -> tuple[Tensor, Tensor]:
    """Token ids to learn from and to be measured on, of what is written from a length and a seed."""
    if n_chars < 1:
        raise BadInput(f"n_chars ({n_chars}) must be at least 1 character of training text")
    require_memory(f"{n_chars} characters and their token ids", n_chars * BYTES)
    n_val = round(n_chars * (1 - TRAIN_SHARE) / TRAIN_SHARE)
    return tokenizer.encode(write(n_chars, TRAIN_SEED)), tokenizer.encode(write(n_val, VAL_SEED))


def from_text(name: str, text: str, with_mask: bool = False) -> Corpus:
    """Split a text: the first 90% to learn from, the rest to be measured on."""
    if not text:
        raise BadInput(f"{name} is empty; a corpus needs some text")
    require_memory(f"the {len(text)} characters of {name} and their token ids", len(text) * BYTES)
    tokenizer = CharTokenizer.fit(text, with_mask)
    ids = tokenizer.encode(text)
    n_train = int(TRAIN_SHARE * len(ids))
    return Corpus(name, tokenizer, ids[:n_train], ids[n_train:])


def without_mask(corpus: Corpus) -> Corpus:
    """Return the corpus with a tokenizer that has no MASK token."""
    return replace(corpus, tokenizer=CharTokenizer(corpus.tokenizer.characters))


def read_text(path: Path) -> str:
    """Read a UTF-8 file. A byte order mark is no text; line ends of any kind become "\\n".

    Raises ValueError naming the path if it is missing, cannot be read, is not UTF-8 text, or is too large for
    the memory.
    """
    try:
        if not path.is_file():
            raise BadInput(f"no file at {path}; a corpus is {', '.join(NAMES)}, or the path of a text file")
        require_memory(f"the characters of {path} and their token ids", path.stat().st_size * FEWEST_BYTES)
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text: byte {error.start} cannot be read") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None


def shakespeare() -> str:
    """Tiny Shakespeare: a local copy if BABYGPT_SHAKESPEARE names one, else downloaded once and cached.

    Raises ValueError if a copy has the wrong checksum or the download fails.
    Source: Karpathy 2015, char-rnn.
    """
    local = os.environ.get(SHAKESPEARE_VARIABLE)
    if not local:
        return _download()
    text = read_text(Path(local))
    found = hashlib.sha256(Path(local).read_bytes()).hexdigest()
    if found != SHAKESPEARE_SHA256:
        raise BadInput(f"{local} has SHA-256 {found}, not {SHAKESPEARE_SHA256}: not Tiny Shakespeare")
    return text


def _download() -> str:
    try:
        path = pooch.retrieve(
            SHAKESPEARE_URL,
            known_hash=f"sha256:{SHAKESPEARE_SHA256}",
            fname="tinyshakespeare.txt",
            path=pooch.os_cache("babygpt"),
        )
    except ValueError as error:
        raise BadInput(f"the download of Tiny Shakespeare is not what it should be: {error}") from error
    except OSError as error:
        raise BadInput(
            f"Tiny Shakespeare could not be downloaded ({type(error).__name__}). Two ways out: set "
            f"{SHAKESPEARE_VARIABLE} to the path of a copy, or use the corpus 'tales', which needs no network"
        ) from error
    return read_text(Path(path))
