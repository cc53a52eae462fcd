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
LAST, EVERY = 256, 8  # of the first positions at which models are measured
INKS = [COLOURS[name] for name in ("pink", "red", "sky")]  # of models with names of their own


def valley(
    results: Results,
    models: Mapping[str, LanguageModel] | None = None,
    windows: Tensor | None = None,
    stored: Sequence[str] = tuple(STORED),
) -> Explorer:
    """Drag a text along positions 0 to 256, and see how much of it is lost at each.

    A model is measured at a position when a reader first goes there or beyond; without models, the stored
    seeds tell of positions 0, 32, ..., 192.

    results  what `load_results("controls")` reads: v3 trained at positions 0 and 128, v4 trained at 0
    models   trained, by name; they are copied, and run from any first position
    windows  (N, T + 1) token ids of texts, which all models read; 16 texts take seconds for all positions
    stored   of "v3" and "v4", those whose seeds are shown
    Raises BadInput for models without windows.
    """
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
        stops, met = range(0, first + 1, EVERY), [at for at in BESIDE if at <= first]
        arms = {name: results["controls"][STORED[name]] for name in stored}
        return {
            "live": {name: (np.array(stops), np.array([loss(name, at) for at in stops])) for name in copies},
            "stored": {
                name: (np.array(met), np.array([one[f"at {at}"] for at in met])) for name, one in arms.items()
            },
        }

    last, step = (LAST, EVERY) if copies else (BESIDE[-1], BESIDE[1])
    slider = Slider("first", 0, 0, last, "first position of the text", step=step)
    return Explorer("valley", measure, panels, [slider], together=("first",))


def panels(found: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Draw the losses up to the first position of the text, with the text itself at the foot."""
    first, live, stored = values["first"], found["live"], found["stored"]
    curves = live or {name: (at, seeds.mean(axis=1)) for name, (at, seeds) in stored.items()}
    marks: list[Mark] = [Level("", PLACES[0], "x"), Level("v3 trained here and at 0", PLACES[1], "x")]
    marks.append(
        Curve("the text", COLOURS["orange"], np.full(2, 0.04), np.array([first, first + WINDOW - 1]))
    )
    for i, (name, (at, losses)) in enumerate(curves.items()):
        marks.append(Curve(name, ENCODING_COLOURS.get(name.lower(), INKS[i % len(INKS)]), losses, at))
    note = ""
    for name, (at, seeds) in stored.items():
        dots = np.repeat(at, seeds.shape[1])
        marks.append(Curve("", ENCODING_COLOURS[name], seeds.ravel(), dots, LOOKS[name]))
        note += f"{LOOKS[name].title()}: {seeds.shape[1]} seeds of {name} trained at {TRAINED[name]}. "
        note += f"At {at[-1]} they lose {seeds[-1].min():.2f} to {seeds[-1].max():.2f} nats. "
    note += "" if live else "Lines: means."
    told = ", ".join(f"{losses[-1]:.2f} with {name}" for name, (_, losses) in curves.items())
    top = max([3.4, *(1.05 * float(losses.max()) for _, losses in live.values())])
    x = Axis("position", (-3, LAST + WINDOW), digits=0)
    y = Axis("loss of a text that begins there (nats per character)", (0, top))
    title = f"The text begins at position {first}: {told} (nats per character)"
    return [Panel(title, marks, x, y, note, width=2.2)]
