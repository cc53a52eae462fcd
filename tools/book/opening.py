"""Beginning of a lesson's page: the question and the first picture; goals and set-up fold away."""

import re

from nbformat import NotebookNode

from tools.book.outputs import fold

# What a lesson says after its question: goals, which some tell later, what it needs, and how long it takes.
GOALS = re.compile(r"\s*(?:You will be able to\n+(?P<goals>1\. .*?)\n+)?(?P<needs>\*\*Needs:\*\* .*)", re.S)
MINUTES = re.compile(r"estimate (\d+) minutes to read")
ON_A_PAGE = (
    '<p class="on-a-page">You can replay the runs of this page; '
    '<a href="{name}.ipynb" download>the notebook</a> trains them.{more}</p>'
)


def fold_goals(text: str) -> str:
    """Return the first text of a lesson with its goals and needs behind one line, which tells the minutes.

    Raises ValueError for a text that is not of this form.
    """
    match = GOALS.search(text)
    if match is None:
        raise ValueError(f"no needs in {text[:80]!r}")
    minutes = MINUTES.search(match["needs"])
    title = "What you will be able to do" if match["goals"] else "What you need"
    title += f" · {minutes[1]} minutes" if minutes else ""
    lead, after = text[: match.start()], "\n\n".join(filter(None, match.group("goals", "needs")))
    return f'{lead}\n\n<details class="goals"><summary>{title}</summary>\n\n{after}\n\n</details>'


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
