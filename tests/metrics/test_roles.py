"""Who did it? Against a model that knows, one that knows the opposite, and ones that cannot."""

import random
from collections import Counter

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data import tales
from babygpt.data.grammar import Grammar
from babygpt.data.stories import END, Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Encoding
from babygpt.metrics import answer_log_probs, role_accuracy
from babygpt.models.base import LanguageModel

VERBS = ("met", "hid")
TOKENIZER = CharTokenizer("\n .?abdehimntovw")


class Oracle(LanguageModel):
    """Knows the grammar by heart: the exact probability of the next character after any prompt."""

    def __init__(self, stories: Counter[str]) -> None:
        super().__init__(ModelConfig(TOKENIZER.vocab_size, block_size=64), Encoding())
        self.anywhere = torch.nn.Parameter(torch.zeros(()))
        self.stories = stories

    def forward(self, idx: torch.Tensor, positions=None, cache=None) -> torch.Tensor:
        rows = [[self.next(TOKENIZER.decode(row[: t + 1])) for t in range(len(row))] for row in idx]
        return torch.tensor(rows).log()

    def next(self, text: str) -> list[float]:
        begun = text.rsplit(END, 1)[-1]
        found = dict.fromkeys(TOKENIZER.characters, 1e-30)
        for story, p in self.stories.items():
            if (story + END).startswith(begun):
                found[(story + END)[len(begun)]] += p
        return [p / sum(found.values()) for p in found.values()]


def stories(grammar: Grammar, swapped: bool = False) -> Counter[str]:
    """Every story, as often as in a big sample; or with each answer exchanged for the rival."""
    rng, found = random.Random(0), Counter()
    for _ in range(400):
        story = grammar.sample(rng)
        q = story.question()
        said = q.rival if swapped else q.answer
        text = q.prompt + said + (END + story.text)[len(q.prompt + q.answer) :]
        found[text.removeprefix(END)] += 1
    return found


@pytest.fixture(scope="module")
def questions(small_grammar: Grammar) -> list[Question]:
    return small_grammar.questions(24, seed=0, max_chars=60)


def test_who_knows_the_stories_answers_every_question(
    small_grammar: Grammar, questions: list[Question]
) -> None:
    assert role_accuracy(Oracle(stories(small_grammar)), TOKENIZER, questions) == 1.0


def test_who_knows_them_the_wrong_way_round_answers_none(
    small_grammar: Grammar, questions: list[Question]
) -> None:
    assert role_accuracy(Oracle(stories(small_grammar, swapped=True)), TOKENIZER, questions) == 0.0


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_a_model_blind_to_order_is_right_half_of_the_time_exactly(awake, language: str) -> None:
    """Each question has its mirror, and one of the two must be wrong; ties count half."""
    grammar = getattr(tales, language)()
    tokenizer = CharTokenizer(grammar.alphabet())
    asked = grammar.questions(60, seed=0, max_chars=160)
    model = awake("v1", vocab_size=tokenizer.vocab_size, block_size=200)
    assert role_accuracy(model, tokenizer, asked) == 0.5


def test_a_model_that_says_nothing_is_at_chance(awake, questions: list[Question]) -> None:
    """All logits equal, and names of equal length: every question is a tie."""
    model = awake("v4", vocab_size=TOKENIZER.vocab_size, block_size=64)
    torch.nn.init.zeros_(model.head.weight)
    assert role_accuracy(model, TOKENIZER, questions) == 0.5


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_scores_are_sums_over_the_answer_and_what_ends_it(awake, version: str) -> None:
    """One text at a time, token by token, without padding; answers of different lengths."""
    model = awake(version, vocab_size=TOKENIZER.vocab_size, block_size=64)
    asked = [
        Question("\nann met bob. who met? ", "ann", "bob", "."),
        Question("\nwho? ", "a", "evebob", " "),
        Question("e", "hid", "d", "\n"),
    ]
    got = answer_log_probs(model, TOKENIZER, asked)
    assert got.shape == (3, 2)
    for q, scores in zip(asked, got, strict=True):
        for name, score in zip((q.answer, q.rival), scores, strict=True):
            written, expected = q.prompt, 0.0
            for char in name + q.end:
                with torch.no_grad():
                    logits = model(TOKENIZER.encode(written)[None])[0, -1]
                expected += logits.log_softmax(dim=0)[TOKENIZER.ids[char]].item()
                written += char
            assert score == pytest.approx(expected, abs=1e-4)


def test_more_questions_than_a_batch_holds_stay_in_order(awake) -> None:
    model = awake("v4", vocab_size=TOKENIZER.vocab_size, block_size=64)
    names = ["ann", "bob", "eve", "dave", "tina", "hanna", "nat"]
    asked = [Question("\n" + a + " met. who? ", a, b, ".") for a in names for b in names if a != b]
    assert len(asked) > 40
    together = answer_log_probs(model, TOKENIZER, asked)
    alone = np.concatenate([answer_log_probs(model, TOKENIZER, [q]) for q in asked])
    assert together == pytest.approx(alone, abs=1e-4)


def test_question_longer_than_the_window_is_refused(awake) -> None:
    model = awake("v4", vocab_size=TOKENIZER.vocab_size, block_size=16)
    fits = Question("a" * 12, "bob", "eve", "  "[:1])
    answer_log_probs(model, TOKENIZER, [Question("a" * 13, "bob", "eve", ".")])  # 16 are read
    answer_log_probs(model, TOKENIZER, [fits])
    with pytest.raises(ValueError, match=r"18 characters.*block_size is 16"):
        answer_log_probs(model, TOKENIZER, [fits, Question("a" * 14, "bob", "eve", ".")])


def test_question_in_other_characters_is_refused(awake) -> None:
    model = awake("v1", vocab_size=TOKENIZER.vocab_size, block_size=16)
    with pytest.raises(ValueError, match="'ü'"):
        role_accuracy(model, TOKENIZER, [Question("a", "ü", "b", ".")])
