"""Tools show stored numbers or those of a direct computation, in words as well."""

import math

import numpy as np
import pytest
import torch

from babygpt import ModelConfig, Positions, build, load_corpus, metrics
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.experiments.paired import compare
from babygpt.metrics import exact_nelbo
from babygpt.objectives import cross_entropy
from babygpt.objectives.diffusion import denoise
from babygpt_course.studies.clicks import MODELS, click_steps
from babygpt_course.studies.results import load_results
from babygpt_course.tools import bench, click, company, gap, letters, orders, valley, vowel_heads
from babygpt_course.tools.bench import CANDIDATES, DIM, NONE, measure
from babygpt_live import Cells, Curve, Level, Trials
from tools.book.recording import record_explorer

CLICKS, CONTROLS, SPELLING = map(load_results, ("clicks", "controls", "spelling"))


@pytest.mark.parametrize(("what", "step"), [("answers", 50), ("answers", 600), ("spells", 1800)])
def test_click_counts_seeds_and_compares_their_losses_within_one_encoding(what, step):
    explorer = click(CLICKS)
    explorer.what, explorer.step = what, step
    counts = {
        name: sum(click_step <= step for click_step in seeds)
        for name, seeds in click_steps(CLICKS, what).items()
    }
    index, (shares, losses) = CLICKS["at"].index(step), explorer.now()
    assert [mark.y[index] for mark in shares.marks[1:]] == list(counts.values())
    first = max(counts, key=counts.__getitem__)
    ending = f"with {MODELS[first]} and {min(counts.values())} of 12 with "
    assert f"By step {step:,}, {counts[first]} of 12 seeds" in shares.title
    assert (ending if len(set(counts.values())) > 1 else "with each encoding") in shares.title
    spell = {name: np.array(seeds) <= step for name, seeds in click_steps(CLICKS, "spells").items()}
    name = max(spell, key=lambda name: min(spell[name].sum(), (~spell[name]).sum()))
    spells, lose = spell[name], np.array(CLICKS["models"][name]["loss"])[:, index]
    words = "no encoding has both seeds that spell and others"
    if spells.any():
        words = (
            f"{MODELS[name]}, seeds that spell ({spells.sum()}) lose {lose[spells].mean():.3f} nats, and the"
        )
        words += f" others ({(~spells).sum()}) {lose[~spells].mean():.3f}"
    assert words in losses.title


def test_a_click_that_is_to_be_guessed_is_not_shown():
    explorer = click(CLICKS, ["answers"])
    assert explorer.controls[0]["options"] == ["answers"]
    assert len(explorer.now()) == 1
    assert len(click(CLICKS, seeds=False).now()) == 1  # The losses of seeds are left out on demand, too.


@pytest.mark.parametrize(
    ("name", "step", "word"), [("v3", 300, "more"), ("v3", 1200, "less"), ("pope", 900, "")]
)
def test_the_gap_is_the_paired_difference_from_rope_and_later_ones_are_not_shown(name, step, word):
    explorer = gap(CLICKS)
    explorer.name, explorer.step = name, step
    curves, pairs = explorer.now()
    losses = {
        model_name: np.array(CLICKS["models"][model_name]["loss"])[:, CLICKS["at"].index(step)]
        for model_name in (name, "v4")
    }
    comparison = compare((losses[name] - losses["v4"]).tolist())
    assert curves.find(Curve).y[-1] == pytest.approx(losses[name].mean())
    assert pairs.find(Curve, 3).y == pytest.approx(losses[name] - losses["v4"])
    assert pairs.find(Curve).at()[-1] == step
    assert f"{comparison.mean:+.3f} nats ({comparison.low:+.3f} to {comparison.high:+.3f})" in pairs.title
    assert word in pairs.title


def test_no_curve_of_the_gap_leaves_its_axes():
    explorer = gap(CLICKS)
    (steps,) = (facts["stops"] for facts in explorer.controls if facts["name"] == "step")
    for explorer.name in ("v3", "alibi"):
        for explorer.step in (steps[0], steps[-1]):
            for panel in explorer.now():
                for curve in (mark for mark in panel.marks if isinstance(mark, Curve)):
                    for values, axis in ((curve.at(), panel.x), (curve.y, panel.y)):
                        assert axis.span[0] <= min(values) <= max(values) <= axis.span[1], panel.title


def test_vowel_heads_are_those_of_the_stored_seeds():
    explorer = vowel_heads(SPELLING)
    (choices,) = (facts["options"] for facts in explorer.controls if facts["name"] == "seed")
    assert sorted(choices) == sorted(SPELLING["seeds"])
    explorer.seed, explorer.stage = 1003, "end"
    stored = SPELLING["stages"][SPELLING["seeds"].index(1003)]["end"]
    silent, looks = (panel.find(Curve).y for panel in explorer.now())
    assert silent == pytest.approx(100 * np.ravel(stored["without"]))
    assert looks == pytest.approx(100 * np.array(stored["looks"][1][3]))
    assert f"head 4 gives {looks[2]:.0f}% of its weight to the third letter" in explorer.now()[1].title
    explorer.seed, explorer.stage = 4711, "before"  # it does not spell
    assert "Step 1,800" in explorer.now()[0].note


@pytest.mark.parametrize(("windows", "hide", "n_keys"), [(1, False, 64), (4, False, 256), (8, True, 64)])
def test_company_has_the_angles_of_one_window_a_softmax_and_the_stored_recall(windows, hide, n_keys):
    explorer = company(CONTROLS)
    explorer.windows, explorer.hide, explorer.advantage = windows, hide, 5
    angles, attention, recall = explorer.now()
    scores = torch.zeros(n_keys)
    scores[7] = 5.0
    shares, means = attention.find(Curve, hide), recall.find(Curve, 2 * hide)
    assert shares.at()[-1] == windows  # what a longer text does is not shown yet
    assert shares.y[-1] == pytest.approx(100 * float(scores.softmax(0)[7]))
    stored = CONTROLS["controls"]["company"][f"{windows} windows{', near' if hide else ''}"]
    assert means.y[-1] == pytest.approx(100 * np.mean(stored))
    assert f"{means.y[-1]:.0f}%" in recall.title
    assert angles.find(Curve).y == pytest.approx(np.rad2deg(48) % 360)  # the first pair turns by 1 a token


def test_only_the_rotation_passes_all_tests_of_the_bench():
    passed = {name: measure(score).passed for name, (score, _) in CANDIDATES.items()}
    assert {name for name, tests in passed.items() if all(tests)} == {"rotation"}
    assert passed[NONE] == [False, True, True, False]
    assert passed["absolute kernel"] == [True, False, False, False]
    assert all(passed[name] == [True, False, name != "integers added", True] for name in [*CANDIDATES][1:5])


def test_the_bench_measures_the_function_itself():
    def score(q, k, m, n):  # scores are larger by 3 in one direction, and twice as large after 1,000
        return (q @ k) * (2 if m > 1_000 else 1) + (3 * math.sqrt(DIM) if m < n else 0)

    explorer = bench(score, ["rotation"])
    assert explorer.controls[0]["options"] == ["yours", "rotation"]
    table, picture = explorer.now()
    pairs = torch.randn(16, 2, DIM, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    dots = (pairs[:, 0] * pairs[:, 1]).sum(dim=1) / DIM**0.5
    spread = float(dots.std(correction=0))
    swap, shift = 3 / spread, float(dots.square().mean().sqrt()) / spread
    answers = [f"passes: {swap:.0%}", f"fails: {shift:.0%}", "passes: × 2.00", "fails: 0%"]
    assert table.find(Trials).values[1] == answers
    assert picture.find(Cells).values[[5, 3], [3, 5]] == pytest.approx([float(dots[0]), float(dots[0]) + 3])


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (lambda q, k, m, n: 1 / 0, "score(q, k, 9, 2) raised ZeroDivisionError: 'division by zero'"),
        (lambda q, k, m, n: q, "score(q, k, 9, 2) came out: (32,)"),
        (lambda q, k, m, n: n - m, "is the same for all q and k"),
        (lambda q, k, m, n: q @ k * math.inf, "is not finite for some m and n below 64"),
        (lambda q, k, m, n: q.add_(1) @ k * torch.tensor(1.5) ** m, "“yours” passes 1 of 4 tests"),
        (0.5, "'float' object is not callable"),
    ],
)
def test_a_sentence_names_the_fault_of_a_wrong_function(score, words):
    assert words in bench(score).now()[0].title


ROTATION = CANDIDATES["rotation"][0]


@pytest.mark.parametrize(
    "place",
    [
        lambda m: m % 2048,
        lambda m: m % 1000,
        lambda m: m if m < 20_000 else m + 3 * (m % 2),  # jumps between 20,000 and 90,000
        lambda m: min(m, 65_535),
        lambda m: m + (m >= 512),
    ],
)
def test_a_shift_shows_positions_that_are_not_counted_on(place):
    passed = measure(lambda q, k, m, n: ROTATION(q, k, place(m), place(n))).passed
    assert not passed[1]


def test_an_exception_counts_against_its_own_test():
    def table(q, k, m, n):  # It fails like a table of 90,100 positions.
        if max(m, n) >= 90_100:
            raise IndexError("index out of range")
        return ROTATION(q, k, m, n)

    tried = measure(table)
    assert (list(tried.passed), tried.answers[2]) == ([True, True, False, True], "fails: no score")
    assert "raised IndexError" in bench(table).now()[0].title
    assert bench(table).now()[1].title == "Equal distances lie on a diagonal, and score the same"


def test_the_valley_shows_stored_seeds_and_models_that_stand_where_the_text_begins(awake, text):
    models, windows = {"v3": awake("v3"), "learned": awake("learned")}, text(3, 9)
    explorer = valley(CONTROLS, {"v3": models["v3"]}, windows, ["v3"])
    with torch.inference_mode():
        logits = models["v3"](windows[:, :-1], Positions.arange(8, 40))
    loss = float(cross_entropy(logits, windows[:, 1:]).mean())
    torch.nn.init.zeros_(models["v3"].get_parameter("head.weight"))
    explorer.first = 40
    live, dots = (explorer.now()[0].find(Curve, nth) for nth in (1, 2))
    assert live.at().tolist() == [0, 8, 16, 24, 32, 40]
    assert live.y[-1] == pytest.approx(loss)
    stored = CONTROLS["controls"]["v3, two places"]
    assert dots.y.tolist() == [*stored["at 0"], *stored["at 32"]]
    note = explorer.now()[0].note
    assert note.startswith("Dots: 12 seeds of v3 trained at 0 and 128. At 32 they lose ")
    assert "v4" not in note
    explorer = valley(CONTROLS)
    explorer.first = 32
    assert f"position 32: {np.mean(stored['at 32']):.2f} with v3, " in explorer.now()[0].title
    with pytest.raises(BadInput, match="which texts shall learned read"):
        valley(CONTROLS, {"learned": models["learned"]})


FILLED = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens, as the small models have


def test_orders_add_up_the_letters_of_a_name_with_the_later_ones_hidden(awake):
    model, text = awake("v7"), FILLED.encode("ab bcda ab")
    explorer = orders(model, FILLED, {"a name": "ab [bcda] ab"})
    explorer.way = "3 1 4 2"
    hidden, total = [3, 4, 5, 6], 0.0
    for position in (5, 3, 6, 4):
        now = text.clone()
        now[hidden] = 10
        with torch.inference_mode():
            total -= float(denoise(model, now[None])[0, position].log_softmax(dim=0)[text[position]])
        hidden.remove(position)
    steps, costs = explorer.now()
    assert f"in the order d, b, a, c, the name costs {total:.2f} nats" in steps.title
    assert steps.find(Curve).y.sum() == pytest.approx(costs.find(Curve, 2).y[0]) == pytest.approx(total)
    assert costs.find(Level, 1).at == pytest.approx(exact_nelbo(model, text, [3, 4, 5, 6]), abs=1e-4)
    assert costs.find(Level).at == pytest.approx(-math.log(np.exp(-costs.find(Curve).y).mean()))
    assert len(record_explorer(explorer)["data"]) < 100_000
    with pytest.raises(BadInput, match="a name of 4 letters in brackets"):
        orders(model, FILLED, {"short": "ab [bcd] ab"})


@pytest.mark.parametrize(
    "make",
    [
        lambda: click(CLICKS),
        lambda: company(CONTROLS),
        lambda: valley(CONTROLS),
        lambda: vowel_heads(SPELLING),
        bench,
    ],
)
def test_recordings_are_small(make):
    assert len(record_explorer(make())["data"]) < 100_000  # characters of base64


def test_letters_shows_the_loss_of_each_letter_and_counts_what_is_known_and_written():
    corpus = load_corpus("plain-tales", 5_000)
    questions = corpus.grammar.questions(6, seed=2, max_chars=64)
    torch.manual_seed(0)
    model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 64, n_layer=1, n_head=2, n_embd=8))
    torch.nn.init.normal_(model.head.weight)
    watch = letters(corpus.tokenizer, questions)
    panel = watch.panel([(7, watch.measure(model))], "v4", 9)
    story, answer = (mark.y for mark in panel.marks)
    costs = metrics.answer_losses(model, corpus.tokenizer, questions[:1])
    assert answer[-5:-1] == pytest.approx(costs[:4], abs=1e-5)
    assert story[-1] == pytest.approx(costs[4], abs=1e-5)
    assert not (story * answer).any()
    assert "".join(mark for _, mark in panel.x.ticks).endswith(f"•{questions[0].answer}.")
    n_right = round(6 * metrics.role_accuracy(model, corpus.tokenizer, questions))
    assert f"After 7 steps v4 knows {n_right} of 6 answers and writes 0 of 6 names" in panel.title


def test_letters_shows_a_name_that_is_missed():
    corpus = load_corpus("plain-tales", 5_000)
    questions = corpus.grammar.questions(4, seed=2, max_chars=64)
    watch, losses = letters(corpus.tokenizer, questions), np.zeros(len(questions[0].prompt) + 4)
    names = [q.answer for q in questions]
    for written, example in (([*names[:2], "", "x"], ("", names[2])), (names, (names[0], names[0]))):
        title = watch.panel([(7, (losses, written, 4))], "v4", 9).title
        assert title.endswith("such as “{}” for “{}”".format(*example))
