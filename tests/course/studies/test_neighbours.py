"""Study of the cure: what each gift changes in a model, and what of its measurements is told."""

from math import inf

import pytest
import torch
from matplotlib.figure import Figure

from babygpt import NextToken, TrainConfig, build, train
from babygpt.errors import BadInput
from babygpt.experiments.sweep import StudySize, in_turn, questions, small_config
from babygpt_course.studies import neighbours
from babygpt_course.studies.spelling import LETTERS, second_letter_rows

TINY = StudySize(steps=4, seeds=(1, 2), n_chars=20_000, n_questions=12)
PAIRS = ("v4", neighbours.PLAIN), ("v4", neighbours.BEFORE)


def given(corpus, gift, version="v4"):
    torch.manual_seed(0)
    model = build(version, small_config(corpus, 64))
    neighbours.give(model, gift)
    return model


def trained(model, corpus):
    """Train a model for some steps, so that no weight of a gift is 0 and no block writes nothing."""
    for _ in train(model, NextToken(corpus, 64), TrainConfig(6, seed=1, warmup=0)):
        pass
    return model


@pytest.mark.parametrize("gift", neighbours.GIFTS[1:])
def test_a_gift_changes_nothing_at_first_and_is_trained(corpus, gift):
    idx = corpus.train[:128].view(2, 64)
    model, plain = given(corpus, gift), given(corpus, neighbours.PLAIN)
    assert torch.equal(model(idx), plain(idx))
    n_weights, n_plain = (sum(p.numel() for p in m.parameters()) for m in (model, plain))
    n_gifts = plain.config.n_layer if gift == neighbours.LAYERS else 1
    assert n_weights - n_plain == n_gifts * plain.config.n_embd
    trained(model, corpus), trained(plain, corpus)
    assert not torch.allclose(model(idx), plain(idx), atol=1e-4)


def test_the_token_before_is_that_of_the_version_of_its_name(corpus):
    losses = []
    for model in (given(corpus, neighbours.BEFORE), given(corpus, neighbours.PLAIN, "v4-shift")):
        torch.manual_seed(1)
        losses.append([step.loss for step in train(model, NextToken(corpus, 64), TrainConfig(4, seed=1))])
    assert losses[0] == losses[1]


@pytest.mark.parametrize("gift", [neighbours.KEYS, *neighbours.SHIFTS])
def test_a_gift_tells_no_token_of_a_later_one(corpus, gift):
    model, idx = trained(given(corpus, gift), corpus), corpus.train[:64][None].clone()
    before = model(idx)
    idx[0, 40] = (idx[0, 40] + 1) % corpus.tokenizer.vocab_size
    assert torch.equal(model(idx)[:, :40], before[:, :40])


@pytest.mark.parametrize(
    ("gift", "letters"), [("the token before", {1, 2}), ("the token two before", {1, 3})]
)
def test_what_layer_1_reads_of_a_vowel_is_exchanged_where_it_stands(corpus, gift, letters):
    """Expect that twins differ for layer 1 at the vowel, and at the letter to which it is given."""
    model = trained(given(corpus, gift), corpus)
    rows = second_letter_rows(corpus, questions(corpus, 64, 12))
    streams, row_numbers = [], torch.arange(len(rows.ids))
    model.blocks[0].attention.register_forward_pre_hook(lambda _, inputs: streams.append(inputs[0].detach()))
    for letter in range(LETTERS + 1):
        neighbours.vowels_after_exchange(model, rows, letter)
        with torch.no_grad():
            model(rows.ids)
        (twin, mixed, plain), place = streams, (row_numbers, rows.mention + letter)
        assert torch.equal(twin[place], plain[place]) == (letter not in letters)
        assert torch.equal(mixed[place], twin[place])
        mixed = mixed.clone()  # An inference tensor may not be changed.
        mixed[place] = plain[place]
        assert torch.equal(mixed, plain)
        streams.clear()


def test_short_and_long_runs_are_measured_and_told():
    measured = neighbours.measure_neighbours(in_turn, TINY, every=2, short=PAIRS, long=PAIRS)
    results = {"command": "made", "minutes": 1.0, **measured}
    assert [*results["short"]] == [*results["long"]] == ["v4, nothing", "v4, the token before"]
    assert "spells" not in results["short"]["v4, nothing"]
    run = results["long"]["v4, the token before"]
    assert [len(run[name]) for name in ("known", "spells", "spelling", "letters", "heads")] == [2] * 5
    assert [len(shares) for shares in run["spells"]] == [2, 2]
    run["spells"] = [[0.9, 0.8], [0.9, 0.7]]
    assert neighbours.spelling_clicks(results)["v4, the token before"] == [2, inf]
    results["short"]["v4, the token before"]["written"] = [0.9, 0.8]
    rows = [row.strip("| ").split(" | ") for row in neighbours.table(results).splitlines() if row[:1] == "|"]
    assert next(r for r in rows if "90 80" in r)[:3] == ["RoPE with the token before", "90 80", "2"]
    both = neighbours.join_runs({**results, "short": {}}, {**results, "long": {}})
    assert both == {**results, "minutes": 2.0}
    with pytest.raises(BadInput, match="differ from the new ones in steps"):
        neighbours.join_runs(results, {**results, "steps": 5})
    figure = Figure(figsize=(16, 6.5))
    neighbours.draw_neighbours(figure, results)
    title = " ".join(figure.axes[0].get_title().split())
    assert title == "After 1 steps 0 of 2 seeds spell with RoPE alone, 2 with the token before"


def test_short_runs_are_told_before_there_are_long_ones():
    written = {"v4, nothing": [0.25, 0.15], "v4, the token before": [0.85, 0.55]}
    short = {
        name: {"written": shares, "known": shares, "loss": [0.5, 0.6], "letter_losses": 2 * [[0.1, 1.6]]}
        for name, shares in written.items()
    }
    results = {"command": "made", "minutes": 1.0, "seeds": [1, 2], "short_steps": 6, "steps": 18, "at": [18]}
    results |= {"short": short, "long": {}}
    assert neighbours.compare_written(results, "v4, nothing") is None
    assert neighbours.compare_written(results, "v4, the token before").mean == pytest.approx(50)
    assert "seeds that spell:" not in neighbours.table(results)
    figure = Figure()
    neighbours.draw_neighbours(figure, results)
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "RoPE alone",
        "RoPE with the token before",
    ]
    assert [text.get_text()[:4] for text in ax.texts] == ["+50 "]
