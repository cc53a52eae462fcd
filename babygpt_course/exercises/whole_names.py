"""An exercise of notebook 04: whether a model, writing by itself, writes the whole right name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt_course.exercises.base import Check, Exercise, expect
from babygpt_course.exercises.draws import dice


def whole_names_stub(model: nn.Module, tokenizer: CharTokenizer, questions: Sequence[Question]) -> float:
    """Share of questions after which the model, always taking the likeliest letter, writes name and end."""
    return 0.0


def whole_names_answer(model: nn.Module, tokenizer: CharTokenizer, questions: Sequence[Question]) -> float:
    """Share of questions after which the model, always taking the likeliest letter, writes name and end."""
    right = 0
    for question in questions:
        wanted, text = question.answer + question.end, question.prompt
        for _ in wanted:
            logits = model(tokenizer.encode(text)[None])  # (1, T, vocab_size)
            text += tokenizer.decode(logits[0, -1:].argmax(dim=-1))
        right += text == question.prompt + wanted
    return right / len(questions)


class Speller(nn.Module):
    """A model that writes what it is told to, letter by letter, whatever stands in place of the last ones.

    plan  prompt -> what it writes after it; after anything else it writes question marks
    """

    def __init__(self, tokenizer: CharTokenizer, plan: Mapping[str, str]) -> None:
        super().__init__()
        self.tokenizer, self.plan = tokenizer, plan

    def following(self, text: str) -> str:
        """The letter that it finds likeliest after a text."""
        for prompt, written in self.plan.items():
            if text.startswith(prompt) and len(text) < len(prompt + written):
                return written[len(text) - len(prompt)]
        return "?"

    def forward(self, idx: Tensor) -> Tensor:
        """Logits (B, T, vocab_size): one letter is likelier than each of the others, which are alike."""
        texts = [self.tokenizer.decode(row) for row in idx]
        letters = ["".join(self.following(text[: t + 1]) for t in range(len(text))) for text in texts]
        ids = torch.stack([self.tokenizer.encode(row) for row in letters])
        return 3.0 * nn.functional.one_hot(ids, self.tokenizer.vocab_size)


NAMES = ("ana", "tom", "benno", "lisa", "kim", "udo", "ruth")


def asked(draw: Generator, n: int) -> list[Question]:
    """Questions of a tiny world, with names of different lengths."""
    rng, found = dice(draw), []
    for i in range(n):
        name, rival = rng.sample(NAMES, 2)
        found.append(
            Question(f"\n{'a' * i}{name} met {rival}. who met? ", name, rival, ". !"[rng.randint(0, 2)])
        )
    return found


def spells(attempt: Any, questions: list[Question], written: list[str], said: Mapping[str, float]) -> None:
    """Let a model write these after the prompts, and compare the share that is found right."""
    tokenizer = CharTokenizer("\nabcdefghijklmnopqrstuvwxyz .?!")
    plan = {q.prompt: text + "." for q, text in zip(questions, written, strict=True)}
    right = sum(text.startswith(q.answer + q.end) for q, text in zip(questions, written, strict=True))
    pairs = [(q.answer + q.end, text) for q, text in zip(questions, written, strict=True)]
    listed = ", ".join(f"{wanted!r}: {text!r}" for wanted, text in pairs)
    what = f"{len(pairs)} questions, what is right and what the model writes being {listed},"
    want = right / len(questions)
    given = Speller(tokenizer, plan), tokenizer, questions
    expect(attempt, *given, want=want, what=what, mistakes={s: x for s, x in said.items() if x != want})


def all_right(attempt: Any, draw: Generator) -> None:
    questions = asked(draw, 5)
    spells(attempt, questions, [q.answer + q.end for q in questions], {})


def wrong_names(attempt: Any, draw: Generator) -> None:
    for n in (1, 4):
        questions = asked(draw, n + 1)
        written = [q.rival + q.end for q in questions]
        written[0] = questions[0].answer + questions[0].end
        spells(attempt, questions, written, {})


def wrong_letters(attempt: Any, draw: Generator) -> None:
    for at in (0, 1, 2):
        questions = asked(draw, 4)
        written = [q.answer + q.end for q in questions]
        for i in (1, 2, 3):
            written[i] = written[i][:at] + "z" + written[i][at + 1 :]
        wanted = "".join(q.answer + q.end for q in questions)
        share = 1 - 3 / len(wanted)
        whole = (
            "The first letter is not the whole name"
            if at
            else "You ask whether the right name is likelier than the rival, not what is written"
        )
        told = {"One wrong letter spoils the name": share, whole: 1.0}
        spells(attempt, questions, written, told)


def wrong_ends(attempt: Any, draw: Generator) -> None:
    questions = asked(draw, 4)
    written = [q.answer + q.end for q in questions]
    for i in (0, 2, 3):
        written[i] = questions[i].answer + "na."
    said = "After the name its end (`question.end`) must come: *anana* is not *ana*"
    spells(attempt, questions, written, {said: 1.0})


WHOLE_NAMES = Exercise(
    name="Whole names",
    task=(
        "`role_accuracy` asks which of two names is likelier. But what does a model *write*? Let it write "
        "by itself after each `question.prompt`, always the letter it finds likeliest, and count a "
        "question if `question.answer` and then `question.end` come, letter for letter. Write "
        "`whole_names(model, tokenizer, questions)`, which returns the share. `model(ids)` takes (B, T) "
        "and gives logits (B, T, vocab_size); `tokenizer.encode(text)` gives ids (T,), and "
        "`tokenizer.decode` takes such ids, be it a single one in a row (1,). Solved? Then ask it of this "
        "notebook's model: `whole_names(v4, tokenizer, questions[:100])`."
    ),
    level="stretch",
    minutes=15,
    checks=(
        Check("a model that is always right", all_right),
        Check("the other name is wrong", wrong_names),
        Check("one wrong letter is one too many", wrong_letters),
        Check("and the name must end", wrong_ends),
    ),
    hints=(
        "Begin with the prompt. Add the likeliest letter, ask again with the longer text, and so on.",
        "The last row of the logits is for the letter that comes next: `logits[0, -1].argmax()`.",
        "Write as many letters as the answer and its end have, then compare texts.",
    ),
    stub=whole_names_stub,
    answer=whole_names_answer,
)
