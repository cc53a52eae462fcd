"""Records of training steps, and progress bars that collect them while a model trains."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm


@dataclass(frozen=True)
class Step:
    """Record of one optimizer step.

    step      counted from 1
    loss      of its batch, before the step, in nats per token
    lr        learning rate of the hidden matrices, or of everything where there are none
    seconds   spent training up to here, validation not counted
    tokens    seen up to here
    val_loss  on the validation text after the step, in nats per token, where it was measured
    snapshot  copies of the encoding's parameters after the step, where the validation loss was measured
    changed   numbers of the encoding that were set just before the step
    """

    step: int
    loss: float
    lr: float
    seconds: float
    tokens: int
    val_loss: float | None = None
    snapshot: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    changed: dict[str, float] = field(default_factory=dict)


def follow(
    steps: Iterator[Step], total: int, title: str = "", leave: bool = True, done: int = 0, show: bool = True
) -> list[Step]:
    """Run a training loop behind a progress bar; Ctrl-C ends it early and keeps what was done.

    steps     what `train` yields
    total     number of steps
    title     shown before the bar
    leave     whether the bar stays when the run is over
    done      steps made before these, in a run that goes on
    show      whether anything is shown at all
    returns   all records; after Ctrl-C those made so far
    """
    history: list[Step] = []
    bar = {"total": total, "initial": done, "desc": title, "leave": leave, "disable": not show}
    with tqdm(**bar, mininterval=0.5) as shown:
        try:
            for step in steps:
                history.append(step)
                shown.set_postfix(loss=f"{step.loss:.3f}", refresh=False)
                shown.update()
        except KeyboardInterrupt:
            if show:
                last = done + len(history)
                shown.write(f"interrupted after step {last}; the model is kept as it is", sys.stderr)
    return history
