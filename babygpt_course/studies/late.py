"""Study of the time of the click: RoPE and ALiBi, from seeds that no other study has trained from.

Other seeds had suggested that v4 spells later with RoPE than with ALiBi.
"""

from typing import Any

from matplotlib.figure import Figure

from babygpt.experiments.paired import sign_test
from babygpt.experiments.sweep import StudySize, Workers
from babygpt_course.studies.neighbours import (
    EVERY,
    PLAIN,
    SOON,
    draw_spelling_counts,
    measure_neighbours,
    spelling_clicks,
)
from babygpt_course.studies.results import Results

ROPE, ALIBI = f"v4, {PLAIN}", f"alibi, {PLAIN}"
SCALE = StudySize(steps=1800, seeds=tuple(range(3001, 3013)))


def measure_late(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train RoPE and ALiBi as the long runs of the study of neighbours: see `measure_neighbours`."""
    return measure_neighbours(workers, scale, every, short=(), long=(("v4", PLAIN), ("alibi", PLAIN)))


def spelling_by(results: Results, step: int) -> dict[str, Any]:
    """Return how many seeds spell by a step, "v4" and "alibi", and the sign test's "p"."""
    clicks = spelling_clicks(results)
    rope, alibi = ([click <= step for click in clicks[name]] for name in (ROPE, ALIBI))
    return {"v4": sum(rope), "alibi": sum(alibi), "p": sign_test(alibi, rope)}


def draw_late(figure: Figure, results: Results) -> None:
    """Draw how many seeds spell by each step."""
    counts = spelling_by(results, SOON)
    title = f"By step {SOON:,} {counts['alibi']} seeds spell with ALiBi, and {counts['v4']} with RoPE"
    draw_spelling_counts(figure.subplots(), spelling_clicks(results), results, title)
