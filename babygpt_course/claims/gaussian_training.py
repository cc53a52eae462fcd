"""The claims of note 001 that training decides, by the stored results of `figures gaussian`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from babygpt_course.claims.base import Claim, Finding, decide
from babygpt_course.claims.gaussian_kernels import NOTE, TWO_KERNELS
from babygpt_course.studies.gaussian import BEYOND, relative_kernel
from babygpt_course.studies.results import load_results

FORMULA, DISTANCE = "v5-absolute fixed", "v5 fixed"  # α and σ as in the note's code, where none is trained
ABSOLUTE = "K of the absolute position"  # fades to nothing late in a text, whatever the distance
SHAPE = "models of 2 layers, 4 heads, width 96 on windows of 64 characters, three seeds"


def board(world: str = "plain", longest: bool = True) -> tuple[dict[str, Any], str]:
    """What was stored of the models of one world that were trained longest, or shortest; and their steps."""
    found = load_results("gaussian")[world]
    steps = (max if longest else min)(found, key=int)
    return found[steps], steps


def gains_over(found: dict[str, Any], key: str, version: str, rival: str = "v4") -> np.ndarray:
    """By how much a version's number is below its rival's, for each seed that both had."""
    pairs = zip(found[rival][key], found[version][key], strict=False)
    return np.array([other - one for other, one in pairs])


def over_seeds(*gains: np.ndarray) -> str:
    """The verdict of some gains, one a seed: "holds" if all are above 0, "fails" if none is."""
    return decide(*(np.concatenate(gains) > 0))


def listed(numbers: Sequence[float] | np.ndarray) -> str:
    """Numbers with their signs, one a seed."""
    return ", ".join(f"{x:+.3f}" for x in numbers)


def lowers_the_loss() -> Finding:
    """Nats per character that K(m - n), at the note's α and σ, gains over RoPE after the longest runs."""
    (plain, steps), (short, fewest), (full, full_steps) = board(), board(longest=False), board("full")
    gains = [gains_over(found, "val_loss", DISTANCE) for found in (plain, full)]
    reason = f"over RoPE, on the plain tales {listed(gains_over(short, 'val_loss', DISTANCE))} nats after "
    reason += f"{fewest} steps and {listed(gains[0])} after {steps}; on the full ones {listed(gains[1])} "
    return Finding(over_seeds(*gains), float(gains[0].mean()), f"{reason}after {full_steps}")


def formula_lowers_the_loss() -> Finding:
    """Nats per character that the note's own formula gains over RoPE on the plain tales."""
    found, steps = board(longest=False)
    fixed, trained = (gains_over(found, "val_loss", v) for v in (FORMULA, "v5-absolute"))
    reason = f"after {steps} steps K(m)K(n) gains {listed(fixed)} nats over RoPE, fixed as in the code, "
    return Finding(over_seeds(fixed, trained), float(fixed.mean()), f"{reason}and {listed(trained)} trained")


def helps_far_out() -> Finding:
    """Nats per character gained over RoPE at the places of the fourth window, by a model trained on one.

    These are positions beyond the window. How far back a text's own dependencies reach was not varied.
    """
    (long, steps), (short, fewest) = board(), board(longest=False)
    relative, absolute = gains_over(long, "far", DISTANCE), gains_over(short, "far", FORMULA)
    reason = f"in the fourth window of a model trained on one, K(m − n) gains {listed(relative)} nats over "
    reason += f"RoPE after {steps} steps, the formula {listed(absolute)} after {fewest}"
    return Finding(over_seeds(relative, absolute), float(relative.mean()), reason)


def reaches_further_than_rope() -> Finding:
    """What hiding the far costs a model with K(m - n), fixed, minus what it costs RoPE: mean over seeds.

    A model that neglects the far loses nothing when the far is hidden.
    """
    found, steps = board()
    at = load_results("gaussian")["distances"].index(BEYOND)
    cost = {v: [seed[at] for seed in found[v]["hiding"]] for v in ("v4", DISTANCE, "v5")}
    more = {v: [a - b for a, b in zip(cost[v], cost["v4"], strict=False)] for v in (DISTANCE, "v5")}
    neglects = "neglects it" if max(cost["v4"]) < 0.01 else "does not neglect it"
    reason = (
        f"after {steps} steps, hiding all beyond {BEYOND} tokens costs RoPE {listed(cost['v4'])} nats: it "
    )
    reason += f"{neglects}; K(m − n) {listed(cost[DISTANCE])} fixed, {listed(cost['v5'])} trained"
    verdict = decide(*(min(gains) > 0 for gains in more.values()))
    return Finding(verdict, float(np.mean(more[DISTANCE])), reason)


def finds_the_range() -> Finding:
    """Share of right answers that a kernel free to choose its range loses against one left as it is."""
    (short, fewest), (long, steps) = board(longest=False), board()
    early, late = (-gains_over(found, "accuracy", DISTANCE, "v5") for found in (short, long))
    start = load_results("gaussian")["start"]["half"]
    halves = " or ".join(map(str, sorted({kernel[0]["half"] for kernel in long["v5"]["kernel"]})))
    reason = f"trained, K(m − n) changes the share of right answers by {listed(-early)} after {fewest} steps "
    reason += f"and {listed(-late)} after {steps}: it halves in {halves} tokens, not in {start}"
    harmed = [bool((lost > 0.05).all()) for lost in (early, late)]
    return Finding(
        "fails" if all(harmed) else "depends" if any(harmed) else "holds", float(late.mean()), reason
    )


def formula_keeps_a_scale() -> Finding:
    """What the formula's kernel, free to adapt, has left at the end of the window: least share of K(0)."""
    found, steps = board(longest=False)
    results = load_results("gaussian")
    size, trained = results["block_size"], [kernels[0] for kernels in found["v5-absolute"]["kernel"]]
    left = min(float(relative_kernel(numbers, size)[-1]) for numbers in trained)
    before = float(relative_kernel(results["start"], size)[-1])
    return Finding(
        decide(left < 0.5),
        left,
        f"given gradients for {steps} steps, K({size}) goes from {before:.1%} of K(0) to {left:.0%} or more: "
        "training takes the kernel out of the window's way",
    )


FAR_CLAIM = Claim(
    NOTE,
    "K brings back attention to the far that RoPE neglects",
    reaches_further_than_rope,
    quote="但固定的旋转幅度可能导致对全局信息的关注不足",
    translation="but the fixed amplitude of rotation may lead to too little attention to the global",
    reading="K(m − n) was asked; the formula's attention is a plain average late in a text",
    scope=SHAPE + "; plain tales, 1200 steps",
)

BALANCE_CLAIM = Claim(
    NOTE,
    "K balances near and far within the window (the formula)",
    formula_keeps_a_scale,
    quote="我们可以为局部和全局信息定义不同的感知尺度",
    translation="we can define different scales of perception for local and global information",
    reading=TWO_KERNELS + "; this is K(m), trained",
    scope=SHAPE + "; plain tales, 300 steps",
    fault=ABSOLUTE,
)

TRAINED_CLAIMS: tuple[Claim, ...] = (
    Claim(
        NOTE,
        "a model learns better with K (K of the distance)",
        lowers_the_loss,
        quote="从而提升模型对不同信息范围的感知能力",
        translation="and so the model perceives information at different ranges better",
        reading=TWO_KERNELS + "; this is K(m − n), the next claim K(m)",
        scope=SHAPE + "; plain tales 300 and 1200 steps, full tales 300",
    ),
    Claim(
        NOTE,
        "a model learns better with K (the formula)",
        formula_lowers_the_loss,
        quote="使其在处理短距离（局部）和长距离（全局）依赖时能够更加自适应，从而提升模型对不同信息范围的感知能力",
        translation="so that it is more adaptive near and far, and the model perceives ranges better",
        reading=TWO_KERNELS + "; this is K(m), the claim before K(m − n)",
        scope=SHAPE + "; plain tales, 300 steps",
        fault=ABSOLUTE,
    ),
    Claim(
        NOTE,
        "a model adjusts the range of K to what it needs",
        finds_the_range,
        quote="这种方法让模型能够根据相对位置信息自动调节感知范围",
        translation="this lets the model adjust its range of perception by itself, by relative positions",
        reading="K(m − n) with trained α and σ was asked; in the note's code nothing is trained",
        scope=SHAPE + "; plain tales, 300 and 1200 steps",
    ),
    Claim(
        NOTE,
        "K helps at other positions (those beyond the window)",
        helps_far_out,
        quote="增强了模型在不同位置依赖下的表现",
        translation="(it) strengthens the model's performance under dependencies at different positions",
        reading=TWO_KERNELS + "; and other positions are taken as those past the trained window",
        scope=SHAPE + "; plain tales, 300 and 1200 steps",
    ),
)
