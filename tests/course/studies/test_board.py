"""The board: every version measured, compared in pairs, and never across two kinds of numbers."""

from pathlib import Path

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions
from babygpt_course.studies import board
from babygpt_course.studies.board import COLUMNS, Rung, SingleBranch, paired_differences, table, table_row

ROOT = Path(__file__).resolve().parents[3]

SMALL = (*(Rung(version, version) for version in ("v1", "v2", "v4", "v7")), Rung("v6", "v6", {"stride": 8}))


@pytest.fixture(scope="module")
def results():
    scale = StudySize(2, (1, 2), 9_000, 4)
    measurements = board.measure_ladder(in_turn, scale, rungs=SMALL, floor_windows=3, rounds=1)
    return {"command": "the command", "minutes": 1.0, **measurements}


def losses(**models):
    """Return a board of models from left to right with these losses."""
    return {"board": {name: {"masks": False, "1x": seeds} for name, seeds in models.items()}}


# ---------------------------------------------------------------- measurements


def test_every_seed_of_every_model_is_on_the_board(results):
    assert list(results["board"]) == [rung.name for rung in SMALL]
    for rung, scores in zip(SMALL, results["board"].values(), strict=True):
        assert all(len(scores[key]) == 2 for key in ("1x", "2x", "4x", "past", "roles", "whole"))
        config = ModelConfig(28 if scores["masks"] else 27, 64, n_layer=2, n_head=4, n_embd=96)
        model = build(rung.version, config, **rung.options)
        assert scores["parameters"] == sum(p.numel() for p in model.parameters())
        assert scores["speed"] > 0
    assert results["board"]["v4"]["speed"] == 1.0


def test_a_measurement_that_a_model_does_not_allow_is_left_out(results):
    assert results["board"]["v1"]["past"] == [0.0, 0.0]  # it sees one token, and no window
    assert results["board"]["v7"]["past"] == results["board"]["v7"]["whole"] == [None, None]
    assert results["board"]["v2"]["2x"] == results["board"]["v2"]["past"] == [None, None]
    assert table_row(results, "v2").count("refuses") == 3
    with pytest.raises(BadInput):
        paired_differences(results, "v2", "v4", "4x")


def test_a_model_of_branches_reads_one_text_as_branch_0(awake, text):
    model, idx = awake("v6"), text(1, 8)
    logits = model(idx, Positions(torch.arange(8), torch.zeros(8, dtype=torch.long)))
    assert torch.equal(SingleBranch(model)(idx), logits)


# ---------------------------------------------------------------- titles and tables


def test_a_bound_and_a_loss_are_not_subtracted(results):
    with pytest.raises(BadInput):
        paired_differences(results, "v7", "v4")
    assert len(paired_differences(results, "v7", "v4", "roles")) == 2


def test_no_model_is_decidedly_below_one_on_the_front():
    close, far = 2 * [1.00, 1.01, 0.99, 1.00, 1.02, 1.01], 2 * [1.20, 1.21, 1.19, 1.22, 1.20, 1.21]
    stored = losses(a=close, b=[x + 0.01 * (-1) ** i for i, x in enumerate(close)], c=far)
    assert board.against(stored, "a") == {"b": "undecided", "c": "above"}
    assert board.front(stored, masks=False) == ["a", "b"]
    assert board.front_title(stored, masks=False) == "The lowest loss, 1.005, is undecided among 2"
    assert board.front_title(losses(a=close, c=far), masks=False) == "a has the lowest loss, 1.005"


@pytest.mark.parametrize(
    ("roles", "title"),
    [
        ({"a": [0.95, 0.97], "b": [0.5, 0.95]}, "a answers from every seed, 1 more from some"),
        ({"a": [0.52, 0.5], "b": [0.5, 0.6]}, "No run answers who did it: 60% at best"),
        ({"a": [0.5, 0.95]}, "No model answers from every seed, 1 more from some"),
    ],
)
def test_the_title_counts_models_that_answer_in_all_or_some_seeds(roles, title):
    assert board.who_answers(roles) == title


def test_the_table_names_command_and_every_model_and_marks_bounds(results):
    lines = table(results).splitlines()
    assert "the command" in lines[0]
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == list(COLUMNS)
    assert [line.split()[1] for line in lines[4:]] == [rung.name for rung in SMALL]
    assert ["≤" in line for line in lines[4:]] == [VERSIONS[rung.version].masks for rung in SMALL]
