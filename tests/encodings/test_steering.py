"""Numbers set between two steps: the model equals one built with them, or nothing changes."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from babygpt import ModelConfig
from babygpt.encodings import ALiBi, Encoding, Fourier, LearnedPositions, LogKernel, Polar, PoPE, Sinusoidal
from babygpt.encodings.gaussian import gaussian
from babygpt.encodings.polar import ExactPhase, GatesLast, KeysOnly, LearnedPhase, Quadrature, RandomPhase
from babygpt.encodings.rotary import Rotary, Rotary2D
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions

SHAPE = ModelConfig(vocab_size=11, block_size=12, n_layer=2, n_head=2, n_embd=16)
C, D, H = SHAPE.n_embd, SHAPE.head_dim, SHAPE.n_head
Make = Callable[..., Encoding]

# an encoding, one of its numbers, a value, and the argument that makes it so; None where no argument does
NUMBERS: list[tuple[Make, str, float, dict | None]] = [
    (partial(ALiBi, H), "steepness", 3.0, {"steepness": 3.0}),
    *((make, "theta", 50.0, {"theta": 50.0}) for make in (partial(Sinusoidal, C), partial(Fourier, D, C))),
    *((partial(kind, D), "theta", 50.0, {"theta": 50.0}) for kind in (Rotary, Rotary2D, gaussian)),
    *((partial(kind, H, D), "theta", 50.0, {"theta": 50.0}) for kind in (LearnedPhase, PoPE)),
    (partial(Fourier, D, C), "stride", 8.0, {"stride": 8}),
    (partial(Fourier, D, C, max_positions=512, learnable=True), "stride", 8, {"stride": 8}),
    (partial(Rotary2D, D), "stride", 7.5, {"stride": 7.5}),
    *((partial(gate, D), "alpha", 2.0, {"alpha": 2.0}) for gate in (GatesLast, KeysOnly, Quadrature)),
    *((partial(gate, D), "phi", 0.7, None) for gate in (ExactPhase, RandomPhase, GatesLast, KeysOnly)),
    (partial(LearnedPhase, H, D), "alpha", 2.0, {"alpha": 2.0}),
    *((partial(kind, H, D), "delta", -0.7, None) for kind in (LearnedPhase, PoPE)),
    (partial(LearnedPositions, 12, C), "table", 0.5, None),
    *((partial(LogKernel, H), name, 0.7, None) for name in ("log_r1", "log_r2")),
    *(
        (partial(gaussian, D, kernel, learnable=learnable), *number)
        for kernel, learnable in (("relative", True), ("absolute", False))
        for number in (
            ("sigma1", 2.0, {"sigmas": (2.0, 20.0)}),
            ("sigma2", 3.0, {"sigmas": (5.0, 3.0)}),
            ("alpha1", 0.1, {"alphas": (0.1, 0.3)}),
            ("alpha2", 1.5, {"alphas": (0.7, 1.5)}),
        )
    ),
]


def model(encoding: Encoding) -> Transformer:
    """Make a model whose logits depend on the encoding, with the same weights every time."""
    torch.manual_seed(0)
    made = Transformer(SHAPE, encoding)
    for name, p in sorted(made.named_parameters()):
        if not name.startswith("encoding."):
            torch.nn.init.normal_(p, std=0.5)
    return made


def logits(around: Transformer) -> Tensor:
    """Return the logits of two texts in two branches, with some MASK tokens: (B, T, V)."""
    ids = torch.arange(24).view(2, 12) * 7 % 11
    positions = Positions(torch.arange(12) // 2, torch.arange(12) % 2, ids % 5 == 0)
    with torch.inference_mode():
        return around(ids, positions)


@pytest.mark.parametrize(("make", "name", "value", "argument"), NUMBERS)
def test_a_steered_model_equals_one_built_with_that_number(
    make: Make, name: str, value: float, argument: dict | None
) -> None:
    torch.manual_seed(1)  # so that random phases and tables are the same
    steered = model(make())
    torch.manual_seed(1)
    expected = make(**(argument or {}))
    if argument is None:
        torch.nn.init.constant_(getattr(expected, name), value)
    before = logits(steered)
    held = [(p, p.data_ptr()) for p in steered.parameters()]  # as an optimizer holds them
    first = torch.as_tensor(getattr(steered.encoding, name)).detach().clone()
    steered.encoding.steer(name, value)
    torch.testing.assert_close(logits(steered), logits(model(expected)), rtol=0, atol=1e-5)
    assert (logits(steered) - before).abs().max() > 1e-3
    for p, (one, address) in zip(steered.parameters(), held, strict=True):
        assert p is one
        assert p.data_ptr() == address
        assert (p.is_leaf, p.requires_grad) == (True, True)  # and goes on learning
    now = torch.as_tensor(getattr(steered.encoding, name)).detach().double()
    torch.testing.assert_close(now, torch.full_like(now, value), rtol=1e-6, atol=0)
    if first.dim() == 0:  # a parameter with many entries has lost them
        steered.encoding.steer(name, float(first))
        torch.testing.assert_close(logits(steered), before, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["alpha", "phi"])
def test_the_notes_norm_cancels_a_steered_number(name: str) -> None:
    """Include a phase, if all dimensions have the same: it is one factor for all channels."""
    steered = model(Polar(D))
    before = logits(steered)
    steered.encoding.steer(name, 0.7)
    torch.testing.assert_close(logits(steered), before, rtol=0, atol=1e-3)


@pytest.mark.parametrize("value", [8, 8.0, np.int64(8), np.float64(8), np.float32(8)])
def test_a_stride_stays_a_whole_number_for_every_type_of_a_slider(value: float) -> None:
    encoding = Fourier(D, C)
    encoding.require_steerable("stride", value)
    assert encoding.stride == 128  # nothing was set yet
    encoding.steer("stride", value)
    assert encoding.stride == 8
    assert type(encoding.stride) is int


STRIDED = partial(Fourier, D, C, max_positions=400, stride=100)
REFUSED = [
    (partial(Fourier, D, C), "stride", 1.5, r"stride \(1.5\) must be a whole number"),
    (partial(Fourier, D, C), "stride", 0, r"stride \(0\) must be at least 1"),
    (partial(Fourier, D, C), "stride", math.nan, r"stride \(nan\) must be a finite number"),
    (STRIDED, "stride", 400.0, r"stride \(400\) must be below .* \(400\)"),
    (partial(STRIDED, learnable=True), "theta", 10.0, "theta made the table that is trained"),
    (partial(Fourier, D, C), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (partial(Fourier, D, C), "max_positions", 9.0, "Fourier has no number called 'max_positions'"),
    (partial(Fourier, D, C), "n_embd", 9.0, "it has stride, theta"),
    *((partial(Rotary, D), "theta", x, r"theta \(-?inf\) must be a finite") for x in (math.inf, -math.inf)),
    (partial(Rotary, D), "theta", -10.0, r"theta \(-10.0\) must be above 0"),
    *((partial(Rotary, D), name, 1.0, f"no number called '{name}'") for name in ("embed", "training", "")),
    (partial(Rotary2D, D), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (partial(Sinusoidal, C), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (partial(Sinusoidal, C), "n_embd", 1.0, "Sinusoidal has no number called 'n_embd'"),
    (partial(gaussian, D), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (partial(gaussian, D), "sigma1", 0.0, r"sigma1 \(0.0\) must be above 0"),
    (partial(gaussian, D), "sigma2", math.inf, r"sigma2 \(inf\) must be"),
    (partial(gaussian, D, learnable=False), "alpha2", -1.0, r"alpha2 \(-1.0\) must be above 0"),
    (partial(gaussian, D), "kernel", 1.0, "it has alpha1, alpha2, log_alphas, log_sigmas, sigma1"),
    (partial(LearnedPhase, H, D), "theta", -1.0, r"theta \(-1.0\) must be above 0"),
    (partial(LearnedPhase, H, D), "delta", math.nan, r"delta \(nan\) must be a finite number"),
    (partial(PoPE, H, D), "alpha", 1.0, "PoPE has no number called 'alpha' to steer; it has delta, theta"),
    (Encoding, "theta", 1.0, "Encoding has no number called 'theta' to steer; it has none"),
    (partial(LearnedPositions, 9, C), "max_positions", 1.0, "it has table"),
    (partial(LearnedPositions, 9, C), "table", math.nan, r"table \(nan\) must be a finite number"),
]


@pytest.mark.parametrize(("make", "name", "value", "message"), REFUSED)
def test_a_refused_number_changes_nothing(make: Make, name: str, value: float, message: str) -> None:
    encoding = make()
    before = {number: torch.as_tensor(getattr(encoding, number)).clone() for number in encoding.steerable()}
    for refuse in (encoding.require_steerable, encoding.steer):
        with pytest.raises(ValueError, match=message):
            refuse(name, value)
    for number, was in before.items():
        assert torch.equal(torch.as_tensor(getattr(encoding, number)), was)
