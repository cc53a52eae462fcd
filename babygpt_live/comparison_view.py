"""Comparison in a notebook, whose learning curves grow while its runs are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from IPython.display import display

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.experiments.compare import compare_versions
from babygpt.experiments.comparison import VersionComparison
from babygpt.experiments.comparison_plan import Curve
from babygpt.experiments.variants import VariantName, candidates_of
from babygpt_live.comparison import growing_panel
from babygpt_live.explorer import Explorer
from babygpt_live.panel import Panel


class GrowingCurves(Explorer):
    """Widget of the learning curves of a comparison, without controls.

    names  of the variants
    total  steps of a run
    floor  a loss that no model can pass, or None
    """

    def __init__(self, names: Sequence[str], total: int, floor: float | None) -> None:
        self.curves: dict[str, dict[int, Curve]] = {name: {} for name in names}
        self.total, self.floor, self.note = total, floor, ""
        super().__init__("comparison", lambda: self.panel(), lambda panel, _: [panel], [])

    def panel(self) -> Panel:
        """Return the curves so far as a panel."""
        return growing_panel(self.curves, self.total, self.floor, self.note)

    def add(self, name: str, seed: int, curve: Curve) -> None:
        """Show the curve of a run so far."""
        self.curves[name][seed] = [list(point) for point in curve]
        self.shown = self.answer()

    def tell(self, line: str) -> None:
        """Show a line below the curves."""
        self.note = line
        self.shown = self.answer()


def watch_comparison(
    versions: Sequence[VariantName],
    corpus: Corpus | str = "tales",
    seeds: int | Sequence[int] | None = None,
    model: ModelConfig | None = None,
    training: TrainConfig | None = None,
    **options: Any,
) -> VersionComparison:
    """Compare versions or own encodings as `compare_versions` does, and show their curves while they grow.

    The curve of a run grows with each validation, or comes whole from a process of its own. A saved notebook
    keeps the last picture.

    options  more arguments of `compare_versions`, such as `out` or `n_workers`
    returns  the results, which a notebook shows as a table
    Raises BadInput for what cannot be compared, before anything is shown or trained.
    """
    candidates, training = candidates_of(versions), training or TrainConfig()
    if not isinstance(corpus, Corpus):
        corpus = load_corpus(corpus, with_mask=candidates[0].masks)
    view = GrowingCurves([candidate.name for candidate in candidates], training.steps, corpus.floor)
    display(view)
    options = {"tell": view.tell, **options}
    try:
        return compare_versions(versions, corpus, seeds, model, training, watch=view.add, **options)
    finally:
        view.tell("")
        view.output.show_still(update=True)
