"""The claims of note 002: Fourier codes for parallel branches, the guide."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import torch

from babygpt.encodings import Encoding, Fourier, Rotary2D
from babygpt.positions import Positions
from babygpt_course.claims import branch_training as trained
from babygpt_course.claims.base import Claim, Finding, decide
from babygpt_course.claims.branch_codes import (
    HEAD_DIM,
    SCOPE,
    WIDTH,
    code_cosine,
    code_distance,
    interaction,
    logit_difference,
    rope_cosine,
)

NOTE = "002_79f4b48e18265706.txt"
OTHER_STRIDE = "the likeness of stride 256 is given as that of stride 128"


def rope_2d_leaves_branches_alike() -> Finding:
    """Cosine of a vector in two branches under 2-D RoPE at stride 4096, and of a trained model's streams."""
    cosine, inside = rope_cosine(4096), min(trained.streams("stride 4096: 2-D RoPE"))
    rival = min(trained.streams("stride 4096: Fourier"))
    return Finding(
        decide(cosine >= 0.93, inside >= 0.93),
        cosine,
        f"a rotated vector, by the pairs that turn; by all pairs {(1 + cosine) / 2:.0%}. The streams of a "
        f"trained model are at least {inside:.0%} alike, under Fourier codes {rival:.0%}",
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
    """Largest rise of the cosine when a stride doubles, from 1 to 8192, by the 16 pairs of a head.

    It is asked of equal pairs: on the same frequencies a Fourier code and 2-D RoPE have the same cosine.
    """
    rises = {}
    for width in (WIDTH, HEAD_DIM // 2):  # of the Fourier code, and of the pairs that turn in a head
        cosines = [rope_cosine(2**i, width) for i in range(14)]
        rises[width] = max(later - sooner for sooner, later in pairwise(cosines))
    many, few = ([rope_cosine(s, width) for s in (128, 256, 300)] for width in rises)
    return Finding(
        decide(*(rise <= 0 for rise in rises.values()), many[2] <= many[1]),
        rises[HEAD_DIM // 2],
        f"on the pairs: 256 of them {many[0]:.2f} at 128, {many[1]:.2f} at 256, {many[2]:.2f} at 300; "
        f"16 of them {few[0]:.2f}, {few[1]:.2f}, {few[2]:.2f}; the same under either code",
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


def attention_turns_with_the_branch(encoding: Encoding) -> bool:
    """Whether a key that is turned in branch 1 differs from the same key turned in branch 0."""
    key, zero = torch.ones(1, 1, 1, HEAD_DIM), torch.tensor([0])
    turned = [encoding.transform_qk(key, key, Positions(zero, zero + branch))[1] for branch in (0, 1)]
    return not torch.equal(*turned)


def branch_and_time_are_decoupled() -> Finding:
    """How far a score under the Fourier code is from a part for time plus one for the branch, in its sd."""
    code, rope = Fourier(HEAD_DIM, WIDTH, stride=128), Rotary2D(HEAD_DIM, stride=128)
    mixed, apart = interaction(code), interaction(rope)
    outside = attention_turns_with_the_branch(rope) and not attention_turns_with_the_branch(code)
    return Finding(
        decide(outside, mixed <= apart),
        mixed,
        f"in the program yes: attention need not know of branches. In a score no: time and branch mix, "
        f"where 2-D RoPE adds one part for each, to {apart:.0e}",
    )


claim = partial(Claim, NOTE, scope=SCOPE)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "2-D RoPE leaves branches 93–99% alike, even at stride 4096",
        rope_2d_leaves_branches_alike,
        "即使stride=4096，相似度仍然93-99%",
        "even at stride = 4096 the similarity is still 93–99%",
        scope=f"one vector of ones, 32 channels; streams: {trained.SCOPE}",
        reading="of one rotated vector, or of two branches' streams inside a trained model: both are asked",
    ),
    claim(
        "at stride 128 Fourier codes are 17.4 apart",
        distance_is_17_4,
        "直接加在embedding上，L2距离17.4，相似度31%",
        "added to the embedding directly, L2 distance 17.4, similarity 31%",
    ),
    claim(
        "at stride 128 Fourier codes are 31% alike",
        similarity_is_31_percent,
        "stride=128: L2距离=17.4, 相似度=31%",
        "stride = 128: L2 distance = 17.4, similarity = 31%",
        fault=OTHER_STRIDE,
    ),
    claim(
        "a larger stride makes them less alike",
        larger_stride_less_alike,
        "stride=256: L2距离=更大, 相似度=更低",
        "stride = 256: L2 distance = larger, similarity = lower",
        reading="by the 256 pairs of a Fourier code or the 16 of a head, doubled or not: all are asked",
    ),
    claim(
        "theta 1000 suits small strides",
        small_theta_suits_small_strides,
        "`theta=1000`：更高频，适合小的stride",
        "theta = 1000: higher frequencies, suits small strides",
    ),
    claim(
        "theta 100000 suits large strides",
        large_theta_suits_large_strides,
        "`theta=100000`：更低频，适合大的stride",
        "theta = 100000: lower frequencies, suits large strides",
    ),
    claim(
        "branch and time are decoupled, more than under 2-D RoPE",
        branch_and_time_are_decoupled,
        "branch和time编码分离，更清晰",
        "the encodings of branch and time are separate, clearer",
        scope="random tokens and weights, width 512, heads of 64 channels, branch 1 five tokens away",
        reading="of the program's parts, or of what a score is made of: both are asked",
    ),
    claim(
        "the logits of two branches differ by more than 0.1",
        logits_differ_by_a_tenth,
        "相同input_ids，不同branch的logits差异: > 0.1",
        "same input_ids, difference of the logits of different branches: > 0.1",
        scope="untrained models of 2 layers, width 512, 3 seeds",
    ),
    claim(
        "the outputs of two branches are independent",
        trained.outputs_are_independent,
        "不同branch的输出应该完全独立",
        "the outputs of different branches should be completely independent",
        scope=trained.SCOPE,
    ),
    claim(
        "two branches write no gibberish",
        trained.no_gibberish,
        "不应该出现gibberish",
        "no gibberish should appear",
        scope=f"words at temperature 1; {trained.SCOPE}",
        reading="gibberish that company brings: the control is what the model writes in isolated branches",
    ),
    claim(
        "without a single-branch stage training collapses",
        trained.warm_up_is_a_must,
        "如果模型还没学会基础LM，直接上多branch会崩溃",
        "if the model has not learned basic language modelling, going straight to several branches collapses",
        scope=trained.SCOPE,
    ),
    claim(
        "several branches are much harder than one",
        trained.several_are_much_harder_than_one,
        "多branch训练比单branch难得多",
        "training several branches is much harder than a single one",
        scope=f"8 texts a step whatever the number of branches; {trained.SCOPE}",
        reading=f"much: by more than {trained.MUCH:g} nats per character, at equal steps and texts",
    ),
    claim(
        "2-D RoPE is stuck where Fourier codes are not",
        trained.rope_2d_is_stuck,
        "目标：< 1.5（RoPE通常卡在2.5）",
        "target: < 1.5 (RoPE is usually stuck at 2.5)",
        scope=trained.SCOPE,
    ),
    claim(
        "what counts is telling apart, not generalising",
        trained.telling_apart_is_all,
        "关键是区分度，不是泛化性",
        "the key is telling apart, not generalising",
        scope=trained.SCOPE,
        reading="with branch numbers that were trained, as the note assumes, or with new ones: both",
    ),
    claim(
        "a learnable code helps where the fixed one is not enough",
        trained.a_learnable_code_helps,
        "如果效果不好，再尝试可学习版本",
        "if the effect is not good, then try the learnable version",
        scope=trained.SCOPE,
    ),
    claim(
        "weights of 2-D RoPE do not carry over",
        trained.weights_do_not_carry_over,
        "不能直接迁移RoPE 2D的权重",
        "the weights of 2-D RoPE cannot be carried over directly",
        scope=trained.SCOPE,
    ),
)
