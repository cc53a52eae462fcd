"""Run the lessons with other seeds, instruction sets, threads and rounding, and report what changes.

    python -m tools.anywhere                            every lesson in every setting: about two hours
    python -m tools.anywhere 04a_rope                   only this one
    python -m tools.anywhere 04a_rope -s seeds+1000     only in this setting

The report lists every cell that raises, every output that nbval compares and that differs from the stored
one, and every guess whose outcome differs. The setting `coarse` stands for processors that we do not have: it
rounds matrix products to 20 binary digits. With `short`, each training ends after six steps: an output that
differs then comes from a training, and nbval must not compare it. The notebooks' files are only read. Cells
are counted from 0, text cells too. Exits with 1 if a cell raises, or if an output differs although the seeds
are those of the lesson.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import nbformat
from nbformat import NotebookNode

from tools.comparison import output_differences
from tools.notebooks import ROOT, pick, run_cells

CAME_OUT = re.compile(r"It came out: (.*?)\. (?:No guess was made|Your guess is kept)", re.DOTALL)


class Setting(NamedTuple):
    """Setting in which lessons run.

    shift   added to all seeds
    coarse  whether `round_products` is called
    short   whether `shorten_trainings` is called
    env     variables that are added to the kernel's environment
    """

    shift: int = 0
    coarse: bool = False
    short: bool = False
    env: dict[str, str] = {}  # noqa: RUF012


SETTINGS = {
    "seeds+1000": Setting(1000),
    "seeds+2000": Setting(2000),
    "seeds+3000": Setting(3000),
    "coarse": Setting(coarse=True),
    "short": Setting(short=True),
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


def round_products() -> None:
    """Round what PyTorch's matrix products return to 20 of 24 binary digits, and pass gradients on unchanged.

    Equal products stay equal. Only float32 is rounded.
    """
    import torch

    def coarse(product: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def rounded(*args: Any, **options: Any) -> torch.Tensor:
            exact = product(*args, **options)
            if exact.dtype != torch.float32:
                return exact
            few = exact.detach().clone().view(torch.int32).add_(8).bitwise_and_(~15).view(torch.float32)
            return exact + (few - exact).detach()

        return rounded

    functional = torch.nn.functional
    for owner, names in {
        torch: ("matmul", "einsum"),
        torch.Tensor: ("__matmul__", "matmul"),
        functional: ("linear", "scaled_dot_product_attention"),
    }.items():
        for name in names:
            setattr(owner, name, coarse(getattr(owner, name)))


def shorten_trainings(steps: int = 6) -> None:
    """End every training after some steps."""
    from babygpt.config import TrainConfig
    from babygpt.experiments import comparison_plan

    comparison_plan.TRIAL_STEPS = steps - 2  # a comparison times two steps more than these
    check = TrainConfig.__post_init__

    def shorten(plan: TrainConfig) -> None:
        check(plan)
        object.__setattr__(plan, "steps", min(plan.steps, steps))  # it is frozen

    TrainConfig.__post_init__ = shorten  # type: ignore[assignment, method-assign]


def run(nb: NotebookNode, setting: Setting) -> None:
    """Run all cells of `nb` in place, in a kernel of their own, those after an error too."""
    line = f"from tools import anywhere; anywhere.shift_seeds({setting.shift})"
    line += "; anywhere.round_products()" if setting.coarse else ""
    line += "; anywhere.shorten_trainings()" if setting.short else ""
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


def differences(stored: NotebookNode, nb: NotebookNode) -> Iterator[str]:
    """Yield each cell whose new outputs differ in what nbval compares, with the first difference."""
    for index, (before, after) in enumerate(zip(stored.cells, nb.cells, strict=True)):
        new = after.get("outputs", [])
        if any(output.output_type == "error" for output in new) or after.cell_type != "code":
            continue
        if lines := output_differences(before, new):
            yield f"cell {index}: {lines[0]}"


def outcomes(nb: NotebookNode) -> dict[int, str]:
    """Return the outcomes of guesses: index of a cell -> what came out there."""
    answers = {}
    for index, cell in enumerate(nb.cells):
        texts = (output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", []))
        if match := CAME_OUT.search("\n".join(texts)):
            answers[index] = match[1]
    return answers


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.argument("names", nargs=-1)
@click.option("-s", "--setting", "chosen", multiple=True, type=click.Choice(list(SETTINGS)))
def main(names: tuple[str, ...], chosen: tuple[str, ...]) -> None:
    """See the module's docstring."""
    faults = 0
    for notebook in pick(ROOT / "notebooks", names):
        stored = nbformat.read(notebook, as_version=4)
        expected = outcomes(stored)
        for name in chosen or SETTINGS:
            started = time.perf_counter()
            nb = nbformat.read(notebook, as_version=4)
            run(nb, SETTINGS[name])
            failures, differ, came = list(errors(nb)), list(differences(stored, nb)), outcomes(nb)
            changed = [index for index in expected if came.get(index) != expected[index]]
            seconds = time.perf_counter() - started
            counts = f"{len(failures)} raise, {len(differ)} differ, {len(changed)} outcomes changed"
            click.echo(f"{notebook.stem} {name}: {counts} ({seconds:.0f} s)")
            for failure in failures:
                click.echo(f"  ✗ {failure}")
            for difference in differ:
                click.echo(f"  ≠ {difference}")
            for index in changed:
                click.echo(f"  ~ cell {index}: {came.get(index, 'no outcome')} (stored: {expected[index]})")
            faults += len(failures) + (len(differ) if not SETTINGS[name].shift else 0)
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
