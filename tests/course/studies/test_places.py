"""Study of how v4 finds the vowel: other stories, what is exchanged, and how seeds are counted."""

import pytest
import torch
from matplotlib.figure import Figure

from babygpt import build
from babygpt.data.stories import Question
from babygpt.experiments.sweep import small_config
from babygpt_course.studies import places
from babygpt_course.studies.neighbours import give
from babygpt_course.studies.spelling import second_letters_exchanged


def awake(corpus, gift=places.PLAIN):
    """Return an untrained v4 whose every weight counts."""
    torch.manual_seed(0)
    model = build("v4", small_config(corpus, 64))
    give(model, gift)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.2)
    return model


def test_other_stories_differ_in_what_they_are_named_after(corpus):
    asked = Question("\nmila fed rosa. fed whom? ", answer="rosa", rival="mila", end=".", mention=10)
    left_out = [
        Question("\nmila fed misa. fed whom? ", answer="misa", rival="mila", end=".", mention=10),
        Question("\nmila fed rila. fed whom? ", answer="rila", rival="mila", end=".", mention=10),
    ]
    rows = places.PlaceRows(corpus, [asked, *left_out])
    texts = {kind: corpus.tokenizer.decode(ids[0]) for kind, (ids, _) in rows.others.items()}
    verb = texts.pop(places.VERB)
    assert texts == {
        places.PLACES: "\nrosa fed mila. fed whom? r",
        places.FIRSTS: "\nrila fed mosa. fed whom? r",
        places.BOTH: "\nmosa fed rila. fed whom? r",
    }
    assert verb == texts[places.PLACES].replace("rosa", "mila", 1).replace(" mila.", " rosa.").replace(
        "fed", verb.split()[1]
    )
    assert verb.split()[1] != "fed"
    assert len(verb.split()[1]) == 3
    decode = corpus.tokenizer.decode
    assert (decode(rows.rows.vowel), decode(rows.rows.twin_vowel)) == ("o", "i")
    for kind, (ids, names) in rows.others.items():
        behind = [decode(ids[0, name + 1 : name + 4]) for name in names[0].tolist()]
        assert behind == ["osa", "ila"], kind
    assert decode(rows.misled[0]) == asked.prompt + "m"


def test_an_exchange_at_the_same_place_is_one_of_what_all_heads_write(corpus, rows):
    """In v4 alone nothing but the heads of layer 1 can tell a letter of the others."""
    model, distance = awake(corpus), rows.names[:, 1] - rows.names[:, 0]
    compared = 0
    for d in distance.unique().tolist():
        same = distance == d
        part = object.__new__(places.PlaceRows)
        fields = ("ids", "last", "mention", "vowel", "twin_vowel", "twins")
        part.rows = type(rows.rows)(**{name: getattr(rows.rows, name)[same] for name in fields})
        ids, names = rows.others[places.FIRSTS]
        part.names, part.others = rows.names[same], {places.FIRSTS: (ids[same], names[same])}
        letters = [2, 3]
        expected = second_letters_exchanged(
            model, part.rows, ids[same], [*letters, *(x + d for x in letters)]
        )
        shares = places.exchange_held(model, part, places.FIRSTS, 1, letters)
        assert shares["kept"] == pytest.approx(float((expected == part.rows.vowel).float().mean()), abs=1e-4)
        assert shares["turned"] == pytest.approx(
            float((expected == part.rows.twin_vowel).float().mean()), abs=1e-4
        )
        compared += int(same.sum())
    assert compared == len(rows.names) > 8


def test_letters_of_a_name_take_what_they_hold_in_its_other_place(corpus, rows, monkeypatch):
    model, (ids, _) = awake(corpus), rows.others[places.PLACES]

    def given_to_layer_2(texts):
        given = list[torch.Tensor]()
        hook = model.blocks[1].register_forward_pre_hook(lambda _, inputs: given.append(inputs[0].clone()))
        model(texts)
        hook.remove()
        return given[0]

    expected, other, exchanged = given_to_layer_2(rows.rows.ids), given_to_layer_2(ids), []
    for q, (right, rival) in enumerate(rows.names.tolist()):
        expected[q, right + 1] = other[q, rival + 1]
        expected[q, rival + 1] = other[q, right + 1]

    def second_letters(model, own):
        exchanged.append(given_to_layer_2(own.ids))
        return own.vowel

    monkeypatch.setattr(places, "second_letters", second_letters)
    shares = places.exchange_held(model, rows, places.PLACES, 1, [1])
    assert torch.equal(exchanged[0], expected)
    assert shares == {"kept": 1.0, "turned": 0.0}


@pytest.mark.parametrize(
    ("gift", "changes"),
    [
        (places.PLAIN, []),
        (places.BEFORE, [places.FIRSTS, places.BOTH]),
        (places.TWO_BEFORE, [places.PLACES, places.BOTH]),
    ],
)
def test_a_gift_tells_a_vowel_its_first_letter_or_the_place_of_its_name(
    corpus, rows, monkeypatch, gift, changes
):
    """One token before the vowel stands the first letter, and two before it the end of a story or a space."""
    model, seen = awake(corpus, gift), []
    monkeypatch.setattr(
        places,
        "second_letters",
        lambda model, own: [seen.append(model(own.ids)), own.vowel][1],
    )
    with torch.inference_mode():
        plain = model(rows.rows.ids)
    for kind in rows.others:
        places.exchange_held(model, rows, kind, *places.WHERE["given"])
    assert [
        kind for kind, logits in zip(rows.others, seen, strict=True) if not torch.equal(logits, plain)
    ] == changes


def test_seeds_count_where_they_know_the_vowel():
    def exchanged(places_turned, firsts_turned):
        turned = {
            places.PLACES: places_turned,
            places.FIRSTS: firsts_turned,
            places.BOTH: 1.0,
            places.VERB: 0.0,
        }
        return {
            where: {kind: {"kept": 1 - x, "turned": x} for kind, x in turned.items()}
            for where in places.WHERE
        }

    numbers = {
        "spells": [[0.1, 0.9]] * 4,
        "second": [0.9, 0.8, 0.79, 1.0],
        "exchanged": [exchanged(0.5, 0.1), exchanged(0.49, 0.6), exchanged(1.0, 1.0), exchanged(0.9, 0.2)],
    }
    results = {
        "command": "made",
        "minutes": 1.0,
        "steps": 1800,
        "seeds": [1, 2, 3, 4],
        "arms": {", ".join(arm): numbers for arm in places.ARMS},
    }
    assert places.count_turned(results, ("v4", places.PLAIN), "second", places.PLACES) == (2, 3)
    assert places.count_turned(results, ("v4", places.PLAIN), "third", places.FIRSTS) == (1, 3)
    places.draw_places(figure := Figure(), results)
    assert [" ".join(ax.get_title().split()) for ax in figure.axes] == [
        "RoPE: places turn the vowel in 2 of 3 seeds",
        "ALiBi: places turn it in 2 of 3",
        "The token two before: places turn it in 2 of 3",
        "The token before: places turn it in 2 of 3",
    ]
    assert "| v4, nothing | 2 | 90 | 80 | 49 49 49 49 | 60 60 60 60 |" in places.table(results)
