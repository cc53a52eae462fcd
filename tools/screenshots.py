"""Pictures of the live lab as a learner sees it, taken in a real browser.

python -m tools.screenshots               into figures/ (about five minutes)
python -m tools.screenshots --folder F
"""

from __future__ import annotations

from pathlib import Path

import click

from tools.browser.lab import DASHBOARD, EXPLORER, Notebook, chromium, course, lesson, opened, sheet

SETUP = """
from babygpt import live
from babygpt.experiments.results import load_results
from tools.browser.lesson import filler, fresh, plain_tales, under_a_dashboard
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
    "explorer_ladder": "live.ladder(load_results('ladder'))",
}


# A picture taken while a model trains in a notebook, and which notebook's run of which title is on it.
LIVE = {
    "live_kernel": ("05", "v5"),
    "live_similarity": ("06", "v6"),
    "live_gates": ("07", "v7"),
}
SHARE = 0.6  # of such a run, when the picture is taken
SIZE = (1400, 1100)
REACHED = """([area, share]) => {
    const made = /step ([\\d,]+) of ([\\d,]+)/.exec(document.querySelector(area)?.textContent);
    const [step, total] = (made ?? []).slice(1).map(number => Number(number.replaceAll(",", "")));
    return step >= share * total;
}"""


def take(folder: Path) -> list[Path]:
    """Take a picture of every explorer and of dashboards while models train (about five minutes).

    folder   where the PNG files go
    returns  their paths
    Raises ValueError if there is no Chromium, RuntimeError with what went wrong in a cell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lessons = {name: lesson(number) for name, (number, _) in LIVE.items()}
    texts = {path.name: path.read_text(encoding="utf-8") for path in lessons.values()}
    cells = (SETUP, TRAIN, MOST_OF_IT, "run.result();", *EXPLORERS.values())
    with chromium() as browser, course({"lab.ipynb": sheet(*cells), **texts}) as address:
        with opened(browser, address, "lab.ipynb", SIZE) as notebook:
            notebook.run(0, 1, 2)
            paths = [notebook.picture(DASHBOARD, folder / "dashboard.png")]
            notebook.run(*range(3, len(cells)))
            for nth, name in enumerate(EXPLORERS):
                paths.append(notebook.picture(EXPLORER, folder / f"{name}.png", nth))
        for name, path in lessons.items():
            with opened(browser, address, path.name, SIZE) as notebook:
                paths.append(while_it_trains(notebook, LIVE[name][1], folder / f"{name}.png"))
    return paths


def while_it_trains(notebook: Notebook, title: str, path: Path) -> Path:
    """Run a notebook, and store the picture of one of its dashboards before the run has ended.

    title  of the run
    path   of the PNG file
    Raises RuntimeError with what went wrong in a cell.
    """
    area = f"{DASHBOARD}:has(img[alt^='training: {title}:'])"
    notebook.start_all()
    try:
        notebook.page.wait_for_function(REACHED, arg=[area, SHARE], timeout=300_000)
    finally:
        if errors := notebook.errors():
            raise RuntimeError("; ".join(errors))
    return notebook.picture(area, path)


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.option("--folder", default="figures", show_default=True, type=click.Path(path_type=Path))
def main(folder: Path) -> None:
    """See the module's docstring."""
    for path in take(folder):
        click.echo(path)


if __name__ == "__main__":
    main()
