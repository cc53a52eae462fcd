"""The lab starts without what only still figures need."""

import subprocess
import sys


def test_the_lab_imports_no_matplotlib_before_a_figure_is_drawn() -> None:
    script = "import sys, babygpt_live; babygpt_live.train, babygpt_live.Explorer"
    script += "; print(sorted({'anywidget', 'matplotlib', 'torch'} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "['anywidget', 'torch']\n"
