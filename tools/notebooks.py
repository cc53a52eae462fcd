"""Bring each notebook in step with its text, run it in a fresh kernel, store its outputs.

    python tools/notebooks.py                 every notebook
    python tools/notebooks.py 04a_rope        only this one
    python tools/notebooks.py --sync-only     no running

A notebook is stored only when all its cells ran. Stored is what stays the same from run to run:
no times, no widgets (a picture stands where one was), no stderr (progress bars), no metadata but the
kernel's name and tags. Pictures are stored with 256 colours, at a third of their size. Stills are stored as
PNG, which needs a Chromium: JupyterLab draws no SVG of a notebook that is not trusted. The output of a cell
tagged `answer` is stored folded: JupyterLab shows it when the cell is run, or when it is clicked.
"""

import os
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import nbformat
import numpy as np
from jupytext.cli import jupytext
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image

from babygpt.errors import BadInput

ROOT = Path(__file__).resolve().parent.parent
PAIRS = "notebooks///ipynb,notebooks/src///py:percent"  # folders and formats, as jupytext takes them
WIDGET = "application/vnd.jupyter.widget-view+json"
SVG, PNG = "image/svg+xml", "image/png"
PNG_IN_HTML = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=]+")  # the still copy of a live picture
ANSWER = "answer"  # the tag of a cell whose output answers a prediction
FOLDED = {"outputs_hidden": True}  # what JupyterLab reads in a cell's metadata.jupyter
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def pick(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Return the notebooks called `names` (with or without .ipynb), or all that have either half."""
    stems = {path.stem for path in (*folder.glob("[!.]*.ipynb"), *folder.glob("src/[!.]*.py"))}
    requested = {Path(name).stem for name in names} or stems
    if unknown := sorted(requested - stems):
        raise click.UsageError(f"no notebook {', '.join(unknown)}; there are {sorted(stems)}")
    return [folder / f"{name}.ipynb" for name in sorted(requested)]


def save_times(notebook: Path) -> dict[Path, int]:
    """Return when the halves of a pair were last saved, for those that exist."""
    halves = (notebook, notebook.parent / "src" / f"{notebook.stem}.py")
    return {half: half.stat().st_mtime_ns for half in halves if half.exists()}


def sync(notebook: Path) -> None:
    """Copy the newer of a notebook and its text onto the other (it may not exist yet)."""
    times = save_times(notebook)
    newer = max(times, key=times.__getitem__)
    if jupytext(["--sync", "--quiet", "--set-formats", PAIRS, str(newer)]):
        raise click.ClickException(f"jupytext could not bring {notebook.name} in step")
    store(nbformat.read(notebook, as_version=4), notebook)


def run_cells(nb: NotebookNode, folder: Path, env: Mapping[str, str] = {}, **options: Any) -> None:
    """Run all cells of a notebook, in place, in a fresh kernel, and leave out stderr (progress bars).

    folder   in which the kernel runs
    env      added to its environment
    options  of NotebookClient
    Raises CellExecutionError if a cell fails, unless `allow_errors` is among the options.
    """
    arguments = ["--log-level=ERROR", "--IPKernelApp.extra_extensions=tools.book.figure_titles"]
    usual: dict[str, Any] = {"kernel_name": KERNEL["name"], "extra_arguments": arguments}
    usual |= {"record_timing": False, "store_widget_state": False, "timeout": None} | options
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    client = NotebookClient(nb, resources={"metadata": {"path": str(folder)}}, **usual)
    client.execute(env=os.environ | env | {"PYTHONPATH": path})
    for cell in (cell for cell in nb.cells if cell.cell_type == "code"):
        cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    CoalesceStreamsPreprocessor().preprocess(nb, {})  # nbclient's own merging loses count of pictures


def run(notebook: Path) -> float:
    """Run `notebook` from its own folder, store it tidied, return the seconds it took."""
    before, started = save_times(notebook), time.perf_counter()
    nb = nbformat.read(notebook, as_version=4)
    run_cells(nb, notebook.parent)
    seconds = time.perf_counter() - started
    if save_times(notebook) != before:
        raise click.ClickException(f"{notebook.name} was edited while it ran: run it again")
    store(nb, notebook)
    return seconds


def store(nb: NotebookNode, path: Path) -> None:
    """Write `nb` without all that changes from run to run or from machine to machine.

    Raises BadInput if a still is to be drawn and there is no Chromium.
    """
    draw_stills([output for cell in nb.cells for output in cell.get("outputs", [])])
    nb.metadata = NotebookNode(kernelspec=NotebookNode(KERNEL))
    for cell in nb.cells:
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k == "tags"})
        if cell.cell_type == "code":
            for output in cell.outputs:
                tidy(output.get("data", {}))
                if output.output_type == "stream":
                    output.text = without_places(output.text)
            if ANSWER in cell.metadata.get("tags", []):
                fold(cell)
    text = nbformat.writes(nb) + "\n"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")


def without_places(text: str) -> str:
    """Return what a cell printed as if the course lay in ~/babygpt."""
    return text.replace(f"{ROOT}/", "~/babygpt/").replace(f"{Path.home()}/", "~/")


def fold(cell: NotebookNode) -> None:
    """Have JupyterLab show three dots for a cell's outputs, in place, until it is run or clicked.

    Beside the dots stands the first line of the first output, so that is an empty one.
    """
    cell.metadata["jupyter"] = NotebookNode(FOLDED)
    if cell.outputs and cell.outputs[0].get("data") != {}:
        cell.outputs.insert(0, new_output("display_data"))


def draw_stills(outputs: Sequence[NotebookNode]) -> None:
    """Replace the SVG pictures of outputs by PNG, with their descriptions, in place.

    A page that does not trust a notebook draws PNG only: JupyterLab before the first run, VS Code in a folder
    that is not trusted, and sites that show a repository's files.
    """
    stills = [output for output in outputs if SVG in output.get("data", {})]
    if not stills:
        return
    from tools.browser.chromium import chromium
    from tools.browser.raster import rasterise

    with chromium() as browser:
        files = rasterise(browser, [output.data.pop(SVG) for output in stills])
    for output, png in zip(stills, files, strict=True):
        output.data[PNG] = b64encode(png).decode()
        output.metadata[PNG] = output.metadata.pop(SVG, {})


def tidy(bundle: dict[str, str]) -> None:
    """Take the widget out of an output's data, and colours out of its pictures, in place."""
    bundle.pop(WIDGET, None)  # JupyterLab would look for it, not at the picture
    if PNG in bundle:
        bundle[PNG] = quantise(bundle[PNG])
    if "text/html" in bundle:
        bundle["text/html"] = PNG_IN_HTML.sub(lambda png: quantise(png[0]), bundle["text/html"])


def quantise(png: str) -> str:
    """Return a picture with at most 256 colours; the same where it has a palette, or would not be smaller.

    A colour counts for the palette as the square root of its pixels: by their number alone the large areas
    would take it all, and the ramp of a colour bar would fall into bands.

    png  base64
    """
    image = Image.open(BytesIO(b64decode(png)))
    rgba = np.asarray(image.convert("RGBA"))
    if image.mode == "P" or rgba[..., 3].min() < 255:
        return png
    packed, index, pixels = np.unique(rgba.view(np.uint32).ravel(), return_inverse=True, return_counts=True)
    colours = packed.view(np.uint8).reshape(-1, 4)[:, :3]
    sample = np.repeat(colours, np.ceil(np.sqrt(pixels)).astype(int), axis=0)
    method, dither = Image.Quantize.MEDIANCUT, Image.Dither.NONE
    few = Image.fromarray(sample[None]).quantize(256, method, kmeans=1, dither=dither)
    palette = np.array(few.getpalette()).reshape(-1, 3)
    distance = np.square(colours[:, None].astype(int) - palette).sum(-1)  # (colours, palette)
    small = Image.frombytes("P", image.size, distance.argmin(1)[index].astype(np.uint8).tobytes())
    small.putpalette(palette.astype(np.uint8).tobytes())
    file = BytesIO()
    small.save(file, "PNG", optimize=True)
    text = b64encode(file.getvalue()).decode()
    return text if len(text) < len(png) else png


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.argument("names", nargs=-1)
@click.option("--sync-only", is_flag=True, help="bring the pairs in step, run nothing")
@click.option("--folder", type=Path, default=ROOT / "notebooks", show_default=True)
def main(names: tuple[str, ...], sync_only: bool, folder: Path) -> None:
    """See the module's docstring."""
    for notebook in pick(folder, names):
        try:
            sync(notebook)
            if sync_only:
                continue
            seconds = run(notebook)
            sync(notebook)
        except (CellExecutionError, BadInput) as error:
            raise click.ClickException(f"{notebook.name}: its outputs stay as they were.\n{error}") from None
        click.echo(f"{notebook.name:<32} {seconds:6.1f} s")


if __name__ == "__main__":
    main()
