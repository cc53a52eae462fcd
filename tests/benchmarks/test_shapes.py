"""Shapes get the same time; the best is the one with the lowest loss."""

import pytest

from babygpt.data.corpus import from_text
from benchmarks.shapes import compare_shapes

CORPUS = from_text("abc", "abcdefgh" * 300)


def test_every_shape_is_trained_and_the_best_is_named() -> None:
    got = compare_shapes(CORPUS, 0.3, shapes=((1, 16), (2, 32)))
    assert list(got["shapes"]) == ["1 layers, 16 wide", "2 layers, 32 wide"]
    losses = {name: numbers["val_loss"] for name, numbers in got["shapes"].items()}
    assert losses[got["best"]] == min(losses.values())
    assert all(numbers["steps"] >= 1 and numbers["seconds"] > 0 for numbers in got["shapes"].values())


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_no_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        compare_shapes(CORPUS, seconds)
