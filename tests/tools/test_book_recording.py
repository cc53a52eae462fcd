"""Recordings of live pictures equal the pictures; measures of the changes on a page."""

import io
import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from PIL import Image

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt.errors import BadInput
from babygpt.live import Choice, Explorer, Line, Slider
from babygpt.live.dashboard import Dashboard
from babygpt.live.run import Run
from babygpt.plots import artists
from tools.book.outputs import picture_at_rest
from tools.book.recording import FEWER, Recording, most_stops, record_explorer, record_replay, thinned
from tools.browser.recording import dashboard_runs, worst


def show(left: Axes, right: Axes, found: Mapping[str, Any]) -> None:
    """Draw a bar as long as one number, and one as high as the other."""
    artists.horizontal_line(left, "a", found["a"], color="red", lw=3)
    artists.horizontal_line(right, "b", found["b"], color="blue", lw=3)
    for ax, name in ((left, "a"), (right, "b")):
        artists.set_limits(ax, (0.0, 1.0), (-1.0, 10.0))
        artists.set_title(ax, f"{name} is {found[name]}")


def explorer(*together: str) -> Explorer:
    """Build an explorer of two panels, three controls and a text, which refuses b = 3."""

    def measure(a: int, b: int, colour: str, text: str) -> dict[str, Any]:
        if b == 3:
            raise BadInput("b should not be 3")
        return {"a": a, "b": b}

    controls = [
        Slider("a", 2, 0, 9),
        Slider("b", 1, 0, 4),
        Choice("colour", ("red", "blue")),
        Line("text", "hi"),
    ]
    return Explorer("bars", measure, show, controls, widths=(1, 1), together=together)


def combinations(recording: Recording) -> dict[tuple[int, ...], dict[str, Any]]:
    """Return stops -> the picture, read independently of the script."""
    stops = itertools.product(*(range(len(control["stops"])) for control in recording.controls))
    return dict(zip(stops, (recording.pictures[n] for n in recording.numbers), strict=True))


def stored(picture: Mapping[str, Any], folder: Path) -> list[np.ndarray]:
    return [np.asarray(Image.open(io.BytesIO((folder / name).read_bytes()))) for name in picture["panels"]]


def test_each_recorded_picture_equals_the_drawing_of_the_explorer(tmp_path: Path):
    recording = record_explorer(explorer("a", "colour"), tmp_path)
    fresh = explorer()
    fresh.canvas.set_size(1540, 1.0)
    found = combinations(recording)
    assert len(found) == 20
    stops = recording.controls[0]["stops"]
    for (a, _), picture in found.items():
        fresh.draw_values({"a": int(stops[a]), "b": 1, "colour": "red", "text": "hi"})
        panels = stored(picture, tmp_path)
        assert len(panels) == 2
        assert np.array_equal(np.hstack(panels), FEWER[fresh.canvas.pixels()[..., :3]])


def test_the_named_controls_are_recorded_and_the_others_are_listed(tmp_path: Path):
    moved = explorer("a", "b", "text")
    moved.controls["a"].value = 7
    recording = record_explorer(moved, tmp_path)
    assert [control["label"] for control in recording.controls] == ["a", "b"]
    assert [control["rest"] for control in recording.controls] == [7, 1]
    assert recording.beyond == "In the notebook these move too: colour = red, text = hi."
    found = combinations(recording)
    assert picture_at_rest(asdict(recording)) == found[7, 1]
    assert found[0, 3] == {"refused": "b should not be 3"}
    assert len({found[a, 1]["panels"][0] for a in range(10)}) == 10
    assert len({found[a, 1]["panels"][1] for a in range(10)}) == 1
    assert len(list(tmp_path.iterdir())) == 10 + 4  # each panel once, and of b = 3 there is nothing
    json.dumps(asdict(recording))


def test_thinning_keeps_the_first_stops_and_even_steps_around_rest():
    assert thinned(8, 2, 5) == list(range(8))
    assert thinned(300, 6, 117) == [0, 1, 2, 17, 67, 117, 167, 217, 267, 299]
    assert most_stops([2, 4, 100]) == 25
    assert most_stops([5, 40, 50]) == 6


def test_a_replay_goes_from_the_untrained_model_to_the_last_step(tmp_path: Path):
    corpus = load_corpus("plain-tales", n_chars=20_000)
    torch.manual_seed(0)
    model = build("v1", ModelConfig(corpus.tokenizer.vocab_size, block_size=8, n_embd=8))
    run = Run(model, NextToken(corpus, 8), TrainConfig(steps=30, batch_size=4), "v1")
    run.panel = dashboard = Dashboard(run, {}, [])
    run.train_after([])
    recording = record_replay(dashboard, tmp_path)
    (control,) = recording.controls
    assert [control["stops"][0], control["stops"][-1]] == ["0", "30"]
    pictures = [recording.pictures[n] for n in recording.numbers]
    assert "untrained" in pictures[0]["alt"]
    assert "at step 30" in pictures[-1]["alt"]
    assert len({picture["panels"][0] for picture in pictures}) == len(pictures)


# ---------------------------------------------------------------- a page in the browser


def event(t: float, words: str, picture: str | None = None, alt: str = "", dashboard: int = 0) -> dict:
    return {"t": t, "dashboard": dashboard, "cell": 3, "words": words, "picture": picture, "alt": alt}


UNTRAINED, LATER = "training: v5: v5: untrained; K", "training: v5: v5: 2.31 nats at step 40; K"
EVENTS = [
    event(0, "getting ready · step 0 of 300", "a", UNTRAINED),
    event(1000, "running · step 0 of 300"),
    event(1200, "running · step 2 of 300", "b", UNTRAINED),  # still of the model before its first step
    event(1500, "running · step 9 of 300 · loss 3.1"),
    event(1800, "running · step 40 of 300 · loss 2.9", "c", LATER),
    event(1900, "running · step 44 of 300 · loss 2.9", "c", LATER),  # sent again: nothing new
    event(3000, "finished · step 300 of 300 · loss 1.9", None, LATER),
    event(3100, "finished · step 300 of 300 · loss 1.9", "d", LATER),
]


def test_a_run_is_measured_from_running_to_the_end():
    (run,) = dashboard_runs(EVENTS)
    assert (run.cell, run.title, run.steps, run.seconds) == (3, "v5", 300, 2.0)
    assert run.pictures == 3  # the last one came after the end
    assert run.first_picture_s == 0.8
    assert run.pictures_per_s == 1.0
    assert run.longest_still_s == 1.2
    assert run.longest_silence_s == 1.1


def test_dashboards_are_separated_and_the_worst_is_taken_in_each_respect():
    other = [change | {"dashboard": 1, "picture": None} for change in EVENTS]
    waits = event(10, "waiting · step 0 of 300", "w", UNTRAINED, dashboard=2)
    runs = dashboard_runs(sorted([*EVENTS, *other, waits], key=lambda change: change["t"]))
    assert [(run.pictures, run.first_picture_s) for run in runs] == [(3, 0.8), (0, 2.0)]
    found = worst(runs)  # a picture that never came took the whole run
    assert (found["first_picture_s"], found["pictures_per_s"], found["longest_still_s"]) == (2.0, 0.0, 2.0)
    with pytest.raises(ValueError, match="no dashboard"):
        worst([])
