"""What is made of the changes on a page: by hand, without a browser."""

import pytest

from tools.browser.recording import dashboard_runs, worst


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
