"""A recorder for the kernel of a notebook that is run for the book: it notes what cells show.

The notebook knows nothing of it: `install` runs before its first cell and `Recorder.write` after its last.
"""

import json
from pathlib import Path
from typing import Any

from IPython import get_ipython

from babygpt_course.exercises import Exercise
from babygpt_course.explorers.formulas import Formula
from babygpt_course.predictions import GUESSES, Guess, Tally
from babygpt_live.dashboard import Dashboard
from babygpt_live.explorer import Explorer
from babygpt_live.view import LiveOutput
from tools.book.recording import record_explorer, record_run


class Recorder:
    """Recorder of the outputs of a notebook's cells.

    recorded  model id of the widget of a run, or of an explorer of a trained model -> its recording
    formulas  model id of an explorer that the page computes -> its state
    shown     execution count -> what the value of a cell's last line is, where a page shows it otherwise
    """

    def __init__(self) -> None:
        self.recorded: dict[str, dict[str, Any]] = {}
        self.formulas: dict[str, dict[str, Any]] = {}
        self.shown: dict[int, dict[str, Any]] = {}

    def after_cell(self, execution: Any) -> None:
        """Record what a cell has shown, and what trains no longer."""
        output = execution.result
        if isinstance(output, Exercise):
            self.shown[execution.execution_count] = {"exercise": exercise_facts(output)}
        elif isinstance(output, Tally):
            self.shown[execution.execution_count] = {"tally": True}
        elif isinstance(output, Formula):
            self.formulas[output.model_id] = output.state()
        self.record()

    def record(self) -> None:
        """Record what is on the page and is not recorded yet, runs when they are over."""
        for output in list(LiveOutput.on_display):
            name = output.root.model_id
            if name in self.recorded:
                continue
            if isinstance(output.root, Explorer):
                self.recorded[name] = record_explorer(output.root)
            elif isinstance(output, Dashboard) and output.run.state.over:
                output.update(at_once=True)
                self.recorded[name] = record_run(output)

    def write(self, path: Path) -> None:
        """Write what was noted as JSON, when nothing trains any more."""
        for output in list(LiveOutput.on_display):
            if isinstance(output, Dashboard):
                output.run.wait()
        self.record()
        guesses = {guess.box.model_id: guess_facts(guess) for guess in GUESSES.values()}
        outcomes = {guess.result.model_id: guess.question for guess in GUESSES.values()}
        facts = {"recorded": self.recorded, "formulas": self.formulas, "shown": self.shown}
        facts |= {"guesses": guesses, "outcomes": outcomes}
        path.write_text(json.dumps(facts), encoding="utf-8")


def guess_facts(guess: Guess) -> dict[str, Any]:
    """Return what a page needs to ask for a guess, and to compare it."""
    facts: dict[str, Any] = {"question": guess.question, "outcome": guess.outcome}
    if guess.options:
        return {**facts, "options": list(guess.options)}
    facts |= {"low": guess.low, "high": guess.high, "unit": guess.unit, "near": guess.near}
    came = None if guess.outcome is None else guess.in_words(guess.outcome)
    return {**facts, "came": came, "asked": guess.asked}


def exercise_facts(exercise: Exercise) -> dict[str, Any]:
    """Return an exercise's hints and its solution, as Markdown and as Python or HTML."""
    solution = exercise.solution()
    text = getattr(solution, "text", None)
    return {
        "name": exercise.name,
        "hints": list(exercise.hints),
        "solution": repr(solution) if text is None else text,
    }


def install() -> Recorder:
    """Begin to note what cells show."""
    recorder = Recorder()
    get_ipython().events.register("post_run_cell", recorder.after_cell)
    return recorder
