"""Time of each part of a training step, beside the machine's matrix-multiply rate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import flop_counter
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Batch, Objective, objective_for
from babygpt.training import Step, Training
from benchmarks.machine import CPU
from benchmarks.timing import device_clock, require_rounds

STEPS_A_ROUND = 10
SQUARES = {"cpu": (512, 1024), "cuda": (4096, 8192)}  # rows of matrices that show what a machine can do
TIMEABLE_FLOP = {"cpu": 5e8, "cuda": 1e12}  # takes long enough for a clock
Parts = dict[str, float]  # part of a step -> what it took
REST = "rest"
Product = tuple[int, int, int]  # of two matrices: rows, inner, columns


def measure_step(
    version: str = "v4",
    batch_size: int = 12,
    block_size: int = 64,
    rounds: int = 20,
    device: torch.device = CPU,
    n_chars: int = 50_000,
    **shape: int,
) -> dict[str, Any]:
    """Measure time and floating-point operations of each part of a training step, and how fast that is.

    version     the model to be trained, on tales
    batch_size  windows in a batch
    block_size  tokens in a window
    rounds      of ten steps each, and matrix products of several sizes; a first one is not counted
    n_chars     characters of text
    shape       fields of ModelConfig other than the usual ones
    returns     "step_ms" and "ms" of each part, which add up to it, means over the middle half of all steps;
                "gflop" of each part; "gflop_per_s"; "matmul_gflop_per_s", the medians of the products (rows x
                inner x columns); "share": what the step reaches of the fastest
    Raises BadInput for a version that does not exist, or rounds below 1.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    require_rounds(rounds)
    text = load_corpus("tales", n_chars, with_mask=VERSIONS[version].masks)
    config = ModelConfig(text.tokenizer.vocab_size, block_size, **shape)
    meter = PartMeter(device_clock(device))
    torch.manual_seed(0)
    plan = TrainConfig(STEPS_A_ROUND * (rounds + 4), batch_size)  # it never comes to its end, and validation
    objective = MeteredObjective(fixed_size_objective(version, text, block_size), meter)
    training = Training(build(version, config).to(device), objective, plan)
    add_meter_hooks(training, meter)
    products = products_to_time(config, batch_size * block_size, device)
    seconds, rates = time_rounds(training, meter, rounds, products)
    return {
        **{"version": version, "batch_size": batch_size, "block_size": block_size, "steps": len(seconds)},
        **describe_step(mean_of_middle_half(seconds), count_flop(training, meter), rates),
    }


def fixed_size_objective(version: str, text: Corpus, block_size: int) -> Objective:
    """Return the objective of a version, with batches of one size: a window, or two texts as long as one."""
    return objective_for(
        version,
        text,
        block_size,
        val_windows=1,  # nothing is validated here
        n_branches=(2, 2),
        length=block_size,
    )


def products_to_time(config: ModelConfig, rows: int, device: torch.device) -> list[Product]:
    """Return matrix products worth timing: two large ones, and the model's own for so many tokens."""
    C = config.n_embd
    return [(n, n, n) for n in SQUARES[device.type]] + [(rows, C, C), (rows, C, 4 * C), (rows, 4 * C, C)]


def time_rounds(
    training: Training, meter: PartMeter, rounds: int, products: Sequence[Product]
) -> tuple[list[Parts], dict[str, float]]:
    """Time ten steps and every matrix product, round by round.

    returns  the seconds of the parts of each step, and the median rate of each product in GFLOP/s
    """
    steps, taken = training.steps(), list[Parts]()
    rates: dict[str, list[float]] = {f"{n}x{k}x{m}": [] for n, k, m in products}
    for i in tqdm(range(rounds + 1), desc="rounds", mininterval=1):
        latest = [meter.measure_step(steps) for _ in range(STEPS_A_ROUND)]
        for name, product in zip(rates, products, strict=True):
            rates[name].append(matmul_gflop_per_s(*product, training.device))
        if i == 0:  # the first one warms up
            taken, rates = [], {name: [] for name in rates}
        else:
            taken += latest
    return taken, {name: round(statistics.median(values), 1) for name, values in rates.items()}


def matmul_gflop_per_s(n: int, k: int, m: int, device: torch.device) -> float:
    """Measure GFLOP/s of a product of two matrices, (n, k) and (k, m), in float32, as in training."""
    a, b = torch.ones(n, k, device=device), torch.ones(k, m, device=device)
    out, flop = torch.mm(a, b), 2.0 * n * k * m
    times, now = max(1, round(TIMEABLE_FLOP[device.type] / flop)), device_clock(device)
    start = now()
    for _ in range(times):
        torch.mm(a, b, out=out)
    return times * flop / (now() - start) / 1e9


def mean_of_middle_half(steps: Sequence[Parts]) -> Parts:
    """Return the mean of each part over the steps without the slowest and the fastest quarter.

    Medians would not add up to the median; these means add up to theirs.
    """
    ordered = sorted(steps, key=lambda parts: sum(parts.values()))
    middle = ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4]
    return {name: statistics.mean(parts.get(name, 0.0) for parts in middle) for name in middle[0]}


def describe_step(seconds: Parts, flop: Parts, rates: Mapping[str, float]) -> dict[str, Any]:
    """Return what follows from times, operations and the products' rates in `measure_step`'s result."""
    gflop_per_s = sum(flop.values()) / sum(seconds.values()) / 1e9
    return {
        "step_ms": round(1e3 * sum(seconds.values()), 3),
        "ms": {
            name: round(1e3 * seconds[name], 3) for name in sorted(seconds, key=lambda name: name == REST)
        },
        "gflop_per_step": round(sum(flop.values()) / 1e9, 4),
        "gflop": {name: round(value / 1e9, 4) for name, value in flop.items() if value},
        "gflop_per_s": round(gflop_per_s, 1),
        "matmul_gflop_per_s": dict(rates),
        "share": round(gflop_per_s / max(rates.values()), 3),
    }


# ---------------------------------------------------------------- the parts of a step


class PartMeter:
    """Divides what a training step takes among its parts; they always add up to the whole.

    clock  a number that grows: seconds, usually
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = self.count = clock
        self.part, self.parts, self.since = REST, Parts(), 0.0

    def enter(self, part: str) -> None:
        """Note that this part of the step begins, and the one before it ends."""
        now = self.count()
        self.parts[self.part] = self.parts.get(self.part, 0.0) + now - self.since
        self.part, self.since = part, now

    def measure_step(self, steps: Iterator[Step], count: Callable[[], float] | None = None) -> Parts:
        """Make the next of some training steps and return what its parts took.

        count  another number that grows, to be used for this step in place of the clock
        """
        self.count = count or self.clock
        self.part, self.parts, self.since = REST, {}, self.count()
        next(steps)
        self.enter(REST)
        return self.parts


class MeteredObjective(Objective):
    """An objective that tells a meter when it draws a batch, takes a loss, and when backward begins."""

    def __init__(self, objective: Objective, meter: PartMeter) -> None:
        self.objective, self.meter = objective, meter
        own = {name: getattr(objective, name) for name in ("block_size", "count", "validate")}
        vars(self).update(own)  # all else is the objective's own

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        self.meter.enter("batch")
        drawn = self.objective.batch(batch_size, generator)
        self.meter.enter(REST)
        return drawn

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        self.meter.enter("loss")
        loss = self.objective.loss(model, batch)
        self.meter.enter(REST)
        loss.register_hook(lambda gradient: self.meter.enter("backward"))  # its own gradient comes first
        return loss


def add_meter_hooks(training: Training, meter: PartMeter) -> None:
    """Have a meter told when the model's forward pass and each optimizer's step begin and end."""
    training.model.register_forward_pre_hook(lambda *_: meter.enter("forward"))
    training.model.register_forward_hook(lambda *_: meter.enter("loss"))
    for optimizer in training.optimizers:

        def begin(*_: Any, name: str = type(optimizer).__name__) -> None:
            meter.enter(name)

        optimizer.register_step_pre_hook(begin)
        optimizer.register_step_post_hook(lambda *_: meter.enter(REST))


def count_flop(training: Training, meter: PartMeter) -> Parts:
    """Make the next training step, and return the floating-point operations of each of its parts."""
    with flop_counter_with_attention() as counter:
        return meter.measure_step(training.steps(), counter.get_total_flops)


def flop_counter_with_attention() -> flop_counter.FlopCounterMode:
    """Return PyTorch's counter of operations, with attention on the CPU, which it leaves out.

    It counts where matrices are multiplied: a product and its sum are two; causal attention counts in full.
    """

    def forward(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:  # shapes
        return flop_counter.sdpa_flop_count(q, k, v)

    def backward(gradient: Any, q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
        return flop_counter.sdpa_backward_flop_count(gradient, q, k, v)

    aten = torch.ops.aten
    formulas = {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
    return flop_counter.FlopCounterMode(display=False, custom_mapping=formulas)
