"""Study of order in small models: v1 and v2, the mask alone, and a table of sines past its window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, load_corpus, metrics
from babygpt.data.batches import cut, line_starts
from babygpt.data.corpus import QUESTION_SEED, Corpus, from_grammar
from babygpt.data.grammar import Grammar
from babygpt.encodings.sinusoidal import Sinusoidal, frequencies, sinusoid
from babygpt.experiments import sweep as sweeps
from babygpt.experiments.paired import by_measurement, percent
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.objectives.objective import Batch, cross_entropy
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.stretching import with_encoding

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.figure import Figure

WINDOW = 64  # positions trained on
FAR = 128  # position from which on a text is measured past the window
ARMS = (("one layer", 1, ""), ("two layers", 2, ""), ("two layers, marked start", 2, "^"))
FED = {f"{arm}, {n} steps": (layers, first, n) for arm, layers, first in ARMS for n in (300, 600)}
AGAIN = {f"again, {n} steps": (2, "", n) for n in (300, 600)}
FAILED = (0, 2, 5, 1003)  # seeds of first weights that had failed after 300 steps of BATCHES
BATCHES = 1337  # seed of the batches
BAGS = {f"{version}, {how}": (version, how) for version in ("v1", "v2") for how in ("aligned", "anywhere")}
RACE = {"nope": "nope", "v3": "v3", "v3, all positions": "v3"}  # arm -> version
SCALE = sweeps.StudySize(steps=600, seeds=sweeps.MORE_SEEDS)  # the longest run; the others are shorter


class AllPositions(NextToken):
    """Windows moved to random positions, so that training meets every position of four windows."""

    places: Sequence[int] = range(3 * WINDOW + 1)  # where a batch may begin
    first = 0

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        self.first = self.places[int(torch.randint(len(self.places), (), generator=generator))]
        return super().batch(batch_size, generator)

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        inputs, targets = batch
        return losses_from(model, inputs, targets, self.first)


class Replaced(Sinusoidal):
    """Sinusoid some of whose pairs stand still past the window (`frozen`), or begin again after it."""

    def __init__(self, n_embd: int, pairs: Tensor, frozen: bool) -> None:
        super().__init__(n_embd)
        self.channels, self.frozen = pairs.repeat_interleave(2), frozen

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        time = positions.time
        inside = time.clamp(max=WINDOW - 1) if self.frozen else time % WINDOW
        replaced, table = (sinusoid(position, self.n_embd) for position in (inside, time))
        return x + torch.where(self.channels.to(x.device), replaced, table)


def losses_from(model: LanguageModel, inputs: Tensor, targets: Tensor, first: int = 0) -> Tensor:
    """Return the loss of each target of windows whose first token stands at `first`: (B, T) nats."""
    return cross_entropy(model(inputs, Positions.arange(inputs.shape[1], first, inputs.device)), targets)


@torch.inference_mode()
def measure_far(model: Transformer, corpus: Corpus) -> dict[str, float]:
    """Measure the loss from position FAR on of a long text, and of a short one that is moved there.

    returns  "inside", "long", "moved", nats; the last two also with some pairs "frozen" and "put back"
    """
    starts = line_starts(corpus.val, int(corpus.tokenizer.encode("\n")), 4 * WINDOW + 1)
    texts = cut(corpus.val, starts[:: max(1, len(starts) // 128)][:128], 4 * WINDOW + 1)
    texts, encoding = texts.to(model.head.weight.device), model.encoding
    long, short = ((tokens[:, :-1], tokens[:, 1:]) for tokens in (texts, texts[:, : WINDOW + 1]))
    slow = 2 * np.pi / frequencies(model.config.n_embd) > WINDOW  # they turn less than once in a window
    tables = {"": encoding}
    for name, pairs in (("slow", slow), ("quick", ~slow), ("all", slow | ~slow)):
        # Only a sinusoid has pairs that can stand still alone.
        for how in ("frozen", "put back") if isinstance(encoding, Sinusoidal) else ():
            tables[f", {name} {how}"] = Replaced(model.config.n_embd, pairs, how == "frozen")
    losses_by_case = {"inside": losses_from(model, *short)}
    for name, table in tables.items():
        reader = with_encoding(model, table)
        losses_by_case[f"long{name}"] = losses_from(reader, *long)[:, FAR:]
        losses_by_case[f"moved{name}"] = losses_from(reader, *short, FAR)
    return {name: round(float(losses.mean()), 4) for name, losses in losses_by_case.items()}


def measure_fed(name: str, seed: int, most_steps: int) -> dict[str, float]:
    """Train a model without an encoding on one-letter tales: the share of right answers to who fed whom."""
    n_layer, first, steps = (FED | AGAIN)[name]
    question_templates = ("who? {name.a!b}.", "whom? {name.b!a}.")
    stories = tuple(first + "{name.a} fed {name.b}. " + question for question in question_templates)
    grammar = Grammar({"name": tuple("ABCDEFGH")}, {"story": stories})
    corpus = from_grammar("one-letter tales", grammar, 50_000)
    config = ModelConfig(corpus.tokenizer.vocab_size, 24, n_layer=n_layer, n_head=2, n_embd=64)
    plan = TrainConfig(min(most_steps, steps), 32, seed=BATCHES if name in AGAIN else seed)

    def build_from_seed(config: ModelConfig) -> LanguageModel:
        torch.manual_seed(seed)
        return build("nope", config)

    objective = NextToken(corpus, 16 + len(first), aligned=True)
    model, _ = sweeps.train_from_seed(build_from_seed, config, objective, plan, f"{name}, seed {seed}")
    questions = grammar.questions(200, QUESTION_SEED, max_chars=20)
    questions = [replace(q, prompt=q.prompt.strip("\n")) for q in questions]
    return {"accuracy": metrics.role_accuracy(model, corpus.tokenizer, questions)}


def measure_order(workers: sweeps.Workers, scale: sweeps.StudySize = SCALE) -> Results:
    """Train the models of lessons 01 to 03b: v1 and v2, one layer or two without an encoding, and v3.

    returns  settings, {"bags": arm -> loss minus the bigram floor, one a seed}, {"fed" and "failed": arm ->
             right answers, likewise}, {"race": measurement -> arm -> one value a seed: "accuracy"; "without":
             the same without each head, (L, H); "one back": number of the head that looks most at the
             character before; "far": as `measure_far`}
    """
    corpus, tales = load_corpus("plain-tales", scale.n_chars), load_corpus("tales", scale.n_chars)
    shape, tokenizer = sweeps.small_config(corpus, WINDOW), corpus.tokenizer
    quiz = sweeps.questions(corpus, WINDOW, scale.n_questions)
    seeds = [seed for seed in scale.seeds if seed not in sweeps.OTHER_SEEDS]

    def bag(name: str, seed: int) -> dict[str, float]:
        version, how = BAGS[name]
        objective = NextToken(tales, WINDOW, how == "aligned")
        plan = TrainConfig(min(scale.steps, 300), 64, lr_other=0.03, seed=seed)
        config = ModelConfig(tales.tokenizer.vocab_size, WINDOW, n_embd=64)
        _, history = sweeps.train_from_seed(version, config, objective, plan, f"{name}, seed {seed}")
        return {"above floor": round((history[-1].val_loss or 0.0) - (tales.bigram_floor or 0.0), 4)}

    def fed(name: str, seed: int) -> dict[str, float]:
        return measure_fed(name, seed, scale.steps)

    def race(name: str, seed: int) -> dict[str, Any]:
        objective = (AllPositions if name not in RACE.values() else NextToken)(corpus, WINDOW, aligned=True)
        plan = TrainConfig(min(scale.steps, 400), seed=seed)
        model, _ = sweeps.train_from_seed(RACE[name], shape, objective, plan, f"{name}, seed {seed}")
        assert isinstance(model, Transformer)
        weights = metrics.attention_weights(model, tokenizer.encode(quiz[0].prompt.removeprefix("\n")))
        fewer = quiz[: scale.n_questions // 2]
        without = metrics.ablate_heads(model, lambda m: metrics.role_accuracy(m, tokenizer, fewer))
        return {
            "accuracy": metrics.role_accuracy(model, tokenizer, quiz),
            "without": without.tolist(),
            "one back": int(weights.diagonal(-1, axis1=2, axis2=3).mean(axis=-1).argmax()),  # of L * H
            "far": measure_far(model, corpus),
        }

    return {
        **{"seeds": list(scale.seeds), "failed_seeds": list(FAILED)},
        "bags": by_measurement(sweeps.sweep(BAGS, seeds, bag, workers)).get("above floor", {}),
        "fed": by_measurement(sweeps.sweep(FED, scale.seeds, fed, workers)).get("accuracy", {}),
        "failed": by_measurement(sweeps.sweep(AGAIN, FAILED, fed, workers)).get("accuracy", {}),
        "race": by_measurement(sweeps.sweep(RACE, seeds, race, workers)),
    }


def draw_order(figure: Figure, results: Results) -> None:
    """Draw right answers without an encoding, and what a text that moves past the window costs v3."""
    fed_ax, moved_ax = figure.subplots(1, 2)
    fed, n = percent(results["fed"]), len(results["seeds"])
    learned = [sum(share > 90 for share in fed[f"two layers, {steps} steps"]) for steps in (300, 600)]
    title = (
        f"Two layers without an encoding learn order from {learned[0]} of {n} seeds\n"
        f"in 300 steps, and from {learned[1]} in 600"
    )
    draw_seed_dots(
        fed_ax, fed, title, "right answers without an encoding (%)", {"chance": 50.0}, (40.0, 102.0)
    )
    cures = ("inside", "moved", "moved, slow put back", "moved, quick put back")
    moved = {name: [run[name] for run in results["race"]["far"]["v3"]] for name in cures}
    title = "A text moved past v3's window:\nslow and quick pairs both carry the loss"
    draw_seed_dots(moved_ax, moved, title, "loss (nats per character)")
