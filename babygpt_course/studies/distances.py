"""Study of how v4 finds the vowel: by what letters of the story hold, or by how far away they stand.

The study of places found that what layer 1 leaves on the letters decides in ALiBi's models, and hardly in v4.
But v4 rotates in layer 2 as well, so that a head there can read by the distance. To test it, layer 2 gets
other vectors at the second to fourth letters of both names, or these letters stand somewhere else for it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import Positions
from babygpt.experiments.paired import table_head
from babygpt.experiments.sweep import StudySize, Workers
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Context, Transformer
from babygpt.tables import markdown
from babygpt_course.studies import places
from babygpt_course.studies.clicks import MODELS
from babygpt_course.studies.neighbours import EVERY, PLAIN
from babygpt_course.studies.places import BOTH, FIRSTS, PLACES, TURNED, VERB, PlaceRows, train_arms
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.spelling import change_given, given_to_layer, second_letters, true_share

ARMS = {"v4": ("v4", PLAIN), "alibi": ("alibi", PLAIN)}
SCALE = StudySize(steps=1800, seeds=tuple(range(5001, 5013)))
LAYER, LETTERS = 1, torch.tensor([1, 2, 3])  # the second layer; of both names, counted from 0
AS_IT_IS, DISTANCES, EVERYTHING = "as it is", "distances", "everything"
NO_PLACES, NO_DISTANCES, NEITHER = "no places", "no distances", "neither"
Vectors = Callable[[Tensor], Tensor]  # what layer 2 gets, (Q, T, C) -> (Q, T, C)


def at_times(context: Context, times: Tensor) -> Context:
    """Return the context of a layer for which tokens stand at other positions, (Q, T), in the same order."""
    positions = Positions(times)
    mask = context.encoding.score_bias(positions, positions)
    if mask is not None:
        later = torch.ones(mask.shape[-2:], dtype=torch.bool, device=mask.device).triu(1)
        mask = mask.masked_fill(later, -torch.inf)
    return replace(context, positions=positions, readable=positions, attn_mask=mask)


@torch.inference_mode()
def read_vowels(
    model: Transformer, rows: PlaceRows, vectors: Vectors | None = None, times: Tensor | None = None
) -> Tensor:
    """Return the likeliest vowel after each question if layer 2 gets other vectors, or other positions.

    times    (Q, T)  positions of the tokens for layer 2
    returns  (Q,) token ids
    """

    def change(_: torch.nn.Module, inputs: tuple[Tensor, Context]) -> tuple[Tensor, Context]:
        x, context = inputs
        return (
            x if vectors is None else vectors(x),
            context if times is None else at_times(context, times.to(x.device)),
        )

    with change_given(model, LAYER, change):
        return second_letters(model, rows.rows)


def changes_of(model: Transformer, rows: PlaceRows) -> dict[str, tuple[Vectors | None, Tensor | None]]:
    """Return what layer 2 gets under each name: other vectors, other positions, or both.

    FIRSTS, PLACES and VERB have vectors of another story, in which this differs. With DISTANCES each letter
    stands where the same letter of the other name stands. EVERYTHING is these together, but for the verb.
    With NO_PLACES a letter's vector is the mean of those from both places, with NO_DISTANCES both letters
    stand half-way between, and with NEITHER both are so.
    """
    here = (rows.names[..., None] + LETTERS).flatten(1)  # (Q, 6)
    row_numbers = torch.arange(len(here))[:, None]
    own = torch.arange(rows.rows.ids.shape[1]).float().expand(len(here), -1)
    mirrored = (rows.names.flip(1)[..., None] + LETTERS).flatten(1)
    swapped, middle = own.clone(), own.clone()
    swapped[row_numbers, here] = own[row_numbers, mirrored]
    middle[row_numbers, here] = (own[row_numbers, here] + own[row_numbers, mirrored]) / 2

    def held_in(kind: str) -> Tensor:
        """Return what the letters hold in another story: (Q, 6, C)."""
        ids, their_names = rows.others[kind]
        there = (their_names[..., None] + LETTERS).flatten(1)
        return given_to_layer(model, LAYER, ids)[row_numbers, there]

    def put(theirs: Tensor, weight: float = 1.0) -> Vectors:
        def vectors(x: Tensor) -> Tensor:
            changed = x.clone()
            changed[row_numbers, here] = weight * theirs + (1 - weight) * x[row_numbers, here]
            return changed

        return vectors

    in_places = held_in(PLACES)
    mean_place = put(in_places, 0.5)
    return {
        AS_IT_IS: (None, None),
        VERB: (put(held_in(VERB)), None),
        FIRSTS: (put(held_in(FIRSTS)), None),
        PLACES: (put(in_places), None),
        DISTANCES: (None, swapped),
        EVERYTHING: (put(held_in(BOTH)), swapped),
        NO_PLACES: (mean_place, None),
        NO_DISTANCES: (None, middle),
        NEITHER: (mean_place, middle),
    }


def shares_by_question(rows: PlaceRows, predicted: Tensor) -> dict[str, dict[str, float]]:
    """Return the shares of "right" vowels and those of the "other" name, of each kind of question.

    returns  "who", where the right name comes first in the story, "whom", and "all"
    """
    is_first = rows.names[:, 0] < rows.names[:, 1]
    kinds = {"who": is_first, "whom": ~is_first, "all": torch.ones_like(is_first)}
    vowels = {"right": rows.rows.vowel, "other": rows.rows.twin_vowel}
    return {
        kind: {name: true_share((predicted == vowel)[chosen]) for name, vowel in vowels.items()}
        for kind, chosen in kinds.items()
    }


def dissect_distances(model: LanguageModel, rows: PlaceRows) -> dict[str, Any]:
    """Change what layer 2 gets, and give the first letter of the other name.

    returns  "read": change -> kind of question -> shares of vowels, and "misled": kind of question -> shares
             if the first letter of the other name is given, so that the place asks for the right name's vowel
             and the letter for that of the other
    """
    assert isinstance(model, Transformer)
    read = {
        name: shares_by_question(rows, read_vowels(model, rows, *change))
        for name, change in changes_of(model, rows).items()
    }
    with torch.inference_mode():
        misled = second_letters(model, replace(rows.rows, ids=rows.misled))
    return {"read": read, "misled": shares_by_question(rows, misled)}


def measure_distances(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train v4 and ALiBi, and change what layer 2 gets: see `train_arms` and `dissect_distances`."""
    return train_arms(workers, scale, every, tuple(ARMS.values()), dissect_distances)


# ---------------------------------------------------------------- of stored results


def knowing_seeds(results: Results, name: str) -> dict[int, dict[str, Any]]:
    """Return what the seeds read that know the vowel: seed -> change -> kind of question -> shares."""
    return places.knowing_seeds(results, ARMS[name], "read")


def count_turned(results: Results, name: str, change: str) -> int:
    """Return how many seeds that know the vowel write the other one after a change, in both questions."""
    return sum(
        min(read[change][kind]["other"] for kind in ("who", "whom")) >= TURNED
        for read in knowing_seeds(results, name).values()
    )


def table(results: Results) -> str:
    """Return as Markdown what each seed reads under each change."""
    lines = []
    changes = (VERB, FIRSTS, PLACES, DISTANCES, EVERYTHING, NO_PLACES, NO_DISTANCES, NEITHER)
    for name, arm in results["arms"].items():
        for i, seed in enumerate(results["seeds"]):
            cells = []
            for change in (AS_IT_IS, *changes):
                shares = arm["read"][i][change]
                cells.append(
                    ", ".join(
                        f"{100 * shares[kind]['right']:.0f}/{100 * shares[kind]['other']:.0f}"
                        for kind in ("who", "whom")
                    )
                )
            misled = "/".join(f"{100 * share:.0f}" for share in arm["misled"][i]["all"].values())
            lines.append((name, str(seed), f"{100 * arm['spells'][i][-1]:.0f}", *cells, misled))
    heading = ("model, gift", "seed", "names written", AS_IT_IS, *changes, "wrong first letter")
    head = (
        f"{table_head(results)} Shares in per cent. Each cell has the right vowels and those of the other "
        "name, first for *who* and then for *whom*, after a change of what layer 2 gets at the second to "
        "fourth letters of both names. The last column gives the first letter of the other name instead.\n\n"
    )
    return head + markdown(heading, lines)


def draw_distances(figure: Figure, results: Results) -> None:
    """Draw which vowel follows a wrong first letter, and which vowels turn under three changes."""
    misled, exchanged = figure.subplots(1, 2)
    draw_misled(misled, results)
    draw_exchanged(exchanged, results)


def misled_shares(results: Results, name: str) -> dict[str, list[float]]:
    """Return what seeds that know the vowel write after the first letter of the other name, in per cent.

    returns  "place": the vowel of the name that is asked for; "letter": that of the name with this letter
    """
    misled = places.knowing_seeds(results, ARMS[name], "misled").values()
    ways = {"place": "right", "letter": "other"}
    return {way: [100 * shares["all"][key] for shares in misled] for way, key in ways.items()}


def draw_misled(ax: Axes, results: Results) -> None:
    """Draw which vowel each seed that knows the vowel writes after a wrong first letter."""
    shares = {name: misled_shares(results, name) for name in ARMS}
    values = {f"{MODELS[name]}, by {way}": x for name, ways in shares.items() for way, x in ways.items()}
    by_place = [[x > 100 * TURNED for x in ways["place"]] for ways in shares.values()]
    sides = [f"{sum(seeds)} of {len(seeds)}" for seeds in by_place]
    title = f"Of the seeds that know vowels {sides[0]} go by the place with RoPE, and {sides[1]} with ALiBi"
    draw_seed_dots(ax, values, title, "vowels after a wrong first letter (%)", span=(-3.0, 103.0))


def draw_exchanged(ax: Axes, results: Results) -> None:
    """Draw which vowels turn if layer 2 gets one cue of the other name, with RoPE and with ALiBi as rings."""
    words = {FIRSTS: "letter notes", PLACES: "place notes", DISTANCES: "distances"}
    turned = {
        name: {
            f"{label}, {kind}": [
                100 * read[change][kind]["other"] for read in knowing_seeds(results, name).values()
            ]
            for change, label in words.items()
            for kind in ("who", "whom")
        }
        for name in ARMS
    }
    by_distance, n = count_turned(results, "v4", DISTANCES), len(knowing_seeds(results, "v4"))
    title = f"Distances turn both questions in {by_distance} of {n} seeds with RoPE (rings: ALiBi)"
    label = "vowels turned by what is exchanged (%)"
    draw_seed_dots(ax, turned["v4"], title, label, span=(-3.0, 103.0), rings=turned["alibi"])
