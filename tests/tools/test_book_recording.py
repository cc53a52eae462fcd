"""What is recorded of a live picture is what it shows; what is made of the changes on a page."""

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
from tools.book.recording import (
    FEWER,
    Recording,
    record_explorer,
    record_replay,
    thinned,
)
from tools.browser.recording import dashboard_runs, worst


def show(left: Axes, right: Axes, found: Mapping[str, Any]) -> None:
    """A bar as long as one number says, and one as high as the other."""
    artists.horizontal_line(left, "a", found["a"], color="red", lw=3)
    artists.horizontal_line(right, "b", found["b"], color="blue", lw=3)
    for ax, name in ((left, "a"), (right, "b")):
        artists.set_limits(ax, (0.0, 1.0), (-1.0, 10.0))
        artists.set_title(ax, f"{name} is {found[name]}")


def explorer(together: tuple[tuple[str, ...], ...] = ()) -> Explorer:
    """Two panels, three controls, a text; refuses b = 3."""

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


def combinations(recording: Recording) -> dict[tuple[int, ...], dict[tuple[int, ...], dict[str, Any]]]:
    """Controls of each group -> their stops -> the picture, read independently of the script."""
    return {
        tuple(group["controls"]): dict(
            zip(
                itertools.product(*(range(len(recording.controls[i]["stops"])) for i in group["controls"])),
                (recording.pictures[n] for n in group["pictures"]),
                strict=True,
            )
        )
        for group in recording.groups
    }


def stored(picture: Mapping[str, Any], folder: Path) -> list[np.ndarray]:
    return [np.asarray(Image.open(io.BytesIO((folder / name).read_bytes()))) for name in picture["panels"]]


def test_each_recorded_picture_is_what_the_explorer_draws_there(tmp_path: Path):
    recording = record_explorer(explorer((("a", "colour"),)), tmp_path)
    fresh = explorer()
    fresh.canvas.set_size(1540, 1.0)
    for stops, picture in combinations(recording)[0, 2].items():
        values = {"a": int(recording.controls[0]["stops"][stops[0]]), "b": 1, "colour": "red", "text": "hi"}
        fresh.draw_values(values)
        wanted = FEWER[fresh.canvas.pixels()[..., :3]]
        begin = 0
        for panel in stored(picture, tmp_path):
            columns = wanted[:, begin : begin + panel.shape[1]]
            assert any((columns[i : i + len(panel)] == panel).all() for i in range(len(columns)))
            assert (columns < 255).sum() == (panel < 255).sum()  # nothing but white is left out
            begin += panel.shape[1]
        assert begin == wanted.shape[1]


def test_controls_that_do_not_belong_together_are_drawn_while_the_others_rest(tmp_path: Path):
    moved = explorer()
    moved.controls["a"].value = 7
    recording = record_explorer(moved, tmp_path)
    groups = combinations(recording)
    assert set(groups) == {(0,), (1,), (2,)}
    rests = [groups[i,][recording.controls[i]["rest"],] for i in range(3)]
    assert rests[0] == rests[1] == rests[2] == picture_at_rest(asdict(recording))
    assert recording.controls[0]["stops"][recording.controls[0]["rest"]] == "7"
    assert recording.fixed == [("text", "hi")]
    assert len({picture["panels"][0] for picture in groups[0,].values()}) == 10
    assert len({picture["panels"][1] for picture in groups[0,].values()}) == 1
    assert thinned(300, 4, 17) == [0, 17, 199, 299]  # both ends, and where it rests
    assert groups[1,][3,] == {"refused": "b should not be 3"}
    assert len(list(tmp_path.iterdir())) == 10 + 4  # each panel once, and of b = 3 there is nothing
    json.dumps(asdict(recording))


def test_a_replay_goes_from_the_untrained_model_to_the_last_step(tmp_path: Path):
    corpus = load_corpus("plain-tales", n_chars=20_000)
    torch.manual_seed(0)
    model = build("v1", ModelConfig(corpus.tokenizer.vocab_size, block_size=8, n_embd=8))
    run = Run(model, NextToken(corpus, 8), TrainConfig(steps=30, batch_size=4), "v1")
    run.panel = dashboard = Dashboard(run, {}, [])
    run.train_after([])
    recording = record_replay(dashboard, tmp_path)
    assert recording is not None
    (control,) = recording.controls
    assert [control["stops"][0], control["stops"][-1]] == ["0", "30"]
    pictures = [recording.pictures[i] for i in recording.groups[0]["pictures"]]
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
