"""Codes that are what their formulas say, and codes that are not."""

import pytest
import torch

from babygpt import invariants
from babygpt.encodings import Fourier, Sinusoidal


def test_the_sinusoid_keeps_its_promises():
    assert invariants.table_equals_closed_form(Sinusoidal(16)).holds
    assert invariants.shift_is_rotation(16, shift=5).holds


def test_a_wrong_table_is_found_out():
    class Halved(Sinusoidal):
        def embed(self, x, positions):
            return x + (super().embed(x, positions) - x) / 2

    assert not invariants.table_equals_closed_form(Halved(16)).holds


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"theta": 30.0}, {"band": 4}, {"learnable": True}])
def test_the_branch_code_keeps_its_promise(options):
    assert invariants.branch_code_equals_closed_form(Fourier(8, 16, **options)).holds


def test_a_wrong_branch_code_is_found_out():
    class Shifted(Fourier):
        def code(self, branch):
            return super().code(branch + 1)

    assert not invariants.branch_code_equals_closed_form(Shifted(8, 16)).holds
    trained = Fourier(8, 16, learnable=True)
    with torch.no_grad():
        trained.table[128, 3] += 0.1
    assert not invariants.branch_code_equals_closed_form(trained).holds
