"""Study of what ALiBi has and RoPE lacks: a fall of scores over the distance, given to RoPE and weighed anew.

With plain queries and keys ALiBi spells from all seeds and RoPE from none (`plain_attention`). ALiBi differs
from RoPE in two ways: it rotates nothing, and its scores fall with the distance. Here RoPE gets this fall,
and as a control an equal rise. And ALiBi's fall is weighed as it would be with the norm, or without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from torch import Tensor

from babygpt.encodings import ALiBi, Rotary
from babygpt.experiments.paired import Comparison, compare, compare_shares, differences, percent, table_head
from babygpt.experiments.sweep import CONFIRMING_SEEDS, StudySize, Workers, sweep
from babygpt.positions import Positions
from babygpt.tables import markdown
from babygpt_course.studies import plain_attention
from babygpt_course.studies.board import each_seed
from babygpt_course.studies.clicks import MODELS, count_spelling, require_same_settings
from babygpt_course.studies.plain_attention import KIND_WORDS, NORMED, PLAIN, SETTINGS, make_trainer
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_seed_dots

SCALE = replace(plain_attention.SCALE, seeds=CONFIRMING_SEEDS)
NORM_WEIGHT = 6.0  # The norm and the factor of 2 make a new model's scores about six times as large.


class SlopedRotary(Rotary):
    """RoPE whose scores also fall with the distance, as ALiBi's do.

    head_dim, n_head  channels of a head, and heads
    steepness         of the fall, beside ALiBi's; below 0 scores rise with the distance
    """

    separable = ALiBi.separable  # it adds ALiBi's bias

    def __init__(self, head_dim: int, n_head: int, steepness: float = 1.0) -> None:
        super().__init__(head_dim)
        self.fall = ALiBi(n_head, steepness)

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        """Compute what is added to each score: (H, Tq, Tk) or (B, H, Tq, Tk)."""
        return self.fall.score_bias(queries, keys)


class Arm(NamedTuple):
    """A model of the study: its encoding and its options, its queries and keys, and the model beside it."""

    version: str | type
    options: Mapping[str, Any]
    kind: str
    base: str


ARMS = {
    "RoPE with a fall, plain": Arm(SlopedRotary, {}, PLAIN, "v4"),
    "RoPE with a rise, plain": Arm(SlopedRotary, {"steepness": -1.0}, PLAIN, "v4"),
    "RoPE with a fall, normalised": Arm(SlopedRotary, {}, NORMED, "v4"),
    "ALiBi six times as steep, normalised": Arm("alibi", {"steepness": NORM_WEIGHT}, NORMED, "alibi"),
    "ALiBi a sixth as steep, plain": Arm("alibi", {"steepness": 1 / NORM_WEIGHT}, PLAIN, "alibi"),
    "NoPE, plain": Arm("nope", {}, PLAIN, "alibi"),
}


def measure_slopes(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train RoPE and ALiBi with other slopes, and measure them as the board does.

    returns  settings, and "runs": name -> what `board.evaluate` returns, one a seed
    """
    train = make_trainer(scale)

    def run(name: str, seed: int) -> dict[str, float | None]:
        arm = ARMS[name]
        return train(name, arm.version, arm.kind, seed, **arm.options)

    return {**scale.settings(), "runs": sweep(tuple(ARMS), scale.seeds, run, workers)}


def join_arms(stored: Results, new: Results) -> Results:
    """Return stored results with the models that another call of the command trained.

    Raises BadInput if the two differ in anything but their models.
    """
    require_same_settings(stored, new, (*SETTINGS, "seeds"))
    minutes = round(stored["minutes"] + new["minutes"], 1)
    runs = stored["runs"] | new["runs"]
    return {**stored, "minutes": minutes, "runs": {name: runs[name] for name in ARMS if name in runs}}


# ---------------------------------------------------------------- of stored results


def beside(results: Results, name: str, key: str) -> list[float]:
    """Return a number of the model without the other slopes, one for each seed of these results.

    It was trained from the same seeds in the study of plain queries and keys.
    """
    arm, fresh = ARMS[name], load_results("plain")["fresh"]
    by_seed = dict(zip(fresh["seeds"], fresh[arm.kind][arm.base][key], strict=True))
    return [by_seed[seed] for seed in results["seeds"]]


def compare_names(results: Results, name: str) -> Comparison:
    """Compare the names that a model writes with those of the model beside it, by seed, in points."""
    return compare_shares(differences(results["runs"][name]["whole"], beside(results, name, "whole")))


def table(results: Results) -> str:
    """Return as Markdown the losses, answers and names of each model, and names beside the model without."""
    heading = (
        "model",
        "loss minus that without",
        "right answers, each seed",
        "names written, each seed",
        "seeds that spell",
        "names beside the model without",
    )
    rows = []
    for name, run in results["runs"].items():
        loss = compare(differences(run["1x"], beside(results, name, "1x")))
        spell, n = count_spelling(run["whole"]), len(results["seeds"])
        shares = [each_seed(run[key]) for key in ("roles", "whole")]
        names = f"{compare_names(results, name):+.0f}"
        rows.append((name, f"{loss:+.3f}", *shares, f"{spell} of {n}", names))
    about = "Losses in nats per character, right answers and names in per cent. Pairs share their seed."
    return f"{table_head(results)} {about}\n\n" + markdown(heading, rows)


def draw_slopes(figure: Figure, results: Results) -> None:
    """Draw the names that all models of the study write, under those of the models beside them."""
    written: dict[str, Sequence[float]] = {}
    for name in results["runs"]:
        arm = ARMS[name]
        written[f"{MODELS[arm.base]}, {KIND_WORDS[arm.kind]}"] = beside(results, name, "whole")
    written |= {name: run["whole"] for name, run in results["runs"].items()}
    fall, n = count_spelling(written["RoPE with a fall, plain"]), len(results["seeds"])
    title = f"With ALiBi's fall and plain q and k RoPE spells from {fall} of {n} seeds"
    draw_seed_dots(figure.subplots(), percent(written), title, "names written (%)", span=(-3.0, 103.0))
