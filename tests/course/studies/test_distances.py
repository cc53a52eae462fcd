"""Study of notes and distances: what layer 2 gets under each change, and how seeds are counted."""

import pytest
import torch
from matplotlib.figure import Figure

from babygpt import build
from babygpt.experiments.sweep import small_config
from babygpt_course.studies import distances, places
from babygpt_course.studies.spelling import given_to_layer, second_letters


@pytest.fixture(params=["v4", "alibi", "nope"])
def model(request, corpus):
    """Return an untrained model whose every weight counts."""
    torch.manual_seed(0)
    model = build(request.param, small_config(corpus, 64))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    model.kind = request.param
    return model


def logits_read(model, rows, monkeypatch, *change):
    """Return the logits after the last letter, in place of the likeliest vowel."""
    at_end = lambda m, own: m(own.ids)[torch.arange(len(own.ids)), own.last]  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(distances, "second_letters", at_end)
        return distances.read_vowels(model, rows, *change)


def test_positions_of_their_own_change_nothing(model, rows, monkeypatch):
    plain = logits_read(model, rows, monkeypatch)
    own = torch.arange(rows.rows.ids.shape[1]).float().expand(len(rows.names), -1)
    assert torch.allclose(logits_read(model, rows, monkeypatch, None, own), plain, atol=1e-4)
    assert torch.equal(distances.read_vowels(model, rows), second_letters(model, rows.rows))


def test_letters_that_stand_elsewhere_are_vectors_that_change_places(model, rows, monkeypatch):
    _, times = distances.changes_of(model, rows)[distances.DISTANCES]

    def exchange(x):
        x = x.clone()
        for q, (right, other) in enumerate(rows.names.tolist()):
            for letter in (1, 2, 3):
                x[q, [right + letter, other + letter]] = x[q, [other + letter, right + letter]]
        return x

    moved, exchanged = (logits_read(model, rows, monkeypatch, *c) for c in ((None, times), (exchange, None)))
    assert torch.allclose(moved, exchanged, atol=1e-4)
    unmoved = logits_read(model, rows, monkeypatch)
    assert torch.allclose(moved, unmoved, atol=1e-4) == (model.kind == "nope")


def test_without_places_and_distances_a_name_is_told_by_its_letters_alone(model, rows, monkeypatch):
    """The two names of a story and of its mirror then get the same vectors at the same positions."""
    changes = distances.changes_of(model, rows)
    vectors, times = changes[distances.NEITHER]
    x = given_to_layer(model, 1, rows.rows.ids)
    other_story, names = rows.others[places.PLACES]
    mirrored = given_to_layer(model, 1, other_story)
    for q, (right, other) in enumerate(rows.names.tolist()):
        for letter in (1, 2, 3):
            mean = (x[q, right + letter] + mirrored[q, names[q, 0] + letter]) / 2
            assert torch.allclose(vectors(x)[q, right + letter], mean, atol=1e-5)
            assert times[q, right + letter] == times[q, other + letter] == (right + other) / 2 + letter
    assert changes[distances.NO_PLACES][1] is None
    assert changes[distances.NO_DISTANCES][0] is None


def test_everything_is_the_other_story_with_the_other_letters(model, rows):
    vectors, times = distances.changes_of(model, rows)[distances.EVERYTHING]
    x = given_to_layer(model, 1, rows.rows.ids)
    ids, names = rows.others[places.BOTH]
    there = given_to_layer(model, 1, ids)
    for q, (right, _) in enumerate(rows.names.tolist()):
        assert torch.equal(vectors(x)[q, right + 2], there[q, names[q, 0] + 2])
        assert times[q, right + 2] == names[q, 0] + 2


def test_shares_are_those_of_each_kind_of_question(rows):
    is_first = rows.names[:, 0] < rows.names[:, 1]
    predicted = torch.where(is_first, rows.rows.vowel, rows.rows.twin_vowel)
    shares = distances.shares_by_question(rows, predicted)
    assert shares["who"] == {"right": 1.0, "other": 0.0}
    assert shares["whom"] == {"right": 0.0, "other": 1.0}
    assert shares["all"]["right"] == round(float(is_first.float().mean()), 4)


def test_a_wrong_first_letter_is_that_of_the_other_name(corpus, rows):
    text, misled = (corpus.tokenizer.decode(ids[0]) for ids in (rows.rows.ids, rows.misled))
    last, other = int(rows.rows.last[0]), int(rows.names[0, 1])
    assert misled == text[:last] + text[other] + text[last + 1 :]
    assert text[last] != text[other]


def test_a_seed_counts_if_both_questions_turn():
    def read(who, whom):
        shares = {"right": 0.0, "other": who}, {"right": 0.1, "other": whom}, {"right": 0.05, "other": 0.7}
        return dict(zip(("who", "whom", "all"), shares, strict=True))

    names = ("AS_IT_IS", "FIRSTS", "PLACES", "VERB", "DISTANCES", "EVERYTHING", "NO_PLACES", "NO_DISTANCES")
    changes = [*(getattr(distances, name) for name in names), distances.NEITHER]
    runs = [{change: read(*pair) for change in changes} for pair in ((0.5, 0.6), (1.0, 0.4), (1.0, 1.0))]
    arm = {
        "spells": [[0.9]] * 3,
        "second": [0.8, 1.0, 0.7],
        "read": runs,
        "misled": [{"all": {"right": 0.6, "other": 0.3}}] * 3,
    }
    arms = {", ".join(name): arm for name in distances.ARMS.values()}
    results = {"command": "made", "minutes": 1.0, "steps": 1800, "seeds": [1, 2, 3], "arms": arms}
    assert distances.count_turned(results, "v4", distances.PLACES) == 1
    assert distances.misled_shares(results, "v4") == {"place": [60.0] * 2, "letter": [30.0] * 2}
    distances.draw_distances(figure := Figure(), results)
    title = " ".join(figure.axes[0].get_title().split())
    assert title == "Of the seeds that know vowels 2 of 2 go by the place with RoPE, and 2 of 2 with ALiBi"
    rows = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    dots = {row: line.get_xdata() for row, line in zip(rows, figure.axes[1].lines[::2], strict=True)}
    assert list(dots["distances, whom"]) == [60.0, 40.0]
    assert "turn both questions in 1 of 2 seeds" in " ".join(figure.axes[1].get_title().split())
    assert distances.table(results).count("| 0/50, 10/60 |") >= 2
