"""Measure the claims of note 003: whether Fourier codes need a stride."""

from __future__ import annotations

import math
from functools import partial
from statistics import mean

import torch

from babygpt.encodings.fourier import Fourier, fourier
from babygpt.errors import BadInput
from babygpt.positions import Positions
from babygpt_course.claims.claim import Claim, Finding, clearly_lower, decide
from babygpt_course.claims.note_002 import (
    HEAD_DIM,
    OTHER_STRIDE,
    SCOPE,
    TRAINED,
    WIDTH,
    code_cosine,
    code_distance,
    larger_stride_less_alike,
    logit_difference,
    losses_by_stride,
    lower_loss,
    rope_cosine,
    rounds_to,
    run_at_stride,
    seed_mean,
    seed_values,
    similarity_is_31_percent,
)

NOTE = "003_1be152b6561f0619.txt"
MIXED_UP = "the loss at stride 1 against 128, and whether two texts are mixed up at 1: both are asked"
ROWS, WIDEST = 32_768, 4096  # the note's table and stride
ONE_PAIR = "one pair, slower than the slowest there is, is taken for all of them"


def one_pair_stands_for_all(stride: int, by_note: float) -> Finding:
    """Measure the cosine of two branches by all pairs; the note takes cos(stride / 10000), one slow pair."""
    whole = rope_cosine(stride)
    reason = "by all pairs that turn with the branch; the note's one pair gives "
    reason += f"{math.cos(stride / 10_000):.4f}"
    return Finding(decide(round(whole, 2) == by_note), whole, reason)


def all_rows_differ() -> Finding:
    """Measure the smallest distance of a row of the table from row 0; only differences of positions count."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(decide(nearest > 0), nearest, f"{ROWS:,} rows, the nearest two are neighbours")


def divided_code(branch: int, stride: int) -> torch.Tensor:
    """Return the code of a branch in the note's old program: the data multiply by a stride, it divides."""
    return fourier((torch.tensor([branch * stride]) / stride).long(), WIDTH)[0]


def dividing_leaves_no_stride() -> Finding:
    """Measure the largest change of branch 1's code between two strides in the old program."""
    change = max(float((divided_code(1, s) - divided_code(1, 1)).norm()) for s in (8, 128, WIDEST))
    reason = "what the data multiplies the model divides: whatever the stride, two branches are "
    reason += f"{code_cosine(1):.0%} alike; looked up directly, {code_cosine(WIDEST):.0%} at stride {WIDEST}"
    return Finding(decide(change == 0), change, reason)


def spacing_does_not_matter_to_codes() -> Finding:
    """Measure how much less alike two codes are at stride 128 than at stride 1."""
    change = code_cosine(1) - code_cosine(128)
    reason = "the formula decides by the distance, and nothing else"
    return Finding(decide(abs(change) < 0.01), change, reason)


def the_table_is_long_enough() -> Finding:
    """Count the branches at the note's stride that its table has rows for; beyond them the code refuses."""
    code = Fourier(HEAD_DIM, WIDTH, max_positions=ROWS, stride=WIDEST)
    tokens, time = torch.zeros(1, 1, WIDTH), torch.tensor([0])
    for branch in range(ROWS):
        try:
            code.embed(tokens, Positions(time, torch.tensor([branch])))
        except BadInput:
            break
    return Finding(decide(branch >= 8), float(branch), f"the last of eight is row {7 * WIDEST:,}")


def the_table_has_16_million_numbers() -> Finding:
    """Count numbers in the trained table, in units of 2^20."""
    table = Fourier(HEAD_DIM, WIDTH, max_positions=ROWS, learnable=True).table
    numbers = 0 if table is None else table.numel()
    return Finding(decide(numbers == 16 * 2**20), numbers / 2**20, "eight of its rows are ever read")


def logits_differ_more_at_128() -> Finding:
    """Divide the change of the logits at stride 128 by that at stride 1; the note has 0.478 / 0.108."""
    ratio, apart = logit_difference(128) / logit_difference(1), code_distance(128) / code_distance(1)
    reason = f"the codes are {apart:.1f} times further apart: the stride at work"
    return Finding(decide(ratio > 2), ratio, reason)


# ---------------------------------------------------------------- after training


def needs_a_stride(code: str, claimed: bool = True) -> Finding:
    """Measure the loss of two branches after training at stride 1, minus that at stride 128.

    claimed  whether the note says that this code needs a stride, or that it needs none
    """
    loss, gap = losses_by_stride(code), seed_mean(run_at_stride(code, 1), "gap 2")
    worse, mixed_up = clearly_lower(loss[128], loss[1]), gap > 0.01
    verdict = "depends" if worse and not mixed_up else "holds" if worse == claimed else "fails"
    by_stride = ", ".join(f"{stride}: {mean(values):.3f}" for stride, values in loss.items())
    reason = f"loss by stride {by_stride}; at stride 1 the gap is {gap:.3f}"
    return Finding(verdict, mean(loss[1]) - mean(loss[128]), reason)


def it_is_the_formula() -> Finding:
    """Measure the gap at eight branches of random codes, minus that of Fourier codes."""
    random, fourier_codes = (seed_values(f"up to eight: {code}", "gap 8") for code in ("random", "Fourier"))
    return lower_loss(fourier_codes, random, "vectors drawn at random, never trained, are the control")


claim = partial(Claim, NOTE, scope=SCOPE)
trained_claim = partial(Claim, NOTE, scope=TRAINED, reading=MIXED_UP)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "at stride 128 2-D RoPE leaves a cosine of 0.99",
        partial(one_pair_stands_for_all, 128, 0.99),
        "cos(θ_1 - θ_0) = cos(128/10000^k) ≈ 0.99  # 太相似！",
        "cos(θ_1 − θ_0) = cos(128 / 10000^k) ≈ 0.99, too alike!",
        fault=ONE_PAIR,
    ),
    claim(
        "at stride 4096 2-D RoPE still leaves a cosine of 0.95",
        partial(one_pair_stands_for_all, WIDEST, 0.95),
        "cos(θ_1 - θ_0) = cos(4096/10000^k) ≈ 0.95  # 仍然太相似！",
        "cos(θ_1 − θ_0) = cos(4096 / 10000^k) ≈ 0.95, still too alike!",
        fault=ONE_PAIR,
    ),
    claim(
        "neighbouring rows of the table are 85% alike",
        lambda: rounds_to(0.85, code_cosine(1), 2),
        "PE[0] · PE[1] ≈ 0.85",
        "PE[0] · PE[1] ≈ 0.85",
    ),
    claim(
        "rows 0 and 128 are 31% alike",
        similarity_is_31_percent,
        "PE[0] · PE[128] ≈ 0.31",
        "PE[0] · PE[128] ≈ 0.31",
        fault=OTHER_STRIDE,
    ),
    claim(
        "every index has a vector of its own",
        all_rows_differ,
        "每个索引对应**不同的向量**",
        "every index corresponds to a different vector",
    ),
    claim(
        "how far apart the indices are does not matter",
        spacing_does_not_matter_to_codes,
        "区分度由Fourier公式保证，不依赖索引间距",
        "the Fourier formula guarantees that they can be told apart, whatever the spacing of the indices",
        reading="of the codes by themselves; what a trained model makes of them is asked below",
    ),
    claim(
        "it is the Fourier formula that tells branches apart",
        it_is_the_formula,
        "区分度由Fourier公式保证",
        "the Fourier formula guarantees that they can be told apart",
        scope=TRAINED,
    ),
    claim(
        "in the old program branch_stride was needless",
        dividing_leaves_no_stride,
        "引入了不必要的branch_stride参数",
        "it introduced a needless parameter branch_stride",
    ),
    trained_claim(
        "trained, Fourier codes need no stride",
        partial(needs_a_stride, "Fourier", claimed=False),
        "Fourier PE不需要stride，直接查表即可",
        "Fourier PE needs no stride, looking up directly is enough",
    ),
    trained_claim(
        "trained, learnable codes need no stride",
        partial(needs_a_stride, "Fourier, learnable", claimed=False),
        "--fpe_learnable # 可选 # 不需要 --branch_stride 参数！",
        "--fpe_learnable # optional # no parameter --branch_stride needed!",
    ),
    trained_claim(
        "2-D RoPE needs a stride",
        partial(needs_a_stride, "2-D RoPE"),
        "RoPE 2D需要stride来拉开距离",
        "2-D RoPE needs a stride to draw them apart",
    ),
    claim(
        "under 2-D RoPE the larger the stride the less alike",
        larger_stride_less_alike,
        "stride越大，角度差越大，区分度越好",
        "the larger the stride, the larger the difference of angles, and the easier they are to tell apart",
        reading="by the 256 pairs of a Fourier code or the 16 of a head, doubled or not: all are asked",
    ),
    claim(
        "32,768 rows are enough for eight branches at stride 4096",
        the_table_is_long_enough,
        "设为32768（比28672大）确保所有可能的branch_id都能查表",
        "set to 32768 (larger than 28672), so that every possible branch_id can be looked up",
    ),
    claim(
        "that table has 16 M numbers",
        the_table_has_16_million_numbers,
        "max_positions × d_model = 32768 × 512 = 16M参数",
        "max_positions × d_model = 32768 × 512 = 16 M parameters",
    ),
    claim(
        "from index 1 to 128 the logits differ about four times more",
        logits_differ_more_at_128,
        "区分度从0.108 → 0.478",
        "the difference goes from 0.108 to 0.478",
        scope="untrained models of 2 layers, width 512, 3 seeds",
    ),
)
