"""The README's table of faults is what the tests say, and says it only of tests that exist."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("faults_tool", ROOT / "tools" / "faults.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def write(folder: Path, *lines: str) -> Path:
    path = folder / "tests" / "deep" / "test_one.py"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["import pytest", *lines]), encoding="utf-8")
    return folder


def test_the_readme_says_what_the_markers_say(tool):
    """Else run `make faults`."""
    assert tool.between(README.read_text(encoding="utf-8")) == tool.table(tool.faults())


def test_every_row_leads_to_a_test(tool):
    found = tool.faults()
    assert len(found) > 20
    for fault in found:
        assert f"def {fault.test}(" in (ROOT / fault.file).read_text(encoding="utf-8")


def test_a_marker_becomes_a_row(tool, tmp_path):
    write(
        tmp_path,
        '@pytest.mark.survives("a | bar", "it is "\n    "read")',
        '@pytest.mark.parametrize("x", [1])',
        "def test_bar(x): ...",
        "def test_other(): ...",
    )
    (fault,) = tool.faults(tmp_path)
    assert fault == tool.Fault("tests/deep/test_one.py", "test_bar", "a | bar", "it is read")
    row = "| A \\| bar | It is read | [test_one.py](tests/deep/test_one.py) |"
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
def test_a_marker_that_does_not_say_two_things_is_refused(tool, tmp_path, mark):
    write(tmp_path, f"@pytest.mark.{mark}", "def test_it(): ...")
    with pytest.raises(ValueError, match=r"test_one\.py, test_it"):
        tool.faults(tmp_path)


def test_a_fault_that_two_tests_name_is_refused(tool, tmp_path):
    lines = [f'@pytest.mark.survives("kill", "it lives")\ndef test_{i}(): ...' for i in range(2)]
    write(tmp_path, *lines)
    with pytest.raises(ValueError, match="'kill'"):
        tool.faults(tmp_path)


def test_a_readme_without_its_place_is_refused(tool):
    for readme in ("", tool.BEGIN, f"{tool.BEGIN}{tool.END}{tool.END}"):
        with pytest.raises(ValueError, match="should hold"):
            tool.between(readme)


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        (["passed", "passed"], "passed"),
        (["passed", "skipped"], "skipped"),
        (["failed", "passed", "skipped"], "failed"),
    ],
)
def test_a_test_has_passed_if_it_passed_with_all_its_parameters(tool, outcomes, worst):
    seen = tool.Outcomes()
    for i, outcome in enumerate(outcomes):
        report = pytest.TestReport(f"a.py::test[{i}]", ("", 0, ""), {}, outcome, None, "call")
        seen.pytest_runtest_logreport(report)
    assert seen.worst == {("a.py", "test"): worst}
