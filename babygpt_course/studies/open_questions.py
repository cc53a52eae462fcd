"""Study of what lesson 11 left open: other ways to spell, position against kind of letter, and longer runs.

A name has four letters: consonant, vowel, l or r, a. The *writer* is the head of layer 1 by which the third
letter looks most at the second, as in the study of spelling.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import NextToken, Positions, TrainConfig, build, load_corpus, metrics
from babygpt.data.corpus import Corpus
from babygpt.data.stories import Question
from babygpt.encodings import PerLayer, Rotary
from babygpt.encodings.rotary import angles_at, rotate_pairs
from babygpt.experiments.paired import percent, table_head
from babygpt.experiments.sweep import (
    StudySize,
    Workers,
    questions,
    small_config,
    sweep,
    train_from_seed,
    train_with_curve,
)
from babygpt.metrics.inspection import (
    Head,
    each_weights,
    without_heads,
)
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.tables import markdown
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.clicks import EVERY, LEAST, click_step
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.spelling import (
    FEW,
    LETTERS,
    VOWELS,
    SecondLetterRows,
    draw_shares,
    look,
    patch_letters,
    second_letter_rows,
    second_letters,
    second_letters_exchanged,
    true_share,
)
from babygpt_course.studies.stretching import with_encoding

SCALE = StudySize(steps=1800)  # of v4, as in the study of clicks
QUICK = 4  # pairs of 12 that turn by at least 0.1 radians from a letter to the next
SECOND = 0.8  # share of right second letters from which a seed is said to know the vowel
INSERTED = ("vowel", "consonant")
WHERE: dict[str, tuple[int, ...]] = {  # letters of the name at which all heads of layer 1 are exchanged
    "second": (1,),
    "third": (2,),
    "fourth": (3,),
    "second to fourth": (1, 2, 3),
}

# ---------------------------------------------------------------- which letter is wrong


@torch.inference_mode()
def letters_right(model: LanguageModel, corpus: Corpus, quiz: Sequence[Question]) -> np.ndarray:
    """Return which letters of the right names are predicted where those before them are given.

    returns  (Q, 5)  booleans; the end sign is the last letter
    """
    encode = corpus.tokenizer.encode
    texts = [encode(q.prompt + q.answer + q.end) for q in quiz]
    ids = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    chosen = model(ids[:, :-1].to(next(model.parameters()).device)).argmax(dim=-1).cpu()
    starts = torch.tensor([len(q.prompt) for q in quiz])[:, None] + torch.arange(LETTERS + 1)  # (Q, 5)
    return (chosen.gather(1, starts - 1) == ids.gather(1, starts)).numpy()


def measure_letters(model: LanguageModel, corpus: Corpus, quiz: Sequence[Question]) -> dict[str, Any]:
    """Measure which letter of a name is missed.

    returns  "letters": share of each that is right if those before it are given; "shared" and "unshared": the
             same among questions whose two names have this letter in common, and among the others, None where
             there is no such question; "first wrong": share of questions whose written name is first wrong
             at each letter. Five numbers each, the end sign last
    """
    right = letters_right(model, corpus, quiz)
    alike = np.array([[a == b for a, b in zip(q.answer + q.end, q.rival + q.end, strict=True)] for q in quiz])
    parts = {"letters": np.ones_like(alike), "shared": alike, "unshared": ~alike}
    shares: dict[str, Any] = {
        name: [
            round(float(right[rows, i].mean()), 4) if (rows := chosen[:, i]).any() else None
            for i in range(LETTERS + 1)
        ]
        for name, chosen in parts.items()
    }
    wrong = np.zeros(LETTERS + 1)
    for q, text in zip(quiz, metrics.greedy_answers(model, corpus.tokenizer, quiz), strict=True):
        expected, written = q.answer + q.end, text + q.end
        if written != expected:
            wrong[next(i for i, letter in enumerate(expected) if written[i : i + 1] != letter)] += 1
    return {**shares, "first wrong": (wrong / len(quiz)).round(4).tolist()}


# ---------------------------------------------------------------- heads silenced and exchanged together


def right_without(model: LanguageModel, rows: SecondLetterRows, silent: Iterable[Head]) -> float:
    """Return the share of right second letters without some heads."""
    with torch.inference_mode(), without_heads(model, silent):
        return true_share(second_letters(model, rows) == rows.vowel)


def without_two(model: LanguageModel, rows: SecondLetterRows) -> list[list[list[float]]]:
    """Return the share of right second letters without two heads of a layer: (L, H, H).

    On the diagonal a single head is silent.
    """
    n = model.config.n_head
    shares = np.zeros((model.config.n_layer, n, n))
    for layer in range(model.config.n_layer):
        for i, j in [*combinations(range(n), 2), *((i, i) for i in range(n))]:
            shares[layer, i, j] = shares[layer, j, i] = right_without(model, rows, {(layer, i), (layer, j)})
    return shares.round(4).tolist()


def with_other_firsts(corpus: Corpus, rows: SecondLetterRows) -> Tensor:
    """Return the rows with another first letter in the story's right name, and the same vowel: (Q, T) ids."""
    assert corpus.grammar is not None
    firsts = corpus.tokenizer.encode("".join(sorted({name[0] for name in corpus.grammar.words["name"]})))
    row_numbers = torch.arange(len(rows.ids))
    own = (rows.ids[row_numbers, rows.mention][:, None] == firsts).int().argmax(dim=1)
    others = firsts[(own + 1 + row_numbers % (len(firsts) - 1)) % len(firsts)]
    ids = rows.ids.clone()
    ids[row_numbers, rows.mention] = others
    return ids


# ---------------------------------------------------------------- position or kind of letter


class InsertedRows:
    """Questions whose right name has one more letter in the story, between its vowel and its third letter.

    ids       (Q, T)  token ids, filled up on the right; each row ends with the answer's first letter
    last      (Q,)  place of that letter
    third     (Q,)  place of the name's third letter in the story; one before it stands the new letter, and
              two before it the name's own vowel
    vowel     (Q,)  token of its own vowel
    inserted  (Q,)  token of the new letter
    """

    def __init__(self, corpus: Corpus, quiz: Sequence[Question], kind: str) -> None:
        assert corpus.grammar is not None
        quiz = [q for q in quiz if q.prompt.count(q.answer) == 1]
        firsts = sorted({name[0] for name in corpus.grammar.words["name"]} - set("lr" + VOWELS))
        encode, texts, starts, letters = corpus.tokenizer.encode, list[Tensor](), list[int](), list[str]()
        for i, q in enumerate(quiz):
            start, own = q.prompt.index(q.answer), q.answer[1]
            alphabet = VOWELS if kind == "vowel" else [c for c in firsts if c != q.answer[0]]
            letter = alphabet[(VOWELS.index(own) + 1 + i % (len(alphabet) - 1)) % len(alphabet)]
            text = q.prompt[: start + 2] + letter + q.prompt[start + 2 :] + q.answer[0]
            texts.append(encode(text))
            starts.append(start)
            letters.append(letter)
        self.ids = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
        self.last = torch.tensor([len(text) - 1 for text in texts])
        self.third = torch.tensor(starts) + 3
        self.vowel = torch.stack([encode(q.answer[1])[0] for q in quiz])
        self.inserted = torch.stack([encode(letter)[0] for letter in letters])


@torch.inference_mode()
def measure_inserted(model: LanguageModel, rows: InsertedRows, writer: int) -> dict[str, float]:
    """Measure whether the writer follows the position or the kind of a letter.

    returns  "one before": the weight that the writer gives, at the third letter, to the new letter just
             before it; "two before": to the name's own vowel; "own" and "new": shares of questions after
             which the name's own vowel, or the new letter, is predicted
    """
    row_numbers = torch.arange(len(rows.ids))
    weights = each_weights(model, rows.ids, lambda weights: weights[:, writer].cpu())[0]  # (Q, T, T)
    logits = model(rows.ids.to(next(model.parameters()).device))
    predicted = logits[row_numbers, rows.last].argmax(dim=-1).cpu()
    looks = {"one before": 1, "two before": 2}
    return {
        **{
            name: round(float(weights[row_numbers, rows.third, rows.third - back].mean()), 4)
            for name, back in looks.items()
        },
        "own": true_share(predicted == rows.vowel),
        "new": true_share(predicted == rows.inserted),
    }


class HeadFrozenRotary(Rotary):
    """RoPE in which some pairs of one head do not turn.

    rope   whose frequencies it has
    head   counted from 0
    turns  (D / 2,)  whether a pair of this head turns
    """

    def __init__(self, rope: Rotary, head: int, turns: Tensor) -> None:
        super().__init__(rope.head_dim, rope.theta)
        self.head, self.turns = head, turns

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        here = torch.arange(q.shape[1], device=q.device)[:, None, None] == self.head  # (H, 1, 1)
        angle = angles_at(positions.time, self.frequencies().where(self.turns, 0.0))
        turned = super().transform_qk(q, k, positions)
        frozen = (rotate_pairs(x, angle) for x in (q, k))
        q, k = (torch.where(here, x, y) for x, y in zip(frozen, turned, strict=True))
        return q, k


def measure_frozen(model: Transformer, rows: SecondLetterRows) -> dict[str, dict[str, float]]:
    """Freeze pairs of one head of layer 1: the quickest, or all others; in the writer, or in another head.

    returns  name -> "back": weight of this head from the third letter to the second; "second": share of right
             second letters. The "control" is the head of layer 1 with the least such weight
    """
    rope = model.encoding
    assert isinstance(rope, Rotary)
    back, pair = look(model, rows)[1][0], torch.arange(rope.head_dim // 2)
    chosen = {"writer": int(back.argmax()), "control": int(back.argmin())}
    frozen = {"quickest": pair >= QUICK, "others": pair < QUICK}
    numbers = {"as trained": {"back": back[chosen["writer"]], "second": right_without(model, rows, [])}}
    for name, head in chosen.items():
        for kind, turns in frozen.items():
            layers = [HeadFrozenRotary(rope, head, turns), rope]
            view = with_encoding(model, PerLayer(layers))
            numbers[f"{name}, {kind} frozen"] = {
                "back": look(view, rows)[1][0][head],
                "second": right_without(view, rows, []),
            }
    return {name: {key: round(float(x), 4) for key, x in row.items()} for name, row in numbers.items()}


# ---------------------------------------------------------------- the runs


class Task:
    """Corpus and questions that the runs share.

    few    questions between the steps
    rows   of all questions, whose second letter is asked for
    given  of the few whose two names begin differently: the first letter, which is given, says which name
    same_first    rows of all questions whose two names begin alike and have another vowel, if there are any
    other_firsts  (Q, T)  `rows` with another first letter of the right name
    """

    def __init__(self, scale: StudySize) -> None:
        self.corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
        self.quiz = questions(self.corpus, block_size, scale.n_questions)
        self.few = self.quiz[:FEW]
        self.rows = second_letter_rows(self.corpus, self.quiz[: max(1, len(self.quiz) // 2)])
        self.given = second_letter_rows(self.corpus, [q for q in self.few if q.answer[0] != q.rival[0]])
        # Only something else than its first letter tells the right one of these names.
        alike = [q for q in self.quiz if q.answer[0] == q.rival[0] and q.answer[1] != q.rival[1]]
        self.same_first = second_letter_rows(self.corpus, alike) if alike else None
        self.other_firsts = with_other_firsts(self.corpus, self.rows)
        self.inserted = {kind: InsertedRows(self.corpus, self.quiz, kind) for kind in INSERTED}
        self.config = small_config(self.corpus, block_size)

    def scores(self, model: LanguageModel, quiz: Sequence[Question]) -> dict[str, float]:
        """Return the shares of right answers and of names written."""
        tokenizer = self.corpus.tokenizer
        answers = metrics.role_accuracy(model, tokenizer, quiz)
        spells = metrics.whole_answer_accuracy(model, tokenizer, quiz)
        return {"answers": round(answers, 4), "spells": round(spells, 4)}


Run = Callable[[Task, StudySize, int, int], dict[str, Any]]  # task, scale, steps between measurements, seed


def curves_of(
    version: str, steps: int, every: int, task: Task, seed: int
) -> tuple[LanguageModel, dict[str, Any]]:
    """Train a version, and measure it every `every` steps.

    returns  the model; and "at": steps, "answers" and "spells": shares of `Task.few`, "second": share of
             right second letters of `Task.given`
    """
    objective, plan = NextToken(task.corpus, task.config.block_size), TrainConfig(steps, seed=seed)

    def measure(model: LanguageModel) -> dict[str, float]:
        second = right_without(model, task.given, [])
        return {**task.scores(model, task.few), "second": second}

    torch.manual_seed(seed)
    model = build(version, task.config)
    title = f"{version}, {steps:,} steps, seed {seed}"
    curve, _ = train_with_curve(model, objective, plan, title, every, measure)
    curves = {name: [point[name] for point in curve] for name in ("answers", "spells", "second")}
    return model, {"at": [*range(every, steps + 1, every)], **curves}


def run_v4(task: Task, scale: StudySize, every: int, seed: int) -> dict[str, Any]:
    """Train v4 as the study of clicks does, and measure all that lesson 11 left open in it."""
    model, curves = curves_of("v4", scale.steps, every, task, seed)
    assert isinstance(model, Transformer)
    writer = int(look(model, task.rows)[1][0].argmax())
    return {
        "curves": curves,
        "end": task.scores(model, task.quiz),
        **measure_letters(model, task.corpus, task.quiz),
        "without two": without_two(model, task.rows),
        "looks": look(model, task.rows)[0][1].astype(float).round(4).tolist(),
        "same first": right_without(model, task.same_first, []) if task.same_first else None,
        "exchanged": {
            name: patch_letters(model, task.rows, None, *letters) for name, letters in WHERE.items()
        },
        "first exchanged": {
            name: true_share(
                second_letters_exchanged(model, task.rows, task.other_firsts, letters) == task.rows.vowel
            )
            for name, letters in WHERE.items()
        },
        "writer": writer,
        "inserted": {kind: measure_inserted(model, rows, writer) for kind, rows in task.inserted.items()},
        "frozen": measure_frozen(model, task.rows),
    }


def run_lesson(version: str, share: float, aligned: bool) -> Run:
    """Return a run that trains a version as a lesson does, and measures its right answers and written names.

    share    of the study's steps
    aligned  whether windows begin with a story
    """

    def run(task: Task, scale: StudySize, every: int, seed: int) -> dict[str, Any]:
        steps = max(1, round(share * scale.steps))
        objective = NextToken(task.corpus, task.config.block_size, aligned=aligned)
        plan, title = TrainConfig(steps, seed=seed), f"{version}, {steps} steps, seed {seed}"
        model, _ = train_from_seed(version, task.config, objective, plan, title)
        return {"end": task.scores(model, task.quiz)}

    return run


def run_nope(task: Task, scale: StudySize, every: int, seed: int) -> dict[str, Any]:
    """Train NoPE for five thirds of the study's steps: 3,000."""
    model, curves = curves_of("nope", 5 * scale.steps // 3, 2 * every, task, seed)
    return {"curves": curves, "end": task.scores(model, task.quiz)}


ARMS: dict[str, Run] = {
    "v4": run_v4,
    "v3, lesson 03b": run_lesson("v3", 400 / 1800, aligned=True),
    "v4, as in 03b": run_lesson("v4", 400 / 1800, aligned=True),
    # The study of needed heads stores v4 as lesson 04b trains it.
    "v3, lesson 04": run_lesson("v3", 450 / 1800, aligned=False),
    "nope": run_nope,
}


def measure_open(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train each arm from every seed, and measure what lesson 11 left open.

    every    steps between two measurements of v4; of NoPE twice as many
    returns  settings, and {"arms": arm -> name of the measurement -> one a seed}
    """
    task = Task(scale)
    arms = sweep(ARMS, scale.seeds, lambda name, seed: ARMS[name](task, scale, every, seed), workers)
    counts = {
        "n_questions": scale.n_questions,
        "n_same_first": len(task.same_first.ids) if task.same_first else 0,
    }
    return {**scale.settings(), "every": every, **counts, "arms": arms}


# ---------------------------------------------------------------- of stored results


def v4_of(results: Results) -> list[dict[str, Any]]:
    """Return what was measured of v4, one table a seed."""
    arm = results["arms"]["v4"]
    return [{name: values[i] for name, values in arm.items()} for i in range(len(results["seeds"]))]


def first_clicks(results: Results) -> list[tuple[float, float]]:
    """Return for each seed of v4 the steps from which on it knows the vowel, and from which on it answers.

    The vowel is asked for behind the right first letter.
    """
    return [
        (
            click_step(run["curves"]["at"], run["curves"]["second"], SECOND),
            click_step(run["curves"]["at"], run["curves"]["answers"], LEAST["answers"]),
        )
        for run in v4_of(results)
    ]


def without_best_two(run: dict[str, Any]) -> float:
    """Return the lowest share of right second letters without two heads of layer 2."""
    return float(np.min(run["without two"][1]))


def table(results: Results) -> str:
    """Return as Markdown what each seed of v4 misses, needs and follows; then the names that others write."""
    heading = (
        "seed",
        "names (%)",
        "letters first wrong (%, letter 1 to 4, end)",
        "vowels without one head of layer 2",
        "without two",
        "exchanged at the third letter, all of layer 1",
        "at the vowel",
        "another first letter, at the vowel",
        "at the third letter",
        "names that begin alike",
        "writer on the letter before",
        "on an inserted vowel",
        "on an inserted consonant",
        "quickest pairs frozen",
    )
    rows = []
    for seed, run in zip(results["seeds"], v4_of(results), strict=True):
        frozen, inserted = run["frozen"], run["inserted"]
        shares = (
            np.diag(run["without two"][1]).min(),
            without_best_two(run),
            run["exchanged"]["third"]["exchanged"],
            run["exchanged"]["second"]["exchanged"],
            run["first exchanged"]["second"],
            run["first exchanged"]["third"],
            float("nan") if run["same first"] is None else run["same first"],
            frozen["as trained"]["back"],
            *(inserted[kind]["one before"] for kind in INSERTED),
            frozen["writer, quickest frozen"]["back"],
        )
        wrong = " ".join(f"{100 * share:.0f}" for share in run["first wrong"])
        names = f"{100 * run['end']['spells']:.0f}"
        rows.append((str(seed), names, wrong, *(f"{100 * share:.0f}" for share in shares)))
    arms = [
        (name, *(" ".join(f"{100 * end[key]:.0f}" for end in arm["end"]) for key in ("answers", "spells")))
        for name, arm in results["arms"].items()
    ]
    head = f"{table_head(results)} Shares in per cent, at the end of each run.\n\n"
    others = markdown(("run", "right answers, each seed", "names written, each seed"), arms)
    return head + markdown(heading, rows) + "\n" + others


def note_letter(run: dict[str, Any]) -> str | None:
    """Return at which letter an exchange of layer 1 turns most vowels: a key of WHERE, or None below half."""
    turned = {place: run["exchanged"][place]["exchanged"] for place in ("second", "third", "fourth")}
    place = max(turned, key=lambda place: turned[place])
    return place if turned[place] > 0.5 else None


def draw_open(figure: Figure, results: Results) -> None:
    """Draw where notes lie, what their writer follows, and the names that all runs write."""
    notes, follows, names = figure.subplots(1, 3)
    draw_notes(notes, results)
    runs = v4_of(results)
    looks = {
        "as it stands": [run["frozen"]["as trained"]["back"] for run in runs],
        **{f"{kind} inserted": [run["inserted"][kind]["one before"] for run in runs] for kind in INSERTED},
        "quickest pairs frozen": [run["frozen"]["writer, quickest frozen"]["back"] for run in runs],
    }
    vowels = {f"{kind} inserted": [run["inserted"][kind]["two before"] for run in runs] for kind in INSERTED}
    means = [100 * np.mean(looks[name]) for name in ("as it stands", "consonant inserted")]
    title = "The writer gives the letter before {:.0f}% of its weight, and {:.0f}% if it is a consonant"
    label = "weight on the letter before (%; rings: on the name's own vowel)"
    draw_seed_dots(follows, percent(looks), title.format(*means), label, rings=percent(vowels))
    labels = {"nope": "NoPE, 3,000 steps"}
    ends = {labels.get(name, name): arm["end"] for name, arm in results["arms"].items()}
    spells, answers = (
        percent({name: [end[key] for end in each] for name, each in ends.items()})
        for key in ("spells", "answers")
    )
    shares = [np.mean(spells[name]) for name in ("v3, lesson 03b", "v4, as in 03b")]
    title = "As in 03b, v3 writes {:.0f}% of the names, and v4 {:.0f}%"
    label = "names written (%; rings: right answers)"
    draw_seed_dots(names, spells, title.format(*shares), label, span=(-3.0, 103.0), rings=answers)


def draw_notes(ax: Axes, results: Results) -> None:
    """Draw for each seed of v4 the vowels turned by an exchange of layer 1 at each letter of the name."""
    runs = dict(zip(results["seeds"], v4_of(results), strict=True))
    order = ("third", "second", None)
    runs = dict(sorted(runs.items(), key=lambda item: order.index(note_letter(item[1]))))
    letters = {"at the fourth letter": "fourth", "at the third": "third", "at the vowel itself": "second"}
    numbers = {
        label: lambda run, place=place: run["exchanged"][place]["exchanged"]
        for label, place in letters.items()
    }
    third, own = (sum(note_letter(run) == place for run in runs.values()) for place in order[:2])
    title = f"The third letter turns the vowel in {third} seeds, the vowel itself in {own}"
    draw_shares(ax, runs, numbers, title, "questions in which the exchanged vowel is written")
