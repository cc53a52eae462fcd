"""Repairs of the gate: fixed phases stay where they are, and each comparison is between arms that are run."""

import math

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt_course.studies import polar_repairs


@pytest.mark.parametrize("arm", polar_repairs.SIGNS)
def test_a_fixed_phase_does_not_learn(arm):
    """Give all heads phases of one sign, or two heads of each sign."""
    config = ModelConfig(9, 16, n_layer=1, n_head=4, n_embd=32)
    model = polar_repairs.fixed_phases(config, polar_repairs.SIGNS[arm])
    delta = model.encoding.delta
    assert not delta.requires_grad
    assert (delta.abs() == math.pi / 4).all()
    leaning = torch.sign(delta[:, 0]).tolist()
    assert leaning == ([1.0] * 4 if arm == "one side" else [1.0, 1.0, -1.0, -1.0])


def test_every_comparison_is_between_arms_that_are_run():
    arms = {arm for pair in polar_repairs.COMPARED for arm in pair}
    assert arms | {"v7-nope"} == set(polar_repairs.LABELS)


def test_arms_that_are_left_out_are_left_out_of_the_comparisons():
    def selected_runs(runs):
        return in_turn({name: run for name, run in runs.items() if "side" in name or "'v7-quad" in name})

    results = polar_repairs.measure_polar(selected_runs, StudySize(steps=2, seeds=(1,), n_chars=9_000))
    assert list(results["val_loss"]) == ["v7-quadrature", "one side", "both sides"]
    assert list(polar_repairs.gaps(results)) == [(arm, "v7-quadrature") for arm in polar_repairs.SIGNS]
