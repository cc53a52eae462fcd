"""Claims of note 003: whether Fourier codes need a stride."""

from __future__ import annotations

import math
from functools import partial
from statistics import mean

import torch

from babygpt.encodings.fourier import Fourier, fourier
from babygpt.errors import BadInput
from babygpt.positions import Positions
from babygpt_course.claims import note_002
from babygpt_course.claims.claim import Finding, clearly_lower, decide, measured_by
from babygpt_course.claims.note_002 import HEAD_DIM, SCOPE, TRAINED, WIDTH, code_cosine, code_distance

NOTE = "003_1be152b6561f0619.txt"
MIXED_UP = "the loss at stride 1 against 128, and whether two texts are mixed up at 1: both are asked"
ONE_PAIR = "one pair, slower than the slowest there is, is taken for all of them"
ROWS, WIDEST = 32_768, 4096  # the note's table and stride
claim = partial(measured_by, NOTE, scope=SCOPE)
trained_claim = partial(measured_by, NOTE, scope=TRAINED, reading=MIXED_UP)


def cosine_by_all_pairs(stride: int, by_note: float) -> Finding:
    """Measure the cosine of two branches by all pairs; the note takes cos(stride / 10000), one slow pair."""
    reason = f"by all pairs that turn with the branch; the note's one pair gives {math.cos(stride / 1e4):.4f}"
    return note_002.rounds_to(by_note, note_002.rope_cosine(stride), 2, reason)


alike_at_128 = claim(
    "at stride 128 2-D RoPE leaves a cosine of 0.99",
    "cos(θ_1 - θ_0) = cos(128/10000^k) ≈ 0.99  # 太相似！",
    "cos(θ_1 − θ_0) = cos(128 / 10000^k) ≈ 0.99, too alike!",
    fault=ONE_PAIR,
)(partial(cosine_by_all_pairs, 128, 0.99))

alike_at_4096 = claim(
    "at stride 4096 2-D RoPE still leaves a cosine of 0.95",
    "cos(θ_1 - θ_0) = cos(4096/10000^k) ≈ 0.95  # 仍然太相似！",
    "cos(θ_1 − θ_0) = cos(4096 / 10000^k) ≈ 0.95, still too alike!",
    fault=ONE_PAIR,
)(partial(cosine_by_all_pairs, WIDEST, 0.95))

neighbours_alike = claim(
    "neighbouring rows of the table are 85% alike", "PE[0] · PE[1] ≈ 0.85", "PE[0] · PE[1] ≈ 0.85"
)(lambda: note_002.rounds_to(0.85, code_cosine(1), 2))

rows_0_and_128 = claim(
    "rows 0 and 128 are 31% alike",
    "PE[0] · PE[128] ≈ 0.31",
    "PE[0] · PE[128] ≈ 0.31",
    fault=note_002.OTHER_STRIDE,
)(note_002.similarity_is_31_percent.measure)


@claim(
    "every index has a vector of its own",
    "每个索引对应**不同的向量**",
    "every index corresponds to a different vector",
)
def all_rows_differ() -> Finding:
    """Measure the smallest distance of a row of the table from row 0; only differences of positions count."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(decide(nearest > 0), nearest, f"{ROWS:,} rows, the nearest two are neighbours")


@claim(
    "how far apart the indices are does not matter",
    "区分度由Fourier公式保证，不依赖索引间距",
    "the Fourier formula guarantees that they can be told apart, whatever the spacing of the indices",
    reading="of the codes by themselves; what a trained model makes of them is asked below",
)
def spacing_does_not_matter_to_codes() -> Finding:
    """Measure how much less alike two codes are at stride 128 than at stride 1."""
    change = code_cosine(1) - code_cosine(128)
    return Finding(
        decide(abs(change) < 0.01), change, "the formula decides by the distance, and nothing else"
    )


@claim(
    "it is the Fourier formula that tells branches apart",
    "区分度由Fourier公式保证",
    "the Fourier formula guarantees that they can be told apart",
    scope=TRAINED,
)
def it_is_the_formula() -> Finding:
    """Measure the gap at eight branches of random codes, minus that of Fourier codes."""
    random, ours = (note_002.seed_values(f"up to eight: {code}", "gap 8") for code in ("random", "Fourier"))
    return note_002.lower_loss(ours, random, "vectors drawn at random, never trained, are the control")


def divided_code(branch: int, stride: int) -> torch.Tensor:
    """Return the code of a branch in the note's old program: the data multiply by a stride, it divides."""
    return fourier((torch.tensor([branch * stride]) / stride).long(), WIDTH)[0]


@claim(
    "in the old program branch_stride was needless",
    "引入了不必要的branch_stride参数",
    "it introduced a needless parameter branch_stride",
)
def dividing_leaves_no_stride() -> Finding:
    """Measure the largest change of branch 1's code between two strides in the old program."""
    change = max(float((divided_code(1, s) - divided_code(1, 1)).norm()) for s in (8, 128, WIDEST))
    reason = "what the data multiplies the model divides: whatever the stride, two branches are "
    reason += f"{code_cosine(1):.0%} alike; looked up directly, {code_cosine(WIDEST):.0%} at stride {WIDEST}"
    return Finding(decide(change == 0), change, reason)


def needs_a_stride(code: str, claimed: bool = True) -> Finding:
    """Measure the loss of two branches after training at stride 1, minus that at stride 128.

    claimed  whether the note says that this code needs a stride, or that it needs none
    """
    loss, gap = note_002.losses_by_stride(code), note_002.seed_mean(f"stride 1: {code}", "gap 2")
    worse, mixed_up = clearly_lower(loss[128], loss[1]), gap > 0.01
    verdict = "depends" if worse and not mixed_up else "holds" if worse == claimed else "fails"
    by_stride = ", ".join(f"{stride}: {mean(values):.3f}" for stride, values in loss.items())
    reason = f"loss by stride {by_stride}; at stride 1 the gap is {gap:.3f}"
    return Finding(verdict, mean(loss[1]) - mean(loss[128]), reason)


fourier_needs_none = trained_claim(
    "trained, Fourier codes need no stride",
    "Fourier PE不需要stride，直接查表即可",
    "Fourier PE needs no stride, looking up directly is enough",
)(partial(needs_a_stride, "Fourier", claimed=False))

learnable_needs_none = trained_claim(
    "trained, learnable codes need no stride",
    "--fpe_learnable # 可选 # 不需要 --branch_stride 参数！",
    "--fpe_learnable # optional # no parameter --branch_stride needed!",
)(partial(needs_a_stride, "Fourier, learnable", claimed=False))

rope_2d_needs_one = trained_claim(
    "2-D RoPE needs a stride",
    "RoPE 2D需要stride来拉开距离",
    "2-D RoPE needs a stride to draw them apart",
)(partial(needs_a_stride, "2-D RoPE"))

larger_stride_less_alike = claim(
    "under 2-D RoPE the larger the stride the less alike",
    "stride越大，角度差越大，区分度越好",
    "the larger the stride, the larger the difference of angles, and the easier they are to tell apart",
    reading=note_002.larger_stride_less_alike.reading,
)(note_002.larger_stride_less_alike.measure)


@claim(
    "32,768 rows are enough for eight branches at stride 4096",
    "设为32768（比28672大）确保所有可能的branch_id都能查表",
    "set to 32768 (larger than 28672), so that every possible branch_id can be looked up",
)
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


@claim(
    "that table has 16 M numbers",
    "max_positions × d_model = 32768 × 512 = 16M参数",
    "max_positions × d_model = 32768 × 512 = 16 M parameters",
)
def the_table_has_16_million_numbers() -> Finding:
    """Count numbers in the trained table, in units of 2^20."""
    code = Fourier(HEAD_DIM, WIDTH, max_positions=ROWS, learnable=True)
    millions = sum(p.numel() for p in code.parameters()) / 2**20
    return Finding(decide(millions == 16), millions, "eight of its rows are ever read")


@claim(
    "from index 1 to 128 the logits differ about four times more",
    "区分度从0.108 → 0.478",
    "the difference goes from 0.108 to 0.478",
    scope=note_002.UNTRAINED,
)
def logits_differ_more_at_128() -> Finding:
    """Divide the change of the logits at stride 128 by that at stride 1; the note has 0.478 / 0.108."""
    ratio, apart = (f(128) / f(1) for f in (note_002.logit_difference, code_distance))
    reason = f"the codes are {apart:.1f} times further apart: the stride at work"
    return Finding(decide(ratio > 2), ratio, reason)
