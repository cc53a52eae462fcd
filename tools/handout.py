"""Copy the notebooks into a folder that a class starts from, without outputs and solutions.

    python -m tools.handout class                     every notebook
    python -m tools.handout class 04a_rope            only this one, and what it links to
    python -m tools.handout src --grader nbgrader     a source folder of nbgrader: for teachers
    python -m tools.handout src --grader otter        master notebooks for otter assign: for teachers

An exercise is found by its check: a code cell that ends in `SOME_EXERCISE.check(answer)`, where the name is
imported from babygpt_course.exercises; the cell before it that gives `answer` its value is the learner's. A
plain handout keeps both as they are, and all notebooks run. For a grader the learner's cell holds the answer,
between the marks that the grader cuts at, and the check fails where the exercise is not solved. Neither
grader is needed here. Cells that call `.solution()` are left out, and so are those with the tag `solution`.
A plain handout also has a page on setting up, the wheel and the versions of all packages. Of a link that
leads to nothing in the handout only the words stay.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import nbformat
from nbformat import NotebookNode

from tools.book.documents import Site, rewrite_links
from tools.graders import GRADERS, find_tasks
from tools.notebooks import KERNEL, ROOT, pick
from tools.selftests import is_selftest, without_answers

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)[^)]*\)")
PICTURES = {".png", ".gif", ".svg"}
REVEALS = re.compile(r"^[^#\n]*\.solution\(\)", flags=re.M)


def strip_outputs(nb: NotebookNode) -> NotebookNode:
    """Take outputs, solutions and all metadata but tags out of a notebook, in place, and return it."""
    nb.metadata = NotebookNode(kernelspec=NotebookNode(KERNEL))
    nb.cells = [cell for cell in nb.cells if cell.cell_type != "code" or not REVEALS.search(cell.source)]
    nb.cells = [cell for cell in nb.cells if "solution" not in cell.metadata.get("tags", [])]
    for cell in nb.cells:
        tags = [tag for tag in cell.metadata.get("tags", []) if not tag.startswith("nbval")]
        cell.metadata = NotebookNode(tags=tags) if tags else NotebookNode()
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nb


def linked_files(page: Path, text: str) -> dict[Path, bytes]:
    """Return the files, other than notebooks, that a page links to: path below ROOT -> content.

    page  its path in the course
    """
    targets = {(page.parent / name).resolve() for name in LINK.findall(text)}
    inside = (path for path in targets if path.is_relative_to(ROOT) and path.suffix != ".ipynb")
    return {path.relative_to(ROOT): path.read_bytes() for path in inside if path.is_file()}


def texts_of(nb: NotebookNode) -> str:
    """Return all Markdown of a notebook."""
    return "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")


@cache
def set_up() -> dict[Path, bytes]:
    """Return the files from which a student installs the course: path in the handout -> content.

    Raises click.ClickException if pip cannot build the wheel.
    """
    with TemporaryDirectory() as folder:
        build = "wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index".split()
        done = subprocess.run([sys.executable, "-m", "pip", *build, "-w", folder, str(ROOT)])
        if done.returncode:
            raise click.ClickException("pip cannot build the wheel for the class; see above")
        (wheel,) = Path(folder).glob("*.whl")
        page = (ROOT / "tools" / "handout.md").read_text(encoding="utf-8").replace("WHEEL", wheel.name)
        constraints = (ROOT / "constraints.txt").read_bytes()
        return {
            Path("README.md"): page.encode(),
            Path("constraints.txt"): constraints,
            Path(wheel.name): wheel.read_bytes(),
        }


def handout(notebooks: list[Path], grader: str | None = None, answers: bool = True) -> dict[Path, bytes]:
    """Return all files of a handout: path in its folder -> content.

    notebooks  of the course
    grader     "nbgrader", "otter", or None for a class without either
    answers    whether the answers of self-tests stay
    Raises click.ClickException if an exercise has no cell in which the learner answers.
    """
    files = {} if grader else dict(set_up())
    look = Path("notebooks", "matplotlibrc")
    files[look] = (ROOT / look).read_bytes()
    lessons: dict[Path, NotebookNode] = {}
    for path in notebooks:
        nb = nbformat.read(path, as_version=4)
        try:
            tasks = find_tasks(nb) if grader else []
        except ValueError as error:
            raise click.ClickException(f"{path.name}: {error}") from None
        strip_outputs(nb)
        for cell in nb.cells:
            if not answers and cell.cell_type == "markdown" and is_selftest(cell.source):
                cell.source = without_answers(cell.source)
        files |= linked_files(path, texts_of(nb))
        if grader:
            GRADERS[grader](nb, tasks, path.stem)
        lessons[Path("notebooks", path.name)] = nb
    return files | close_links(files, lessons)


def close_links(files: dict[Path, bytes], lessons: dict[Path, NotebookNode]) -> dict[Path, bytes]:
    """Return pages and notebooks of a handout whose links all lead to its files, and the pages' pictures."""
    pages = {path: content.decode() for path, content in files.items() if path.suffix == ".md"}
    pictures: dict[Path, bytes] = {}
    for path, text in pages.items():
        targets = linked_files(ROOT / path, text).items()
        pictures |= {target: content for target, content in targets if target.suffix in PICTURES}
    site = Site(ROOT, frozenset(path.as_posix() for path in [*files, *pictures, *lessons]))
    complete = pictures | {
        path: rewrite_links(text, path.as_posix(), site).encode() for path, text in pages.items()
    }
    for path, nb in lessons.items():
        for cell in nb.cells:
            if cell.cell_type == "markdown":
                cell.source = rewrite_links(cell.source, path.as_posix(), site)
        complete[path] = (nbformat.writes(nb) + "\n").encode()
    return complete


def write(files: dict[Path, bytes], folder: Path, overwrite: bool) -> None:
    """Write files into a folder. Raises click.ClickException, and writes nothing, if one is in the way."""
    if folder.resolve() == ROOT:
        raise click.ClickException(f"{folder} is the course itself; name another folder")
    existing_paths = [path for path in files if (folder / path).exists()]
    # Notebooks hold a student's work, so the message names them first.
    existing_paths.sort(key=lambda path: (path.suffix != ".ipynb", path))
    if existing_paths and not overwrite:
        names = ", ".join(map(str, existing_paths[:3])) + (" …" if len(existing_paths) > 3 else "")
        raise click.ClickException(
            f"{folder} already holds {names}; --overwrite replaces {len(existing_paths)} files"
        )
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1)
@click.option("--grader", type=click.Choice(sorted(GRADERS)), help="solutions and marks, for this grader")
@click.option("--no-answers", is_flag=True, help="self-tests without their answers")
@click.option("--overwrite", is_flag=True, help="replace files that are there; no others are touched")
def main(folder: Path, names: tuple[str, ...], grader: str | None, no_answers: bool, overwrite: bool) -> None:
    """See the module's docstring."""
    notebooks = pick(ROOT / "notebooks", names) if names else sorted((ROOT / "notebooks").glob("[!.]*.ipynb"))
    if missing := [path.stem for path in notebooks if not path.exists()]:
        raise click.ClickException(f"run first: make notebooks NAMES={missing[0]!r}; it has only its text")
    files = handout(notebooks, grader, not no_answers)
    try:
        write(files, folder, overwrite)
    except OSError as error:
        raise click.ClickException(f"cannot write {folder}: {error}") from None
    number = sum(path.suffix == ".ipynb" for path in files)
    click.echo(f"{number} notebooks and {len(files) - number} other files in {folder}")


if __name__ == "__main__":
    main()
