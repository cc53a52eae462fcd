"""The live lab: sliders that answer at once, training to watch, pause and steer."""

from babygpt.live.branch_watch import branch_similarity as branch_similarity
from babygpt.live.branch_watch import company as company
from babygpt.live.controls import Choice as Choice
from babygpt.live.controls import Line as Line
from babygpt.live.controls import Scale as Scale
from babygpt.live.controls import Slider as Slider
from babygpt.live.diffusion_watch import filling as filling
from babygpt.live.diffusion_watch import gates as gates
from babygpt.live.diffusion_watch import with_holes as with_holes
from babygpt.live.explorer import Explorer as Explorer
from babygpt.live.explorers import alibi as alibi
from babygpt.live.explorers import attention as attention
from babygpt.live.explorers import branches as branches
from babygpt.live.explorers import diffusion as diffusion
from babygpt.live.explorers import gaussian as gaussian
from babygpt.live.explorers import polar as polar
from babygpt.live.explorers import rotary as rotary
from babygpt.live.explorers import sinusoidal as sinusoidal
from babygpt.live.run import Run as Run
from babygpt.live.train import train as train
from babygpt.live.watch import Watch as Watch
from babygpt.live.watch import heads as heads
from babygpt.live.watch import kernel as kernel
from babygpt.live.watch import next_characters as next_characters
from babygpt.live.watch import roles as roles
from babygpt.live.watch import votes as votes
