"""Pictures of the live lab as a learner sees it, taken in a real browser.

python -m tools.screenshots               into figures/ (about five minutes)
python -m tools.screenshots --stills      of explorers of formulas, beside their modules
"""

from __future__ import annotations

import json
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from babygpt.cli.options import PATH, USER_ERRORS
from babygpt_course.explorers.formulas import PIXELS, STILLS, Formula
from babygpt_live import view
from tools.book.lab import lab_html, write_lab
from tools.browser.chromium import chromium
from tools.browser.notebook import DASHBOARD, EXPLORER, Notebook
from tools.browser.server import course_notebook, notebook_text, serve_notebooks
from tools.browser.site import PAGE, write_explorers

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SETUP = """
import babygpt_live as live
from babygpt.data.corpus import load_corpus
from tools.browser.course_models import N_CHARS, train_live, trained_v7, untrained_v4
corpus = load_corpus("plain-tales", N_CHARS)
model = untrained_v4(corpus)
"""
TRAIN = "run = train_live(model, corpus, steps=450)"
MASKED_TEXT = "'wira fed lira. ___ fed? wira. __ ____ fed ____.\\n____ ___ _______'"
# A picture, and the cell that shows what is on it.
EXPLORERS = {
    "explorer_attention": "explorers.attention(model, corpus.tokenizer, 'fera fed pera. who fed? fera')",
    "explorer_diffusion": f"explorers.diffusion(*trained_v7(), {MASKED_TEXT}, step=8)",
}
# A picture taken while a model trains in a notebook, and which notebook's run of which title is on it.
LIVE = {"live_kernel": ("05", "v5"), "live_similarity": ("06", "v6"), "live_gates": ("07b", "v7")}
DRAWN_FROM = "explorer"  # name of the fingerprint in a still
SHARE = 0.6  # share of such a run after which the picture is taken
SIZE = (1400, 1100)
FRAMES, FRAME_TIME = [n / 20 for n in range(21)], 400  # shares of a training; milliseconds
RACE_HAS_REACHED = """([box, share]) => {
    const { runs } = document.querySelector(box).lab;
    return runs && Math.min(...runs.map(run => run.step)) >= share * 600;
}"""
HAS_REACHED = """([all, title, share]) => {
    const boards = [...document.querySelectorAll(all)].filter(({ board }) => board);
    const busy = boards.find(({ board }) => board.run.head.state === "running");
    busy?.scrollIntoView(); // nothing is drawn while it is out of sight
    const { made, facts } = busy?.board.run ?? {};
    return made >= share * facts?.total && facts.title === title;
}"""


def film_race(browser: Browser, path: Path) -> Path:
    """Store two models in training as a moving picture, and its last frame as a PNG file beside it."""
    frames, box = [], ".lab"
    with TemporaryDirectory() as folder:
        write_lab(Path(folder))
        (Path(folder) / "index.html").write_text(
            PAGE.format(lab_html("", "none", "rope", small=True)), encoding="utf-8"
        )
        page = browser.new_page(viewport={"width": 860, "height": 700})
        page.goto((Path(folder) / "index.html").as_uri())
        page.get_by_role("button", name="Train", exact=True).click()
        page.locator(box).evaluate("it => it.style.minHeight = '900px'")  # all frames are equally large
        for share in FRAMES:  # a picture at each of these shares of the training
            page.wait_for_function(RACE_HAS_REACHED, arg=[box, share], timeout=300_000)
            picture = Image.open(BytesIO(page.locator(box).screenshot())).convert("RGB")
            frames.append(picture.quantize(16, dither=Image.Dither.NONE))
    frames[-1].save(path.with_suffix(".png"), optimize=True)
    times = [FRAME_TIME] * (len(frames) - 1) + [12 * FRAME_TIME]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)
    return path


def take_screenshots(folder: Path) -> list[Path]:
    """Take a picture of each explorer of a trained model, and of dashboards while models train.

    folder   where the PNG files go
    returns  their paths
    Raises BadInput if there is no Chromium, RuntimeError with what went wrong in a cell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trained = {name: course_notebook(number) for name, (number, _) in LIVE.items()}
    texts = {path.name: path.read_text(encoding="utf-8") for path in trained.values()}
    cells = (SETUP, TRAIN, "run.wait_for_step(360)", "run.result();", *EXPLORERS.values())
    served = {"lab.ipynb": notebook_text(*cells), **texts}
    with chromium() as browser, serve_notebooks(served) as address:
        paths = [film_race(browser, folder / "race.gif")]
        with Notebook(browser, address, "lab.ipynb", SIZE) as notebook:
            notebook.run(0, 1, 2)
            paths.append(notebook.picture(DASHBOARD, folder / "dashboard.png"))
            notebook.run(*range(3, len(cells)))
            for nth, name in enumerate(EXPLORERS):
                paths.append(notebook.picture(EXPLORER, folder / f"{name}.png", nth))
        for name, path in trained.items():
            title = LIVE[name][1]
            with Notebook(browser, address, path.name, SIZE) as notebook:
                notebook.start_all()
                try:
                    notebook.page.wait_for_function(
                        HAS_REACHED, arg=[DASHBOARD, title, SHARE], timeout=400_000
                    )
                finally:
                    notebook.require_no_errors()
                area = f"{DASHBOARD}:has(> [aria-label='training: {title}'])"
                paths.append(notebook.picture(area, folder / f"{name}.png"))
    return paths


def fingerprint(formula: Formula) -> str:
    """Return a digest of all that the still of an explorer depends on."""
    parts = view.script(formula.script), view.style(view.PAGE / "figure.css"), json.dumps(formula.state())
    return sha256("".join(parts).encode()).hexdigest()


def take_stills() -> list[Path]:
    """Take the picture that stands for each computed explorer where no kernel is; return their paths.

    Raises BadInput if there is no Chromium.
    """
    formulas, paths = [explore() for explore in STILLS], []
    with TemporaryDirectory() as folder, chromium() as browser:
        write_explorers(Path(folder), formulas)
        page = browser.new_page(viewport={"width": 924, "height": 1000}, device_scale_factor=PIXELS)
        page.goto((Path(folder) / "index.html").as_uri())
        for nth, formula in enumerate(formulas):
            panels = page.locator("[data-live] .explorer-panels").nth(nth)
            whole = Image.open(BytesIO(panels.screenshot())).convert("RGB")
            picture = whole.quantize(method=Image.Quantize.MAXCOVERAGE)
            facts = PngInfo()
            facts.add_text(DRAWN_FROM, fingerprint(formula))
            facts.add_itxt("Description", "; ".join(panels.locator(".explorer-title").all_inner_texts()))
            paths.append(formula.still_path)
            picture.save(paths[-1], optimize=True, pnginfo=facts)
    return paths


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.option("--folder", default="figures", show_default=True, type=PATH)
@click.option("--stills", is_flag=True, help="take only those of explorers of formulas")
def main(folder: Path, stills: bool) -> None:
    """Take the pictures and print their paths."""
    try:
        paths = take_stills() if stills else []
        for path in paths or take_screenshots(folder):
            click.echo(path)
    except USER_ERRORS as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
