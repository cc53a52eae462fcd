"""What training decides of notes 002 and 003: read from the stored runs of two studies."""

from __future__ import annotations

from functools import cache
from statistics import mean

from babygpt_course.claims.base import Finding, clearly_lower, decide
from babygpt_course.studies.results import Results, load_results

COMMAND = "python -m babygpt figures branches"
SCOPE = "2 layers, width 96, texts of 48 characters of the plain tales, 400 steps, 3 seeds"
STRIDES = (1, 8, 128, 256, 512, 1024, 4096)
CODES = ("Fourier", "2-D RoPE")
MUCH = 0.1  # nats per character: about what company costs a model without any code


@cache
def stored_results() -> Results:
    """The runs of the studies of branch codes and of strides in one, read once."""
    branches, strides = load_results("branches"), load_results("strides")
    return {**branches, "runs": {**branches["runs"], **strides["runs"]}}


def seed_values(run: str, key: str) -> list[float]:
    """What the stored runs of a name measured, such as "alone" or "gap 2": one number a seed."""
    return list(stored_results()["runs"][run][key])


def seed_mean(run: str, key: str) -> float:
    """The mean of what the stored runs of a name measured."""
    return mean(seed_values(run, key))


def losses_among(run: str, n: int) -> list[float]:
    """Loss of n branches, 1 for a text alone, after the stored runs of a name: one number a seed."""
    alone = seed_values(run, "alone")
    if n == 1:
        return alone
    return [loss + gap for loss, gap in zip(alone, seed_values(run, f"gap {n}"), strict=True)]


def run_at_stride(code: str, stride: int) -> str:
    """The name of the runs that trained a code on two branches at a stride."""
    return f"two: {code}" if stride == 128 else f"stride {stride}: {code}"


def losses_by_stride(code: str) -> dict[int, list[float]]:
    """Loss among two at each stride that a code was trained at: one number a seed."""
    runs = {stride: run_at_stride(code, stride) for stride in STRIDES}
    return {s: losses_among(run, 2) for s, run in runs.items() if run in stored_results()["runs"]}


def streams(run: str) -> list[float]:
    """How alike two branches are after each block, where both hold the same text: the mean of all seeds."""
    found = stored_results()["runs"][run]
    return [mean(found[key]) for key in sorted(found) if key.startswith("stream ") and key != "stream 0"]


# ---------------------------------------------------------------- of note 002


def outputs_are_independent() -> Finding:
    """What leaks from branch 1 into branch 0 after training on two branches, nats per character."""
    leak, apart = seed_mean("two: Fourier", "leak"), seed_mean("two: Fourier", "leak, isolated")
    return Finding(
        decide(leak == 0),
        leak,
        f"the code only lets a model learn to look away; the isolation mask leaks {apart:g}",
    )


def no_gibberish() -> Finding:
    """Words that the corpus does not know, side by side, minus those under the isolation mask; shares."""
    beside, apart = (seed_values("two: Fourier", key) for key in ("unknown 2", "unknown 2, isolated"))
    four = seed_mean("two: Fourier", "unknown 4")
    return Finding(
        decide(mean(beside) - mean(apart) < 0.05),
        mean(beside) - mean(apart),
        f"unknown words: {mean(beside):.0%} side by side, {mean(apart):.0%} isolated; "
        f"{four:.0%} with four branches, which were never trained",
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
    """Largest loss among two, four or eight, trained so, minus that of single texts at equal budget."""
    loss = {n: losses_among(f"{n} at a time: Fourier", n) for n in (1, 2, 4, 8)}
    more = {n: mean(values) - mean(loss[1]) for n, values in loss.items() if n > 1}
    listed = ", ".join(f"{n}: {mean(values):.3f}" for n, values in loss.items())
    return Finding(
        decide(*(difference > MUCH for difference in more.values())),
        max(more.values()),
        f"loss by texts in a sequence {listed}; the same texts in the same steps: {COMMAND}",
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
    own = seed_mean("two: Fourier", "own 4")
    return Finding(
        decide(*(gap < 0.05 for gap in gaps.values())),
        gaps["two"],
        f"{own:.2f} of it for the unknown tag alone; where all numbers were trained "
        f"{gaps['up to eight']:.3f}; 2-D RoPE, trained on two: {seed_mean('two: 2-D RoPE', 'gap 4'):.2f}",
    )


def a_learnable_code_helps() -> Finding:
    """Loss among two at stride 1 with the learnable code, minus that with the fixed one."""
    learnt, fixed = (losses_by_stride(code) for code in ("Fourier, learnable", "Fourier"))
    return Finding(
        decide(clearly_lower(learnt[1], fixed[1])),
        mean(learnt[1]) - mean(fixed[1]),
        f"at stride 1, where the fixed one is weak; at 128 the difference is "
        f"{mean(learnt[128]) - mean(fixed[128]):+.3f}: {COMMAND}",
    )


def weights_do_not_carry_over() -> Finding:
    """Loss of single texts when trained weights of 2-D RoPE are read with a Fourier code, minus before."""
    before, after = (seed_values("two: 2-D RoPE", key) for key in ("alone", "alone, as Fourier"))
    return Finding(
        decide(mean(after) - mean(before) > MUCH),
        mean(after) - mean(before),
        f"every tensor fits, and {mean(before):.2f} becomes {mean(after):.2f}: the heads read other channels",
    )


# ---------------------------------------------------------------- of note 003


def needs_a_stride(code: str) -> Finding:
    """Loss of two branches after training at stride 1, minus that at stride 128."""
    loss, gap = losses_by_stride(code), seed_mean(run_at_stride(code, 1), "gap 2")
    worse, mixed_up = clearly_lower(loss[128], loss[1]), gap > 0.01
    by_stride = ", ".join(f"{stride}: {mean(values):.3f}" for stride, values in loss.items())
    return Finding(
        "holds" if worse and mixed_up else "depends" if worse else "fails",
        mean(loss[1]) - mean(loss[128]),
        f"loss by stride {by_stride}; at stride 1 the gap is {gap:.3f}",
    )


def codes_need_no_stride(code: str) -> Finding:
    """The loss difference of `needs_a_stride`, for the opposite claim: its verdict is the other way round."""
    found = needs_a_stride(code)
    opposite = {"holds": "fails", "fails": "holds", "depends": "depends"}
    return Finding(opposite[found.verdict], found.value, found.reason)


def it_is_the_formula() -> Finding:
    """Gap at eight branches of random codes, minus that of Fourier codes."""
    random, fourier_codes = (seed_values(f"up to eight: {code}", "gap 8") for code in ("random", "Fourier"))
    return Finding(
        decide(clearly_lower(fourier_codes, random)),
        mean(random) - mean(fourier_codes),
        "vectors drawn at random, never trained, are the control",
    )
