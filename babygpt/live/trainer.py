"""Train in the background and watch: one run at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from IPython.display import display

from babygpt.config import TrainConfig
from babygpt.device import use_allowed_threads
from babygpt.live.controls import Control
from babygpt.live.dashboard import Dashboard
from babygpt.live.run import Run
from babygpt.live.watches.watch import Watch
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective
from babygpt.training.guard import require_vocabulary


class Trainer(threading.Thread):
    """The thread of a run. There may be several; all but the first wait for the runs started earlier."""

    def __init__(self, run: Run) -> None:
        super().__init__(name=f"babygpt trainer {run.title}", daemon=True)
        self.watched_run = run
        others = [thread for thread in threading.enumerate() if isinstance(thread, Trainer)]
        self.earlier = [other.watched_run for other in others if not other.watched_run.state.over]

    def run(self) -> None:
        self.watched_run.train_after(self.earlier)
        self.earlier = []


def train(
    model: LanguageModel,
    objective: Objective,
    config: TrainConfig,
    title: str = "model",
    floors: Mapping[str, float] | None = None,
    watches: Sequence[Watch] = (),
    controls: Sequence[Control] = (),
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
    controls   sliders named like numbers of the model's encoding, such as theta: they steer it
    returns    the run; `run.result()` waits for it
    Raises BadInput if a control's name is no number of the encoding, or the model does not know all tokens of
    the text, and what a watch raises that cannot measure this model.
    """
    use_allowed_threads()  # here, and not in the run's own thread: what is measured beside it gains too
    require_vocabulary(model, objective)
    for control in controls:
        model.encoding.require_number(control.name)
    run = Run(model, objective, config, title, watches)
    trainer = Trainer(run)
    if not any(other.is_training(model) for other in trainer.earlier):
        run.measure_untrained()
    run.panel = Dashboard(run, floors or {}, controls, trainer.earlier)
    display(run.panel)
    run.panel.painter.wake()
    trainer.start()
    return run
