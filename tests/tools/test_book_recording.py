"""Recordings hold what the kernel would tell the page."""

import base64
import gzip
import json
from typing import Any

import numpy as np
import pytest
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt.errors import BadInput
from babygpt.live import Choice, Explorer, Line, Slider, Watch
from babygpt.live.dashboard import Dashboard
from babygpt.live.run import Run
from babygpt.plots.panel import Cells, Curve, Panel, as_plain, unpack
from tools.book.live_parts import packed
from tools.book.recording import FRAMES, record_explorer, record_run


def read(text: str) -> Any:
    """Read a recording, independently of the page."""
    head, _, numbers = gzip.decompress(base64.b64decode(text)).partition(b"\0")

    def array(part: dict[str, Any]) -> Any:
        return unpack({**part, "data": numbers[slice(*part["data"])]}) if "dtype" in part else part

    return json.loads(head, object_hook=array)


def test_an_array_that_occurs_twice_is_stored_once():
    noise = np.random.default_rng(0).random(9_000)
    once, twice = (packed(as_plain({str(i): noise for i in range(n)})) for n in (1, 2))
    assert len(twice) < 1.01 * len(once)
    found = read(twice)
    assert np.array_equal(found["0"], np.float32(noise))
    assert np.array_equal(found["1"], np.float32(noise))


def explorer(*together: str) -> Explorer:
    """Build an explorer of a panel with a curve, three controls and a text, which refuses b = 3."""

    def measure(a: int, b: int, colour: str, text: str) -> np.ndarray:
        if b == 3:
            raise BadInput("b should not be 3")
        return np.array([a, b, 0.5])

    controls = [
        Slider("a", 2, 0, 9),
        Slider("b", 1, 0, 4),
        Slider("letter", 1, 1, 3),
        Choice("colour", ("red", "blue")),
        Line("text", "hi"),
    ]
    panels = lambda found, _: [Panel(f"a is {found[0]:.0f}", [Curve("", "red", found)])]  # noqa: E731
    return Explorer("bars", measure, panels, controls, in_page=("letter",), together=together)


def test_an_explorer_is_recorded_with_its_answers_to_all_combinations():
    asked = explorer("a", "b", "text")
    asked.a = 7
    recording = record_explorer(asked)
    assert recording["module"] == "explorer"
    assert recording["words"] == "Recorded. In the notebook these move too: colour = red, text = hi."
    state = read(recording["data"])
    assert [control["name"] for control in state["controls"]] == ["a", "b", "letter"]
    assert (state["a"], state["b"], state["letter"]) == (7, 1, 1)
    assert state["together"] == ["a", "b"]
    assert len(state["answers"]) == 50
    for number, answer in enumerate(state["answers"]):
        a, b = divmod(number, 5)
        assert answer["asked"] == {"a": a, "b": b}
        if b == 3:
            assert answer["problem"] == "b should not be 3"
            assert "frames" not in answer
            continue
        (((panel,),), title) = answer["frames"], f"a is {a}"
        assert panel["title"] == title
        assert np.array_equal(panel["marks"][0]["y"], [a, b, 0.5])


def test_of_a_long_slider_few_stops_are_kept_with_both_ends_and_the_present_one():
    asked = Explorer("n", lambda n: n, lambda *_: [Panel("", [])], [Slider("n", 7, 0, 999)], together=("n",))
    state = read(record_explorer(asked)["data"])
    stops = state["controls"][0]["stops"]
    assert stops == sorted({*range(0, 1000, 5), 7, 999})
    assert [answer["asked"]["n"] for answer in state["answers"]] == stops


def recorded_run(side: int) -> dict[str, Any]:
    """Train v1 for 60 steps with a watch of as many squares with so many sides, and return its recording."""
    corpus, rng = load_corpus("plain-tales", n_chars=20_000), np.random.default_rng(0)
    torch.manual_seed(0)
    model = build("v1", ModelConfig(corpus.tokenizer.vocab_size, block_size=8, n_embd=8))

    def panel(frames: Any, title: str, total: int) -> Panel:
        return Panel(f"after {frames[-1][0]}", [Cells(frames[-1][1], 1.0)])

    watch = Watch(lambda model: rng.random((side, side)), panel, times=60)
    run = Run(model, NextToken(corpus, 8), TrainConfig(steps=60, batch_size=4), "v1", [watch])
    run.measure_untrained()
    dashboard = Dashboard(run, {}, [Slider("theta", 3, 1, 9, "θ (tokens)")])
    run.train_after([])
    recording = record_run(dashboard)
    state = read(recording["data"])
    losses = [step.loss for step in run.history]
    assert np.array_equal(state["loss0"], np.float32(losses))
    assert state["head"]["made"] == 60
    assert recording["words"].endswith("There you can move θ meanwhile.")
    return state


@pytest.mark.parametrize(("side", "n"), [(4, 61), (80, FRAMES)])
def test_a_run_is_recorded_from_the_untrained_model_to_the_last_step(side: int, n: int):
    state = recorded_run(side)
    assert state["head"]["frames"] == [n]
    frames = [state[f"frame0_{k}"] for k in range(n)]
    assert f"frame0_{n}" not in state
    assert [frames[0]["step"], frames[-1]["step"]] == [0, 60]
    assert frames[-1]["panel"]["title"] == "after 60"
    assert frames[-1]["panel"]["marks"][0]["values"].shape == (side, side)
