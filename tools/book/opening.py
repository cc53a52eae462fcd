"""Beginning of a lesson's page: the question and the first picture; goals and set-up fold away below it."""

import re

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tools.book.outputs import fold

# What a lesson says after its question: goals, which some tell later, what it needs, and how long it takes.
GOALS = re.compile(r"\s*(?:You will be able to\n+(?P<goals>1\. .*?)\n+)?(?P<needs>\*\*Needs:\*\* .*)", re.S)
MINUTES = re.compile(r"estimate (\d+) minutes to read")
ON_A_PAGE = (
    '<p class="on-a-page">You can replay the runs of this page; '
    '<a href="{name}.ipynb" download>the notebook</a> trains them.{more}</p>'
)


def open_page(cells: list[NotebookNode], note: str = "") -> list[NotebookNode]:
    """Return the cells of a lesson so that its first picture comes right after its question.

    Below the picture stand its code, then the goals, each folded, and a note about the page.

    Raises ValueError if the first text does not say what the lesson needs.
    """
    head, *later = fold_setup(cells)
    head.source, goals = split_goals(head.source)
    folded = new_markdown_cell("\n\n".join(filter(None, (goals, note))))
    if later and later[0].cell_type == "code":
        later[0].metadata.setdefault("tags", []).append(
            "opening"
        )  # The style puts its code below its output.
        return [head, later[0], folded, *later[1:]]
    return [head, folded, *later]


def split_goals(text: str) -> tuple[str, str]:
    """Return a lesson's first text without its goals and needs, and these behind one line with the minutes.

    Raises ValueError for a text that is not of this form.
    """
    match = GOALS.search(text)
    if match is None:
        raise ValueError(f"no needs in {text[:80]!r}")
    minutes = MINUTES.search(match["needs"])
    title = "What you will be able to do" if match["goals"] else "What you need"
    title += f" · {minutes[1]} minutes" if minutes else ""
    after = "\n\n".join(filter(None, match.group("goals", "needs")))
    folded = f'<details class="goals"><summary>{title}</summary>\n\n{after}\n\n</details>'
    return text[: match.start()], folded


def fold_setup(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Return the cells of a lesson with all code before its second text in one cell, folded."""
    texts = [i for i, cell in enumerate(cells) if cell.cell_type == "markdown"]
    first, second = texts[0], (*texts[1:2], len(cells))[0]
    setup = cells[first + 1 : second]
    if not setup:
        return cells
    joined = setup[0]
    joined.source = "\n\n".join(cell.source for cell in setup)
    joined.outputs = [output for cell in setup for output in cell.outputs]
    fold(joined, "input", "The code")
    return [*cells[: first + 1], joined, *cells[second:]]
