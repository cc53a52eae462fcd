"""Study of plain queries and keys: scores without the norm, from the same weights as the course's model."""

import pytest
import torch

from babygpt import ModelConfig, build
from babygpt.errors import BadInput
from babygpt.experiments.sweep import SEEDS, StudySize, in_turn
from babygpt.metrics.inspection import attention_weights
from babygpt.models.transformer import Attention, Context
from babygpt.positions import Positions
from babygpt_course.studies import plain_attention as study
from babygpt_course.studies import slopes
from babygpt_course.studies.results import load_results

CONFIG = ModelConfig(20, 16, n_layer=2, n_head=2, n_embd=16)


def context_of(model, T):
    positions = Positions.arange(T)
    return Context(model.encoding.of_layer(0), positions, positions, None, True, None)


def test_plain_scores_are_dot_products_over_the_root_of_the_width():
    """Compare the weights of a layer with a softmax that is written here from its two matrices alone."""
    torch.manual_seed(0)
    model = study.with_plain_attention(build("nope", CONFIG))
    layer, x = model.blocks[0].attention, 3 * torch.randn(1, 5, 16)
    output = layer(x, context_of(model, 5))
    q, k, v = ((x @ part.weight.T).view(5, 2, 8) for part in (layer.to_q, layer.to_k, layer.to_v))
    scores = torch.einsum("mhd,nhd->hmn", q, k) / 8**0.5
    weights = scores.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -torch.inf).softmax(dim=-1)
    expected = torch.einsum("hmn,nhd->mhd", weights, v).reshape(1, 5, 16) @ layer.out.weight.T
    torch.testing.assert_close(output, expected)
    torch.nn.init.normal_(layer.out.weight)
    assert layer(x, context_of(model, 5)).abs().max() > 0.1


def test_longer_queries_make_plain_attention_sharper_and_leave_the_courses_as_it_is():
    idx = torch.randint(20, (12,))
    for version in ("v4", "v3", "alibi"):
        torch.manual_seed(1)
        normed, plain = (f(build(version, CONFIG)) for f in (lambda m: m, study.with_plain_attention))
        before = [attention_weights(model, idx)[0] for model in (normed, plain)]
        for model in (normed, plain):
            model.blocks[0].attention.to_q.weight.data *= 8
        after = [attention_weights(model, idx)[0] for model in (normed, plain)]
        torch.testing.assert_close(*map(torch.tensor, (before[0], after[0])), atol=1e-4, rtol=0)
        assert abs(before[1] - after[1]).max() > 0.01, version


def test_the_courses_model_and_its_random_numbers_stay_as_they_are():
    torch.manual_seed(3)
    course = build("v4", CONFIG)
    state = torch.random.get_rng_state()
    torch.manual_seed(3)
    plain = study.with_plain_attention(build("v4", CONFIG))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert [name for name, _ in course.named_parameters()] == [name for name, _ in plain.named_parameters()]
    assert all(torch.equal(a, b) for a, b in zip(course.parameters(), plain.parameters(), strict=True))
    assert {type(block.attention) for block in build("v4", CONFIG).blocks} == {Attention}
    with pytest.raises(BadInput, match="no attention"):
        study.with_plain_attention(build("v1", CONFIG))


def test_every_seed_is_paired_with_itself():
    """Give each model the board's losses plus a shift, and expect this shift and the difference of two."""
    board, shifts = load_results("ladder")["board"], {"v4": 0.0, "nope": -0.1, "alibi": 0.2, "v3": 0.0}
    normed = {name: {key: board[name][key] for key in ("1x", "roles", "whole")} for name in shifts}
    plain = {name: {**row, "1x": [loss + shifts[name] for loss in row["1x"]]} for name, row in normed.items()}
    results = {"command": "made", "minutes": 1.0, "seeds": list(SEEDS), "plain": plain, "normed": normed}
    assert {k: round(c.mean, 6) for k, c in study.effects_of_norm(results).items()} == shifts
    with_norm, without, change = study.gaps_to_rope(results)["nope"]
    assert round(with_norm.mean, 3) == 0.234  # as the results page says of the board
    assert round(without.mean, 3) == 0.134
    assert round(change.mean, 6) == -0.1
    assert change.side == "below"
    assert "+0.234" in study.table(results)
    settings = dict.fromkeys(("device", "threads", "instructions", "steps", "block_size"), 1)
    new = {**results, **settings, "commit": "abc", "seeds": [2001], "normed": {"v4": normed["v4"]}}
    new["plain"] = {"v4": plain["v4"]}
    joined = study.join_fresh({**results, **settings}, new)
    assert joined["fresh"]["seeds"] == [2001]
    assert "| RoPE, fresh seeds |" in study.table(joined)
    with pytest.raises(BadInput, match="not fresh"):
        study.join_fresh({**results, **settings}, {**new, "seeds": [2001, 1337]})
    with pytest.raises(BadInput, match="differ"):
        study.join_fresh({**results, **settings}, {**new, "steps": 2})


def test_models_are_trained_and_measured_as_on_the_board(monkeypatch):
    monkeypatch.setattr(study, "VERSIONS_MEASURED", ("nope",))
    scale = StudySize(steps=20, seeds=(1337,), n_chars=9_000, n_questions=4)
    results, stored = study.measure_plain(in_turn, scale), load_results("ladder")["board"]["nope"]
    plain, normed = (results[kind]["nope"] for kind in ("plain", "normed"))
    assert plain.keys() == normed.keys() < stored.keys()
    assert all(len(values) == 1 for values in plain.values())
    assert plain["1x"] != normed["1x"]


def test_norm_weight_is_how_much_larger_the_norm_makes_a_new_models_scores():
    ratios = []
    for seed in range(5):
        spreads = []
        for change in (lambda model: model, study.with_plain_attention):
            torch.manual_seed(seed)
            model = change(build("nope", ModelConfig(30, 64, n_layer=1, n_head=4, n_embd=96)))
            layer, context = model.blocks[0].attention, context_of(model, 64)
            x = torch.nn.functional.rms_norm(model.token_embedding(torch.arange(64) % 30)[None], (96,))
            q, k, _ = layer.qkv(x, context)
            spreads.append((layer.sharpness * q @ k.mT).std().item())
        ratios.append(spreads[0] / spreads[1])
    assert sum(ratios) / 5 == pytest.approx(slopes.NORM_WEIGHT, rel=0.15)
