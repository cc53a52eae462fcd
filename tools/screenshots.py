"""Pictures of the live lab as a learner sees it, taken in a real browser.

python -m tools.screenshots               into figures/ (about five minutes)
python -m tools.screenshots --folder F
"""

from pathlib import Path

import click

from babygpt.cli.options import PATH, USER_ERRORS
from tools.browser.chromium import chromium
from tools.browser.notebook import DASHBOARD, EXPLORER, Notebook
from tools.browser.server import course_notebook, notebook_text, serve_notebooks

SETUP = """
from babygpt import live
from babygpt.data.corpus import load_corpus
from babygpt_course.studies.ladder_explorer import explore_ladder
from babygpt_course.studies.results import load_results
from tools.browser.course_models import N_CHARS, train_live, trained_v7, untrained_v4
corpus = load_corpus("plain-tales", N_CHARS)
model = untrained_v4(corpus)
"""
TRAIN = "run = train_live(model, corpus, steps=450)"
TRAIN_FOR_A_WHILE = "run.wait_for_step(360)"
MASKED_TEXT = "'wira fed lira. ___ fed? wira. __ ____ fed ____.\\n____ ___ _______'"
# A picture, and the cell that shows what is on it.
EXPLORERS = {
    "explorer_rope": "live.rotary()",
    "explorer_sinusoid": "live.sinusoidal()",
    "explorer_alibi": "live.alibi()",
    "explorer_gaussian": "live.gaussian()",
    "explorer_branches": "live.branches()",
    "explorer_polar": "live.polar()",
    "explorer_attention": "live.attention(model, corpus.tokenizer, 'fera fed pera. who fed? fera')",
    "explorer_diffusion": f"live.diffusion(*trained_v7(), {MASKED_TEXT}, step=8)",
    "explorer_ladder": "explore_ladder(load_results('ladder'))",
}
# A picture taken while a model trains in a notebook, and which notebook's run of which title is on it.
LIVE = {
    "live_kernel": ("05", "v5"),
    "live_similarity": ("06", "v6"),
    "live_gates": ("07b", "v7"),
}
SHARE = 0.6  # of such a run, when the picture is taken
SIZE = (1400, 1100)
HAS_REACHED = """([area, share]) => {
    const made = /step ([\\d,]+) of ([\\d,]+)/.exec(document.querySelector(area)?.textContent);
    const [step, total] = (made ?? []).slice(1).map(number => Number(number.replaceAll(",", "")));
    return step >= share * total;
}"""


def take_screenshots(folder: Path) -> list[Path]:
    """Take a picture of every explorer and of dashboards while models train (about five minutes).

    folder   where the PNG files go
    returns  their paths
    Raises BadInput if there is no Chromium, RuntimeError with what went wrong in a cell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trained = {name: course_notebook(number) for name, (number, _) in LIVE.items()}
    texts = {path.name: path.read_text(encoding="utf-8") for path in trained.values()}
    cells = (SETUP, TRAIN, TRAIN_FOR_A_WHILE, "run.result();", *EXPLORERS.values())
    served = {"lab.ipynb": notebook_text(*cells), **texts}
    with chromium() as browser, serve_notebooks(served) as address:
        with Notebook(browser, address, "lab.ipynb", SIZE) as notebook:
            notebook.run(0, 1, 2)
            paths = [notebook.picture(DASHBOARD, folder / "dashboard.png")]
            notebook.run(*range(3, len(cells)))
            for nth, name in enumerate(EXPLORERS):
                paths.append(notebook.picture(EXPLORER, folder / f"{name}.png", nth))
        for name, path in trained.items():
            area = f"{DASHBOARD}:has(img[alt^='training: {LIVE[name][1]}:'])"
            with Notebook(browser, address, path.name, SIZE) as notebook:
                notebook.start_all()
                try:
                    notebook.page.wait_for_function(HAS_REACHED, arg=[area, SHARE], timeout=300_000)
                finally:
                    notebook.require_no_errors()
                paths.append(notebook.picture(area, folder / f"{name}.png"))
    return paths


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.option("--folder", default="figures", show_default=True, type=PATH)
def main(folder: Path) -> None:
    """Take all the pictures and print their paths."""
    try:
        for path in take_screenshots(folder):
            click.echo(path)
    except USER_ERRORS as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
