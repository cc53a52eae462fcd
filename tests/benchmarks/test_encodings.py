"""An encoding is compared with the same body without one, on the same windows."""

import pytest

import benchmarks as bench
from babygpt.models.versions import VERSIONS
from benchmarks.encodings import MEASURED, bare, summary

TINY = {"n_layer": 1, "n_head": 2, "n_embd": 16}


def test_every_version_with_the_common_body_is_measured() -> None:
    assert set(VERSIONS) - set(MEASURED) == {"v1", "v2"}


@pytest.mark.parametrize("version", MEASURED)
def test_a_twin_reads_in_the_same_direction(version: str) -> None:
    assert VERSIONS[bare(version)].masks == VERSIONS[version].masks


def test_added_is_the_median_of_what_each_turn_adds() -> None:
    took = {
        "even": ([1.0, 2.0, 4.0], [1.1, 2.2, 4.4]),  # the machine slows down, both alike
        "dear": ([1.0, 1.0, 1.0], [1.2, 1.3, 9.0]),
        "free": ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0]),
    }
    told = summary(took)
    assert told["added"] == {"even": 0.1, "dear": 0.3, "free": 0.0}
    assert told["quartiles"]["dear"] == [0.25, 4.15]
    assert told["above"] == ["dear"]
    assert told["step_ms"] == {"even": 2200.0, "dear": 1300.0, "free": 2000.0}


def test_a_benchmark_of_encodings_tells_of_each() -> None:
    versions = ("nope", "v4", "v6", "v7")
    told = bench.encodings(versions, turns=2, batch_size=4, block_size=8, n_chars=9_000, **TINY)
    for key in ("added", "quartiles", "step_ms"):
        assert set(told[key]) == set(versions)
    assert all(ms > 0 for ms in told["step_ms"].values())
    assert all(low <= told["added"][v] <= high for v, (low, high) in told["quartiles"].items())
    assert set(told["above"]) == {v for v, share in told["added"].items() if share > told["aim"]}


@pytest.mark.parametrize("version", ["v1", "v99"])
def test_a_version_with_another_body_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=rf"version \({version}\)"):
        bench.encodings(("v4", version), turns=1)
