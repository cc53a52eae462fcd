"""The figures: `make` measures and draws them; the functions that draw serve the notebooks too."""

from babygpt.experiments.figures.diffusion import draw_polar as draw_polar
from babygpt.experiments.figures.diffusion import draw_trajectory as draw_trajectory
from babygpt.experiments.figures.ladder import draw_ladder as draw_ladder
from babygpt.experiments.figures.lookup import draw_lookup as draw_lookup
from babygpt.experiments.figures.make import FIGURES as FIGURES
from babygpt.experiments.figures.make import Picture as Picture
from babygpt.experiments.figures.make import make as make
from babygpt.experiments.figures.seeds import draw_branches as draw_branches
from babygpt.experiments.figures.seeds import draw_gaussian as draw_gaussian
from babygpt.experiments.figures.seeds import draw_lengths as draw_lengths
from babygpt.experiments.figures.seeds import draw_roles as draw_roles
from babygpt.experiments.figures.untrained import draw_gate as draw_gate
from babygpt.experiments.figures.untrained import draw_rope as draw_rope
from babygpt.experiments.figures.untrained import draw_sinusoid as draw_sinusoid
