"""The claims of note 003: whether Fourier codes need a stride."""

from __future__ import annotations

import math
from functools import partial
from statistics import mean

import torch

from babygpt.claims.base import Claim, Finding, clearly_lower, decide
from babygpt.claims.branch_codes import (
    COMMAND,
    WIDTH,
    code_cosine,
    code_distance,
    logit_difference,
    losses_among,
    rope_cosine,
    seed_mean,
    seed_values,
)
from babygpt.claims.note_002 import similarity_is_31_percent
from babygpt.encodings.fourier import fourier

NOTE = "003_1be152b6561f0619.txt"
ROWS, WIDEST = 32_768, 4096  # the note's table and stride
RUN_OF_STRIDE = {1: "stride 1", 8: "stride 8", 128: "two", 1024: "stride 1024"}


def one_pair_stands_for_all() -> Finding:
    """The note's cos(4096 / 10000): a pair slower than any, and it alone."""
    slowest = math.cos(WIDEST / 10_000)
    return Finding(
        decide(round(slowest, 2) == 0.95),
        slowest,
        f"and all pairs of a head together give {rope_cosine(WIDEST):.3f}",
    )


def neighbours_are_85_percent_alike() -> Finding:
    """Cosine of the codes of positions 0 and 1, width 512."""
    cosine = code_cosine(1)
    return Finding(decide(round(cosine, 2) == 0.85), cosine, "measured on the formula, width 512")


def all_rows_differ() -> Finding:
    """Smallest distance of two rows of the table: the difference of places decides, so row 0 will do."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(decide(nearest > 0), nearest, f"{ROWS:,} rows, the nearest two are neighbours")


def spacing_does_not_matter_to_codes() -> Finding:
    """How much less alike two codes are at stride 128 than at stride 1."""
    change = code_cosine(1) - code_cosine(128)
    return Finding(
        decide(abs(change) < 0.01), change, "the formula decides by the distance, and nothing else"
    )


def needs_a_stride(code: str) -> Finding:
    """Loss of two branches after training at stride 1, minus that at stride 128."""
    loss = {stride: losses_among(f"{where}: {code}", 2) for stride, where in RUN_OF_STRIDE.items()}
    gap = seed_mean(f"{RUN_OF_STRIDE[1]}: {code}", "gap 2")
    worse, mixed_up = clearly_lower(loss[128], loss[1]), gap > 0.01
    by_stride = ", ".join(f"{stride}: {mean(values):.3f}" for stride, values in loss.items())
    return Finding(
        "holds" if worse and mixed_up else "depends" if worse else "fails",
        mean(loss[1]) - mean(loss[128]),
        f"loss by stride {by_stride}; at stride 1 the gap is {gap:.3f}: {COMMAND}",
    )


def codes_need_no_stride(code: str) -> Finding:
    """The loss difference of `needs_a_stride`, for the opposite claim: its verdict is the other way round."""
    found = needs_a_stride(code)
    opposite = {"holds": "fails", "fails": "holds", "depends": "depends"}
    return Finding(opposite[found.verdict], found.value, found.reason)


def at_128_rope_is_at_99_percent() -> Finding:
    """Cosine of the pairs that turn with the branch under 2-D RoPE at stride 128."""
    cosine = rope_cosine(128)
    return Finding(
        decide(round(cosine, 2) == 0.99),
        cosine,
        f"all of them together; the note's one pair gives {math.cos(128 / 10_000):.4f}",
    )


def larger_is_better_for_rope() -> Finding:
    """Largest rise of that cosine when the stride doubles, from 1 to 8192."""
    rise, at = max((rope_cosine(2 * s) - rope_cosine(s), s) for s in (2**i for i in range(13)))
    return Finding(decide(rise <= 0), rise, f"from stride {at} to {2 * at}: a sum of cosines wobbles")


def it_is_the_formula() -> Finding:
    """Gap at eight branches of random codes, minus that of Fourier codes."""
    random, fourier_codes = (seed_values(f"up to eight: {code}", "gap 8") for code in ("random", "Fourier"))
    return Finding(
        decide(clearly_lower(fourier_codes, random)),
        mean(random) - mean(fourier_codes),
        "vectors drawn at random, never trained, are the control",
    )


def the_table_is_long_enough() -> Finding:
    """The last position of eight branches at the note's stride."""
    last = 7 * WIDEST
    return Finding(decide(last < ROWS), float(last), f"the table has {ROWS:,} rows")


def the_table_has_16_million_numbers() -> Finding:
    """Numbers in the table, in units of 2^20."""
    return Finding(
        decide(ROWS * WIDTH == 16 * 2**20), ROWS * WIDTH / 2**20, "eight of its rows are ever read"
    )


def logits_differ_more_at_128() -> Finding:
    """Change of the logits at stride 128 over that at stride 1; the note has 0.478 / 0.108."""
    ratio, apart = logit_difference(128) / logit_difference(1), code_distance(128) / code_distance(1)
    return Finding(
        decide(ratio > 2), ratio, f"the codes are {apart:.1f} times further apart: the stride at work"
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "at stride 128 2-D RoPE leaves a cosine of 0.99", at_128_rope_is_at_99_percent),
    Claim(NOTE, "at stride 4096 2-D RoPE still leaves a cosine of 0.95", one_pair_stands_for_all),
    Claim(NOTE, "neighbouring rows of the table are 85% alike", neighbours_are_85_percent_alike),
    Claim(NOTE, "rows 0 and 128 are 31% alike", similarity_is_31_percent),
    Claim(NOTE, "every index has a vector of its own", all_rows_differ),
    Claim(NOTE, "how far apart the indices are does not matter", spacing_does_not_matter_to_codes),
    Claim(NOTE, "it is the Fourier formula that tells branches apart", it_is_the_formula),
    Claim(NOTE, "trained, Fourier codes need no stride", partial(codes_need_no_stride, "Fourier")),
    Claim(
        NOTE, "trained, learnable codes need no stride", partial(codes_need_no_stride, "Fourier, learnable")
    ),
    Claim(NOTE, "2-D RoPE needs a stride", partial(needs_a_stride, "2-D RoPE")),
    Claim(NOTE, "under 2-D RoPE the larger the stride the less alike", larger_is_better_for_rope),
    Claim(NOTE, "32,768 rows are enough for eight branches at stride 4096", the_table_is_long_enough),
    Claim(NOTE, "that table has 16 M numbers", the_table_has_16_million_numbers),
    Claim(NOTE, "from index 1 to 128 the logits differ about four times more", logits_differ_more_at_128),
)
