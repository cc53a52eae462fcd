"""Study of how v4 finds the vowel if not by notes: by the distance, from seeds that did not suggest this.

The study of places found that notes of layer 1 decide in ALiBi's models, and hardly in v4. But v4 rotates in
layer 2 as well, so that a head there can read by distance. To test it, the letters of the two names change
places in layer 2 and keep what they hold.
"""

from typing import Any

from matplotlib.figure import Figure

from babygpt.experiments.paired import table_head
from babygpt.experiments.sweep import StudySize, Workers
from babygpt.tables import markdown
from babygpt_course.studies.neighbours import EVERY, PLAIN
from babygpt_course.studies.places import (
    DISTANCES,
    FIRSTS,
    PLACES,
    PLACES_AND_DISTANCES,
    count_turned,
    knowing_seeds,
    measure_places,
)
from babygpt_course.studies.results import Results
from babygpt_course.studies.spelling import draw_shares

ARMS = {"v4": ("v4", PLAIN), "alibi": ("alibi", PLAIN)}
WHERE = "second to fourth"  # letters of both names
SCALE = StudySize(steps=1800, seeds=tuple(range(5001, 5013)))


def measure_distances(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train v4 and ALiBi, and exchange what letters hold and where they stand: see `measure_places`."""
    return measure_places(workers, scale, every, tuple(ARMS.values()))


def table(results: Results) -> str:
    """Return as Markdown what each exchange turns in each seed, and what a wrong first letter does."""
    kinds, lines = (FIRSTS, PLACES, DISTANCES, PLACES_AND_DISTANCES), []
    for name, arm in results["arms"].items():
        for i, seed in enumerate(results["seeds"]):
            shares = (
                arm["spells"][i][-1],
                arm["second"][i],
                *(arm["exchanged"][i][WHERE][kind]["turned"] for kind in kinds),
                *(arm["misled"][i][key] for key in ("place", "letter")),
            )
            lines.append((name, str(seed), *(f"{100 * share:.0f}" for share in shares)))
    heading = (
        *("model, gift", "seed", "names written", "right vowels", *kinds),
        *("wrong first letter: vowel of the place", "of the letter"),
    )
    head = (
        f"{table_head(results)} Shares in per cent. Four columns name what the two names exchange after "
        "layer 1, at their second to fourth letters, and have the vowels that turn.\n\n"
    )
    return head + markdown(heading, lines)


def draw_distances(figure: Figure, results: Results) -> None:
    """Draw what exchanged first letters, places and distances turn in each seed, with RoPE and with ALiBi."""
    titles = {"v4": "RoPE", "alibi": "ALiBi"}
    for ax, (name, title) in zip(figure.subplots(1, 2), titles.items(), strict=True):
        draw_arm(ax, results, name, title)


def draw_arm(ax: Any, results: Results, name: str, title: str) -> None:
    """Draw what three exchanges turn in each seed of v4 or ALiBi that knows the vowel."""
    numbers = {
        "first letters exchanged": lambda run: run[WHERE][FIRSTS]["turned"],
        "places noted exchanged": lambda run: run[WHERE][PLACES]["turned"],
        "distances exchanged": lambda run: run[WHERE][DISTANCES]["turned"],
    }
    by_distance, n = count_turned(results, ARMS[name], WHERE, DISTANCES)
    by_place, _ = count_turned(results, ARMS[name], WHERE, PLACES)
    counts = f"{title}: distances decide in {by_distance} of {n} seeds, noted places in {by_place}"
    draw_shares(ax, knowing_seeds(results, ARMS[name]), numbers, counts, "vowels of the other name (%)")
