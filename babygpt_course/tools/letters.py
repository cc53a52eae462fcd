"""Letters: the loss of each letter of a story while a model learns, and the name that it answers."""

from typing import Any

import numpy as np
import torch

from babygpt.data.stories import Questions
from babygpt.data.tokenizer import CharTokenizer
from babygpt.metrics import greedy_answers, role_accuracy
from babygpt.objectives import cross_entropy
from babygpt_live import COLOURS, Axis, Curve, Panel, Watch, visible
from babygpt_live.panel import name_ticks

HIGHEST = 5.0  # nats; a bar that is taller leaves the picture


def letters(tokenizer: CharTokenizer, questions: Questions, times: int = 30) -> Watch:
    """Watch the loss of each letter of the first question and its answer, and the name that the model writes.

    The title counts the questions in which the right name is the likelier one, and those in which it is
    written, and shows the first name that is missed. Each measurement takes about as long as four steps with
    two dozen questions.

    questions  at least one; their answers are read with the right letters before each
    """
    first = questions[0]
    text = first.prompt + first.answer + first.end
    ids = tokenizer.encode(text)[None]
    marks = visible(text[1:])
    end = len(marks) - len(first.end)
    answer = slice(end - len(first.answer), end)

    @torch.inference_mode()
    def measure(model: Any) -> tuple[np.ndarray, list[str], int]:
        device_ids = ids.to(next(model.parameters()).device)
        losses = cross_entropy(model(device_ids[:, :-1]), device_ids[:, 1:])[0].cpu().numpy()  # (T,)
        n_right = role_accuracy(model, tokenizer, questions) * len(questions)
        return losses, greedy_answers(model, tokenizer, questions), round(n_right)

    def panel(frames: Any, title: str, total: int) -> Panel:
        step, (losses, names, n_right) = frames[-1]
        right = [name == q.answer for name, q in zip(names, questions, strict=True)]
        example = right.index(False) if False in right else 0  # a name that is still missed, if there is one
        answer_losses = np.zeros_like(losses)
        answer_losses[answer] = losses[answer]
        counts = f"{n_right} of {len(right)} answers and writes {sum(right)} of {len(right)} names"
        shown = f"“{''.join(visible(names[example]))}” for “{questions[example].answer}”"
        finding = f"After {step} steps {title} knows {counts}, such as {shown}"
        bars = [
            Curve("story and question", COLOURS["blue"], losses - answer_losses, look="bars"),
            Curve("answer", COLOURS["red"], answer_losses, look="bars"),
        ]
        x = Axis("letter", (-0.7, len(marks) - 0.3), name_ticks(marks), digits=0)
        return Panel(finding, bars, x, Axis("loss (nats)", (0.0, HIGHEST)), width=2.0)

    return Watch(measure, panel, times)
