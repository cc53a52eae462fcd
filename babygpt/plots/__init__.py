"""Pictures: panels, which are plain data that the page draws, and figures, which Matplotlib draws.

panel    a picture as plain data
figures  functions that draw one finding on empty Axes
style    colours, and the settings of all figures
"""

from babygpt.plots.figures import draw_by_position as draw_by_position
from babygpt.plots.figures import draw_curves as draw_curves
from babygpt.plots.figures import draw_losses as draw_losses
from babygpt.plots.figures import draw_matrix as draw_matrix
from babygpt.plots.figures import draw_text as draw_text
from babygpt.plots.figures import running_mean as running_mean
from babygpt.plots.figures import set_labels as set_labels
from babygpt.plots.panel import Axis as Axis
from babygpt.plots.panel import Cells as Cells
from babygpt.plots.panel import Curve as Curve
from babygpt.plots.panel import Heads as Heads
from babygpt.plots.panel import Level as Level
from babygpt.plots.panel import Panel as Panel
from babygpt.plots.panel import Trials as Trials
from babygpt.plots.panel import Words as Words
from babygpt.plots.style import COLOURS as COLOURS
from babygpt.plots.style import ENCODING_COLOURS as ENCODING_COLOURS
from babygpt.plots.style import STYLE as STYLE
from babygpt.plots.style import set_style as set_style
from babygpt.plots.style import visible as visible
