"""Measurements of note 003: whether Fourier codes need a stride."""

import math
from functools import partial
from itertools import pairwise
from statistics import mean

import torch

from babygpt.encodings.fourier import Fourier, fourier
from babygpt.encodings.rotary import angles
from babygpt.errors import BadInput
from babygpt.positions import Positions
from babygpt_course.claims import note_002
from babygpt_course.claims.claim import Finding, combine, decide, measured_on, negligible, opposite
from babygpt_course.claims.note_002 import HEAD_DIM, SCOPE, TRAINED, WIDTH, code_cosine, code_distance
from babygpt_course.studies.paired import UNDECIDED, differences

NOTE = "003_1be152b6561f0619.txt"
ROWS, WIDEST = 32_768, 4096  # the note's table and stride


@measured_on("arithmetic; all pairs: heads of 64 channels, half of which turn with the branch")
def one_pair_leaves_branches_alike() -> Finding:
    """Measure the cosine of one pair with k = 1, which the note assumes, at strides 128 and 4096."""
    near, far = (math.cos(stride / 1e4) for stride in (128, WIDEST))
    both = [note_002.rope_cosine(stride) for stride in (128, WIDEST)]
    reason = f"{near:.4f} and {far:.4f}, of one pair that turns slower than the slowest there is; by all "
    reason += "pairs that turn, as the note compares Fourier codes, {:.2f} and {:.2f}".format(*both)
    verdicts = (note_002.about(*pair, 2).verdict for pair in ((0.99, near), (0.95, far)))
    return Finding(combine(*verdicts), far, reason)


neighbours_alike = measured_on(SCOPE)(lambda: note_002.about(0.85, code_cosine(1), 2))


@measured_on(SCOPE)
def all_rows_differ() -> Finding:
    """Measure the smallest distance of a row of the table from row 0; only differences of positions count."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(decide(nearest > 0), nearest, f"{ROWS:,} rows, the nearest two are neighbours")


@measured_on(SCOPE)
def spacing_does_not_matter_to_codes() -> Finding:
    """Measure how much less alike two codes are at stride 128 than at stride 1."""
    near, far = code_cosine(1), code_cosine(128)
    reason = (
        f"told apart at any spacing, for all differ (by {code_distance(1):.1f} at 1); but {near:.0%} alike "
    )
    reason += f"at 1 and {far:.0%} at 128, so how well depends on it, as the note's own 0.85 and 0.31 say"
    return Finding(
        decide(min(map(code_distance, range(1, 129))) > 0, abs(near - far) < 0.01), near - far, reason
    )


def divided_code(branch: int, stride: int) -> torch.Tensor:
    """Return the code of a branch in the note's old program: the data multiply by a stride, it divides."""
    return fourier((torch.tensor([branch * stride]) / stride).long(), WIDTH)[0]


@measured_on(SCOPE)
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
    loss, gap = note_002.losses_by_stride(code), note_002.found_in(f"stride 1: {code}", "gap 2")
    again = note_002.losses_by_stride(code, "fresh/")
    rise, confirming = (differences(found[1], found[128]) for found in (loss, again))
    first, second = negligible(rise), negligible(confirming)
    verdicts = [first if first == second else UNDECIDED, negligible(gap)]
    by_stride = ", ".join(f"{stride}: {mean(values):.3f}" for stride, values in loss.items())
    reason = (
        f"loss by stride {by_stride}; at stride 1 a second text costs {mean(gap):.3f} ({len(rise)} seeds); "
    )
    reason += f"stride 1 minus 128 from other seeds: {mean(confirming):+.3f}"
    verdict = combine(*(opposite(each) if claimed else each for each in verdicts))
    return Finding(verdict, mean(rise), reason, 1 + len(verdicts))


fourier_needs_none = measured_on(TRAINED)(partial(needs_a_stride, "Fourier", claimed=False))
rope_2d_needs_one = measured_on(TRAINED)(partial(needs_a_stride, "2-D RoPE"))


@measured_on(SCOPE)
def larger_stride_less_alike() -> Finding:
    """Measure the largest rise of the cosine under 2-D RoPE when a stride doubles, from 1 to 8192."""
    strides = 2 ** torch.arange(14)
    cosines = [note_002.rope_cosine(stride) for stride in strides.tolist()]
    rise = max(later - sooner for sooner, later in pairwise(cosines))
    larger = bool((angles(strides, HEAD_DIM // 2).diff(dim=0) > 0).all())
    reason = (
        "the angles of a pair differ by stride times frequency, which grows; but a cosine comes round: by "
    )
    reason += "the 16 pairs of a head {:.2f} at 128, {:.2f} at 256".format(*cosines[7:9])
    return Finding(decide(larger, rise <= 0), rise, reason)


@measured_on(SCOPE)
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


@measured_on(SCOPE)
def the_table_has_16_million_numbers() -> Finding:
    """Count numbers in the trained table, in units of 2^20."""
    code = Fourier(HEAD_DIM, WIDTH, max_positions=ROWS, learnable=True)
    millions = sum(p.numel() for p in code.parameters()) / 2**20
    return Finding(decide(millions == 16), millions, "eight of its rows are ever read")


@measured_on(note_002.UNTRAINED)
def logits_differ_more_at_128() -> Finding:
    """Divide the change of the logits at stride 128 by that at stride 1; the note has 0.478 / 0.108."""
    ratio, apart = (f(128) / f(1) for f in (note_002.logit_difference, code_distance))
    reason = f"the codes are {apart:.1f} times further apart: the stride at work"
    return Finding(decide(ratio > 2), ratio, reason)
