"""Measurements of note 003: whether Fourier codes need a stride."""

import math
from functools import partial
from statistics import mean

import torch

from babygpt.encodings.fourier import Fourier, fourier
from babygpt.errors import BadInput
from babygpt.positions import Positions
from babygpt_course.claims import note_002
from babygpt_course.claims.claim import Finding, clearly_lower, decide, measured_on
from babygpt_course.claims.note_002 import HEAD_DIM, SCOPE, TRAINED, WIDTH, code_cosine, code_distance

NOTE = "003_1be152b6561f0619.txt"
ONE_PAIR = "one pair, slower than the slowest there is, is taken for all of them"
ROWS, WIDEST = 32_768, 4096  # the note's table and stride


def cosine_by_all_pairs(stride: int, by_note: float) -> Finding:
    """Measure the cosine of two branches by all pairs; the note takes cos(stride / 10000), one slow pair."""
    reason = f"by all pairs that turn with the branch; the note's one pair gives {math.cos(stride / 1e4):.4f}"
    return note_002.rounds_to(by_note, note_002.rope_cosine(stride), 2, reason)


alike_at_128 = measured_on(SCOPE, ONE_PAIR)(partial(cosine_by_all_pairs, 128, 0.99))
alike_at_4096 = measured_on(SCOPE, ONE_PAIR)(partial(cosine_by_all_pairs, WIDEST, 0.95))
neighbours_alike = measured_on(SCOPE)(lambda: note_002.rounds_to(0.85, code_cosine(1), 2))
rows_0_and_128 = measured_on(SCOPE, note_002.OTHER_STRIDE)(note_002.similarity_is_31_percent.measure)


@measured_on(SCOPE)
def all_rows_differ() -> Finding:
    """Measure the smallest distance of a row of the table from row 0; only differences of positions count."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(decide(nearest > 0), nearest, f"{ROWS:,} rows, the nearest two are neighbours")


@measured_on(SCOPE)
def spacing_does_not_matter_to_codes() -> Finding:
    """Measure how much less alike two codes are at stride 128 than at stride 1."""
    change = code_cosine(1) - code_cosine(128)
    return Finding(
        decide(abs(change) < 0.01), change, "the formula decides by the distance, and nothing else"
    )


@measured_on(TRAINED)
def it_is_the_formula() -> Finding:
    """Measure the gap at eight branches of random codes, minus that of Fourier codes."""
    runs = note_002.stored_results()["runs"]
    random, ours = (runs[f"up to eight: {code}"]["gap 8"] for code in ("random", "Fourier"))
    return note_002.lower_loss(ours, random, "vectors drawn at random, never trained, are the control")


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
    loss, gap = note_002.losses_by_stride(code), note_002.seed_mean(f"stride 1: {code}", "gap 2")
    worse, mixed_up = clearly_lower(loss[128], loss[1]), gap > 0.01
    verdict = "depends" if worse and not mixed_up else "holds" if worse == claimed else "fails"
    by_stride = ", ".join(f"{stride}: {mean(values):.3f}" for stride, values in loss.items())
    reason = f"loss by stride {by_stride}; at stride 1 the gap is {gap:.3f}"
    return Finding(verdict, mean(loss[1]) - mean(loss[128]), reason)


fourier_needs_none = measured_on(TRAINED)(partial(needs_a_stride, "Fourier", claimed=False))
learnable_needs_none = measured_on(TRAINED)(partial(needs_a_stride, "Fourier, learnable", claimed=False))
rope_2d_needs_one = measured_on(TRAINED)(partial(needs_a_stride, "2-D RoPE"))
larger_stride_less_alike = measured_on(SCOPE)(note_002.larger_stride_less_alike.measure)


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
