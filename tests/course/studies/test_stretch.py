"""Study of longer texts: models that fine-tuning leaves alone, rivals with fair settings, verdicts."""

import copy
import math

import pytest
import torch

from babygpt import ModelConfig
from babygpt.encodings import Encoding, Interpolated, NTKAware, Rotary, YaRN
from babygpt.experiments.sweep import StudySize
from babygpt.positions import Positions
from babygpt_course.studies import stretch
from babygpt_course.studies.stretch import BLOCK, FACTOR, FEW_TURNS, TUNED, AdjustedYaRN

TINY = StudySize(steps=2, seeds=(1, 2), n_chars=6000, n_questions=8)
SHAPE = ModelConfig(64, BLOCK, n_layer=1, n_head=4, n_embd=96)


def test_fine_tuning_leaves_the_trained_model_alone() -> None:
    model = stretch.trained_arm("v4", TINY, seed=1)
    before = copy.deepcopy(model.state_dict())
    kinds = {"control": Rotary, "interpolation": Interpolated, "ntk": NTKAware, "drop": Encoding}
    for method, kind in kinds.items():
        tuned = stretch.fine_tune(model, method, TINY, seed=1)
        assert type(tuned.encoding) is kind
        assert any(not torch.equal(x, y) for x, y in zip(tuned.parameters(), model.parameters(), strict=True))
    assert type(model.encoding) is Rotary
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())


def test_dropped_encodings_and_controls_train_at_the_old_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train everything else at the new length, with as many characters a step."""
    sizes = {}

    def spy(steps, total, title):
        sizes[title.removesuffix(", fine-tuned")] = steps

    model = stretch.trained_arm("v4", TINY, seed=1)
    monkeypatch.setattr(stretch, "train", lambda _, objective, how: (objective.block_size, how.batch_size))
    monkeypatch.setattr(stretch, "finish", spy)
    for method in TUNED:
        stretch.fine_tune(model, method, TINY, seed=1)
    assert {method for method, (size, _) in sizes.items() if size == BLOCK} == {"control", "drop"}
    assert {size * rows for size, rows in sizes.values()} == {12 * BLOCK}
    assert {size for size, _ in sizes.values()} == {BLOCK, FACTOR * BLOCK}


# ---------------------------------------------------------------- rivals


def adjusted(most_turns: float, sharper: bool) -> AdjustedYaRN:
    return AdjustedYaRN(Rotary(24), FACTOR * BLOCK, FACTOR, most_turns, sharper)


def test_an_adjusted_yarn_changes_the_ramp_or_the_temperature_alone() -> None:
    yarn, positions = YaRN(24, FACTOR * BLOCK, FACTOR), Positions.arange(7)
    q, k = torch.randn(2, 1, 1, 7, 24, generator=torch.Generator().manual_seed(0))
    for own, like in (
        (adjusted(32.0, True), yarn),
        (adjusted(32.0, False), yarn),
        (adjusted(0, True), Rotary(24)),
    ):
        torch.testing.assert_close(own.frequencies(), like.frequencies())
        norms = (own.transform_qk(q, k, positions)[0].norm(dim=-1) / q.norm(dim=-1)).flatten()
        torch.testing.assert_close(norms, torch.full([7], 1 + 0.1 * math.log(FACTOR) if own.sharper else 1.0))


def test_with_two_turns_the_pairs_that_turn_twice_in_a_window_stay() -> None:
    plain = Rotary(24).frequencies()
    slower = plain / adjusted(FEW_TURNS, True).frequencies()
    turns = BLOCK * plain / (2 * math.pi)
    assert (slower[turns >= FEW_TURNS] == 1).all()
    torch.testing.assert_close(slower[turns < 0.9], torch.full_like(slower[turns < 0.9], FACTOR))
    twice = stretch.stretch_untuned(stretch.trained_arm("v4", TINY, seed=1), stretch.TWICE)
    assert twice.encoding.factor == 2 * FACTOR


def test_published_initial_values_are_drawn_again_for_each_seed() -> None:
    drawn = []
    for seed in range(200):
        torch.manual_seed(seed)
        kernel, t5 = stretch.public_kerple(SHAPE).encoding, stretch.public_t5(SHAPE).encoding
        drawn.append((kernel.log_r1.exp(), kernel.log_r2.exp(), t5.table.flatten()))
    r1, r2, table = (torch.stack(part).detach() for part in zip(*drawn, strict=True))
    assert 0.01 <= r1.min() < 0.1 < 1.9 < r1.max() <= 2
    assert 0.01 <= r2.min() < 0.05 < 0.95 < r2.max() <= 1
    assert float(table.std()) == pytest.approx(96**-0.5, rel=0.05)


# ---------------------------------------------------------------- verdicts

STEADY = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5] * 2


@pytest.mark.parametrize(
    ("number", "by", "verdict"),
    [
        ("loss", [0.1, 0.12, 0.1, 0.11, 0.1, 0.12], "holds"),
        ("loss", [0.1, -0.12, 0.1, 0.11, 0.1, 0.12], "undecided"),
        ("loss", [-0.1, -0.12, -0.1, -0.11, -0.1, -0.12], "fails"),
        ("loss", [0.01, 0.012, 0.01, 0.011, 0.01, 0.012], "fails"),  # an effect that does not count
        ("last 4", [0.1, 0.12, 0.1, 0.11, 0.1, 0.12], "holds"),
        ("last 4", [0.03, 0.04, 0.03, 0.03, 0.03, 0.04], "fails"),
        ("last 4 near the ceiling", [0.1, 0.12, 0.1, 0.11, 0.1, 0.12], "no room"),
    ],
)
def test_a_statement_is_decided_by_the_rule(number: str, by: list[float], verdict: str) -> None:
    number, _, ceiling = number.partition(" near ")
    statement = stretch.Statement("", "", "", "", ("low", number), ("high", number))
    lower = [x / 2 + (0.25 if ceiling else 0) for x in STEADY]  # 0.5 to 0.75, or 0.75 to 1
    runs = {
        "low": [{number: x, "last 1": 1.0} for x in lower],
        "high": [{number: x + more, "last 1": 1.0} for x, more in zip(lower, 2 * by, strict=True)],
    }
    assert stretch.verdict({"runs": runs}, statement) == verdict


def test_a_statement_about_recall_is_open_unless_most_seeds_learned_the_same_task() -> None:
    statement = stretch.Statement("", "", "", "", ("low", "last 4"), ("high", "last 4"))
    for count, verdict in ((6, "open"), (7, "holds")):
        within = [1.0] * count + [0.4] * (12 - count)
        low = [{"last 4": 0.1 + i / 100, "last 1": share} for i, share in enumerate(within)]
        high = [{**run, "last 4": run["last 4"] + 0.4 + i / 1000} for i, run in enumerate(low)]
        assert stretch.verdict({"runs": {"low": low, "high": high}}, statement) == verdict


def test_losses_are_compared_with_the_models_own_window_or_v4s() -> None:
    runs = {"v4": [{"inside 4": 1.0, "past 4": 1.5}], "t5": [{"inside 4": 1.25, "past 4": 1.75}]}
    for run, number, expected in (("t5", "own 4", 0.5), ("t5", "cost 4", 0.75), ("none", "cost 4", 0.5)):
        assert stretch.values({"runs": runs}, run, number) == [expected]
