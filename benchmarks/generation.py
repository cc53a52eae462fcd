"""Measure how quickly texts are written: token by token with a cache and without, and by filling in."""

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion
from babygpt.sampling import by_confidence, continue_text, generate
from babygpt.training import train
from babygpt_course.studies.sweep import finish
from benchmarks.machine import CPU
from benchmarks.timing import device_clock, require_rounds, time_in_rounds

LENGTHS = (256, 1024)
VOCABULARY = 65  # Tiny Shakespeare's
THRESHOLDS = {"one by one": 2.0, "0.9": 0.9, "0.7": 0.7, "0.5": 0.5}
WINDOW = 64  # of the model that fills in


def measure_generation(
    lengths: Sequence[int] = LENGTHS,
    rounds: int = 3,
    steps: int = 600,
    tokens: int = 256,
    device: torch.device = CPU,
    n_chars: int = 50_000,
    **shape: int,
) -> dict[str, Any]:
    """Measure tokens per second, left to right by v4 and filled in by v7.

    lengths  how many tokens v4 writes
    rounds   how often everything is measured; medians count
    steps    how long v7 is trained before
    tokens   how many tokens v7 writes
    n_chars  characters of tales that v7 learns from
    shape    fields of ModelConfig other than the usual ones
    returns  what `time_next_token` returns, and as "diffusion" what `time_filling_in` does
    Raises BadInput, before anything is written, if rounds or steps is below 1.
    """
    require_rounds(rounds)
    plan = TrainConfig(steps)
    return {
        **time_next_token(lengths, rounds, device, **shape),
        "diffusion": time_filling_in(tokens, rounds, plan, device, n_chars, **shape),
    }


def time_next_token(
    lengths: Sequence[int], rounds: int, device: torch.device, **shape: int
) -> dict[str, float]:
    """Measure tokens per second of v4 with a cache and without, all of it within its window.

    It is not trained: what it writes takes as long as any other text.

    returns  "cached_N", "uncached_N" and "ratio_N" for each length N
    """
    torch.manual_seed(0)
    model = build("v4", ModelConfig(VOCABULARY, max(lengths), **shape)).to(device)
    prompt, seed = torch.zeros(1, 1, dtype=torch.long), torch.Generator().manual_seed(0)
    speeds: dict[str, float] = {}
    for n in lengths:
        tasks = {
            "cached": partial(generate, model, prompt, n, generator=seed),
            "uncached": partial(generate, model, prompt, n, generator=seed, use_cache=False),
        }
        seconds = time_in_rounds(tasks, rounds, f"{n} tokens", device_clock(device))
        speeds |= median_speeds(n, seconds["cached"], seconds["uncached"])
    return speeds


def median_speeds(n: int, cached: Sequence[float], uncached: Sequence[float]) -> dict[str, float]:
    """Return tokens per second and their ratio, from the seconds that n tokens took each time."""
    quick, slow = median(cached), median(uncached)
    return {
        f"cached_{n}": round(n / quick, 1),
        f"uncached_{n}": round(n / slow, 1),
        f"ratio_{n}": round(slow / quick, 2),
    }


def time_filling_in(
    tokens: int, rounds: int, plan: TrainConfig, device: torch.device, n_chars: int, **shape: int
) -> dict[str, dict[str, float]]:
    """Measure tokens per second of v7 that continues a tale, half a window after the other.

    It is trained for a moment, because what it is sure of appears at once, and it must be sure of something.

    returns  threshold of confidence -> "tokens_per_s" and "steps", forward passes for all the tokens
    """
    text = load_corpus("tales", n_chars, with_mask=True)
    torch.manual_seed(0)
    model = build("v7", ModelConfig(text.tokenizer.vocab_size, WINDOW, **shape)).to(device)
    run = train(model, MaskedDiffusion(text, WINDOW, val_windows=1), plan)
    finish(run, plan.steps, "v7 learns")
    prompt = text.val[None, : WINDOW // 2]

    def write(threshold: float) -> int:
        order = by_confidence(threshold)
        return int(continue_text(model, prompt, tokens, order, temperature=0).steps)  # the same every round

    tasks = {name: partial(write, threshold) for name, threshold in THRESHOLDS.items()}
    seconds = time_in_rounds(tasks, rounds, "filling in", device_clock(device))
    return {
        name: {"tokens_per_s": round(tokens / median(times), 1), "steps": tasks[name]()}
        for name, times in seconds.items()
    }
