"""Comparison of a notebook's stored outputs with new ones: the same for nbval and for tools/anywhere.py.

Compared is what is equal on every machine: printed text, plain text, and Markdown, which holds sources and
tasks. Pictures and HTML are left out, because they show what training and rounding decide; what has to be
compared stands in the plain text that every output has. A cell tagged `nbval-ignore-output` is not compared.
"""

from collections.abc import Sequence
from types import SimpleNamespace

from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, nocolors

IGNORED = "nbval-ignore-output"  # the tag of a cell whose outputs a training decides
ABOUT = ("metadata", "traceback", "prompt_number", "output_type", "name", "execution_count")
RICH = (
    "text/html",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "application/vnd.jupyter.widget-view+json",  # widgets' names are random
)


class OutputComparison:
    """nbval's own comparison of outputs, without the process and the file that its test item needs."""

    compare_outputs = IPyNbCell.compare_outputs
    sanitize = IPyNbCell.sanitize
    colors = nocolors
    parent = SimpleNamespace(skip_compare=(*ABOUT, *RICH), sanitize_patterns={})

    def __init__(self) -> None:
        self.comparison_traceback: list[str] = []

    def format_output_compare(self, key: str, stored: str, new: str) -> None:
        """Note two texts of one kind that differ."""
        self.comparison_traceback.append(f"{key}: {new!r} (stored: {stored!r})")


def output_differences(stored: NotebookNode, outputs: Sequence[NotebookNode]) -> list[str]:
    """Return the differences of a cell's new outputs from its stored ones, of those that nbval compares."""
    if IGNORED in stored.metadata.get("tags", []):
        return []
    comparison = OutputComparison()
    return [] if comparison.compare_outputs(outputs, stored.outputs) else comparison.comparison_traceback


def compared_text(cell: NotebookNode) -> str:
    """Return all text of a cell's stored outputs that nbval compares; "" where it compares nothing."""
    if cell.cell_type != "code" or IGNORED in cell.metadata.get("tags", []):
        return ""
    texts = [output.get("text", "") for output in cell.outputs]
    texts += [text for o in cell.outputs for kind, text in o.get("data", {}).items() if kind not in RICH]
    return "\n".join(texts)
