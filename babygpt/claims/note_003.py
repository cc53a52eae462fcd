"""The claims of note 003: whether Fourier codes need a stride."""

from __future__ import annotations

import math
from statistics import mean

import torch

from babygpt.claims.base import Claim, Finding
from babygpt.claims.branches import (
    RUNS,
    WIDTH,
    average,
    better,
    code_cosine,
    code_distance,
    logit_difference,
    runs,
    turned_cosine,
)
from babygpt.encodings.fourier import fourier

NOTE = "003_1be152b6561f0619.txt"
ROWS, WIDEST = 32_768, 4096  # the note's table and stride


def one_pair_stands_for_all() -> Finding:
    """The note's cos(4096 / 10000), which is that of the very slowest pair."""
    slowest = math.cos(WIDEST / 10_000)
    return Finding(
        "holds" if round(slowest, 2) == 0.95 else "fails",
        slowest,
        f"and all pairs of a head together give {turned_cosine(WIDEST):.3f}",
    )


def neighbours_are_85_percent_alike() -> Finding:
    """Cosine of the codes of positions 0 and 1, width 512."""
    cosine = code_cosine(1)
    return Finding(
        "holds" if round(cosine, 2) == 0.85 else "fails", cosine, "measured on the formula, width 512"
    )


def at_128_they_are_31_percent_alike() -> Finding:
    """Cosine of the codes of positions 0 and 128, width 512."""
    cosine = code_cosine(128)
    return Finding("holds" if round(cosine, 2) == 0.31 else "fails", cosine, "as in note 002")


def all_rows_differ() -> Finding:
    """Smallest distance of two rows of the table: the difference of places decides, so row 0 will do."""
    table = fourier(torch.arange(ROWS), WIDTH)
    nearest = float((table[1:] - table[0]).norm(dim=-1).min())
    return Finding(
        "holds" if nearest > 0 else "fails", nearest, f"{ROWS:,} rows, the nearest two are neighbours"
    )


def spacing_does_not_matter_to_codes() -> Finding:
    """How much less alike two codes are at stride 128 than at stride 1."""
    change = code_cosine(1) - code_cosine(128)
    return Finding(
        "holds" if abs(change) < 0.01 else "fails",
        change,
        "the formula decides by the distance, and nothing else",
    )


def training_does_not_need_a_stride() -> Finding:
    """Interference gap of two branches after training at stride 1."""
    gaps = {stride: average(f"{where}: Fourier", "gap 2") for stride, where in _WHERE.items()}
    words = ", ".join(f"{stride}: {gap:.3f}" for stride, gap in gaps.items())
    return Finding(
        "holds" if max(gaps.values()) < 0.01 else "fails", gaps[1], f"gap by stride {words} ({RUNS})"
    )


def learnable_codes_do_not_need_a_stride() -> Finding:
    """The same with a code that is trained."""
    gaps = {stride: average(f"{where}: Fourier, learnable", "gap 2") for stride, where in _WHERE.items()}
    words = ", ".join(f"{stride}: {gap:.3f}" for stride, gap in gaps.items())
    return Finding(
        "holds" if max(gaps.values()) < 0.01 else "fails", gaps[1], f"gap by stride {words} ({RUNS})"
    )


def rope_2d_needs_a_stride() -> Finding:
    """Interference gap of two branches under 2-D RoPE at stride 1, minus that at stride 128."""
    two, four = ([runs(f"{where}: 2-D RoPE", f"gap {n}") for where in ("stride 1", "two")] for n in (2, 4))
    helps, hurts = better(two[1], two[0]), better(four[0], four[1])
    return Finding(
        "depends" if helps and hurts else "holds" if helps else "fails",
        mean(two[0]) - mean(two[1]),
        f"with four, never trained on, the gap is {mean(four[0]):.3f} at 1 and {mean(four[1]):.3f} at 128",
    )


def the_table_is_long_enough() -> Finding:
    """The last position of eight branches at the note's stride."""
    last = 7 * WIDEST
    return Finding("holds" if last < ROWS else "fails", float(last), f"the table has {ROWS:,} rows")


def the_table_has_16_million_numbers() -> Finding:
    """Numbers in the table, in units of 2^20."""
    return Finding(
        "holds" if ROWS * WIDTH == 16 * 2**20 else "fails",
        ROWS * WIDTH / 2**20,
        "eight of its rows are ever read",
    )


def logits_differ_more_at_128() -> Finding:
    """Change of the logits at stride 128 over that at stride 1; the note has 0.478 / 0.108."""
    ratio, apart = logit_difference(128) / logit_difference(1), code_distance(128) / code_distance(1)
    return Finding(
        "holds" if ratio > 2 else "fails",
        ratio,
        f"the codes are {apart:.1f} times further apart: the stride at work",
    )


_WHERE = {1: "stride 1", 8: "stride 8", 128: "two", 1024: "stride 1024"}

CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "at stride 4096 2-D RoPE still leaves a cosine of 0.95", one_pair_stands_for_all),
    Claim(NOTE, "neighbouring rows of the table are 85% alike", neighbours_are_85_percent_alike),
    Claim(NOTE, "rows 0 and 128 are 31% alike", at_128_they_are_31_percent_alike),
    Claim(NOTE, "every index has a vector of its own", all_rows_differ),
    Claim(NOTE, "how far apart the indices are does not matter", spacing_does_not_matter_to_codes),
    Claim(NOTE, "trained, Fourier codes need no stride", training_does_not_need_a_stride),
    Claim(NOTE, "trained, learnable codes need no stride", learnable_codes_do_not_need_a_stride),
    Claim(NOTE, "2-D RoPE needs a stride", rope_2d_needs_a_stride),
    Claim(NOTE, "32,768 rows are enough for eight branches at stride 4096", the_table_is_long_enough),
    Claim(NOTE, "that table has 16 M numbers", the_table_has_16_million_numbers),
    Claim(NOTE, "from index 1 to 128 the logits differ about four times more", logits_differ_more_at_128),
)
