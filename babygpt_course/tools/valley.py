"""Valley: a text is dragged along the positions, and costs more where a model has not learned them."""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt_course.studies.controls import BESIDE, PLACES
from babygpt_course.studies.order import WINDOW, losses_from
from babygpt_course.studies.results import Results
from babygpt_live import COLOURS, ENCODING_COLOURS, Axis, Curve, Explorer, Level, Panel, Slider
from babygpt_live.panel import Mark

STORED = {"v3": "v3, two places", "v4": "v4, first place"}
TRAINED = {"v3": "0 and 128", "v4": "0"}
LOOKS: dict[str, Literal["dots", "rings"]] = {"v3": "dots", "v4": "rings"}
LAST = 256  # last position at which a text may begin
EVERY = 8  # distance of the positions at which models are measured
INKS = [COLOURS[name] for name in ("pink", "red", "sky")]  # colours of models with names of their own


def valley(
    results: Results,
    models: Mapping[str, LanguageModel] | None = None,
    windows: Tensor | None = None,
    stored: Sequence[str] = tuple(STORED),
) -> Explorer:
    """Return an explorer that drags a text along positions 0 to 256, with its loss (nats per character).

    A model is measured at a position when a reader first goes there or beyond; without models, the stored
    seeds tell of positions 0, 32, ..., 192.

    results  what `load_results("controls")` reads: v3 trained at positions 0 and 128, v4 trained at 0
    models   trained, by name; they are copied, and run from any first position
    windows  (N, T + 1) token ids of texts, which all models read; 16 texts take seconds for all positions
    stored   of "v3" and "v4", those whose seeds are shown
    Raises BadInput for models without windows, for other stored names, and if there is nothing to draw.
    """
    if unknown := [name for name in stored if name not in STORED]:
        raise BadInput(f"stored ({', '.join(unknown)}) must be some of {', '.join(STORED)}")
    if not (models or stored):
        raise BadInput("there is nothing to draw: give models, or stored seeds")
    if models and windows is None:
        raise BadInput(f"windows are missing: which texts shall {', '.join(models)} read?")
    copies = {name: copy.deepcopy(model) for name, model in (models or {}).items()}

    @cache
    @torch.inference_mode()
    def loss(name: str, first: int) -> float:
        ids = windows.to(next(copies[name].parameters()).device)  # type: ignore[union-attr]
        return float(losses_from(copies[name], ids[:, :-1], ids[:, 1:], first).mean())

    def measure(first: int) -> dict[str, Any]:
        """Return the losses up to a first position: of each model, and of each stored seed."""
        stops, positions = range(0, first + 1, EVERY), [position for position in BESIDE if position <= first]
        arms = {name: results["controls"][STORED[name]] for name in stored}
        return {
            "live": {
                name: (np.array(stops), np.array([loss(name, position) for position in stops]))
                for name in copies
            },
            "stored": {
                name: (np.array(positions), np.array([arm[f"at {position}"] for position in positions]))
                for name, arm in arms.items()
            },
        }

    last, step = (LAST, EVERY) if copies else (BESIDE[-1], BESIDE[1])
    slider = Slider("first", 0, 0, last, "first position of the text", step=step)
    return Explorer("valley", measure, panels, [slider], together=("first",))


def panels(measurements: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Draw the losses up to the first position of the text, with the text itself at the foot."""
    first, live, stored = values["first"], measurements["live"], measurements["stored"]
    curves = live or {name: (positions, seeds.mean(axis=1)) for name, (positions, seeds) in stored.items()}
    marks: list[Mark] = [Level("", PLACES[0], "x"), Level(f"v3 trained at {TRAINED['v3']}", PLACES[1], "x")]
    marks.append(
        Curve("the text", COLOURS["orange"], np.full(2, 0.04), np.array([first, first + WINDOW - 1]))
    )
    for i, (name, (positions, losses)) in enumerate(curves.items()):
        marks.append(Curve(name, ENCODING_COLOURS.get(name.lower(), INKS[i % len(INKS)]), losses, positions))
    note = ""
    for name, (positions, seeds) in stored.items():
        dots = np.repeat(positions, seeds.shape[1])
        marks.append(Curve("", ENCODING_COLOURS[name], seeds.ravel(), dots, LOOKS[name]))
        note += f"{LOOKS[name].title()}: {seeds.shape[1]} seeds of {name} trained at {TRAINED[name]}. "
        note += f"At {positions[-1]} they lose {seeds[-1].min():.2f} to {seeds[-1].max():.2f} nats. "
    note += "" if live else "Lines: means."
    loss_words = ", ".join(f"{losses[-1]:.2f} with {name}" for name, (_, losses) in curves.items())
    top = max([3.4, *(1.05 * float(losses.max()) for _, losses in live.values())])
    x = Axis("position", (-3, LAST + WINDOW), digits=0)
    y = Axis("loss of a text that begins there (nats per character)", (0, top))
    title = f"The text begins at position {first}: {loss_words} (nats per character)"
    return [Panel(title, marks, x, y, note, width=2.2)]
