"""Study of controls that readers missed: two places of a sinusoid, a stride that is moved, a text that grows.

Each trains models as another study does, and measures what that study could not tell apart.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from babygpt import NextToken, TrainConfig, load_corpus, metrics
from babygpt.data.corpus import Corpus
from babygpt.encodings import Rotary
from babygpt.encodings.base import distances
from babygpt.experiments.sweep import StudySize, Workers, questions, small_config, sweep, train_from_seed
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.positions import Positions
from babygpt_course.studies import branches, stretch
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.order import WINDOW, AllPositions, losses_from
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.stretching import with_encoding

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.figure import Figure

PLACES = (0, 128)  # positions of a window's first token in training
BESIDE = (0, 32, 64, 96, 128, 160, 192)  # positions of it where the model is read
STRIDES = (128, 256, 64, 1024, 8, 1)  # that a model of stride 128 is read with
LENGTHS = (1, 2, 4, 8)  # windows of text
BACK = 48  # characters from a value to the question
SCALE = StudySize(n_questions=200)


class TwoPlaces(AllPositions):
    """Windows that stand together at one of PLACES, so that training meets both and nothing between."""

    places = PLACES


class NearRotary(Rotary):
    """RoPE that hides whatever is a window or more back."""

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        far = distances(queries, keys) >= WINDOW
        return torch.zeros(far.shape, device=far.device).masked_fill(far, -torch.inf).unsqueeze(-3)


def at_places(model: Any, corpus: Corpus) -> dict[str, float]:
    """Return the loss of texts of one window that stand at each of BESIDE: "at 0", ..., nats a character."""
    batch = NextToken(corpus, WINDOW, aligned=True).batch(256, torch.Generator().manual_seed(0))
    inputs, targets = (part.to(model.head.weight.device) for part in batch)
    with torch.inference_mode():
        return {f"at {n}": round(float(losses_from(model, inputs, targets, n).mean()), 4) for n in BESIDE}


def places(version: str, objective: type[NextToken]) -> Callable[[StudySize, int], dict[str, float]]:
    """Return a function that trains a version and reads windows at each of BESIDE, and asks who did it."""

    def run(scale: StudySize, seed: int) -> dict[str, float]:
        corpus = load_corpus(WORLD, scale.n_chars)
        config, plan = small_config(corpus, WINDOW), TrainConfig(scale.steps, seed=seed)
        task = objective(corpus, WINDOW, aligned=True)
        model, _ = train_from_seed(version, config, task, plan, f"{version}, seed {seed}")
        quiz = questions(corpus, WINDOW, scale.n_questions)
        return {
            **at_places(model, corpus),
            "answers": metrics.role_accuracy(model, corpus.tokenizer, quiz),
        }

    return run


def moved_stride(scale: StudySize, seed: int) -> dict[str, float]:
    """Train on two branches at stride 128 and read them at other strides: "stride 256" and so on, nats."""
    corpus = load_corpus(WORLD, scale.n_chars)
    model = branches.build_branches(corpus, branches.CODES["Fourier"], seed)
    branches.train_phases(model, corpus, [branches.Phase(scale.steps, 2, 2)], seed, f"two, seed {seed}")
    losses = {}
    for stride in STRIDES:
        model.encoding.steer("stride", stride)
        losses[f"stride {stride}"] = round(parallel_loss(model, corpus.val, 2, branches.LENGTH), 4)
    return losses


def measure_company(scale: StudySize, seed: int) -> dict[str, float]:
    """Train v4 on tales with notes, and let the text before a note grow.

    returns  "n windows": share of right digits that were told BACK characters ago, in a text of n windows;
             "n windows, near": the same where whatever is a window or more back is hidden
    """
    model, corpus = stretch.trained_arm("v4", scale, seed), stretch.with_notes(scale)
    near, shares = NearRotary(model.config.head_dim), {}
    for n in LENGTHS:
        for name, encoding in (("", model.encoding), (", near", near)):
            reader = with_encoding(model, encoding, n * WINDOW)
            recall = metrics.recall_by_distance(
                reader, corpus.tokenizer, [BACK], n=scale.n_questions, length=n * WINDOW
            )
            shares[f"{n} windows{name}"] = round(float(recall.accuracy[0]), 4)
    return shares


CONTROLS: dict[str, Callable[[StudySize, int], dict[str, float]]] = {
    "v3, two places": places("v3", TwoPlaces),
    "v4, first place": places("v4", NextToken),
    "moved stride": moved_stride,
    "company": measure_company,
}


def measure_controls(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train and measure each control from every seed.

    returns  settings; "controls": name -> name of the number -> one a seed
    """
    controls = sweep(CONTROLS, scale.seeds, lambda name, seed: CONTROLS[name](scale, seed), workers)
    return {**scale.settings(), "controls": controls}


# ---------------------------------------------------------------- of stored results


def draw_controls(figure: Figure, results: Results) -> None:
    """Draw the loss along positions, after a stride is moved, and recall while the text grows."""
    valley, stride, grows = figure.subplots(1, 3)
    controls = results["controls"]
    rows = {f"position {n}": controls["v3, two places"][f"at {n}"] for n in BESIDE}
    met, between = (mean(controls["v3, two places"][f"at {n}"]) for n in (*PLACES[1:], WINDOW))
    title = (
        f"v3 loses {met:.2f} nats where it was trained (0 and 128)\nand {between:.2f} in the middle between"
    )
    draw_seed_dots(valley, rows, title, "loss (nats per character)")
    rows = {name: controls["moved stride"][name] for name in (f"stride {n}" for n in STRIDES)}
    before, *after = (mean(controls["moved stride"][f"stride {n}"]) for n in (128, 256, 1))
    title = "Trained at stride 128: to move it costs\n{:.2f} nats at 256 and {:.2f} at 1"
    title = title.format(*(loss - before for loss in after))
    draw_seed_dots(stride, rows, title, "loss among two (nats per character)")
    rows, rings = (
        {f"{n} windows": [100 * x for x in controls["company"][f"{n} windows{kind}"]] for n in LENGTHS}
        for kind in ("", ", near")
    )
    first, last, hidden = (mean(x) for x in (rows["1 windows"], rows["8 windows"], rings["8 windows"]))
    title = (
        f"A value {BACK} back: {first:.0f}% recalled in a window, {last:.0f}% in\neight, "
        f"and {hidden:.0f}% with the far keys hidden"
    )
    draw_seed_dots(grows, rows, title, "right digits (%); rings: far keys hidden", rings=rings)
