"""Run the lessons with other seeds, instruction sets and numbers of threads, and report what changes.

    python -m tools.anywhere                            every lesson in every setting: about two hours
    python -m tools.anywhere 04_rope                    only this one
    python -m tools.anywhere 04_rope -s seeds+1000      only in this setting

The report lists every cell that raises, and every guess whose outcome differs from the stored one. The
notebooks' files are only read. Cells are counted from 0, text cells too. Exits with 1 if a cell raises.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import click
import nbformat
from nbformat import NotebookNode

from tools.notebooks import ROOT, pick, run_cells

CAME_OUT = re.compile(r"It came out: (.*?)\. (?:No guess was made|Your guess is kept)", re.DOTALL)


class Setting(NamedTuple):
    """Shift of all seeds, and variables that are added to the kernel's environment."""

    shift: int = 0
    env: dict[str, str] = {}  # noqa: RUF012


SETTINGS = {
    "seeds+1000": Setting(1000),
    "seeds+2000": Setting(2000),
    "seeds+3000": Setting(3000),
    "no-avx": Setting(env={"ATEN_CPU_CAPABILITY": "default"}),
    "avx2": Setting(env={"ATEN_CPU_CAPABILITY": "avx2"}),
    "1-thread": Setting(env={"OMP_NUM_THREADS": "1"}),
    "2-threads": Setting(env={"OMP_NUM_THREADS": "2"}),
}


def shift_seeds(by: int) -> None:
    """Add `by` to every seed that PyTorch is given; corpora and questions do not use PyTorch's seeds."""
    import torch

    seed_all = torch.manual_seed

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + by)

    torch.manual_seed = lambda seed: seed_all(int(seed) + by)
    torch.Generator = Generator  # type: ignore[misc]


def run(nb: NotebookNode, setting: Setting) -> None:
    """Run all cells of `nb` in place, in a kernel of their own, those after an error too."""
    line = f"from tools.anywhere import shift_seeds; shift_seeds({setting.shift})"
    arguments = ["--log-level=ERROR", f"--IPKernelApp.exec_lines={line}"]
    path = os.pathsep.join((str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])))
    env = {"PYTHONPATH": path} | setting.env
    run_cells(nb, ROOT / "notebooks", env, extra_arguments=arguments, allow_errors=True)


def errors(nb: NotebookNode) -> Iterator[str]:
    """Yield each cell that raised, with the first line of its error."""
    for index, cell in enumerate(nb.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                first = str(output.evalue).splitlines()[:1]
                yield f"cell {index}: {output.ename} {''.join(first)}".strip()


def outcomes(nb: NotebookNode) -> dict[int, str]:
    """Return the outcomes of guesses: index of a cell -> what came out there."""
    found = {}
    for index, cell in enumerate(nb.cells):
        texts = (output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", []))
        if match := CAME_OUT.search("\n".join(texts)):
            found[index] = match[1]
    return found


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.argument("names", nargs=-1)
@click.option("-s", "--setting", "chosen", multiple=True, type=click.Choice(list(SETTINGS)))
def main(names: tuple[str, ...], chosen: tuple[str, ...]) -> None:
    """See the module's docstring."""
    raised = 0
    for notebook in pick(ROOT / "notebooks", names):
        stored = outcomes(nbformat.read(notebook, as_version=4))
        for name in chosen or SETTINGS:
            started = time.perf_counter()
            nb = nbformat.read(notebook, as_version=4)
            run(nb, SETTINGS[name])
            failures, came = list(errors(nb)), outcomes(nb)
            changed = [index for index in stored if came.get(index) != stored[index]]
            seconds = time.perf_counter() - started
            counts = f"{len(failures)} raise, {len(changed)} changed"
            click.echo(f"{notebook.stem} {name}: {counts} ({seconds:.0f} s)")
            for failure in failures:
                click.echo(f"  ✗ {failure}")
            for index in changed:
                click.echo(f"  ~ cell {index}: {came.get(index, 'no outcome')} (stored: {stored[index]})")
            raised += len(failures)
    sys.exit(raised > 0)


if __name__ == "__main__":
    main()
