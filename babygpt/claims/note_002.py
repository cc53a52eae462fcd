"""The claims of note 002: Fourier codes for parallel branches, the guide."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import log
from statistics import mean

import torch

from babygpt.claims.base import Claim, Finding, clearly_lower, decide
from babygpt.claims.branch_codes import (
    COMMAND,
    code_cosine,
    code_distance,
    logit_difference,
    losses_among,
    rope_cosine,
    seed_mean,
    text_floor,
)
from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.positions import Positions

NOTE = "002_79f4b48e18265706.txt"


def rope_2d_leaves_branches_alike() -> Finding:
    """Cosine of a vector in two branches under 2-D RoPE at stride 4096."""
    cosine = rope_cosine(4096)
    return Finding(
        decide(cosine >= 0.93),
        cosine,
        f"all pairs that turn with the branch; a Fourier code of them gives {code_cosine(4096, 32):.3f}, "
        f"and with the pairs that do not turn, a whole key is {(1 + cosine) / 2:.0%} alike",
    )


def distance_is_17_4() -> Finding:
    """Distance of the Fourier codes of positions 0 and 128, width 512."""
    distance = code_distance(128)
    return Finding(decide(round(distance, 1) == 17.4), distance, "measured on the formula, width 512")


def similarity_is_31_percent() -> Finding:
    """Cosine of the Fourier codes of positions 0 and 128, width 512."""
    cosine, twice = code_cosine(128), code_cosine(256)
    return Finding(
        decide(round(cosine, 2) == 0.31),
        cosine,
        f"at stride 256 it is {twice:.0%}; a distance of 17.4 goes with {cosine:.0%}",
    )


def larger_stride_less_alike() -> Finding:
    """Largest rise of the cosine when the stride doubles, from 1 to 8192."""
    cosines = [code_cosine(2**i) for i in range(14)]
    rise = max(later - sooner for sooner, later in pairwise(cosines))
    small = max(later - sooner for sooner, later in pairwise(cosines[7:10]))
    return Finding(
        "holds" if rise <= 0 else "depends" if small <= 0 else "fails",
        rise,
        f"from 128 to 512 it falls: {cosines[7]:.2f}, {cosines[8]:.2f}, {cosines[9]:.2f}",
    )


def small_theta_suits_small_strides() -> Finding:
    """Cosine of neighbours at stride 1 under theta 1000, minus that under the default 10000."""
    low, default = code_cosine(1, theta=1_000.0), code_cosine(1)
    return Finding(decide(low < default), low - default, f"theta 1000: {low:.3f}; 10000: {default:.3f}")


def large_theta_suits_large_strides() -> Finding:
    """Cosine of neighbours at stride 4096 under theta 100000, minus that under the default 10000."""
    high, default = code_cosine(4096, theta=100_000.0), code_cosine(4096)
    return Finding(
        decide(high < default),
        high - default,
        f"theta 100000: {high:.3f}; 10000: {default:.3f}: slower pairs tell less apart at any stride",
    )


def logits_differ_by_a_tenth() -> Finding:
    """Mean change of an untrained model's logits between branches 0 and 1 at stride 128."""
    changes = {scale: logit_difference(128, scale) for scale in (0.2, 1.0)}
    above = [change > 0.1 for change in changes.values()]
    return Finding(
        decide(*above),
        changes[1.0],
        f"with a head that begins at a fifth of the weights, {changes[0.2]:.3f}: it measures the start",
    )


def outputs_are_independent() -> Finding:
    """What leaks from branch 1 into branch 0 after training on two branches, nats per character."""
    leak, apart = seed_mean("two: Fourier", "leak"), seed_mean("two: Fourier", "leak, isolated")
    return Finding(
        decide(leak == 0),
        leak,
        f"the code only lets a model learn to look away; the isolation mask leaks {apart:g}",
    )


def warm_up_is_a_must() -> Finding:
    """Loss among four branches with half the steps alone, minus that with all steps among four."""
    plain, warmed = losses_among("four: Fourier", 4), losses_among("four, warmed up: Fourier", 4)
    nothing = mean(losses_among("up to eight: none", 4))
    return Finding(
        decide(clearly_lower(warmed, plain)),
        mean(warmed) - mean(plain),
        f"four branches from the first step reach {mean(plain):.3f} "
        f"(without a code {nothing:.3f}): {COMMAND}",
    )


def several_are_much_harder_than_one() -> Finding:
    """Loss of a model trained on four branches among four, minus that of one trained on two among two."""
    four, two = losses_among("four: Fourier", 4), losses_among("two: Fourier", 2)
    return Finding(
        "fails" if mean(four) - mean(two) < 0.1 else "holds",
        mean(four) - mean(two),
        f"{mean(four):.3f} and {mean(two):.3f} after equal budgets: {COMMAND}",
    )


def reaches(wanted: float, run: str, n: int) -> Finding:
    """Loss of n branches after a run of ours, against the note's aim for its own text."""
    loss, chance = mean(losses_among(run, n)), log(load_corpus("plain-tales", 1_000).tokenizer.vocab_size)
    return Finding(
        "depends" if loss < wanted < chance else "fails",
        loss,
        f"on the text: knowing nothing costs {chance:.1f} nats on ours, "
        f"and no model can pass {text_floor():.2f}",
    )


def rope_2d_is_stuck() -> Finding:
    """Loss of two branches under 2-D RoPE, minus that under the Fourier code."""
    rope, fourier = (losses_among(f"two: {code}", 2) for code in ("2-D RoPE", "Fourier"))
    return Finding(
        decide(clearly_lower(fourier, rope)),
        mean(rope) - mean(fourier),
        f"equal stride and budget: {COMMAND}",
    )


def telling_apart_is_all() -> Finding:
    """What four branches cost a model that was trained on two: their codes differ as much as ever."""
    gaps = {where: seed_mean(f"{where}: Fourier", "gap 4") for where in ("up to eight", "two")}
    works = [gap < 0.05 for gap in gaps.values()]
    return Finding(
        decide(*works),
        gaps["two"],
        f"where all numbers were trained {gaps['up to eight']:.3f}; 2-D RoPE, trained on two: "
        f"{seed_mean('two: 2-D RoPE', 'gap 4'):.2f}",
    )


def a_learnable_code_helps() -> Finding:
    """Loss among two at stride 1 with the learnable code, minus that with the fixed one."""
    learnt, fixed = losses_among("stride 1: Fourier, learnable", 2), losses_among("stride 1: Fourier", 2)
    wide = mean(losses_among("two: Fourier, learnable", 2)) - mean(losses_among("two: Fourier", 2))
    return Finding(
        decide(clearly_lower(learnt, fixed)),
        mean(learnt) - mean(fixed),
        f"at stride 1, where the fixed one is weak; at 128 the difference is {wide:+.3f}: {COMMAND}",
    )


@torch.inference_mode()
def weights_do_not_carry_over() -> Finding:
    """Change of the logits when weights of a 2-D RoPE model are read, untrained, with a Fourier code."""
    config = ModelConfig(16, 16, n_layer=1, n_head=2, n_embd=32)
    torch.manual_seed(0)
    rope, fourier = (build(name, config, stride=128) for name in ("v6-rope2d", "v6"))
    for p in rope.parameters():
        torch.nn.init.normal_(p, std=0.2)
    fourier.load_state_dict(rope.state_dict())  # they fit, name by name
    idx, positions = torch.randint(16, (1, 16)), Positions(torch.arange(16), torch.arange(16) % 2)
    change = float((rope(idx, positions) - fourier(idx, positions)).abs().mean())
    return Finding(decide(change > 0.01), change, "every tensor fits, and the same weights say other things")


CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "2-D RoPE leaves branches 93–99% alike, even at stride 4096", rope_2d_leaves_branches_alike),
    Claim(NOTE, "at stride 128 Fourier codes are 17.4 apart", distance_is_17_4),
    Claim(NOTE, "at stride 128 Fourier codes are 31% alike", similarity_is_31_percent),
    Claim(NOTE, "a larger stride makes them less alike", larger_stride_less_alike),
    Claim(NOTE, "theta 1000 suits small strides", small_theta_suits_small_strides),
    Claim(NOTE, "theta 100000 suits large strides", large_theta_suits_large_strides),
    Claim(NOTE, "the logits of two branches differ by more than 0.1", logits_differ_by_a_tenth),
    Claim(NOTE, "the outputs of two branches are independent", outputs_are_independent),
    Claim(NOTE, "without a single-branch stage training collapses", warm_up_is_a_must),
    Claim(NOTE, "several branches are much harder than one", several_are_much_harder_than_one),
    Claim(NOTE, "single branches get below 2.0", partial(reaches, 2.0, "two: Fourier", 1)),
    Claim(NOTE, "two branches reach a loss of 1.5", partial(reaches, 1.5, "two: Fourier", 2)),
    Claim(NOTE, "2-D RoPE is stuck where Fourier codes are not", rope_2d_is_stuck),
    Claim(NOTE, "what counts is telling apart, not generalising", telling_apart_is_all),
    Claim(NOTE, "a learnable code helps where the fixed one is not enough", a_learnable_code_helps),
    Claim(NOTE, "weights of 2-D RoPE do not carry over", weights_do_not_carry_over),
)
