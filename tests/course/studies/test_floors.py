"""The study of floors: windows of the three grammars, measured small, drawn, and stored."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from babygpt.data import tales
from babygpt_course.studies import floors
from babygpt_course.studies.results import load_results
from babygpt_course.studies.window_floor.floors import floor_by_position, losses_of_windows


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(floors, "LENGTHS", (8, 16))
    return floors.measure_floors(("plain-tales",), n_windows=5, seed=3)


def test_means_over_positions_and_over_windows_are_of_the_same_losses(small) -> None:
    mean, error = floor_by_position(tales.plain(), 16, 5, seed=3)
    assert small["mean"]["plain-tales"] == pytest.approx(mean, abs=1e-4)
    assert small["error"]["plain-tales"] == pytest.approx(error, abs=1e-4)
    windows = losses_of_windows(tales.plain(), 16, 5, seed=3)[:, :8].mean(axis=1)
    expected = [windows.mean(), windows.std(ddof=1) / 5**0.5]
    assert small["window"]["plain-tales"]["8"] == pytest.approx(expected, abs=1e-4)


def test_the_title_is_what_was_measured(small, monkeypatch) -> None:
    figure = Figure()
    small["window"]["plain-tales"]["8"] = [0.777, 0.1]
    floors.draw_floors(figure, small)
    title = figure.axes[0].get_title() or figure.axes[0].get_title(loc="left")
    assert "plain-tales 0.78 instead of 0.33" in title.replace("\n", " ")


def test_what_is_stored_was_measured_from_these_grammars() -> None:
    """The first windows again: the reader and the seed give what is in the package."""
    found = load_results("floors")
    for name, grammar in (
        ("plain-tales", tales.plain()),
        ("tales", tales.english()),
        ("tales-zh", tales.chinese()),
    ):
        assert found["floor"][name] == pytest.approx(grammar.floor())
        first, error = found["mean"][name][0], found["error"][name][0]
        assert abs(first - grammar.bigram_floor()) < 4 * error
        late = np.mean(found["mean"][name][96:])
        assert abs(late - grammar.floor()) < 0.05


def test_the_page_says_what_was_stored() -> None:
    found = load_results("floors")
    page = (Path(__file__).resolve().parents[3] / "docs" / "results.md").read_text(encoding="utf-8")
    tales_at = {length: mean for length, (mean, _) in found["window"]["tales"].items()}
    plain_at = found["window"]["plain-tales"]["64"][0]
    for phrase in (
        f"reads {found['n_windows']} windows",
        f"{tales_at['64']:.2f} nats per character in windows of 64 of the tales",
        f"{tales_at['96']:.2f} in windows of 96",
        f"{tales_at['192']:.2f} in windows of 192 (standard errors 0.01), where the text's own rate is "
        f"{found['floor']['tales']:.2f}",
        f"{plain_at:.2f} in windows of 64, with a rate of {found['floor']['plain-tales']:.2f}",
        f"the best reader gains {-found['longer']['tales'][0]:.2f} nats on the same characters of the tales",
        f"the best reader makes {-found['longer']['tales'][0]:.2f} nats",
        f"It took {found['minutes']} minutes",
    ):
        assert phrase in page
    errors = [found["longer"]["tales"][1], *(error for _, error in found["window"]["tales"].values())]
    assert {f"{error:.2f}" for error in errors} == {"0.01"}
    assert found["longer"]["plain-tales"] == [0, 0]
