"""Pages quote the numbers that are stored."""

import re
from pathlib import Path

import pytest

from babygpt_course.studies.results import load_results
from tests.course.test_findings import ROWS

ROOT = Path(__file__).resolve().parents[3]


def floors(found):
    at = {name: {n: mean for n, (mean, _) in each.items()} for name, each in found["window"].items()}
    gain = -found["longer"]["tales"][0]
    assert found["longer"]["plain-tales"] == [0, 0]
    return (
        f"reads {found['n_windows']} windows",
        f"needs about {at['plain-tales']['64']:.2f} nats",
        f"{at['tales']['64']:.2f} nats per character in windows of 64 of the tales",
        f"{at['tales']['96']:.2f} in windows of 96",
        f"{at['tales']['192']:.2f} in windows of 192 (standard errors 0.01), where the text's own rate is "
        f"{found['floor']['tales']:.2f}",
        f"{at['plain-tales']['64']:.2f} in windows of 64, with a rate of {found['floor']['plain-tales']:.2f}",
        f"the best reader gains {gain:.2f} nats on the same characters of the tales",
        f"It took {found['minutes']} minutes",
    )


QUOTED = [
    "03b all positions",
    "06 warm-up",
    "06 16 at a time",
    "07a remasking",
    "07a cold",
    "07a cold, once",
]  # rows of test_findings, all of whose intervals stand on the page


def texts(found):
    """Yield the texts of a row: one, or some in a list or table."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from texts(one)


@pytest.mark.parametrize("name", QUOTED)
def test_the_results_page_gives_the_intervals_of_the_stored_numbers(name):
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").replace("−", "-")
    row = next(found for called, found, _ in ROWS if called == name)
    ends = [re.findall(r"99%: ([+-][\d.]+) to ([+-][\d.]+)", text) for text in texts(row)]
    both = [(f"{low} to {high}", f"{low[1:]} to {high[1:]}") for pairs in ends for low, high in pairs]
    assert both
    assert [signed for signed, plain in both if signed not in page and plain not in page] == []


def test_the_results_page_gives_the_floors():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert [phrase for phrase in floors(load_results("floors")) if phrase not in page] == []
