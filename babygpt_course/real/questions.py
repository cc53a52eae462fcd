"""Questions who did it, for a published model: only the order of the words can tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import torch

from babygpt_course.real.model import RealModel
from babygpt_course.real.tokenizer import RealTokenizer

NAMES = ("Tom", "Ben", "Sam", "Anna", "Mary", "John")  # one token each, with the space before it
VERBS = ("chased", "helped", "found", "called")


@dataclass(frozen=True)
class Mirror:
    """A question, with the two names that its story holds.

    text   story and question, up to the space before the answer
    right  the name that answers it
    other  the other name, which would be right if the story were turned around
    """

    text: str
    right: str
    other: str


def story(one: str, verb: str, other: str) -> str:
    """Return a story of three words and its question."""
    return f"{one} {verb} {other}. Who {verb} {other}?"


def mirrors(n_examples: int) -> list[Mirror]:
    """Return all questions on all pairs of names, each after some answered examples about other names.

    n_examples  answered questions that stand before it, 0 to 4
    """
    found = []
    for i, (one, other) in enumerate(permutations(NAMES, 2)):
        rest = [name for name in NAMES if name not in (one, other)]
        verb = VERBS[i % len(VERBS)]
        examples = [
            f"{story(rest[j], VERBS[(i + j + 1) % len(VERBS)], rest[(j + 1) % len(rest)])} {rest[j]}.\n"
            for j in range(n_examples)
        ]
        found.append(Mirror("".join(examples) + story(one, verb, other), one, other))
    return found


@torch.inference_mode()
def margins(model: RealModel, tokenizer: RealTokenizer, asked: Sequence[Mirror]) -> np.ndarray:
    """Return log p of the right name minus log p of the other one: (Q,) nats, below 0 where it is wrong.

    asked  with equally many examples each, so that all are equally long
    """
    idx = torch.stack([tokenizer.encode(mirror.text) for mirror in asked])  # equally long, (Q, T)
    weight = model.token_embedding.weight
    stream = model.read(idx.to(weight.device))[:, -1]  # (Q, C)
    names = [(f" {mirror.right}", f" {mirror.other}") for mirror in asked]
    ids = torch.tensor([[int(tokenizer.encode(name, start=False)[0]) for name in two] for two in names])
    right, other = weight[ids.T.to(weight.device)]  # (Q, C) each
    return ((right - other) * stream).sum(dim=-1).cpu().numpy()
