"""Study of DroPE in a test that has room: rotation taken away after training, then some steps without it.

The study of texts longer than the window asked for a lone digit in four windows, which RoPE under YaRN and
the model without rotation both find in nine cases of ten: no method could be ahead. Here eight windows are
read, and the last of two digits is asked for as well.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import mean
from typing import Any

from matplotlib.figure import Figure

from babygpt import NextToken, metrics
from babygpt.data.corpus import Corpus
from babygpt.experiments.paired import (
    LEAST_SHARE,
    Comparison,
    compare,
    differences,
    exceeds,
    format_mean_sd,
    mean_sd,
    percent,
    table_head,
)
from babygpt.experiments.sweep import StudySize, Workers, sweep
from babygpt.models.transformer import Transformer
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.stretch import (
    BLOCK,
    DISTANCES,
    FACTOR,
    LONG,
    NEAR,
    OLDER,
    ROOM,
    fine_steps,
    fine_tune,
    trained_arm,
    with_notes,
)
from babygpt_course.studies.stretching import stretched

SCALE = StudySize(n_questions=200)  # for each share of answers
LONGER = 4  # times as many steps of recalibration, in a second model
WINDOWS = (1, FACTOR, LONG)
RIVALS = ("none", "interpolation", "ntk", "yarn")
DROPPED = "drop tuned"
LABELS = {
    "none": "RoPE as it is",
    "interpolation": "interpolation",
    "ntk": "NTK-aware",
    "yarn": "YaRN",
    "drop": "no rotation",
    "control tuned": "RoPE, trained on",
    DROPPED: "DroPE",
    "drop tuned longer": "DroPE, longer",
}
Reader = Callable[[int], Transformer]  # number of windows -> the model that reads them


def readers(model: Transformer, scale: StudySize, seed: int) -> dict[str, Reader]:
    """Return a trained v4 under each method: untuned for as many windows as it reads, or tuned once.

    "drop" has no rotation and no further step; "drop tuned" is recalibrated at the old length for as many
    steps as in the study of long texts, "drop tuned longer" for LONGER times as many. "control tuned" keeps
    its rotation for the same steps.
    """
    longer = replace(scale, steps=LONGER * scale.steps)
    tuned = {
        "control tuned": fine_tune(model, "control", scale, seed),
        DROPPED: fine_tune(model, "drop", scale, seed),
        "drop tuned longer": fine_tune(model, "drop", longer, seed),
    }
    untuned: dict[str, Reader] = {name: partial(stretched, model, name) for name in (*RIVALS, "drop")}
    return untuned | {name: lambda _, model=model: model for name, model in tuned.items()}


def measure_reader(reader: Reader, corpus: Corpus, n_questions: int) -> dict[str, float]:
    """Measure what a model recalls in one, four and eight windows.

    returns  "loss" in one window, nats per character; for each n of WINDOWS, shares of digits: "alone n",
             right where no other digit is told, "last n" and "older n", those that give the digit told last
             and one told before it
    """
    numbers: dict[str, float] = {"loss": NextToken(corpus, BLOCK).validate(reader(1))}
    for n in WINDOWS:
        ask = partial(
            metrics.recall_by_distance, reader(n), corpus.tokenizer, n=n_questions, length=n * BLOCK
        )
        two = ask([DISTANCES[n] if n > 1 else NEAR], older=OLDER)
        numbers[f"alone {n}"] = ask([DISTANCES[n]]).accuracy[0]
        numbers |= {f"last {n}": two.accuracy[0], f"older {n}": two.older[0]}
    return {name: round(float(number), 4) for name, number in numbers.items()}


def measure_dropped(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train v4 on tales with notes, take its rotation away, and compare it with rotations that are stretched.

    returns  settings, and {"runs": name -> name of the number -> one a seed}
    """
    corpus = with_notes(scale)

    def run(_: str, seed: int) -> dict[str, Any]:
        model = trained_arm("v4", scale, seed)
        each = readers(model, scale, seed)
        return {name: measure_reader(reader, corpus, scale.n_questions) for name, reader in each.items()}

    runs = {
        name: {key: [row[key] for row in rows] for key in rows[0]}
        for name, rows in sweep(["v4"], scale.seeds, run, workers)["v4"].items()
    }
    settings = {**scale.settings(), "n_questions": scale.n_questions, "fine": fine_steps(scale)}
    return {**settings, "longer": LONGER, "runs": runs}


# ---------------------------------------------------------------- of stored results

ASKED = tuple(f"{what} {n}" for n in (FACTOR, LONG) for what in ("alone", "last"))


def has_room(results: Results, rival: str, number: str) -> bool:
    """Return whether a rival is wrong often enough for another method to be ahead of it."""
    return mean(results["runs"][rival][number]) <= ROOM


def ahead_of(results: Results, rival: str, number: str) -> Comparison:
    """Return by how much the recalibrated model without rotation is ahead of a rival, by seed."""
    runs = results["runs"]
    return compare(differences(runs[DROPPED][number], runs[rival][number]), LEAST_SHARE)


def verdict(results: Results, rival: str, number: str) -> str:
    """Return whether the model without rotation is ahead: "holds", "fails", "undecided", or "no room"."""
    if not has_room(results, rival, number):
        return "no room"
    runs = results["runs"]
    return exceeds(differences(runs[DROPPED][number], runs[rival][number]), LEAST_SHARE)


def table(results: Results) -> str:
    """Return as Markdown what each method recalls, and whether DroPE is ahead of the untuned ones."""
    numbers = ("loss", *(f"{what} {n}" for n in WINDOWS for what in ("alone", "last")))
    rows = [
        (LABELS[name], *(format_mean_sd(mean_sd(run[number])) for number in numbers))
        for name, run in results["runs"].items()
    ]
    claims = [
        (LABELS[rival], number, f"{ahead_of(results, rival, number):+.3f}", verdict(results, rival, number))
        for rival in RIVALS
        for number in ASKED
    ]
    head = (
        f"{table_head(results)} Recalibration: {results['fine']} steps at the old length, "
        f"and {results['longer']} times as many for the longer one. Shares of digits; the number counts "
        f"windows. A rival with more than {ROOM:.0%} leaves no room.\n\n"
    )
    claim_heading = ("DroPE (arXiv:2512.12167) against", "number", "DroPE minus rival", "DroPE is ahead")
    return head + markdown(("run", *numbers), rows) + "\n" + markdown(claim_heading, claims)


def draw_dropped(figure: Figure, results: Results) -> None:
    """Draw the lone digit and the last of two in eight windows, with four windows as rings."""
    axes = figure.subplots(1, 2)
    titles = {"alone": ("A lone digit", 10.0), "last": ("The last of two digits", 50.0)}
    for ax, (what, (words, guess)) in zip(axes, titles.items(), strict=True):
        far, near = (
            percent({LABELS[name]: run[f"{what} {n}"] for name, run in results["runs"].items()})
            for n in (LONG, FACTOR)
        )
        best = max((LABELS[name] for name in RIVALS), key=lambda name: mean(far[name]))
        shares = [mean(far[name]) for name in (LABELS[DROPPED], best)]
        title = "{} in eight windows: {:.0f}% with DroPE, {:.0f}% with {}"
        label = "right digits (%; rings: in four windows; dashed: a guess)"
        draw_seed_dots(ax, far, title.format(words, *shares, best), label, {"": guess}, (-3.0, 103.0), near)
