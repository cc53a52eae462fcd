"""Promises of every version's encoding that the body relies on."""

import inspect
import math

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.encodings import (
    FIRE,
    ALiBi,
    Encoding,
    Fourier,
    LearnedBranches,
    LearnedPositions,
    NTKAware,
    PartialRotary,
    PerLayer,
    Polar,
    PoPE,
    RandomBranches,
    Rotary,
    Rotary2D,
    Sinusoidal,
    T5Bias,
    YaRN,
    gaussian,
)
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import train

# Rows and heads are equally many, so that a test fails where one is taken for the other.
B, H, T, D, C = 4, 4, 6, 8, 32
CONFIG = ModelConfig(vocab_size=11, block_size=20, n_layer=2, n_head=H, n_embd=C)


@torch.no_grad()
def encodings() -> dict[str, Encoding]:
    """Make the encoding of every version, with parameters that all differ."""
    by_version = {
        name: version.make_encoding(CONFIG) for name, version in VERSIONS.items() if version.encoding
    }
    for encoding in by_version.values():
        for p in encoding.parameters():
            p.add_(0.3 * torch.randn(p.shape))
    return {name: encoding for name, encoding in by_version.items() if not isinstance(encoding, PerLayer)}


def positions_at(time: torch.Tensor) -> Positions:
    return Positions(time, branch=time % 2, masked=time % 3 == 1)


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)


def answers(encoding: Encoding, positions: Positions, x, q, k) -> list[torch.Tensor | None]:
    """Return all results that the body needs from an encoding."""
    bias = encoding.score_bias(positions, positions)
    return [encoding.embed(x, positions), *encoding.transform_qk(q, k, positions), bias]


def test_answers_have_the_promised_shapes_and_precision() -> None:
    x, q, k = inputs()
    positions = positions_at(torch.arange(3, 3 + T))
    for name, encoding in encodings().items():
        new_x, new_q, new_k, bias = answers(encoding, positions, x, q, k)
        assert new_x.shape == x.shape, name
        assert new_q.shape == new_k.shape, name
        assert new_q.shape in {(B, H, T, D), (B, H, T, 2 * D)}, name
        assert bias is None or bias.shape in {(H, T, T), (1, T, T)}, name
        half = answers(encoding, positions, x.bfloat16(), q.bfloat16(), k.bfloat16())
        parts = half[1:3] if name == "learned" else half[:3]  # a trained table keeps its own precision
        assert {part.dtype for part in parts} == {torch.bfloat16}, name


def test_a_single_token_is_encoded_as_within_a_text() -> None:
    """Encode one position at a time, as decoding does."""
    x, q, k = inputs()
    time = torch.arange(3, 3 + T)
    for name, encoding in encodings().items():
        all_x, all_q, _, all_bias = answers(encoding, positions_at(time), x, q, k)
        for t in range(T):
            token, here = slice(t, t + 1), positions_at(time[t : t + 1])
            assert torch.equal(encoding.embed(x[:, token], here), all_x[:, token]), name
            alone = encoding.transform_qk(q[:, :, token], k[:, :, token], here)[0]
            torch.testing.assert_close(alone, all_q[:, :, token], rtol=0, atol=1e-5, msg=name)
            if all_bias is not None:
                bias = encoding.score_bias(here, positions_at(time))
                torch.testing.assert_close(bias, all_bias[:, token], rtol=0, atol=1e-5, msg=name)


def test_each_row_of_a_batch_has_its_own_positions() -> None:
    x, q, k = inputs()
    time = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 5, 7, 9, 11], [0, 4, 5, 9, 12, 19], [5, 6, 7, 8, 9, 10]])
    for name, encoding in encodings().items():
        together = answers(encoding, positions_at(time), x, q, k)
        for b in range(B):
            row = slice(b, b + 1)
            alone = answers(encoding, positions_at(time[b]), x[row], q[row], k[row])
            for batched, single in zip(together, alone, strict=True):
                if batched is not None:
                    torch.testing.assert_close(
                        batched[row], single.view_as(batched[row]), rtol=0, atol=1e-5, msg=name
                    )


def test_each_encoding_uses_its_one_hook() -> None:
    hooks = {
        Encoding(): set(),
        LearnedPositions(20, C): {"embed"},
        Sinusoidal(C): {"embed"},
        Rotary(D): {"transform_qk"},
        Rotary2D(D): {"transform_qk"},
        ALiBi(H): {"score_bias"},
    }
    x, q, k = inputs()
    for encoding, expected in hooks.items():
        new_x, new_q, new_k, bias = answers(encoding, positions_at(torch.arange(3, 3 + T)), x, q, k)
        used = {
            "embed": not torch.equal(new_x, x),
            "transform_qk": not (torch.equal(new_q, q) or torch.equal(new_k, k)),
            "score_bias": bias is not None,
        }
        assert {hook for hook, is_used in used.items() if is_used} == expected
        learned = isinstance(encoding, LearnedPositions)
        assert bool(list(encoding.parameters())) == learned  # Only the table is trained.
        assert encoding.max_positions == (20 if learned else None)  # Only the table ends.


# ---------------------------------------------------------------- numbers that make no encoding

SIZES = {"n_head": H, "head_dim": D, "n_embd": C, "max_positions": 20, "block_size": 16}
REFUSED = [  # encodings, an argument that none of them can use, and the part of the error that names it
    ((Rotary, Rotary2D, gaussian, Fourier, LearnedBranches, RandomBranches), {"head_dim": 7}, "(7) must be"),
    ((Sinusoidal, Fourier), {"n_embd": 15}, "(15) must be even"),
    ((Sinusoidal, Rotary, Rotary2D, gaussian, Fourier, Polar, PoPE), {"theta": 0.0}, "theta (0.0)"),
    ((YaRN,), {"theta": 0.5}, "theta (0.5) must be above 1"),
    ((NTKAware,), {"head_dim": 2}, "head_dim (2) must be at least 4"),
    ((NTKAware, YaRN), {"factor": 0.5}, "factor (0.5) must be at least 1"),
    ((PartialRotary,), {"share": 1.5}, "share (1.5) must lie between 0 and 1"),
    ((Rotary2D,), {"branch_share": -0.1}, "branch_share (-0.1) must lie between 0 and 1"),
    ((Polar,), {"alpha": math.nan}, "alpha (nan)"),
    ((Fourier,), {"stride": 0}, "stride (0)"),
    ((Fourier,), {"band": 3}, "band (3)"),
    ((Fourier,), {"band": 2 * C}, f"band ({2 * C})"),
    ((T5Bias,), {"n_buckets": 1}, "n_buckets (1)"),
    ((T5Bias,), {"n_buckets": 8, "furthest": 4}, "furthest (4)"),
    ((T5Bias,), {"n_buckets": 9, "both_ways": True}, "n_buckets (9) must be even"),
    ((FIRE,), {"threshold": 0.0}, "threshold (0.0)"),
    ((gaussian,), {"sigmas": (0.0, 20.0)}, "(0.0) must be above 0"),
    ((gaussian,), {"alphas": (-0.1, 0.3)}, "(-0.1) must be above 0"),
    ((gaussian,), {"sigmas": (5.0, math.inf)}, "(inf)"),
    ((gaussian,), {"alphas": (0.7,)}, "two numbers each"),
    ((gaussian,), {"kernel": "both"}, "kernel (both) must be one of absolute, relative"),
]


@pytest.mark.parametrize(("encodings", "wrong", "named"), REFUSED)
def test_a_number_that_makes_no_encoding_is_named(encodings: tuple, wrong: dict, named: str) -> None:
    for make in encodings:
        parameters = inspect.signature(make).parameters.values()
        needed = {p.name: SIZES[p.name] for p in parameters if p.default is p.empty and p.name in SIZES}
        make(**needed)  # without the wrong number it is made
        with pytest.raises(BadInput) as refusal:
            make(**{**needed, **wrong})
        assert named in str(refusal.value)


# ---------------------------------------------------------------- learned kernels


@pytest.mark.parametrize("version", ["v5", "v5-absolute", "kerple-log"])
def test_a_kernel_stays_one_at_a_hundred_times_the_usual_rate(small_corpus, version: str) -> None:
    """Train at a rate at which plain widths and slopes would fall below 0 in a few steps."""
    config = ModelConfig(small_corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=16)
    model, here, kernels = build(version, config), Positions.arange(16), list[torch.Tensor]()
    encoding, plan = model.encoding, TrainConfig(steps=12, batch_size=4, lr_other=2.0, warmup=0)
    for _ in train(model, NextToken(small_corpus, 16), plan):
        bias = encoding.score_bias(here, here)
        kernel = encoding.log_kernel(15 - here.time) if bias is None else bias[:, -1]
        kernels.append(kernel.detach())
        assert kernels[-1].isfinite().all()
        assert (kernels[-1].diff() > 0).all()  # the nearer, the larger
    assert (kernels[-1] - kernels[0]).abs().max() > 0.1
