"""Comparison of versions and own encodings: trained alike, paired by seed, and decided by one rule.

`compare_versions` trains all variants from each seed on the same batches. A file keeps every finished run, so
that the same call goes on where it was stopped. The results also remember which seeds were looked at, because
seeds that suggested a comparison do not decide it.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from math import inf
from pathlib import Path
from secrets import token_hex
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from babygpt import metrics
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.device import hardware, pick_device
from babygpt.errors import BadInput
from babygpt.experiments.comparison import FIRST_INTERVAL, MEASURES, VersionComparison
from babygpt.experiments.looks import (
    TUNING_SEEDS,
    earlier_looks,
    require_unseen,
    seeds_of,
    suggesting_seeds,
)
from babygpt.experiments.paired import FEWEST_SEEDS, UNDECIDED, Comparison, compare, holm, mean_sd
from babygpt.experiments.sweep import (
    FailedRuns,
    RunNumbers,
    Runs,
    Workers,
    in_turn_to_the_end,
    keep_runs,
    questions,
    small_config,
    sweep,
    train_from_seed,
)
from babygpt.experiments.workers import threads_of_each
from babygpt.files import file_lock, require_writable, write_atomically
from babygpt.models.language_model import LanguageModel
from babygpt.models.own_encodings import source_digest
from babygpt.models.versions import VersionName, build, require_version
from babygpt.objectives import Objective, objective_for
from babygpt.packages import DISTRIBUTION
from babygpt.training import Step, train

RunTable = dict[str, dict[int, RunNumbers]]  # key of a variant -> seed -> what it measured
CURVE_POINTS = 8  # validations of a run, unless `eval_every` says otherwise
VAL_TOKENS = 20_000  # of the validation text that every run is measured on
VAL_WINDOWS = 512  # the fewest for versions that fill in, whose masks are drawn
N_QUESTIONS = 400
N_MASKED_QUESTIONS = 100  # the exact bound of an answer takes up to 31 passes
FURTHEST = 4  # windows that are read to measure the loss beyond the first
TRIAL_STEPS = 10  # of each variant, to say how long all will take


@dataclass(frozen=True)
class Candidate:
    """A variant of a comparison, in plain values that a worker can be sent.

    name      of the version, such as "v4" or "mine.py:Sandwich"
    version   what `build` takes
    title     its name in words
    masks     whether it fills in masked characters
    branches  whether it reads several texts
    digest    SHA-256 of the file of an encoding from outside; None for our own and for a class without a file
    source    what tells this encoding from another one of its name: the digest's beginning, or for a class
              without a file a random text, so that no other class resumes its runs
    rate      factor of both learning rates
    """

    name: str
    version: VersionName
    title: str
    masks: bool = False
    branches: bool = False
    digest: str | None = None
    source: str = ""
    rate: float = 1.0

    @property
    def key(self) -> str:
        """Name of its runs, which differs for another file and another rate."""
        file = f", file {self.source}" if self.source else ""
        return self.name + file + (f", rates x {self.rate:g}" if self.rate != 1 else "")

    @property
    def goal(self) -> str:
        """What it is trained for, in words. Losses of different goals cannot be compared."""
        if self.masks:
            return "fill in masked characters"
        return "predict the next character" + (" of several texts" if self.branches else "")

    def build(self, config: ModelConfig) -> LanguageModel:
        """Make an untrained model. Raise BadInput if the encoding's file has changed since the beginning."""
        own = require_version(self.version).own
        if own and source_digest(own) != self.digest:
            raise BadInput(f"the file of {self.name} has changed since the comparison began: start it again")
        return build(self.version, config)


def candidate_of(version: VersionName) -> Candidate:
    """Return the variant that a version stands for. Raise BadInput for an unknown one."""
    kind = require_version(version)
    digest = source_digest(kind.own) if kind.own else None
    source = (digest or f"typed {token_hex(6)}")[:18] if kind.own else ""
    return Candidate(kind.name, version, kind.title, kind.masks, kind.branches, digest, source)


def candidates_of(versions: Sequence[VersionName]) -> list[Candidate]:
    """Return the variants that versions name.

    Raises BadInput for fewer than two, an unknown one, one that is named twice, and for different goals.
    """
    if len(versions) < 2:
        raise BadInput(f"{len(versions)} variants: a comparison needs at least 2, such as v4 alibi")
    candidates = [candidate_of(version) for version in versions]
    names = [candidate.name for candidate in candidates]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"{twice[0]} is named twice: each variant is compared once")
    first = candidates[0]
    for candidate in candidates:
        if candidate.goal != first.goal:
            raise BadInput(
                f"{first.name} learns to {first.goal} and {candidate.name} to {candidate.goal}: "
                "their losses differ, so compare them in two commands"
            )
    return candidates


# ---------------------------------------------------------------- one run


@dataclass(frozen=True)
class ComparisonPlan:
    """What all runs of a comparison share.

    corpus    with a MASK token for variants that fill in
    model     shape of the models
    training  steps, batch size and learning rates; each run sets its own seed
    quiz      questions about who did what; none where the corpus asks none
    """

    corpus: Corpus
    model: ModelConfig
    training: TrainConfig
    quiz: Sequence[Any]

    def settings(self) -> dict[str, Any]:
        """Return all that two runs must share to be comparable, by the names of their flags."""
        chosen = {**asdict(self.model), **asdict(self.training)}
        del chosen["seed"], chosen["vocab_size"]
        text = {"corpus": self.corpus.name, "text": self.corpus.fingerprint()}
        return {**text, **chosen, "val_tokens": len(self.corpus.val), "questions": len(self.quiz)}

    def objective(self, candidate: Candidate) -> Objective:
        """Return the objective of a run before its first batch."""
        return objective_for(candidate.version, self.corpus, self.model.block_size, val_windows=VAL_WINDOWS)

    def train(self, candidate: Candidate, seed: int) -> tuple[LanguageModel, list[list[float]]]:
        """Train a variant from a seed; return the model, and its validation losses as [step, loss]."""
        lr_matrix, lr_other = (
            candidate.rate * lr for lr in (self.training.lr_matrix, self.training.lr_other)
        )
        training = replace(self.training, seed=seed, lr_matrix=lr_matrix, lr_other=lr_other)
        title = f"{candidate.name}, seed {seed}"
        model, steps = train_from_seed(
            candidate.build, self.model, self.objective(candidate), training, title
        )
        return model, [[step.step, step.val_loss] for step in steps if step.val_loss is not None]

    def run(self, candidate: Candidate, seed: int) -> RunNumbers:
        """Train a variant from a seed; return its seed, its curve, and what MEASURES names."""
        model, curve = self.train(candidate, seed)
        return {"seed": seed, "curve": curve, "loss": curve[-1][1], **self.measure(candidate, model)}

    def measure(self, candidate: Candidate, model: LanguageModel) -> dict[str, float | None]:
        """Return the measures of a trained model beside its loss; None where it has no such number.

        beyond  what reading FURTHEST windows changes, on the same targets as within one window
        """
        if candidate.branches:
            return {}
        tokenizer, val = self.corpus.tokenizer, self.corpus.val
        if candidate.masks:
            bound, score = metrics.nelbo(model, val)[0], metrics.answer_bounds
            roles = metrics.role_accuracy(model, tokenizer, self.quiz, score) if self.quiz else None
            return {"nelbo": bound, "roles": roles}
        length, furthest = FURTHEST * self.model.block_size, model.encoding.max_positions
        beyond = None
        if len(val) > length and (furthest is None or length <= furthest):
            beyond, _ = metrics.position_matched_change(model, val, length, n_windows=16)
        if not self.quiz:
            return {"roles": None, "whole": None, "beyond": beyond}
        roles = metrics.role_accuracy(model, tokenizer, self.quiz)
        whole = metrics.whole_answer_accuracy(model, tokenizer, self.quiz)
        return {"roles": roles, "whole": whole, "beyond": beyond}

    def time_evaluations(self, candidate: Candidate, model: LanguageModel) -> float:
        """Return the seconds that a run takes beside its steps: its validations, and its measures."""
        start = time.perf_counter()
        self.objective(candidate).validate(model)
        validated = time.perf_counter()
        self.measure(candidate, model)
        n_validations = -(-self.training.steps // self.training.eval_every)
        return n_validations * (validated - start) + time.perf_counter() - validated


def plan_for(
    candidate: Candidate, corpus: Corpus | str, model: ModelConfig | None, training: TrainConfig | None
) -> ComparisonPlan:
    """Return the plan of a comparison.

    candidate  any of the variants: all have one goal
    corpus     a corpus, or the name or path of one
    model      shape of the models; by default that of the course's studies
    training   600 steps by default
    Raises BadInput for the corpus, and if either part of it is too short.
    """
    if not isinstance(corpus, Corpus):
        corpus = load_corpus(corpus, with_mask=candidate.masks)
    corpus = replace(corpus, val=corpus.val[:VAL_TOKENS])
    model, training = model or small_config(corpus, 64), training or TrainConfig()
    if not training.eval_every:
        training = replace(training, eval_every=max(1, training.steps // CURVE_POINTS))
    quiz = fitting_questions(corpus, model.block_size, candidate)
    plan = ComparisonPlan(corpus, model, training, quiz)
    plan.objective(candidate)  # refuses a text that is too short
    return plan


def fitting_questions(corpus: Corpus, block_size: int, candidate: Candidate) -> Sequence[Any]:
    """Return the questions that all models are asked; none if the corpus asks none that fit into a window.

    Models of several texts are asked none either.
    """
    if candidate.branches:
        return ()
    try:
        questions(corpus, block_size, 2)  # soon tells if no story is short enough
        return questions(corpus, block_size, N_MASKED_QUESTIONS if candidate.masks else N_QUESTIONS)
    except BadInput:
        return ()


# ---------------------------------------------------------------- how long it takes


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Let PyTorch compute with some number of threads while the context lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def measure_costs(
    plan: ComparisonPlan, candidates: Sequence[Candidate], threads: int
) -> dict[str, dict[str, float]]:
    """Make TRIAL_STEPS of each variant in turn; return its "ms" a step, "ratio", "seconds" and "parameters".

    threads  that a run will have
    returns  for each name: milliseconds of a step, the median; its ratio to the first variant's step, the
             median over the rounds; seconds that a whole run will take; number of weights
    """
    models, loops = dict[str, LanguageModel](), dict[str, Iterator[Step]]()
    training = replace(plan.training, steps=TRIAL_STEPS + 2, warmup=0, eval_every=0)
    for candidate in candidates:
        torch.manual_seed(training.seed)
        models[candidate.name] = candidate.build(plan.model).to(pick_device())
        loops[candidate.name] = train(models[candidate.name], plan.objective(candidate), training)
    times: dict[str, list[float]] = {name: [] for name in loops}
    with limited_threads(threads):
        for _ in range(1 + TRIAL_STEPS):
            for name, loop in loops.items():
                start = time.perf_counter()
                next(loop)
                times[name].append(time.perf_counter() - start)
        evaluations = {c.name: plan.time_evaluations(c, models[c.name]) for c in candidates}
    costs: dict[str, dict[str, float]] = {}
    first = np.array(times[candidates[0].name][1:])  # the first step of all warms up
    for name, steps in ((name, np.array(taken[1:])) for name, taken in times.items()):
        step = float(np.median(steps))
        costs[name] = {
            "ms": 1000 * step,
            "ratio": float(np.median(steps / first)),
            "seconds": plan.training.steps * step + evaluations[name],
            "parameters": sum(p.numel() for p in models[name].parameters()),
        }
    return costs


def in_words(seconds: float) -> str:
    """Return a time in words, such as "about 12 minutes"."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"


# ---------------------------------------------------------------- statistics


def comparison_rows(
    candidates: Sequence[Candidate],
    runs: Mapping[str, Mapping[int, RunNumbers]],
    suggesting: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return one row for each variant: its means, and its differences to the first variant, paired by seed.

    runs        key of a variant -> seed -> what it measured
    suggesting  name of a variant -> seeds that suggested its comparison with the first
    returns     rows with "variant", "title", "rate", "seeds", "means" and "differences"; a difference has
                "mean", "low", "high", "n", "p" and "each" seed's. Its ends are None below FIRST_INTERVAL
                seeds, and its "verdict" is None below FEWEST_SEEDS
    """
    rows, baseline = list[dict[str, Any]](), runs.get(candidates[0].key, {})
    for candidate in candidates:
        own = runs.get(candidate.key, {})
        means, gaps = dict[str, Any](), dict[str, Any]()
        for name, measure in MEASURES.items():
            values = [run[name] for run in own.values() if run.get(name) is not None]
            if not values:
                continue
            means[name] = mean_sd(values)
            each = {
                seed: run[name] - baseline[seed][name]
                for seed, run in own.items()
                if None not in (run.get(name), baseline.get(seed, {}).get(name))
            }
            if each and candidate is not candidates[0]:
                is_suggested = bool(suggesting.get(candidate.name))
                comparison = compare(list(each.values()), measure.least, suggested=is_suggested)
                gaps[name] = {"comparison": comparison, "each": each}
        rows.append(
            {
                "variant": candidate.name,
                "title": candidate.title,
                "rate": candidate.rate,
                "digest": candidate.digest,
                "seeds": list(own),
                "means": means,
                "differences": gaps,
            }
        )
    add_verdicts([gap for row in rows for gap in row["differences"].values()])
    return rows


def add_verdicts(gaps: Sequence[dict[str, Any]]) -> None:
    """Replace the comparison in each of these differences by its numbers and its verdict, in place.

    All differences of a table are one family: a verdict stands if it does after Holm's correction.
    """
    comparisons: list[Comparison] = [gap["comparison"] for gap in gaps]
    for gap, stands in zip(gaps, holm([comparison.p for comparison in comparisons]), strict=True):
        comparison = gap.pop("comparison")
        n, shown = comparison.n, comparison.n >= FIRST_INTERVAL
        gap |= {"mean": comparison.mean, "n": n, "p": comparison.p if shown else None}
        gap |= {"low": comparison.low if shown else None, "high": comparison.high if shown else None}
        words = {"below": "lower", "above": "higher"}
        word = words.get(comparison.side, UNDECIDED) if stands else UNDECIDED
        gap["verdict"] = word if n >= FEWEST_SEEDS else None


# ---------------------------------------------------------------- the comparison


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

    def sweep(self, plan: ComparisonPlan, candidates: Sequence[Candidate], seeds: Sequence[int]) -> RunTable:
        """Make the runs of all candidates and seeds that are not kept; return all but those that failed."""
        by_key = {candidate.key: candidate for candidate in candidates}
        workers = keep_runs(self.path, self.make_missing)
        columns = sweep(by_key, seeds, lambda key, seed: plan.run(by_key[key], seed), workers)
        runs: RunTable = {}
        for key, values in columns.items():
            numbers = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
            runs[key] = {row["seed"]: row for row in numbers}
        return runs

    def make_missing(self, runs: Runs) -> Iterator[tuple[str, RunNumbers]]:
        """Make runs, and tell how long it will take; note one that fails, and go on with the others."""
        if not runs:
            return
        left = len(runs)
        whole = (left + self.later) * self.seconds / min(left, self.n_workers)
        then = f", and then up to {self.later} more" if self.later else ""
        self.tell(f"{left} runs to make{then}: {in_words(whole)}")
        begun = time.perf_counter()
        try:
            for name, numbers in self.workers(runs):
                yield name, numbers
                left -= 1
                if left:
                    pace = (time.perf_counter() - begun) / (len(runs) - left)
                    self.tell(f"{name} is finished; {left} left, {in_words(left * pace)}")
        except FailedRuns as failures:
            for name, error in failures.errors.items():
                self.failed[name] = " ".join(f"{type(error).__name__}: {error}".split())


def tune_rates(
    plan: ComparisonPlan, candidates: Sequence[Candidate], rates: Sequence[float], kept: KeptRuns
) -> tuple[list[Candidate], dict[str, Any]]:
    """Give each variant the learning rate of its lowest mean loss over TUNING_SEEDS.

    rates    factors of the settings' learning rates
    returns  the variants, and what was tried: "rates", "seeds", "losses" by name and rate
    Raises BadInput for a variant of which no rate has finished all seeds.
    """
    trials = [replace(candidate, rate=rate) for candidate in candidates for rate in rates]
    runs = kept.sweep(plan, trials, TUNING_SEEDS)
    tuned, losses = list[Candidate](), dict[str, dict[str, float | None]]()
    for candidate in candidates:
        of_rate: dict[float, float] = {}
        for rate in rates:
            by_seed = runs.get(replace(candidate, rate=rate).key, {})
            if len(by_seed) == len(TUNING_SEEDS):
                of_rate[rate] = mean(run["loss"] for run in by_seed.values())
        if not of_rate:
            reason = next(iter(kept.failed.values()), "")
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
    versions: Sequence[VersionName],
    corpus: Corpus | str = "tales",
    seeds: int | Sequence[int] = 3,
    model: ModelConfig | None = None,
    training: TrainConfig | None = None,
    *,
    rates: Sequence[float] = (),
    confirm: bool = False,
    out: Path | None = None,
    workers: Workers = in_turn_to_the_end,
    n_workers: int = 1,
    tell: Callable[[str], None] = print,
    command: str = "",
) -> VersionComparison:
    """Train versions or own encodings from several seeds, and compare all others with the first.

    versions   at least two: names, "mine.py:Sandwich", or classes of Encoding, all of one goal
    corpus     or its name or path
    seeds      how many of the course's seeds, or the seeds themselves
    model      shape of the models: 2 layers of width 96, windows of 64 characters by default
    training   600 steps by default; its seed is not used
    rates      factors of the learning rates: each variant takes its best one, on seeds of their own
    confirm    take twelve other seeds than those that an earlier comparison in `out` looked at
    out        JSON file of the results; finished runs are kept beside it, in NAME.runs.json, and the same
               call goes on with the next one. Without it nothing is kept
    workers    make the runs, `n_workers` at a time
    tell       receives a line now and then
    command    stored with the results
    Raises BadInput for what cannot be compared, before anything is trained or written.
    """
    begun, candidates, planned = time.perf_counter(), candidates_of(versions), seeds_of(seeds, confirm)
    require_rates(rates, planned)
    plan = plan_for(candidates[0], corpus, model, training)
    if out:
        require_writable(out, "--out")
    with TemporaryDirectory() as folder, file_lock(out) if out else nullcontext():
        path = out or Path(folder) / "comparison.json"
        looks = earlier_looks(path, plan.settings())
        if confirm:
            require_unseen(looks, [candidate.name for candidate in candidates], planned, path)
        costs = measure_costs(plan, candidates, threads_of_each(n_workers))
        if not path.exists():
            store(path, {"settings": plan.settings(), "looks": []})  # whose runs are kept beside it
        seconds = mean(cost["seconds"] for cost in costs.values())
        kept = KeptRuns(path.with_suffix(".runs.json"), workers, n_workers, seconds, tell)
        tuning = None
        if rates:
            kept.later = len(candidates) * len(planned)
            candidates, tuning = tune_rates(plan, candidates, rates, kept)
            kept.later = 0
        runs = kept.sweep(plan, candidates, planned)
        if not all(runs.get(candidate.key) for candidate in candidates):
            raise BadInput(f"a variant finished no run: {'; '.join(map(': '.join, kept.failed.items()))}")
        results = {
            "command": command,
            "babygpt": metadata.version(DISTRIBUTION),
            "minutes": round((time.perf_counter() - begun) / 60, 1),
            **hardware(),
            "settings": plan.settings(),
            "goal": candidates[0].goal,
            "floor": plan.corpus.floor,
            "seeds": list(planned),
            **summarize(candidates, runs, looks, planned),
            "costs": costs,
            "tuning": tuning,
            "failed": kept.failed,
        }
        store(path, results)
    return VersionComparison(results)


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
    first = candidates[0]
    suggesting = {
        name: suggesting_seeds(looks, {first.name: first.key, name: key}, seeds)
        for name, key in list(keys.items())[1:]
    }
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


def store(path: Path, results: Mapping[str, Any]) -> None:
    """Write results as JSON, whole or not at all."""
    write_atomically(path, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
