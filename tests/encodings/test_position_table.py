"""Rotations that are kept from step to step are those of the encoding as it is now."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from babygpt.encodings import Interpolated, PartialRotary, Rotary
from babygpt.encodings.position_table import BLOCK
from babygpt.encodings.rotary import rotate
from babygpt.positions import Positions

D = 8


def rotated(encoding: Rotary, positions: Positions) -> torch.Tensor:
    ones = torch.ones(1, 1, len(positions), D)
    return encoding.transform_qk(ones, ones, positions)[1]


@pytest.mark.parametrize("first", [0, 5, BLOCK - 3, 10 * BLOCK, -7])
def test_positions_in_a_row_turn_as_each_does_alone(first: int) -> None:
    encoding = Rotary(D)
    rotated(encoding, Positions.arange(4))  # another block is there before
    for n in (1, 6, BLOCK + 9):
        row = Positions.arange(n, first)
        expected = rotate(torch.ones(1, 1, n, D), torch.arange(first, first + n))
        torch.testing.assert_close(rotated(encoding, row), expected, rtol=0, atol=1e-6)


class Speeds(Rotary):
    """RoPE whose frequencies are a tensor, which may be trained."""

    def __init__(self, trained: bool = True) -> None:
        super().__init__(D)
        speeds = torch.ones(D // 2, dtype=torch.float64)
        self.speeds = nn.Parameter(speeds) if trained else nn.Buffer(speeds)

    def frequencies(self) -> torch.Tensor:
        return self.speeds


CHANGES: dict[str, tuple[Callable[[], Rotary], Callable[[Rotary], object]]] = {
    "steered": (lambda: Rotary(D), lambda e: e.steer("theta", 10.0)),
    "an attribute": (lambda: Rotary(D), lambda e: setattr(e, "theta", 10.0)),
    "a factor": (lambda: Interpolated(D), lambda e: e.steer("factor", 3.0)),
    "a number of its own": (lambda: PartialRotary(D, 1.0), lambda e: setattr(e, "turning", 1)),
    "a tensor in place": (lambda: Speeds(trained=False), lambda e: e.speeds.fill_(2.0)),
    "another tensor": (lambda: Speeds(trained=False), lambda e: setattr(e, "speeds", 2 * e.speeds)),
    "a trained tensor": (Speeds, lambda e: nn.init.constant_(e.speeds, 2.0)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("reading", [torch.inference_mode, torch.enable_grad])
def test_a_changed_encoding_turns_by_its_new_numbers(change: str, reading: Callable) -> None:
    make, changed = CHANGES[change]
    encoding, row = make(), Positions.arange(9)
    with reading():
        before = rotated(encoding, row)
    changed(encoding)
    with reading():
        after = rotated(encoding, row)
    assert not torch.allclose(after, before)
    assert torch.allclose(after, rotated(encoding, Positions(row.time)))


def test_what_is_kept_while_writing_serves_a_training_step() -> None:
    for encoding in (Rotary(D), Speeds()):
        with torch.inference_mode():
            rotated(encoding, Positions.arange(3))
        x = torch.ones(1, 1, 3, D, requires_grad=True)
        encoding.transform_qk(x, x, Positions.arange(3))[0].square().sum().backward()
        assert x.grad is not None
        assert all(p.grad is not None for p in encoding.parameters())


def test_another_time_is_not_taken_for_the_row_that_it_replaces() -> None:
    encoding, row = Rotary(D), Positions.arange(5)
    far = replace(row, time=row.time + 100)
    assert torch.equal(rotated(encoding, far), rotated(encoding, Positions(row.time + 100)))
