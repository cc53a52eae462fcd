"""The board: every version trained and measured, compared in pairs, and never across two kinds of numbers."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.experiments import ladder
from babygpt.experiments.ladder import (
    RUNGS,
    Rung,
    SingleBranch,
    markdown_table,
    of_kind,
    paired_differences,
    table_row,
)
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions

SMALL = (
    Rung("v1", "v1"),
    Rung("v2", "v2"),
    Rung("v4", "v4"),
    Rung("v6", "v6", {"stride": 8}),
    Rung("v7", "v7"),
)


@pytest.fixture(scope="module")
def results():
    found = ladder.measure_ladder(SMALL, seeds=(1, 2), steps=2, n_chars=40_000, n_questions=4)
    return {"command": "the command", "minutes": 1.0, **found}


def test_every_seed_of_every_model_is_on_the_board(results):
    assert list(results["board"]) == [rung.name for rung in SMALL]
    for found in results["board"].values():
        assert all(len(found[key]) == 2 for key in ("1x", "2x", "4x", "roles"))
        assert found["speed"] > 0
    assert results["board"]["v4"]["speed"] == 1.0


def test_a_table_refuses_windows_that_it_does_not_know(results):
    assert results["board"]["v2"]["2x"] == [None, None]
    assert "refuses" in table_row(results, "v2")
    with pytest.raises(ValueError, match="refuses such a length"):
        paired_differences(results, "v2", "v4", "4x")


def test_parameters_are_counted(results):
    config = ModelConfig(27, 64, n_layer=2, n_head=4, n_embd=96)  # 27 characters in the plain tales
    for rung in SMALL[:3]:
        parameters = sum(p.numel() for p in build(rung.version, config).parameters())
        assert results["board"][rung.name]["parameters"] == parameters


def test_pairs_are_subtracted_seed_by_seed(results):
    ours, theirs = (results["board"][name]["1x"] for name in ("v1", "v4"))
    assert paired_differences(results, "v1", "v4") == [a - b for a, b in zip(ours, theirs, strict=True)]
    assert paired_differences(results, "v4", "v4") == [0.0, 0.0]


def test_a_bound_and_a_loss_are_not_subtracted(results):
    with pytest.raises(ValueError, match="a bound and a loss"):
        paired_differences(results, "v7", "v4")
    assert len(paired_differences(results, "v7", "v4", "roles")) == 2


def test_kinds_share_the_models_out(results):
    assert list(of_kind(results, masks=True)) == ["v7"]
    assert {*of_kind(results, masks=False), "v7"} == set(results["board"])


def test_the_table_names_command_and_every_model_and_marks_bounds(results):
    lines = markdown_table(results).splitlines()
    assert "the command" in lines[0]
    assert [line.split()[1] for line in lines[4:]] == [rung.name for rung in SMALL]
    assert ["≤" in line for line in lines[4:]] == [VERSIONS[rung.version].masks for rung in SMALL]


def test_a_model_of_branches_reads_one_text_as_branch_0(awake, text):
    model, idx = awake("v6"), text(1, 8)
    told = model(idx, Positions(torch.arange(8), torch.zeros(8, dtype=torch.long)))
    assert torch.equal(SingleBranch(model)(idx), told)


def test_the_whole_ladder_is_on_the_real_board():
    assert {f"v{i}" for i in range(1, 8)} <= {rung.name for rung in RUNGS}
    assert len({rung.name for rung in RUNGS}) == len(RUNGS)
