"""tools/openings.py counts what a kernel does not answer, and nothing else."""

import sys
from pathlib import Path

from tools.openings import count_lost_requests

# A kernel that does not answer its first request to look something up: the first opening's.
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


def test_one_lost_request_in_two_openings_is_counted(tmp_path: Path):
    (tmp_path / "forgetful.py").write_text(FORGETFUL, encoding="utf-8")
    launch = [sys.executable, str(tmp_path / "forgetful.py"), "-f", "{connection_file}"]
    lines: list[str] = []
    total = count_lost_requests(launch, 2, patience=2.0, report=lines.append)
    assert (total["openings"], total["hung"], total["lost"]) == (2, 1, 1)
    assert total["requests"] % 2 == 0  # the same in each
    assert lines == ["1 openings, 1 requests lost, now inspect_request"]
