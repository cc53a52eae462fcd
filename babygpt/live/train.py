"""Train in the background and watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from IPython.display import display

from babygpt.config import TrainConfig
from babygpt.live.controls import Control
from babygpt.live.dashboard import Dashboard
from babygpt.live.run import Run, Trainer
from babygpt.live.watches.base import Watch
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective


def train(
    model: LanguageModel,
    objective: Objective,
    config: TrainConfig,
    title: str = "model",
    floors: Mapping[str, float] | None = None,
    watches: Sequence[Watch] = (),
    knobs: Sequence[Control] = (),
) -> Run:
    """Start to train a model in the background, show its dashboard, and return at once.

    One model trains at a time. While another one does, this one waits; its dashboard says so and
    offers to stop the other.

    model      trained in place
    objective  draws the batches and takes their loss
    config     steps, batch size, learning rates, seed
    title      the model's name
    floors     name -> a loss that cannot be passed, nats per character
    watches    what is measured and drawn beside the loss
    knobs      controls named like numbers of the model's encoding, such as theta: they steer it
    returns    the run; `run.result()` waits for it
    Raises ValueError if a knob's name is no number of the encoding, and what a watch raises that cannot
    measure this model.
    """
    for knob in knobs:
        model.encoding.require_number(knob.name)
    run = Run(model, objective, config, title, watches)
    trainer = Trainer(run)
    if not any(other.trains(model) for other in trainer.ahead):
        run.look_first()
    run.panel = Dashboard(run, floors or {}, knobs, trainer.ahead)
    display(run.panel)
    run.panel.painter.wake()
    trainer.start()
    return run
