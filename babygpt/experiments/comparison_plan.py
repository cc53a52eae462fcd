"""Plan of a comparison: what its runs share, one run, and how long it takes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from babygpt import metrics
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.sweep import RunNumbers, finish, questions, small_config
from babygpt.experiments.variants import Candidate
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Objective, objective_for
from babygpt.training import Step, snapshot, train

Curve = list[list[float]]  # validation losses as [step, loss]
# Receives the name of a variant, the seed of one of its runs, and the curve of this run so far.
CurveWatch = Callable[[str, int, Curve], None]
CURVE_POINTS = 8  # validations of a run, unless `eval_every` says otherwise
VAL_TOKENS = 20_000  # Every run is measured on this many tokens of the validation text.
LEAST_VAL_WINDOWS = 512  # the fewest for versions that fill in, whose masks are drawn
N_QUESTIONS = 400
N_MASKED_QUESTIONS = 100  # the exact bound of an answer takes up to 31 passes
FURTHEST = 4  # windows that are read to measure the loss beyond the first
# Weights of an encoding with at most this many numbers are stored, so that a reader can see them.
FEW_NUMBERS = 64
TRIAL_STEPS = 10  # Each variant makes this many steps first, which tell how long all runs will take.


@dataclass(frozen=True)
class ComparisonPlan:
    """Corpus, shape, training and questions that all runs of a comparison share.

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
        return objective_for(
            candidate.version, self.corpus, self.model.block_size, val_windows=LEAST_VAL_WINDOWS
        )

    def train(
        self, candidate: Candidate, seed: int, watch: CurveWatch | None = None
    ) -> tuple[LanguageModel, Curve]:
        """Train a variant from a seed; return the model and its curve. `watch` gets the curve as it grows."""
        lr_matrix, lr_other = (
            candidate.rate * lr for lr in (self.training.lr_matrix, self.training.lr_other)
        )
        training = replace(self.training, seed=seed, lr_matrix=lr_matrix, lr_other=lr_other)
        title, curve = f"{candidate.name}, seed {seed}", Curve()

        def steps() -> Iterator[Step]:
            for step in train(model, objective, training):
                if step.val_loss is not None:
                    curve.append([step.step, step.val_loss])
                    if watch:
                        watch(candidate.name, seed, curve)
                yield step

        objective = self.objective(candidate)
        torch.manual_seed(seed)
        model = candidate.build(self.model).to(pick_device())
        finish(steps(), training.steps, title)
        return model, curve

    def run(self, candidate: Candidate, seed: int, watch: CurveWatch | None = None) -> RunNumbers:
        """Train a variant from a seed; return its seed, its curve, what MEASURES names, and "learned".

        The last holds the trained values of the encoding's small weights, by name.
        """
        model, curve = self.train(candidate, seed, watch)
        learned = {
            name: values.ravel().tolist()
            for name, values in snapshot(model).items()
            if values.size <= FEW_NUMBERS
        }
        measures = self.measure(candidate, model)
        return {"seed": seed, "curve": curve, "loss": curve[-1][1], **measures, "learned": learned}

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
) -> dict[str, dict[str, Any]]:
    """Make TRIAL_STEPS of each variant in turn, and return what they cost.

    threads  that a run will have
    returns  for each name "ms": milliseconds of a step, the median; "ratio": to the first variant's step, the
             median over the rounds, and "ratio_span", the ends of the middle half of the rounds; "seconds"
             that a whole run will take; "parameters": number of weights
    """
    models, loops = dict[str, LanguageModel](), dict[str, Iterator[Step]]()
    training = replace(plan.training, steps=TRIAL_STEPS + 2, eval_every=0)
    for candidate in candidates:
        torch.manual_seed(training.seed)
        models[candidate.name] = candidate.build(plan.model).to(pick_device())
        loops[candidate.name] = train(models[candidate.name], plan.objective(candidate), training)
    times: dict[str, list[float]] = {name: [] for name in loops}
    with limited_threads(threads):
        for _ in range(1 + TRIAL_STEPS):
            for name, loop in loops.items():
                start = time.perf_counter()
                try:
                    next(loop)
                except FloatingPointError as error:
                    raise BadInput(f"{name} cannot be trained: {error}") from error
                times[name].append(time.perf_counter() - start)
        evaluations = {c.name: plan.time_evaluations(c, models[c.name]) for c in candidates}
    costs: dict[str, dict[str, Any]] = {}
    first = np.array(times[candidates[0].name][1:])  # the first step of all warms up
    for name, steps in ((name, np.array(taken[1:])) for name, taken in times.items()):
        step, ratios = float(np.median(steps)), steps / first
        costs[name] = {
            "ms": 1000 * step,
            "ratio": float(np.median(ratios)),
            "ratio_span": [float(end) for end in np.quantile(ratios, (0.25, 0.75))],
            "seconds": plan.training.steps * step + evaluations[name],
            "parameters": sum(p.numel() for p in models[name].parameters()),
        }
    return costs


def in_words(seconds: float) -> str:
    """Return a time in words, such as "about 12 minutes"."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
