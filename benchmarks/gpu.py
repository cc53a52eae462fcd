"""All that a GPU should show, in one run: each part measures or says why it failed, and the rest goes on."""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.metrics.diffusion import nelbo
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import objective_for
from babygpt.screen import echo
from babygpt.training import Training, compile_in_place
from benchmarks.live import SPEEDS, printed_json
from benchmarks.step import fixed_size_objective
from benchmarks.timing import device_clock, run_in_rounds
from tools import notebooks
from tools.browser.chromium import chromium, find_chromium
from tools.browser.notebook import Notebook
from tools.browser.server import notebook_text, serve_notebooks

ROOT = Path(__file__).resolve().parent.parent
Results = dict[str, Any]
Part = Callable[[], Results]
AIM_SECONDS = 30.0  # of training, in which the large v4 should reach its target
SPEED_KEPT = 0.95  # the least that a dashboard should leave of the steps per second
DRIVER = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
# A notebook's models stay on the processor unless they are moved: here they are.
PRINT_SPEEDS = """
import json
from babygpt.device import pick_device
from benchmarks import live

on_processor = live.untrained_v4
live.untrained_v4 = lambda corpus: on_processor(corpus).to(pick_device())
print(json.dumps(live.speeds()))
"""


@dataclass(frozen=True)
class Plan:
    """How the large model is trained: what of a TrainConfig is not usual, and dropout, which the body lacks.

    dropout  share of the channels left out, of the token embedding and of all that is added to the stream
    """

    steps: int
    batch_size: int
    lr_matrix: float
    lr_other: float
    weight_decay: float
    dropout: float

    def config(self) -> TrainConfig:
        """The same plan, as a training takes it."""
        values = asdict(self)
        del values["dropout"]
        return TrainConfig(**values)


@dataclass(frozen=True)
class Size:
    """How much of everything a run does.

    versions       which models are trained, and compiled
    shape          of these models: fields of ModelConfig
    batch_size, steps, rounds  of these trainings: windows, steps a round, and rounds
    backend        of torch.compile
    tests          what pytest is given
    notebooks      which are run, by their names without .ipynb; none for all of them
    large          shape of the large model
    plans          of the large model's training, in the order in which they are tried
    target         validation loss that the large v4 should reach, in nats
    val_every      its steps between two validations
    seconds        of training that each plan may take
    live           whether a browser shows dashboards
    """

    versions: Sequence[str]
    shape: Mapping[str, int]
    batch_size: int
    steps: int
    rounds: int
    backend: str
    tests: Sequence[str]
    notebooks: tuple[str, ...]
    large: Mapping[str, int]
    plans: Sequence[Plan]
    target: float
    val_every: int
    seconds: float
    live: bool


# No plan has met a GPU yet: they are guesses, from the known recipe of 5000 steps with dropout 0.2.
FULL = Size(
    versions=tuple(VERSIONS),
    shape={"block_size": 256, "n_layer": 4, "n_head": 4, "n_embd": 128},
    batch_size=64,
    steps=50,
    rounds=4,
    backend="inductor",
    tests=("-k", "cuda", "tests"),
    notebooks=(),
    large={"block_size": 256, "n_layer": 6, "n_head": 6, "n_embd": 384},
    plans=(
        Plan(1500, 64, 0.02, 0.005, 0.1, 0.2),
        Plan(2500, 64, 0.02, 0.005, 0.1, 0.25),
        Plan(1000, 128, 0.02, 0.005, 0.1, 0.3),
        Plan(1500, 64, 0.01, 0.003, 0.3, 0.3),
    ),
    target=1.46,
    val_every=100,
    seconds=45.0,
    live=True,
)
SMALL = replace(
    FULL,
    versions=("v1", "v4", "v7"),
    shape={"block_size": 16, "n_layer": 1, "n_head": 2, "n_embd": 16},
    batch_size=4,
    steps=20,
    rounds=2,
    backend="eager",
    tests=("-k", "cuda", "tests/test_device.py"),
    notebooks=("02_learned_positions",),
    large={"block_size": 16, "n_layer": 1, "n_head": 2, "n_embd": 16},
    plans=(Plan(20, 4, 0.02, 0.005, 0.1, 0.2), Plan(21, 8, 0.02, 0.005, 0.1, 0.3)),
    target=4.0,
    val_every=10,
    live=False,
)


def require_gpu(name: str, small: bool = False) -> torch.device:
    """The device of this name. Raises BadInput without a GPU, but for a small rehearsal on the processor."""
    has_gpu = torch.cuda.is_available()
    if (has_gpu and name == "cuda") or (small and name == "cpu"):
        return torch.device(name)
    raise BadInput(
        f"device ({name}) will not do: this machine has {'a' if has_gpu else 'no'} GPU that PyTorch can use, "
        "and it takes an NVIDIA GPU, its driver, and PyTorch built for CUDA; "
        "`python -m benchmarks gpu --device cpu --small` rehearses it all on the processor"
    )


def measure_gpu(device: torch.device, corpus: str, size: Size = FULL) -> Results:
    """Measure everything, print a line on each part as it ends, and a count at the end.

    device  where the models are
    corpus  text of the large model, by name or path
    returns "parts": for each by name what `attempt` returns; "failed": the names of those that failed
    """
    parts: dict[str, Part] = {"machine": partial(describe_driver, device)}
    parts |= {f"train {v}": partial(train_version, v, device, size) for v in size.versions}
    parts["tests"] = partial(run_tests, size.tests)
    parts |= {f"notebook {n}": partial(run_notebook, n) for n in notebook_names(size)}
    parts["large v4"] = partial(try_plans, "v4", corpus, device, size)
    parts["large v7"] = partial(try_plans, "v7", corpus, device, size)
    if size.live:
        parts["dashboards"] = measure_dashboards
    found: dict[str, Results] = {}
    for name, part in parts.items():
        found[name] = attempt(part)
        echo(in_words(name, found[name]))
    failed = [name for name, result in found.items() if result["ok"] is False]
    echo(f"{len(found) - len(failed)} of {len(found)} parts did what they should or were left out")
    return {"parts": found, "failed": failed}


def attempt(part: Part) -> Results:
    """Call a part.

    returns  "ok", and what the part measured; false and "error", the first line of what went wrong; None and
             "skipped", the reason, for a part that cannot be measured here
    """
    try:
        return {"ok": True, **part()}
    except NotHere as reason:
        return {"ok": None, "skipped": str(reason)}
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return {"ok": False, "error": f"{type(error).__name__}: {lines[0]}"}


class NotHere(Exception):
    """Something that a part needs is not on this machine."""


def in_words(name: str, result: Results) -> str:
    """A line about a part: a mark, its name, its numbers or the reason why there are none."""
    mark = {True: "✓", False: "✗", None: "–"}[result["ok"]]
    words = [f"{key} {value}" for key, value in result.items() if key not in ("ok", "plans")]
    return f"{mark} {name}: {', '.join(words)}"


def describe_driver(device: torch.device) -> Results:
    """The GPU, its driver and memory, and the CUDA that PyTorch was built for. Raises NotHere on a CPU."""
    if device.type != "cuda":
        raise NotHere("no GPU in this rehearsal")
    done = subprocess.run(DRIVER, capture_output=True, text=True, encoding="utf-8", check=True)
    driver = done.stdout.splitlines()[0]
    gpu = torch.cuda.get_device_properties(device)
    gib = round(gpu.total_memory / 2**30, 1)
    return {
        "gpu": gpu.name,
        "GiB": gib,
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


# ---------------------------------------------------------------- every version, as it is and compiled


def train_version(version: str, device: torch.device, size: Size) -> Results:
    """Train a version as it is and compiled, round by round in turn; the first round warms both up.

    returns  "eager" and "compiled" steps per second, medians of the rounds; how many times torch.compile
             broke off its graph; the losses of the compiled run's first step and of its last round
    Raises RuntimeError where a loss did not fall, and as training does where one is not finite.
    """
    text = load_corpus("plain-tales", 50_000, with_mask=VERSIONS[version].masks)
    runs = {way: prepare(version, text, device, size) for way in ("eager", "compiled")}
    torch._dynamo.reset()
    counters.clear()
    compile_in_place(runs["compiled"].model, size.backend)
    losses: dict[str, list[float]] = {way: [] for way in runs}
    clock = device_clock(device)

    def one_round(way: str) -> float:
        start = clock()
        losses[way] += [runs[way].make_step().loss for _ in range(size.steps)]
        return size.steps / (clock() - start)

    rates = run_in_rounds(
        {way: partial(one_round, way) for way in runs},
        size.rounds,
        version,
    )
    for way, values in losses.items():
        require_falling(way, values, size.steps)
    speeds = {way: round(statistics.median(found[1:]), 2) for way, found in rates.items()}
    breaks = sum(counters["graph_break"].values())
    return {
        **speeds,
        "graph_breaks": breaks,
        "loss": round(statistics.mean(losses["compiled"][-size.steps :]), 3),
    }


def prepare(version: str, text: Corpus, device: torch.device, size: Size) -> Training:
    """A training of a version that is ready to begin, with batches of one size."""
    config = ModelConfig(text.tokenizer.vocab_size, **size.shape)
    torch.manual_seed(0)
    model = build(version, config).to(device)
    plan = TrainConfig(size.steps * size.rounds + 1, size.batch_size)  # never validated
    return Training(model, fixed_size_objective(version, text, config.block_size), plan)


def require_falling(way: str, losses: Sequence[float], steps: int) -> None:
    """Raise RuntimeError unless the mean loss of the last steps is below that of the first ones."""
    first, last = statistics.mean(losses[:steps]), statistics.mean(losses[-steps:])
    if not last < first:
        raise RuntimeError(f"the {way} run's loss did not fall: {first:.3f}, then {last:.3f}")


# ---------------------------------------------------------------- tests and notebooks


def run_tests(arguments: Sequence[str]) -> Results:
    """Run the tests that need CUDA. Raises RuntimeError with pytest's last line if one fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()])[-1]
    if done.returncode:
        raise RuntimeError(last)
    return {"pytest": last}


def notebook_names(size: Size) -> list[str]:
    """The notebooks that a run of this size runs, in the course's order."""
    return [path.stem for path in notebooks.pick(ROOT / "notebooks", size.notebooks)]


def run_notebook(name: str) -> Results:
    """Run a copy of a notebook in a folder that goes away again. Raises what its first failing cell does."""
    with tempfile.TemporaryDirectory(prefix="babygpt-") as folder:
        copy = Path(shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", folder))
        return {"seconds": round(notebooks.run(copy), 1)}


# ---------------------------------------------------------------- 10.7 million weights


def try_plans(version: str, corpus: str, device: torch.device, size: Size) -> Results:
    """Train the large model by one plan after the other, until one reaches the target in time.

    returns  what `train_large` returns for the plan that came furthest, and "plans": that for each one tried,
             or the "error" that ended it
    Raises RuntimeError if not one came to its end.
    """
    text = load_corpus(corpus, with_mask=VERSIONS[version].masks)
    tried: list[Results] = []
    for plan in size.plans if version == "v4" else size.plans[:1]:  # of v7 no target is known
        found = attempt(partial(train_large, version, text, plan, device, size))
        tried.append({"plan": asdict(plan), **found})
        if found["ok"]:
            break
    ended = [one for one in tried if "val" in one]
    if not ended:
        raise RuntimeError(tried[0]["error"])
    return {**min(ended, key=lambda one: (not one["ok"], one["val"])), "plans": tried}


def train_large(version: str, text: Corpus, plan: Plan, device: torch.device, size: Size) -> Results:
    """Train the large model, compiled, until its target, its budget of seconds or its last step.

    returns  "weights"; "val", the lowest validation loss, in nats; "steps" and "seconds" of training until
             then, without the first step, which compiles: "first_step_s"; for v4, "ok" tells whether the
             target was reached within the aim's seconds; for v7 the final model's "nelbo"
    """
    config = ModelConfig(text.tokenizer.vocab_size, **size.large)
    torch.manual_seed(0)
    model = build(version, config).to(device)
    add_dropout(model, plan.dropout)
    torch._dynamo.reset()  # after eight recompilations of one function it would give up
    compile_in_place(model, size.backend)
    training = Training(model, objective_for(version, text, config.block_size), plan.config())
    target = size.target if version == "v4" else 0.0
    found = {"weights": sum(p.numel() for p in model.parameters()), **race_to(target, training, size)}
    if version == "v4":
        return {**found, "ok": found["val"] <= target and found["seconds"] <= AIM_SECONDS}
    return {**found, "nelbo": round(nelbo(model.eval(), text.val)[0], 4)}


def race_to(target: float, training: Training, size: Size) -> Results:
    """Train and validate in turn; see `train_large`. Returns "val", "steps", "seconds", "first_step_s"."""
    clock, left = device_clock(training.device), training.config.steps - 1
    start = clock()
    training.make_step()
    first, seconds = clock() - start, 0.0
    best: Results = {"val": math.inf}
    while left and best["val"] > target and seconds < size.seconds:
        training.model.train()
        start, now = clock(), min(size.val_every, left)
        for _ in range(now):
            training.make_step()
        left, seconds = left - now, seconds + clock() - start
        val_loss = training.objective.validate(training.model.eval())
        if val_loss < best["val"]:
            best = {"val": round(val_loss, 4), "steps": training.step, "seconds": round(seconds, 2)}
    return {**best, "first_step_s": round(first, 2)}


def add_dropout(model: LanguageModel, share: float) -> None:
    """Leave out a share of what the embedding and every block add to the stream, while the model trains."""
    assert isinstance(model, Transformer)

    def drop(module: nn.Module, _: tuple[Any, ...], out: torch.Tensor) -> torch.Tensor:
        return F.dropout(out, share, module.training)

    outs = [module for name, module in model.blocks.named_modules() if name.endswith(".out")]
    for module in (model.token_embedding, *outs):
        module.register_forward_hook(drop)


# ---------------------------------------------------------------- dashboards


def measure_dashboards() -> Results:
    """What a dashboard leaves of the speed of notebook 04's v4 on the GPU.

    Raises NotHere without Chromium, and RuntimeError if less than SPEED_KEPT is left.
    """
    try:
        find_chromium()
    except BadInput as reason:
        raise NotHere(str(reason)) from None
    with (
        chromium() as browser,
        serve_notebooks({SPEEDS: notebook_text(PRINT_SPEEDS)}) as address,
        Notebook(browser, address, SPEEDS) as notebook,
    ):
        speed = printed_json(notebook, 0)
    kept = round(speed["shown"] / speed["alone"], 3)
    if kept < SPEED_KEPT:
        raise RuntimeError(f"a dashboard leaves {kept} of the speed, which is below {SPEED_KEPT}")
    return {"speed_kept": kept, "steps_per_s": round(speed["shown"], 1)}
