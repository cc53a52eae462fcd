"""Time and memory of a training step of every version, over lengths, widths, vocabularies and batches."""

from __future__ import annotations

import json
import math
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, from_text
from babygpt.device import compile_in_place
from babygpt.errors import BadInput, suggestion
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Objective
from babygpt.tables import markdown
from babygpt.training import Step, Training
from benchmarks.step import fixed_size_objective
from benchmarks.timing import require_rounds, run_in_rounds

BASELINE = "v4"
MIB = 2**20
NO_END = 10**9  # planned steps: validation, at the end, never comes
N_CHARS = 50_000  # of the random text
FIRST_CHARACTER = 0x4E00  # Chinese, then Korean: 50,000 code points that are characters of their own
GROWS = 1.2  # times as much memory at twice the length and as many tokens: some of it is of pairs of tokens
LEAST_SECONDS = 0.2  # that v4 takes in a round: short steps are repeated, because one of them says little
Numbers = dict[str, float]


@dataclass(frozen=True)
class Setting:
    """Shape of a model and its batches.

    length      tokens in a window
    width       channels
    vocabulary  different tokens
    batch       windows in a batch
    """

    length: int = 64
    width: int = 64
    vocabulary: int = 65
    batch: int = 8

    @property
    def tokens(self) -> int:
        """Tokens in a batch."""
        return self.length * self.batch


# All lengths have 2,048 tokens in a batch, so that time and memory would be equal if nothing were quadratic.
SETTINGS: Mapping[str, Sequence[Setting]] = {
    "length": [Setting(length=n, batch=2048 // n) for n in (64, 256, 1024, 2048)],
    "width": [Setting(width=n) for n in (64, 192, 384)],
    "vocabulary": [Setting(vocabulary=n) for n in (65, 2_048, 32_000)],
    "batch": [Setting(batch=n) for n in (4, 16, 64)],
}
LEARNER = Setting(width=96, batch=12)  # as in the lessons, for torch.compile


def measure_scaling(
    versions: Sequence[str] = tuple(VERSIONS),
    rounds: int = 3,
    settings: Mapping[str, Sequence[Setting]] = SETTINGS,
    backend: str = "inductor",
) -> dict[str, Any]:
    """Measure a step of each version in each setting, and what torch.compile makes of a step of v4.

    versions  names of VERSIONS; v4 is measured beside them
    rounds    in which each version makes a step, in turn, or several short ones
    settings  what is varied -> the settings
    backend   of torch.compile
    returns   "axes": what is varied -> for each setting its numbers, and "versions": name -> "ms" of a step,
              "of_v4", the median over the rounds of its time as a share of v4's, and "mib"; "compiled": see
              `measure_compiled`
    Raises BadInput for a version that does not exist, or rounds below 1.
    """
    require_rounds(rounds)
    for version in versions:
        if version not in VERSIONS:
            hint = suggestion(version, VERSIONS)
            raise BadInput(f"versions ({version}) must be some of {', '.join(VERSIONS)}{hint}")
    names = list(dict.fromkeys([BASELINE, *versions]))
    different = dict.fromkeys(setting for row in settings.values() for setting in row)
    numbers = {setting: measure_setting(names, setting, rounds) for setting in different}
    return {
        "rounds": rounds,
        "axes": {
            axis: [asdict(setting) | {"versions": numbers[setting]} for setting in row]
            for axis, row in settings.items()
        },
        "compiled": measure_compiled(rounds, backend),
    }


def measure_setting(names: Sequence[str], setting: Setting, rounds: int) -> dict[str, Numbers]:
    """Return "ms", "of_v4" and "mib" of each of some versions, the first of which is v4."""
    mib = {name: peak_memory(name, setting) / MIB for name in names}
    runs = {name: training_steps(name, setting, make_objective(name, setting)) for name in names}
    for steps in runs.values():
        next(steps)  # The first step makes the optimizers' memory and fills caches.
    n_steps = math.ceil(LEAST_SECONDS / seconds_of_step(runs[BASELINE]))
    seconds = run_in_rounds(
        {name: partial(seconds_of_step, steps, n_steps) for name, steps in runs.items()}, rounds, str(setting)
    )
    baseline = seconds[BASELINE]
    return {
        name: {
            "ms": round(1e3 * statistics.median(times), 2),
            "of_v4": round(statistics.median(a / b for a, b in zip(times, baseline, strict=True)), 3),
            "mib": round(mib[name], 2),
        }
        for name, times in seconds.items()
    }


def seconds_of_step(steps: Iterator[Step], n_steps: int = 1) -> float:
    """Make some steps and return the processor time of one, in seconds; a busy machine changes it least."""
    start = time.process_time()
    for _ in range(n_steps):
        next(steps)
    return (time.process_time() - start) / n_steps


def peak_memory(version: str, setting: Setting) -> int:
    """Return the most bytes that PyTorch's tensors hold at once while a model is built and makes two steps.

    The profiler of PyTorch notes each tensor that is made and released, so that the number is equal in each
    run. A process's memory, which the system reports, also holds what an allocator keeps for later.
    """
    objective = make_objective(version, setting)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        steps = training_steps(version, setting, objective)
        next(steps)
        next(steps)  # The first step makes the optimizers' memory, so the second one holds most.
    with tempfile.TemporaryDirectory(prefix="babygpt-") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    notes = [event for event in events if event.get("name") == "[memory]"]
    first = min(notes, key=lambda event: event["ts"])["args"]  # Earlier tensors count in every total.
    before = first["Total Allocated"] - first["Bytes"]
    return int(max(event["args"]["Total Allocated"] for event in notes) - before)


def training_steps(version: str, setting: Setting, objective: Objective) -> Iterator[Step]:
    """Return the steps of a new model on a random text."""
    texts = 2 if VERSIONS[version].branches else 1  # in each sequence; a batch counts texts
    return new_training(version, setting, objective, setting.batch * texts).steps()


def new_training(
    version: str, setting: Setting, objective: Objective, batch: int, backend: str = ""
) -> Training:
    """Return the training of a new model, compiled if a backend is named."""
    config = ModelConfig(setting.vocabulary, setting.length, n_layer=2, n_head=4, n_embd=setting.width)
    torch.manual_seed(0)
    model = build(version, config)
    if backend:
        compile_in_place(model, backend)
    return Training(model, objective, TrainConfig(NO_END, batch))


def make_objective(version: str, setting: Setting) -> Objective:
    """Return a version's objective on a random text; two texts in a sequence have half the length each."""
    kind = VERSIONS[version]
    length = setting.length // 2 if kind.branches else setting.length
    return fixed_size_objective(version, random_text(setting.vocabulary, kind.masks), length)


@cache
def random_text(vocabulary: int, with_mask: bool) -> Corpus:
    """Return a random text that holds all its characters; MASK is one of the vocabulary."""
    characters = [chr(FIRST_CHARACTER + i) for i in range(vocabulary - with_mask)]
    drawn = random.Random(0).choices(characters, k=N_CHARS)
    return from_text("random", "".join([*characters, *drawn]), with_mask)


def measure_compiled(
    rounds: int, backend: str = "inductor", setting: Setting = LEARNER, n_steps: int = 5
) -> dict[str, float | None]:
    """Measure a step of v4 as it is and compiled, in turn.

    rounds   of `n_steps` steps each, after two that warm up; the median of their ratios counts
    returns  "eager_ms" of a step; "ratio" of the two times; "compile_s" that the first two steps take longer,
             in wall time, because other processes compile; "break_even", the steps after which the compiled
             training is ahead, or None if it never is
    """
    torch._dynamo.reset()
    runs, first = {}, {}
    for way, used in (("eager", ""), ("compiled", backend)):
        objective = make_objective(BASELINE, setting)
        runs[way] = new_training(BASELINE, setting, objective, setting.batch, used).steps()
        start = time.perf_counter()
        next(runs[way])
        next(runs[way])  # Numbers of the first step may be constants of its graph, which is then made anew.
        first[way] = time.perf_counter() - start

    times = run_in_rounds(
        {way: partial(seconds_of_step, steps, n_steps) for way, steps in runs.items()}, rounds, "compiled"
    )
    ratio = statistics.median(b / a for a, b in zip(times["eager"], times["compiled"], strict=True))
    step, extra = statistics.median(times["eager"]), first["compiled"] - first["eager"]
    return {
        "eager_ms": round(1e3 * step, 2),
        "ratio": round(ratio, 3),
        "compile_s": round(extra, 1),
        "break_even": math.ceil(extra / (step * (1 - ratio))) if ratio < 1 else None,
    }


# ---------------------------------------------------------------- the words of the page


def report(results: Mapping[str, Any]) -> str:
    """Return results of `measure_scaling` as Markdown: v4, all versions, what is quadratic, compiling."""
    parts = [baseline_table(results["axes"]).strip(), versions_table(results["axes"]).strip()]
    words = [quadratic_words(results["axes"]["length"]), vocabulary_words(results["axes"]["vocabulary"])]
    return "\n\n".join([*parts, *words, compiled_words(results["compiled"])])


def baseline_table(axes: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return v4's time and memory in each setting, and the versions that take most of either."""
    rows = []
    for axis, entries in axes.items():
        for entry in entries:
            setting, versions = setting_of(entry), entry["versions"]
            baseline = versions[BASELINE]
            slowest = max(versions, key=lambda name: versions[name]["of_v4"])
            largest = max(versions, key=lambda name: versions[name]["mib"])
            share = versions[largest]["mib"] / baseline["mib"]
            cells = f"{slowest} {versions[slowest]['of_v4']:.2f}", f"{largest} {share:.2f}"
            numbers = f"{setting.tokens:,}", f"{baseline['ms']:,.0f}", f"{baseline['mib']:,.0f}"
            rows.append([f"{axis} {getattr(setting, axis):,}", *numbers, *cells])
    heading = ["setting", "tokens in a batch", "v4: ms", "v4: MiB", "slowest, × v4", "most memory, × v4"]
    return markdown(heading, rows)


def versions_table(axes: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return each version's time and memory at each length and at the end of each other axis."""
    lengths = axes["length"]
    columns = [("length", entry) for entry in lengths]
    columns += [(axis, entries[-1]) for axis, entries in axes.items() if axis != "length"]
    rows = []
    for name in lengths[0]["versions"]:
        if name == BASELINE:
            continue
        cells = []
        for _, entry in columns:
            numbers, baseline = entry["versions"][name], entry["versions"][BASELINE]
            cells.append(f"{numbers['of_v4']:.2f} ({numbers['mib'] / baseline['mib']:.2f})")
        rows.append([name, *cells, f"{growth(lengths, name, 'mib'):.2f}"])
    heading = ["time (memory) × v4", *(f"{axis} {getattr(setting_of(e), axis):,}" for axis, e in columns)]
    return markdown([*heading, "memory at the last length, × the one before"], rows)


def growth(entries: Sequence[Mapping[str, Any]], name: str, number: str) -> float:
    """Return by how much a number of a version grows from the last setting but one to the last."""
    before, after = (entry["versions"][name][number] for entry in entries[-2:])
    return float(after / before)


def quadratic_words(entries: Sequence[Mapping[str, Any]]) -> str:
    """Say how many versions keep a number for each pair of tokens, from the two longest windows."""
    before, after = entries[-2:]
    factors = {name: growth(entries, name, "mib") for name in after["versions"]}
    quadratic = {name: factor for name, factor in factors.items() if factor >= GROWS}
    lengths, slower = f"{before['length']:,} and {after['length']:,}", growth(entries, BASELINE, "ms")
    text = (
        f"**Quadratic in the window.** Batches of the two longest windows, {lengths}, have as many tokens. "
        f"From one to the other v4 takes {slower:.2f} times the time, because it computes the scores of all "
        f"pairs of tokens. It takes {factors[BASELINE]:.2f} times the memory, because it keeps none of them. "
    )
    if not quadratic:
        return f"{text}No version keeps a number for each pair."
    most = max(quadratic, key=lambda name: quadratic[name])
    return (
        f"{text}Of {len(factors)} versions, {len(quadratic)} keep a number for each pair, in each head or "
        f"once: their memory grows at least {GROWS} times, and that of {most} {quadratic[most]:.2f} times "
        "(last column)."
    )


def vocabulary_words(entries: Sequence[Mapping[str, Any]]) -> str:
    """Say what the logits of a large vocabulary cost, from the smallest and the largest one."""
    small, large = entries[0], entries[-1]
    before, after = small["versions"][BASELINE], large["versions"][BASELINE]
    setting = setting_of(large)
    logits = 4 * setting.tokens * setting.vocabulary / MIB
    weights = 2 * 4 * setting.width * (setting.vocabulary - small["vocabulary"]) / MIB
    more = after["mib"] - before["mib"]
    return (
        f"**The logits of a large vocabulary.** With {setting.vocabulary:,} tokens in place of "
        f"{small['vocabulary']:,}, a step of v4 takes {after['ms'] / before['ms']:.1f} times the time and "
        f"{more:,.0f} MiB more. The logits of {setting.tokens:,} tokens are {logits:,.0f} MiB, and the loss "
        f"and its gradient need as much each. The two tables grow by {weights:,.0f} MiB, to which come "
        "their gradients and two moments of AdamW."
    )


def compiled_words(compiled: Mapping[str, float | None]) -> str:
    """Say after how many steps `torch.compile` pays."""
    text = (
        f"**`torch.compile`.** In the shape of the lessons a step of v4 takes {compiled['eager_ms']} ms. "
        f"Compiled it takes {compiled['ratio']} of that, and the first two steps take "
        f"{compiled['compile_s']} s longer. "
    )
    if compiled["break_even"] is None:
        return f"{text}It never pays there."
    return f"{text}It pays after {compiled['break_even']:,} steps."


def setting_of(entry: Mapping[str, Any]) -> Setting:
    """Return the setting of stored numbers."""
    return Setting(*(entry[name] for name in ("length", "width", "vocabulary", "batch")))
