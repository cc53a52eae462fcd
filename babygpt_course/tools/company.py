"""Company: a value stays 48 back while the text grows: its angle, its share, and what is recalled."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from babygpt.encodings.rotary import angles
from babygpt_course.studies.controls import BACK, LENGTHS
from babygpt_course.studies.order import WINDOW
from babygpt_course.studies.results import Results
from babygpt_live import COLOURS, Axis, Choice, Curve, Explorer, Level, Panel, Slider
from babygpt_live.explorer import Control
from babygpt_live.panel import Mark

HEAD_DIM = 24  # channels of a head in the measured models
PAIRS = {0: COLOURS["blue"], 5: COLOURS["green"], 11: COLOURS["pink"]}  # from 0 to 11
KINDS = {
    False: ("all keys visible", "", COLOURS["red"]),
    True: ("far keys hidden", ", near", COLOURS["blue"]),
}
X = Axis("windows of text", (0.85, 9.4), [(n, str(n)) for n in LENGTHS], log=True, digits=0)


def company(results: Results) -> Explorer:
    """Explore why a value that stays equally far back is recalled less often in a longer text.

    results  what `load_results("controls")` reads
    """
    far = f"keys {WINDOW} or more back"
    controls: list[Control] = [
        Choice("windows", LENGTHS, "windows of text"),
        Choice("hide", [("visible", False), ("hidden", True)], far),
        Slider("advantage", 6, 0, 10, "score above other keys"),
    ]
    together = ("windows", "hide", "advantage")
    return Explorer("company", partial(measure, results), panels, controls, together=together)


def share_left(advantage: float, n_keys: int) -> float:
    """Return the softmax's share of a key that scores `advantage` more than each of n_keys - 1 others."""
    return float(1 / (1 + (n_keys - 1) * np.exp(-advantage)))


def measure(results: Results, windows: int, hide: bool, advantage: int) -> dict[str, Any]:
    """Return angles, shares and recall for each length of the text.

    returns  "angles": of PAIRS between the last character and the value, (pairs, lengths) degrees; "shares"
             (lengths,) and "recall" (lengths, seeds), percent: whether far keys are hidden -> numbers
    """
    last = torch.tensor([n * WINDOW - 1 for n in LENGTHS])
    turned = angles(last, HEAD_DIM) - angles(last - BACK, HEAD_DIM)  # (lengths, all pairs)
    stored = results["controls"]["company"]
    keys = {hidden: [WINDOW if hidden else n * WINDOW for n in LENGTHS] for hidden in KINDS}
    return {
        "angles": turned.rad2deg().remainder(360)[:, list(PAIRS)].T.numpy(),
        "shares": {
            hidden: 100 * np.array([share_left(advantage, n) for n in many]) for hidden, many in keys.items()
        },
        "recall": {
            hidden: 100 * np.array([stored[f"{n} windows{name}"] for n in LENGTHS])
            for hidden, (_, name, _) in KINDS.items()
        },
    }


def panels(numbers: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Show the angle, the share and the recall over the length of the text, and the chosen length."""
    windows, hide = values["windows"], values["hide"]
    i, lengths = LENGTHS.index(windows), np.array(LENGTHS, float)
    level, text = Level("", windows, "x"), "one window" if windows == 1 else f"{windows} windows"
    lines, until = (
        zip(PAIRS.items(), numbers["angles"], strict=True),
        slice(i + 1),
    )  # a reader guesses the rest
    turns: list[Mark] = [level]
    turns += [Curve(f"pair {n}", ink, y[until], lengths[until], "marked") for (n, ink), y in lines]
    kinds = [hidden for hidden in KINDS if hide or not hidden]  # hidden keys are shown beside visible ones
    shares: list[Mark] = [level]
    recalls: list[Mark] = [level]
    for hidden in kinds:
        name, _, colour = KINDS[hidden]
        shares.append(Curve(name, colour, numbers["shares"][hidden][until], lengths[until], "marked"))
        seeds = numbers["recall"][hidden][until]
        beside = np.repeat(
            lengths[until] * (1.07 if hidden else 1), seeds.shape[1]
        )  # or they would hide the others
        recalls.append(Curve(name, colour, seeds.mean(axis=1), lengths[until]))
        recalls.append(Curve("", colour, seeds.ravel(), beside, "dots"))
    angle = f"The value is {BACK} back in {text}"
    angle += ": all angles are those of one window" if i else ", and each pair has its angle there"
    share = tell("Computed: the value keeps {} of the attention", numbers["shares"], i, hide, text)
    means = {hidden: seeds.mean(axis=1) for hidden, seeds in numbers["recall"].items()}
    recall = tell("Measured: {} of the values are recalled", means, i, hide, text)
    keys, n_seeds = WINDOW * windows, numbers["recall"][False].shape[1]
    rivals = f"{keys - 1} others" if not hide else f"{WINDOW - 1} visible others, of {keys - 1}"
    equal = f"For a key that scores {values['advantage']} more than each of {rivals}."
    degrees = Axis("angle (degrees)", (0, 360), unit="°", digits=0)
    attention, right = (
        Axis(label, (0, 103), unit="%", digits=0) for label in ("attention (%)", "right digits (%)")
    )
    return [
        Panel(
            angle,
            turns,
            X,
            degrees,
            f"Between the last character and the value, for {len(PAIRS)} of {HEAD_DIM // 2} pairs.",
        ),
        Panel(share, shares, X, attention, equal),
        Panel(recall, recalls, X, right, f"v4 trained on one window: {n_seeds} seeds, and their mean."),
    ]


def tell(finding: str, numbers: Mapping[bool, np.ndarray], i: int, hide: bool, text: str) -> str:
    """Fill a finding with the number at the i-th length; add that with far keys hidden if they are."""
    sentence = f"{finding.format(f'{numbers[False][i]:.0f}%')} in {text}"
    return sentence + (f", {numbers[True][i]:.0f}% with far keys hidden" if hide else "")
