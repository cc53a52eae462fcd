"""Page of the board: all versions on equal terms, as the stored results have them."""

import math
from html import escape

from babygpt.data import load_corpus
from babygpt.experiments.paired import RULE
from babygpt.experiments.sweep import small_config
from babygpt_course.claims import by_luck
from babygpt_course.studies.board import COLUMNS, WORLD, front, front_title, of_kind, table_row, who_answers
from babygpt_course.studies.results import Results
from tools.book.outputs import join_words
from tools.notebooks import ROOT


def board_page(results: Results) -> str:
    """Return the page of the stored board, as Markdown."""
    shape = small_config(load_corpus(WORLD, n_chars=10_000), results["block_size"])
    pairs = math.comb(len(of_kind(results, masks=False)), 2)
    page = (ROOT / "book" / "board.md").read_text(encoding="utf-8")
    words = {"alt": picture_in_words(results), "table": table(results), "rule": RULE, "luck": by_luck(pairs)}
    numbers = {"models": len(results["board"]), "n_seeds": len(results["seeds"]), "pairs": pairs}
    words["leaders"], words["fillers"] = (join_words(front(results, masks)) for masks in (False, True))
    return page.format(**results | vars(shape) | words | numbers)


def picture_in_words(results: Results) -> str:
    """Return what the picture of the board shows, for those who do not see it."""
    rows = []
    for masks, kind in ((False, "left to right"), (True, "filling in")):
        models = of_kind(results, masks)
        answers = who_answers({name: model["roles"] for name, model in models.items()})
        rows.append(f"{len(models)} models {kind}: {front_title(results, masks)}. {answers}")
    return f"Losses, right answers, and what longer windows cost, seed by seed. {'. '.join(rows)}."


def table(results: Results) -> str:
    """Return the board's numbers as a table that is moved sideways where it is too wide."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
    rows = ""
    for name, *texts in (table_row(results, name) for name in results["board"]):
        cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
        rows += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>\n'
    return (
        '<div class="board" role="region" aria-label="The board in numbers" tabindex="0">\n'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n</div>"
    )
