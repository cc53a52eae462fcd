"""Study of longer texts: models that fine-tuning leaves alone, and verdicts of statements."""

from __future__ import annotations

import copy

import pytest
import torch

from babygpt.encodings import Encoding, Interpolated, NTKAware, Rotary
from babygpt.models.stretching import METHODS
from babygpt.positions import Positions
from babygpt_course.studies import stretch
from babygpt_course.studies.results import load_results
from babygpt_course.studies.stretch import ARMS, BLOCK, TUNED
from babygpt_course.studies.sweep import Scale

TINY = Scale(steps=2, seeds=(1, 2), n_chars=6000, n_questions=8)


def test_fine_tuning_leaves_the_trained_model_alone() -> None:
    model = stretch.trained_arm("v4", TINY, seed=1)
    before = copy.deepcopy(model.state_dict())
    kinds = {"control": Rotary, "interpolation": Interpolated, "ntk": NTKAware, "drop": Encoding}
    for method, kind in kinds.items():
        tuned = stretch.fine_tuned(model, method, TINY, seed=1)
        assert type(tuned.encoding) is kind
        assert any(not torch.equal(x, y) for x, y in zip(tuned.parameters(), model.parameters(), strict=True))
    assert type(model.encoding) is Rotary
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())


def test_a_dropped_code_and_a_control_are_trained_at_the_old_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else at the new length, with as many characters a step."""
    seen = {}

    def spy(steps, total, title):
        seen[title.split(",")[0]] = steps

    model = stretch.trained_arm("v4", TINY, seed=1)
    monkeypatch.setattr(
        stretch, "train", lambda model, objective, how: (objective.block_size, how.batch_size)
    )
    monkeypatch.setattr(stretch, "finish", spy)
    for method in ("control", *METHODS):
        stretch.fine_tuned(model, method, TINY, seed=1)
    assert {method for method, (size, _) in seen.items() if size == BLOCK} == {"control", "drop"}
    assert {size * rows for size, rows in seen.values()} == {12 * BLOCK}
    assert {size for size, _ in seen.values()} == {BLOCK, TUNED * BLOCK}


def test_tokens_stand_at_drawn_positions() -> None:
    """In order, each where the draw put it; the encoding inside is told nothing else."""
    encoding = stretch.AtRandomPositions(Rotary(8), 5, 50)
    q, k = torch.randn(2, 1, 1, 5, 8, generator=torch.Generator().manual_seed(0))
    assert bool((encoding.drawn.diff() > 0).all())
    assert int(encoding.drawn.max()) < 50
    expected = Rotary(8).transform_qk(q, k, Positions(encoding.drawn))
    torch.testing.assert_close(encoding.transform_qk(q, k, Positions.arange(5)), expected)


# ---------------------------------------------------------------- judging


@pytest.mark.parametrize(
    ("lows", "highs", "said"),
    [
        ([1.0, 2.0], [1.1, 2.1], "holds"),
        ([1.0, 2.2], [1.1, 2.1], "depends"),
        ([1.2, 2.2], [1.1, 2.1], "fails"),
        ([1.0, 2.0], [1.0, 2.0], "fails"),  # no lower is not lower
    ],
)
def test_a_statement_holds_if_every_seed_agrees(lows: list[float], highs: list[float], said: str) -> None:
    statement = stretch.Statement("", "", ("low", "loss"), ("high", "loss"))
    runs = {"low": [{"loss": x} for x in lows], "high": [{"loss": x} for x in highs]}
    assert stretch.verdict({"runs": runs}, statement) == said


def test_the_stored_study_has_every_arm_from_three_seeds() -> None:
    results = load_results("stretch")
    assert set(ARMS) <= results["runs"].keys()
    assert {len(each) for each in results["runs"].values()} == {len(results["seeds"])} == {3}
    rotate_only = {"v4", "nope", "v4-nope", "partial", "random positions", "xpos", "v4, longer"}
    assert results["kernels"].keys() == ARMS.keys() - rotate_only
