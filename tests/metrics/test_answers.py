"""Answers to questions: the likelier of two names, the text that a model writes, the loss of each letter."""

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data import tales
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.metrics import answer_log_probs, answer_losses, greedy_answers
from babygpt.metrics.answers import role_accuracy, whole_answer_accuracy
from babygpt.models.language_model import LanguageModel
from babygpt.sampling import generate

TOKENIZER = CharTokenizer("\n .?abdehimntovw")
ASKED = [  # prompts, names and ends of different lengths; the first fills the window to its last token
    Question("\nann met bob. who? ", "ann", "bob", "."),
    Question("\nwho? ba then e", "hidden", "bo", " "),
    Question("e", "hid", "ahemanded", "\n"),
]


class Writer(LanguageModel):
    """Model that writes a given token after a given number of tokens, almost surely."""

    def __init__(self, written: str, after: int) -> None:
        super().__init__(ModelConfig(TOKENIZER.vocab_size, block_size=22), Encoding())
        self.logits = torch.nn.Parameter(torch.zeros(22, TOKENIZER.vocab_size))
        for i, char in enumerate(written):
            self.logits.data[after - 1 + i, TOKENIZER.ids[char]] = 9.0

    def forward(self, idx: torch.Tensor, positions=None, cache=None) -> torch.Tensor:
        return self.logits[: idx.shape[1]].expand(len(idx), -1, -1)


def letter_losses(model: LanguageModel, prompt: str, ending: str) -> list[float]:
    """Return the loss of each letter of an ending, one text at a time and without padding."""
    losses = []
    for char in ending:
        with torch.no_grad():
            chances = model(TOKENIZER.encode(prompt)[None])[0, -1].log_softmax(dim=0)
        losses.append(-chances[TOKENIZER.ids[char]].item())
        prompt += char
    return losses


@pytest.mark.parametrize(
    ("written", "answer", "right"),
    [
        ("bob.", "bob", 1.0),
        ("bob.bob", "bob", 1.0),  # what comes after the end is not looked at
        ("bobe.", "bobe", 0.0),  # the right name and more
        ("bobab", "boba", 0.0),  # two letters are too many: cut to one more than the longest name
        ("bo.", "bo", 0.0),
        (".bob", "", 0.0),
        ("ann.", "ann", 0.0),
    ],
)
def test_only_the_whole_name_and_its_end_are_right(written: str, answer: str, right: float) -> None:
    question = Question("\nann met bob. ", "bob", "ann", ".")
    model = Writer(written, after=len(question.prompt))
    assert greedy_answers(model, TOKENIZER, [question]) == [answer]
    assert whole_answer_accuracy(model, TOKENIZER, [question, question]) == right


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_greedy_answers_equal_generated_text_at_temperature_0(awake, version: str) -> None:
    model = awake(version, vocab_size=TOKENIZER.vocab_size, block_size=22)
    expected = []
    for q in ASKED:
        longest = max(len(q.answer), len(q.rival)) + 1
        row = generate(model, TOKENIZER.encode(q.prompt)[None], longest, temperature=0)[0]
        expected.append(TOKENIZER.decode(row[len(q.prompt) :]).split(q.end)[0])
    assert greedy_answers(model, TOKENIZER, ASKED) == expected
    assert len(set(expected)) > 1


def test_more_questions_than_a_batch_holds_stay_in_order(awake) -> None:
    model = awake("v4", vocab_size=TOKENIZER.vocab_size, block_size=22)
    questions = [Question(a + b + c, "ann", "bob", ".") for a in "abdehi" for b in "mntov" for c in "wab"]
    together, scores = (
        greedy_answers(model, TOKENIZER, questions),
        answer_log_probs(model, TOKENIZER, questions),
    )
    assert together == [greedy_answers(model, TOKENIZER, [q])[0] for q in questions]
    assert len(set(together)) > 3
    alone = np.concatenate([answer_log_probs(model, TOKENIZER, [q]) for q in questions])
    assert scores == pytest.approx(alone, abs=1e-4)


def test_letter_losses_are_means_over_the_answers_that_have_the_letter(awake) -> None:
    """Average over names of different lengths: a name's end stands right after its last letter."""
    model = awake("v4", vocab_size=TOKENIZER.vocab_size, block_size=22)
    each = [letter_losses(model, q.prompt, q.answer + q.end) for q in ASKED]
    assert [len(losses) for losses in each] == [4, 7, 4]
    expected = [np.mean([losses[i] for losses in each if len(losses) > i]) for i in range(7)]
    assert answer_losses(model, TOKENIZER, ASKED) == pytest.approx(expected, abs=1e-5)


def test_questions_that_cannot_be_answered_are_refused(awake) -> None:
    model = awake("v4", vocab_size=TOKENIZER.vocab_size, block_size=16)
    fits, too_long = Question("a" * 12, "bob", "anna", "."), Question("a" * 13, "bob", "anna", ".")
    for measure in (greedy_answers, answer_log_probs):
        assert len(measure(model, TOKENIZER, [fits])) == 1
        with pytest.raises(BadInput, match=r"18 characters.*block_size is 16"):
            measure(model, TOKENIZER, [fits, too_long])
    with pytest.raises(BadInput, match="sees what comes next"):
        greedy_answers(awake("v7", vocab_size=TOKENIZER.vocab_size), TOKENIZER, ASKED)


def test_role_accuracy_counts_the_likelier_answers_and_half_of_the_ties(awake) -> None:
    scores = np.array([[-1.0, -2.0], [-2.0, -1.0], [-3.0, -3.0], [-0.5, -9.0]])
    assert role_accuracy(awake("v1"), TOKENIZER, ASKED, score=lambda *_: scores) == 2.5 / 4


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_a_model_blind_to_order_is_right_half_of_the_time_exactly(awake, language: str) -> None:
    """Pair each question with its mirror: one of the two must be wrong, and ties count half."""
    grammar = getattr(tales, language)()
    tokenizer = CharTokenizer(grammar.alphabet())
    questions = grammar.questions(60, seed=0, max_chars=160)
    model = awake("v1", vocab_size=tokenizer.vocab_size, block_size=200)
    assert role_accuracy(model, tokenizer, questions) == 0.5


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_scores_are_sums_over_the_answer_and_its_end(awake, version: str) -> None:
    """Compare answers of different lengths."""
    model = awake(version, vocab_size=TOKENIZER.vocab_size, block_size=22)
    expected = [[-sum(letter_losses(model, q.prompt, x + q.end)) for x in (q.answer, q.rival)] for q in ASKED]
    assert answer_log_probs(model, TOKENIZER, ASKED) == pytest.approx(np.array(expected), abs=1e-4)
