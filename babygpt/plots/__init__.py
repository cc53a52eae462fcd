"""Drawing: a function takes an Axes and arrays, and draws one finding. No torch, no files.

Called again on the same Axes, a function moves what it drew before and adds nothing, so one function makes
the figure of a README and every frame of a dashboard. Only `draw_by_position` draws once.

curves, matrices  drawing functions
artists           lines, images and texts that they share
style             colours, and the settings of all figures
"""

from babygpt.plots.curves import draw_by_position as draw_by_position
from babygpt.plots.curves import draw_curves as draw_curves
from babygpt.plots.curves import draw_gap as draw_gap
from babygpt.plots.curves import draw_losses as draw_losses
from babygpt.plots.curves import running_mean as running_mean
from babygpt.plots.matrices import draw_attention_heads as draw_attention_heads
from babygpt.plots.matrices import draw_attention_row as draw_attention_row
from babygpt.plots.matrices import draw_fill_order as draw_fill_order
from babygpt.plots.matrices import draw_gates as draw_gates
from babygpt.plots.matrices import draw_matrix as draw_matrix
from babygpt.plots.matrices import draw_text as draw_text
from babygpt.plots.style import COLOURS as COLOURS
from babygpt.plots.style import DIVERGING as DIVERGING
from babygpt.plots.style import ENCODING_COLOURS as ENCODING_COLOURS
from babygpt.plots.style import STYLE as STYLE
from babygpt.plots.style import set_style as set_style
from babygpt.plots.style import visible as visible
