"""Study of being first: weights are read where they stand, and the controls part position and token."""

import pytest
import torch
from matplotlib.figure import Figure

from babygpt import ModelConfig, build, load_corpus
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt.metrics.inspection import attention_weights
from babygpt_course.studies import first_token as study

CONFIG = ModelConfig(20, 16, n_layer=2, n_head=2, n_embd=16)


def awake_model(version="v4"):
    torch.manual_seed(0)
    return build(version, CONFIG)


def test_weights_are_those_that_later_tokens_give_to_a_column():
    model, text = awake_model(), torch.randint(20, (12,))
    weights = attention_weights(model, text)  # (L, H, T, T)
    shares = study.first_token_shares(model, text[None])
    assert shares["first"] == pytest.approx(weights[:, :, 7:, 0].mean(), abs=1e-4)
    assert shares["second"] == pytest.approx(weights[:, :, 7:, 1].mean(), abs=1e-4)
    assert shares["middle"] == pytest.approx(weights[:, :, 7:, 6].mean(), abs=1e-4)
    assert shares["cut"] == pytest.approx(attention_weights(model, text[1:])[:, :, 6:, 0].mean(), abs=1e-4)
    text[6] = text[0]
    weights = attention_weights(model, text)
    assert shares["repeated"] == pytest.approx(weights[:, :, 7:, 6].mean(), abs=1e-4)
    assert shares["first, repeated"] == pytest.approx(weights[:, :, 7:, 0].mean(), abs=1e-4)
    with pytest.raises(BadInput, match="3 tokens"):
        study.first_token_shares(model, text[None, :3])


class FirstBias(Encoding):
    """Encoding that adds to the score of position 0: a sink that is one by position."""

    def score_bias(self, queries, keys):
        return 5.0 * (keys.time == 0).float().expand(1, len(queries), len(keys))


def test_a_sink_by_position_moves_to_whatever_comes_first():
    model, text = awake_model("nope"), torch.arange(12)
    model.encoding = FirstBias()
    shares = study.first_token_shares(model, text[None])
    assert min(shares["first"], shares["cut"], shares["first, repeated"]) > 0.7
    assert max(shares["second"], shares["repeated"], shares["middle"]) < 0.1
    assert shares["even"] == pytest.approx(sum(1 / n for n in range(8, 13)) / 5, abs=1e-4)


@torch.no_grad()
def test_a_sink_by_token_goes_along_with_the_token():
    """Give token 0 alone a key, in the direction of every query: channel 0 marks it, channel 1 all tokens."""
    model, text = awake_model("nope"), torch.arange(12)
    model.token_embedding.weight.zero_()
    model.token_embedding.weight[:, 1] = model.token_embedding.weight[0, 0] = 1.0
    for block in model.blocks:
        for layer, channel in ((block.attention.to_q, 1), (block.attention.to_k, 0)):
            layer.weight.zero_()
            layer.weight[:, channel] = 1.0
    shares = study.first_token_shares(model, text[None])
    assert shares["first"] > 0.9
    assert shares["repeated"] == pytest.approx(shares["first, repeated"], abs=1e-4)
    assert shares["repeated"] > 0.4
    assert shares["cut"] == pytest.approx(sum(1 / n for n in range(7, 12)) / 5, abs=1e-3)  # even attention


def test_windows_of_the_corpus_are_averaged_and_both_models_are_drawn(monkeypatch):
    corpus = load_corpus("plain-tales", 9_000)
    assert (
        len(study.shares_of_windows(build("v4", ModelConfig(27, 64, 2, 4, 96)), corpus.val, 3)["layers"]) == 2
    )
    monkeypatch.setattr(
        study, "measure_real", lambda n: study.first_token_shares(awake_model(), torch.randint(20, (1, 12)))
    )
    scale = StudySize(steps=2, seeds=(1, 2), n_chars=9_000)
    results = {"command": "made", "minutes": 1.0, **study.measure_first_token(in_turn, scale, n_texts=3)}
    assert [len(row["first"]) for row in results["models"].values()] == [2, 3]
    effects = study.effects(results)
    assert [effects[model]["cut"].n for model in (study.OURS, study.REAL)] == [2, 3]
    study.draw_first_token(Figure(figsize=(15, 4)), results)
    assert study.REAL in study.table(results)
