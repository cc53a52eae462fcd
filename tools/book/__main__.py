"""Make the book: the course as web pages that need no kernel, in book/_build/html.

python -m tools.book               run all lessons
python -m tools.book 04a_rope      only this one; the others as they are stored, without sliders
"""

import re
import shutil
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path

import click
import joblib
import nbformat
from nbclient.exceptions import CellExecutionError
from PIL import Image

from babygpt_course import explorers
from babygpt_course.claims import CLAIMS
from babygpt_course.explorers.formulas import FORMULAS
from babygpt_course.studies.results import load_results
from tools.book.board_page import board_page
from tools.book.claims_page import claims_page
from tools.book.documents import (
    Site,
    code_host,
    copy_documents,
    copy_linked_files,
    rewrite_links,
    site,
    write_old_addresses,
)
from tools.book.lab import LESSONS, lab_html, write_lab
from tools.book.lessons import Ran, fingerprint, read_stored, run_all
from tools.book.live_parts import formula_html, write_scripts
from tools.book.opening import ON_A_PAGE, open_page
from tools.book.outputs import NotebookPage, picture_html
from tools.book.reference import write_reference
from tools.book.start import start_html, write_start
from tools.notebooks import ROOT, pick, quantise

BOOK = ROOT / "book"
BUILD = BOOK / "_build"
PICTURES = "pictures"  # the folder of the site that holds them
EXPLORER, LAB, FIRST = "<!-- explorer: rotary -->", "<!-- lab -->", "<!-- first screen -->"
ADDRESS = re.compile(r"_(?:images|downloads/\w+)/[^\"'<>#?\s]+")  # of a document's picture, in a page
MADE = "made.txt"  # written last: the fingerprint of what the book was made of, and its lessons
SOURCES = (
    *("babygpt", "babygpt_live", "babygpt_course", "notebooks", "docs", "figures", "book", "tools/book"),
    *("tools/notebooks.py", "constraints.txt", "README.md", "CONTRIBUTING.md"),
)


def build(names: list[str], folder: Path) -> Path:
    """Make the book, and return the folder with its pages.

    names   of the notebooks that are run, without .ipynb; the others are shown as they are stored
    folder  where everything goes; what an earlier build left there is used where it still holds
    Raises CellExecutionError if a notebook fails, CalledProcessError if Sphinx finds a page wanting.
    """
    lessons = [path.stem for path in pick(ROOT / "notebooks", ())]
    source, html = folder / "source", folder / "html"
    (folder / MADE).unlink(missing_ok=True)
    mark = fingerprint(SOURCES)
    runs = run_all(names, folder / "executed", joblib.cpu_count())
    runs += [read_stored(name) for name in lessons if name not in names]
    for stale_folder in (source, html, folder / "doctrees"):
        shutil.rmtree(stale_folder, ignore_errors=True)
    assemble(runs, source, html / PICTURES)
    write_scripts((explore().script for explore in FORMULAS), html)
    write_lab(html)
    write_start(html)
    (html / "notebooks").mkdir()
    for lesson in lessons:  # JupyterLab reruns a lesson, and pictures would be most of its bytes.
        notebook = read_stored(lesson).notebook
        for cell in notebook.cells:
            cell.update({"outputs": [], "execution_count": None} if cell.cell_type == "code" else {})
        nbformat.write(notebook, html / "notebooks" / f"{lesson}.ipynb")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-j", "auto"]
    command += ["-c", str(BOOK), "-d", str(folder / "doctrees"), str(source), str(html)]
    subprocess.run(command, check=True)
    write_webp(html)
    remove_copies(html)
    write_old_addresses(html, site())
    (folder / MADE).write_text(f"{mark} {' '.join(names)}\n", encoding="utf-8")
    return html


def remove_copies(html: Path) -> None:
    """Remove maps of scripts and styles, and second copies of pictures that pages show and link to."""
    for path in html.rglob("*.map"):
        path.unlink()
    originals = {
        path.read_bytes(): path.relative_to(html).as_posix()
        for folder in ("_images", PICTURES)
        for path in (html / folder).glob("*")
    }
    copies = [path for path in html.glob("_downloads/*/*") if path.read_bytes() in originals]
    addresses = {path.relative_to(html).as_posix(): originals[path.read_bytes()] for path in copies}
    replace_addresses(html, addresses)
    for path in copies:
        path.unlink()


def write_webp(html: Path) -> None:
    """Write the pictures of documents as lossless WebP, a quarter less than PNG, and lead pages to them."""
    addresses = {}
    for path in (*html.glob("_images/*.png"), *html.glob("_downloads/*/*.png")):
        with Image.open(path) as image:
            image.save(path.with_suffix(".webp"), lossless=True, method=6)
        path.unlink()
        addresses[path.relative_to(html).as_posix()] = path.relative_to(html).with_suffix(".webp").as_posix()
    replace_addresses(html, addresses)


def replace_addresses(html: Path, addresses: Mapping[str, str]) -> None:
    """Write new addresses of pictures into all pages: address from the folder `html` -> new one."""
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        changed = ADDRESS.sub(lambda match: addresses.get(match[0], match[0]), text)
        if changed != text:
            page.write_text(changed, encoding="utf-8")


def is_current(folder: Path) -> bool:
    """Return whether the whole book lies in a folder, and nothing that it is made of has changed since."""
    lessons = " ".join(path.stem for path in pick(ROOT / "notebooks", ()))
    mark = folder / MADE
    return mark.exists() and mark.read_text(encoding="utf-8") == f"{fingerprint(SOURCES)} {lessons}\n"


def assemble(runs: list[Ran], source: Path, pictures: Path) -> None:
    """Write what Sphinx reads."""
    book = site(host=code_host())
    source.mkdir(parents=True, exist_ok=True)
    copy_documents(source, book)
    write_reference(source, book.host)
    (source / "board.md").write_text(board_page(load_results("ladder")), encoding="utf-8")
    measured = [(claim, claim.measure()) for claim in CLAIMS]  # half a minute
    (source / "claims.md").write_text(claims_page(measured), encoding="utf-8")
    for name in ("search.md", "404.md"):
        shutil.copyfile(BOOK / name, source / name)
    for picture in (source / "figures").glob("*.png"):  # 256 colours take a third of the bytes
        picture.write_bytes(b64decode(quantise(b64encode(picture.read_bytes()).decode())))
    for lesson in runs:
        write_lesson(lesson, source, pictures, book)
    (source / "index.md").write_text(start_page(pictures), encoding="utf-8")
    lab = (BOOK / "lab.md").read_text(encoding="utf-8")
    (source / "lab.md").write_text(lab.replace(LAB, lab_html()), encoding="utf-8")


def start_page(pictures: Path) -> str:
    """Return the start page as Sphinx reads it; its pictures go into the folder `pictures`."""
    rotary = explorers.rotary()
    picture, still = rotary.output.picture(), ""
    if picture:
        still = picture_html(picture.data, picture.alt, pictures, f"{PICTURES}/")
    text = (BOOK / "index.md").read_text(encoding="utf-8")
    return text.replace(FIRST, start_html()).replace(EXPLORER, formula_html(rotary.state(), "", still))


def write_lesson(lesson: Ran, source: Path, pictures: Path, book: Site) -> None:
    """Write a lesson as its page shows it."""
    place = f"notebooks/{lesson.name}.ipynb"
    notebook = NotebookPage(lesson.name, lesson.facts, pictures, f"../{PICTURES}/").convert(lesson.notebook)
    replays = lesson.facts["recorded"] or lesson.facts["formulas"]
    note = ON_A_PAGE.format(name=lesson.name, more=LESSONS.get(lesson.name, "")) if replays else ""
    notebook.cells = open_page(notebook.cells, note)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = rewrite_links(cell.source, place, book)
            copy_linked_files(cell.source, place, source, book)
    path = source / place
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def megabytes(folder: Path) -> float:
    """Return how much lies in a folder, in millions of bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--folder", type=Path, default=BUILD, help="where it is made  [default: book/_build]")
def main(names: tuple[str, ...], folder: Path) -> None:
    """See the module's docstring."""
    start = time.perf_counter()
    lessons = [path.stem for path in pick(ROOT / "notebooks", names)]
    try:
        html = build(lessons, folder.resolve())
    except CellExecutionError as error:
        raise click.ClickException(f"a notebook failed.\n{error}") from None
    except subprocess.CalledProcessError as error:
        raise click.ClickException("the pages are not as they should be: see above") from error
    minutes, size = (time.perf_counter() - start) / 60, megabytes(html)
    click.echo(f"{html / 'index.html'}: {size:.1f} MB, made in {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
