"""Pictures of the live lab as a learner sees it, taken in a real browser."""

from __future__ import annotations

from pathlib import Path

from babygpt.browser.lab import Notebook, chromium, course, sheet

SETUP = """
from babygpt import live
from babygpt.experiments.stored import stored
from babygpt.browser.lesson import filler, fresh, plain_tales, under_a_dashboard
corpus = plain_tales()
model = fresh(corpus)
"""
TRAIN = "run = under_a_dashboard(model, corpus, steps=450)"
MOST_OF_IT = """
import time
while len(run.history) < 360:
    time.sleep(0.1)
"""
HOLLOW = "'wira fed lira. ___ fed? wira. __ ____ fed ____.\\n____ ___ _______'"
# A picture, and the cell that shows what is on it.
EXPLORERS = {
    "explorer_rope": "live.rotary()",
    "explorer_sinusoid": "live.sinusoidal()",
    "explorer_alibi": "live.alibi()",
    "explorer_gaussian": "live.gaussian()",
    "explorer_branches": "live.branches()",
    "explorer_polar": "live.polar()",
    "explorer_attention": "live.attention(model, corpus.tokenizer, 'fera fed pera. who fed? fera')",
    "explorer_diffusion": f"live.diffusion(*filler(), {HOLLOW}, step=8)",
    "explorer_ladder": "live.ladder(stored('ladder'))",
}


def take(folder: Path) -> list[Path]:
    """Take a picture of every explorer and of a dashboard while v4 trains (about two minutes).

    folder   where the PNG files go
    returns  their paths
    Raises ValueError if there is no Chromium, RuntimeError with what went wrong in a cell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cells = (SETUP, TRAIN, MOST_OF_IT, "run.result();", *EXPLORERS.values())
    with chromium() as browser, course({"lab.ipynb": sheet(*cells)}) as address:
        notebook = Notebook(browser, address, "lab.ipynb", size=(1400, 1100))
        notebook.run(0, 1, 2)
        paths = [notebook.picture(".babygpt-dashboard", folder / "dashboard.png")]
        notebook.run(*range(3, len(cells)))
        for nth, name in enumerate(EXPLORERS):
            paths.append(notebook.picture(".babygpt-explorer", folder / f"{name}.png", nth))
    return paths
