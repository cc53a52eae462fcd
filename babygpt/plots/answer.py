"""An answer to an exercise beside the wanted one: a figure of its own."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from babygpt.plots.live import draw_matrix


def answer_figure(yours: np.ndarray, wanted: np.ndarray, differ: str, x: str, y: str) -> Figure:
    """A figure of its own with two matrices in the same colours, and the first minus the second.

    yours, wanted  (rows, columns)
    differ         the title of the difference
    """
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    known = [np.abs(part[np.isfinite(part)]) for part in (yours, wanted)]
    top = max([float(part.max()) for part in known if part.size], default=0.0) or 1.0
    signed = bool((yours < 0).any() or (wanted < 0).any())
    axes = figure.subplots(1, 3)
    for ax, matrix, title in zip(axes, (yours, wanted), ("Yours", "Wanted"), strict=False):
        draw_matrix(ax, matrix, title, x, y, diverging=signed, top=top)
    draw_matrix(axes[2], yours - wanted, differ, x, y, diverging=True, top=top)
    return figure
