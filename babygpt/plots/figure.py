"""Figures that carry the course's look with them, whatever Matplotlib's settings are meanwhile.

Those settings belong to the whole process: who changes them in one thread changes what another one draws. So
nothing here sets any, and the reader's own figures are what they would be without the course.

Some are read anew whenever something is drawn, and no artist can hold them. They stay the reader's:
text.hinting, path.snap, path.simplify and its threshold, lines.scale_dashes, axes.autolimit_mode. So with the
styles "fast" and "classic" a picture of the course is not the same to the last pixel.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

from babygpt.plots.look import (
    IMAGE,
    LOOK,
    PLAIN,
    TITLE,
    legend_options,
    line_options,
    section,
    style_axis,
    style_numbers,
    text_options,
)


class StyledFigure(Figure):
    """A figure whose Axes and colour bars have the course's look, laid out so that nothing overlaps.

    size  width and height, inches
    dpi   pixels for each inch
    """

    def __init__(self, size: tuple[float, float], dpi: float) -> None:
        layout = ConstrainedLayoutEngine(**section("figure.constrained_layout", "w_pad h_pad wspace hspace"))
        look = section("figure", "facecolor edgecolor frameon")
        super().__init__(size, dpi, layout=layout, linewidth=0.0, **look)
        self.subplotpars.update(**section("figure.subplot", "left right bottom top wspace hspace"))
        self.patch.set(**PLAIN)

    def add_subplot(self, *args: Any, **options: Any) -> Any:
        return super().add_subplot(*args, **{"axes_class": StyledAxes, **options})

    def add_axes(self, *args: Any, **options: Any) -> Any:
        return super().add_axes(*args, **{"axes_class": StyledAxes, **options})

    def colorbar(self, *args: Any, **options: Any) -> Colorbar:
        bar = super().colorbar(*args, **options)
        width, colour = LOOK["axes.linewidth"], LOOK["axes.edgecolor"]
        bar.outline.set(edgecolor=colour, linewidth=width, **PLAIN)
        bar.dividers.set(color=colour, linewidth=width / 2, **PLAIN)
        if bar.solids is not None:
            bar.solids.set(**PLAIN)
        bar.minorticks_off()
        style_numbers(bar.ax.yaxis)  # the bar has put others in the place of those that had the look
        return bar


class StyledAxes(Axes):
    """Axes that look the course's way: what a call leaves open is not taken from Matplotlib's settings.

    That goes for lines, texts, images and legends; of other artists, such as bars, for their colours alone.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"facecolor": LOOK["axes.facecolor"], **options})
        self._take_look()  # once more: the sides of the ticks are set after `clear`

    def clear(self) -> None:
        super().clear()
        self._take_look()

    def _take_look(self) -> None:
        self.set_prop_cycle(None)
        self.set_axisbelow(LOOK["axes.axisbelow"])
        self.set_xmargin(LOOK["axes.xmargin"])
        self.set_ymargin(LOOK["axes.ymargin"])
        self.patch.set(antialiased=LOOK["patch.antialiased"], **PLAIN)
        for name, spine in self.spines.items():
            spine.set(edgecolor=LOOK["axes.edgecolor"], linewidth=LOOK["axes.linewidth"], **PLAIN)
            spine.set(antialiased=LOOK["patch.antialiased"], visible=LOOK[f"axes.spines.{name}"])
        style_axis(self.xaxis, "x")
        style_axis(self.yaxis, "y")

    def set_prop_cycle(self, *args: Any, **options: Any) -> None:
        anew = args == (None,)
        super().set_prop_cycle(*((LOOK["axes.prop_cycle"],) if anew else args), **options)

    def inset_axes(self, *args: Any, **options: Any) -> Any:
        return super().inset_axes(*args, **{"axes_class": StyledAxes, **options})

    def plot(self, *args: Any, **options: Any) -> list[Line2D]:
        told = any(isinstance(arg, str) for arg in args)  # "o--" tells the marker and the style
        return super().plot(*args, **line_options(options, () if told else ("marker", "linestyle")))

    def axhline(self, *args: Any, **options: Any) -> Line2D:
        return super().axhline(*args, **line_options(options))

    def axvline(self, *args: Any, **options: Any) -> Line2D:
        return super().axvline(*args, **line_options(options))

    def imshow(self, *args: Any, **options: Any) -> AxesImage:
        given = {name: value for name, value in options.items() if value is not None}
        return super().imshow(*args, **{**IMAGE, **given})

    def text(self, *args: Any, **options: Any) -> Text:
        return super().text(*args, **text_options(options))

    def annotate(self, *args: Any, **options: Any) -> Any:
        return super().annotate(*args, **text_options(options))

    def legend(self, *args: Any, **options: Any) -> Legend:
        legend = super().legend(*args, **legend_options(options))
        for text in (legend.get_title(), *legend.get_texts()):
            text.set(usetex=LOOK["text.usetex"], **PLAIN)
        return legend

    def set_title(self, *args: Any, **options: Any) -> Text:
        place = {"loc": LOOK["axes.titlelocation"], "pad": LOOK["axes.titlepad"], "y": 1.0}
        return super().set_title(*args, **{**place, **text_options(options, TITLE)})

    def set_xlabel(self, *args: Any, **options: Any) -> Text:
        return super().set_xlabel(*args, **{"loc": LOOK["xaxis.labellocation"], **options})

    def set_ylabel(self, *args: Any, **options: Any) -> Text:
        return super().set_ylabel(*args, **{"loc": LOOK["yaxis.labellocation"], **options})
