"""tools/openings.py counts what a kernel leaves lying, and nothing else."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
# A kernel that leaves its first request to look something up lying: the first opening's.
FORGETFUL = """
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

class Forgetful(IPythonKernel):
    asked = 0

    async def inspect_request(self, stream, ident, parent):
        self.asked += 1
        if self.asked > 1:
            await super().inspect_request(stream, ident, parent)

IPKernelApp.launch_instance(kernel_class=Forgetful)
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("openings_tool", ROOT / "tools" / "openings.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_request_left_lying_in_two_openings_is_counted(tool, tmp_path: Path):
    (tmp_path / "forgetful.py").write_text(FORGETFUL, encoding="utf-8")
    launch = [sys.executable, str(tmp_path / "forgetful.py"), "-f", "{connection_file}"]
    said: list[str] = []
    total = tool.count(launch, 2, patience=2.0, say=said.append)
    assert (total["openings"], total["hung"], total["lost"]) == (2, 1, 1)
    assert total["requests"] % 2 == 0  # the same in each
    assert said == ["1 openings, 1 requests lost, now inspect_request"]
