"""Study of needed heads: v4 as in lesson 04, without each head and each two, and where the needed ones work.

A head is needed if at least NEEDED fewer answers are right without it. A layer 1 head can work at the last
token, where the answer is predicted, or at an earlier one, which a head of layer 2 reads.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from babygpt import NextToken, TrainConfig, load_corpus, metrics
from babygpt.data.corpus import Corpus
from babygpt.data.stories import Question
from babygpt.experiments.paired import percent
from babygpt.experiments.sweep import StudySize, Workers, questions, small_config, sweep, train_from_seed
from babygpt.metrics.inspection import each_weights, with_heads, without_heads, write_at, written_by_heads
from babygpt.models.language_model import LanguageModel
from babygpt_course.studies.board import KNOWN, WORLD
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots

VERSION = "v4"
SCALE = StudySize(steps=450)  # as in lesson 04
NEEDED = 0.1  # of right answers
WHERE = {
    "all": "everywhere",
    "story": "in the story",
    "question": "in the question",
    "last": "at the last token",
}
PARTS = ("right name", "other name", "question", "last")  # of a prompt; "last" is the token that predicts


def parts_of(prompt: str, answer: str, rival: str, length: int) -> Tensor:
    """Return which characters of a prompt belong to each of PARTS: (4, length) booleans.

    A name's part ends with the character behind its first mention; the question begins behind the first full
    stop.
    """
    found = torch.zeros(len(PARTS), length, dtype=torch.bool)
    for row, name in enumerate((answer, rival)):
        at = prompt.index(name)
        found[row, at : at + len(name) + 1] = True
    found[2, prompt.index(".") + 1 : len(prompt) - 1] = True
    found[3, len(prompt) - 1] = True
    return found


def exchanged_question(prompt: str) -> str:
    """Return the same story with the other question: "who fed? " for "fed whom? " and the other way round."""
    story, question = prompt.split(". ")
    one, other = question.removesuffix("? ").split()
    return f"{story}. {f'{other} whom' if one == 'who' else f'who {one}'}? "


class Asked:
    """Questions whose two names begin differently, as rows of tokens that are filled up on the right.

    ids     (Q, T)  token ids
    parts   (4, Q, T)  the tokens of each of PARTS
    filled  (Q, T)  the tokens of the prompts
    first   (Q, 2)  tokens that the right name and the other one begin with
    twins   (Q, T')  the same stories with the other question, and the place of its last token (Q,)
    """

    def __init__(self, corpus: Corpus, some: Sequence[Question]) -> None:
        some = [q for q in some if q.answer[0] != q.rival[0]]
        encode, length = corpus.tokenizer.encode, max(len(q.prompt) for q in some)
        self.ids = pad_sequence([encode(q.prompt) for q in some], batch_first=True)
        twins = [encode(exchanged_question(q.prompt)) for q in some]
        self.twins, self.twins_last = (
            pad_sequence(twins, batch_first=True),
            torch.tensor([len(x) - 1 for x in twins]),
        )
        self.parts = torch.stack([parts_of(q.prompt, q.answer, q.rival, length) for q in some], dim=1)
        self.filled = torch.arange(length) < torch.tensor([len(q.prompt) for q in some])[:, None]
        self.first = torch.stack([encode(q.answer[0] + q.rival[0]) for q in some])


@torch.inference_mode()
def first_letters(model: LanguageModel, asked: Asked) -> float:
    """Return the share of questions after which the right first letter of the two is the likelier one."""
    logits = model(asked.ids.to(next(model.parameters()).device)).cpu()[asked.parts[3]]  # (Q, V)
    right, wrong = logits.gather(1, asked.first).unbind(dim=1)
    return round(float((right > wrong).float().mean()), 4)


@torch.inference_mode()
def looks(model: LanguageModel, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Return where heads look, averaged over questions.

    returns  (L, H, 4) weight on each of PARTS, seen from the last token, and (L, H) weight on the token
             before, averaged over all tokens but the first
    """
    weights = torch.stack(each_weights(model, asked.ids, Tensor.cpu))  # (L, Q, H, T, T)
    last = weights.transpose(2, 3)[:, asked.parts[3]]  # (L, Q, H, T)
    to_parts = torch.einsum("lqht,pqt->lhp", last, asked.parts.float()) / len(asked.ids)
    before = weights.diagonal(-1, 3, 4).transpose(1, 2)[..., asked.filled[:, 1:]].mean(dim=-1)  # (L, H)
    return to_parts.numpy(), before.numpy()


@torch.inference_mode()
def exchanged(model: LanguageModel, asked: Asked, layer: int, head: int) -> float:
    """Return `first_letters` if a head writes at the last token what it writes after the other question.

    All other heads read and write what stands there, so that only what this head tells is exchanged.
    """
    after_other = written_by_heads(model, asked.twins)[layer]  # (Q, T', H, D)
    told = after_other[torch.arange(len(asked.twins)), asked.twins_last, head, None]  # (Q, 1, D)
    with with_heads(model, {(layer, head): write_at(asked.parts[3], told)}):
        return first_letters(model, asked)


def dissect(model: LanguageModel, right: Callable[[LanguageModel], float], asked: Asked) -> dict[str, Any]:
    """Measure which heads a model needs; heads are numbered from 0, those of layer 1 first.

    right    measures the share of right answers
    returns  "right": that share; "without": (8, 8) without two heads, and without one on the diagonal;
             "looks" and "before" as `looks`, (8, 4) and (8,); "silent": part of the prompt or "all" ->
             `first_letters` where each head is silent there only, (8,); "exchanged": `exchanged`, (8,)
    """
    n = model.config.n_head
    heads = [(layer, head) for layer in range(model.config.n_layer) for head in range(n)]
    without = np.zeros((len(heads), len(heads)))
    for i, j in [*combinations(range(len(heads)), 2), *((i, i) for i in range(len(heads)))]:
        with without_heads(model, {heads[i], heads[j]}):
            without[i, j] = without[j, i] = right(model)
    question, last = asked.parts[2:]
    everywhere = torch.ones_like(last)
    places = {"all": everywhere, "story": ~(question | last), "question": question, "last": last}
    silent: dict[str, list[float]] = {}
    for place, at in places.items():
        silent[place] = []
        for head in heads:
            with with_heads(model, {head: write_at(at, torch.zeros(()))}):
                silent[place].append(first_letters(model, asked))
    to_parts, before = (x.reshape(len(heads), *x.shape[2:]) for x in looks(model, asked))
    return {
        "right": round(right(model), 4),
        "without": without.round(4).tolist(),
        "looks": to_parts.astype(float).round(4).tolist(),
        "before": before.astype(float).round(4).tolist(),
        "first": first_letters(model, asked),
        "silent": silent,
        "exchanged": [exchanged(model, asked, *head) for head in heads],
    }


def measure_heads(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train v4 as in lesson 04, and dissect it.

    returns  settings; "loss" on the whole validation text, "accuracy" of the likelier name, "whole" names
             written, and "heads": `dissect`, of half of the questions; one a seed
    """
    corpus = load_corpus(WORLD, scale.n_chars)
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)
    asked = questions(corpus, scale.block_size, scale.n_questions)
    tokenizer, fewer = corpus.tokenizer, asked[: len(asked) // 2]
    rows = Asked(corpus, fewer)

    def right(model: LanguageModel) -> float:
        return metrics.role_accuracy(model, tokenizer, fewer)

    def run(name: str, seed: int) -> Results:
        plan = TrainConfig(scale.steps, seed=seed)
        model, history = train_from_seed(name, config, objective, plan, f"{name}, seed {seed}")
        return {
            "loss": round(float(history[-1].val_loss or 0.0), 5),
            "accuracy": round(metrics.role_accuracy(model, tokenizer, asked), 4),
            "whole": round(metrics.whole_answer_accuracy(model, tokenizer, asked), 4),
            "heads": dissect(model, right, rows),
        }

    return {**scale.settings(), **sweep([VERSION], scale.seeds, run, workers)[VERSION]}


# ---------------------------------------------------------------- of stored results


def dissected(results: Results) -> list[dict[str, Any]]:
    """Return what `dissect` measured of the seeds that answer."""
    pairs = zip(results["heads"], results["accuracy"], strict=True)
    return [one for one, share in pairs if share >= KNOWN]


def alone(one: dict[str, Any]) -> np.ndarray:
    """Return the share of right answers without each head: (L, H)."""
    return np.diag(one["without"]).reshape(2, -1)


def most_needed(one: dict[str, Any], layer: int) -> int:
    """Return the number of the head that costs most right answers in a layer, counted from 0."""
    found = alone(one)
    return layer * found.shape[1] + int(found[layer].argmin())


def excess(one: dict[str, Any], layer: int) -> float:
    """Return how much more some two heads of a layer cost together than their costs alone added up."""
    cost, n = one["right"] - np.array(one["without"]), alone(one).shape[1]
    pairs = combinations(range(layer * n, layer * n + n), 2)
    return float(max(cost[i, j] - cost[i, i] - cost[j, j] for i, j in pairs))


def without_rows(some: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return right answers without some heads, one a seed: those of each layer, and controls beside them."""
    rows = {"with all heads": [one["right"] for one in some]}
    for layer in range(2):
        ranked = [np.sort(alone(one)[layer]) for one in some]
        rows[f"without the most needed of layer {layer + 1}"] = [x[0] for x in ranked]
        rows["without the next of that layer" + " " * layer] = [x[1] for x in ranked]
    both = [one["without"][most_needed(one, 0)][most_needed(one, 1)] for one in some]
    return {**rows, "without the most needed of both": both}


def silent_rows(some: Sequence[dict[str, Any]], layer: int) -> dict[str, list[float]]:
    """Return right first letters where the most needed head of a layer is silent at some tokens only."""
    found = {where: [one["silent"][place] for one in some] for place, where in WHERE.items()}
    chosen = [most_needed(one, layer) for one in some]
    return {
        f"layer {layer + 1}, {where}": [x[head] for x, head in zip(shares, chosen, strict=True)]
        for where, shares in found.items()
    }


def find_teller(one: dict[str, Any]) -> int:
    """Return the head of layer 1 that turns most answers if it tells of the other question."""
    return int(np.argmin(one["exchanged"][:4]))


def turned(some: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the shares of questions in which the other name wins if one head is exchanged."""
    others = [1 - np.sort(one["exchanged"][:4]) for one in some]
    readers = [1 - min(one["exchanged"][4:]) for one in some]
    return {
        "one head of layer 1": [x[0] for x in others],
        "the next head of layer 1": [x[1] for x in others],
        "one head of layer 2": readers,
    }


def weights_of_heads(some: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the weights of the teller and of the most needed head of layer 2, seen from the last token."""
    rows = {}
    for name, chosen in {
        "layer 1": [find_teller(one) for one in some],
        "layer 2": [most_needed(one, 1) for one in some],
    }.items():
        for i, part in enumerate(PARTS[:3]):
            rows[f"{name}: {part}"] = [one["looks"][h][i] for one, h in zip(some, chosen, strict=True)]
        rows[f"{name}: token before"] = [one["before"][h] for one, h in zip(some, chosen, strict=True)]
    return rows


def draw_heads(figure: Figure, results: Results) -> None:
    """Draw answers without heads, where these work, what one of them tells, and where it looks."""
    some = dissected(results)
    (silence, places), (told, weights) = figure.subplots(2, 2)
    rows = without_rows(some)
    worst = [100 * np.mean(rows[f"without the most needed of layer {n}"]) for n in (1, 2)]
    title = "{:.0f}% right without a head of layer 1,\n{:.0f}% without one of layer 2"
    label = f"right answers (%), {len(some)} seeds"
    draw_seed_dots(silence, percent(rows), title.format(*worst), label, {"": 50.0})
    rows = silent_rows(some, 0) | silent_rows(some, 1)
    title = "The head of layer 2 works at the last token"
    draw_seed_dots(places, percent(rows), title, "right first letters (%)", {"": 50.0})
    rows = turned(some)
    title = "Exchanged, a head of layer 1 turns {:.0f}%\nof the answers"
    title = title.format(100 * np.mean(rows["one head of layer 1"]))
    draw_seed_dots(told, percent(rows), title, "answers that turn to the other name (%)", span=(-3.0, 103.0))
    rows = weights_of_heads(some)
    means = [100 * np.mean(rows[name]) for name in ("layer 1: question", "layer 2: right name")]
    title = "The question gets {:.0f}%, the right name {:.0f}%"
    draw_seed_dots(weights, percent(rows), title.format(*means), "weight (%)", span=(-3.0, 103.0))
