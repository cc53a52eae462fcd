"""Outputs of a notebook's cells, turned into what a page without a kernel can show."""

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tools.book.lab import IN_LESSONS, INTRODUCTION, lab_html
from tools.book.live_parts import formula_html, live_html, script_json
from tools.book.mathematics import to_mathml
from tools.notebooks import ANSWER, WIDGET, quantise

PICTURES = ("image/svg+xml", "image/png")  # The first of these that an output has is shown.
PNG = b"\x89PNG"  # the first bytes of one
NAMELESS = "a picture, as the notebook stores it"  # The book knows no titles of a figure that it did not run.


class NotebookPage:
    """A notebook on its way to being a page.

    facts     what `Recorder.write` noted while it ran
    pictures  the folder for pictures
    folder    the address of that folder, seen from the page
    """

    def __init__(self, name: str, facts: Mapping[str, Any], pictures: Path, folder: str) -> None:
        self.name, self.facts, self.pictures, self.folder = name, facts, pictures, folder
        self.trained = IN_LESSONS.get(name)  # stands where the first training was recorded

    def convert(self, notebook: NotebookNode) -> NotebookNode:
        """Change a notebook that was run, in place, and return it."""
        exercises: list[tuple[str, dict[str, Any]]] = []
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            shown = self.facts["shown"].get(str(cell.execution_count), {})
            cell.outputs = [self.output(out, shown) for out in cell.outputs]
            if "exercise" in shown:
                exercises.append((cell.source.strip(), shown["exercise"]))
            for called, exercise in exercises:
                if f"{called}.check(" in cell.source:  # instead of a verdict on the stub
                    cell.outputs = [html_output(exercise_folds(exercise, self.name))]
                elif f"{called}.draw(" in cell.source:
                    cell.outputs = []
            if cell.outputs and ANSWER in cell.metadata.get("tags", []):
                fold(cell, "output", "What came out")
            pages = [str(out.get("data", {}).get("text/html", "")) for out in cell.outputs]
            if shown.get("tally") or any('class="guess"' in page for page in pages):
                cell.metadata.setdefault("tags", []).append("remove-input")
        return notebook

    def output(self, output: NotebookNode, shown: Mapping[str, Any]) -> NotebookNode:
        """Return an output as the page shows it."""
        bundle = output.get("data", {})
        model = bundle.get(WIDGET, {}).get("model_id", "")
        if shown.get("tally"):
            return html_output('<div class="tally"></div>')
        still = self.picture(output)
        if model in self.facts["formulas"]:
            return html_output(formula_html(self.facts["formulas"][model], "../", still))
        if model in self.facts["recorded"]:
            recording = self.facts["recorded"][model]
            if self.trained and recording["module"] == "dashboard":
                pair, self.trained = self.trained, None
                return html_output(INTRODUCTION + lab_html("../", *pair, small=True))
            return html_output(
                live_html(recording["module"], recording["data"], "../", still, recording["words"])
            )
        guesses = self.facts["guesses"]
        if model in guesses:
            return html_output(guess_html(guesses[model]))
        if model in self.facts["outcomes"]:
            question = self.facts["outcomes"][model]
            return html_output(outcome_html(next(g for g in guesses.values() if g["question"] == question)))
        bundle.pop(WIDGET, None)
        return html_output(still) if still else output

    def picture(self, output: NotebookNode) -> str:
        """Store the picture of an output, and return its HTML; "" if it has none."""
        bundle, metadata = output.get("data", {}), output.get("metadata", {})
        kind = next((kind for kind in PICTURES if kind in bundle), None)
        if kind is None:
            return ""
        words = metadata.get(kind, {}).get("alt") or metadata.get("alt") or NAMELESS
        raw = b64decode(bundle[kind]) if kind == "image/png" else bundle[kind].encode()
        return picture_html(raw, words, self.pictures, self.folder)


def fold(cell: NotebookNode, part: str, words: str) -> None:
    """Fold the input or the output of a cell behind some words, as MyST-NB wants to be told."""
    cell.metadata.setdefault("tags", []).append(f"hide-{part}")
    cell.metadata["mystnb"] = {"code_prompt_show": words, "code_prompt_hide": words}


def picture_html(raw: bytes, words: str, pictures: Path, folder: str) -> str:
    """Store a PNG or an SVG, and return its HTML: a click opens it alone.

    words     that describe it
    pictures  where it is stored
    folder    the address of that, seen from the page
    """
    if raw.startswith(PNG):
        file, kind = BytesIO(), "webp"
        with Image.open(BytesIO(b64decode(quantise(b64encode(raw).decode())))) as image:
            width, height = map(str, image.size)
            image.save(file, "WEBP", lossless=True, method=6)  # a quarter less than as a PNG
        raw = file.getvalue()
    else:
        kind, head = "svg", raw.decode().partition(">")[0]
        width, height = (re.findall(rf"\b{side}=['\"]([\d.]+)", head)[0] for side in ("width", "height"))
    name = f"{hashlib.sha256(raw).hexdigest()[:12]}.{kind}"
    pictures.mkdir(parents=True, exist_ok=True)
    (pictures / name).write_bytes(raw)
    return (
        f'<a class="still" href="{folder}{name}"><img src="{folder}{name}" width="{width}" height="{height}" '
        f'loading="lazy" style="--width: {width}px" alt="{escape(words)}"></a>'
    )


def html_output(page: str) -> NotebookNode:
    return new_output("display_data", data={"text/html": page})


def join_words(words: list[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def key_of(question: str) -> str:
    """Return a short name for a question, the same wherever it is asked."""
    return "guess-" + hashlib.sha256(question.encode()).hexdigest()[:8]


def guess_html(guess: Mapping[str, Any]) -> str:
    """Return the HTML of a question that can be guessed at."""
    key = key_of(guess["question"])
    if "options" in guess:
        fields = "".join(
            f'<label><input type="radio" name="{key}" value="{escape(option)}" autocomplete="off"> '
            f"{escape(option)}</label>"
            for option in guess["options"]
        )
    else:
        fields = (
            f'<label>Your guess <input type="text" inputmode="decimal" autocomplete="off" '
            f'placeholder="{escape(guess["asked"])}"></label>'
        )
    return (
        f'<fieldset class="guess" data-guess="{key}"><legend><b>Predict.</b> {escape(guess["question"])}'
        f'</legend>{fields}<p class="guess-said" aria-live="polite"></p>'
        f'<script type="application/json">{script_json(guess)}</script></fieldset>'
    )


def outcome_html(guess: Mapping[str, Any]) -> str:
    """Return the HTML of what came out, with room for what was guessed."""
    came = guess["outcome"] if "options" in guess else guess["came"]
    return (
        f'<p class="outcome-said" data-outcome="{key_of(guess["question"])}">It came out: {escape(came)}. '
        '<span class="outcome-guess" aria-live="polite"></span></p>'
    )


def exercise_folds(exercise: Mapping[str, Any], name: str) -> str:
    """Return the HTML of an exercise's hints and solution, and of where it can be solved."""
    hints = exercise["hints"]
    folds = [
        f'<details class="hint"><summary>Hint {i} of {len(hints)}</summary>{markdown(hint)}</details>'
        for i, hint in enumerate(hints, 1)
    ]
    code = highlight(exercise["solution"], PythonLexer(), HtmlFormatter(cssclass="highlight"))
    folds.append(f'<details class="solution"><summary>A solution</summary>{code}</details>')
    place = (
        f'<p class="exercise-where">A page cannot check your answer; <a href="{name}.ipynb" download>the '
        "notebook</a> can, with the course installed.</p>"
    )
    return "".join([*folds, place])


def markdown(text: str) -> str:
    """Return Markdown with formulas as HTML."""

    def formula(latex: str, options: Mapping[str, Any]) -> str:
        return to_mathml(latex, bool(options.get("display_mode")))

    reader = MarkdownIt("commonmark").use(dollarmath_plugin, renderer=formula)
    return str(reader.render(text))
