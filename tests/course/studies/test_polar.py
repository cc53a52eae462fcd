"""The walk through the repairs: same windows for all, every seed kept."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from babygpt.models.versions import VERSIONS
from babygpt_course.studies import polar
from babygpt_course.studies.results import load_results


@pytest.fixture(scope="module", autouse=True)
def few_windows():
    """To be measured on the validation text once is enough here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polar, "MaskedDiffusion", partial(polar.MaskedDiffusion, val_windows=1))
        yield


@pytest.fixture(scope="module")
def results(few_windows):
    return polar.measure_polar(("v7-polar", "v7-rope"), ("v7",), seeds=(1, 2), steps=40, n_chars=9_000)


def test_every_seed_of_every_version_is_kept(results):
    for key in ("val_loss", "nelbo"):
        assert {name: len(seeds) for name, seeds in results[key].items()} == {"v7-polar": 2, "v7-rope": 2}
    assert {name: len(seeds) for name, seeds in results["without alpha"].items()} == {"v7": 2}


def test_curves_are_means_of_steps_and_fall(results):
    steps, losses = zip(*results["curves"]["v7-rope"], strict=True)
    assert steps == (20, 40)
    assert losses[1] < losses[0] < np.log(60)


def test_a_walk_repeats_itself(results):
    again = polar.measure_polar(("v7-rope",), (), seeds=(1,), steps=40, n_chars=9_000)
    assert again["val_loss"]["v7-rope"] == results["val_loss"]["v7-rope"][:1]


def test_all_that_is_walked_through_exists():
    assert all(VERSIONS[version].masks for version in (*polar.REPAIRS, *polar.RIVALS))


def test_a_trajectory_shows_every_hidden_character_once_it_has_appeared():
    found = polar.measure_trajectory(steps=2, n_chars=9_000)
    when, sure = np.array(found["when"]), np.array(found["sure"])
    given = when == 0
    assert 0 < given.sum() < len(when) == len(found["text"]) == 64
    assert sorted(set(when[~given])) == list(range(1, when.max() + 1))
    assert (sure[given] == 1).all()
    assert ((sure > 0) & (sure <= 1)).all()
    kept = [(a, b) for a, b, g in zip(found["text"], found["original"], given, strict=True) if g]
    assert all(a == b for a, b in kept)


def test_the_pages_say_what_is_stored():
    found = load_results("polar")
    mean = {version: float(np.mean(seeds)) for version, seeds in found["val_loss"].items()}
    docs = Path(__file__).parents[3] / "docs"
    results = (docs / "results.md").read_text(encoding="utf-8")
    note = (docs / "notes" / "000.md").read_text(encoding="utf-8")
    worse = f"({mean['v7-random']:.2f} to {mean['v7-last']:.2f} nats"
    level = f"level with RoPE ({mean['v7']:.3f} and {mean['v7-rope']:.3f})"
    plain = f"{mean['v7']:.3f} and {np.mean(found['without alpha']['v7']):.3f}"
    sine, phase = mean["v7-keys"] - mean["v7-quadrature"], mean["v7-quadrature"] - mean["v7"]
    gains = (f"gains {sine:.2f} nats", f"{phase:.2f} more", f"by {mean['v7-rope'] - mean['v7-pope']:.2f}")
    assert all(said in results for said in (worse, level, plain, *gains))
    told = [f"{mean[version]:.2f}" for version in ("v7-polar", "v7-rope", "v7-nope", "v7")]
    assert "{} nats for each masked character, RoPE {}, no code {}.".format(*told) in note
    assert f"level with RoPE ({told[3]})" in note
