"""Study of DroPE with room: which model reads how many windows, and when a rival leaves room."""

import copy

import torch
from matplotlib.figure import Figure

from babygpt.encodings import Encoding, Interpolated, Rotary, YaRN
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt_course.studies import dropped_positions as study
from babygpt_course.studies import stretch

TINY = StudySize(steps=8, seeds=(1,), n_chars=9_000, n_questions=2)


def test_untuned_methods_are_stretched_to_what_they_read_and_tuned_ones_are_trained_once():
    model = stretch.trained_arm("v4", TINY, 1)
    before = copy.deepcopy(model.state_dict())
    readers = study.readers(model, TINY, 1)
    kinds = {name: type(read(8).encoding) for name, read in readers.items()}
    assert kinds["interpolation"] is Interpolated
    assert kinds["yarn"] is YaRN
    assert [kinds[name] for name in ("none", "control tuned")] == [Rotary, Rotary]
    assert [kinds[name] for name in ("drop", "drop tuned", "drop tuned longer")] == 3 * [Encoding]
    assert [readers["yarn"](n).encoding.factor for n in (4, 8)] == [4, 8]
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())
    weights = [readers[name](8).head.weight for name in ("drop", "drop tuned", "drop tuned longer")]
    assert torch.equal(weights[0], model.head.weight)
    assert not any(torch.equal(weights[i], weights[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_all_methods_are_asked_in_one_four_and_eight_windows_and_drawn():
    results = {"command": "made", "minutes": 1.0, **study.measure_dropped(in_turn, TINY)}
    runs = results["runs"]
    assert {"none", "yarn", "drop", "drop tuned", "drop tuned longer", "control tuned"} <= runs.keys()
    assert all(len(run[f"last {n}"]) == 1 for run in runs.values() for n in study.WINDOWS)
    assert [runs["none"][key] for key in ("loss", "alone 1")] == [
        runs["yarn"][key] for key in ("loss", "alone 1")
    ]
    study.draw_dropped(Figure(figsize=(14, 5)), results)
    assert "arXiv:2512.12167" in study.table(results)


def test_a_rival_at_the_ceiling_leaves_no_room():
    dropped, weak = [0.9 + 0.001 * i for i in range(12)], [0.3 + 0.002 * i for i in range(12)]
    runs = {"drop tuned": {"alone 8": dropped}, "yarn": {"alone 8": dropped}, "none": {"alone 8": weak}}
    results = {"runs": runs | {"ntk": {"alone 8": [0.8] * 12}}}
    results["runs"]["drop tuned"]["last 8"] = weak
    results["runs"]["ntk"]["last 8"] = [0.8] * 12
    assert study.verdict(results, "yarn", "alone 8") == "no room"
    assert study.verdict(results, "none", "alone 8") == "holds"
    assert study.verdict(results, "ntk", "last 8") == "fails"
