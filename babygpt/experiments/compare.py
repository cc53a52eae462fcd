"""Comparison of versions and own encodings: trained alike, paired by seed, and decided by one rule.

`compare_versions` trains all variants from each seed on the same batches. A file keeps every finished run, so
that the same call goes on where it was stopped. The results also remember which seeds were looked at, because
seeds that suggested a comparison do not decide it.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from importlib import metadata
from math import ceil, inf
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.device import hardware
from babygpt.errors import BadInput
from babygpt.experiments.comparison import RunTable, VersionComparison, comparison_rows
from babygpt.experiments.comparison_plan import (
    ComparisonPlan,
    CurveWatch,
    in_words,
    measure_costs,
    plan_for,
)
from babygpt.experiments.looks import (
    TUNING_SEEDS,
    earlier_looks,
    require_unseen,
    seeds_of,
    suggesting_seeds,
)
from babygpt.experiments.sweep import (
    FailedRuns,
    RunNumbers,
    Runs,
    Workers,
    in_turn_to_the_end,
    keep_runs,
    sweep,
)
from babygpt.experiments.variants import Candidate, VariantName, candidates_of
from babygpt.experiments.workers import processes, threads_of_each
from babygpt.files import file_lock, require_writable, write_atomically
from babygpt.packages import DISTRIBUTION

SUGGESTED = (
    "some of these seeds were looked at before, so their comparison will be undecided: --confirm takes others"
)


class KeptRuns:
    """The runs of a comparison, made by workers; a file keeps those that are finished.

    path       of the file
    workers    make the runs that are missing, `n_workers` at a time
    seconds    that a run takes
    tell       receives a line about what is going on
    failed     name of a run that failed -> its error in one line
    """

    def __init__(
        self, path: Path, workers: Workers, n_workers: int, seconds: float, tell: Callable[[str], None]
    ) -> None:
        self.path, self.workers, self.n_workers, self.tell = path, workers, n_workers, tell
        self.seconds, self.later, self.failed = seconds, 0, dict[str, str]()

    def sweep(
        self,
        plan: ComparisonPlan,
        candidates: Sequence[Candidate],
        seeds: Sequence[int],
        watch: CurveWatch | None = None,
        in_process: bool = False,
    ) -> RunTable:
        """Make the runs of all candidates and seeds that are not kept; return all but those that failed.

        watch       receives the curves, as in `compare_versions`
        in_process  whether the workers make runs in this process, so that a curve can be watched as it grows
        """
        run, kept = plan.run, keep_runs(self.path, self.make_missing)
        if watch:
            names = {f"{c.key}, seed {seed}": c.name for seed in seeds for c in candidates}
            kept = self.watching_workers(watch, names)
            run = partial(run, watch=watch) if in_process else run
        columns = sweep(candidates, seeds, run, kept)
        runs: RunTable = {}
        for candidate, values in columns.items():
            numbers = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
            runs[candidate.key] = {row["seed"]: row for row in numbers}
        return runs

    def watching_workers(self, watch: CurveWatch, names: Mapping[str, str]) -> Workers:
        """Return workers that show the curve of every run, the kept ones first.

        names  name of a run -> name of its variant
        """

        def show_finished(runs: Runs) -> Iterator[tuple[str, RunNumbers]]:
            stored = json.loads(self.path.read_text(encoding="utf-8"))["runs"] if self.path.exists() else {}
            for name in names.keys() & stored.keys():
                watch(names[name], stored[name]["seed"], stored[name]["curve"])
            for name, numbers in self.make_missing(runs):
                watch(names[name], numbers["seed"], numbers["curve"])
                yield name, numbers

        return keep_runs(self.path, show_finished)

    def make_missing(self, runs: Runs) -> Iterator[tuple[str, RunNumbers]]:
        """Yield the name and numbers of each run as it finishes; note those that fail in `failed`.

        Tells how long all will take, the later runs too.
        """
        if not runs:
            return
        n_left = len(runs)
        # The later runs are a sweep of their own, and a round of a sweep takes as long as one run.
        rounds = ceil(n_left / self.n_workers) + ceil(self.later / self.n_workers)
        then = f", and then up to {self.later} more" if self.later else ""
        self.tell(f"{n_left} run{'s' * (n_left > 1)} to make{then}: {in_words(rounds * self.seconds)}")
        begun = time.perf_counter()
        try:
            for name, numbers in self.workers(runs):
                yield name, numbers
                n_left -= 1
                if n_left:
                    pace = (time.perf_counter() - begun) / (len(runs) - n_left)
                    self.tell(f"{name} is finished; {n_left} left, {in_words(n_left * pace)}")
        except FailedRuns as failures:
            for name, error in failures.errors.items():
                self.failed[name] = " ".join(f"{type(error).__name__}: {error}".split())


def tune_rates(
    plan: ComparisonPlan, candidates: Sequence[Candidate], rates: Sequence[float], run_file: KeptRuns
) -> tuple[list[Candidate], dict[str, Any]]:
    """Give each variant the learning rate of its lowest mean loss over TUNING_SEEDS.

    rates    factors of the settings' learning rates
    returns  the variants, and what was tried: "rates", "seeds", "losses" by name and rate
    Raises BadInput for a variant of which no rate has finished all seeds.
    """
    trials = [replace(candidate, rate=rate) for candidate in candidates for rate in rates]
    runs = run_file.sweep(plan, trials, TUNING_SEEDS)
    tuned, losses = list[Candidate](), dict[str, dict[str, float | None]]()
    for candidate in candidates:
        of_rate: dict[float, float] = {}
        for rate in rates:
            by_seed = runs.get(replace(candidate, rate=rate).key, {})
            if len(by_seed) == len(TUNING_SEEDS):
                of_rate[rate] = mean(run["loss"] for run in by_seed.values())
        if not of_rate:
            reason = next(iter(run_file.failed.values()), "")
            raise BadInput(f"{candidate.name} finished its training at none of the rates: {reason}")
        tuned.append(replace(candidate, rate=min(of_rate, key=of_rate.__getitem__)))
        losses[candidate.name] = {f"{rate:g}": of_rate.get(rate) for rate in rates}
    return tuned, {"rates": list(rates), "seeds": list(TUNING_SEEDS), "losses": losses}


def require_rates(rates: Sequence[float], seeds: Sequence[int]) -> None:
    """Raise BadInput unless learning rates can be tuned by these factors and then compared on these seeds."""
    for rate in rates:
        if not 0 < rate < inf:
            raise BadInput(f"rates ({rate:g}) are factors of the learning rates, above 0: 0.5 1 2")
    if len(set(rates)) < len(rates) or len(rates) == 1:
        listed = " ".join(f"{rate:g}" for rate in rates)
        raise BadInput(f"rates ({listed}) must be at least 2 different factors: 0.5 1 2")
    if rates and (both := sorted(set(seeds) & set(TUNING_SEEDS))):
        raise BadInput(f"seed {both[0]} tunes the learning rates: compare on other seeds")


def compare_versions(
    versions: Sequence[VariantName],
    corpus: Corpus | str = "tales",
    seeds: int | Sequence[int] | None = None,
    model: ModelConfig | None = None,
    training: TrainConfig | None = None,
    *,
    rates: Sequence[float] = (),
    confirm: bool = False,
    out: Path | str | None = None,
    n_workers: int = 1,
    workers: Workers | None = None,
    tell: Callable[[str], None] = print,
    watch: CurveWatch | None = None,
    command: str = "",
) -> VersionComparison:
    """Train versions or own encodings from several seeds, and compare all others with the first.

    versions   at least two of one goal: names, "mine.py:Sandwich", or classes of Encoding; or any of these in
               a pair with its options, as in ("v4-shift", {"back": 2})
    corpus     or its name or path
    seeds      how many of the course's seeds, or the seeds themselves; 3, and 12 to confirm
    model      shape of the models: 2 layers of width 96, windows of 64 characters by default
    training   600 steps by default; its seed is not used
    rates      factors of the learning rates: each variant takes its best one, on seeds of their own
    confirm    take twelve other seeds than those that an earlier comparison in `out` looked at
    out        JSON file of the results; finished runs are kept beside it, in NAME.runs.json, and the same
               call goes on with the next one. Without it nothing is kept
    n_workers  runs made at once, each in a process of its own; 1 for one after the other, in this process
    workers    make the runs otherwise, `n_workers` at a time: jobs of a cluster
    tell       receives a line now and then
    watch      receives the name of a variant, a seed and the run's curve so far, [[step, loss], ...]: after
               each validation of a run in this process, else when the run is finished or found in a file
    command    stored with the results
    Raises BadInput for what cannot be compared, before anything is trained or written.
    """
    begun, candidates, planned = time.perf_counter(), candidates_of(versions), seeds_of(seeds, confirm)
    require_rates(rates, planned)
    plan = plan_for(candidates[0], corpus, model, training)
    if out:
        require_writable(Path(out), "--out")
    with TemporaryDirectory() as folder, file_lock(Path(out)) if out else nullcontext():
        path = Path(out or Path(folder) / "comparison.json")
        kept_path = path.with_suffix(".runs.json")
        looks = earlier_looks(path, plan.settings(), kept_path)
        if confirm:
            require_unseen(looks, {c.name: c.key for c in candidates}, planned, path)
        costs = measure_costs(plan, candidates, threads_of_each(n_workers))
        if not looks:
            store(path, {"settings": plan.settings(), "looks": []})  # whose runs are kept beside it
        seconds = mean(cost["seconds"] for cost in costs.values())
        run_file = KeptRuns(kept_path, workers or run_workers(n_workers), n_workers, seconds, tell)
        tuning = None
        if rates:
            run_file.later = len(candidates) * len(planned)
            candidates, tuning = tune_rates(plan, candidates, rates, run_file)
            run_file.later = 0
        if any(suggestions(looks, candidates, planned).values()):
            tell(SUGGESTED)
        in_process = workers is None and n_workers == 1
        runs = run_file.sweep(plan, candidates, planned, watch, in_process)
        if not all(runs.get(candidate.key) for candidate in candidates):
            raise BadInput(f"a variant finished no run: {'; '.join(map(': '.join, run_file.failed.items()))}")
        results = {
            **circumstances(plan, command, time.perf_counter() - begun),
            "goal": candidates[0].goal,
            "seeds": list(planned),
            **summarize(candidates, runs, looks, planned),
            "costs": costs,
            "tuning": tuning,
            "failed": run_file.failed,
        }
        store(path, results)
    return VersionComparison(results)


def circumstances(plan: ComparisonPlan, command: str, seconds: float) -> dict[str, Any]:
    """Return what numbers depend on beside the seeds: the command, the machine, the settings, the text."""
    return {
        "command": command,
        "babygpt": metadata.version(DISTRIBUTION),
        "minutes": round(seconds / 60, 1),
        **hardware(),
        "settings": plan.settings(),
        "floor": plan.corpus.floor,
    }


def summarize(
    candidates: Sequence[Candidate],
    runs: RunTable,
    looks: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
) -> dict[str, Any]:
    """Return "rows", "runs", "looks", "earlier_seeds" and "suggesting" of a comparison that has ended.

    looks  those that were stored; this one is added to them, unless it is one of them
    """
    keys = {candidate.name: candidate.key for candidate in candidates}
    first, suggesting = candidates[0], suggestions(looks, candidates, seeds)
    look = {"variants": keys, "seeds": list(seeds)}
    earlier = list(looks[: looks.index(look)] if look in looks else looks)
    pairs = [{first.name, candidate.name} for candidate in candidates[1:]]
    of_pairs = [look for look in earlier if any(pair <= look["variants"].keys() for pair in pairs)]
    return {
        "rows": comparison_rows(candidates, runs, suggesting),
        "runs": {candidate.name: list(runs[candidate.key].values()) for candidate in candidates},
        "looks": list(looks) if look in looks else [*looks, look],
        "earlier_seeds": sorted({seed for earlier_look in of_pairs for seed in earlier_look["seeds"]}),
        "suggesting": suggesting,
    }


def suggestions(
    looks: Sequence[Mapping[str, Any]], candidates: Sequence[Candidate], seeds: Sequence[int]
) -> dict[str, list[int]]:
    """Return the seeds that suggested each variant's comparison with the first, by name."""
    first, *rivals = candidates
    pairs = {rival.name: {first.name: first.key, rival.name: rival.key} for rival in rivals}
    return {name: suggesting_seeds(looks, pair, seeds) for name, pair in pairs.items()}


def run_workers(n_workers: int) -> Workers:
    """Return workers that make this number of runs at once."""
    return in_turn_to_the_end if n_workers == 1 else processes(n_workers)


def store(path: Path, results: Mapping[str, Any]) -> None:
    """Write results as JSON, whole or not at all."""
    write_atomically(path, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
