"""What counting comes to, without any network: the control of every race to a loss."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput


def measure_counting(corpus: Corpus, longest: int = 5) -> dict[str, Any]:
    """The validation loss of counted contexts, up to so many tokens long, and the seconds of counting.

    returns  "contexts": by length in tokens "val_loss" in nats per token, "seconds" of processor time to
             count and to read the validation text
    Raises BadInput unless longest lies between 1 and what fits into 64 bits.
    """
    vocab_size = corpus.tokenizer.vocab_size
    most = int(62 / np.log2(vocab_size)) - 1
    if not 1 <= longest <= most:
        raise BadInput(f"longest ({longest}) must lie between 1 and {most}, with {vocab_size} tokens")
    train, val = corpus.train.numpy(), corpus.val.numpy()
    start, found = time.process_time(), {}
    p = np.full(len(val), 1 / vocab_size)
    for length in range(longest + 1):
        p = mix_in(p, train, val, length, vocab_size)
        seconds = round(time.process_time() - start, 2)
        found[str(length)] = {"val_loss": round(float(-np.log(p).mean()), 4), "seconds": seconds}
    return {"contexts": found}


def mix_in(p: np.ndarray, train: np.ndarray, val: np.ndarray, length: int, vocab_size: int) -> np.ndarray:
    """Probabilities of every token of a text by contexts of one length, mixed with those of shorter ones.

    p        (N,)  by shorter contexts
    train    what is counted
    val      (N,)  what is predicted
    returns  (N,)  (count of context and token + kinds · p) / (count of context + kinds), kinds being how
             many different tokens followed the context; p where the context is new
    Source: Witten and Bell 1991, method C.
    """
    size = vocab_size**length
    pairs, n_pair = np.unique(codes(train, length, vocab_size), return_counts=True)
    contexts, kinds = np.unique(pairs % size, return_counts=True)
    n_context = np.bincount(np.searchsorted(contexts, pairs % size), weights=n_pair)
    wanted = codes(val, length, vocab_size)
    (tokens,) = looked_up(pairs, [n_pair], wanted)
    total, different = looked_up(contexts, [n_context, kinds], wanted % size)
    mixed = p.copy()
    seen = total > 0
    tail = mixed[length:]  # the first tokens of the text have no such context
    tail[seen] = (tokens[seen] + different[seen] * tail[seen]) / (total[seen] + different[seen])
    return mixed


def codes(text: np.ndarray, length: int, vocab_size: int) -> np.ndarray:
    """A number for each token with those before it: (N - length,); modulo V^length it is the context's."""
    n = len(text) - length
    code = text[length:].astype(np.int64)
    for back in range(length, 0, -1):
        code = code * vocab_size + text[length - back : length - back + n]
    return code


def looked_up(keys: np.ndarray, values: list[np.ndarray], wanted: np.ndarray) -> list[np.ndarray]:
    """What sorted keys stand for, each of several values; 0 for what is none of them."""
    at = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return [np.where(keys[at] == wanted, value[at], 0) for value in values]
