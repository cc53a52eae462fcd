"""The claims of note 001 that training decides, by the stored results of `figures gaussian`."""

from __future__ import annotations

from typing import Any

import numpy as np

from babygpt.claims.base import Claim, Finding, decide
from babygpt.claims.gaussian_kernels import NOTE
from babygpt.experiments.gaussian import relative_kernel
from babygpt.experiments.results import load_results


def gains_over(results: dict[str, Any], key: str, version: str, rival: str = "v4") -> np.ndarray:
    """By how much a version's number is below its rival's, seed by seed; `key` may lead to a corpus."""
    for name in key.split("/"):
        results = results[name]
    return np.array(results[rival]) - np.array(results[version])


def over_seeds(*gains: np.ndarray) -> str:
    """The verdict of some gains, one a seed: "holds" if all are above 0, "fails" if none is."""
    return decide(*(np.concatenate(gains) > 0))


def with_range(gain: np.ndarray) -> str:
    """Mean and range, with signs."""
    return f"{gain.mean():+.3f} ({gain.min():+.3f} to {gain.max():+.3f})"


def lowers_the_loss() -> Finding:
    """Nats per character that K(m - n) gains over RoPE in two worlds, α and σ fixed as in the note's code."""
    results = load_results("gaussian")
    worlds = "val_loss/plain-tales", "val_loss/tales"
    plain, full = (gains_over(results, world, "v5 fixed") for world in worlds)
    trained = [gains_over(results, world, "v5").mean() for world in worlds]
    reason = f"after {results['steps']} steps it leads RoPE by {with_range(plain)} nats on the plain tales "
    reason += f"and {with_range(full)} on the full ones; trained, by {trained[0]:+.3f} and {trained[1]:+.3f}"
    return Finding(over_seeds(plain, full), float(plain.mean()), reason)


def formula_lowers_the_loss() -> Finding:
    """Nats per character that the note's own formula gains over RoPE on the plain tales."""
    results = load_results("gaussian")
    fixed, trained = (
        gains_over(results, "val_loss/plain-tales", v) for v in ("v5-absolute fixed", "v5-absolute")
    )
    reason = f"K(m)K(n) gains {with_range(fixed)} nats over RoPE fixed as in the code, "
    reason += f"{with_range(trained)} trained"
    return Finding(over_seeds(fixed, trained), float(fixed.mean()), reason)


def helps_far_out() -> Finding:
    """Nats per character gained over RoPE at the places of the fourth window, by a model trained on one.

    These are positions beyond the window. How far back a text's own dependencies reach was not varied.
    """
    results = load_results("gaussian")
    relative, absolute = (gains_over(results, "far", v) for v in ("v5 fixed", "v5-absolute fixed"))
    reason = f"in the fourth window of a model trained on one, K(m − n) gains {with_range(relative)} nats "
    reason += f"over RoPE, the formula {with_range(absolute)}; the reach of dependencies was not varied"
    return Finding(over_seeds(relative, absolute), float(relative.mean()), reason)


def finds_the_range() -> Finding:
    """Right answers that kernels free to choose their range lose against one that stays as it is."""
    results = load_results("gaussian")
    lost = gains_over(results, "accuracy", "v5", "v5 fixed")
    before, after = results["start"]["half"], {kernel["half"] for kernel in results["kernel"]["v5"]}
    halves = " or ".join(map(str, sorted(after)))
    reason = f"trained, K(m − n) halves in {halves} tokens instead of {before}; of 100 questions, which ask "
    reason += f"further back, it answers {100 * lost.mean():.0f} fewer than left alone"
    return Finding("fails" if (lost > 0.05).all() else "depends", float(lost.mean()), reason)


def formula_keeps_a_scale() -> Finding:
    """What the formula's kernel, free to adapt, has left at the end of the window: least share of K(0)."""
    results = load_results("gaussian")
    size, trained = results["block_size"], results["kernel"]["v5-absolute"]
    left = min(float(relative_kernel(numbers, size)[-1]) for numbers in trained)
    before = float(relative_kernel(results["start"], size)[-1])
    return Finding(
        decide(left < 0.5),
        left,
        f"given gradients, K({size}) goes from {before:.1%} of K(0) to {left:.0%} or more: training takes "
        "the kernel out of the window's way",
    )


TRAINED_CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "a model learns better with K (K of the distance)", lowers_the_loss),
    Claim(NOTE, "a model learns better with K (the formula)", formula_lowers_the_loss),
    Claim(NOTE, "K helps at other positions (those beyond the window)", helps_far_out),
    Claim(NOTE, "a model adjusts the range of K to what it needs", finds_the_range),
    Claim(NOTE, "K balances near and far within the window (the formula)", formula_keeps_a_scale),
)
