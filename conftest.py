"""Notebooks as tests: what nbval compares of them, in which order they run, and when lesson 11 is skipped."""

import os

import pytest
from nbval.plugin import IPyNbFile

from babygpt_course.real.file import WAYS, model_path
from tools.comparison import OutputComparison

# The longest first, so that no worker ends with a long file.
LONGEST = [f"{n}_" for n in "07b 11 04a 04b 04c 10 07a 05 06 08 03b 03a 09 02 00 01".split()]


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Have nbval leave pictures and HTML out of its comparison."""
    if isinstance(collector, IPyNbFile):
        collector.skip_compare = OutputComparison.parent.skip_compare


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put notebooks first, the longest ones before the others, and skip lesson 11 if its model is missing."""

    def order(item: pytest.Item) -> int:
        ranks = (rank for rank, start in enumerate(LONGEST) if item.path.name.startswith(start))
        return next(ranks, len(LONGEST))

    items.sort(key=order)  # stable: the order within a file stays
    if os.environ.get("BABYGPT_REAL_TESTS") != "required" and not model_path().exists():
        missing = pytest.mark.skip(reason=f"the language model of lesson 11 is missing: {WAYS}")
        for item in (item for item in items if item.path.name.startswith("11_")):
            item.add_marker(missing)
