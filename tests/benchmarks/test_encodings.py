"""An encoding is compared with the same body without one, on the same windows."""

import pytest

from babygpt.models.versions import VERSIONS
from benchmarks.encodings import MEASURED, baseline_of, describe_times, measure_encodings

TINY = {"n_layer": 1, "n_head": 2, "n_embd": 16}


def test_every_version_with_the_common_body_is_measured() -> None:
    assert set(VERSIONS) - set(MEASURED) == {"v1", "v2"}


def test_a_baseline_reads_in_the_same_direction() -> None:
    for version in MEASURED:
        assert VERSIONS[baseline_of(version)].masks == VERSIONS[version].masks


def test_added_is_the_median_of_what_each_round_adds() -> None:
    seconds = {
        "even": ([1.0, 2.0, 4.0], [1.1, 2.2, 4.4]),  # the machine slows down, both alike
        "dear": ([1.0, 1.0, 1.0], [1.2, 1.3, 9.0]),
        "free": ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0]),
    }
    results = describe_times(seconds)
    assert results["added"] == {"even": 0.1, "dear": 0.3, "free": 0.0}
    assert results["quartiles"]["dear"] == [0.25, 4.15]
    assert results["above"] == ["dear"]
    assert results["step_ms"] == {"even": 2200.0, "dear": 1300.0, "free": 2000.0}


def test_each_encoding_is_measured() -> None:
    versions = ("nope", "v4", "v6", "v7")
    results = measure_encodings(versions, rounds=2, batch_size=4, block_size=8, n_chars=9_000, **TINY)
    for key in ("added", "quartiles", "step_ms"):
        assert set(results[key]) == set(versions)
    assert all(ms > 0 for ms in results["step_ms"].values())
    assert all(low <= results["added"][v] <= high for v, (low, high) in results["quartiles"].items())
    assert set(results["above"]) == {v for v, share in results["added"].items() if share > results["aim"]}


@pytest.mark.parametrize("version", ["v1", "v99"])
def test_a_version_with_another_body_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=rf"version \({version}\)"):
        measure_encodings(("v4", version), rounds=1)
