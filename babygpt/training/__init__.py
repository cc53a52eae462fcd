"""The training loop, the optimizers, and the files that runs are saved in."""

from babygpt.training.loop import Step as Step
from babygpt.training.loop import Training as Training
from babygpt.training.loop import follow as follow
from babygpt.training.loop import replay as replay
from babygpt.training.loop import snapshot as snapshot
from babygpt.training.loop import train as train
