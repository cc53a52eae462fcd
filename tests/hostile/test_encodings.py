"""Encodings at positions and numbers that nobody should ask for: finite, or refused by name."""

import math
from functools import partial

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from babygpt import encodings
from babygpt.config import ModelConfig
from babygpt.encodings import (
    ALiBi,
    Encoding,
    Fourier,
    LearnedBranches,
    LearnedPositions,
    RandomBranches,
    Rotary,
    Rotary2D,
    Sinusoidal,
    gaussian,
)
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.positions import Positions

HEADS, WIDTH = {"head_dim": 8}, {"n_embd": 16}
BOTH = HEADS | WIDTH
GATES = ("Polar", "ExactPhase", "RandomPhase", "GatesLast", "KeysOnly", "Quadrature")
KERNELS = ("T5Bias", "LogKernel", "PowerKernel", "FIRE")
MAKE = {
    "NoPE": Encoding,
    "ALiBi": partial(ALiBi, n_head=2),
    "Sinusoidal": partial(Sinusoidal, **WIDTH),
    "LearnedPositions": partial(LearnedPositions, max_positions=32, **WIDTH),
    "Rotary": partial(Rotary, **HEADS),
    "Rotary2D": partial(Rotary2D, **HEADS),
    "Fourier": partial(Fourier, **BOTH),
    "Fourier, trained": partial(Fourier, learnable=True, max_positions=400, **BOTH),
    "LearnedBranches": partial(LearnedBranches, **BOTH),
    "RandomBranches": partial(RandomBranches, **BOTH),
    "Gaussian, relative": partial(gaussian, kernel="relative", **HEADS),
    "Gaussian, absolute": partial(gaussian, kernel="absolute", **HEADS),
    **{name: partial(getattr(encodings, name), **HEADS) for name in GATES},
    "LearnedPhase": partial(encodings.LearnedPhase, n_head=2, **HEADS),
    "PoPE": partial(encodings.PoPE, n_head=2, **HEADS),
    **{name: partial(getattr(encodings, name), n_head=2) for name in KERNELS},
}
NUMBERS = {
    "ALiBi": ["steepness"],
    "Sinusoidal": ["theta"],
    "LearnedPositions": ["max_positions"],
    "Rotary": ["theta"],
    "Rotary2D": ["theta", "stride", "branch_share"],
    "Fourier": ["theta", "stride", "max_positions"],
    "LearnedBranches": ["max_branches"],
    "RandomBranches": ["max_branches"],
    "Gaussian, relative": ["theta"],
    "Gaussian, absolute": ["theta"],
    **{name: ["theta", "alpha"] for name in (*GATES, "LearnedPhase")},
    "PoPE": ["theta"],
    "T5Bias": ["n_buckets", "furthest"],
    "FIRE": ["width", "threshold"],
}
WILD = [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e308, -1e308, 1e39, 1e300, 1e-320]
FAR = [2**31, 2**53, 2**62, 2**63 - 3, -1, -(2**31), -(2**63)]
EMPTY = {"no token": (1, 0), "no text": (0, 3)}


def answers(encoding, time, branch=None, size=1):
    """All that a model asks an encoding, of tokens at these times."""
    branch = torch.zeros_like(time) if branch is None else branch
    positions = Positions(time, branch, torch.zeros(size, len(time), dtype=torch.bool))
    x, q = torch.ones(size, len(time), 16), torch.ones(size, 2, len(time), 8)
    bias = encoding.score_bias(positions, positions)
    return [
        encoding.embed(x, positions),
        *encoding.transform_qk(q, q, positions),
        *([] if bias is None else [bias]),
    ]


def finite_or_refused(ask, *named):
    """It is answered in finite numbers, or by a ValueError that names one of these."""
    refusal, found = "", []
    try:
        found = ask()
    except BadInput as error:
        refusal = str(error)
    assert any(name in refusal for name in named) if refusal else found
    assert all(part.isfinite().all() for part in found)


def moderate(encoding):
    return answers(encoding, torch.arange(3), torch.tensor([0, 0, 1]))


@pytest.mark.survives(
    "a theta, sigma, alpha or stride that is negative, infinite, far too large, or no number",
    "it is refused by its name, or all that follows is finite",
)
@pytest.mark.parametrize(("name", "number"), [(name, n) for name, of in NUMBERS.items() for n in of])
def test_numbers_that_make_no_encoding_are_named(name, number):
    for value in WILD:
        finite_or_refused(lambda value=value: moderate(MAKE[name](**{number: value})), number, "position")


@pytest.mark.survives(
    "a slider that steers a model to nan or beyond all bounds", "the value is refused by its name"
)
@pytest.mark.parametrize("name", [name for name, of in NUMBERS.items() if name != "LearnedPositions"])
def test_steering_to_what_is_no_number_is_refused(name):
    for number in ("theta", "alpha", "stride", "steepness"):
        encoding = MAKE[name]()
        if not isinstance(getattr(encoding, number, None), float):
            continue
        for value in (math.nan, math.inf, -math.inf, 1e308, -1e39):
            before = getattr(encoding, number)
            with pytest.raises(ValueError, match=number):
                encoding.steer(number, value)
            assert getattr(encoding, number) == before


@pytest.mark.parametrize("kernel", ["relative", "absolute"])
@pytest.mark.parametrize("learnable", [True, False])
def test_weights_and_widths_that_make_no_kernel_are_named(kernel, learnable):
    for pair in ([value, 1.0] for value in WILD):
        make = partial(gaussian, 8, kernel, learnable=learnable)
        finite_or_refused(lambda make=make, pair=pair: moderate(make(alphas=pair)), "alpha")
        if pair[0] != math.inf:  # a kernel that never falls; K is finite, its logarithm's width is not
            finite_or_refused(lambda make=make, pair=pair: moderate(make(sigmas=pair)), "sigma")
    encoding = gaussian(8, kernel)
    for number in ("alpha1", "sigma1", "sigma2"):
        for value in WILD:
            finite_or_refused(lambda n=number, v=value: encoding.steer(n, v) or moderate(encoding), number)


@pytest.mark.survives(
    "positions at 2^31, 2^53, below 0, or at the end of what can be counted",
    "the encoding is finite there too, or refuses the position by its number",
)
@pytest.mark.parametrize("name", MAKE)
def test_far_positions_and_branches(name):
    encoding = MAKE[name]()
    for start in FAR:
        there = torch.arange(3) + min(start, 2**63 - 4)
        finite_or_refused(lambda there=there: answers(encoding, there), "position")
        finite_or_refused(lambda there=there: answers(encoding, torch.arange(3), there), "position")


@given(st.integers(1, 2**62), st.integers(1, 2**62))
@example(2**62, 4)  # their product is 2^64, which 64 bits hold as 0: the code of branch 0
def test_a_stride_that_overflows_never_gives_a_branch_the_code_of_another(stride, branch):
    encoding = Fourier(**BOTH, stride=stride)
    asked = torch.tensor([0, branch])
    if stride * branch < encoding.table_rows:
        assert len(encoding.code(asked)) == 2
    else:
        with pytest.raises(ValueError, match=f"position {stride * branch} "):
            encoding.code(asked)


@pytest.mark.parametrize("size", EMPTY)
@pytest.mark.parametrize("name", MAKE)
def test_nothing_is_encoded_as_nothing(name, size):
    B, T = EMPTY[size]
    embedded, q, k, *_ = answers(MAKE[name](), torch.arange(T), size=B)
    assert (embedded.shape[:2], q.shape[::2], k.shape[::2]) == ((B, T), (B, T), (B, T))


@pytest.mark.parametrize("name", [name for name in MAKE if name != "NoPE"])
@pytest.mark.parametrize("wrong", [0, -2])
def test_shapes_that_are_none_are_named(name, wrong):
    keys = getattr(MAKE[name], "keywords", {}).keys() & {"head_dim", "n_embd", "n_head"}
    for key in sorted(keys):
        with pytest.raises(ValueError, match=rf"\({wrong}\)"):
            MAKE[name](**{key: wrong})


@pytest.mark.survives("a text without tokens, or no text at all", "the model answers with as much: nothing")
@pytest.mark.parametrize("size", EMPTY)
@pytest.mark.parametrize(
    "version",
    ["v1", "v2", "v4", "v5", "v5-absolute", "v6", "v6-rope2d", "v7", "v7-polar", "v7-alibi", "alibi", "pope"],
)
def test_a_model_reads_nothing(version, size, standing):
    model = build(version, ModelConfig(11, 16, 1, 2, 16)).eval()
    B, T = EMPTY[size]
    assert model(
        torch.zeros(B, T, dtype=torch.long), standing(version, torch.arange(T).repeat(B, 1))
    ).shape == (
        *(B, T),
        11,
    )
