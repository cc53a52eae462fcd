"""Questions who did it, for a published model: some have a shortcut, for others only the order can tell."""

from collections.abc import Callable, Sequence
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

    text   examples, story and question, up to the space before the answer
    right  the name that answers it
    other  the other name of the story
    """

    text: str
    right: str
    other: str


Ask = Callable[[str, str, str], tuple[str, str]]  # who did it, verb, to whom -> story with question, answer


def with_shortcut(doer: str, verb: str, receiver: str) -> tuple[str, str]:
    """Ask who did it to somebody: the answer is the name that the question does not hold, in any order."""
    return f"{doer} {verb} {receiver}. Who {verb} {receiver}?", doer


def who(doer: str, verb: str, receiver: str) -> tuple[str, str]:
    """Ask who did it. The mirror image of the story has the same words, and another answer."""
    return f"{doer} {verb} {receiver}. Who {verb}?", doer


def whom(doer: str, verb: str, receiver: str) -> tuple[str, str]:
    """Ask to whom it was done: the answer is the last name of the story, as that of `who` is the first."""
    return f"{doer} {verb} {receiver}. Who was {verb}?", receiver


def mirrors(n_examples: int, *kinds: Ask) -> list[Mirror]:
    """Return questions on all pairs of names, each after answered ones about other names.

    n_examples  answered questions that stand before each, 0 to 4, of the kinds in turn
    kinds       of questions; by default `with_shortcut`
    """
    kinds, questions = kinds or (with_shortcut,), []
    for ask in kinds:
        for i, (doer, receiver) in enumerate(permutations(NAMES, 2)):
            rest = [name for name in NAMES if name not in (doer, receiver)]
            examples = ""
            for j in range(n_examples):
                names, verb = (rest[j], rest[(j + 1) % len(rest)]), VERBS[(i + j + 1) % len(VERBS)]
                question, answer = kinds[(i + j) % len(kinds)](names[0], verb, names[1])
                examples += f"{question} {answer}.\n"
            question, answer = ask(doer, VERBS[i % len(VERBS)], receiver)
            questions.append(Mirror(examples + question, answer, receiver if answer == doer else doer))
    return questions


@torch.inference_mode()
def margins(model: RealModel, tokenizer: RealTokenizer, questions: Sequence[Mirror]) -> np.ndarray:
    """Return log p of the right name minus log p of the other one: (Q,) nats, below 0 where it is wrong.

    Raises RuntimeError if a name is not one token.
    """
    weight, advantages = model.token_embedding.weight, []
    for mirror in questions:
        stream = model.read(tokenizer.encode(mirror.text)[None].to(weight.device))[0, -1]  # (C,)
        names = (f" {mirror.right}", f" {mirror.other}")
        right, wrong = (weight[int(tokenizer.encode(name, start=False).item())] for name in names)
        advantages.append(float((right - wrong) @ stream))
    return np.array(advantages)
