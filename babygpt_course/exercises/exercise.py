"""Exercises: a task, checks that test an answer on random inputs, hints one by one, a picture, a solution."""

from __future__ import annotations

import ast
import inspect
import io
import random
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Generator, Tensor, nn

from babygpt.tables import MARKS, MarkdownText, Source, Table, source
from babygpt_course.exercises.checks import Unusable, Wrong, require
from babygpt_course.exercises.compare import describe, difference
from babygpt_course.exercises.guard import OutOfTime, run_with_timeout
from babygpt_live import draw_matrix

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.figure import Figure

SECONDS = 10.0  # for a check, unless it trains; a busy machine needs more than an idle one
ROUNDS = 2  # of the checks on one answer, with other seeds: what the answer keeps of the first one shows
STYLES = {  # what is told of a right answer that is written in another way than ours -> its signs
    "a loop": {"For", "While", "ListComp", "GeneratorExp", "DictComp", "SetComp"},
    "NumPy": {"np", "numpy"},
    "einsum": {"einsum"},
    "complex numbers": {"complex", "view_as_complex", "polar"},
    "a sort": {"sort", "sorted", "argsort", "topk"},
}
KEEPS = ". Other numbers of the same kind were right before: does your code keep something between calls?"
Check = Callable[[Any, Generator], object]  # given an answer and a seeded random generator, raises Wrong


@dataclass(frozen=True)
class Report:
    """Result of all checks.

    rows    (✓ or ✗, the requirement, what is wrong) for each check
    output  the beginning of what the answer printed
    praise  how a right answer differs from the solution, in a sentence; an empty text if it hardly does
    """

    rows: Sequence[tuple[str, str, str]]
    output: str = ""
    praise: str = ""

    @property
    def solved(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> list[str]:
        """Requirements that the answer does not meet."""
        return [requirement for mark, requirement, _ in self.rows if mark != MARKS["holds"]]

    def _verdict(self) -> str:
        solved = f"Solved. {self.praise}".strip()
        return solved if self.solved else f"Not yet: {len(self.failed)} of {len(self.rows)} to go."

    def __repr__(self) -> str:
        lines = ["  ".join(part for part in row if part) for row in self.rows]
        output = [f"Your code printed: {self.output}"] if self.output else []
        return "\n".join([*lines, *output, self._verdict()])

    def _repr_html_(self) -> str:
        table = Table(("", "asked", "what is wrong"), self.rows, 3)._repr_html_()
        output = f"<p>Your code printed: <code>{escape(self.output)}</code></p>" if self.output else ""
        return f"{table}{output}<p><b>{self._verdict()}</b></p>"


@dataclass(frozen=True)
class DifferenceFigure:
    """Figure of an answer, the solution and their difference, which a notebook shows.

    words  the difference
    """

    figure: Figure
    words: str

    def __repr__(self) -> str:
        return f"Yours, the wanted one, and the difference: {self.words}"

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        file = io.BytesIO()
        self.figure.savefig(file, format="png")
        return file.getvalue(), {"alt": repr(self)}


def answer_figure(yours: np.ndarray, expected: np.ndarray, differ: str, x: str, y: str) -> Figure:
    """Draw a new figure with two matrices in the same colours, and the first minus the second.

    yours, expected  (rows, columns)
    differ           the title of the difference
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    sizes = [np.abs(part[np.isfinite(part)]) for part in (yours, expected)]
    top = max([float(part.max()) for part in sizes if part.size], default=0.0) or 1.0
    signed = bool((yours < 0).any() or (expected < 0).any())
    axes = figure.subplots(1, 3)
    for ax, matrix, title in zip(axes, (yours, expected), ("Yours", "Wanted"), strict=False):
        draw_matrix(ax, matrix, title, x, y, diverging=signed, top=top)
    draw_matrix(axes[2], yours - expected, differ, x, y, diverging=True, top=top)
    return figure


@dataclass
class Exercise:
    """A task with a checker.

    text      one of `read_tasks`: "Name (level, 5 minutes)", then the task in Markdown, then a list of the
              requirements, then of hints, from the vaguest to the plainest; a blank line between the four
    checks    one for each requirement, the most basic first, which tests the answer by itself; or requirement
              -> check, if the text has no list of them
    answer    the solution: a value, or a function or class called ..._answer, whose source is shown
    mistakes  sentence that tells the learner -> an answer with this mistake
    seconds   that a check may take; more than a few for one that trains
    trains    requirements whose checks train for seconds, so that one round of them has to do
    picture   a function that calls an answer and returns the matrix to draw, and labels of x and y
    """

    text: str
    checks: Any
    answer: Any
    mistakes: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = SECONDS
    trains: Collection[str] = ()
    picture: tuple[Callable[[Any], Tensor], str, str] | None = None

    def __post_init__(self) -> None:
        title, task, *required, hints = inspect.cleandoc(self.text).split("\n\n")
        self.name, _, effort = title.removesuffix(" minutes)").rpartition(" (")
        self.level, minutes = effort.split(", ")
        self.minutes, self.task = int(minutes), " ".join(task.split())
        self.hints = [" ".join(hint.split()) for hint in f"\n{hints}".split("\n- ")[1:]]
        if not isinstance(self.checks, Mapping):
            names = required[0].removeprefix("- [ ] ").split("\n- [ ] ")
            self.checks = dict(zip(names, self.checks, strict=True))
        self.given = 0  # hints that the learner has seen

    def __repr__(self) -> str:
        return f"{self.name} ({self.level}, about {self.minutes} minutes)"

    def _repr_markdown_(self) -> str:
        return f"**{self.name}** · {self.level} · about {self.minutes} minutes\n\n{self.task}"

    def check(self, attempt: Any) -> Report:
        """Test an answer, whatever it is and does, and report on each requirement. Never raises.

        A second round asks the same answer with other seeds: what it kept of the first round would show.
        """
        reasons, beginning, ended = dict.fromkeys(self.checks, ""), "", False
        for number, (requirement, test) in enumerate(ROUNDS * list(self.checks.items())):
            again = number >= len(self.checks)
            if reasons[requirement] or (again and (ended or requirement in self.trains)):
                continue
            if ended:
                reasons[requirement] = "not looked at"
                continue
            test_attempt = partial(test, attempt, Generator().manual_seed(number))
            _, error, output = run_with_timeout(self.seconds, test_attempt)
            reasons[requirement] = self._explain(error) + KEEPS * (again and isinstance(error, Wrong))
            ended = isinstance(error, Unusable | OutOfTime)
            beginning = beginning or " / ".join(output.split("\n")[:3]).strip(" /")
        rows = [(MARKS["fails" if why else "holds"], name, why) for name, why in reasons.items()]
        return Report(rows, beginning, "" if any(reasons.values()) else self._praise(attempt))

    def use(self, attempt: Any) -> Any:
        """Return an answer if it is right, and ours if it is not; print which of the two.

        A lesson whose later cells need the answer goes on with what this returns, solved or not.
        """
        solved = self.check(attempt).solved
        whose = "Solved: the next cells use yours." if solved else "Not solved yet: the next cells use ours."
        print(f"{self.name}. {whose}")
        return attempt if solved else self.answer

    def _explain(self, error: BaseException | None) -> str:
        """Return what a check raised as the report puts it; an empty text if it raised nothing."""
        if isinstance(error, OutOfTime):
            return f"did not come to an end within {self.seconds:g} seconds"
        if error is None or isinstance(error, Wrong):
            return str(error or "")
        return f"your code raised {type(error).__name__}: {describe(str(error))}"

    def _praise(self, attempt: Any) -> str:
        """Return how a right answer is written in another way than the solution; empty if it hardly is."""
        if not callable(self.answer):
            return "" if not difference(attempt, self.answer) else f"Ours is another one: {self.answer}."
        yours, ours = map(written_with, (attempt, self.answer))
        if yours is None or ours is None or yours == ours:
            return ""
        more, less = (" and ".join(sorted(x - y)) for x, y in ((yours, ours), (ours, yours)))
        different = [f"yours has {more}"] * bool(more) + [f"ours has {less}"] * bool(less)
        return f"It is right in another way: {', '.join(different)}. `solution()` shows ours."

    def draw(self, attempt: Any) -> DifferenceFigure | MarkdownText:
        """Draw an answer, the solution and their difference; say why, where there is nothing to draw."""
        if self.picture is None:
            return MarkdownText("This exercise has no picture: `check` says it in words.")
        matrix, x, y = self.picture
        expected = as_matrix(matrix(self.answer))
        yours, error, _ = run_with_timeout(self.seconds, lambda: as_matrix(matrix(attempt)))
        if error is None and yours.shape != expected.shape:
            error = Wrong(f"it is {tuple(yours.shape)}, and should be {tuple(expected.shape)}")
        if error is not None:
            return MarkdownText(f"There is nothing to draw yet: {self._explain(error)}")
        wrong = ~yours.isclose(expected, 1e-5, 1e-4)
        words = "No difference"
        if number := int(wrong.sum()):
            furthest = (yours - expected)[wrong].abs().nan_to_num(torch.inf).max()
            words = f"{number} of {wrong.numel()} differ, by up to {furthest:.2g}"
        return DifferenceFigure(answer_figure(yours.numpy(), expected.numpy(), words, x, y), words)

    def hint(self) -> MarkdownText:
        """Return one more hint each time, until there are no more."""
        if self.given == len(self.hints):
            return MarkdownText("There are no more hints. `solution()` shows one way to do it.")
        self.given += 1
        return MarkdownText(f"{self.given} of {len(self.hints)}: {self.hints[self.given - 1]}")

    def solution(self) -> Source | Any:
        """Return the source of the solution with its imports, ready to paste into a cell; or its value."""
        if not callable(self.answer):
            return self.answer
        cell = source(self.answer)
        text = cell.text.replace("_answer(", "(")
        imports = needed_imports(text, sys.modules[self.answer.__module__])
        cell.text = "\n".join([*imports, "", "", text] if imports else [text])
        return cell


def dice(draw: Generator) -> random.Random:
    """Return Python's own random generator, with a drawn seed."""
    return random.Random(int(torch.randint(2**30, (), generator=draw)))


def integer(draw: Generator, low: int, high: int) -> int:
    """Draw a whole number from low up to, but not including, high."""
    return int(torch.randint(low, high, (), generator=draw))


def randomize_(model: nn.Module, draw: Generator) -> Any:
    """Fill a model with random weights, so that an untrained one computes something, and return it."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=draw) * p.shape[-1] ** -0.5)
    return model


def each(check: Callable[..., object], *variants: Any) -> list[Check]:
    """Return a check for each variant: `check`, given one more argument, or those in a tuple."""

    def with_more(more: Any) -> Check:
        return lambda attempt, draw: check(attempt, draw, *(more if isinstance(more, tuple) else (more,)))

    return list(map(with_more, variants))


def read_tasks(lesson: str) -> dict[str, str]:
    """Return the texts of a lesson's exercises by name, from the Markdown file beside its checks.

    lesson  name of the file without its ending, such as "lesson_05"
    """
    page = (Path(__file__).parent / f"{lesson}.md").read_text(encoding="utf-8")
    return {text.partition(" (")[0]: text.strip() for text in page.split("\n## ")[1:]}


def as_matrix(value: Any) -> Tensor:
    """Return a real matrix in float32. Raises Wrong if the value is something else."""
    matrix = torch.as_tensor(value).detach().cpu()
    right = matrix.dim() == 2 and not matrix.is_complex()
    require(right, f"{matrix.dtype} of shape {tuple(matrix.shape)} is no matrix")
    return matrix.float()


def written_with(function: Any) -> set[str] | None:
    """Return which of the styles in STYLES a function is written in; None if its source is not to be had."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    words = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
    kinds = {type(node).__name__ for node in ast.walk(tree)}
    return {name for name, signs in STYLES.items() if signs & (words | kinds)}


def needed_imports(text: str, home: Any) -> list[str]:
    """Return the import lines that some code from the module `home` needs."""
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    lines = []
    for node in ast.parse(inspect.getsource(home)).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name) in used]
            used -= {alias.asname or alias.name for alias in node.names}
            lines += [ast.unparse(node)] if node.names else []
    own = sorted(name for name in used if name in vars(home))
    return lines + ([f"from {home.__name__} import {', '.join(own)}"] if own else [])
