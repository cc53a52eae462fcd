"""IPython extension for kernels that run notebooks: pictures of figures have titles as alternative text."""

from typing import Any

from matplotlib.figure import Figure


def titles_of(figure: Figure) -> str:
    """Return the title of a figure and those of its Axes, one after the other."""
    plain = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center", "right")]
    words = [figure.get_suptitle(), *plain]
    return "; ".join(dict.fromkeys(" ".join(title.split()) for title in words if title))


def load_ipython_extension(shell: Any) -> None:
    """Give the pictures of all figures their titles from here on."""
    shell.run_line_magic("matplotlib", "inline")
    formatter = shell.display_formatter.formatters["image/png"]
    draw = formatter.lookup_by_type(Figure)

    def with_titles(figure: Figure) -> Any:
        png = draw(figure)
        image, metadata = png if isinstance(png, tuple) else (png, {})
        return image, {**metadata, "alt": titles_of(figure)}

    formatter.for_type(Figure, with_titles)
