"""Study of two settings: the base θ that RoPE is trained with, and the learning rate of a trained kernel.

Lesson 04c changes θ during training, so its cost mixes a small θ with the change. Lesson 05 trains a kernel
at the rate of all other numbers, so a bad rate could be what makes it lose.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure

from babygpt import NextToken, TrainConfig, build, load_corpus, metrics
from babygpt.device import pick_device
from babygpt.encodings.base import Encoding
from babygpt.experiments.paired import compare, differences
from babygpt.experiments.sweep import StudySize, Workers, finish, questions, small_config, sweep
from babygpt.training import Step, train
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.gaussian_training import count_answering, kernels_of, race, with_kernel
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_seed_dots, draw_seed_points

SCALE = StudySize(steps=1200)
STORED = {"loss": ("val_loss", "1x"), "accuracy": ("accuracy", "roles")}  # names in other studies
ORDER = ("v5 fixed", "× 1/9", "× 1/3", "× 1", "× 3")


class Arm(NamedTuple):
    """Plan of a run.

    version  "v4" or "v5"
    share    of the steps of the study
    options  of the version
    later    base of RoPE in the second half of the run, if it changes then
    rate     learning rate of the kernel, as a multiple of the rate of the other numbers
    """

    version: str
    share: float
    options: Mapping[str, Any] = {}
    later: float | None = None
    rate: float = 1.0


LESSON = 3 / 8  # share of the steps: 450, as in lesson 04a
STEPS = {0.5: 600, 1.0: 1200}  # share -> steps of the stored models beside which a kernel is read
THETAS = {  # the plain v4 is stored by the study of needed heads
    "θ = 10": Arm("v4", LESSON, {"theta": 10.0}),
    "θ = 10, from the middle on": Arm("v4", LESSON, later=10.0),
}
RATES = {"1/9": 1 / 9, "1/3": 1 / 3, "3": 3.0}  # rate 1 is stored by the board and the study of kernels


def kernel_arm(rate: str, share: float) -> str:
    """Return the name of the arm of a kernel."""
    return f"kernel, rate × {rate}, {share:g} of the steps"


ARMS = THETAS | {
    kernel_arm(name, share): Arm("v5", share, rate=rate) for share in STEPS for name, rate in RATES.items()
}


def with_theta(steps: Iterator[Step], encoding: Encoding, start: int, theta: float) -> Iterator[Step]:
    """Set the base of a model's angles after `start` steps of its training loop; yield the same records."""
    for step in steps:
        if step.step == start:
            encoding.steer("theta", theta)
        yield step


def measure_theta_and_rates(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train each arm from every seed.

    returns  settings; "arms": name -> "loss" on the whole validation text, "accuracy" of the likelier name,
             "whole" names written, and "kernel", its numbers if one was trained; one a seed
    """
    corpus = load_corpus(WORLD, scale.n_chars)
    quiz = questions(corpus, scale.block_size, scale.n_questions)
    objective = NextToken(corpus, scale.block_size)

    def run(name: str, seed: int) -> Results:
        arm = ARMS[name]
        plan = TrainConfig(steps=max(1, int(arm.share * scale.steps)), seed=seed)
        torch.manual_seed(seed)
        model = build(arm.version, small_config(corpus, scale.block_size), **arm.options).to(pick_device())
        steps = with_kernel(train(model, objective, plan), model.encoding, 0, arm.rate)
        if arm.later:
            steps = with_theta(steps, model.encoding, plan.steps // 2, arm.later)
        records = finish(steps, plan.steps, f"{name}, seed {seed}")
        kernels = kernels_of(model.encoding)
        return {
            "loss": round(float(records[-1].val_loss or 0.0), 5),
            "accuracy": round(metrics.role_accuracy(model, corpus.tokenizer, quiz), 4),
            "whole": round(metrics.whole_answer_accuracy(model, corpus.tokenizer, quiz), 4),
            **({"kernel": kernels} if kernels else {}),
        }

    return {**scale.settings(), "arms": sweep(ARMS, scale.seeds, run, workers)}


# ---------------------------------------------------------------- of stored results


def theta_gaps(results: Results) -> dict[str, list[float]]:
    """Return the loss of each arm of THETAS minus that of v4 with θ = 10,000: nats, one a seed."""
    plain, arms = load_results("heads")["loss"], results["arms"]
    return {name: differences(arms[name]["loss"], plain) for name in THETAS if name in arms}


def by_rate(results: Results, key: str = "loss") -> dict[int, dict[str, list[float]]]:
    """Return a number of the kernels by their rate, beside the stored models of the same seeds.

    key      "loss" or "accuracy"
    returns  steps -> "v5 fixed" or "× RATE" -> one a seed
    """
    stored = race(load_results("gaussian"), load_results("ladder"), *STORED[key])
    numbers = {}
    for share, steps in STEPS.items():
        trained = {name: results["arms"].get(kernel_arm(name, share)) for name in RATES}
        rows = {f"× {name}": arm[key] for name, arm in trained.items() if arm}
        rows |= stored[steps] | {"× 1": stored[steps]["v5"]}
        numbers[steps] = {name: rows[name] for name in ORDER if name in rows}
    return numbers


def draw_theta_and_rates(figure: Figure, results: Results) -> None:
    """Draw the cost of a small θ, the loss of kernels by their rate, and their right answers."""
    theta, losses, answers = figure.subplots(1, 3, width_ratios=(0.8, 1.0, 1.0))
    gaps = theta_gaps(results)
    costs = [compare(gap).mean for gap in gaps.values()]
    title = "θ = 10 costs {:.2f} nats from the start,\nand {:.2f} in the middle".format(*costs)
    draw_seed_dots(theta, gaps, title, "loss minus that with θ = 10,000 (nats)", {"": 0.0}, means=True)
    groups = {
        f"{n} steps": {name: differences(x, each["v5 fixed"]) for name, x in each.items() if "×" in name}
        for n, each in by_rate(results).items()
    }
    # + 0.0 makes a rounded −0 a plain 0, which the title shows without a sign.
    usual, slow = (round(compare(groups["1200 steps"][name]).mean, 2) + 0.0 for name in ("× 1", "× 1/9"))
    title = f"A trained kernel costs {usual:.2f} nats, and\n{slow:.2f} at a ninth of the rate (1200 steps)"
    draw_seed_points(losses, groups, title, "", "loss minus that of the fixed kernel (nats)")
    losses.axhline(0.0, color="black", lw=1, ls="--")
    shares = {f"{n} steps": each for n, each in by_rate(results, "accuracy").items()}
    counts = (count_answering(shares["1200 steps"][name]) for name in ("× 1", "× 1/9"))
    title = "{} seeds answer,\nand {} at a ninth".format(*counts)
    draw_seed_points(answers, shares, title, "", "share of right answers")
    answers.axhline(0.5, color="black", lw=1, ls="--")
