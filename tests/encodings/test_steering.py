"""Numbers set between two steps: the model equals one built with them, or nothing changes."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from babygpt import ModelConfig
from babygpt.encodings import Encoding, Fourier, LearnedPhase, LearnedPositions, PoPE, Rotary, gaussian
from babygpt.errors import BadInput
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions

SHAPE = ModelConfig(vocab_size=11, block_size=12, n_layer=2, n_head=2, n_embd=16)
C, D, H = SHAPE.n_embd, SHAPE.head_dim, SHAPE.n_head
ENCODED = [name for name, version in VERSIONS.items() if version.encoding]
NUMBERS = [(name, n) for name in ENCODED for n in VERSIONS[name].make_encoding(SHAPE).steerable()]
for kind in ("v4-yarn", "v4-dynamic"):  # they keep the window of training: test_rotary_variants
    NUMBERS.remove((kind, "factor"))
VALUES = {"theta": 50.0, "stride": 8, "alpha": 2.0, "steepness": 3.0, "factor": 4.0, "scale_base": 9.0}
VALUES["alpha1"] = 0.1
PAIRS = {  # numbers of a kernel, which is made from two weights and two widths
    "sigma1": {"sigmas": (0.7, 20.0)},
    "sigma2": {"sigmas": (5.0, 0.7)},
    "alpha1": {"alphas": (0.1, 0.3)},
    "alpha2": {"alphas": (0.7, 0.7)},
}
# The note's norm cancels alpha. The only pair that turns in partial RoPE here turns by 1, whatever theta is.
IDLE = {("v7-polar", "alpha"), ("v7-exact", "alpha"), ("v7-random", "alpha"), ("partial", "theta")}


def model(encoding: Encoding) -> Transformer:
    """Make a model whose logits depend on the encoding, with the same weights every time."""
    torch.manual_seed(0)
    transformer = Transformer(SHAPE, encoding)
    for name, p in sorted(transformer.named_parameters()):
        if not name.startswith("encoding."):
            torch.nn.init.normal_(p, std=0.5)
    return transformer


def logits(around: Transformer) -> Tensor:
    """Return the logits of two texts in two branches, with some MASK tokens: (B, T, V)."""
    ids = torch.arange(24).view(2, 12) * 7 % 11
    positions = Positions(torch.arange(12) // 2, torch.arange(12) % 2, ids % 5 == 0)
    with torch.inference_mode():
        return around(ids, positions)


def encoding_of(version: str, **options) -> Encoding:
    """Make an encoding whose parameters are random, and the same ones every time."""
    torch.manual_seed(1)
    encoding = VERSIONS[version].make_encoding(SHAPE, **options)
    for p in encoding.parameters():
        p.data += 0.1 * torch.randn(p.shape)
    return encoding


@pytest.mark.parametrize(("version", "name"), NUMBERS)
def test_a_steered_model_equals_one_built_with_that_number(version: str, name: str) -> None:
    value, options = VALUES.get(name, 0.7), VERSIONS[version].options()
    steered = model(encoding_of(version))
    if name in PAIRS:
        steered, expected = (model(VERSIONS[version].make_encoding(SHAPE, **o)) for o in ({}, PAIRS[name]))
    else:
        expected = model(encoding_of(version, **({name: value} if name in options else {})))
    if name not in {**options, **PAIRS}:
        torch.nn.init.constant_(getattr(expected.encoding, name), value)
    before = logits(steered)
    held = [(p, p.data_ptr()) for p in steered.parameters()]  # An optimizer holds parameters like this.
    first = torch.as_tensor(getattr(steered.encoding, name)).detach().clone()
    steered.encoding.steer(name, value)
    torch.testing.assert_close(logits(steered), logits(expected), rtol=0, atol=1e-5)
    change = (logits(steered) - before).abs().max()
    assert change < 1e-3 if (version, name) in IDLE else change > 1e-4
    for p, (parameter, address) in zip(steered.parameters(), held, strict=True):
        assert p is parameter
        assert p.data_ptr() == address
        assert (p.is_leaf, p.requires_grad) == (True, True)  # The parameter goes on learning.
    now = torch.as_tensor(getattr(steered.encoding, name)).detach().double()
    torch.testing.assert_close(now, torch.full_like(now, value), rtol=1e-6, atol=0)
    if first.dim() == 0:  # a parameter with many entries has lost them
        steered.encoding.steer(name, float(first))
        torch.testing.assert_close(logits(steered), before, rtol=0, atol=1e-6)


@pytest.mark.parametrize("options", [{"learnable": True, "max_positions": 512}, {"learnable": False}])
def test_tables_and_fixed_kernels_are_steered_too(options: dict) -> None:
    branches, kernel = partial(Fourier, D, C, **options), partial(gaussian, D, learnable=options["learnable"])
    for make, number, value, built in (
        (branches, "stride", 8, {"stride": 8}),
        (kernel, "sigma1", 9.5, {"sigmas": (9.5, 20.0)}),
    ):
        encoding = make()
        before = logits(model(encoding))
        encoding.steer(number, value)
        after = logits(model(encoding))
        torch.testing.assert_close(after, logits(model(make(**built))), rtol=0, atol=1e-5)
        assert (after - before).abs().max() > 1e-4


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
    (partial(Fourier, D, C), "stride", 1.5, "stride (1.5) must be a whole number"),
    (partial(Fourier, D, C), "stride", 0, "stride (0) must be at least 1"),
    (STRIDED, "stride", 400.0, "stride (400) must be below max_positions (400)"),
    (partial(STRIDED, learnable=True), "theta", 10.0, "theta made the table that is trained"),
    (partial(Fourier, D, C), "n_embd", 9.0, "no number called 'n_embd' to steer; it has stride, theta"),
    (partial(Rotary, D), "theta", math.nan, "theta (nan) must be a finite number"),
    (partial(Rotary, D), "embed", 1.0, "no number called 'embed'"),
    (partial(gaussian, D), "sigma1", 0.0, "sigma1 (0.0) must be above 0"),
    (partial(gaussian, D, learnable=False), "alpha2", -1.0, "alpha2 (-1.0) must be above 0"),
    (partial(LearnedPhase, H, D), "theta", -1.0, "theta (-1.0) must be above 0"),
    (partial(PoPE, H, D), "alpha", 1.0, "PoPE has no number called 'alpha' to steer; it has delta, theta"),
    (Encoding, "theta", 1.0, "Encoding has no number called 'theta' to steer; it has none"),
    (partial(LearnedPositions, 9, C), "table", math.inf, "table (inf) must be a finite number"),
]


@pytest.mark.parametrize(("make", "name", "value", "message"), REFUSED)
def test_a_refused_number_changes_nothing(make, name: str, value: float, message: str) -> None:
    encoding = make()
    before = {number: torch.as_tensor(getattr(encoding, number)).clone() for number in encoding.steerable()}
    for refuse in (encoding.require_steerable, encoding.steer):
        with pytest.raises(BadInput) as refusal:
            refuse(name, value)
        assert message in str(refusal.value)
    for number, was in before.items():
        assert torch.equal(torch.as_tensor(getattr(encoding, number)), was)
