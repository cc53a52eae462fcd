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
from tools.book.start import start_html, write_start
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
HERE = Path(__file__).parents[1] / "book"
DRAWN_FROM = "explorer"  # name of the fingerprint in a still
SHARE = 0.6  # share of such a run after which the picture is taken
SIZE = (1400, 1100)
FRAME_TIME = 125  # milliseconds between two pictures of the film, on the page as in the film
SETTLED_TIME = 2400  # milliseconds that the end of a question stays in the film
STAGE_WIDTH, STAGE_HEIGHT = 860, 620
STAGE_STYLE = """article > section { display: block; margin: 0 } body { margin: 0; font-size: 16px }
.first-go, .first-shelf, .first-top { display: none } .first-screen { border: 0; border-radius: 0 }"""
HAS_REACHED = """([box, share]) => {
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


def film_start(browser: Browser, path: Path) -> Path:
    """Store a moving picture of the start page's two models, which read both orders of the names.

    The last frame is stored as a PNG file beside it.
    """
    frames: list[Image.Image] = []
    times: list[int] = []
    with TemporaryDirectory() as folder:
        write_start(Path(folder))
        style = view.style(HERE / "static" / "book.css", HERE / "static" / "start.css") + STAGE_STYLE
        html = f"<style>{style}</style><article><section>{start_html()}</section></article>"
        (Path(folder) / "index.html").write_text(PAGE.format(html), encoding="utf-8")
        page = browser.new_page(viewport={"width": STAGE_WIDTH, "height": STAGE_HEIGHT})
        page.clock.install(time=0)
        page.clock.pause_at(1)  # Time goes on between two pictures only, so that none is missed.
        page.goto((Path(folder) / "index.html").as_uri())
        reading = page.locator(".first-hold").inner_text()
        for exchanged in (False, True):
            if exchanged:
                page.locator(".first-swap").dispatch_event("click")
            while True:
                page.clock.run_for(FRAME_TIME)
                picture = Image.open(BytesIO(page.locator(".first-screen").screenshot()))
                frames.append(picture.convert("RGB"))
                times.append(FRAME_TIME)
                if page.locator(".first-hold").inner_text() != reading:  # "Read again"
                    break
            times[-1] = SETTLED_TIME
    # All frames share one palette, so that a frame differs from the one before only where something moved.
    palette = frames[-1].quantize(32, Image.Quantize.MAXCOVERAGE)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[-1].save(path.with_suffix(".png"), optimize=True)
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
        paths = [film_start(browser, folder / "start.gif")]
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
        page = browser.new_page(
            viewport={"width": 924, "height": 1000}, device_scale_factor=PIXELS, reduced_motion="reduce"
        )
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
