"""Study of needed heads: v4 as in lesson 04b, without each head and each two, and where the needed ones work.

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
SCALE = StudySize(steps=450)  # as in lesson 04b
NEEDED = 0.1  # share of right answers
WHERE = {
    "all": "everywhere",
    "story": "in the story",
    "question": "in the question",
    "last": "at the last token",
}
PARTS = (
    "right name",
    "other name",
    "question",
    "last",
)  # parts of a prompt; "last" is the token that predicts


def parts_of(prompt: str, answer: str, rival: str, length: int) -> Tensor:
    """Return which characters of a prompt belong to each of PARTS: (4, length) booleans.

    A name's part ends with the character behind its first mention; the question begins behind the first full
    stop.
    """
    parts = torch.zeros(len(PARTS), length, dtype=torch.bool)
    for row, name in enumerate((answer, rival)):
        start = prompt.index(name)
        parts[row, start : start + len(name) + 1] = True
    parts[2, prompt.index(".") + 1 : len(prompt) - 1] = True
    parts[3, len(prompt) - 1] = True
    return parts


def exchanged_question(prompt: str) -> str:
    """Return the same story with the other question: "who fed? " for "fed whom? " and the other way round."""
    story, question = prompt.split(". ")
    first, second = question.removesuffix("? ").split()
    return f"{story}. {f'{second} whom' if first == 'who' else f'who {first}'}? "


class PromptRows:
    """Questions whose two names begin differently, as rows of tokens that are filled up on the right.

    ids     (Q, T)  token ids
    parts   (4, Q, T)  the tokens of each of PARTS
    filled  (Q, T)  the tokens of the prompts
    first   (Q, 2)  tokens that the right name and the other one begin with
    twins   (Q, T')  the same stories with the other question, and the place of its last token (Q,)
    """

    def __init__(self, corpus: Corpus, quiz: Sequence[Question]) -> None:
        quiz = [q for q in quiz if q.answer[0] != q.rival[0]]
        encode, length = corpus.tokenizer.encode, max(len(q.prompt) for q in quiz)
        self.ids = pad_sequence([encode(q.prompt) for q in quiz], batch_first=True)
        twins = [encode(exchanged_question(q.prompt)) for q in quiz]
        self.twins, self.twins_last = (
            pad_sequence(twins, batch_first=True),
            torch.tensor([len(x) - 1 for x in twins]),
        )
        self.parts = torch.stack([parts_of(q.prompt, q.answer, q.rival, length) for q in quiz], dim=1)
        self.filled = torch.arange(length) < torch.tensor([len(q.prompt) for q in quiz])[:, None]
        self.first = torch.stack([encode(q.answer[0] + q.rival[0]) for q in quiz])


@torch.inference_mode()
def first_letters(model: LanguageModel, rows: PromptRows) -> float:
    """Return the share of questions after which the right first letter of the two is the likelier one."""
    logits = model(rows.ids.to(next(model.parameters()).device)).cpu()[rows.parts[3]]  # (Q, V)
    right, wrong = logits.gather(1, rows.first).unbind(dim=1)
    return round(float((right > wrong).float().mean()), 4)


@torch.inference_mode()
def weights_from_last(model: LanguageModel, rows: PromptRows) -> Tensor:
    """Return the attention that the last token of each prompt pays to each token: (L, H, Q, T)."""
    weights = torch.stack(each_weights(model, rows.ids, Tensor.cpu))  # (L, Q, H, T, T)
    return rows_of_last(weights, rows).transpose(1, 2)


def rows_of_last(weights: Tensor, rows: PromptRows) -> Tensor:
    """Return what the last token of each prompt pays, of all weights (L, Q, H, T, T): (L, Q, H, T)."""
    return weights.transpose(2, 3)[:, rows.parts[3]]


@torch.inference_mode()
def looks(model: LanguageModel, rows: PromptRows) -> tuple[np.ndarray, np.ndarray]:
    """Return where heads look, averaged over questions.

    returns  (L, H, 4) weight on each of PARTS, seen from the last token, and (L, H) weight on the token
             before, averaged over all tokens but the first
    """
    weights = torch.stack(each_weights(model, rows.ids, Tensor.cpu))  # (L, Q, H, T, T)
    last = rows_of_last(weights, rows)  # (L, Q, H, T)
    to_parts = torch.einsum("lqht,pqt->lhp", last, rows.parts.float()) / len(rows.ids)
    before = weights.diagonal(-1, 3, 4).transpose(1, 2)[..., rows.filled[:, 1:]].mean(dim=-1)  # (L, H)
    return to_parts.numpy(), before.numpy()


@torch.inference_mode()
def exchanged(model: LanguageModel, rows: PromptRows, layer: int, head: int) -> float:
    """Return `first_letters` if a head writes at the last token what it writes after the other question.

    All other heads read and write what stands there, so that only what this head tells is exchanged.
    """
    after_other = written_by_heads(model, rows.twins)[layer]  # (Q, T', H, D)
    message = after_other[torch.arange(len(rows.twins)), rows.twins_last, head, None]  # (Q, 1, D)
    with with_heads(model, {(layer, head): write_at(rows.parts[3], message)}):
        return first_letters(model, rows)


def dissect_answers(
    model: LanguageModel, right: Callable[[LanguageModel], float], rows: PromptRows
) -> dict[str, Any]:
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
    question, last = rows.parts[2:]
    everywhere = torch.ones_like(last)
    places = {"all": everywhere, "story": ~(question | last), "question": question, "last": last}
    silent: dict[str, list[float]] = {}
    for place, tokens in places.items():
        silent[place] = []
        for head in heads:
            with with_heads(model, {head: write_at(tokens, torch.zeros(()))}):
                silent[place].append(first_letters(model, rows))
    to_parts, before = (x.reshape(len(heads), *x.shape[2:]) for x in looks(model, rows))
    return {
        "right": round(right(model), 4),
        "without": without.round(4).tolist(),
        "looks": to_parts.astype(float).round(4).tolist(),
        "before": before.astype(float).round(4).tolist(),
        "first": first_letters(model, rows),
        "silent": silent,
        "exchanged": [exchanged(model, rows, *head) for head in heads],
    }


def measure_heads(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train v4 as in lesson 04b, and dissect it.

    returns  settings; "loss" on the whole validation text, "accuracy" of the likelier name, "whole" names
             written, and "heads": `dissect_answers`, of half of the questions; one a seed
    """
    corpus = load_corpus(WORLD, scale.n_chars)
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)
    quiz = questions(corpus, scale.block_size, scale.n_questions)
    tokenizer, fewer = corpus.tokenizer, quiz[: len(quiz) // 2]
    rows = PromptRows(corpus, fewer)

    def right(model: LanguageModel) -> float:
        return metrics.role_accuracy(model, tokenizer, fewer)

    def run(name: str, seed: int) -> Results:
        plan = TrainConfig(scale.steps, seed=seed)
        model, history = train_from_seed(name, config, objective, plan, f"{name}, seed {seed}")
        return {
            "loss": round(float(history[-1].val_loss or 0.0), 5),
            "accuracy": round(metrics.role_accuracy(model, tokenizer, quiz), 4),
            "whole": round(metrics.whole_answer_accuracy(model, tokenizer, quiz), 4),
            "heads": dissect_answers(model, right, rows),
        }

    return {**scale.settings(), **sweep([VERSION], scale.seeds, run, workers)[VERSION]}


# ---------------------------------------------------------------- of stored results


def dissected(results: Results) -> list[dict[str, Any]]:
    """Return what `dissect_answers` measured of the seeds that answer."""
    pairs = zip(results["heads"], results["accuracy"], strict=True)
    return [numbers for numbers, share in pairs if share >= KNOWN]


def alone(dissection: dict[str, Any]) -> np.ndarray:
    """Return the share of right answers without each head: (L, H)."""
    return np.diag(dissection["without"]).reshape(2, -1)


def most_needed(dissection: dict[str, Any], layer: int) -> int:
    """Return the number of the head that costs most right answers in a layer, counted from 0."""
    shares = alone(dissection)
    return layer * shares.shape[1] + int(shares[layer].argmin())


def excess(dissection: dict[str, Any], layer: int) -> float:
    """Return how much more some two heads of a layer cost together than their costs alone added up."""
    cost, n = dissection["right"] - np.array(dissection["without"]), alone(dissection).shape[1]
    pairs = combinations(range(layer * n, layer * n + n), 2)
    return float(max(cost[i, j] - cost[i, i] - cost[j, j] for i, j in pairs))


def without_rows(dissections: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return right answers without some heads, one a seed: those of each layer, and controls beside them."""
    rows = {"with all heads": [dissection["right"] for dissection in dissections]}
    for layer in range(2):
        ranked = [np.sort(alone(dissection)[layer]) for dissection in dissections]
        rows[f"without the most needed of layer {layer + 1}"] = [x[0] for x in ranked]
        rows["without the next of that layer" + " " * layer] = [x[1] for x in ranked]
    neither = [
        dissection["without"][most_needed(dissection, 0)][most_needed(dissection, 1)]
        for dissection in dissections
    ]
    return {**rows, "without the most needed of both": neither}


def silent_rows(dissections: Sequence[dict[str, Any]], layer: int) -> dict[str, list[float]]:
    """Return right first letters where the most needed head of a layer is silent at some tokens only."""
    shares_by_place = {
        where: [dissection["silent"][place] for dissection in dissections] for place, where in WHERE.items()
    }
    chosen = [most_needed(dissection, layer) for dissection in dissections]
    return {
        f"layer {layer + 1}, {where}": [x[head] for x, head in zip(shares, chosen, strict=True)]
        for where, shares in shares_by_place.items()
    }


def find_teller(dissection: dict[str, Any]) -> int:
    """Return the head of layer 1 that turns most answers if it tells of the other question."""
    return int(np.argmin(dissection["exchanged"][:4]))


def turned(dissections: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the shares of questions in which the other name wins if one head is exchanged."""
    writers = [1 - np.sort(dissection["exchanged"][:4]) for dissection in dissections]
    readers = [1 - min(dissection["exchanged"][4:]) for dissection in dissections]
    return {
        "one head of layer 1": [x[0] for x in writers],
        "the next head of layer 1": [x[1] for x in writers],
        "one head of layer 2": readers,
    }


def weights_of_heads(dissections: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the weights of the teller and of the most needed head of layer 2, seen from the last token."""
    rows = {}
    for name, chosen in {
        "layer 1": [find_teller(dissection) for dissection in dissections],
        "layer 2": [most_needed(dissection, 1) for dissection in dissections],
    }.items():
        for i, part in enumerate(PARTS[:3]):
            rows[f"{name}: {part}"] = [
                dissection["looks"][h][i] for dissection, h in zip(dissections, chosen, strict=True)
            ]
        rows[f"{name}: token before"] = [
            dissection["before"][h] for dissection, h in zip(dissections, chosen, strict=True)
        ]
    return rows


def draw_needed_heads(figure: Figure, results: Results) -> None:
    """Draw answers without heads, where these work, what one of them tells, and where it looks."""
    dissections = dissected(results)
    (silence, places), (message, weights) = figure.subplots(2, 2)
    rows = without_rows(dissections)
    worst = [100 * np.mean(rows[f"without the most needed of layer {n}"]) for n in (1, 2)]
    title = "{:.0f}% right without a head of layer 1,\n{:.0f}% without one of layer 2"
    label = f"right answers (%), {len(dissections)} seeds"
    draw_seed_dots(silence, percent(rows), title.format(*worst), label, {"": 50.0})
    rows = silent_rows(dissections, 0) | silent_rows(dissections, 1)
    title = "The head of layer 2 works at the last token"
    draw_seed_dots(places, percent(rows), title, "right first letters (%)", {"": 50.0})
    rows = turned(dissections)
    title = "Exchanged, a head of layer 1 turns {:.0f}%\nof the answers"
    title = title.format(100 * np.mean(rows["one head of layer 1"]))
    draw_seed_dots(
        message, percent(rows), title, "answers that turn to the other name (%)", span=(-3.0, 103.0)
    )
    rows = weights_of_heads(dissections)
    means = [100 * np.mean(rows[name]) for name in ("layer 1: question", "layer 2: right name")]
    title = "The question gets {:.0f}%, the right name {:.0f}%"
    draw_seed_dots(weights, percent(rows), title.format(*means), "weight (%)", span=(-3.0, 103.0))
