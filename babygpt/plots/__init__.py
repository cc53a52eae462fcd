"""Drawing: every function takes an Axes and arrays, and draws one finding. No torch, no files.

Called again on the same Axes, a function moves what it drew before (`artists`): that is a live plot.
"""

from babygpt.plots.clock import draw_clock as draw_clock
from babygpt.plots.curves import draw_by_position as draw_by_position
from babygpt.plots.curves import draw_curves as draw_curves
from babygpt.plots.curves import draw_kernels as draw_kernels
from babygpt.plots.curves import draw_losses as draw_losses
from babygpt.plots.curves import draw_rising as draw_rising
from babygpt.plots.curves import draw_then_and_now as draw_then_and_now
from babygpt.plots.curves import mark_place as mark_place
from babygpt.plots.curves import smoothed as smoothed
from babygpt.plots.matrices import draw_gates as draw_gates
from babygpt.plots.matrices import draw_heads as draw_heads
from babygpt.plots.matrices import draw_matrix as draw_matrix
from babygpt.plots.matrices import draw_row as draw_row
from babygpt.plots.matrices import draw_squares as draw_squares
from babygpt.plots.matrices import label_rows as label_rows
from babygpt.plots.seeds import draw_accuracies as draw_accuracies
from babygpt.plots.seeds import draw_gaps as draw_gaps
from babygpt.plots.seeds import draw_rows as draw_rows
from babygpt.plots.style import COLOURS as COLOURS
from babygpt.plots.style import DIVERGING as DIVERGING
from babygpt.plots.style import ENCODING_COLOURS as ENCODING_COLOURS
from babygpt.plots.style import SHADES as SHADES
from babygpt.plots.style import STYLE as STYLE
from babygpt.plots.style import set_style as set_style
from babygpt.plots.style import visible as visible
from babygpt.plots.texts import draw_appearing as draw_appearing
from babygpt.plots.texts import draw_text as draw_text
