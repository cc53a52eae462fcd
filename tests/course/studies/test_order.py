"""Study of order: replaced pairs of the sinusoid, moved texts, marked stories."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.encodings.sinusoidal import Sinusoidal
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt_course.studies import order

CORPUS = load_corpus("plain-tales", 9_000)


def code(encoding, position):
    return encoding.embed(torch.zeros(1, 1, 8), Positions.arange(1, position))[0, 0]


def test_replaced_pairs_freeze_or_restart_and_the_others_continue():
    table, pairs = Sinusoidal(8), torch.tensor([False, False, True, True])
    frozen, put_back = (order.Replaced(8, pairs, is_frozen) for is_frozen in (True, False))
    for encoding, inside in ((frozen, 63), (put_back, 7)):
        assert torch.equal(code(encoding, 71), torch.cat([code(table, 71)[:4], code(table, inside)[4:]]))
        assert torch.equal(code(encoding, 63), code(table, 63))


@pytest.mark.parametrize("version", ["v3", "nope"])
def test_putting_all_pairs_back_gives_the_loss_inside_the_window(version):
    torch.manual_seed(0)
    model = build(version, ModelConfig(CORPUS.tokenizer.vocab_size, order.WINDOW, 1, 2, 16))
    losses = order.measure_far(model, CORPUS)
    assert not isinstance(model.encoding, order.Replaced)
    assert losses["inside"] == losses["moved, all put back" if version == "v3" else "moved"]
    assert ("long, slow frozen" in losses) is (version == "v3")


def test_a_failed_measurement_leaves_the_encoding_as_it_is(monkeypatch):
    def fail(model, *_):
        if isinstance(model.encoding, order.Replaced):
            raise RuntimeError("out of memory")
        return torch.zeros(1, 4 * order.WINDOW)

    model = build("v3", ModelConfig(CORPUS.tokenizer.vocab_size, order.WINDOW, 1, 2, 16))
    encoding = model.encoding
    monkeypatch.setattr(order, "losses_from", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        order.measure_far(model, CORPUS)
    assert model.encoding is encoding


def test_training_uses_every_position_of_four_windows():
    objective, generator = order.AllPositions(CORPUS, order.WINDOW, aligned=True), torch.Generator()
    firsts = [(objective.batch(1, generator), objective.first)[1] for _ in range(2000)]
    assert set(firsts) == set(range(3 * order.WINDOW + 1))
