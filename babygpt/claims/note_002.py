"""The claims of note 002: Fourier codes for parallel branches, the guide."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean

import torch

from babygpt.claims.base import Claim, Finding
from babygpt.claims.branches import (
    RUNS,
    average,
    better,
    code_cosine,
    code_distance,
    floor,
    logit_difference,
    losses,
    runs,
    turned_cosine,
)
from babygpt.config import ModelConfig
from babygpt.models.versions import build
from babygpt.places import Places

NOTE = "002_79f4b48e18265706.txt"


def rope_2d_leaves_branches_alike() -> Finding:
    """Cosine of a vector in two branches under 2-D RoPE at stride 4096."""
    cosine = turned_cosine(4096)
    return Finding(
        "holds" if cosine >= 0.93 else "fails",
        cosine,
        f"all pairs together; a Fourier code of the same pairs gives {code_cosine(4096, 32):.3f}",
    )


def distance_is_17_4() -> Finding:
    """Distance of the Fourier codes of positions 0 and 128, width 512."""
    distance = code_distance(128)
    return Finding(
        "holds" if round(distance, 1) == 17.4 else "fails", distance, "measured on the formula, width 512"
    )


def similarity_is_31_percent() -> Finding:
    """Cosine of the Fourier codes of positions 0 and 128, width 512."""
    cosine, twice = code_cosine(128), code_cosine(256)
    return Finding(
        "holds" if round(cosine, 2) == 0.31 else "fails",
        cosine,
        f"at stride 256 it is {twice:.0%}; a distance of 17.4 goes with {cosine:.0%}",
    )


def larger_stride_less_alike() -> Finding:
    """Largest rise of the cosine when the stride doubles, from 1 to 8192."""
    cosines = [code_cosine(2**i) for i in range(14)]
    rise = max(later - sooner for sooner, later in pairwise(cosines))
    small = max(later - sooner for sooner, later in pairwise(cosines[7:10]))
    verdict = "holds" if rise <= 0 else "depends" if small <= 0 else "fails"
    return Finding(
        verdict, rise, f"from 128 to 512 it falls: {cosines[7]:.2f}, {cosines[8]:.2f}, {cosines[9]:.2f}"
    )


def small_theta_suits_small_strides() -> Finding:
    """Cosine of neighbours at stride 1 under theta 1000, minus that under theta 100000."""
    low, high = code_cosine(1, theta=1_000.0), code_cosine(1, theta=100_000.0)
    return Finding(
        "holds" if low < high else "fails", low - high, f"theta 1000: {low:.3f}; theta 100000: {high:.3f}"
    )


def logits_differ_by_a_tenth() -> Finding:
    """Mean change of an untrained model's logits between branches 0 and 1 at stride 128."""
    once, twice = logit_difference(128), logit_difference(128, scale=2.0)
    return Finding(
        "depends", once, f"on how the head begins: its weights doubled give {twice:.3f}, and zeros give 0"
    )


def outputs_are_independent() -> Finding:
    """What leaks from branch 1 into branch 0 after training on two branches, nats per character."""
    leak, apart = average("two: Fourier", "leak"), average("two: Fourier", "leak, isolated")
    return Finding(
        "holds" if leak == 0 else "fails",
        leak,
        f"the code only lets a model learn to look away; the isolation mask leaks {apart:g}",
    )


def warm_up_is_a_must() -> Finding:
    """Loss among four branches with half the steps alone, minus that with all steps among four."""
    plain, warmed = (losses(name, 4) for name in ("four: Fourier", "four, warmed up: Fourier"))
    verdict = "holds" if better(warmed, plain) else "fails"
    return Finding(
        verdict, mean(warmed) - mean(plain), f"equal budget, 3 seeds: {RUNS}; nothing collapsed without it"
    )


def two_branches_reach_1_5() -> Finding:
    """Loss of two branches after training on two."""
    loss = mean(losses("two: Fourier", 2))
    return Finding(
        "depends", loss, f"on the text: no model can pass {floor():.2f} on ours, whatever its code"
    )


def rope_2d_is_stuck() -> Finding:
    """Loss of two branches under 2-D RoPE, minus that under the Fourier code."""
    rope, fourier = (losses(f"two: {code}", 2) for code in ("2-D RoPE", "Fourier"))
    return Finding(
        "holds" if better(fourier, rope) else "fails",
        mean(rope) - mean(fourier),
        f"equal stride and budget: {RUNS}",
    )


def new_branches_do_not_matter() -> Finding:
    """What four branches cost a model that was trained on two."""
    fourier, rope = average("two: Fourier", "gap 4"), average("two: 2-D RoPE", "gap 4")
    spread = average("two of eight numbers: Fourier", "gap 4")
    return Finding(
        "holds" if fourier < 0.05 else "fails",
        fourier,
        f"2-D RoPE: {rope:.2f}; Fourier, the two numbers drawn from eight: {spread:.2f}",
    )


def a_learnable_code_is_better() -> Finding:
    """Loss among eight branches with the learnable code, minus that with the fixed one."""
    learnt, fixed = (losses(name, 8) for name in ("up to eight: Fourier, learnable", "up to eight: Fourier"))
    verdict = "holds" if better(learnt, fixed) else "fails" if better(fixed, learnt) else "depends"
    return Finding(verdict, mean(learnt) - mean(fixed), f"trained on one to eight: {RUNS}")


def any_code_will_do() -> Finding:
    """Gap at eight branches of random codes, minus that of Fourier codes."""
    random, fourier = (runs(f"up to eight: {code}", "gap 8") for code in ("random", "Fourier"))
    verdict = "holds" if better(fourier, random) else "fails"
    return Finding(
        verdict, mean(random) - mean(fourier), "vectors drawn at random, never trained, are the control"
    )


@torch.inference_mode()
def weights_do_not_carry_over() -> Finding:
    """Change of the logits when the weights of a 2-D RoPE model are read with a Fourier code."""
    config = ModelConfig(16, 16, n_layer=1, n_head=2, n_embd=32)
    torch.manual_seed(0)
    rope, fourier = build("v6-rope2d", config), build("v6", config)
    for p in rope.parameters():
        torch.nn.init.normal_(p, std=0.2)
    fourier.load_state_dict(rope.state_dict())  # they fit, name by name
    idx, places = torch.randint(16, (1, 16)), Places(torch.arange(16), torch.arange(16) % 2)
    change = float((rope(idx, places) - fourier(idx, places)).abs().mean())
    return Finding(
        "holds" if change > 0.01 else "fails",
        change,
        "every tensor fits, and the same weights say other things",
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "2-D RoPE leaves branches 93–99% alike, even at stride 4096", rope_2d_leaves_branches_alike),
    Claim(NOTE, "at stride 128 Fourier codes are 17.4 apart", distance_is_17_4),
    Claim(NOTE, "at stride 128 Fourier codes are 31% alike", similarity_is_31_percent),
    Claim(NOTE, "a larger stride makes them less alike", larger_stride_less_alike),
    Claim(NOTE, "theta 1000 suits small strides, 100000 large ones", small_theta_suits_small_strides),
    Claim(NOTE, "the logits of two branches differ by more than 0.1", logits_differ_by_a_tenth),
    Claim(NOTE, "the outputs of two branches are independent", outputs_are_independent),
    Claim(NOTE, "without a single-branch stage training collapses", warm_up_is_a_must),
    Claim(NOTE, "two branches reach a loss of 1.5", two_branches_reach_1_5),
    Claim(NOTE, "2-D RoPE is stuck where Fourier codes are not", rope_2d_is_stuck),
    Claim(NOTE, "new branch numbers need not work: telling apart is all", new_branches_do_not_matter),
    Claim(NOTE, "a learnable code helps where the fixed one is not enough", a_learnable_code_is_better),
    Claim(NOTE, "it is the Fourier formula that tells branches apart", any_code_will_do),
    Claim(NOTE, "weights of 2-D RoPE do not carry over", weights_do_not_carry_over),
)
