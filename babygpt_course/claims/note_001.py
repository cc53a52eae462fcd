"""Measure the claims of note 001, Gaussian RoPE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from babygpt.encodings.gaussian import ALPHAS, SIGMAS
from babygpt_course.claims import note_001_kernels as measures
from babygpt_course.claims.claim import Claim, Finding, decide
from babygpt_course.claims.note_001_kernels import BUILT, LATE, NOTE, RANDOM, TWO_KERNELS
from babygpt_course.studies.gaussian_training import BEYOND, relative_kernel
from babygpt_course.studies.results import load_results

FORMULA, DISTANCE = "v5-absolute fixed", "v5 fixed"  # α and σ as in the note's code, where none is trained
ABSOLUTE = "K of the absolute position"  # fades to nothing late in a text, whatever the distance
SHAPE = "models of 2 layers, 4 heads, width 96 on windows of 64 characters, three seeds"


def board(world: str = "plain", longest: bool = True) -> tuple[dict[str, Any], str]:
    """Return what one world's longest (or shortest) trainings stored, and their steps."""
    found = load_results("gaussian")[world]
    steps = (max if longest else min)(found, key=int)
    return found[steps], steps


def gains_over(found: dict[str, Any], key: str, version: str, rival: str = "v4") -> np.ndarray:
    """Return how far a version's number is below its rival's, for each seed that both had."""
    pairs = zip(found[rival][key], found[version][key], strict=False)
    return np.array([other - one for other, one in pairs])


def over_seeds(*gains: np.ndarray) -> str:
    """Return the verdict of some gains, one a seed: "holds" if all are above 0, "fails" if none is."""
    return decide(*(np.concatenate(gains) > 0))


def listed(numbers: Sequence[float] | np.ndarray) -> str:
    """Format numbers with their signs, one a seed."""
    return ", ".join(f"{x:+.3f}" for x in numbers)


def lowers_the_loss() -> Finding:
    """Measure the nats per character that K(m - n) of the note gains over RoPE after the longest runs."""
    (plain, steps), (short, fewest), (full, full_steps) = board(), board(longest=False), board("full")
    gains = [gains_over(found, "val_loss", DISTANCE) for found in (plain, full)]
    reason = f"over RoPE, on the plain tales {listed(gains_over(short, 'val_loss', DISTANCE))} nats after "
    reason += f"{fewest} steps and {listed(gains[0])} after {steps}; on the full ones {listed(gains[1])} "
    return Finding(over_seeds(*gains), float(gains[0].mean()), f"{reason}after {full_steps}")


def formula_lowers_the_loss() -> Finding:
    """Measure nats per character that the note's own formula gains over RoPE on the plain tales."""
    found, steps = board(longest=False)
    fixed, trained = (gains_over(found, "val_loss", v) for v in (FORMULA, "v5-absolute"))
    reason = f"after {steps} steps K(m)K(n) gains {listed(fixed)} nats over RoPE, fixed as in the code, "
    return Finding(over_seeds(fixed, trained), float(fixed.mean()), f"{reason}and {listed(trained)} trained")


def helps_far_out() -> Finding:
    """Measure the gain over RoPE in the fourth window, in nats per character, after training on one.

    These are positions beyond the window. How far back a text's own dependencies reach was not varied.
    """
    (long, steps), (short, fewest) = board(), board(longest=False)
    relative, absolute = gains_over(long, "far", DISTANCE), gains_over(short, "far", FORMULA)
    reason = f"in the fourth window of a model trained on one, K(m − n) gains {listed(relative)} nats over "
    reason += f"RoPE after {steps} steps, the formula {listed(absolute)} after {fewest}"
    return Finding(over_seeds(relative, absolute), float(relative.mean()), reason)


def reaches_further_than_rope() -> Finding:
    """Measure how much more hiding the far costs a model with K(m - n), fixed, than RoPE: mean over seeds.

    A model that neglects the far loses nothing when the far is hidden.
    """
    found, steps = board()
    at = load_results("gaussian")["distances"].index(BEYOND)
    cost = {v: [seed[at] for seed in found[v]["hiding"]] for v in ("v4", DISTANCE, "v5")}
    more = {v: [a - b for a, b in zip(cost[v], cost["v4"], strict=False)] for v in (DISTANCE, "v5")}
    neglects = "neglects it" if max(cost["v4"]) < 0.01 else "does not neglect it"
    reason = f"after {steps} steps, hiding all beyond {BEYOND} tokens costs RoPE {listed(cost['v4'])} nats: "
    reason += f"it {neglects}; K(m − n) {listed(cost[DISTANCE])} fixed, {listed(cost['v5'])} trained"
    verdict = decide(*(min(gains) > 0 for gains in more.values()))
    return Finding(verdict, float(np.mean(more[DISTANCE])), reason)


def finds_the_range() -> Finding:
    """Measure the share of right answers that a kernel loses when its range is trained."""
    (short, fewest), (long, steps) = board(longest=False), board()
    early, late = (-gains_over(found, "accuracy", DISTANCE, "v5") for found in (short, long))
    start = load_results("gaussian")["start"]["half"]
    halves = " or ".join(map(str, sorted({kernel[0]["half"] for kernel in long["v5"]["kernel"]})))
    reason = f"trained, K(m − n) changes the share of right answers by {listed(-early)} after {fewest} steps "
    reason += f"and {listed(-late)} after {steps}: it halves in {halves} tokens, not in {start}"
    harmed = [bool((lost > 0.05).all()) for lost in (early, late)]
    verdict = "fails" if all(harmed) else "depends" if any(harmed) else "holds"
    return Finding(verdict, float(late.mean()), reason)


def formula_keeps_a_scale() -> Finding:
    """Measure the least share of K(0) that the trained kernel of the formula has left at the window's end."""
    found, steps = board(longest=False)
    results = load_results("gaussian")
    size, trained = results["block_size"], [kernels[0] for kernels in found["v5-absolute"]["kernel"]]
    left = min(float(relative_kernel(numbers, size)[-1]) for numbers in trained)
    before = float(relative_kernel(results["start"], size)[-1])
    reason = f"given gradients for {steps} steps, K({size}) goes from {before:.1%} of K(0) to {left:.0%} or "
    reason += "more: training takes the kernel out of the window's way"
    return Finding(decide(left < 0.5), left, reason)


claim = partial(Claim, NOTE)
random_claim = partial(Claim, NOTE, reading=TWO_KERNELS, scope=RANDOM)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "RoPE keeps relative positions",
        measures.rope_is_relative,
        "RoPE 通过旋转嵌入方式保留了相对位置信息",
        "by embedding through rotation, RoPE keeps the information of relative positions",
        scope="random queries and keys",
    ),
    claim(
        "θ_j = 10000^(−2j/d)",
        measures.frequencies_are_right,
        "$\\theta_j = 10000^{-2j/d}$，用于控制旋转角度",
        "θ_j = 10000^(−2j/d), which controls the angle of rotation",
        scope="arithmetic",
    ),
    claim(
        "RoPE is fixed and cannot balance near and far",
        measures.rope_cannot_choose_its_scale,
        "这种固定的旋转变换可能在局部信息（例如短距离依赖）和全局信息（长距离依赖）之间无法做到良好的平衡",
        "this fixed rotation may not strike a good balance between the local and the global",
        reading="the rotation is fixed, and that holds; that a head can therefore not choose does not",
        scope=BUILT,
    ),
    claim(
        "RoPE's frequencies may be too coarse for near tokens",
        measures.rope_is_too_coarse,
        "而 RoPE 默认的旋转频率可能不足以应对",
        "(near dependencies ask for finer detail,) for which RoPE's usual frequencies may not do",
        scope=BUILT,
    ),
    claim(
        "K brings back attention to the far that RoPE neglects",
        reaches_further_than_rope,
        "但固定的旋转幅度可能导致对全局信息的关注不足",
        "but the fixed amplitude of rotation may lead to too little attention to the global",
        reading="K(m − n) was asked; the formula's attention is a plain average late in a text",
        scope=SHAPE + "; plain tales, 1200 steps",
    ),
    claim(
        "K(m) controls the sensitivity at relative positions",
        measures.kernel_knows_the_distance,
        "这意味着高斯核控制 RoPE 在不同相对位置 $r$ 的感知能力",
        "this means that the kernel controls RoPE's perception at different relative positions r",
        reading=TWO_KERNELS,
        scope="random queries and keys",
    ),
    random_claim(
        "α₁ and α₂ weigh local against global",
        partial(measures.in_both_uses, "α₂ ten times larger", alphas=(ALPHAS[0], 10 * ALPHAS[1])),
        "分别控制不同尺度的权重，分别对应局部和全局信息的感知",
        "(α₁ and α₂) control the weights of the scales, one for local, one for global perception",
    ),
    random_claim(
        "σ₁ and σ₂ control how far the model looks",
        partial(measures.in_both_uses, "σ₁ and σ₂ twice as wide", sigmas=[2 * sigma for sigma in SIGMAS]),
        "控制局部和全局信息的感知范围",
        "(σ₁ and σ₂) control the range in which local and global information is perceived",
    ),
    claim(
        "K works by controlling the rotation's frequency",
        measures.kernel_changes_the_rotation,
        "高斯核通过控制 RoPE 的旋转频率，起到调整模型感知范围的作用",
        "by controlling RoPE's frequency, the kernel adjusts how far the model perceives",
        reading="the note says the opposite one section later, and that is a claim of its own",
        scope="the formula on 64 random vectors",
    ),
    random_claim(
        "where m is small, K strengthens the local",
        partial(measures.on_a_match, 4, early=12, late=LATE),
        "当 $m$ 较小时，高斯核将加强局部信息的处理能力",
        "where m is small, the kernel strengthens the processing of local information",
    ),
    random_claim(
        "where m is large, K strengthens the global",
        partial(measures.on_a_match, 40, early=LATE, late=LATE),
        "当 $m$ 较大时，高斯核将增强对全局信息的处理能力",
        "where m is large, the kernel strengthens the processing of global information",
    ),
    claim(
        "K scales from outside and leaves the frequency alone",
        measures.kernel_leaves_the_frequency,
        "而不是直接影响旋转频率本身",
        "(K adjusts the focus) and does not directly affect the rotation's frequency itself",
        reading="the note says the opposite one section before, and that is a claim of its own",
        scope="the formula on 64 random vectors",
    ),
    claim(
        "the two terms switch scales by themselves",
        measures.scales_switch,
        "进而让模型在不同的绝对位置下自动切换",
        "and so lets the model switch by itself at different absolute positions",
        reading="by the place, or distance, alone, which holds; or by what the text needs, which does not",
        scope=RANDOM,
    ),
    claim(
        "K balances near and far within the window (the formula)",
        formula_keeps_a_scale,
        "我们可以为局部和全局信息定义不同的感知尺度",
        "we can define different scales of perception for local and global information",
        reading=TWO_KERNELS + "; this is K(m), trained",
        scope=SHAPE + "; plain tales, 300 steps",
        fault=ABSOLUTE,
    ),
    claim(
        "the code runs on its own example",
        measures.code_runs,
        "query_rotated, key_rotated = rotary_emb(query, key)",
        "(the last step of its example: two texts of 128 tokens with 64 channels)",
        scope="the note's code, shortened, on the note's shapes",
        fault=measures.AXIS,
    ),
    claim(
        "the code multiplies the vector at m by K(m)",
        measures.code_scales_by_place,
        "return K_r * ((x * cos) + (rotate_half(x) * sin))",
        "(its code for: K multiplies the rotated vector)",
        scope="the note's code, shortened, on 64 tokens with 64 channels, where it runs",
        fault=measures.AXIS,
    ),
    claim(
        "the code rotates even and odd channels",
        measures.code_rotates,
        '"""旋转一半维度，用于RoPE的奇偶维度交换"""',
        "turns half of the dimensions, to swap RoPE's odd and even ones",
        scope="the note's code, shortened, on 8 random texts of 128 tokens",
    ),
    claim(
        "the code's kernel adapts",
        measures.code_adapts,
        "使其在处理短距离（局部）和长距离（全局）依赖时能够更加自适应",
        "so that it handles short (local) and long (global) dependencies more adaptively",
        reading="that K adapts as a model is trained; one that can is a claim of its own",
        scope="the note's code, shortened",
    ),
    claim(
        "the code works where its queries and keys are",
        measures.code_follows_its_device,
        "t = torch.arange(seq_len, device=k.device).type_as(self.inv_freq)",
        "(its code for: the places, on the device of k)",
        scope="the note's code, shortened, moved to PyTorch's device meta",
    ),
    claim(
        "a model learns better with K (K of the distance)",
        lowers_the_loss,
        "从而提升模型对不同信息范围的感知能力",
        "and so the model perceives information at different ranges better",
        reading=TWO_KERNELS + "; this is K(m − n), the next claim K(m)",
        scope=SHAPE + "; plain tales 300 and 1200 steps, full tales 300",
    ),
    claim(
        "a model learns better with K (the formula)",
        formula_lowers_the_loss,
        "使其在处理短距离（局部）和长距离（全局）依赖时能够更加自适应，从而提升模型对不同信息范围的感知能力",
        "so that it is more adaptive near and far, and the model perceives ranges better",
        reading=TWO_KERNELS + "; this is K(m), the claim before K(m − n)",
        scope=SHAPE + "; plain tales, 300 steps",
        fault=ABSOLUTE,
    ),
    claim(
        "a model adjusts the range of K to what it needs",
        finds_the_range,
        "这种方法让模型能够根据相对位置信息自动调节感知范围",
        "this lets the model adjust its range of perception by itself, by relative positions",
        reading="K(m − n) with trained α and σ was asked; in the note's code nothing is trained",
        scope=SHAPE + "; plain tales, 300 and 1200 steps",
    ),
    claim(
        "K helps at other positions (those beyond the window)",
        helps_far_out,
        "增强了模型在不同位置依赖下的表现",
        "(it) strengthens the model's performance under dependencies at different positions",
        reading=TWO_KERNELS + "; and other positions are taken as those past the trained window",
        scope=SHAPE + "; plain tales, 300 and 1200 steps",
    ),
)
