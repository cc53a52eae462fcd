"""What the study of stretching says: claims of the literature, the figure, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from matplotlib.figure import Figure

from babygpt import plots
from babygpt.models.stretching import METHODS
from babygpt.tables import format_mean_sd, mean_sd
from babygpt_course.studies.results import Results
from babygpt_course.studies.stretch import ARMS, FACTORS, TUNED

LONG = FACTORS[-1]
LEARNED = 0.75  # share of right digits, asked within the window


@dataclass(frozen=True)
class Claim:
    """One number of one run, said to be lower than another.

    says    what the source says, as far as this comparison can test it
    source  where
    lower   run and number: ("ntk 4", "change 4"), ("alibi", "recall 8 384"), ("v4", "loss")
    higher  the same, of what it is compared with
    """

    says: str
    source: str
    lower: tuple[str, str]
    higher: tuple[str, str]


PRESS, CHEN = "Press et al. 2022, arXiv:2108.12409", "Chen et al. 2023, arXiv:2306.15595"
PENG, DROPE = "Peng et al. 2023, arXiv:2309.00071", "Gelberg et al. 2025, arXiv:2512.12167"
KAZEMNEJAD, YANG = "Kazemnejad et al. 2023, arXiv:2305.19466", "Yang et al. 2025, arXiv:2501.18795"
BARBERO, RUOSS = "Barbero et al. 2024, arXiv:2410.06205", "Ruoss et al. 2023, arXiv:2305.16843"
CHI, LI, SUN = (
    "Chi et al. 2022, arXiv:2205.09921",
    "Li et al. 2024, arXiv:2310.04418",
    "Sun et al. 2022, arXiv:2212.10554",
)
TUNED_CHANGE, FAR = f"change {TUNED}", f"recall {LONG} 384"

CLAIMS: tuple[Claim, ...] = (
    Claim("RoPE, read on, gets worse than in its window", PRESS, ("v4", "change 1"), ("v4", "change 2")),
    Claim(
        "untuned, interpolated positions are better than new ones",
        CHEN,
        (f"interpolation {TUNED}", TUNED_CHANGE),
        (f"none {TUNED}", TUNED_CHANGE),
    ),
    Claim(
        "untuned, NTK-aware is better than interpolation",
        PENG,
        (f"ntk {TUNED}", TUNED_CHANGE),
        (f"interpolation {TUNED}", TUNED_CHANGE),
    ),
    Claim(
        "untuned, YaRN is better than NTK-aware",
        PENG,
        (f"yarn {TUNED}", TUNED_CHANGE),
        (f"ntk {TUNED}", TUNED_CHANGE),
    ),
    Claim(
        "untuned, interpolated positions recall further than new ones",
        f"after {CHEN}, where it is asked after tuning",
        (f"none {LONG}", FAR),
        (f"interpolation {LONG}", FAR),
    ),
    Claim(
        "untuned, YaRN recalls further than NTK-aware",
        f"after {PENG}",
        (f"ntk {LONG}", FAR),
        (f"yarn {LONG}", FAR),
    ),
    Claim(
        "untuned, interpolation costs short texts something",
        CHEN,
        ("v4", "loss"),
        (f"interpolation {TUNED}", "loss"),
    ),
    Claim(
        "a short fine-tuning makes interpolation better",
        CHEN,
        ("interpolation tuned", TUNED_CHANGE),
        (f"interpolation {TUNED}", TUNED_CHANGE),
    ),
    Claim(
        "fine-tuned with YaRN it loses less than fine-tuned as it is",
        f"after {PENG}",
        ("yarn tuned", TUNED_CHANGE),
        ("none tuned", TUNED_CHANGE),
    ),
    Claim(
        "the same steps at the old length do not do it",
        CHEN,
        ("control tuned", f"recall {TUNED} 192"),
        ("none tuned", f"recall {TUNED} 192"),
    ),
    Claim(
        "without its code, and recalibrated at the old length, it recalls further than YaRN untuned",
        DROPE,
        (f"yarn {LONG}", FAR),
        ("drop tuned", FAR),
    ),
    Claim(
        "without its code, and recalibrated, it loses nothing in its window",
        DROPE,
        ("drop tuned", "loss"),
        ("control tuned", "loss"),
    ),
    Claim(
        "no code at all reads on better than RoPE", KAZEMNEJAD, ("nope", TUNED_CHANGE), ("v4", TUNED_CHANGE)
    ),
    Claim("no code at all recalls further than RoPE", KAZEMNEJAD, ("v4", FAR), ("nope", FAR)),
    Claim("a layer without a code recalls further than RoPE alone", YANG, ("v4", FAR), ("v4-nope", FAR)),
    Claim(
        "with a quarter of the pairs turning it recalls further",
        f"after {BARBERO}",
        ("v4", FAR),
        ("partial", FAR),
    ),
    Claim(
        "trained at random positions RoPE reads on better",
        RUOSS,
        ("random positions, drawn", TUNED_CHANGE),
        ("v4", TUNED_CHANGE),
    ),
    Claim("ALiBi reads on better than RoPE", PRESS, ("alibi", f"change {LONG}"), ("v4", f"change {LONG}")),
    Claim(
        "xPos, without its blockwise attention, reads on better than RoPE",
        SUN,
        ("xpos", f"change {LONG}"),
        ("v4", f"change {LONG}"),
    ),
    Claim("T5's bias reads on better than RoPE", PRESS, ("t5", f"change {LONG}"), ("v4", f"change {LONG}")),
    Claim("T5's bias recalls further than ALiBi", KAZEMNEJAD, ("alibi", FAR), ("t5", FAR)),
    Claim(
        "KERPLE's logarithm reads on better than ALiBi",
        CHI,
        ("kerple-log", f"change {LONG}"),
        ("alibi", f"change {LONG}"),
    ),
    Claim("FIRE reads on better than ALiBi", LI, ("fire", f"change {LONG}"), ("alibi", f"change {LONG}")),
    Claim(
        "FIRE, trained four times as long, recalls further than ALiBi",
        LI,
        ("alibi, longer", FAR),
        ("fire, longer", FAR),
    ),
)


def values(results: Results, run: str, number: str) -> list[float]:
    """One number of a run, one a seed.

    number  "loss", "change 4" (windows) or "recall 8 384" (windows, distance); "change 1" is 0 by definition
    """
    what, *keys = number.split()
    if what == "loss":
        return [one["loss"] for one in results["runs"][run]]
    if number == "change 1":
        return [0.0] * len(results["runs"][run])
    found = [one[what][keys[0]] for one in results["runs"][run]]
    return [one[keys[1]] for one in found] if what == "recall" else found


def seeds_for(results: Results, claim: Claim) -> tuple[int, int]:
    """In how many seeds a claim is so, and of how many."""
    pairs = list(zip(values(results, *claim.lower), values(results, *claim.higher), strict=True))
    return sum(low < high for low, high in pairs), len(pairs)


def has_learned(results: Results, run: str) -> bool:
    """Whether a run recalls from within its window, in every seed: only then can it be asked for more."""
    return min(values(results, run, "recall 1 48")) >= LEARNED


def verdict(results: Results, claim: Claim) -> str:
    """ "holds" if a claim is so in every seed, "fails" if in none, else "depends".

    "open" if it is about recall, and one of the two never learned to recall within its window.
    """
    about_recall = claim.lower[1].startswith("recall")
    if about_recall and not all(has_learned(results, run) for run, _ in (claim.lower, claim.higher)):
        return "open"
    so, of = seeds_for(results, claim)
    return "holds" if so == of else "fails" if so == 0 else "depends"


def untuned(results: Results, number: str, factor: int = TUNED) -> dict[str, list[float]]:
    """One number of v4 under each method, before fine-tuning: method -> one a seed."""
    return {method: values(results, f"{method} {factor}", number) for method in METHODS}


def tuned(results: Results, number: str) -> dict[str, list[float]]:
    """The same after fine-tuning; "control" trained on at the old length."""
    return {method: values(results, f"{method} tuned", number) for method in ("control", *METHODS)}


def of_arms(results: Results, number: str, arms: Sequence[str] = tuple(ARMS)) -> dict[str, list[float]]:
    """One number of what was trained: arm -> one a seed; asked at random positions where trained there."""
    drawn = {"random positions": "random positions, drawn"}
    return {arm: values(results, drawn.get(arm, arm), number) for arm in arms}


def lowest(found: Mapping[str, Sequence[float]]) -> str:
    """The name with the lowest mean."""
    return min(found, key=lambda name: mean(found[name]))


def draw_stretch(figure: Figure, results: Results) -> None:
    """What reading four windows changes, before and after fine-tuning, and what is recalled from far back."""
    change, recall, arms = figure.subplots(1, 3)
    before, after = untuned(results, TUNED_CHANGE), tuned(results, TUNED_CHANGE)
    best = list(dict.fromkeys((lowest(before), lowest(after))))
    title = f"Four windows, untuned and fine-tuned: least lost with {' and '.join(best)}"
    label = "change of the loss (nats; rings: fine-tuned)"
    plots.draw_seed_dots(change, {"control": [], **before}, title, label, {"": 0.0}, rings=after)
    far = f"recall {TUNED} 192"
    before, after = (
        {name: [100 * x for x in each] for name, each in f(results, far).items()} for f in (untuned, tuned)
    )
    title = "What was told three windows ago"
    label = "right digits (%; dashed: chance; rings: fine-tuned)"
    span = (-3.0, 103.0)
    plots.draw_seed_dots(recall, {"control": [], **before}, title, label, {"": 10.0}, span, after)
    far_back = {name: [100 * x for x in each] for name, each in of_arms(results, FAR).items()}
    knowing = sum(min(each) > 90 for each in far_back.values())
    title = f"What was told six windows ago: {knowing} of {len(far_back)} know it from every seed"
    plots.draw_seed_dots(arms, far_back, title, "right digits (%; dashed: chance)", {"": 10.0}, span)


def markdown_table(results: Results) -> str:
    """Every run's loss, changes and recall, mean ± deviation over seeds; and then the claims."""
    head = ["encoding", "loss in the window", *(f"change at {n}×" for n in FACTORS)]
    numbers = ["recall 1 48", f"recall {TUNED} 192", FAR]
    head += ["recall at 48", f"at 192 of {TUNED}×", f"at 384 of {LONG}×"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for run in results["runs"]:
        cells = [
            cell(results, run, number) for number in ("loss", *(f"change {n}" for n in FACTORS), *numbers)
        ]
        lines.append(f"| {run} | {' | '.join(cells)} |")
    lines += ["", "| claim | source | seeds | verdict |", "|---|---|---|---|"]
    for claim in CLAIMS:
        so, of = seeds_for(results, claim)
        lines.append(f"| {claim.says} | {claim.source} | {so} of {of} | {verdict(results, claim)} |")
    return "\n".join(lines) + "\n"


def cell(results: Results, run: str, number: str) -> str:
    """One cell of the table; empty where a run was not asked that."""
    try:
        return format_mean_sd(mean_sd(values(results, run, number)))
    except KeyError:
        return ""
