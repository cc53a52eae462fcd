"""Measurements of note 003: whether Fourier codes need a stride."""

import math
from functools import partial
from itertools import pairwise
from statistics import mean

import torch

from babygpt.encodings.fourier import Fourier, fourier
from babygpt.encodings.rotary import angles
from babygpt.errors import BadInput
from babygpt.experiments.paired import UNDECIDED, compare, differences, has_more_seeds
from babygpt.positions import Positions
from babygpt_course.claims import note_002
from babygpt_course.claims.claim import Finding, combine, decide, measured_on, negligible, opposite
from babygpt_course.claims.note_002 import HEAD_DIM, SCOPE, TRAINED, WIDTH, code_cosine, code_distance

NOTE = "003_1be152b6561f0619.txt"
ROWS = 32_768  # positions of the note's table
WIDEST = 4096  # the note's stride, in positions


@measured_on("arithmetic; all pairs: heads of 64 channels, half for the branch")
def one_pair_leaves_branches_alike() -> Finding:
    """Measure the cosine of one pair with k = 1, which the note assumes, at strides 128 and 4096."""
    near, far = (math.cos(stride / 1e4) for stride in (128, WIDEST))
    cosines = [note_002.rope_cosine(stride) for stride in (128, WIDEST)]
    reason = (
        f"The note's pair is slower than any pair of the model. Its cosines are {near:.4f} and "
        f"{far:.4f}; we accept errors up to 0.01. Over all pairs that rotate with the branch, the "
        f"cosines are {cosines[0]:.2f} and {cosines[1]:.2f}. For Fourier codes the note compares all pairs."
    )
    verdicts = (note_002.about(*pair, 2).verdict for pair in ((0.99, near), (0.95, far)))
    return Finding(combine(*verdicts), far, reason)


neighbours_alike = measured_on(SCOPE)(lambda: note_002.about(0.85, code_cosine(1), 2))


@measured_on(SCOPE)
def all_rows_differ() -> Finding:
    """Measure the smallest distance of a row from row 0; distances depend on position differences alone."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(decide(nearest > 0), nearest, f"All {ROWS:,} rows differ, by at least {nearest:.1f}.")


@measured_on(SCOPE)
def spacing_does_not_matter_to_codes() -> Finding:
    """Measure how much less alike two codes are at stride 128 than at stride 1."""
    near, far = code_cosine(1), code_cosine(128)
    reason = (
        f"All codes differ; at spacing 1 their distance is {code_distance(1):.1f}. They do not differ "
        f"equally: their cosine is {near:.2f} at spacing 1 and {far:.2f} at 128 (note: 0.85, 0.31)."
    )
    all_differ = min(map(code_distance, range(1, 129))) > 0
    return Finding(decide(all_differ, abs(near - far) < 0.01), near - far, reason)


def divided_code(branch: int, stride: int) -> torch.Tensor:
    """Return a branch's code in the note's old program: data multiply by the stride, the model divides."""
    return fourier((torch.tensor([branch * stride]) / stride).long(), WIDTH)[0]


@measured_on(SCOPE)
def dividing_leaves_no_stride() -> Finding:
    """Measure the largest change of branch 1's code between two strides in the old program."""
    change = max(float((divided_code(1, s) - divided_code(1, 1)).norm()) for s in (8, 128, WIDEST))
    reason = (
        "The data multiply by the stride and the model divides by it. So two branches have cosine "
        f"{code_cosine(1):.2f} at every stride. Without the division it is "
        f"{code_cosine(WIDEST):.2f} at stride {WIDEST}."
    )
    return Finding(decide(change == 0), change, reason)


def needs_a_stride(code: str, claimed: bool = True) -> Finding:
    """Measure the loss of two branches after training at stride 1, minus the loss at stride 128.

    claimed  whether the note says that this code needs a stride, or that it needs none
    """
    loss, gap = note_002.losses_by_stride(code), note_002.found_in(f"stride 1: {code}", "gap 2")
    rise = differences(loss[1], loss[128])
    suggested = has_more_seeds(loss[1], loss.values())
    verdicts = [negligible(rise, suggested=suggested), negligible(gap)]
    by_stride = ", ".join(f"{mean(values):.3f} at stride {stride}" for stride, values in loss.items())
    counts = {"holds": "too little to count", "fails": "enough to count", UNDECIDED: UNDECIDED}
    reason = (
        f"In nats per character, the loss of two branches is {by_stride}. Stride 1 minus stride 128 is "
        f"{compare(rise):+.3f}: {counts[verdicts[0]]}. At stride 1, a second text adds "
        f"{compare(gap):+.3f}: {counts[verdicts[1]]}."
    )
    verdict = combine(*(opposite(each) if claimed else each for each in verdicts))
    return Finding(verdict, mean(rise), reason, len(verdicts))


fourier_needs_none = measured_on(TRAINED)(partial(needs_a_stride, "Fourier", claimed=False))
rope_2d_needs_one = measured_on(TRAINED)(partial(needs_a_stride, "2-D RoPE"))


@measured_on(SCOPE)
def larger_stride_less_alike() -> Finding:
    """Measure the largest rise of the cosine under 2-D RoPE when a stride doubles, from 1 to 8192."""
    strides = 2 ** torch.arange(14)
    cosines = [note_002.rope_cosine(stride) for stride in strides.tolist()]
    rise = max(later - sooner for sooner, later in pairwise(cosines))
    larger = bool((angles(strides, HEAD_DIM // 2).diff(dim=0) > 0).all())
    reason = "Angles grow with the stride. Cosines do not always fall, because they are periodic: over the "
    reason += "16 pairs of a head the cosine is {:.2f} at stride 128 and {:.2f} at 256.".format(*cosines[7:9])
    return Finding(decide(larger, rise <= 0), rise, reason)


@measured_on(SCOPE)
def the_table_is_long_enough() -> Finding:
    """Count the branches for which the note's table has rows at its stride; the code refuses others."""
    code = Fourier(HEAD_DIM, WIDTH, max_positions=ROWS, stride=WIDEST)
    tokens, time = torch.zeros(1, 1, WIDTH), torch.tensor([0])
    for branch in range(ROWS):
        try:
            code.embed(tokens, Positions(time, torch.tensor([branch])))
        except BadInput:
            break
    reason = (
        f"The table has rows for {branch} branches. At stride {WIDEST} the eighth reads row {7 * WIDEST:,}."
    )
    return Finding(decide(branch >= 8), float(branch), reason)


@measured_on(SCOPE)
def the_table_has_16_million_numbers() -> Finding:
    """Count the parameters of the trained table, in units of 2^20."""
    code = Fourier(HEAD_DIM, WIDTH, max_positions=ROWS, learnable=True)
    millions = sum(p.numel() for p in code.parameters()) / 2**20
    reason = f"The table has {millions:g} × 2^20 numbers. Eight branches read only eight of its rows."
    return Finding(decide(millions == 16), millions, reason)


@measured_on(note_002.UNTRAINED)
def logits_differ_more_at_128() -> Finding:
    """Divide the change of the logits at stride 128 by that at stride 1; the note has 0.478 / 0.108 = 4.4."""
    ratio, code_ratio = (f(128) / f(1) for f in (note_002.logit_difference, code_distance))
    reason = f"The logits differ {ratio:.1f} times more. The codes are {code_ratio:.1f} times further apart."
    return Finding(decide(ratio > 2), ratio, reason)
