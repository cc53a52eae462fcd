"""Claims of note 001, Gaussian RoPE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from babygpt import invariants
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt_course.claims import note_001_kernels as kernels
from babygpt_course.claims.claim import Finding, decide, measured_by
from babygpt_course.claims.note_001_kernels import HEAD_DIM, LATE, TEXTS, NoteRotary
from babygpt_course.studies.gaussian_training import BEYOND, relative_kernel
from babygpt_course.studies.results import load_results

NOTE = "001_e1f3ab19410e1e33.txt"
NEAR = 8  # tokens that count as near
DIM = 64  # channels, as in the note's example
FORMULA, DISTANCE = "v5-absolute fixed", "v5 fixed"  # α and σ as in the note's code, where none is trained
TWO_KERNELS = "m is a place in the formula and a distance in the text: K(m) and K(m − n) were both asked"
VECTORS = "the formula on 64 random vectors"
BUILT = f"a head of {HEAD_DIM} channels built by hand, among 64 tokens"
RANDOM = f"an untrained head of {HEAD_DIM} channels on {TEXTS} random texts, with the note's α and σ"
SHAPE = "models of 2 layers, 4 heads, width 96 on windows of 64 characters, three seeds; plain tales"
CODE = "the note's code, shortened"
ABSOLUTE = "K of the absolute position"  # fades to nothing late in a text, whatever the distance
AXIS = "K_r lacks an axis for the channels"
claim = partial(measured_by, NOTE)
random_claim = partial(claim, reading=TWO_KERNELS, scope=RANDOM)


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


# ---------------------------------------------------------------- the note's sentences


@claim(
    "RoPE keeps relative positions",
    "RoPE 通过旋转嵌入方式保留了相对位置信息",
    "by embedding through rotation, RoPE keeps the information of relative positions",
    scope="random queries and keys",
)
def rope_is_relative() -> Finding:
    """Measure the largest change of a RoPE score when query and key move together."""
    found = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    return Finding(decide(found.holds), found.value, "q and k turn together: only the distance is left")


@claim(
    "θ_j = 10000^(−2j/d)",
    "$\\theta_j = 10000^{-2j/d}$，用于控制旋转角度",
    "θ_j = 10000^(−2j/d), which controls the angle of rotation",
    scope="arithmetic",
)
def frequencies_are_right() -> Finding:
    """Measure the error of 10000^(-2j/d) against the angle by which RoPE turns pair j between neighbours."""
    x = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(HEAD_DIM // 2)
    turned = rotate(x[None], torch.tensor([1]))[0]
    by_note = 10_000 ** (-2 * torch.arange(HEAD_DIM // 2).double() / HEAD_DIM)
    error = float((torch.atan2(turned[1::2], turned[::2]) - by_note).abs().max())
    reason = "so far does RoPE, as published, turn pair j from place to place"
    return Finding(decide(error < 1e-9), error, reason)


@claim(
    "RoPE is fixed and cannot balance near and far",
    "这种固定的旋转变换可能在局部信息（例如短距离依赖）和全局信息（长距离依赖）之间无法做到良好的平衡",
    "this fixed rotation may not strike a good balance between the local and the global",
    reading="the rotation is fixed, and that holds; that a head can therefore not choose does not",
    scope=BUILT,
)
def rope_cannot_choose_its_scale() -> Finding:
    """Compare the attention on the nearest 8 of 64 tokens in the four fastest pairs and the four slowest."""
    near, wide = (
        float(kernels.attention_with_pairs(pairs)[:NEAR].sum()) for pairs in (slice(4), slice(-4, None))
    )
    trainable = sum(p.numel() for p in Rotary(HEAD_DIM).parameters())
    reason = f"{trainable} numbers to train, but q and k choose the pairs: fast ones give {near:.0%} of the "
    reason += f"attention to {NEAR} of 64 tokens, slow ones {wide:.0%}"
    return Finding("depends" if near > 2 * wide else "holds", near - wide, reason)


@claim(
    "RoPE's frequencies may be too coarse for near tokens",
    "而 RoPE 默认的旋转频率可能不足以应对",
    "(near dependencies ask for finer detail,) for which RoPE's usual frequencies may not do",
    scope=BUILT,
)
def rope_is_too_coarse() -> Finding:
    """Measure the attention that RoPE can put on the token before, with the pairs it has."""
    most = max(float(kernels.attention_with_pairs(slice(pairs))[1]) for pairs in range(1, HEAD_DIM // 2 + 1))
    reason = f"a query in the fastest pairs gives {most:.0%} of its attention to the one token before it"
    return Finding(decide(most < 0.5), most, reason)


@claim(
    "K brings back attention to the far that RoPE neglects",
    "但固定的旋转幅度可能导致对全局信息的关注不足",
    "but the fixed amplitude of rotation may lead to too little attention to the global",
    reading="K(m − n) was asked; the formula's attention is a plain average late in a text",
    scope=SHAPE + ", 1200 steps",
)
def reaches_further_than_rope() -> Finding:
    """Measure how much more hiding the far costs a model with K(m - n), fixed, than RoPE: mean over seeds.

    A model that neglects the far loses nothing when the far is hidden.
    """
    found, steps = board()
    at = load_results("gaussian")["distances"].index(BEYOND)
    rope, fixed, trained = (
        np.array([seed[at] for seed in found[version]["hiding"]]) for version in ("v4", DISTANCE, "v5")
    )
    neglects = "neglects it" if max(rope) < 0.01 else "does not neglect it"
    reason = f"after {steps} steps, hiding all beyond {BEYOND} tokens costs RoPE {listed(rope)} nats: "
    reason += f"it {neglects}; K(m − n) {listed(fixed)} fixed, {listed(trained)} trained"
    verdict = decide(*(bool((cost > rope).all()) for cost in (fixed, trained)))
    return Finding(verdict, float((fixed - rope).mean()), reason)


@claim(
    "K(m) controls the sensitivity at relative positions",
    "这意味着高斯核控制 RoPE 在不同相对位置 $r$ 的感知能力",
    "this means that the kernel controls RoPE's perception at different relative positions r",
    reading=TWO_KERNELS,
    scope="random queries and keys",
)
def kernel_knows_the_distance() -> Finding:
    """Measure the largest change of a score, by the formula, when query and key move together."""
    kinds = (kind(HEAD_DIM, learnable=False) for kind in (AbsoluteGaussian, RelativeGaussian))
    formula, text = (invariants.shift_invariant(each, head_dim=HEAD_DIM) for each in kinds)
    near, far = (float(kernels.note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    reason = f"the formula multiplies a score by K(m)K(n): {near:.2f} for 3 and 0, {far:.0e} for 63 and 60; "
    reason += "K(m − n) is " + ("the same for both" if text.holds else "no function of the distance either")
    return Finding(decide(formula.holds, text.holds), formula.value, reason)


def in_both_uses(what: str, **changed: Any) -> Finding:
    """Measure how many tokens further a query at 60 looks when the kernel is changed, in both uses.

    what     change in words
    changed  alphas or sigmas of the kernel
    """
    formula, relative = (
        kernels.mean_distance(kind(HEAD_DIM, **changed)) - kernels.mean_distance(kind(HEAD_DIM))
        for kind in (AbsoluteGaussian, RelativeGaussian)
    )
    reason = f"{what}: a query at {LATE} looks {relative:+.1f} tokens further with K(m − n), "
    reason += f"{formula:+.1f} with the formula"
    return Finding(decide(formula > 1.0, relative > 1.0), relative, reason)


alphas_weigh = random_claim(
    "α₁ and α₂ weigh local against global",
    "分别控制不同尺度的权重，分别对应局部和全局信息的感知",
    "(α₁ and α₂) control the weights of the scales, one for local, one for global perception",
)(partial(in_both_uses, "α₂ ten times larger", alphas=(ALPHAS[0], 10 * ALPHAS[1])))


sigmas_reach = random_claim(
    "σ₁ and σ₂ control how far the model looks",
    "控制局部和全局信息的感知范围",
    "(σ₁ and σ₂) control the range in which local and global information is perceived",
)(partial(in_both_uses, "σ₁ and σ₂ twice as wide", sigmas=[2 * sigma for sigma in SIGMAS]))


@claim(
    "K works by controlling the rotation's frequency",
    "高斯核通过控制 RoPE 的旋转频率，起到调整模型感知范围的作用",
    "by controlling RoPE's frequency, the kernel adjusts how far the model perceives",
    reading="the note says the opposite one section later, and that is a claim of its own",
    scope=VECTORS,
)
def kernel_changes_the_rotation() -> Finding:
    """Measure the largest angle between f(x, m) and x rotated without the kernel, in radians."""
    angle, _ = kernels.angle_to_rope()
    return Finding(decide(angle > 1e-3), angle, "it stretches vectors; their directions stay RoPE's")


def on_a_match(back: int, early: int, late: int) -> Finding:
    """Measure what K adds to the attention on a key that fits, `back` tokens before.

    early, late  position of the query when the formula is asked, and when K(m - n) is
    """
    changes, gains = [], []
    for name, kind, m in (("the formula", AbsoluteGaussian, early), ("K(m − n)", RelativeGaussian, late)):
        plain, with_k = (kernels.attention_on_match(each(HEAD_DIM), m, back) for each in (Rotary, kind))
        changes.append(f"at {m} {plain:.0%} becomes {with_k:.0%} by {name}")
        gains.append(with_k - plain)
    reason = f"attention on the one key that fits, {back} tokens back: {', '.join(changes)}"
    return Finding(decide(*(gain > 0.01 for gain in gains)), gains[1], reason)


local_is_stronger = random_claim(
    "where m is small, K strengthens the local",
    "当 $m$ 较小时，高斯核将加强局部信息的处理能力",
    "where m is small, the kernel strengthens the processing of local information",
)(partial(on_a_match, 4, early=12, late=LATE))


global_is_stronger = random_claim(
    "where m is large, K strengthens the global",
    "当 $m$ 较大时，高斯核将增强对全局信息的处理能力",
    "where m is large, the kernel strengthens the processing of global information",
)(partial(on_a_match, 40, early=LATE, late=LATE))


@claim(
    "K scales from outside and leaves the frequency alone",
    "而不是直接影响旋转频率本身",
    "(K adjusts the focus) and does not directly affect the rotation's frequency itself",
    reading="the note says the opposite one section before, and that is a claim of its own",
    scope=VECTORS,
)
def kernel_leaves_the_frequency() -> Finding:
    """Measure the error of the length of f(x, m) against K(m), if its direction is RoPE's."""
    angle, error = kernels.angle_to_rope()
    reason = "a factor in front of a rotation changes every length, and no direction"
    return Finding(decide(max(angle, error) < 1e-3), error, reason)


@claim(
    "the two terms switch scales by themselves",
    "进而让模型在不同的绝对位置下自动切换",
    "and so lets the model switch by itself at different absolute positions",
    reading="by the place, or distance, alone, which holds; or by what the text needs, which does not",
    scope=RANDOM,
)
def scales_switch() -> Finding:
    """Measure by how many tokens texts differ in where the wide Gaussian overtakes the narrow one."""
    at = kernels.crossovers()
    moved, first, last = int((at.amax(dim=-1) - at.amin(dim=-1)).max()), int(at.min()), int(at.max())
    where = f"{first} to {last}" if last > first else str(first)
    reason = f"the wide term overtakes the narrow one from {where} tokens on, asked of {TEXTS} random texts: "
    reason += "it depends on the text" if moved else "α and σ set it beforehand, and no text moves it"
    return Finding(decide(0 < first < LATE, moved > 0), float(moved), reason)


@claim(
    "K balances near and far within the window (the formula)",
    "我们可以为局部和全局信息定义不同的感知尺度",
    "we can define different scales of perception for local and global information",
    reading=TWO_KERNELS + "; this is K(m), trained",
    scope=SHAPE + ", 300 steps",
    fault=ABSOLUTE,
)
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


@claim(
    "the code runs on its own example",
    "query_rotated, key_rotated = rotary_emb(query, key)",
    "(the last step of its example: two texts of 128 tokens with 64 channels)",
    scope="the note's code, shortened, on the note's shapes",
    fault=AXIS,
)
def code_runs() -> Finding:
    """Count the tokens that the code of the note's example accepts: 128, or none if it raises."""
    try:
        out = NoteRotary()(torch.zeros(2, 128, DIM))
    except RuntimeError as error:
        return Finding("fails", 0.0, f"{str(error).splitlines()[0]}; it runs where T = D")
    return Finding("holds", float(out.shape[-2]), "it runs")


@claim(
    "the code multiplies the vector at m by K(m)",
    "return K_r * ((x * cos) + (rotate_half(x) * sin))",
    "(its code for: K multiplies the rotated vector)",
    scope="the note's code, shortened, on 64 tokens with 64 channels, where it runs",
    fault=AXIS,
)
def code_scales_by_place() -> Finding:
    """Measure the error of the factor that the note's code gives to each position, where it runs."""
    x, code = torch.ones(1, DIM, DIM), NoteRotary()
    by_code = code(x)[0] / code.rotate(x)[0]  # (T, D)
    by_formula = kernels.note_kernel(torch.arange(float(DIM)))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, by_formula.T.expand(DIM, DIM), atol=1e-4))
    reason = "with as many tokens as channels it runs, and K falls along the channels, alike at every place"
    return Finding(decide(error < 1e-4), error, reason if same else "each place gets its own factor")


@claim(
    "the code rotates even and odd channels",
    '"""旋转一半维度，用于RoPE的奇偶维度交换"""',
    "turns half of the dimensions, to swap RoPE's odd and even ones",
    scope="the note's code, shortened, on 8 random texts of 128 tokens",
)
def code_rotates() -> Finding:
    """Measure the largest relative change of a vector's length by the note's rotation, without its kernel."""
    x = torch.randn(8, 128, DIM, generator=torch.Generator().manual_seed(0))
    change = NoteRotary().rotate(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    reason = f"two layouts are mixed: lengths change by factors of {change.min():.2f} to {change.max():.2f}"
    return Finding(decide(worst < 1e-5), worst, reason)


@claim(
    "the code's kernel adapts",
    "使其在处理短距离（局部）和长距离（全局）依赖时能够更加自适应",
    "so that it handles short (local) and long (global) dependencies more adaptively",
    reading="that K adapts as a model is trained; one that can is a claim of its own",
    scope=CODE,
)
def code_adapts() -> Finding:
    """Count the trainable numbers in the note's module."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    reason = "its α and σ are plain numbers, which no gradient reaches"
    return Finding(decide(trainable > 0), float(trainable), reason)


@claim(
    "the code works where its queries and keys are",
    "t = torch.arange(seq_len, device=k.device).type_as(self.inv_freq)",
    "(its code for: the places, on the device of k)",
    scope="the note's code, shortened, moved to PyTorch's device meta",
)
def code_follows_its_device() -> Finding:
    """Measure the share of the note's table of frequencies that moves along with the module."""
    there = NoteRotary().to("meta").inv_freq.device.type
    reason = f"inv_freq is no buffer: moved elsewhere, the module leaves it on the {there}, type_as brings "
    reason += "the places there too, and PyTorch multiplies no two devices"
    return Finding(decide(there == "meta"), float(there == "meta"), reason)


@claim(
    "a model learns better with K (K of the distance)",
    "从而提升模型对不同信息范围的感知能力",
    "and so the model perceives information at different ranges better",
    reading=TWO_KERNELS + "; this is K(m − n), the next claim K(m)",
    scope=SHAPE + " 300 and 1200 steps, full tales 300",
)
def lowers_the_loss() -> Finding:
    """Measure the nats per character that K(m - n) of the note gains over RoPE after the longest runs."""
    (plain, steps), (short, fewest), (full, full_steps) = board(), board(longest=False), board("full")
    gains = [gains_over(found, "val_loss", DISTANCE) for found in (plain, full)]
    reason = f"over RoPE, on the plain tales {listed(gains_over(short, 'val_loss', DISTANCE))} nats after "
    reason += f"{fewest} steps and {listed(gains[0])} after {steps}; on the full ones {listed(gains[1])} "
    return Finding(over_seeds(*gains), float(gains[0].mean()), f"{reason}after {full_steps}")


@claim(
    "a model learns better with K (the formula)",
    "使其在处理短距离（局部）和长距离（全局）依赖时能够更加自适应，从而提升模型对不同信息范围的感知能力",
    "so that it is more adaptive near and far, and the model perceives ranges better",
    reading=TWO_KERNELS + "; this is K(m), the claim before K(m − n)",
    scope=SHAPE + ", 300 steps",
    fault=ABSOLUTE,
)
def formula_lowers_the_loss() -> Finding:
    """Measure nats per character that the note's own formula gains over RoPE on the plain tales."""
    found, steps = board(longest=False)
    fixed, trained = (gains_over(found, "val_loss", v) for v in (FORMULA, "v5-absolute"))
    reason = f"after {steps} steps K(m)K(n) gains {listed(fixed)} nats over RoPE, fixed as in the code, "
    return Finding(over_seeds(fixed, trained), float(fixed.mean()), f"{reason}and {listed(trained)} trained")


@claim(
    "a model adjusts the range of K to what it needs",
    "这种方法让模型能够根据相对位置信息自动调节感知范围",
    "this lets the model adjust its range of perception by itself, by relative positions",
    reading="K(m − n) with trained α and σ was asked; in the note's code nothing is trained",
    scope=SHAPE + ", 300 and 1200 steps",
)
def finds_the_range() -> Finding:
    """Measure the share of right answers that a kernel loses when its range is trained."""
    (short, fewest), (long, steps) = board(longest=False), board()
    early, late = (gains_over(found, "accuracy", DISTANCE, "v5") for found in (short, long))
    start = load_results("gaussian")["start"]["half"]
    halves = " or ".join(map(str, sorted({kernel[0]["half"] for kernel in long["v5"]["kernel"]})))
    reason = f"trained, K(m − n) changes the share of right answers by {listed(early)} after {fewest} steps "
    reason += f"and {listed(late)} after {steps}: it halves in {halves} tokens, not in {start}"
    verdict = decide(*(bool((change >= -0.05).any()) for change in (early, late)))
    return Finding(verdict, -float(late.mean()), reason)


@claim(
    "K helps at other positions (those beyond the window)",
    "增强了模型在不同位置依赖下的表现",
    "(it) strengthens the model's performance under dependencies at different positions",
    reading=TWO_KERNELS + "; and other positions are taken as those past the trained window",
    scope=SHAPE + ", 300 and 1200 steps",
)
def helps_far_out() -> Finding:
    """Measure the gain over RoPE in the fourth window, in nats per character, after training on one.

    These are positions beyond the window. How far back a text's own dependencies reach was not varied.
    """
    (long, steps), (short, fewest) = board(), board(longest=False)
    relative, absolute = gains_over(long, "far", DISTANCE), gains_over(short, "far", FORMULA)
    reason = f"in the fourth window of a model trained on one, K(m − n) gains {listed(relative)} nats over "
    reason += f"RoPE after {steps} steps, the formula {listed(absolute)} after {fewest}"
    return Finding(over_seeds(relative, absolute), float(relative.mean()), reason)
