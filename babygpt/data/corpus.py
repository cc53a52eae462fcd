"""Texts to train on: tales that the package writes, Tiny Shakespeare, UTF-8 files, or what a pipe sends."""

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from torch import Tensor

from babygpt.config import require_kind
from babygpt.data import recall, tales
from babygpt.data.grammar import Grammar
from babygpt.data.recall import USUAL, Spacing
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput, suggestion
from babygpt.files import is_left_behind

SHAKESPEARE_URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHAKESPEARE_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
SHAKESPEARE_VARIABLE = "BABYGPT_SHAKESPEARE"
TRAIN_SHARE = 0.9
TRAIN_SEED = 0
VAL_SEED = 1
QUESTION_SEED = 2
GRAMMARS = {"tales": tales.english, "plain-tales": tales.plain, "tales-zh": tales.chinese}
NAMES = (*GRAMMARS, "recall", "shakespeare")  # any other name is a path, or "-"


@dataclass(frozen=True)
class Corpus:
    """A text in two parts, as token ids.

    name       what it was loaded as
    tokenizer  its characters
    train      (N,)  token ids for training
    val        (M,)  token ids for validation
    grammar    the grammar that wrote it, with exact entropies, or None for found text
    """

    name: str
    tokenizer: CharTokenizer
    train: Tensor
    val: Tensor
    grammar: Grammar | None = None

    @property
    def floor(self) -> float | None:
        """The lowest loss that any model can reach, in nats per character, where it is known."""
        return self.grammar.floor() if self.grammar else None

    @property
    def bigram_floor(self) -> float | None:
        """The lowest loss that a bigram model can reach, in nats per character, where it is known."""
        return self.grammar.bigram_floor() if self.grammar else None

    def require_tokens(self, n: int, what: str) -> None:
        """Raise BadInput unless both parts hold n tokens. `what` needs them, such as "block_size (64)"."""
        parts = {"training": self.train, "validation": self.val}
        name, ids = min(parts.items(), key=lambda part: len(part[1]))
        if len(ids) < n:
            whole = len(self.train) + len(self.val)
            raise BadInput(
                f"{what} needs {n} tokens, and the {name} part of {self.name} has {len(ids)} of {whole}: "
                "choose a smaller one, or a longer text"
            )

    def fingerprint(self) -> str:
        """Return the SHA-256 of its characters and both parts, which does not depend on its name."""
        total = hashlib.sha256(repr(self.tokenizer.characters).encode())
        for part in (self.train, self.val):
            total.update(f"{len(part)} ".encode() + part.numpy().tobytes())
        return total.hexdigest()

    def encoded_by(self, tokenizer: CharTokenizer) -> "Corpus":
        """Return this text in the token ids of another tokenizer. Raise BadInput for a character it lacks."""
        if tokenizer.characters == self.tokenizer.characters:
            return self
        train, val = (tokenizer.encode(self.tokenizer.decode(part)) for part in (self.train, self.val))
        return replace(self, tokenizer=tokenizer, train=train, val=val)


def load_corpus(
    name: str | os.PathLike[str] = "tales", n_chars: int = 1_000_000, with_mask: bool = False
) -> Corpus:
    """Load a corpus by name or path.

    name       "tales", "plain-tales", "tales-zh", "recall", "shakespeare", the path of a UTF-8 text file or
               of a folder of them, or "-" for standard input
    n_chars    characters of training text to write, for the tales and "recall" only
    with_mask  whether the tokenizer gets a MASK token
    Raises BadInput if a file is missing, empty or not UTF-8, or cannot be downloaded.
    """
    require_kind("n_chars", n_chars, int)
    name = str(name) if isinstance(name, str | os.PathLike) else refuse_name(name)
    if name in GRAMMARS:
        return from_grammar(name, GRAMMARS[name](), n_chars, with_mask)
    if name == "recall":
        return recall_corpus(n_chars, with_mask=with_mask)
    if not name:
        raise BadInput(f"the name of a corpus is empty; it is {', '.join(NAMES)}, or the path of a text file")
    if name == "shakespeare":
        return from_text(name, shakespeare(), with_mask)
    if name == "-":
        piped = "standard input"
        return from_text(piped, as_text(sys.stdin.buffer.read(), piped), with_mask)
    return from_text(name, read_text(Path(name).expanduser()), with_mask)


def refuse_name(name: object) -> NoReturn:
    """Raise BadInput for a name that is neither a text nor a path."""
    raise BadInput(f"a corpus is {', '.join(NAMES)}, or a path; this is a {type(name).__name__}")


def from_grammar(name: str, grammar: Grammar, n_chars: int, with_mask: bool = False) -> Corpus:
    """Write a corpus: training and validation text from different seeds, the latter a ninth as long.

    Raises BadInput if n_chars is below 1.
    """
    return _write_corpus(name, CharTokenizer(grammar.alphabet(), with_mask), grammar.write, n_chars, grammar)


def recall_corpus(n_chars: int = 400_000, spacing: Spacing = USUAL, with_mask: bool = False) -> Corpus:
    """Write the corpus "recall": plain tales in which values are told and later asked for. It has no floor.

    n_chars  characters of training text; the validation text is a ninth as long and has another seed
    spacing  distances between telling and asking; they do not change the tokenizer
    Raises BadInput if n_chars is below 1.
    """
    tokenizer = CharTokenizer(recall.alphabet(), with_mask)
    return _write_corpus("recall", tokenizer, partial(recall.write_recall_text, spacing=spacing), n_chars)


def _write_corpus(
    name: str,
    tokenizer: CharTokenizer,
    write: Callable[[int, int], str],
    n_chars: int,
    grammar: Grammar | None = None,
) -> Corpus:
    """Return a corpus whose two parts `write` made from a length in characters and a seed."""
    if n_chars < 1:
        raise BadInput(f"n_chars ({n_chars}) must be at least 1 character of training text")
    n_val = round(n_chars * (1 - TRAIN_SHARE) / TRAIN_SHARE)
    train, val = (tokenizer.encode(write(n, seed)) for n, seed in ((n_chars, TRAIN_SEED), (n_val, VAL_SEED)))
    return Corpus(name, tokenizer, train, val, grammar)


def from_text(name: str, text: str, with_mask: bool = False) -> Corpus:
    """Split a text: the first 90% for training, the rest for validation."""
    if not text:
        raise BadInput(f"{name} is empty; a corpus needs some text")
    tokenizer = CharTokenizer.fit(text, with_mask)
    ids = tokenizer.encode(text)
    n_train = int(TRAIN_SHARE * len(ids))
    return Corpus(name, tokenizer, ids[:n_train], ids[n_train:])


def read_text(path: Path) -> str:
    """Read a UTF-8 file, or all files of a folder as `read_folder` does.

    Raises BadInput naming the path if it is missing, cannot be read, or holds what `as_text` refuses.
    """
    try:
        if path.is_dir():
            return read_folder(path)
        if not path.is_file():
            hint = suggestion(path, NAMES)
            choices = f"a corpus is {', '.join(NAMES)}, or the path of a text file"
            raise BadInput(f"no file at {path}; {choices}{hint}")
        return as_text(path.read_bytes(), str(path))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None


def read_folder(folder: Path) -> str:
    """Read all files of a folder and its subfolders whose names end in .txt, in the order of their paths.

    Files that other programs left behind are skipped, as `is_left_behind` says. A line end follows each text
    that has none. Raises BadInput if there is no such file.
    """
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".txt" and path.is_file())
    texts = [read_text(path) for path in paths if not is_left_behind(path.relative_to(folder))]
    if not texts:
        raise BadInput(f"no file in {folder} has a name that ends in .txt, so it is no corpus")
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts if text)


def as_text(content: bytes, name: str) -> str:
    """Decode UTF-8 without its byte order marks. Line ends of any kind become "\\n".

    Raises BadInput for what is not UTF-8 text. A text with NUL in it is refused, too: it is binary, or UTF-16
    without a byte order mark.
    """
    try:
        text = content.decode().lstrip("\ufeff")  # some editors write two
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not UTF-8 text: byte {error.start} cannot be read") from None
    if "\0" in text:
        where = f"character {text.index(chr(0))} is NUL"
        raise BadInput(f"{name} is not UTF-8 text: {where}, as in UTF-16 or a binary file; save it as UTF-8")
    return with_line_ends(text)


def with_line_ends(text: str) -> str:
    """Return a text whose line ends of any kind are "\\n", in a corpus and in a prompt alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shakespeare() -> str:
    """Return Tiny Shakespeare: a local copy if BABYGPT_SHAKESPEARE names one, else one download, cached.

    Raises BadInput if a copy has the wrong checksum or the download fails.
    Source: Karpathy 2015, char-rnn.
    """
    if local := os.environ.get(SHAKESPEARE_VARIABLE):
        if not Path(local).is_file():
            raise BadInput(f"{SHAKESPEARE_VARIABLE} ({local}) must be the path of a file, or not be set")
        text = read_text(Path(local))
        digest = hashlib.sha256(Path(local).read_bytes()).hexdigest()
        if digest != SHAKESPEARE_SHA256:
            raise BadInput(f"{local} has SHA-256 {digest}, not {SHAKESPEARE_SHA256}: not Tiny Shakespeare")
        return text
    import pooch  # Only a download needs it.

    checksum, cache = f"sha256:{SHAKESPEARE_SHA256}", pooch.os_cache("babygpt")
    try:
        path = pooch.retrieve(SHAKESPEARE_URL, checksum, "tinyshakespeare.txt", cache)
    except ValueError as error:
        raise BadInput(f"the download of Tiny Shakespeare is not what it should be: {error}") from error
    except OSError as error:
        raise BadInput(
            f"Tiny Shakespeare could not be downloaded ({type(error).__name__}). Two ways out: set "
            f"{SHAKESPEARE_VARIABLE} to the path of a copy, or use the corpus 'tales', which needs no network"
        ) from error
    return read_text(Path(path))
