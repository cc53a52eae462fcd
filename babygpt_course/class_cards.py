"""Comparisons of the encodings that the students of a class made, in one table."""

from math import inf
from pathlib import Path

from babygpt.errors import BadInput
from babygpt.experiments.comparison import difference_cells, split_heading
from babygpt.experiments.looks import read_comparison
from babygpt.tables import Table


def class_cards(folder: str | Path) -> Table:
    """Put the comparisons of a class into one table, those with the lowest loss first.

    folder   with a file for each student, such as ada.json: the one that `compare` or `watch_comparison`
             wrote, with `out="ada.json"`
    returns  a table: a row for each encoding, with the student, how it was trained, its differences to the
             student's first encoding, and how much longer a step takes; the last row has their number
    Raises BadInput if there is no such file, or one holds no finished comparison.
    """
    paths = sorted(path for path in Path(folder).glob("*.json") if not path.match("*.runs.json"))
    if not paths:
        raise BadInput(
            f"{folder} holds no comparison: the file of each student, such as ada.json, goes there"
        )
    titles: list[str] = []
    compared = []
    for path in paths:
        results = read_comparison(path, finished=True)
        (_, *measures), cells = split_heading(difference_cells(results))
        titles += [title for title in measures if title not in titles]
        settings, n = results["settings"], len(results["seeds"])
        trained = f"{settings['corpus']}, {settings['steps']:,} steps, {n} seed{'s' * (n > 1)}"
        first = results["rows"][0]["variant"]
        for row, (variant, *gaps) in zip(results["rows"][1:], cells, strict=True):
            price = f"{results['costs'][variant]['ratio']:.2f}"
            shown = dict(zip(measures, gaps, strict=True))
            gap = row["differences"].get("loss") or row["differences"].get("nelbo") or {"mean": inf}
            compared.append((gap["mean"], path.stem, variant, first, trained, shown, price))
    compared.sort(key=lambda each: each[0])
    rows = [
        (student, variant, first, trained, *(shown.get(title, "–") for title in titles), price)
        for _, student, variant, first, trained, shown, price in compared
    ]
    heading = ("student", "encoding", "less", "trained on", *titles, "step, times as long")
    students = f"{len(paths)} file{'s' * (len(paths) > 1)}"
    empty = [""] * (len(heading) - 2)
    return Table(heading, [*rows, (students, f"{len(rows)} encodings", *empty)], stable=4)
