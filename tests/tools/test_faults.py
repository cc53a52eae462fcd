"""The table of faults in docs/robustness.md is what the tests say, and says it only of tests that exist."""

from pathlib import Path

import pytest

from tools import faults as tool


def write(folder: Path, *lines: str) -> None:
    path = folder / "tests" / "deep" / "test_one.py"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["import pytest", *lines]), encoding="utf-8")


def test_the_page_says_what_the_markers_say():
    """Else run `make faults`."""
    assert tool.between(tool.PAGE.read_text(encoding="utf-8")) == tool.table(tool.faults())


def test_every_row_leads_to_a_test():
    found = tool.faults()
    assert len(found) > 20
    for fault in found:
        assert f"def {fault.test}(" in (tool.ROOT / fault.file).read_text(encoding="utf-8")


def test_a_marker_becomes_a_row(tmp_path):
    write(
        tmp_path,
        '@pytest.mark.survives("a | bar", "it is "\n    "read")',
        '@pytest.mark.parametrize("x", [1])',
        "def test_bar(x): ...",
        "def test_other(): ...",
    )
    (fault,) = tool.faults(tmp_path)
    assert fault == tool.Fault("tests/deep/test_one.py", "test_bar", "a | bar", "it is read")
    row = "| A \\| bar | It is read | [test_one.py](../tests/deep/test_one.py) |"
    assert tool.table([fault]).splitlines()[4] == row


@pytest.mark.parametrize(
    "mark",
    [
        "survives",
        "survives()",
        'survives("only what is done")',
        'survives("done", happens)',
        'survives("", "x")',
    ],
)
def test_a_marker_that_does_not_say_two_things_is_refused(tmp_path, mark):
    write(tmp_path, f"@pytest.mark.{mark}", "def test_it(): ...")
    with pytest.raises(ValueError, match=r"test_one\.py, test_it"):
        tool.faults(tmp_path)


def test_a_fault_that_two_tests_name_is_refused(tmp_path):
    lines = [f'@pytest.mark.survives("kill", "it lives")\ndef test_{i}(): ...' for i in range(2)]
    write(tmp_path, *lines)
    with pytest.raises(ValueError, match="'kill'"):
        tool.faults(tmp_path)


def test_a_page_without_its_place_is_refused():
    for page in ("", tool.BEGIN, f"{tool.BEGIN}{tool.END}{tool.END}"):
        with pytest.raises(ValueError, match="should hold"):
            tool.between(page)


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        (["passed", "passed"], "passed"),
        (["passed", "skipped"], "skipped"),
        (["failed", "passed", "skipped"], "failed"),
    ],
)
def test_a_test_has_passed_if_it_passed_with_all_its_parameters(outcomes, worst):
    seen = tool.Outcomes()
    for i, outcome in enumerate(outcomes):
        report = pytest.TestReport(f"a.py::test[{i}]", ("", 0, ""), {}, outcome, None, "call")
        seen.pytest_runtest_logreport(report)
    assert seen.worst == {("a.py", "test"): worst}
