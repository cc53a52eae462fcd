"""Study of longer texts: models that fine-tuning leaves alone, and verdicts of statements."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt import NextToken
from babygpt.encodings import Encoding, Interpolated, NTKAware, Rotary
from babygpt.errors import BadInput
from babygpt.models.stretching import METHODS
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions
from babygpt_course.studies import stretch
from babygpt_course.studies.results import load_results
from babygpt_course.studies.stretch import ARMS, BLOCK, TUNED, RandomPositions, draw_positions
from babygpt_course.studies.sweep import Scale

TINY = Scale(steps=2, seeds=(1, 2), n_chars=6000, n_questions=8)


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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


# ---------------------------------------------------------------- at random positions


@given(rows=st.integers(1, 5), length=st.integers(1, 40), more=st.integers(0, 200), seed=st.integers(0, 99))
def test_positions_differ_are_in_order_and_within_the_range(rows: int, length: int, more: int, seed: int):
    drawn = draw_positions(rows, length, length + more, draw(seed))
    assert drawn.shape == (rows, length)
    assert bool((drawn.diff(dim=1) > 0).all())
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < length + more


def test_every_set_of_positions_is_as_likely() -> None:
    """Two of four: six sets, each of 6,000 draws within five standard deviations of a thousand."""
    drawn = draw_positions(6000, 2, 4, draw())
    counts = torch.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16)
    assert set(counts.nonzero()[:, 0].tolist()) == {1, 2, 3, 6, 7, 11}
    assert bool(((counts[counts > 0] - 1000).abs() < 5 * (6000 * 5 / 36) ** 0.5).all())


def test_windows_are_those_of_the_next_token(small_corpus) -> None:
    drawn = RandomPositions(small_corpus, 16, 64).batch(4, draw(3))
    plain = NextToken(small_corpus, 16).batch(4, draw(3))
    assert all(torch.equal(x, y) for x, y in zip(drawn[:2], plain, strict=True))
    assert drawn[2].shape == drawn[0].shape


@pytest.fixture
def reader(awake, small_corpus):
    """Make a model that knows the corpus's characters."""
    return lambda version: awake(version, vocab_size=small_corpus.tokenizer.vocab_size)


def test_the_model_reads_at_the_drawn_positions(small_corpus, reader) -> None:
    """By the loss at those positions, and by that at 0, 1, 2, ..., which is another."""
    model, objective = reader("v3"), RandomPositions(small_corpus, 16, 64)
    batch = objective.batch(4, draw(3))
    inputs, targets, time = batch
    with torch.inference_mode():
        logits = model(inputs, Positions(time))
        expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        in_a_row = cross_entropy(model(inputs), targets).mean()
        torch.testing.assert_close(objective.loss(model, batch), expected)
    assert abs(expected - in_a_row) > 1e-3


@pytest.mark.parametrize("version", ["nope", "v4"])
def test_a_range_of_one_window_is_the_next_token(small_corpus, reader, version: str) -> None:
    model, one = reader(version), RandomPositions(small_corpus, 16, 16)
    assert one.validate(model) == pytest.approx(NextToken(small_corpus, 16).validate(model), abs=1e-5)
    assert one.batch(2, draw(3))[2].tolist() == 2 * [list(range(16))]
    longer = RandomPositions(small_corpus, 16, 64)
    assert longer.validate(model) == longer.validate(model)  # the positions are drawn from a fixed seed


def test_a_range_shorter_than_the_window_is_refused(small_corpus) -> None:
    with pytest.raises(BadInput, match=r"longest \(15\) must be at least block_size \(16\)"):
        RandomPositions(small_corpus, 16, 15)
    with pytest.raises(BadInput, match=r"longest \(3\) must be at least 4"):
        draw_positions(1, 4, 3, draw())
