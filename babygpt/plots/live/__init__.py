"""Drawings that move: the second call on the same Axes moves the artists of the first.

It adds none and draws what it would draw on fresh Axes, so one function makes the figure of a README and
every frame of a dashboard.
"""

from babygpt.plots.live.clock import draw_clock as draw_clock
from babygpt.plots.live.curves import draw_accuracy_curves as draw_accuracy_curves
from babygpt.plots.live.curves import draw_before_and_after as draw_before_and_after
from babygpt.plots.live.curves import draw_curves as draw_curves
from babygpt.plots.live.curves import draw_losses as draw_losses
from babygpt.plots.live.curves import draw_reading_on as draw_reading_on
from babygpt.plots.live.curves import draw_seed_rows as draw_seed_rows
from babygpt.plots.live.curves import draw_wavelengths as draw_wavelengths
from babygpt.plots.live.curves import mark_x as mark_x
from babygpt.plots.live.curves import running_mean as running_mean
from babygpt.plots.live.matrices import draw_attention_heads as draw_attention_heads
from babygpt.plots.live.matrices import draw_attention_row as draw_attention_row
from babygpt.plots.live.matrices import draw_gates as draw_gates
from babygpt.plots.live.matrices import draw_matrix as draw_matrix
from babygpt.plots.live.matrices import draw_similarities as draw_similarities
from babygpt.plots.live.matrices import label_rows as label_rows
from babygpt.plots.live.texts import draw_fill_order as draw_fill_order
from babygpt.plots.live.texts import draw_text as draw_text
