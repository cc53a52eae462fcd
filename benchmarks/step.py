"""Where the time of a training step goes, and how much of it the machine spends multiplying matrices."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches, MaskedDiffusion, NextToken, Objective
from babygpt.training import Training
from benchmarks.machine import CPU
from benchmarks.parts import REST, Laps, Parts, Watched, counter, watch
from benchmarks.turns import clock, require_turns

EACH = 10  # steps of a turn
SQUARES = {
    "cpu": (512, 1024),
    "cuda": (4096, 8192),
}  # of matrices whose product shows what the machine can do
ENOUGH = {"cpu": 5e8, "cuda": 1e12}  # floating-point operations that can be timed


def step(
    version: str = "v4",
    batch_size: int = 12,
    block_size: int = 64,
    turns: int = 20,
    device: torch.device = CPU,
    n_chars: int = 50_000,
    **shape: int,
) -> dict[str, Any]:
    """Time and floating-point operations of each part of a training step, and how fast that is.

    version     the model to be trained, on tales
    batch_size  windows in a batch
    block_size  tokens in a window
    turns       of ten steps each, and matrix products of several sizes; a first one is not counted
    n_chars     characters of text
    shape       another body than the usual one
    returns     "step_ms" and "ms" of each part, which add up to it, means over the middle half of all steps;
                "gflop" of each part; "gflop_per_s"; "matmul_gflop_per_s", the medians of the products (rows x
                inner x columns); "share": what the step reaches of the fastest; "operators": shares of time
    Raises ValueError for a version that does not exist, or turns below 1.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    require_turns(turns)
    text = load_corpus("tales", n_chars, with_mask=VERSIONS[version].masks)
    config = ModelConfig(text.tokenizer.vocab_size, block_size, **shape)
    laps = Laps(clock(device))
    torch.manual_seed(0)
    plan = TrainConfig(EACH * (turns + 4), batch_size)  # never to its end, where it would be validated
    objective = Watched(suited(version, text, block_size), laps)
    training = Training(build(version, config).to(device), objective, plan)
    watch(training, laps)
    taken, rates = _measure(training, laps, turns, sizes(config, batch_size * block_size, device))
    return {
        **{"version": version, "batch_size": batch_size, "block_size": block_size, "steps": len(taken)},
        **summary(middle_half(taken), count(training, laps), rates),
        "operators": operators(training),
    }


def suited(version: str, text: Corpus, block_size: int) -> Objective:
    """What a version is trained to do; several texts, always two."""
    if VERSIONS[version].masks:
        return MaskedDiffusion(text, block_size, val_windows=1)
    if VERSIONS[version].branches:
        return Branches(text, block_size, (2, 2), length=block_size)
    return NextToken(text, block_size)


def sizes(config: ModelConfig, rows: int, device: torch.device) -> list[tuple[int, int, int]]:
    """Products of matrices worth a measurement, (rows, inner, columns): large ones, and the model's own."""
    C = config.n_embd
    return [(n, n, n) for n in SQUARES[device.type]] + [(rows, C, C), (rows, C, 4 * C), (rows, 4 * C, C)]


def _measure(
    training: Training, laps: Laps, turns: int, products: Sequence[tuple[int, int, int]]
) -> tuple[list[Parts], dict[str, float]]:
    """The parts of every step, in seconds, and the rate of every product, in GFLOP/s, in turn."""
    steps, taken = training.steps(), list[Parts]()
    rates: dict[str, list[float]] = {f"{n}x{k}x{m}": [] for n, k, m in products}
    for turn in tqdm(range(turns + 1), desc="turns", mininterval=1):
        found = [laps.take(steps) for _ in range(EACH)]
        for name, size in zip(rates, products, strict=True):
            rates[name].append(rate(*size, training.device))
        if turn == 0:  # the first one warms up
            taken, rates = [], {name: [] for name in rates}
        else:
            taken += found
    return taken, {name: round(statistics.median(values), 1) for name, values in rates.items()}


def rate(n: int, k: int, m: int, device: torch.device) -> float:
    """GFLOP/s of a product of two matrices, (n, k) and (k, m), in the precision of training."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    a, b = torch.ones(n, k, device=device, dtype=dtype), torch.ones(k, m, device=device, dtype=dtype)
    out, flop = torch.mm(a, b), 2.0 * n * k * m
    times, read = max(1, round(ENOUGH[device.type] / flop)), clock(device)
    start = read()
    for _ in range(times):
        torch.mm(a, b, out=out)
    return times * flop / (read() - start) / 1e9


def middle_half(taken: Sequence[Parts]) -> Parts:
    """Mean of each part over those steps that are neither among the slowest quarter nor the fastest.

    Medians would not add up to the median; these means add up to theirs.
    """
    ordered = sorted(taken, key=lambda parts: sum(parts.values()))
    kept = ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4]
    return {name: statistics.mean(parts.get(name, 0.0) for parts in kept) for name in kept[0]}


def summary(seconds: Parts, flop: Parts, rates: Mapping[str, float]) -> dict[str, Any]:
    """What `step` tells of times, operations and rates."""
    speed = sum(flop.values()) / sum(seconds.values()) / 1e9
    return {
        "step_ms": round(1e3 * sum(seconds.values()), 3),
        "ms": {
            name: round(1e3 * seconds[name], 3) for name in sorted(seconds, key=lambda name: name == REST)
        },
        "gflop_per_step": round(sum(flop.values()) / 1e9, 4),
        "gflop": {name: round(value / 1e9, 4) for name, value in flop.items() if value},
        "gflop_per_s": round(speed, 1),
        "matmul_gflop_per_s": dict(rates),
        "share": round(speed / max(rates.values()), 3),
    }


def count(training: Training, laps: Laps) -> Parts:
    """Floating-point operations of each part of the next step."""
    read = laps.read
    with counter() as counted:
        laps.read = counted.get_total_flops
        found = laps.take(training.steps())
    laps.read = read
    return found


def operators(training: Training, steps: int = EACH, most: int = 12) -> dict[str, float]:
    """Share of the processor's time, or the GPU's, that each of PyTorch's operators takes, largest first."""
    kinds = [ProfilerActivity.CPU]
    if training.device.type == "cuda":
        kinds.append(ProfilerActivity.CUDA)
    run = training.steps()
    with profile(activities=kinds) as seen:
        for _ in range(steps):
            next(run)
    unit = "self_cpu_time_total" if training.device.type == "cpu" else "self_device_time_total"
    times = {event.key: getattr(event, unit) for event in seen.key_averages()}
    total = sum(times.values())
    first = sorted(times, key=lambda name: -times[name])[:most]
    return {name: round(times[name] / total, 3) for name in first}
