"""Study of practice since 2024: where each arm rotates, and how it is compared."""

from dataclasses import replace

import torch
from matplotlib.figure import Figure

from babygpt import load_corpus
from babygpt.encodings import Encoding, Rotary, ShiftedRotary
from babygpt.experiments.sweep import StudySize, in_turn, small_config
from babygpt_course.studies import practice as study

TINY = StudySize(steps=2, seeds=(1,), n_chars=9_000, n_questions=4)


def test_arms_differ_in_where_they_rotate_and_in_nothing_else():
    config = replace(small_config(load_corpus("plain-tales", 9_000), 64), n_layer=study.LAYERS)
    models = {}
    for name, build_arm in study.ARMS.items():
        torch.manual_seed(0)
        models[name] = build_arm(config)
    layers = {name: [model.encoding.of_layer(i) for i in range(4)] for name, model in models.items()}
    assert [type(layer) for layer in layers["NoPE in every fourth"]] == [Rotary, Rotary, Rotary, Encoding]
    turning = {name: (each[0].frequencies() > 0).sum().item() for name, each in layers.items()}
    assert turning == {
        study.BASE: 12,
        "NoPE in every fourth": 12,
        "a quarter of the pairs": 3,
        "token shift": 12,
    }
    assert [type(layer) for layer in layers["token shift"]] == 4 * [ShiftedRotary]
    base = dict(models[study.BASE].named_parameters())
    for model in models.values():
        weights = {n: p for n, p in model.named_parameters() if not n.startswith("encoding.")}
        assert weights.keys() == base.keys()
        assert all(torch.equal(p, base[n]) for n, p in weights.items())


def test_arms_are_measured_compared_and_drawn(monkeypatch):
    monkeypatch.setattr(study, "ARMS", {name: study.ARMS[name] for name in (study.BASE, "token shift")})
    results = {"command": "made", "minutes": 1.0, **study.measure_practice(in_turn, TINY)}
    assert results["arms"].keys() == study.ARMS.keys()
    assert all(len(arm[key]) == 1 for arm in results["arms"].values() for key in (*study.NUMBERS, "first"))
    assert study.against_rope(results).keys() == {"token shift"}
    study.draw_practice(Figure(figsize=(17, 5)), results)
    assert study.table(results).count("undecided") >= 4  # one seed decides nothing


def test_gaps_are_an_arm_minus_rope_seed_by_seed():
    row = {"1x": [0.5] * 12, "past": [0.1] * 12, "roles": [0.9] * 12, "whole": [0.2] * 12}
    shifted = {
        **row,
        "1x": [0.4 + 0.001 * i for i in range(12)],
        "whole": [0.9 - 0.001 * i for i in range(12)],
    }
    results = {"arms": {study.BASE: row, "token shift": shifted, "the same": row}}
    gaps = study.against_rope(results)["token shift"]
    assert study.finding(results, "1x") == "below RoPE: token shift"
    assert study.finding(results, "whole") == "above RoPE: token shift"
    assert study.finding(results, "past") == "nothing is decided"
    assert {key: gap.side for key, gap in gaps.items()} == {
        "1x": "below",
        "past": "undecided",
        "roles": "undecided",
        "whole": "above",
    }
